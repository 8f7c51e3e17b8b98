/* visible_fork_test.c: ACCEL_VISIBLE_DEVICES from outside, over four devices of the cpu backend: the new
 * numbers reach everything that takes an index, follow the variable until the start and then no more,
 * and what `accel list` prints can be pasted into it. Each case is a process of its own. Cases B01, B05,
 * B07, B14, B18. */
#include <stdlib.h>

#include "support/check.h"
#include "support/process.h"

enum { DEVICES = 4 };

static char uuids[DEVICES][48]; /* without the variable */
static accel_backend cpu;

static int32_t count_now(void)
{
    int32_t count = -1;
    return accel_device_count(cpu, &count) == ACCEL_OK ? count : -1;
}

static void see(const char *list)
{
    if (list != NULL)
        setenv("ACCEL_VISIBLE_DEVICES", list, 1);
    else
        unsetenv("ACCEL_VISIBLE_DEVICES");
}

/* Whether index i is the device that has number `physical` without the variable. */
static bool is_device(int32_t index, int physical)
{
    accel_device_info info = {.struct_size = sizeof info};
    return accel_device_describe(ACCEL_DEVICE(cpu, index), &info) == ACCEL_OK &&
           strcmp(info.uuid, uuids[physical]) == 0;
}

static accel_backend_report report_now(void)
{
    accel_backend_report report = {.struct_size = sizeof report};
    accel_backend_get_report(cpu, &report);
    return report;
}

/* ---- the cases ---- */

static int empties(void *user)
{
    (void)user;
    static const char *const none[] = {"", " ", ",", "\t, ,"};
    CHECK_QUIET(count_now() == DEVICES && report_now().reason == ACCEL_REASON_NONE);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        see(none[i]);
        const accel_backend_report report = report_now();
        CHECK_QUIET(count_now() == 0 && report.hidden_count == DEVICES && !report.cannot_tell);
        CHECK_QUIET(report.reason == ACCEL_REASON_HIDDEN);
        CHECK_QUIET(strcmp(report.variable, "ACCEL_VISIBLE_DEVICES") == 0);
        CHECK_QUIET(report.detail[0] != '\0');
    }
    see(NULL);
    CHECK_QUIET(count_now() == DEVICES);
    return 0;
}

static int pasted(void *user)
{
    (void)user;
    char list[256];
    see("cpu:3,cpu:1");
    CHECK_QUIET(count_now() == 2 && is_device(0, 3) && is_device(1, 1));
    CHECK_QUIET(report_now().reason == ACCEL_REASON_NONE && report_now().hidden_count == 2);
    snprintf(list, sizeof list, " %s , %s", uuids[2], uuids[0]);
    see(list);
    CHECK_QUIET(count_now() == 2 && is_device(0, 2) && is_device(1, 0));
    see("cpu");
    CHECK_QUIET(count_now() == DEVICES && is_device(3, 3));
    see("cpu:2,opencl:0");
    CHECK_QUIET(count_now() == 1 && is_device(0, 2));
    CHECK_QUIET(report_now().reason == ACCEL_REASON_NONE);
    /* A prefix that is one device's alone: the least that tells it from the others. */
    size_t same = 0;
    for (int i = 1; i < DEVICES; i++) {
        size_t size = strspn(uuids[0], "abcdefghijklmnopqrstuvwxyz0123456789-");
        while (strncmp(uuids[0], uuids[i], size) != 0)
            size--;
        same = size > same ? size : same;
    }
    snprintf(list, sizeof list, "%.*s", (int)same + 1, uuids[0]);
    see(list);
    CHECK_QUIET(count_now() == 1 && is_device(0, 0));
    return 0;
}

static int mistakes(void *user)
{
    (void)user;
    static const struct {
        const char *list;
        int32_t count;
        const char *detail;
    } lists[] = {
        {"cpu:1,cpu:1", 1, "'cpu:1' names a device for the second time"},
        {"cpu:1,cpu:4", 1, "'cpu:4' names no device there is"},
        {"cpu:1,CPU:2", 1, "'CPU:2' fits no device"},
        {"cpu-,cpu:1", 1, "'cpu-' fits several devices"},
        {"0,1", 0, "'0' fits no device"},
        {"nosuch:0", 0, "'nosuch:0' fits no device"},
        {"cpu:0,0000:99:00.0", 1, "'0000:99:00.0' fits no device"},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        see(lists[i].list);
        const accel_backend_report report = report_now();
        if (count_now() != lists[i].count || strstr(report.detail, lists[i].detail) == NULL) {
            print_error("%s: %d, %s\n", lists[i].list, count_now(), report.detail);
            return 1;
        }
        CHECK_QUIET(report.reason ==
                    (lists[i].count != 0 ? ACCEL_REASON_BAD_SETTING : ACCEL_REASON_HIDDEN));
        CHECK_QUIET(strcmp(report.variable, "ACCEL_VISIBLE_DEVICES") == 0);
    }
    return 0;
}

/* Every call that takes an index takes the new one. */
static int everywhere(void *user)
{
    (void)user;
    int32_t index = -1;
    size_t free_bytes = 0;
    size_t total = 0;
    uint64_t back = 0;
    const uint64_t pattern = 0x1122334455667788u;
    void *memory = NULL;
    accel_stream *stream = NULL;
    accel_device of;
    accel_device_capability capability = {.struct_size = sizeof capability};
    accel_pointer_information pointer = {.struct_size = sizeof pointer};
    see("cpu:3,cpu:2");
    const accel_device last = ACCEL_DEVICE(cpu, 1);
    const accel_device beyond = ACCEL_DEVICE(cpu, 2);
    CHECK_QUIET(accel_get_device_capability(last, &capability) == ACCEL_OK);
    CHECK_QUIET(accel_get_memory_info(last, &free_bytes, &total) == ACCEL_OK && total != 0);
    CHECK_QUIET(accel_set_device_index(last) == ACCEL_OK);
    CHECK_QUIET(accel_current_device_index(cpu, &index) == ACCEL_OK && index == 1);
    CHECK_QUIET(accel_get_device_capability(beyond, &capability) == ACCEL_ERROR_OUT_OF_RANGE);
    CHECK_QUIET(accel_get_memory_info(beyond, &free_bytes, &total) == ACCEL_ERROR_OUT_OF_RANGE);
    CHECK_QUIET(accel_set_device_index(beyond) == ACCEL_ERROR_OUT_OF_RANGE);
    CHECK_QUIET(accel_stream_create(beyond, NULL, &stream) == ACCEL_ERROR_OUT_OF_RANGE);
    CHECK_QUIET(accel_stream_create(last, NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, 8, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_fill(memory, &pattern, 8, 8, stream) == ACCEL_OK);
    CHECK_QUIET(accel_copy(&back, memory, 8, stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK && back == pattern);
    CHECK_QUIET(accel_stream_get_device(stream, &of) == ACCEL_OK && of.index == 1);
    CHECK_QUIET(accel_pointer_info(memory, &pointer) == ACCEL_OK && pointer.device.index == 1);
    CHECK_QUIET(is_device(0, 3) && is_device(1, 2));
    accel_memory_free(memory);
    accel_stream_release(stream);
    return 0;
}

static int child_sees(void *user)
{
    (void)user;
    return count_now() == 2 && is_device(0, 1) ? 0 : 1;
}

/* From the start on the answer stays, also in a child; before, it follows the variable. */
static int frozen(void *user)
{
    (void)user;
    CHECK_QUIET(count_now() == DEVICES);
    see("cpu:1,cpu:2");
    CHECK_QUIET(count_now() == 2);
    see("");
    CHECK_QUIET(count_now() == 0);
    see("cpu:1,cpu:2");
    CHECK_QUIET(accel_initialize(cpu) == ACCEL_OK);
    see("cpu:0");
    CHECK_QUIET(count_now() == 2 && is_device(0, 1) && is_device(1, 2));
    see(NULL);
    CHECK_QUIET(count_now() == 2 && strcmp(report_now().source, "started") == 0);
    return test_in_child(child_sees, NULL, 20);
}

/* Nothing visible: a use says so, and which variable it was. */
static int nothing_to_use(void *user)
{
    (void)user;
    accel_stream *stream = NULL;
    accel_device found = {.backend = 77};
    see("");
    CHECK_QUIET(accel_stream_create(ACCEL_DEVICE(cpu, 0), NULL, &stream) ==
                ACCEL_ERROR_UNAVAILABLE);
    CHECK_QUIET(strstr(accel_last_error_message(), "ACCEL_VISIBLE_DEVICES") != NULL);
    CHECK_QUIET(accel_current_accelerator(true, &found) == ACCEL_OK);
    CHECK_QUIET(found.backend == ACCEL_BACKEND_NONE);
    see(NULL); /* a failed start is not remembered */
    CHECK_QUIET(accel_stream_create(ACCEL_DEVICE(cpu, 3), NULL, &stream) == ACCEL_OK);
    accel_stream_release(stream);
    return 0;
}

static int left_out(void *user)
{
    (void)user;
    setenv("ACCEL_BACKENDS", "opencl , nosuch", 1);
    accel_backend_report report = report_now();
    CHECK_QUIET(count_now() == 0 && report.reason == ACCEL_REASON_LEFT_OUT);
    CHECK_QUIET(strcmp(report.variable, "ACCEL_BACKENDS") == 0 && !report.cannot_tell);
    setenv("ACCEL_BACKENDS", " nosuch, cpu ", 1);
    CHECK_QUIET(count_now() == DEVICES);
    setenv("ACCEL_BACKENDS", "", 1);
    CHECK_QUIET(count_now() == DEVICES);
    return 0;
}

#define CASE(body)                                                                                 \
    static void test_##body(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        assert_int_equal(test_in_child(body, NULL, 30), 0);                                        \
    }
CASE(empties)
CASE(pasted)
CASE(mistakes)
CASE(everywhere)
CASE(frozen)
CASE(nothing_to_use)
CASE(left_out)

static int read_uuids(void **state)
{
    (void)state;
    cpu = test_cpu();
    for (int i = 0; i < DEVICES; i++) {
        accel_device_info info = {.struct_size = sizeof info};
        OK(accel_device_describe(ACCEL_DEVICE(cpu, i), &info));
        memcpy(uuids[i], info.uuid, sizeof uuids[i]);
    }
    return 0;
}

int main(void)
{
    test_environment(DEVICES);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1); /* this is about the cpu */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empties),  cmocka_unit_test(test_pasted),
        cmocka_unit_test(test_mistakes), cmocka_unit_test(test_everywhere),
        cmocka_unit_test(test_frozen),   cmocka_unit_test(test_nothing_to_use),
        cmocka_unit_test(test_left_out),
    };
    return cmocka_run_group_tests(tests, read_uuids, NULL);
}
