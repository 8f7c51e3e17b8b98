/* many_devices_fork_test.c: case B131 on the cpu backend: as many devices as ACCEL_CPU_DEVICES may ask
 * for, and what a number beyond the limit or no number at all gives. Each in a process of its own. */
#include <stdlib.h>

#include "support/check.h"
#include "support/kernels.h"
#include "support/process.h"

static int the_last_of_64(void *user)
{
    (void)user;
    const accel_device last = test_cpu_device(63);
    test_kernels kernels;
    static test_log log;
    accel_stream *stream = NULL;
    accel_device of;
    void *memory = NULL;
    int32_t count = 0;
    setenv("ACCEL_CPU_DEVICES", "64", 1);
    CHECK_QUIET(accel_device_count(test_cpu(), &count) == ACCEL_OK && count == 64);
    CHECK_QUIET(accel_set_device_index(last) == ACCEL_OK);
    CHECK_QUIET(accel_stream_create(ACCEL_DEVICE_CURRENT, NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_get_device(stream, &of) == ACCEL_OK && of.index == 63);
    CHECK_QUIET(accel_memory_alloc(stream, 64, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(test_kernels_load(last, &kernels) == ACCEL_OK);
    CHECK_QUIET(test_launch_append(&kernels, stream, &log, 1) == ACCEL_OK);
    CHECK_QUIET(accel_synchronize(last) == ACCEL_OK && log.count == 1);
    CHECK_QUIET(accel_set_device_index(test_cpu_device(64)) == ACCEL_ERROR_OUT_OF_RANGE);
    CHECK_QUIET(accel_set_device_index(test_cpu_device(63 + 256)) == ACCEL_ERROR_OUT_OF_RANGE);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    accel_stream_release(stream);
    test_kernels_unload(&kernels);
    return 0;
}

static void test_the_last_of_64(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(the_last_of_64, NULL, 20), 0);
}

static int no_devices(void *user)
{
    const char *value = user;
    int32_t count = 7;
    accel_stream *stream = NULL;
    setenv("ACCEL_CPU_DEVICES", value, 1);
    CHECK_QUIET(accel_device_count(test_cpu(), &count) == ACCEL_OK && count == 0);
    CHECK_QUIET(accel_stream_create(test_cpu_device(0), NULL, &stream) == ACCEL_ERROR_UNAVAILABLE);
    CHECK_QUIET(strstr(accel_last_error_message(), value) != NULL); /* what, and what to do */
    CHECK_QUIET(strstr(accel_last_error_message(), "ACCEL_CPU_DEVICES") != NULL);
    CHECK_QUIET(strstr(accel_last_error_message(), "64") != NULL);
    return 0;
}

static void test_wrong_numbers_of_devices(void **state)
{
    (void)state;
    const char *const wrong[] = {"0",  "65", "200", "256", "257", "-1",
                                 "1x", "x",  "2 ",  "0x2", "2.0"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const int result = test_in_child(no_devices, (void *)(uintptr_t)wrong[i], 20);
        if (result != 0)
            print_error("ACCEL_CPU_DEVICES=%s\n", wrong[i]);
        assert_int_equal(result, 0);
    }
}

static int wrong_threads(void *user)
{
    accel_stream *stream = NULL;
    setenv("ACCEL_CPU_THREADS", user, 1);
    CHECK_QUIET(accel_stream_create(test_cpu_device(0), NULL, &stream) == ACCEL_ERROR_START_FAILED);
    CHECK_QUIET(strstr(accel_last_error_message(), "ACCEL_CPU_THREADS") != NULL);
    unsetenv("ACCEL_CPU_THREADS"); /* a failed start is not remembered */
    CHECK_QUIET(accel_stream_create(test_cpu_device(0), NULL, &stream) == ACCEL_OK);
    accel_stream_release(stream);
    return 0;
}

static void test_wrong_numbers_of_threads(void **state)
{
    (void)state;
    const char *const wrong[] = {"0", "-1", "x", "1025", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(test_in_child(wrong_threads, (void *)(uintptr_t)wrong[i], 20), 0);
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_of_64),
        cmocka_unit_test(test_wrong_numbers_of_devices),
        cmocka_unit_test(test_wrong_numbers_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
