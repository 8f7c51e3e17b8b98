/* reasons_test.c: the one list of reasons: each has a number of its own, a short name, a cause and a
 * remedy, and stands in docs/discovery.md with exactly these words. */
#include <stdlib.h>

#include "support/check.h"

static const struct {
    accel_reason reason;
    int number;
    const char *name;
    const char *cause;
    const char *remedy;
} rows[] = {
#define ROW(constant, number, name, cause, remedy) {constant, number, name, cause, remedy},
    ACCEL_REASON_LIST(ROW)
#undef ROW
};
enum { COUNT = sizeof rows / sizeof rows[0] };

static void test_numbers_and_names(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(rows[i].number, i); /* as they were given out: none is left out or moved */
        assert_int_equal(rows[i].reason, i);
        assert_true(strlen(rows[i].name) > 1 && strlen(rows[i].name) < 24);
        assert_int_equal(strspn(rows[i].name, "abcdefghijklmnopqrstuvwxyz-"), strlen(rows[i].name));
        for (int other = 0; other < i; other++)
            assert_string_not_equal(rows[i].name, rows[other].name);
    }
    assert_true(COUNT >= 16); /* the list never gets shorter */
}

static void test_texts(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        assert_string_equal(accel_reason_name(rows[i].reason), rows[i].name);
        assert_string_equal(accel_reason_cause(rows[i].reason), rows[i].cause);
        assert_string_equal(accel_reason_remedy(rows[i].reason), rows[i].remedy);
        assert_true(strlen(rows[i].cause) > 8 && strlen(rows[i].remedy) > 8);
    }
    static const int unknown[] = {-1, COUNT, 1000, ACCEL_REASON_MAX_ENUM};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_string_equal(accel_reason_name((accel_reason)unknown[i]), "unknown");
        assert_string_equal(accel_reason_cause((accel_reason)unknown[i]), "unknown");
        assert_string_equal(accel_reason_remedy((accel_reason)unknown[i]), "unknown");
    }
}

static char *read_document(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/docs/discovery.md",
             getenv("SOURCE_DIR") != NULL ? getenv("SOURCE_DIR") : ".");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static void test_document(void **state)
{
    (void)state;
    char *text = read_document();
    for (int i = 0; i < COUNT; i++) {
        char row[1024];
        snprintf(row, sizeof row, "\n| %d | `%s` | %s | %s |\n", i, rows[i].name, rows[i].cause,
                 rows[i].remedy);
        if (strstr(text, row) == NULL)
            fail_msg("docs/discovery.md lacks the row:%s", row);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_and_names),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
