/* stream_order_test.c: the order of work on streams, waiting, failures that stick, full queues (stream.h).
 * Two cpu devices. Case B77: the null handle of another device. */
#include <pthread.h>

#include "support/process.h"
#include "support/two_devices.h"

/* ---- order and waiting ---- */

static void test_a_stream_is_a_fifo(void **state)
{
    (void)state;
    static test_log log;
    atomic_store(&log.count, 0);
    accel_stream *stream = test_stream_make(0);
    for (uint32_t i = 0; i < 1000; i++)
        OK(test_launch_append(&on[0], stream, &log, i));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(log.count, 1000);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(log.values[i], i);
    accel_stream_release(stream);
}

static void test_query_tells_pending_from_passed(void **state)
{
    (void)state;
    accel_stream *stream = test_stream_make(0);
    assert_true(test_stream_done(stream));
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], stream, &gate));
    assert_false(test_stream_done(stream));
    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream));
    assert_true(test_stream_done(stream));
    accel_stream_release(stream);
}

static void test_the_right_device_is_asked(void **state) /* B77 */
{
    (void)state;
    for (int32_t current = 0; current < 2; current++) {
        OK(accel_set_device_index(test_cpu_device(current)));
        test_gate gate = {0};
        accel_event *event = NULL;
        OK(test_launch_gate(&on[1], test_stream_default(1), &gate));
        OK(accel_event_create(test_cpu_device(1), NULL, &event));
        OK(accel_event_record(event, test_stream_default(1)));
        assert_true(test_stream_done(test_stream_default(0)));
        assert_false(test_stream_done(test_stream_default(1)));
        OK(accel_synchronize(test_cpu_device(0)));
        OK(accel_stream_synchronize(test_stream_default(0)));
        bool passed = true;
        OK(accel_event_query(event, &passed));
        assert_false(passed);
        assert_int_equal(test_current_index(), current);
        test_gate_open(&gate);
        OK(accel_synchronize(test_cpu_device(1)));
        assert_true(test_stream_done(test_stream_default(1)));
        OK(accel_event_query(event, &passed));
        assert_true(passed);
        assert_int_equal(test_current_index(), current);
        accel_event_release(event);
    }
    OK(accel_set_device_index(test_cpu_device(0)));
}

static void test_null_is_the_current_stream(void **state)
{
    (void)state;
    accel_stream *stream = test_stream_make(0);
    OK(accel_set_stream(stream));
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], NULL, &gate));
    assert_false(test_stream_done(stream));
    bool is = true;
    OK(accel_stream_query(NULL, &is));
    assert_false(is);
    assert_true(test_stream_done(test_stream_default(0)));
    accel_stream *waiting = test_stream_make(0);
    OK(accel_stream_wait_stream(waiting, NULL));
    OK(accel_stream_wait_stream(NULL, waiting));
    OK(accel_stream_wait_stream(NULL, NULL)); /* for itself: nothing */
    assert_false(test_stream_done(waiting));
    test_gate_open(&gate);
    OK(accel_stream_synchronize(NULL));
    assert_true(test_stream_done(stream) && test_stream_done(waiting));
    accel_stream_release(waiting);
    test_back_to_default();
    accel_stream_release(stream);
}

static void test_wait_stream_orders(void **state)
{
    (void)state;
    static test_log log;
    atomic_store(&log.count, 0);
    accel_stream *first = test_stream_make(0);
    accel_stream *second = test_stream_make(1);
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], first, &gate));
    OK(test_launch_append(&on[0], first, &log, 1));
    OK(accel_stream_wait_stream(second, first));
    OK(test_launch_append(&on[1], second, &log, 2));
    OK(test_launch_append(&on[0], first, &log, 3));
    assert_false(test_stream_done(second));
    test_gate_open(&gate);
    OK(accel_stream_synchronize(second));
    assert_true(log.count >= 2 && log.values[0] == 1);
    OK(accel_stream_synchronize(first));
    assert_int_equal(log.count, 3);
    /* A wait for oneself is a no-op, not a deadlock. */
    OK(accel_stream_wait_stream(first, first));
    OK(accel_stream_synchronize(first));
    accel_stream_release(first);
    accel_stream_release(second);
}

static void test_a_web_of_waits(void **state)
{
    (void)state;
    enum { STREAMS = 8, ROUNDS = 400 };
    static test_log log;
    atomic_store(&log.count, 0);
    accel_stream *streams[STREAMS];
    for (int i = 0; i < STREAMS; i++)
        streams[i] = test_stream_make(i & 1);
    uint32_t random = 12345;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        random = random * 1664525u + 1013904223u;
        const unsigned to = (random >> 8) % STREAMS;
        /* Each round's stream waits for the round before: the order over all streams is total. */
        static unsigned before;
        OK(accel_stream_wait_stream(streams[to], streams[round == 0 ? to : before]));
        OK(test_launch_append(&on[to & 1], streams[to], &log, round));
        before = to;
    }
    OK(accel_synchronize(test_cpu_device(0)));
    OK(accel_synchronize(test_cpu_device(1)));
    assert_int_equal(log.count, ROUNDS);
    for (uint32_t i = 0; i < ROUNDS; i++)
        assert_int_equal(log.values[i], i);
    for (int i = 0; i < STREAMS; i++)
        accel_stream_release(streams[i]);
}

static void test_release_finishes_the_work(void **state)
{
    (void)state;
    static test_log log;
    atomic_store(&log.count, 0);
    accel_stream *stream = test_stream_make(0);
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], stream, &gate));
    for (uint32_t i = 0; i < 50; i++)
        OK(test_launch_append(&on[0], stream, &log, i));
    const uint64_t before = test_now_ns();
    accel_stream_release(stream);
    assert_true(test_now_ns() - before <
                5000000000u); /* the gate is closed: it cannot have waited */
    test_gate_open(&gate);
    OK(accel_synchronize(test_cpu_device(0)));
    for (int turn = 0; turn < 5000 && atomic_load(&log.count) < 50; turn++)
        test_nap_ms(1);
    assert_int_equal(log.count, 50);
}

static void test_device_synchronize_covers_every_stream(void **state)
{
    (void)state;
    enum { STREAMS = 20 };
    static test_log log;
    atomic_store(&log.count, 0);
    accel_stream *streams[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = test_stream_make(1);
        for (uint32_t j = 0; j < 20; j++)
            OK(test_launch_append(&on[1], streams[i], &log, j));
    }
    OK(accel_synchronize(test_cpu_device(1)));
    assert_int_equal(log.count, STREAMS * 20);
    assert_int_equal(test_current_index(), 0);
    for (int i = 0; i < STREAMS; i++)
        accel_stream_release(streams[i]);
}

static void test_a_failure_sticks_to_its_stream(void **state)
{
    (void)state;
    static test_log log;
    atomic_store(&log.count, 0);
    accel_stream *bad = test_stream_make(0);
    accel_stream *good = test_stream_make(0);
    OK(test_launch_append(&on[0], bad, &log, 1));
    OK(test_launch_fail(&on[0], bad));
    const accel_status status = accel_stream_synchronize(bad);
    assert_int_not_equal(status, ACCEL_OK);
    assert_non_null(strstr(accel_last_error_message(), TEST_FAIL_TEXT));
    assert_int_equal(log.count, 1);
    bool is = true;
    EXPECT(accel_stream_query(bad, &is), status);
    EXPECT(test_launch_append(&on[0], bad, &log, 2), status);
    EXPECT(accel_stream_synchronize(bad), status);
    EXPECT(accel_synchronize(test_cpu_device(0)), status);
    OK(test_launch_append(&on[0], good, &log, 3));
    OK(accel_stream_synchronize(good));
    assert_int_equal(log.count, 2);
    accel_stream_release(bad);
    OK(accel_stream_synchronize(good));
    accel_stream_release(good);
    OK(accel_synchronize(test_cpu_device(0)));
}

static void test_work_behind_a_failure_is_skipped(void **state)
{
    (void)state;
    static test_log log;
    atomic_store(&log.count, 0);
    accel_stream *stream = test_stream_make(0);
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], stream, &gate));
    OK(test_launch_fail(&on[0], stream));
    for (uint32_t i = 0; i < 10; i++)
        OK(test_launch_append(&on[0], stream, &log, i));
    test_gate_open(&gate);
    assert_int_not_equal(accel_stream_synchronize(stream), ACCEL_OK);
    assert_int_equal(log.count, 0);
    accel_stream_release(stream);
}

/* ---- a full queue ---- */

static test_log log_of_many;
enum { MANY = 4000 };

static void *queue_many(void *user)
{
    for (uint32_t i = 0; i < MANY; i++)
        if (test_launch_append(&on[0], user, &log_of_many, i) != ACCEL_OK)
            return (void *)1;
    return NULL;
}

static void test_a_full_queue_blocks_its_caller_only(void **state)
{
    (void)state;
    accel_stream *full = test_stream_make(0);
    accel_stream *other = test_stream_make(0);
    pthread_t thread;
    void *result = NULL;
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], full, &gate));
    assert_int_equal(pthread_create(&thread, NULL, queue_many, full), 0);
    for (int i = 0; i < 20; i++) {
        OK(test_launch_nothing(&on[0], other));
        OK(accel_stream_synchronize(other));
        test_nap_ms(1);
    }
    assert_false(test_stream_done(full));
    assert_int_equal(log_of_many.count, 0);
    test_gate_open(&gate);
    pthread_join(thread, &result);
    assert_null(result);
    OK(accel_stream_synchronize(full));
    assert_int_equal(log_of_many.count, MANY);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(log_of_many.values[i], i);
    accel_stream_release(full);
    accel_stream_release(other);
}

/* Nobody waits for ever for the mark of a stream that failed. */
static void test_waiting_for_a_failed_stream_ends(void **state)
{
    (void)state;
    accel_stream *bad = test_stream_make(0);
    accel_stream *waiter = test_stream_make(0);
    accel_event *event = NULL;
    test_gate gate = {0};
    OK(accel_event_create(test_cpu_device(0), NULL, &event));
    OK(test_launch_gate(&on[0], bad, &gate));
    OK(test_launch_fail(&on[0], bad));
    OK(accel_event_record(event, bad));
    OK(accel_stream_wait_event(waiter, event));
    OK(test_launch_nothing(&on[0], waiter));
    test_gate_open(&gate);
    assert_int_not_equal(accel_stream_synchronize(bad), ACCEL_OK);
    accel_stream_synchronize(waiter);
    accel_event_release(event);
    accel_stream_release(bad);
    accel_stream_release(waiter);
    OK(accel_synchronize(test_cpu_device(0)));
}

int main(void)
{
    test_environment(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stream_is_a_fifo),
        cmocka_unit_test(test_query_tells_pending_from_passed),
        cmocka_unit_test(test_the_right_device_is_asked),
        cmocka_unit_test(test_null_is_the_current_stream),
        cmocka_unit_test(test_wait_stream_orders),
        cmocka_unit_test(test_a_web_of_waits),
        cmocka_unit_test(test_release_finishes_the_work),
        cmocka_unit_test(test_device_synchronize_covers_every_stream),
        cmocka_unit_test(test_a_failure_sticks_to_its_stream),
        cmocka_unit_test(test_work_behind_a_failure_is_skipped),
        cmocka_unit_test(test_a_full_queue_blocks_its_caller_only),
        cmocka_unit_test(test_waiting_for_a_failed_stream_ends),
    };
    return cmocka_run_group_tests(tests, test_two_devices_set_up, test_two_devices_tear_down);
}
