/* event_test.c: events: record, wait, query, synchronize, elapsed time (event.h). Two cpu devices.
 * Cases B74 and B75 (states before elapsed time), B86 (events over devices). */
#include "support/process.h"
#include "support/two_devices.h"

static accel_event *make(int32_t index, bool timing)
{
    const accel_event_options options = {.struct_size = sizeof options, .enable_timing = timing};
    accel_event *event = NULL;
    OK(accel_event_create(test_cpu_device(index), &options, &event));
    return event;
}

static bool passed(accel_event *event)
{
    bool is = false;
    OK(accel_event_query(event, &is));
    return is;
}

static void test_never_recorded(void **state)
{
    (void)state;
    accel_event *event = make(0, false);
    assert_true(passed(event));
    OK(accel_event_synchronize(event));
    OK(accel_stream_wait_event(stream_on[0], event));
    OK(accel_stream_wait_event(stream_on[1], event));
    OK(accel_stream_synchronize(stream_on[0]));
    accel_event_release(event);
}

static void test_record_and_wait(void **state)
{
    (void)state;
    accel_event *event = make(0, false);
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], stream_on[0], &gate));
    OK(accel_event_record(event, stream_on[0]));
    assert_false(passed(event));
    test_gate_open(&gate);
    OK(accel_event_synchronize(event));
    assert_true(passed(event));
    accel_event_release(event);
}

static void test_a_wait_is_for_the_mark_of_its_moment(void **state)
{
    (void)state;
    accel_event *event = make(0, false);
    accel_stream *waiter = NULL;
    OK(accel_stream_create(test_cpu_device(0), NULL, &waiter));
    test_gate first = {0};
    test_gate second = {0};
    static test_log log;
    atomic_store(&log.count, 0);
    OK(test_launch_gate(&on[0], stream_on[0], &first));
    OK(accel_event_record(event, stream_on[0]));
    OK(accel_stream_wait_event(waiter, event));
    OK(test_launch_append(&on[0], waiter, &log, 1));
    OK(test_launch_gate(&on[0], stream_on[0], &second));
    OK(accel_event_record(event,
                          stream_on[0])); /* replaces the mark; the waiter keeps the old one */
    bool is = true;
    OK(accel_stream_query(waiter, &is));
    assert_false(is);
    test_gate_open(&first);
    OK(accel_stream_synchronize(waiter));
    assert_int_equal(log.count, 1);
    assert_false(passed(event));
    test_gate_open(&second);
    OK(accel_event_synchronize(event));
    accel_event_release(event);
    accel_stream_release(waiter);
}

static void test_release_while_pending_and_waited_for(void **state)
{
    (void)state;
    static test_log log;
    atomic_store(&log.count, 0);
    accel_event *event = make(0, true);
    accel_stream *waiter = NULL;
    OK(accel_stream_create(test_cpu_device(1), NULL, &waiter));
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], stream_on[0], &gate));
    OK(test_launch_append(&on[0], stream_on[0], &log, 1));
    OK(accel_event_record(event, stream_on[0]));
    OK(accel_stream_wait_event(waiter, event));
    OK(test_launch_append(&on[1], waiter, &log, 2));
    accel_event_release(event);
    test_gate_open(&gate);
    OK(accel_stream_synchronize(waiter));
    assert_int_equal(log.count, 2);
    assert_int_equal(log.values[0], 1);
    assert_int_equal(log.values[1], 2);
    accel_stream_release(waiter);
}

static void test_binding(void **state)
{
    (void)state;
    accel_event *lazy = make(ACCEL_INDEX_NONE, false);
    accel_device device;
    OK(accel_event_get_device(lazy, &device));
    assert_int_equal(device.backend, test_cpu());
    assert_int_equal(device.index, ACCEL_INDEX_NONE);
    OK(accel_event_record(lazy, stream_on[1]));
    OK(accel_event_get_device(lazy, &device));
    assert_int_equal(device.index, 1);
    FAILS(accel_event_record(lazy, stream_on[0]), ACCEL_ERROR_MISMATCH, "accel_event_record");
    OK(accel_event_get_device(lazy, &device));
    assert_int_equal(device.index, 1);
    accel_event *bound = make(0, false);
    OK(accel_event_get_device(bound, &device));
    assert_int_equal(device.index, 0);
    FAILS(accel_event_record(bound, stream_on[1]), ACCEL_ERROR_MISMATCH, "accel_event_record");
    OK(accel_event_record(bound, stream_on[0]));
    accel_event_release(lazy);
    accel_event_release(bound);
}

static void test_a_refused_record_keeps_the_mark(void **state) /* B86 */
{
    (void)state;
    accel_event *event = make(0, false);
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], stream_on[0], &gate));
    OK(accel_event_record(event, stream_on[0]));
    FAILS(accel_event_record(event, stream_on[1]), ACCEL_ERROR_MISMATCH, "accel_event_record");
    OK(accel_stream_synchronize(stream_on[1]));
    assert_false(passed(event)); /* still the pending mark */
    test_gate_open(&gate);
    OK(accel_event_synchronize(event));
    accel_event_release(event);
}

static void test_wait_over_devices(void **state) /* B86 */
{
    (void)state;
    static test_log log;
    atomic_store(&log.count, 0);
    accel_event *event = make(0, false);
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], stream_on[0], &gate));
    OK(test_launch_append(&on[0], stream_on[0], &log, 1));
    OK(accel_event_record(event, stream_on[0]));
    OK(accel_stream_wait_event(stream_on[1], event));
    OK(test_launch_append(&on[1], stream_on[1], &log, 2));
    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream_on[1]));
    assert_int_equal(log.count, 2);
    assert_int_equal(log.values[0], 1);
    accel_event_release(event);
}

/* ---- elapsed time ---- */

static void expect_elapsed(accel_event *start, accel_event *end, accel_status wanted)
{
    double milliseconds = 123.0;
    const accel_status status = accel_event_elapsed_time(start, end, &milliseconds);
    test_expect(status, wanted, "accel_event_elapsed_time", __FILE__, __LINE__);
    if (wanted != ACCEL_OK)
        assert_true(milliseconds == 0.0);
}

static void test_timing_is_off_by_default(void **state)
{
    (void)state;
    accel_event *event = NULL;
    OK(accel_event_create(test_cpu_device(0), NULL, &event));
    OK(accel_event_record(event, stream_on[0]));
    OK(accel_event_synchronize(event));
    expect_elapsed(event, event, ACCEL_ERROR_INVALID_ARGUMENT);
    accel_event_release(event);
}

/* The states of an event that elapsed time tells apart. */
enum { UNTIMED_NEW, UNTIMED_DONE, NEW, PENDING, DONE, OTHER_DEVICE, OTHER_DEVICE_NEW, STATES };

static accel_status expected(int start, int end)
{
    if (start <= UNTIMED_DONE || end <= UNTIMED_DONE)
        return ACCEL_ERROR_INVALID_ARGUMENT;
    if (start == NEW || end == NEW || start == OTHER_DEVICE_NEW || end == OTHER_DEVICE_NEW)
        return ACCEL_ERROR_INVALID_STATE;
    if ((start == OTHER_DEVICE) != (end == OTHER_DEVICE))
        return ACCEL_ERROR_MISMATCH;
    return start == PENDING || end == PENDING ? ACCEL_ERROR_NOT_READY : ACCEL_OK;
}

static void test_every_pair_of_states(void **state) /* B74 */
{
    (void)state;
    test_gate gate = {0};
    accel_event *events[2][STATES];
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < STATES; i++)
            events[side][i] = make(i >= OTHER_DEVICE ? 1 : 0, i > UNTIMED_DONE);
        OK(accel_event_record(events[side][UNTIMED_DONE], stream_on[0]));
        OK(accel_event_record(events[side][DONE], stream_on[0]));
        OK(accel_event_record(events[side][OTHER_DEVICE], stream_on[1]));
    }
    OK(accel_stream_synchronize(stream_on[0]));
    OK(accel_stream_synchronize(stream_on[1]));
    OK(test_launch_gate(&on[0], stream_on[0], &gate));
    OK(accel_event_record(events[0][PENDING], stream_on[0]));
    OK(accel_event_record(events[1][PENDING], stream_on[0]));
    for (int start = 0; start < STATES; start++) {
        for (int end = 0; end < STATES; end++)
            expect_elapsed(events[0][start], events[1][end], expected(start, end));
    }
    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream_on[0]));
    expect_elapsed(events[0][PENDING], events[1][PENDING], ACCEL_OK);
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < STATES; i++)
            accel_event_release(events[side][i]);
    }
}

static void test_the_same_event_gives_zero(void **state)
{
    (void)state;
    accel_event *event = make(0, true);
    expect_elapsed(event, event, ACCEL_ERROR_INVALID_STATE);
    OK(accel_event_record(event, stream_on[0]));
    OK(accel_event_synchronize(event));
    double milliseconds = 5.0;
    OK(accel_event_elapsed_time(event, event, &milliseconds));
    assert_true(milliseconds == 0.0);
    accel_event_release(event);
}

static void test_pending_does_not_stick(void **state) /* B75 */
{
    (void)state;
    accel_event *start = make(0, true);
    accel_event *end = make(0, true);
    test_gate gate = {0};
    OK(accel_event_record(start, stream_on[0]));
    OK(test_launch_gate(&on[0], stream_on[0], &gate));
    OK(accel_event_record(end, stream_on[0]));
    double milliseconds = 1.0;
    FAILS(accel_event_elapsed_time(start, end, &milliseconds), ACCEL_ERROR_NOT_READY,
          "accel_event_elapsed_time");
    assert_non_null(strstr(accel_last_error_message(), "synchron"));
    OK(test_launch_nothing(&on[0], stream_on[0]));
    test_gate_open(&gate);
    OK(accel_event_synchronize(end));
    OK(accel_event_elapsed_time(start, end, &milliseconds));
    assert_true(milliseconds > 0.0);
    OK(accel_stream_synchronize(stream_on[0]));
    OK(accel_synchronize(test_cpu_device(0)));
    accel_event_release(start);
    accel_event_release(end);
}

static void test_elapsed_measures(void **state)
{
    (void)state;
    accel_event *start = make(0, true);
    accel_event *end = make(0, true);
    OK(accel_event_record(start, stream_on[0]));
    OK(test_launch_sleep(&on[0], stream_on[0], 20));
    OK(accel_event_record(end, stream_on[0]));
    OK(accel_event_synchronize(end));
    double forwards = 0;
    double backwards = 0;
    OK(accel_event_elapsed_time(start, end, &forwards));
    OK(accel_event_elapsed_time(end, start, &backwards));
    assert_true(forwards >= 19.0 && forwards < 5000.0);
    assert_true(backwards == -forwards);
    accel_event_release(start);
    accel_event_release(end);
}

static void test_failure_of_the_stream_is_the_events(void **state)
{
    (void)state;
    accel_stream *stream = NULL;
    accel_event *event = make(0, false);
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], stream, &gate));
    OK(test_launch_fail(&on[0], stream));
    OK(accel_event_record(event, stream));
    test_gate_open(&gate);
    const accel_status status = accel_event_synchronize(event);
    assert_int_not_equal(status, ACCEL_OK);
    bool is = false;
    EXPECT(accel_event_query(event, &is), status);
    EXPECT(accel_event_record(event, stream), status);
    /* The event is free to be recorded elsewhere. */
    OK(accel_event_record(event, stream_on[0]));
    OK(accel_event_synchronize(event));
    accel_event_release(event);
    accel_stream_release(stream);
}

static void test_null_stream_is_the_current_one(void **state)
{
    (void)state;
    OK(accel_set_stream(stream_on[1]));
    accel_event *event = make(ACCEL_INDEX_NONE, false);
    OK(accel_event_record(event, NULL));
    accel_device device;
    OK(accel_event_get_device(event, &device));
    assert_int_equal(device.index, 1);
    OK(accel_event_synchronize(event));
    accel_event_release(event);
    /* A bound event: the current stream of its own device. */
    event = make(0, false);
    OK(accel_event_record(event, NULL));
    OK(accel_event_synchronize(event));
    accel_event_release(event);
    OK(accel_set_device_index(test_cpu_device(0)));
    accel_stream *plain = NULL;
    OK(accel_stream_default(test_cpu_device(1), &plain));
    OK(accel_set_stream(plain));
    OK(accel_set_device_index(test_cpu_device(0)));
}

static void test_native_handle(void **state)
{
    (void)state;
    accel_event *event = make(0, false);
    void *handle = event;
    accel_device_capability capability = {.struct_size = sizeof capability};
    OK(accel_get_device_capability(test_cpu_device(0), &capability));
    if (capability.native_handles) {
        FAILS(accel_event_get_native_handle(event, &handle), ACCEL_ERROR_INVALID_STATE,
              "accel_event_get_native_handle");
        assert_null(handle);
        OK(accel_event_record(event, stream_on[0]));
        OK(accel_event_get_native_handle(event, &handle));
        assert_non_null(handle);
    } else {
        FAILS(accel_event_get_native_handle(event, &handle), ACCEL_ERROR_UNSUPPORTED,
              "accel_event_get_native_handle");
    }
    accel_event_release(event);
}

static void test_many_records(void **state)
{
    (void)state;
    accel_event *event = make(0, true);
    for (int i = 0; i < 5000; i++) {
        OK(accel_event_record(event, stream_on[0]));
        if (i % 500 == 0)
            OK(accel_event_synchronize(event));
    }
    OK(accel_event_synchronize(event));
    assert_true(passed(event));
    accel_event_release(event);
}

int main(void)
{
    test_environment(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_never_recorded),
        cmocka_unit_test(test_record_and_wait),
        cmocka_unit_test(test_a_wait_is_for_the_mark_of_its_moment),
        cmocka_unit_test(test_release_while_pending_and_waited_for),
        cmocka_unit_test(test_binding),
        cmocka_unit_test(test_a_refused_record_keeps_the_mark),
        cmocka_unit_test(test_wait_over_devices),
        cmocka_unit_test(test_timing_is_off_by_default),
        cmocka_unit_test(test_every_pair_of_states),
        cmocka_unit_test(test_the_same_event_gives_zero),
        cmocka_unit_test(test_pending_does_not_stick),
        cmocka_unit_test(test_elapsed_measures),
        cmocka_unit_test(test_failure_of_the_stream_is_the_events),
        cmocka_unit_test(test_null_stream_is_the_current_one),
        cmocka_unit_test(test_native_handle),
        cmocka_unit_test(test_many_records),
    };
    return cmocka_run_group_tests(tests, test_two_devices_set_up, test_two_devices_tear_down);
}
