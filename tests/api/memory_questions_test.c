/* memory_questions_test.c: questions about memory where there is no accelerator at all, and before anything
 * was used (cases B49, B50): quiet, and zero. */
#include <stdlib.h>
#include <unistd.h>

#include "support/check.h"
#include "support/process.h"

static bool is_zero(const char *key, int64_t value, void *user)
{
    unsigned *count = user;
    ++*count;
    if (value != 0 && strcmp(key, "max_split_size") != 0)
        fail_msg("%s is %lld", key, (long long)value);
    return true;
}

static void expect_zeros(accel_device device)
{
    accel_memory_statistics statistics = {.struct_size = sizeof statistics};
    accel_memory_statistics none = {.struct_size = sizeof none, .max_split_size = -1};
    accel_host_memory_statistics host = {.struct_size = sizeof host};
    accel_host_memory_statistics no_host = {.struct_size = sizeof no_host};
    unsigned count = 0;
    size_t size = 7;
    OK(accel_memory_stats(device, &statistics));
    assert_memory_equal(&statistics, &none, sizeof none);
    OK(accel_host_memory_stats(device, &host));
    assert_memory_equal(&host, &no_host, sizeof no_host);
    OK(accel_memory_stats_visit(device, is_zero, &count));
    OK(accel_host_memory_stats_visit(device, is_zero, &count));
    assert_true(count > 100);
    OK(accel_memory_allocated(device, &size));
    assert_int_equal(size, 0);
    size = 7;
    OK(accel_max_memory_reserved(device, &size));
    assert_int_equal(size, 0);
    OK(accel_reset_peak_memory_stats(device));
    OK(accel_reset_accumulated_memory_stats(device));
    OK(accel_reset_peak_host_memory_stats(device));
    OK(accel_reset_accumulated_host_memory_stats(device));
}

static void do_nothing_anywhere(void)
{
    accel_memory_snapshot *snapshot = NULL;
    char path[] = "/tmp/accel_test_snapshot-XXXXXX";
    const int file = mkstemp(path);
    OK(accel_empty_cache());
    OK(accel_empty_host_cache());
    OK(accel_memory_free(NULL));
    accel_memory_clear_history();
    OK(accel_memory_snapshot_create(NULL, &snapshot));
    OK(accel_memory_snapshot_write(snapshot, path, ACCEL_MEMORY_SNAPSHOT_FORMAT_JSON));
    accel_memory_snapshot_release(snapshot);
    close(file);
    unlink(path);
}

static void test_without_an_accelerator(void **state)
{
    (void)state;
    setenv("ACCEL_BACKENDS", "nosuch", 1);
    do_nothing_anywhere();
    expect_zeros(ACCEL_DEVICE_CURRENT);
    unsetenv("ACCEL_BACKENDS");
}

static void test_before_the_first_use(void **state)
{
    (void)state;
    bool is_started = true;
    const unsigned threads = test_thread_count();
    do_nothing_anywhere();
    expect_zeros(ACCEL_DEVICE_CURRENT);
    expect_zeros(test_cpu_device(0));
    expect_zeros(test_cpu_device(1));
    expect_zeros(ACCEL_DEVICE(test_cpu(), ACCEL_INDEX_NONE));
    OK(accel_is_initialized(test_cpu(), &is_started));
    assert_false(is_started);
    assert_int_equal(test_thread_count(), threads);
}

static void test_wrong_devices(void **state)
{
    (void)state;
    static const int32_t wrong[] = {2, 100, -2, INT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const accel_device device = ACCEL_DEVICE(test_cpu(), wrong[i]);
        accel_memory_statistics statistics = {.struct_size = sizeof statistics};
        accel_host_memory_statistics host = {.struct_size = sizeof host};
        const accel_status status = accel_memory_stats(device, &statistics);
        assert_true(status == ACCEL_ERROR_OUT_OF_RANGE || status == ACCEL_ERROR_INVALID_ARGUMENT);
        EXPECT(accel_host_memory_stats(device, &host), status);
        EXPECT(accel_reset_peak_host_memory_stats(device), status);
    }
}

int main(void)
{
    test_environment(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_an_accelerator),
        cmocka_unit_test(test_before_the_first_use),
        cmocka_unit_test(test_wrong_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
