/* cpu_event_test.c: events of the cpu backend, and the order that they make between streams. */
#include "unit/cpu_support.h"

#include <pthread.h>

static const char *wait_for_gate(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)first, (void)last;
    return cpu_comes_true(*(_Atomic(int) **)launch->arguments[0]) ? NULL : "the gate stayed shut";
}

static const char *set_flag(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)first, (void)last;
    atomic_store(*(_Atomic(int) **)launch->arguments[0], 1);
    return NULL;
}

static const char *break_down(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)launch, (void)first, (void)last;
    return "this kernel fails on purpose";
}

static const accel_param params[] = {CPU_POINTER_PARAM("flag")};
static const accel_cpu_kernel kernels[] = {
    {.name = "gate", .function = wait_for_gate, .params = params, .param_count = 1},
    {.name = "flag", .function = set_flag, .params = params, .param_count = 1},
    {.name = "fail", .function = break_down},
};

static cpu_fixture cpu;
static accel_native_module *module;
static accel_native_stream *other;

static int set_up(void **state)
{
    (void)state;
    setenv("ACCEL_CPU_THREADS", "3", 1); /* a gate must not hold what is beside it */
    cpu_open(&cpu);
    module = cpu_module(&cpu, kernels, 3);
    other = cpu_stream(&cpu);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cpu.table->stream.destroy(other);
    cpu.table->kernel.unload(module);
    cpu_close(&cpu);
    return 0;
}

static void launch_on_flag(accel_native_stream *stream, uint32_t kernel, _Atomic(int) *flag)
{
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(flag)};
    cpu_launch(&cpu, stream, cpu_function(&cpu, module, kernel), 1, args, kernel < 2);
}

static void record(accel_native_event *event, accel_native_stream *stream)
{
    assert_int_equal(cpu.table->event.record(event, stream), ACCEL_OK);
}

static void wait_on(accel_native_stream *stream, accel_native_event *event)
{
    assert_int_equal(cpu.table->event.wait(stream, event), ACCEL_OK);
}

static bool is_done(accel_native_event *event)
{
    bool done = false;
    assert_int_equal(cpu.table->event.query(event, &done), ACCEL_OK);
    return done;
}

static void synchronize(accel_native_stream *stream)
{
    assert_int_equal(cpu.table->stream.synchronize(stream), ACCEL_OK);
}

static void unrecorded_event_has_passed(void **state)
{
    (void)state;
    accel_native_event *event = cpu_event(&cpu, false);
    assert_true(is_done(event));
    assert_int_equal(cpu.table->event.synchronize(event), ACCEL_OK);
    wait_on(cpu.stream, event);
    synchronize(cpu.stream);
    cpu.table->event.destroy(event);
}

static void mark_passes_with_what_is_before_it(void **state)
{
    (void)state;
    for (int timing = 0; timing < 2; timing++) {
        _Atomic(int) first = 0;
        _Atomic(int) second = 0;
        accel_native_event *event = cpu_event(&cpu, timing != 0);
        launch_on_flag(cpu.stream, 0, &first);
        record(event, cpu.stream);
        launch_on_flag(cpu.stream, 0, &second);
        assert_false(is_done(event));
        atomic_store(&first, 1);
        assert_int_equal(cpu.table->event.synchronize(event), ACCEL_OK);
        assert_true(is_done(event));
        bool done = true;
        cpu.table->stream.query(cpu.stream, &done);
        assert_false(done);
        atomic_store(&second, 1);
        synchronize(cpu.stream);
        cpu.table->event.destroy(event);
    }
}

static void wait_takes_the_mark_as_it_is(void **state)
{
    (void)state;
    _Atomic(int) first = 0;
    _Atomic(int) second = 0;
    _Atomic(int) ran = 0;
    accel_native_event *event = cpu_event(&cpu, false);
    launch_on_flag(cpu.stream, 0, &first);
    record(event, cpu.stream);
    wait_on(other, event);
    launch_on_flag(other, 1, &ran);
    launch_on_flag(cpu.stream, 0, &second);
    record(event, cpu.stream); /* the wait above is for the old mark */
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_int_equal(atomic_load(&ran), 0);
    atomic_store(&first, 1);
    synchronize(other);
    assert_int_equal(atomic_load(&ran), 1);
    assert_false(is_done(event));
    atomic_store(&second, 1);
    synchronize(cpu.stream);
    assert_true(is_done(event));
    cpu.table->event.destroy(event);
}

static void waiting_streams_take_no_thread(void **state)
{
    (void)state;
    enum { COUNT = 40 };
    _Atomic(int) gate = 0;
    _Atomic(int) ran = 0;
    accel_native_stream *streams[COUNT];
    accel_native_event *event = cpu_event(&cpu, false);
    launch_on_flag(cpu.stream, 0, &gate);
    record(event, cpu.stream);
    for (int i = 0; i < COUNT; i++) { /* a chain behind the gate */
        streams[i] = cpu_stream(&cpu);
        wait_on(streams[i], event);
        record(event, streams[i]);
    }
    launch_on_flag(other, 1, &ran); /* independent: must run now */
    assert_true(cpu_comes_true(&ran));
    atomic_store(&ran, 0);
    launch_on_flag(streams[COUNT - 1], 1, &ran);
    assert_false(is_done(event));
    atomic_store(&gate, 1);
    assert_true(cpu_comes_true(&ran)); /* nobody synchronises */
    for (int i = 0; i < COUNT; i++)
        cpu.table->stream.destroy(streams[i]);
    cpu.table->event.destroy(event);
    synchronize(cpu.stream);
}

static void wait_across_devices(void **state)
{
    (void)state;
    _Atomic(int) gate = 0;
    _Atomic(int) ran = 0;
    accel_native_device *second = NULL;
    accel_native_stream *stream = NULL;
    assert_int_equal(cpu.table->device.open(1, &second), ACCEL_OK);
    assert_int_equal(cpu.table->stream.create(second, 0, &stream), ACCEL_OK);
    accel_native_event *event = cpu_event(&cpu, false);
    launch_on_flag(cpu.stream, 0, &gate);
    record(event, cpu.stream);
    wait_on(stream, event);
    launch_on_flag(stream, 1, &ran);
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    assert_int_equal(atomic_load(&ran), 0);
    atomic_store(&gate, 1);
    synchronize(stream);
    assert_int_equal(atomic_load(&ran), 1);
    cpu.table->event.destroy(event);
    cpu.table->stream.destroy(stream);
    accel__cpu_device_unreference(second);
}

static void objects_may_go_while_pending(void **state)
{
    (void)state;
    for (int timing = 0; timing < 2; timing++) {
        _Atomic(int) gate = 0;
        _Atomic(int) ran = 0;
        accel_native_stream *source = cpu_stream(&cpu);
        accel_native_event *event = cpu_event(&cpu, timing != 0);
        launch_on_flag(source, 0, &gate);
        record(event, source);
        wait_on(other, event);
        launch_on_flag(other, 1, &ran);
        cpu.table->event.destroy(event);
        cpu.table->stream.destroy(source);
        assert_int_equal(atomic_load(&ran), 0);
        atomic_store(&gate, 1);
        synchronize(other);
        assert_int_equal(atomic_load(&ran), 1);
    }
}

static void event_outlives_its_stream(void **state)
{
    (void)state;
    _Atomic(int) gate = 0;
    accel_native_stream *source = cpu_stream(&cpu);
    accel_native_event *event = cpu_event(&cpu, false);
    launch_on_flag(source, 0, &gate);
    record(event, source);
    cpu.table->stream.destroy(source);
    assert_false(is_done(event));
    atomic_store(&gate, 1);
    assert_int_equal(cpu.table->event.synchronize(event), ACCEL_OK);
    assert_true(is_done(event));
    record(event, cpu.stream);
    assert_true(is_done(event));
    cpu.table->event.destroy(event);
}

static void failure_shows_behind_it_only(void **state)
{
    (void)state;
    bool done = false;
    _Atomic(int) gate = 0;
    _Atomic(int) ran = 0;
    accel_native_stream *source = cpu_stream(&cpu);
    accel_native_event *before = cpu_event(&cpu, false);
    accel_native_event *behind = cpu_event(&cpu, false);
    launch_on_flag(source, 0, &gate);
    record(before, source);
    launch_on_flag(source, 2, &gate);
    record(behind, source);
    wait_on(other, behind);
    launch_on_flag(other, 1, &ran);
    atomic_store(&gate, 1);
    assert_int_equal(cpu.table->event.synchronize(behind), ACCEL_ERROR_DEVICE_FAILED);
    assert_int_equal(cpu.table->event.query(behind, &done), ACCEL_ERROR_DEVICE_FAILED);
    assert_string_equal(accel_last_error_message(), "this kernel fails on purpose");
    assert_int_equal(cpu.table->event.synchronize(before), ACCEL_OK);
    assert_true(is_done(before));
    assert_int_equal(cpu.table->event.record(before, source), ACCEL_ERROR_DEVICE_FAILED);
    synchronize(other); /* a wait orders; the failure stays where it is */
    assert_int_equal(atomic_load(&ran), 1);
    record(behind, cpu.stream);
    assert_true(is_done(behind));
    cpu.table->event.destroy(before);
    cpu.table->event.destroy(behind);
    cpu.table->stream.destroy(source);
}

static void measures_time(void **state)
{
    (void)state;
    double milliseconds = -1;
    accel_native_event *start = cpu_event(&cpu, true);
    accel_native_event *end = cpu_event(&cpu, true);
    for (int busy = 0; busy < 2; busy++) {
        _Atomic(int) gate = 0;
        _Atomic(int) open = 1;
        if (busy != 0)
            launch_on_flag(cpu.stream, 0, &gate);
        record(start, cpu.stream);
        launch_on_flag(cpu.stream, 0, busy != 0 ? &open : &gate);
        record(end, cpu.stream);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        atomic_store(&gate, 1);
        assert_int_equal(cpu.table->event.synchronize(end), ACCEL_OK);
        assert_true(is_done(start));
        assert_int_equal(cpu.table->timing.elapsed(start, end, &milliseconds), ACCEL_OK);
        assert_true(busy != 0 ? milliseconds >= 0 && milliseconds < 15 : milliseconds >= 19);
        assert_int_equal(cpu.table->timing.elapsed(start, start, &milliseconds), ACCEL_OK);
        assert_true(milliseconds == 0);
    }
    cpu.table->event.destroy(start);
    cpu.table->event.destroy(end);
}

/* Several threads record, ask and wait on the same events and streams. */
static _Atomic(int) stop;

static void *disturb(void *user)
{
    accel_native_event **events = user;
    unsigned seed = (unsigned)(uintptr_t)&seed;
    while (atomic_load(&stop) == 0) {
        accel_native_event *event = events[rand_r(&seed) % 4];
        accel_native_stream *stream = rand_r(&seed) % 2 != 0 ? cpu.stream : other;
        bool done = false;
        switch (rand_r(&seed) % 5) {
        case 0:
            record(event, stream);
            break;
        case 1:
            wait_on(stream, event);
            break;
        case 2:
            assert_int_equal(cpu.table->event.synchronize(event), ACCEL_OK);
            break;
        default:
            assert_int_equal(cpu.table->event.query(event, &done), ACCEL_OK);
            break;
        }
    }
    return NULL;
}

static void any_thread_may_use_an_event(void **state)
{
    (void)state;
    static _Atomic(int) flag; /* nobody waits for the last of the brief streams */
    pthread_t threads[3];
    accel_native_event *events[4];
    for (int i = 0; i < 4; i++)
        events[i] = cpu_event(&cpu, i % 2 != 0);
    atomic_store(&stop, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, disturb, events), 0);
    for (int i = 0; i < 2000; i++) {
        launch_on_flag(i % 2 != 0 ? cpu.stream : other, 1, &flag);
        accel_native_stream *brief = cpu_stream(&cpu); /* its queue is used again and again */
        launch_on_flag(brief, 1, &flag);
        record(events[i % 4], brief);
        cpu.table->stream.destroy(brief);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    synchronize(cpu.stream);
    synchronize(other);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(cpu.table->event.synchronize(events[i]), ACCEL_OK);
        cpu.table->event.destroy(events[i]);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unrecorded_event_has_passed),
        TEST(mark_passes_with_what_is_before_it),
        TEST(wait_takes_the_mark_as_it_is),
        TEST(waiting_streams_take_no_thread),
        TEST(wait_across_devices),
        TEST(objects_may_go_while_pending),
        TEST(event_outlives_its_stream),
        TEST(failure_shows_behind_it_only),
        TEST(measures_time),
        TEST(any_thread_may_use_an_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
