/* sweep_test.c: every create of the core with its n-th inner allocation, mapping or thread start
 * failing, for n = 1, 2 … until it succeeds: a status, nothing leaked, and the object creatable at once
 * afterwards. The sanitizers' leak check looks at the end of the process, the test at the heap. */
#include <malloc.h>
#include <pthread.h>

#include "support/check.h"
#include "support/kernels.h"

#include "unit/fault_sweep.h"

static test_kernels kernels;
static accel_stream *stream;
static void *memory;
static void *memory_of_other;

/* ---- what is created; each undoes what it made ---- */

static accel_status make_stream(void)
{
    accel_stream *made = NULL;
    const accel_status status = accel_stream_create(test_cpu_device(0), NULL, &made);
    assert_true((made != NULL) == (status == ACCEL_OK));
    accel_stream_release(made);
    return status;
}

static accel_status make_used_stream(void)
{
    accel_stream *made = NULL;
    accel_status status = accel_stream_create(test_cpu_device(0), NULL, &made);
    if (status == ACCEL_OK)
        status = test_launch_nothing(&kernels, made);
    if (made != NULL)
        accel_stream_synchronize(made);
    accel_stream_release(made);
    return status;
}

static accel_status make_event(void)
{
    const accel_event_options timed = {.struct_size = sizeof timed, .enable_timing = true};
    accel_event *made = NULL;
    accel_status status = accel_event_create(test_cpu_device(0), &timed, &made);
    assert_true((made != NULL) == (status == ACCEL_OK));
    if (status == ACCEL_OK)
        status = accel_event_record(made, stream);
    if (status == ACCEL_OK)
        status = accel_event_synchronize(made);
    accel_event_release(made);
    return status;
}

static accel_status make_module(void)
{
    test_kernels made;
    const accel_status status = test_kernels_load(test_cpu_device(0), &made);
    assert_true((made.module != NULL) == (status == ACCEL_OK));
    test_kernels_unload(&made);
    return status;
}

static accel_status make_memory(void)
{
    void *made = &made;
    const accel_status status = accel_memory_alloc(stream, 10000, NULL, &made);
    assert_true((made != NULL) == (status == ACCEL_OK));
    accel_memory_free(made);
    return status;
}

static accel_status make_pinned_memory(void)
{
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = ACCEL_MEMORY_KIND_PINNED};
    void *made = NULL;
    const accel_status status = accel_memory_alloc(stream, 10000, &options, &made);
    accel_memory_free(made);
    return status;
}

/* A free never fails, also where there is no memory to mark what it waits for. */
static accel_status free_while_in_use(void)
{
    void *made = NULL;
    test_gate gate = {0};
    accel_status status = accel_memory_alloc(stream, 4096, NULL, &made);
    if (status != ACCEL_OK)
        return status;
    status = test_launch_gate(&kernels, stream, &gate);
    const accel_status freed = accel_memory_free(made);
    test_gate_open(&gate);
    const accel_status waited = accel_stream_synchronize(stream);
    assert_int_equal(freed, ACCEL_OK);
    assert_int_equal(waited, ACCEL_OK);
    assert_int_equal(accel_synchronize(test_cpu_device(0)), ACCEL_OK);
    return status;
}

static accel_status record_use(void)
{
    accel_stream *other = NULL;
    void *made = NULL;
    accel_status status = accel_stream_create(test_cpu_device(0), NULL, &other);
    if (status == ACCEL_OK)
        status = accel_memory_alloc(stream, 64, NULL, &made);
    if (status == ACCEL_OK)
        status = accel_record_stream(made, other);
    accel_memory_free(made);
    accel_stream_release(other);
    accel_synchronize(test_cpu_device(0));
    return status;
}

static _Atomic(int) calls;

static void count_call(accel_stream *on, accel_status status, void *user)
{
    (void)on;
    (void)status;
    (void)user;
    atomic_fetch_add(&calls, 1);
}

static accel_status add_callback(void)
{
    const int before = calls;
    const accel_status status = accel_stream_add_callback(stream, count_call, NULL);
    assert_int_equal(accel_stream_synchronize(stream), ACCEL_OK);
    assert_int_equal(calls, before + (status == ACCEL_OK ? 1 : 0));
    return status;
}

static accel_status run(accel_device device, void *user)
{
    (void)device;
    *(int *)user += 1;
    return ACCEL_OK;
}

static accel_status defer(void)
{
    int ran = 0;
    const accel_status status = accel_lazy_call(test_cpu(), run, &ran, NULL);
    assert_int_equal(ran, status == ACCEL_OK ? 1 : 0);
    return status;
}

static accel_status wait_stream(void)
{
    accel_stream *other = NULL;
    accel_status status = accel_stream_default(test_cpu_device(0), &other);
    if (status == ACCEL_OK)
        status = accel_stream_wait_stream(stream, other);
    accel_stream_synchronize(stream);
    return status;
}

static accel_status launch(void)
{
    const accel_status status = test_launch_add(&kernels, stream, memory, 16, 1);
    accel_stream_synchronize(stream);
    return status;
}

static accel_status copy_to_other_device(void)
{
    const accel_status status = accel_copy(memory_of_other, memory, 64, stream);
    accel_stream_synchronize(stream);
    return status;
}

static accel_status fill(void)
{
    const accel_status status = accel_fill(memory, "", 1, 64, stream);
    accel_stream_synchronize(stream);
    return status;
}

static void *set_stream_here(void *user)
{
    *(accel_status *)user = accel_set_stream(stream);
    return NULL;
}

/* The table of a thread's current streams: made for a thread, gone with it. */
static accel_status set_stream_in_a_thread(void)
{
    accel_status status = ACCEL_ERROR_INTERNAL;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, set_stream_here, &status), 0);
    pthread_join(thread, NULL);
    return status;
}

static accel_status scope(void)
{
    accel_stream_scope made;
    const accel_status status = accel_stream_scope_begin(stream, &made);
    assert_int_equal(made.active, status == ACCEL_OK);
    accel_stream_scope_end(&made);
    return status;
}

static const struct sweep {
    const char *name;
    accel_status (*create)(void);
} sweeps[] = {
    {"stream", make_stream},
    {"used stream", make_used_stream},
    {"event", make_event},
    {"module", make_module},
    {"memory", make_memory},
    {"pinned memory", make_pinned_memory},
    {"free while in use", free_while_in_use},
    {"recorded use", record_use},
    {"callback", add_callback},
    {"deferred call", defer},
    {"wait", wait_stream},
    {"launch", launch},
    {"copy to another device", copy_to_other_device},
    {"fill", fill},
    {"current stream", set_stream_in_a_thread},
    {"scope", scope},
};
enum { SWEEPS = sizeof sweeps / sizeof sweeps[0], STEPS_MAX = 1000 };

static bool is_a_shortage(accel_status status)
{
    return status == ACCEL_ERROR_OUT_OF_HOST_MEMORY || status == ACCEL_ERROR_OUT_OF_MEMORY ||
           status == ACCEL_ERROR_SYSTEM;
}

/* How many steps it took until nothing failed. */
static unsigned sweep(const struct sweep *swept)
{
    for (unsigned step = 1; step < STEPS_MAX; step++) {
        fault_begin(step);
        const accel_status status = swept->create();
        const bool happened = fault_end();
        if (status != ACCEL_OK && (!happened || !is_a_shortage(status)))
            print_error("%s, step %u: %s: %s\n", swept->name, step, accel_status_name(status),
                        accel_last_error_message());
        assert_true(status == ACCEL_OK || (happened && is_a_shortage(status)));
        const accel_status again = swept->create();
        if (again != ACCEL_OK)
            print_error("%s, again after step %u\n", swept->name, step);
        assert_int_equal(again, ACCEL_OK);
        if (!happened)
            return step;
    }
    fail_msg("%s never succeeds", swept->name);
    return 0;
}

static void test_each_create_at_each_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < SWEEPS; i++)
        sweep(&sweeps[i]);
}

static size_t heap_in_use(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* The heap may grow while caches of the C library fill; a leak makes it grow every time. */
static void test_nothing_is_left_behind(void **state)
{
    (void)state;
    for (size_t i = 0; i < SWEEPS; i++) {
        bool settled = false;
        for (int turn = 0; turn < 20 && !settled; turn++) {
            const size_t before = heap_in_use();
            sweep(&sweeps[i]);
            settled = heap_in_use() <= before;
        }
        if (!settled)
            print_error("%s leaves memory behind\n", sweeps[i].name);
        assert_true(settled);
    }
}

static int load(void **state)
{
    (void)state;
    accel_stream *other = NULL;
    return test_kernels_load(test_cpu_device(0), &kernels) != ACCEL_OK ||
           accel_stream_create(test_cpu_device(0), NULL, &stream) != ACCEL_OK ||
           accel_memory_alloc(stream, 64, NULL, &memory) != ACCEL_OK ||
           accel_stream_default(test_cpu_device(1), &other) != ACCEL_OK ||
           accel_memory_alloc(other, 64, NULL, &memory_of_other) != ACCEL_OK;
}

static int unload(void **state)
{
    (void)state;
    accel_memory_free(memory);
    accel_memory_free(memory_of_other);
    accel_stream_release(stream);
    test_kernels_unload(&kernels);
    return 0;
}

int main(void)
{
    test_environment(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_create_at_each_step),
        cmocka_unit_test(test_nothing_is_left_behind),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
