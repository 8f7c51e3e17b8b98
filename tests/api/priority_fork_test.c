/* priority_fork_test.c: case B84: a priority may be asked for in the very first call of a process, is clamped
 * to the device's range, and can be read back. Each try is a process of its own. */
#include <limits.h>

#include "support/check.h"
#include "support/process.h"

static int ask_first(void *user)
{
    const int32_t wanted = *(const int32_t *)user;
    const accel_stream_options options = {.struct_size = sizeof options, .priority = wanted};
    accel_backend cpu = 0;
    CHECK_QUIET(accel_backend_find("cpu", &cpu) == ACCEL_OK);
    accel_stream *stream = NULL;
    CHECK_QUIET(accel_stream_create(ACCEL_DEVICE(cpu, 0), &options, &stream) == ACCEL_OK);
    accel_device_capability capability = {.struct_size = sizeof capability};
    CHECK_QUIET(accel_get_device_capability(ACCEL_DEVICE(cpu, 0), &capability) == ACCEL_OK);
    int32_t priority = INT_MAX;
    CHECK_QUIET(accel_stream_get_priority(stream, &priority) == ACCEL_OK);
    const int32_t expected = wanted > capability.priority_lowest    ? capability.priority_lowest
                             : wanted < capability.priority_highest ? capability.priority_highest
                                                                    : wanted;
    CHECK_QUIET(priority == expected);
    accel_stream_release(stream);
    return 0;
}

static void test_every_priority_as_the_first_call(void **state)
{
    (void)state;
    int32_t wanted[] = {0, -1, 1, -5, 5, INT_MIN, INT_MIN + 1, INT_MAX, 0, 0, 0, 0};
    accel_device_capability capability = {.struct_size = sizeof capability};
    OK(accel_get_device_capability(test_cpu_device(0), &capability));
    wanted[8] = capability.priority_lowest;
    wanted[9] = capability.priority_highest;
    wanted[10] = capability.priority_lowest + 1;
    wanted[11] = capability.priority_highest - 1;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_int_equal(test_in_child(ask_first, &wanted[i], 20), 0);
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_priority_as_the_first_call)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
