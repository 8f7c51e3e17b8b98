/* stream_test.c: streams: identity, current ones, scopes (stream.h). Two cpu devices. Cases B78 and B79
 * (guards), B85 (aliased streams). The order of their work: stream_order_test.c. */
#include <pthread.h>
#include <stdlib.h>

#include "support/process.h"
#include "support/two_devices.h"

static accel_stream *current_of(int32_t index)
{
    accel_stream *stream = NULL;
    OK(accel_current_stream(test_cpu_device(index), &stream));
    return stream;
}

/* ---- identity ---- */

static void test_default_streams(void **state)
{
    (void)state;
    for (int32_t i = 0; i < 2; i++) {
        accel_stream *stream = test_stream_default(i);
        assert_ptr_equal(stream, test_stream_default(i));
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
        assert_true(test_stream_done(stream));
        /* Lent, but extra releases do no harm. */
        accel_stream_retain(stream);
        for (int turn = 0; turn < 5; turn++)
            accel_stream_release(stream);
        OK(accel_stream_synchronize(stream));
    }
    assert_ptr_not_equal(test_stream_default(0), test_stream_default(1));
}

static void test_a_hundred_streams_are_a_hundred(void **state)
{
    (void)state;
    enum { COUNT = 100 };
    accel_stream *streams[COUNT];
    uint64_t ids[COUNT];
    for (int i = 0; i < COUNT; i++) {
        streams[i] = test_stream_make(0);
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
    assert_false(test_stream_done(streams[0]));
    test_gate_open(&gate);
    OK(accel_stream_synchronize(streams[0]));
    for (int i = 0; i < COUNT; i += 2)
        accel_stream_release(streams[i]);
    for (int i = 0; i < COUNT; i += 2) {
        streams[i] = test_stream_make(0);
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
    accel_stream *one = test_stream_make(0);
    accel_stream *two = test_stream_make(0);
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
    assert_ptr_equal(current_of(0), test_stream_default(0));
    assert_ptr_equal(current_of(1), test_stream_default(1));
    accel_stream *stream = test_stream_make(1);
    OK(accel_set_stream(stream));
    assert_int_equal(test_current_index(), 1);
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
    assert_ptr_equal(current_of(0), test_stream_default(0));
    /* The thread keeps what it has set alive. */
    accel_stream_release(stream);
    OK(test_launch_nothing(&on[1], current_of(1)));
    OK(accel_stream_synchronize(current_of(1)));
    test_back_to_default();
    assert_int_equal(test_current_index(), 0);
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
    accel_stream *stream = test_stream_make(0);
    OK(accel_set_stream(stream));
    accel_stream *seen = NULL;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, see_current_stream, &seen), 0);
    pthread_join(thread, NULL);
    assert_ptr_equal(seen, test_stream_default(0));
    assert_ptr_equal(current_of(0), stream);
    test_back_to_default();
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
    accel_stream *stream = test_stream_make(1);
    OK(accel_set_stream(stream));
    FAILS(accel_set_stream(NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_set_stream");
    assert_int_equal(test_current_index(), 1);
    assert_ptr_equal(current_of(1), stream);
    test_back_to_default();
    accel_stream_release(stream);
}

/* ---- scopes ---- */

static void test_scope_over_devices(void **state) /* B78 */
{
    (void)state;
    accel_stream *a = test_stream_make(0);
    accel_stream *b = test_stream_make(1);
    accel_stream *c = test_stream_make(1);
    OK(accel_set_stream(b));
    OK(accel_set_stream(a));
    accel_stream_scope scope;
    OK(accel_stream_scope_begin(c, &scope));
    assert_int_equal(test_current_index(), 1);
    assert_ptr_equal(current_of(1), c);
    assert_ptr_equal(current_of(0), a);
    accel_stream_scope_end(&scope);
    assert_int_equal(test_current_index(), 0);
    assert_ptr_equal(current_of(0), a);
    assert_ptr_equal(current_of(1), b);
    test_back_to_default();
    accel_stream_release(a);
    accel_stream_release(b);
    accel_stream_release(c);
}

static void test_nested_scopes(void **state) /* B78, and torch's s0 > s1 > s0 */
{
    (void)state;
    accel_stream *s0 = test_stream_make(0);
    accel_stream *s1 = test_stream_make(1);
    accel_stream *const order[] = {s0, s0, s1, s0, s1, s1};
    enum { DEPTH = sizeof order / sizeof order[0] };
    accel_stream_scope scopes[DEPTH];
    accel_stream *before[DEPTH][2];
    int32_t index[DEPTH];
    for (int i = 0; i < DEPTH; i++) {
        index[i] = test_current_index();
        before[i][0] = current_of(0);
        before[i][1] = current_of(1);
        OK(accel_stream_scope_begin(order[i], &scopes[i]));
        assert_ptr_equal(current_of(order[i] == s0 ? 0 : 1), order[i]);
    }
    for (int i = DEPTH - 1; i >= 0; i--) {
        accel_stream_scope_end(&scopes[i]);
        assert_int_equal(test_current_index(), index[i]);
        assert_ptr_equal(current_of(0), before[i][0]);
        assert_ptr_equal(current_of(1), before[i][1]);
    }
    accel_stream_release(s0);
    accel_stream_release(s1);
}

static void test_scope_undoes_what_its_body_set(void **state) /* B79 */
{
    (void)state;
    accel_stream *s1 = test_stream_make(0);
    accel_stream *s2 = test_stream_make(0);
    accel_stream *s3 = test_stream_make(0);
    OK(accel_set_stream(s1));
    accel_stream_scope scope;
    OK(accel_stream_scope_begin(s2, &scope));
    OK(accel_set_stream(s3));
    accel_stream_scope_end(&scope);
    assert_ptr_equal(current_of(0), s1);
    /* The body goes to the other device, and stays there. */
    OK(accel_stream_scope_begin(s2, &scope));
    accel_stream *other = test_stream_make(1);
    OK(accel_set_stream(other));
    accel_stream_scope_end(&scope);
    assert_int_equal(test_current_index(), 0);
    assert_ptr_equal(current_of(0), s1);
    test_back_to_default();
    accel_stream_release(s1);
    accel_stream_release(s2);
    accel_stream_release(s3);
    accel_stream_release(other);
}

static void test_scope_keeps_the_previous_alive(void **state) /* B79, second half */
{
    (void)state;
    accel_stream *s1 = test_stream_make(0);
    accel_stream *s2 = test_stream_make(0);
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
    test_back_to_default();
    accel_stream_release(s2);
}

static void test_scope_of_null_does_nothing(void **state)
{
    (void)state;
    accel_stream *stream = test_stream_make(0);
    accel_stream_scope scope;
    memset(&scope, 0xff, sizeof scope);
    OK(accel_stream_scope_begin(NULL, &scope));
    OK(accel_set_stream(stream));
    accel_stream_scope_end(&scope);
    assert_ptr_equal(current_of(0), stream);
    test_back_to_default();
    accel_stream_release(stream);
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
    };
    return cmocka_run_group_tests(tests, test_two_devices_set_up, test_two_devices_tear_down);
}
