/* visible_test.c: the grammar of ACCEL_VISIBLE_DEVICES, entry by entry, over made-up devices. */
#include <stdlib.h>

#include "support/check.h"

#include "core/visible.h"

/* Five devices of "gpu"; two share the beginning of their UUIDs, two are one card (two drivers see it),
 * one has neither UUID nor address. */
static const accel__identity devices[] = {
    {"GPU-8abc1111-0000", "0000:01:00.0"},
    {"GPU-8abc2222-0000", "0000:02:00.0"},
    {"card-7", "0000:07:00.0"},
    {"card-7", "0000:07:00.0"},
    {"", ""},
};
enum { COUNT = sizeof devices / sizeof devices[0] };

static accel__identity identify(int32_t position, void *user)
{
    (void)user;
    return devices[position];
}

static bool is_backend(const char *name, size_t size)
{
    return (size == 3 && memcmp(name, "gpu", 3) == 0) || (size == 3 && memcmp(name, "cpu", 3) == 0);
}

typedef struct visible_case {
    const char *list;
    const char *chosen;  /* positions, "3 1" */
    const char *problem; /* part of it; NULL: none */
} visible_case;

static const visible_case cases[] = {
    {NULL, "0 1 2 3 4", NULL}, /* unset: all */
    {"", "", NULL},            /* empty, blank, commas: none */
    {" ", "", NULL},
    {"\t", "", NULL},
    {",", "", NULL},
    {" , ,, ", "", NULL},
    {"gpu", "0 1 2 3 4", NULL},
    {"gpu:0", "0", NULL},
    {"gpu:4", "4", NULL},
    {" gpu:3 ,\tgpu:1 ", "3 1", NULL}, /* case B05: the order is the list's */
    {"gpu:3,gpu:1,", "3 1", NULL},
    {"gpu:5", "", "'gpu:5' names no device there is"},
    {"gpu:5,gpu:0", "0", "'gpu:5' names no device there is"},
    {"gpu:-1,gpu:0", "0", "'gpu:-1'"},
    {"gpu:01", "", "'gpu:01'"},
    {"gpu:+1", "", "'gpu:+1'"},
    {"gpu:1x", "", "'gpu:1x'"},
    {"gpu:", "", "'gpu:'"},
    {"gpu: 1", "", "'gpu: 1'"},
    {"gpu:0:0", "", "'gpu:0:0'"},
    {"gpu:4294967296", "", "'gpu:4294967296'"},
    {"gpu:99999999999999999999", "", "'gpu:9999"},
    {"gpu:1,gpu:1", "1", "'gpu:1' names a device for the second time"},
    {"gpu:1,gpu", "1 0 2 3 4", "for the second time"},
    {"gpu:1,GPU-8abc2222-0000", "1", "for the second time"},
    {"GPU-8abc1111-0000", "0", NULL}, /* case B01: UUIDs and their beginnings */
    {"GPU-8abc1", "0", NULL},
    {"GPU-8abc2,GPU-8abc1", "1 0", NULL},
    {"GPU-8abc", "", "'GPU-8abc' fits several devices"},
    {"card-7", "", "'card-7' fits several devices"},
    {"0000:02:00.0", "1", NULL},
    {"0000:07:00.0", "", "fits several devices"},
    {"0000:02:00", "", "'0000:02:00' fits no device"}, /* addresses have no short forms */
    {"GPU-8abc1111-00001", "", "fits no device"},
    {"gpu-8abc1111-0000", "", "fits no device"}, /* letter case counts */
    {"0", "", "'0' fits no device"},             /* a bare number says not whose */
    {"-1", "", "'-1' fits no device"},
    {"gp", "", "'gp' fits no device"}, /* case B13: no part of a name is a name */
    {"gpus", "", "'gpus' fits no device"},
    {"gpux:0", "", "'gpux:0' fits no device"},
    {"GPU:0", "", "'GPU:0' fits no device"},
    {"\"gpu:0\"", "", "fits no device"},
    {"gpu;cpu", "", "fits no device"},
    {"cpu:0", "", NULL}, /* another backend's business */
    {"cpu:77", "", NULL},
    {"cpu", "", NULL},
    {"cpu:0,gpu:2,cpu:1,gpu:0", "2 0", NULL},
};

static void apply(const visible_case *wanted)
{
    int32_t chosen[COUNT];
    accel__visible_problem problem = {0};
    char text[64] = "";
    const int32_t count = accel__visible_apply(wanted->list, "gpu", COUNT, identify, NULL,
                                               is_backend, chosen, &problem);
    for (int32_t i = 0; i < count; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%d", i != 0 ? " " : "", chosen[i]);
    }
    if (problem.text[0] == '\0')
        accel__visible_blame(wanted->list, problem.strangers, problem.text, sizeof problem.text);
    const char *list = wanted->list != NULL ? wanted->list : "(unset)";
    if (strcmp(text, wanted->chosen) != 0)
        fail_msg("%s: chose '%s'", list, text);
    if (wanted->problem == NULL ? problem.text[0] != '\0'
                                : strstr(problem.text, wanted->problem) == NULL)
        fail_msg("%s: '%s'", list, problem.text);
    if (problem.text[0] != '\0')
        assert_memory_equal(problem.text, "ACCEL_VISIBLE_DEVICES: ", 23);
}

static void test_grammar(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        apply(&cases[i]);
}

static void test_no_device_at_all(void **state)
{
    (void)state;
    accel__visible_problem problem = {0};
    int32_t chosen[1];
    assert_int_equal(
        accel__visible_apply(NULL, "gpu", 0, identify, NULL, is_backend, chosen, &problem), 0);
    assert_string_equal(problem.text, "");
    assert_int_equal(
        accel__visible_apply("gpu", "gpu", 0, identify, NULL, is_backend, chosen, &problem), 0);
    assert_string_equal(problem.text, "");
    assert_int_equal(
        accel__visible_apply("gpu:0", "gpu", 0, identify, NULL, is_backend, chosen, &problem), 0);
    assert_non_null(strstr(problem.text, "names no device there is"));
}

/* Long lists, and entries of any length. */
static void test_long_lists(void **state)
{
    (void)state;
    enum { REPEATS = 5000 };
    char *list = malloc(REPEATS * 6 + 1);
    accel__visible_problem problem = {0};
    int32_t chosen[COUNT];
    for (int i = 0; i < REPEATS; i++)
        memcpy(list + i * 6, i % 2 == 0 ? "gpu:2," : "gpu:0,", 7);
    assert_int_equal(
        accel__visible_apply(list, "gpu", COUNT, identify, NULL, is_backend, chosen, &problem), 2);
    assert_int_equal(chosen[0], 2);
    assert_int_equal(chosen[1], 0);
    memset(list, 'G', REPEATS * 6);
    list[REPEATS * 6] = '\0';
    assert_int_equal(
        accel__visible_apply(list, "gpu", COUNT, identify, NULL, is_backend, chosen, &problem), 0);
    accel__visible_blame(list, problem.strangers, problem.text, sizeof problem.text);
    assert_true(strlen(problem.text) < sizeof problem.text - 1);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_no_device_at_all),
        cmocka_unit_test(test_long_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
