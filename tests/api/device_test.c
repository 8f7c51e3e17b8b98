/* device_test.c: backends and devices: names, counting, choosing, describing (device.h). Two cpu
 * devices. Case B131: no index is ever narrowed. */
#include <pthread.h>
#include <stdlib.h>

#include "support/check.h"

static void test_backends_have_numbers_and_names(void **state)
{
    (void)state;
    const uint32_t count = accel_backend_count();
    assert_true(count >= 1);
    for (accel_backend backend = 1; backend <= count; backend++) {
        const char *name = accel_backend_name(backend);
        assert_non_null(name);
        accel_backend found = 0;
        OK(accel_backend_find(name, &found));
        assert_int_equal(found, backend);
    }
    assert_null(accel_backend_name(ACCEL_BACKEND_NONE));
    assert_null(accel_backend_name(count + 1));
    assert_string_equal(accel_backend_name(ACCEL_BACKEND_CURRENT), "cpu");
}

static void test_unknown_backend_names_the_known_ones(void **state)
{
    (void)state;
    const char *const names[] = {"nosuch", "", "CPU", "cpu ", "cp", "cpuu"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        accel_backend found = 77;
        FAILS(accel_backend_find(names[i], &found), ACCEL_ERROR_NOT_FOUND, "accel_backend_find");
        assert_int_equal(found, ACCEL_BACKEND_NONE);
        assert_non_null(strstr(accel_last_error_message(), "cpu"));
    }
}

static const struct {
    const char *text;
    accel_status status;
    int32_t index;
} parse_cases[] = {
    {"cpu", ACCEL_OK, ACCEL_INDEX_NONE},
    {"cpu:0", ACCEL_OK, 0},
    {"cpu:1", ACCEL_OK, 1},
    {"cpu:127", ACCEL_OK, 127},
    {"cpu:128", ACCEL_OK, 128},
    {"cpu:255", ACCEL_OK, 255},
    {"cpu:256", ACCEL_OK, 256},
    {"cpu:65536", ACCEL_OK, 65536},
    {"cpu:2147483647", ACCEL_OK, INT32_MAX},
    {"cpu:2147483648", ACCEL_ERROR_OUT_OF_RANGE, 0},
    {"cpu:4294967296", ACCEL_ERROR_OUT_OF_RANGE, 0},
    {"cpu:18446744073709551616", ACCEL_ERROR_OUT_OF_RANGE, 0},
    {"cpu:99999999999999999999999999", ACCEL_ERROR_OUT_OF_RANGE, 0},
    {"cpu:", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"cpu:01", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"cpu:00", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"cpu: 1", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"cpu:1 ", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {" cpu:1", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"cpu :1", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"cpu:1:2", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"cpu:-1", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"cpu:-129", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"cpu:+1", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"cpu:0x1", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"cpu:1e3", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"cpu:\xd9\xa1", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"CPU:0", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"Cpu", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {":", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {":0", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"0", ACCEL_ERROR_INVALID_ARGUMENT, 0},
    {"nosuch:0", ACCEL_ERROR_NOT_FOUND, 0},
    {"nosuch", ACCEL_ERROR_NOT_FOUND, 0},
};

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof parse_cases / sizeof parse_cases[0]; i++) {
        accel_device device = ACCEL_DEVICE(99, 99);
        const accel_status status = accel_device_parse(parse_cases[i].text, &device);
        if (status != parse_cases[i].status)
            print_error("parsing \"%s\"\n", parse_cases[i].text);
        test_expect(status, parse_cases[i].status, "accel_device_parse", __FILE__, __LINE__);
        if (status == ACCEL_OK) {
            assert_int_equal(device.backend, test_cpu());
            assert_int_equal(device.index, parse_cases[i].index);
        } else {
            assert_int_equal(device.backend, ACCEL_BACKEND_NONE);
        }
    }
    accel_device device;
    FAILS(accel_device_parse("nosuch:0", &device), ACCEL_ERROR_NOT_FOUND, "accel_device_parse");
    assert_non_null(strstr(accel_last_error_message(), "cpu"));
    FAILS(accel_device_parse("cpu:2147483648", &device), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_device_parse");
    assert_non_null(strstr(accel_last_error_message(), "2147483648"));
}

static void test_parse_long_text(void **state)
{
    (void)state;
    char text[10241];
    accel_device device;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_not_equal(accel_device_parse(text, &device), ACCEL_OK);
    memset(text, '1', sizeof text - 1);
    memcpy(text, "cpu:", 4);
    EXPECT(accel_device_parse(text, &device), ACCEL_ERROR_OUT_OF_RANGE);
    assert_true(strlen(accel_last_error_message()) < 512);
}

static void test_format(void **state)
{
    (void)state;
    char text[ACCEL_DEVICE_NAME_MAX];
    size_t needed = 0;
    OK(accel_device_format(test_cpu_device(1), text, sizeof text, &needed));
    assert_string_equal(text, "cpu:1");
    assert_int_equal(needed, 6);
    OK(accel_device_format(test_cpu_device(ACCEL_INDEX_NONE), text, sizeof text, NULL));
    assert_string_equal(text, "cpu");
    OK(accel_device_format(ACCEL_DEVICE_CURRENT, text, sizeof text, &needed));
    assert_string_equal(text, "cpu:0");
    OK(accel_device_format(test_cpu_device(INT32_MAX), text, sizeof text, &needed));
    assert_string_equal(text, "cpu:2147483647");
}

static void test_format_capacity(void **state)
{
    (void)state;
    char text[8] = "#######";
    for (size_t capacity = 1; capacity < 6; capacity++) {
        size_t needed = 0;
        FAILS(accel_device_format(test_cpu_device(0), text, capacity, &needed),
              ACCEL_ERROR_OUT_OF_RANGE, "accel_device_format");
        assert_int_equal(needed, 6);
        assert_string_equal(text, "#######");
    }
    size_t asked = 0;
    OK(accel_device_format(test_cpu_device(0), NULL, 0, &asked));
    assert_int_equal(asked, 6);
    FAILS(accel_device_format(test_cpu_device(0), NULL, 6, &asked), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_device_format");
    OK(accel_device_format(test_cpu_device(0), text, 6, NULL));
    assert_string_equal(text, "cpu:0");
    FAILS(accel_device_format(ACCEL_DEVICE(12345, 0), text, sizeof text, NULL),
          ACCEL_ERROR_NOT_FOUND, "accel_device_format");
}

static void test_parse_and_format_are_inverse(void **state)
{
    (void)state;
    const int32_t indexes[] = {0, 1, 9, 10, 99, 127, 128, 200, 255, 256, 65535, 65536, INT32_MAX};
    for (size_t i = 0; i < sizeof indexes / sizeof indexes[0]; i++) {
        char text[ACCEL_DEVICE_NAME_MAX];
        accel_device device;
        OK(accel_device_format(test_cpu_device(indexes[i]), text, sizeof text, NULL));
        OK(accel_device_parse(text, &device));
        assert_int_equal(device.index, indexes[i]);
    }
}

static void test_count(void **state)
{
    (void)state;
    int32_t count = -5;
    bool available = false;
    OK(accel_device_count(test_cpu(), &count));
    assert_int_equal(count, 2);
    OK(accel_device_count(ACCEL_BACKEND_CURRENT, &count));
    assert_int_equal(count, 2);
    OK(accel_is_available(test_cpu(), &available));
    assert_true(available);
}

/* ---- the current device ---- */

static void expect_current(int32_t index)
{
    int32_t current = -7;
    OK(accel_current_device_index(test_cpu(), &current));
    assert_int_equal(current, index);
    OK(accel_current_device_index(ACCEL_BACKEND_CURRENT, &current));
    assert_int_equal(current, index);
}

static void test_set_and_current_index(void **state)
{
    (void)state;
    expect_current(0);
    OK(accel_set_device_index(test_cpu_device(1)));
    expect_current(1);
    OK(accel_set_device_index(ACCEL_DEVICE(ACCEL_BACKEND_CURRENT, 0)));
    expect_current(0);
}

static void test_negative_index_is_a_no_op_in_set_only(void **state)
{
    (void)state;
    OK(accel_set_device_index(test_cpu_device(1)));
    const int32_t negatives[] = {-1, -2, -128, -129, INT32_MIN + 1};
    for (size_t i = 0; i < sizeof negatives / sizeof negatives[0]; i++) {
        const accel_device device = test_cpu_device(negatives[i]);
        OK(accel_set_device_index(device));
        OK(accel_set_device_index(ACCEL_DEVICE(4242, negatives[i])));
        expect_current(1);
        accel_device previous;
        FAILS(accel_exchange_device(device, &previous), ACCEL_ERROR_OUT_OF_RANGE,
              "accel_exchange_device");
        accel_device_info info = {.struct_size = sizeof info};
        FAILS(accel_device_describe(device, &info), ACCEL_ERROR_OUT_OF_RANGE,
              "accel_device_describe");
        accel_stream *stream = NULL;
        FAILS(accel_stream_default(device, &stream), ACCEL_ERROR_OUT_OF_RANGE,
              "accel_stream_default");
        FAILS(accel_synchronize(device), ACCEL_ERROR_OUT_OF_RANGE, "accel_synchronize");
        expect_current(1);
    }
    OK(accel_set_device_index(test_cpu_device(0)));
}

static void test_no_device_beyond_the_count(void **state)
{
    (void)state;
    const int32_t beyond[] = {2, 3, 127, 128, 255, 256, 257, 512, 65536, 65537, INT32_MAX};
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", beyond[i]);
        FAILS(accel_set_device_index(test_cpu_device(beyond[i])), ACCEL_ERROR_OUT_OF_RANGE,
              "accel_set_device_index");
        assert_non_null(strstr(accel_last_error_message(), number));
        expect_current(0);
    }
}

static void test_set_needs_an_index(void **state)
{
    (void)state;
    FAILS(accel_set_device_index(test_cpu_device(ACCEL_INDEX_NONE)), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_set_device_index");
    FAILS(accel_set_device_index(ACCEL_DEVICE_CURRENT), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_set_device_index");
    FAILS(accel_set_device_index(ACCEL_DEVICE(12345, 0)), ACCEL_ERROR_NOT_FOUND,
          "accel_set_device_index");
    expect_current(0);
}

static void test_exchange_gives_the_previous(void **state)
{
    (void)state;
    accel_device previous = ACCEL_DEVICE(9, 9);
    OK(accel_exchange_device(test_cpu_device(1), &previous));
    assert_int_equal(previous.backend, test_cpu());
    assert_int_equal(previous.index, 0);
    expect_current(1);
    FAILS(accel_exchange_device(test_cpu_device(2), &previous), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_exchange_device");
    expect_current(1);
    OK(accel_maybe_exchange_device(test_cpu_device(99), &previous));
    assert_int_equal(previous.index, 1);
    expect_current(1);
    OK(accel_maybe_exchange_device(test_cpu_device(0), &previous));
    assert_int_equal(previous.index, 1);
    expect_current(0);
}

static void *look_at_index(void *user)
{
    int32_t index = -1;
    if (accel_current_device_index(test_cpu(), &index) == ACCEL_OK)
        *(int32_t *)user = index;
    accel_set_device_index(test_cpu_device(0));
    return NULL;
}

static void test_current_is_per_thread(void **state)
{
    (void)state;
    OK(accel_set_device_index(test_cpu_device(1)));
    pthread_t thread;
    int32_t seen = -3;
    assert_int_equal(pthread_create(&thread, NULL, look_at_index, &seen), 0);
    pthread_join(thread, NULL);
    assert_int_equal(seen, 0);
    expect_current(1);
    OK(accel_set_device_index(test_cpu_device(0)));
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void test_deprecated_spellings(void **state)
{
    (void)state;
    int32_t index = -1;
    OK(accel_set_device_idx(test_cpu_device(1)));
    OK(accel_current_device_idx(test_cpu(), &index));
    assert_int_equal(index, 1);
    OK(accel_set_device_idx(test_cpu_device(0)));
}
#pragma GCC diagnostic pop

/* ---- scopes ---- */

static void test_scope_restores(void **state)
{
    (void)state;
    accel_device_scope outer;
    accel_device_scope inner;
    OK(accel_device_index_begin(test_cpu_device(1), &outer));
    expect_current(1);
    OK(accel_device_index_begin(test_cpu_device(0), &inner));
    expect_current(0);
    accel_device_index_end(&inner);
    expect_current(1);
    OK(accel_set_device_index(test_cpu_device(1)));
    accel_device_index_end(&outer);
    expect_current(0);
}

static void test_scope_without_index_does_nothing(void **state)
{
    (void)state;
    accel_device_scope scope;
    OK(accel_device_index_begin(test_cpu_device(ACCEL_INDEX_NONE), &scope));
    OK(accel_set_device_index(test_cpu_device(1)));
    accel_device_index_end(&scope);
    expect_current(1);
    OK(accel_set_device_index(test_cpu_device(0)));
}

static void test_scope_that_fails_is_inactive(void **state)
{
    (void)state;
    accel_device_scope scope;
    memset(&scope, 0xff, sizeof scope);
    FAILS(accel_device_index_begin(test_cpu_device(2), &scope), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_device_index_begin");
    assert_false(scope.active);
    OK(accel_set_device_index(test_cpu_device(1)));
    accel_device_index_end(&scope);
    expect_current(1);
    OK(accel_set_device_index(test_cpu_device(0)));
    FAILS(accel_device_index_begin(test_cpu_device(-1), &scope), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_device_index_begin");
}

/* ---- describing ---- */

static void test_describe(void **state)
{
    (void)state;
    accel_device_info first = {.struct_size = sizeof first};
    accel_device_info second = {.struct_size = sizeof second};
    OK(accel_device_describe(test_cpu_device(0), &first));
    OK(accel_device_describe(test_cpu_device(1), &second));
    assert_int_equal(first.kind, ACCEL_DEVICE_KIND_CPU);
    assert_string_not_equal(first.name, "");
    assert_true(first.total_memory > 0);
    assert_int_equal(strncmp(first.uuid, "cpu-", 4), 0);
    assert_string_not_equal(first.uuid, second.uuid);
    accel_device_info again = {.struct_size = sizeof again};
    OK(accel_device_describe(test_cpu_device(0), &again));
    assert_string_equal(first.uuid, again.uuid);
}

static void test_describe_writes_no_more_than_the_caller_has(void **state)
{
    (void)state;
    struct {
        accel_device_info info;
        unsigned char behind[64];
    } larger;
    memset(&larger, 0xa5, sizeof larger);
    larger.info.struct_size = offsetof(accel_device_info, vendor);
    OK(accel_device_describe(test_cpu_device(0), &larger.info));
    assert_string_not_equal(larger.info.name, "");
    const unsigned char *bytes = (const unsigned char *)&larger;
    for (size_t i = offsetof(accel_device_info, vendor); i < sizeof larger; i++)
        assert_int_equal(bytes[i], 0xa5);
}

static void test_capability(void **state)
{
    (void)state;
    accel_device_capability capability = {.struct_size = sizeof capability};
    OK(accel_get_device_capability(test_cpu_device(0), &capability));
    assert_true(capability.compute_units >= 1);
    assert_true(capability.total_memory > 0);
    assert_true(capability.max_allocation > 0);
    assert_true(capability.alignment >= ACCEL_MEMORY_ALIGNMENT);
    assert_true(capability.priority_lowest >= 0 && capability.priority_highest <= 0);
    assert_true(capability.max_block_items >= 256);
    for (int i = 0; i < 3; i++) {
        assert_true(capability.max_grid[i] >= 1);
        assert_true(capability.max_block[i] >= 1);
    }
    const uint64_t all = (UINT64_C(1) << (ACCEL_DATA_TYPE_C128 + 1)) - 2;
    assert_int_equal(capability.data_types & ~all, 0);
    assert_true(capability.data_types & ACCEL_DATA_TYPE_BIT(ACCEL_DATA_TYPE_F32));
    assert_true(capability.survives_fork && capability.host_access);
}

static void test_capability_follows_the_current_device(void **state)
{
    (void)state;
    /* torch remembers the answer for "no argument" for ever; here it is that of the current one. */
    accel_device_capability first = {.struct_size = sizeof first};
    accel_device_capability second = {.struct_size = sizeof second};
    OK(accel_get_device_capability(ACCEL_DEVICE_CURRENT, &first));
    OK(accel_set_device_index(test_cpu_device(1)));
    OK(accel_get_device_capability(ACCEL_DEVICE_CURRENT, &second));
    OK(accel_set_device_index(test_cpu_device(0)));
    assert_int_equal(first.max_block_items, second.max_block_items);
}

static void test_memory_info(void **state)
{
    (void)state;
    size_t free_bytes = 0;
    size_t total = 0;
    OK(accel_get_memory_info(test_cpu_device(1), &free_bytes, &total));
    assert_true(total > 0 && free_bytes <= total);
}

static void test_bad_devices_everywhere(void **state)
{
    (void)state;
    const struct {
        accel_device device;
        accel_status status;
    } cases[] = {
        {ACCEL_DEVICE(12345, 0), ACCEL_ERROR_NOT_FOUND},
        {test_cpu_device(2), ACCEL_ERROR_OUT_OF_RANGE},
        {test_cpu_device(258), ACCEL_ERROR_OUT_OF_RANGE},
        {test_cpu_device(-1), ACCEL_ERROR_OUT_OF_RANGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        accel_device_info info = {.struct_size = sizeof info, .kind = ACCEL_DEVICE_KIND_GPU};
        accel_device_capability capability = {.struct_size = sizeof capability, .compute_units = 9};
        size_t free_bytes = 1;
        size_t total = 1;
        accel_stream *stream = (accel_stream *)&info;
        FAILS(accel_device_describe(cases[i].device, &info), cases[i].status,
              "accel_device_describe");
        assert_int_equal(info.kind, ACCEL_DEVICE_KIND_UNKNOWN);
        FAILS(accel_get_device_capability(cases[i].device, &capability), cases[i].status,
              "accel_get_device_capability");
        assert_int_equal(capability.compute_units, 0);
        FAILS(accel_get_memory_info(cases[i].device, &free_bytes, &total), cases[i].status,
              "accel_get_memory_info");
        assert_true(free_bytes == 0 && total == 0);
        FAILS(accel_stream_create(cases[i].device, NULL, &stream), cases[i].status,
              "accel_stream_create");
        assert_null(stream);
        stream = (accel_stream *)&info;
        FAILS(accel_current_stream(cases[i].device, &stream), cases[i].status,
              "accel_current_stream");
        assert_null(stream);
        FAILS(accel_synchronize(cases[i].device), cases[i].status, "accel_synchronize");
    }
}

static void test_questions_started_nothing(void **state)
{
    (void)state;
    bool initialized = true;
    OK(accel_is_initialized(test_cpu(), &initialized));
    assert_false(initialized);
}

int main(void)
{
    test_environment(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backends_have_numbers_and_names),
        cmocka_unit_test(test_unknown_backend_names_the_known_ones),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_long_text),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_format_capacity),
        cmocka_unit_test(test_parse_and_format_are_inverse),
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_set_and_current_index),
        cmocka_unit_test(test_negative_index_is_a_no_op_in_set_only),
        cmocka_unit_test(test_no_device_beyond_the_count),
        cmocka_unit_test(test_set_needs_an_index),
        cmocka_unit_test(test_exchange_gives_the_previous),
        cmocka_unit_test(test_current_is_per_thread),
        cmocka_unit_test(test_deprecated_spellings),
        cmocka_unit_test(test_scope_restores),
        cmocka_unit_test(test_scope_without_index_does_nothing),
        cmocka_unit_test(test_scope_that_fails_is_inactive),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_describe_writes_no_more_than_the_caller_has),
        cmocka_unit_test(test_capability),
        cmocka_unit_test(test_capability_follows_the_current_device),
        cmocka_unit_test(test_memory_info),
        cmocka_unit_test(test_questions_started_nothing),
        cmocka_unit_test(test_bad_devices_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
