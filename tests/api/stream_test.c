/* stream_test.c: streams: identity, current ones, scopes, order, waiting (stream.h). Two cpu devices.
 * Cases B77 (the null handle of another device), B78 and B79 (guards), B85 (aliased streams). */
#include <pthread.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/kernels.h"
#include "support/process.h"

static test_kernels on[2]; /* the kernels of each device */

static accel_stream *make(int32_t index)
{
    accel_stream *stream = NULL;
    OK(accel_stream_create(test_cpu_device(index), NULL, &stream));
    assert_non_null(stream);
    return stream;
}

static accel_stream *default_of(int32_t index)
{
    accel_stream *stream = NULL;
    OK(accel_stream_default(test_cpu_device(index), &stream));
    return stream;
}

static accel_stream *current_of(int32_t index)
{
    accel_stream *stream = NULL;
    OK(accel_current_stream(test_cpu_device(index), &stream));
    return stream;
}

static int32_t current_index(void)
{
    int32_t index = -1;
    OK(accel_current_device_index(test_cpu(), &index));
    return index;
}

static bool done(accel_stream *stream)
{
    bool is = false;
    OK(accel_stream_query(stream, &is));
    return is;
}

static void back_to_default(void)
{
    OK(accel_set_stream(default_of(1)));
    OK(accel_set_stream(default_of(0)));
}

/* ---- identity ---- */

static void test_default_streams(void **state)
{
    (void)state;
    for (int32_t i = 0; i < 2; i++) {
        accel_stream *stream = default_of(i);
        assert_ptr_equal(stream, default_of(i));
        uint64_t id = 7;
        int32_t priority = 7;
        accel_device device;
        OK(accel_stream_get_id(stream, &id));
        assert_int_equal(id, 0);
        OK(accel_stream_get_priority(stream, &priority));
        assert_int_equal(priority, 0);
        OK(accel_stream_get_device(stream, &device));
        assert_int_equal(device.backend, test_cpu());
        assert_int_equal(device.index, i);
        assert_true(done(stream));
        /* Lent, but extra releases do no harm. */
        accel_stream_retain(stream);
        for (int turn = 0; turn < 5; turn++)
            accel_stream_release(stream);
        OK(accel_stream_synchronize(stream));
    }
    assert_ptr_not_equal(default_of(0), default_of(1));
}

static void test_a_hundred_streams_are_a_hundred(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    accel_stream *streams[COUNT];
    uint64_t ids[COUNT];
    for (int i = 0; i < COUNT; i++) {
        streams[i] = make(0);
        OK(accel_stream_get_id(streams[i], &ids[i]));
        assert_int_not_equal(ids[i], 0);
        for (int j = 0; j < i; j++)
            assert_true(ids[i] != ids[j] && streams[i] != streams[j]);
    }
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], streams[0], &gate));
    for (int i = 1; i < COUNT; i++) {
        OK(test_launch_nothing(&on[0], streams[i]));
        OK(accel_stream_synchronize(streams[i]));
    }
    assert_false(done(streams[0]));
    test_gate_open(&gate);
    OK(accel_stream_synchronize(streams[0]));
    for (int i = 0; i < COUNT; i += 2)
        accel_stream_release(streams[i]);
    for (int i = 0; i < COUNT; i += 2) {
        streams[i] = make(0);
        uint64_t id = 0;
        OK(accel_stream_get_id(streams[i], &id));
        for (int j = 0; j < COUNT; j++)
            assert_true(id != ids[j]);
    }
    for (int i = 0; i < COUNT; i++)
        accel_stream_release(streams[i]);
}

static void test_native_handles_differ(void **state)
{
    (void)state;
    accel_stream *one = make(0);
    accel_stream *two = make(0);
    void *first = NULL;
    void *second = NULL;
    accel_device_capability capability = {.struct_size = sizeof capability};
    OK(accel_get_device_capability(test_cpu_device(0), &capability));
    if (capability.native_handles) {
        OK(accel_stream_get_native_handle(one, &first));
        OK(accel_stream_get_native_handle(two, &second));
        assert_non_null(first);
        assert_ptr_not_equal(first, second);
    } else {
        FAILS(accel_stream_get_native_handle(one, &first), ACCEL_ERROR_UNSUPPORTED,
              "accel_stream_get_native_handle");
    }
    accel_stream_release(one);
    accel_stream_release(two);
}

/* ---- current streams ---- */

static void test_current_stream_by_every_name(void **state)
{
    (void)state;
    assert_ptr_equal(current_of(0), default_of(0));
    assert_ptr_equal(current_of(1), default_of(1));
    accel_stream *stream = make(1);
    OK(accel_set_stream(stream));
    assert_int_equal(current_index(), 1);
    accel_device device;
    OK(accel_stream_get_device(stream, &device));
    accel_stream *found = NULL;
    const accel_device names[] = {device, test_cpu_device(1), test_cpu_device(ACCEL_INDEX_NONE),
                                  ACCEL_DEVICE(ACCEL_BACKEND_CURRENT, 1), ACCEL_DEVICE_CURRENT};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        OK(accel_current_stream(names[i], &found));
        assert_ptr_equal(found, stream);
    }
    accel_device parsed;
    OK(accel_device_parse("cpu:1", &parsed));
    OK(accel_current_stream(parsed, &found));
    assert_ptr_equal(found, stream);
    assert_ptr_equal(current_of(0), default_of(0));
    /* The thread keeps what it has set alive. */
    accel_stream_release(stream);
    OK(test_launch_nothing(&on[1], current_of(1)));
    OK(accel_stream_synchronize(current_of(1)));
    back_to_default();
    assert_int_equal(current_index(), 0);
}

static void *see_current_stream(void *user)
{
    accel_stream *stream = NULL;
    accel_current_stream(test_cpu_device(0), &stream);
    *(accel_stream **)user = stream;
    return NULL;
}

static void test_current_stream_is_per_thread(void **state)
{
    (void)state;
    accel_stream *stream = make(0);
    OK(accel_set_stream(stream));
    accel_stream *seen = NULL;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, see_current_stream, &seen), 0);
    pthread_join(thread, NULL);
    assert_ptr_equal(seen, default_of(0));
    assert_ptr_equal(current_of(0), stream);
    back_to_default();
    accel_stream_release(stream);
}

static void *end_with_own_stream(void *user)
{
    (void)user;
    accel_stream *stream = NULL;
    if (accel_stream_create(test_cpu_device(0), NULL, &stream) != ACCEL_OK)
        return (void *)1;
    accel_set_stream(stream);
    accel_stream_release(stream);
    return NULL; /* the thread's exit gives the last reference back */
}

static void test_a_thread_ends_with_a_stream_set(void **state)
{
    (void)state;
    for (int turn = 0; turn < 20; turn++) {
        pthread_t thread;
        void *result = NULL;
        assert_int_equal(pthread_create(&thread, NULL, end_with_own_stream, NULL), 0);
        pthread_join(thread, &result);
        assert_null(result);
    }
}

static void test_set_null_changes_nothing(void **state)
{
    (void)state;
    accel_stream *stream = make(1);
    OK(accel_set_stream(stream));
    FAILS(accel_set_stream(NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_set_stream");
    assert_int_equal(current_index(), 1);
    assert_ptr_equal(current_of(1), stream);
    back_to_default();
    accel_stream_release(stream);
}

/* ---- scopes ---- */

static void test_scope_over_devices(void **state) /* B78 */
{
    (void)state;
    accel_stream *a = make(0);
    accel_stream *b = make(1);
    accel_stream *c = make(1);
    OK(accel_set_stream(b));
    OK(accel_set_stream(a));
    accel_stream_scope scope;
    OK(accel_stream_scope_begin(c, &scope));
    assert_int_equal(current_index(), 1);
    assert_ptr_equal(current_of(1), c);
    assert_ptr_equal(current_of(0), a);
    accel_stream_scope_end(&scope);
    assert_int_equal(current_index(), 0);
    assert_ptr_equal(current_of(0), a);
    assert_ptr_equal(current_of(1), b);
    back_to_default();
    accel_stream_release(a);
    accel_stream_release(b);
    accel_stream_release(c);
}

static void test_nested_scopes(void **state) /* B78, and torch's s0 > s1 > s0 */
{
    (void)state;
    accel_stream *s0 = make(0);
    accel_stream *s1 = make(1);
    accel_stream *const order[] = {s0, s0, s1, s0, s1, s1};
    enum { DEPTH = sizeof order / sizeof order[0] };
    accel_stream_scope scopes[DEPTH];
    accel_stream *before[DEPTH][2];
    int32_t index[DEPTH];
    for (int i = 0; i < DEPTH; i++) {
        index[i] = current_index();
        before[i][0] = current_of(0);
        before[i][1] = current_of(1);
        OK(accel_stream_scope_begin(order[i], &scopes[i]));
        assert_ptr_equal(current_of(order[i] == s0 ? 0 : 1), order[i]);
    }
    for (int i = DEPTH - 1; i >= 0; i--) {
        accel_stream_scope_end(&scopes[i]);
        assert_int_equal(current_index(), index[i]);
        assert_ptr_equal(current_of(0), before[i][0]);
        assert_ptr_equal(current_of(1), before[i][1]);
    }
    accel_stream_release(s0);
    accel_stream_release(s1);
}

static void test_scope_undoes_what_its_body_set(void **state) /* B79 */
{
    (void)state;
    accel_stream *s1 = make(0);
    accel_stream *s2 = make(0);
    accel_stream *s3 = make(0);
    OK(accel_set_stream(s1));
    accel_stream_scope scope;
    OK(accel_stream_scope_begin(s2, &scope));
    OK(accel_set_stream(s3));
    accel_stream_scope_end(&scope);
    assert_ptr_equal(current_of(0), s1);
    /* The body goes to the other device, and stays there. */
    OK(accel_stream_scope_begin(s2, &scope));
    accel_stream *other = make(1);
    OK(accel_set_stream(other));
    accel_stream_scope_end(&scope);
    assert_int_equal(current_index(), 0);
    assert_ptr_equal(current_of(0), s1);
    back_to_default();
    accel_stream_release(s1);
    accel_stream_release(s2);
    accel_stream_release(s3);
    accel_stream_release(other);
}

static void test_scope_keeps_the_previous_alive(void **state) /* B79, second half */
{
    (void)state;
    accel_stream *s1 = make(0);
    accel_stream *s2 = make(0);
    uint64_t id = 0;
    OK(accel_stream_get_id(s1, &id));
    OK(accel_set_stream(s1));
    accel_stream_scope scope;
    OK(accel_stream_scope_begin(s2, &scope));
    accel_stream_release(s1);
    accel_stream_scope_end(&scope);
    uint64_t now = 0;
    OK(accel_stream_get_id(current_of(0), &now));
    assert_int_equal(now, id);
    OK(test_launch_nothing(&on[0], current_of(0)));
    OK(accel_stream_synchronize(current_of(0)));
    back_to_default();
    accel_stream_release(s2);
}

static void test_scope_of_null_does_nothing(void **state)
{
    (void)state;
    accel_stream *stream = make(0);
    accel_stream_scope scope;
    memset(&scope, 0xff, sizeof scope);
    OK(accel_stream_scope_begin(NULL, &scope));
    OK(accel_set_stream(stream));
    accel_stream_scope_end(&scope);
    assert_ptr_equal(current_of(0), stream);
    back_to_default();
    accel_stream_release(stream);
}

/* ---- order and waiting ---- */

static void test_a_stream_is_a_fifo(void **state)
{
    (void)state;
    static test_log log;
    atomic_store(&log.count, 0);
    accel_stream *stream = make(0);
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
    accel_stream *stream = make(0);
    assert_true(done(stream));
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], stream, &gate));
    assert_false(done(stream));
    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream));
    assert_true(done(stream));
    accel_stream_release(stream);
}

static void test_the_right_device_is_asked(void **state) /* B77 */
{
    (void)state;
    for (int32_t current = 0; current < 2; current++) {
        OK(accel_set_device_index(test_cpu_device(current)));
        test_gate gate = {0};
        accel_event *event = NULL;
        OK(test_launch_gate(&on[1], default_of(1), &gate));
        OK(accel_event_create(test_cpu_device(1), NULL, &event));
        OK(accel_event_record(event, default_of(1)));
        assert_true(done(default_of(0)));
        assert_false(done(default_of(1)));
        OK(accel_synchronize(test_cpu_device(0)));
        OK(accel_stream_synchronize(default_of(0)));
        bool passed = true;
        OK(accel_event_query(event, &passed));
        assert_false(passed);
        assert_int_equal(current_index(), current);
        test_gate_open(&gate);
        OK(accel_synchronize(test_cpu_device(1)));
        assert_true(done(default_of(1)));
        OK(accel_event_query(event, &passed));
        assert_true(passed);
        assert_int_equal(current_index(), current);
        accel_event_release(event);
    }
    OK(accel_set_device_index(test_cpu_device(0)));
}

static void test_null_is_the_current_stream(void **state)
{
    (void)state;
    accel_stream *stream = make(0);
    OK(accel_set_stream(stream));
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], NULL, &gate));
    assert_false(done(stream));
    bool is = true;
    OK(accel_stream_query(NULL, &is));
    assert_false(is);
    assert_true(done(default_of(0)));
    test_gate_open(&gate);
    OK(accel_stream_synchronize(NULL));
    assert_true(done(stream));
    back_to_default();
    accel_stream_release(stream);
}

static void test_wait_stream_orders(void **state)
{
    (void)state;
    static test_log log;
    atomic_store(&log.count, 0);
    accel_stream *first = make(0);
    accel_stream *second = make(1);
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], first, &gate));
    OK(test_launch_append(&on[0], first, &log, 1));
    OK(accel_stream_wait_stream(second, first));
    OK(test_launch_append(&on[1], second, &log, 2));
    OK(test_launch_append(&on[0], first, &log, 3));
    assert_false(done(second));
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
        streams[i] = make(i & 1);
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
    accel_stream *stream = make(0);
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], stream, &gate));
    for (uint32_t i = 0; i < 50; i++)
        OK(test_launch_append(&on[0], stream, &log, i));
    const uint64_t before = test_now_ns();
    accel_stream_release(stream);
    assert_true(test_now_ns() - before < 5000000000u); /* the gate is closed: it cannot have waited */
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
        streams[i] = make(1);
        for (uint32_t j = 0; j < 20; j++)
            OK(test_launch_append(&on[1], streams[i], &log, j));
    }
    OK(accel_synchronize(test_cpu_device(1)));
    assert_int_equal(log.count, STREAMS * 20);
    assert_int_equal(current_index(), 0);
    for (int i = 0; i < STREAMS; i++)
        accel_stream_release(streams[i]);
}

static void test_a_failure_sticks_to_its_stream(void **state)
{
    (void)state;
    static test_log log;
    atomic_store(&log.count, 0);
    accel_stream *bad = make(0);
    accel_stream *good = make(0);
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
    accel_stream *stream = make(0);
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
    accel_stream *full = make(0);
    accel_stream *other = make(0);
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
    assert_false(done(full));
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
    accel_stream *bad = make(0);
    accel_stream *waiter = make(0);
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

static int load(void **state)
{
    (void)state;
    return test_kernels_load(test_cpu_device(0), &on[0]) != ACCEL_OK ||
           test_kernels_load(test_cpu_device(1), &on[1]) != ACCEL_OK;
}

static int unload(void **state)
{
    (void)state;
    test_kernels_unload(&on[0]);
    test_kernels_unload(&on[1]);
    return 0;
}

int main(void)
{
    test_environment(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_streams),
        cmocka_unit_test(test_a_hundred_streams_are_a_hundred),
        cmocka_unit_test(test_native_handles_differ),
        cmocka_unit_test(test_current_stream_by_every_name),
        cmocka_unit_test(test_current_stream_is_per_thread),
        cmocka_unit_test(test_a_thread_ends_with_a_stream_set),
        cmocka_unit_test(test_set_null_changes_nothing),
        cmocka_unit_test(test_scope_over_devices),
        cmocka_unit_test(test_nested_scopes),
        cmocka_unit_test(test_scope_undoes_what_its_body_set),
        cmocka_unit_test(test_scope_keeps_the_previous_alive),
        cmocka_unit_test(test_scope_of_null_does_nothing),
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
    return cmocka_run_group_tests(tests, load, unload);
}
