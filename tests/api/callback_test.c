/* callback_test.c: host callbacks (stream.h). Case B83: a callback may not queue or wait for work, and
 * nothing deadlocks however busy the other threads are. */
#include <pthread.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/kernels.h"
#include "support/process.h"

static test_kernels kernels;
static accel_stream *stream;
static void *memory;
static accel_event *event;
static accel_stream *other_stream;

typedef struct record {
    _Atomic(uint32_t) calls;
    accel_status status;
    accel_stream *stream;
} record;

static void write_down(accel_stream *on, accel_status status, void *user)
{
    record *to = user;
    to->status = status;
    to->stream = on;
    atomic_fetch_add(&to->calls, 1);
}

static void test_called_once_with_its_stream(void **state)
{
    (void)state;
    record seen = {.status = ACCEL_ERROR_INTERNAL};
    OK(accel_stream_add_callback(stream, write_down, &seen));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(seen.calls, 1);
    assert_int_equal(seen.status, ACCEL_OK);
    assert_ptr_equal(seen.stream, stream);
}

static void test_called_behind_the_work_before(void **state)
{
    (void)state;
    record seen = {0};
    test_gate gate = {0};
    OK(test_launch_gate(&kernels, stream, &gate));
    OK(accel_stream_add_callback(stream, write_down, &seen));
    test_nap_ms(5);
    assert_int_equal(seen.calls, 0);
    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream));
    assert_int_equal(seen.calls, 1);
}

static test_log *order;

static void append(accel_stream *on, accel_status status, void *user)
{
    (void)on;
    (void)status;
    test_nap_ms(1);
    const uint32_t at = atomic_fetch_add(&order->count, 1);
    order->values[at] = (uint32_t)(uintptr_t)user;
}

static void test_later_work_waits_where_the_capability_says_so(void **state)
{
    (void)state;
    static test_log log;
    order = &log;
    accel_device_capability capability = {.struct_size = sizeof capability};
    OK(accel_get_device_capability(test_cpu_device(0), &capability));
    for (uint32_t i = 0; i < 20; i++) {
        OK(accel_stream_add_callback(stream, append, (void *)(uintptr_t)(2 * i)));
        OK(test_launch_append(&kernels, stream, &log, 2 * i + 1));
    }
    OK(accel_stream_synchronize(stream));
    assert_int_equal(log.count, 40);
    if (capability.ordered_callbacks) {
        for (uint32_t i = 0; i < 40; i++)
            assert_int_equal(log.values[i], i);
    }
}

/* ---- what a callback may not do ---- */

static struct {
    accel_status status[16];
    int count;
    accel_status allowed[8];
    int allowed_count;
    bool query_done;
} inside;

static void no_callback(accel_stream *on, accel_status status, void *user)
{
    (void)on;
    (void)status;
    (void)user;
}

static void try_everything(accel_stream *on, accel_status status, void *user)
{
    (void)status;
    (void)user;
    static uint32_t host[4];
    static const uint32_t pattern;
    int n = 0;
    void *block = NULL;
    inside.status[n++] = test_launch_nothing(&kernels, on);
    inside.status[n++] = accel_copy(memory, host, 16, on);
    inside.status[n++] = accel_copy_2d(memory, 4, host, 4, 4, 2, on);
    inside.status[n++] = accel_fill(memory, &pattern, 4, 16, on);
    inside.status[n++] = accel_event_record(event, on);
    inside.status[n++] = accel_event_synchronize(event);
    inside.status[n++] = accel_stream_synchronize(on);
    inside.status[n++] = accel_synchronize(ACCEL_DEVICE_CURRENT);
    inside.status[n++] = accel_stream_wait_event(on, event);
    inside.status[n++] = accel_stream_wait_stream(on, other_stream);
    inside.status[n++] = accel_stream_add_callback(on, no_callback, NULL);
    inside.status[n++] = accel_memory_alloc(on, 64, NULL, &block);
    inside.status[n++] = accel_shutdown();
    inside.count = n;
    n = 0;
    accel_event *other = NULL;
    accel_device device;
    int32_t index;
    inside.allowed[n++] = accel_memory_free(user);
    inside.allowed[n++] = accel_event_create(ACCEL_DEVICE_CURRENT, NULL, &other);
    inside.allowed[n++] = accel_current_accelerator(true, &device);
    inside.allowed[n++] = accel_device_count(ACCEL_BACKEND_CURRENT, &index);
    inside.allowed[n++] = accel_stream_query(on, &inside.query_done);
    inside.allowed_count = n;
    accel_event_release(other);
}

static void test_work_is_refused_inside(void **state)
{
    (void)state;
    void *freed = NULL;
    OK(accel_memory_alloc(stream, 4096, NULL, &freed));
    OK(accel_stream_synchronize(stream));
    OK(accel_stream_add_callback(stream, try_everything, freed));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(inside.count, 13);
    for (int i = 0; i < inside.count; i++) {
        if (inside.status[i] != ACCEL_ERROR_IN_CALLBACK)
            print_error("the call numbered %d gave %s\n", i, accel_status_name(inside.status[i]));
        assert_int_equal(inside.status[i], ACCEL_ERROR_IN_CALLBACK);
    }
    for (int i = 0; i < inside.allowed_count; i++)
        assert_int_equal(inside.allowed[i], ACCEL_OK);
    assert_false(inside.query_done);
    /* The refusals stick to nothing. */
    OK(test_launch_nothing(&kernels, stream));
    OK(accel_stream_synchronize(stream));
}

static void drop_the_stream(accel_stream *on, accel_status status, void *user)
{
    (void)status;
    accel_stream_release(on);
    atomic_fetch_add(&((record *)user)->calls, 1);
}

static void test_the_last_reference_goes_inside(void **state)
{
    (void)state;
    record seen = {0};
    accel_stream *own = NULL;
    OK(accel_stream_create(test_cpu_device(0), NULL, &own));
    OK(accel_stream_add_callback(own, drop_the_stream, &seen));
    for (int turn = 0; turn < 5000 && atomic_load(&seen.calls) == 0; turn++)
        test_nap_ms(1);
    assert_int_equal(seen.calls, 1);
    OK(accel_synchronize(test_cpu_device(0)));
}

static void test_called_with_the_failure(void **state)
{
    (void)state;
    record seen = {0};
    record later = {0};
    accel_stream *bad = NULL;
    test_gate gate = {0};
    OK(accel_stream_create(test_cpu_device(0), NULL, &bad));
    OK(test_launch_gate(&kernels, bad, &gate));
    OK(test_launch_fail(&kernels, bad));
    OK(accel_stream_add_callback(bad, write_down, &seen));
    OK(accel_stream_add_callback(bad, write_down, &later));
    test_gate_open(&gate);
    const accel_status status = accel_stream_synchronize(bad);
    assert_int_not_equal(status, ACCEL_OK);
    for (int turn = 0; turn < 5000 && atomic_load(&later.calls) == 0; turn++)
        test_nap_ms(1);
    assert_int_equal(seen.calls, 1);
    assert_int_equal(seen.status, status);
    assert_int_equal(later.calls, 1);
    accel_stream_release(bad);
}

static void test_null_is_refused(void **state)
{
    (void)state;
    FAILS(accel_stream_add_callback(stream, NULL, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_stream_add_callback");
}

/* B83: callbacks that want a lock which the main thread holds while it calls accel. */
static pthread_mutex_t interpreter = PTHREAD_MUTEX_INITIALIZER;

static void with_the_lock(accel_stream *on, accel_status status, void *user)
{
    (void)on;
    (void)status;
    pthread_mutex_lock(&interpreter);
    atomic_fetch_add((_Atomic(uint32_t) *)user, 1);
    pthread_mutex_unlock(&interpreter);
}

static void test_no_deadlock_with_a_lock_of_the_program(void **state)
{
    (void)state;
    _Atomic(uint32_t) calls = 0;
    accel_stream *other = NULL;
    OK(accel_stream_create(test_cpu_device(0), NULL, &other));
    for (int i = 0; i < 300; i++) {
        pthread_mutex_lock(&interpreter); /* queueing never needs a callback to end */
        OK(accel_stream_add_callback(stream, with_the_lock, &calls));
        void *block = NULL;
        OK(accel_memory_alloc(other, 256, NULL, &block));
        OK(test_launch_nothing(&kernels, other));
        OK(accel_memory_free(block));
        pthread_mutex_unlock(&interpreter);
        if (i % 50 == 0)
            OK(accel_stream_synchronize(stream));
    }
    OK(accel_stream_synchronize(stream));
    OK(accel_stream_synchronize(other));
    assert_int_equal(calls, 300);
    accel_stream_release(other);
}

/* ---- what synchronize waits for ---- */

static void wait_for_gate(accel_stream *on, accel_status status, void *user)
{
    (void)on;
    (void)status;
    test_gate *gate = user;
    for (int turn = 0; turn < 10000 && atomic_load(&gate->open) == 0; turn++)
        test_nap_ms(1);
}

typedef struct waiter {
    accel_stream *stream;
    _Atomic(bool) begun;
    _Atomic(bool) ended;
    accel_status status;
} waiter;

static void *synchronize(void *user)
{
    waiter *self = user;
    atomic_store(&self->begun, true);
    self->status = accel_stream_synchronize(self->stream);
    atomic_store(&self->ended, true);
    return NULL;
}

static bool comes_true(_Atomic(bool) *flag, int milliseconds)
{
    for (int turn = 0; turn < milliseconds && !atomic_load(flag); turn++)
        test_nap_ms(1);
    return atomic_load(flag);
}

/* One callback is queued before the wait begins and one after; the first ends, the second does not. Whether
 * the wait did. */
static bool returns_before_the_later_one(accel_stream *on, unsigned lead_ms)
{
    static test_gate gates[2];
    atomic_store(&gates[0].open, 0);
    atomic_store(&gates[1].open, 0);
    waiter self = {.stream = on, .status = ACCEL_ERROR_INTERNAL};
    pthread_t thread;
    OK(accel_stream_add_callback(on, wait_for_gate, &gates[0]));
    assert_int_equal(pthread_create(&thread, NULL, synchronize, &self), 0);
    assert_true(comes_true(&self.begun, 5000));
    test_nap_ms(lead_ms); /* so that it stands in the wait */
    OK(accel_stream_add_callback(on, wait_for_gate, &gates[1]));
    test_gate_open(&gates[0]);
    const bool returned = comes_true(&self.ended, 2000);
    test_gate_open(&gates[1]);
    pthread_join(thread, NULL);
    assert_int_equal(self.status, ACCEL_OK);
    return returned;
}

/* Callbacks that are added all the time do not hold up a wait that began before them. */
static void test_synchronize_waits_for_earlier_ones_only(void **state)
{
    (void)state;
    accel_stream *own = NULL;
    OK(accel_stream_create(test_cpu_device(0), NULL, &own));
    bool returned = false;
    for (unsigned lead_ms = 20; lead_ms <= 500 && !returned; lead_ms *= 5)
        returned = returns_before_the_later_one(own, lead_ms);
    assert_true(returned);
    OK(accel_stream_synchronize(own));
    bool done = false;
    OK(accel_stream_query(own, &done));
    assert_true(done);
    accel_stream_release(own);
}

static int load(void **state)
{
    (void)state;
    return test_kernels_load(test_cpu_device(0), &kernels) != ACCEL_OK ||
           accel_stream_create(test_cpu_device(0), NULL, &stream) != ACCEL_OK ||
           accel_stream_default(test_cpu_device(0), &other_stream) != ACCEL_OK ||
           accel_memory_alloc(stream, 256, NULL, &memory) != ACCEL_OK ||
           accel_event_create(test_cpu_device(0), NULL, &event) != ACCEL_OK;
}

static int unload(void **state)
{
    (void)state;
    accel_event_release(event);
    accel_memory_free(memory);
    accel_stream_release(stream);
    test_kernels_unload(&kernels);
    return 0;
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_called_once_with_its_stream),
        cmocka_unit_test(test_called_behind_the_work_before),
        cmocka_unit_test(test_later_work_waits_where_the_capability_says_so),
        cmocka_unit_test(test_work_is_refused_inside),
        cmocka_unit_test(test_the_last_reference_goes_inside),
        cmocka_unit_test(test_called_with_the_failure),
        cmocka_unit_test(test_null_is_refused),
        cmocka_unit_test(test_no_deadlock_with_a_lock_of_the_program),
        cmocka_unit_test(test_synchronize_waits_for_earlier_ones_only),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
