/* cpu_stream_test.c: streams and launches of the cpu backend, through its table. */
#include "backends/cpu/queue/stream.h"
#include "unit/cpu_stream_kernels.h"

#include <dirent.h>
#include <pthread.h>

#include "unit/fault_sweep.h"

static cpu_fixture cpu;
static accel_native_module *module;
static accel_native_function *functions[KERNEL_COUNT];
static journal log_of_stream;

static int set_up(void **state)
{
    (void)state;
    cpu_open(&cpu);
    module = cpu_module(&cpu, kernels, KERNEL_COUNT);
    for (uint32_t i = 0; i < KERNEL_COUNT; i++)
        functions[i] = cpu_function(&cpu, module, i);
    log_of_stream.count = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cpu.table->kernel.unload(module);
    cpu_close(&cpu);
    return 0;
}

static accel_status try_append(accel_native_stream *stream, journal *target, uint32_t value)
{
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(target), ACCEL_ARG_VALUE(value)};
    return cpu_try_launch(&cpu, stream, functions[APPEND], 1, args, 2);
}

static void launch_append(accel_native_stream *stream, journal *target, uint32_t value)
{
    assert_int_equal(try_append(stream, target, value), ACCEL_OK);
}

static void launch_gate(accel_native_stream *stream, _Atomic(int) *gate)
{
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(gate)};
    cpu_launch(&cpu, stream, functions[GATE], 1, args, 1);
}

static void synchronize(accel_native_stream *stream)
{
    assert_int_equal(cpu.table->stream.synchronize(stream), ACCEL_OK);
}

static bool is_done(accel_native_stream *stream)
{
    bool done = false;
    assert_int_equal(cpu.table->stream.query(stream, &done), ACCEL_OK);
    return done;
}

static void runs_in_order(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 8000; i++)
        launch_append(cpu.stream, &log_of_stream, i);
    synchronize(cpu.stream);
    assert_int_equal(log_of_stream.count, 8000);
    for (uint32_t i = 0; i < 8000; i++)
        assert_int_equal(log_of_stream.values[i], i);
}

static void covers_each_grid_once(void **state)
{
    (void)state;
    static unsigned char counts[1 << 20];
    static const uint64_t grids[][3] = {{1, 1, 1},    {2, 1, 1},       {17, 1, 1},     {3, 5, 7},
                                        {1, 1000, 1}, {100, 100, 100}, {1 << 20, 1, 1}};
    void *target = counts;
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(target)};
    for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++)
        for (int repeat = 0; repeat < 5; repeat++) {
            const accel_launch_shape shape = {.grid = {grids[g][0], grids[g][1], grids[g][2]},
                                              .block = {4, 2, 1}};
            const size_t count = grids[g][0] * grids[g][1] * grids[g][2];
            memset(counts, 0, sizeof counts);
            assert_int_equal(
                cpu.table->kernel.launch(cpu.stream, functions[COVER], &shape, args, 1), ACCEL_OK);
            synchronize(cpu.stream);
            for (size_t i = 0; i < sizeof counts; i++)
                assert_int_equal(counts[i], i < count);
        }
}

static void passes_arguments(void **state)
{
    (void)state;
    double results[4] = {0};
    float lanes[16] = {[15] = 2.5f};
    const uint8_t byte = 200;
    const double real = -1.25;
    void *out = results;
    const accel_kernel_arg args[] = {ACCEL_ARG_VALUE(byte), ACCEL_ARG_VALUE(real),
                                     ACCEL_ARG_VALUE(lanes), ACCEL_ARG_POINTER(out)};
    cpu_launch(&cpu, cpu.stream, functions[ARGUMENTS], 1, args, 4);
    lanes[15] = 0; /* they were copied */
    synchronize(cpu.stream);
    assert_true(results[0] == 200 && results[1] == -1.25 && results[2] == 2.5 && results[3] == 0);
}

static void gives_each_thread_local_memory(void **state)
{
    (void)state;
    _Atomic(int) failures = 0;
    void *target = &failures;
    const accel_kernel_arg args[] = {ACCEL_ARG_LOCAL(800), ACCEL_ARG_POINTER(target),
                                     ACCEL_ARG_LOCAL(1600)};
    for (int i = 0; i < 20; i++)
        cpu_launch(&cpu, cpu.stream, functions[LOCALS], 20000, args, 3);
    synchronize(cpu.stream);
    assert_int_equal(atomic_load(&failures), 0);
}

static void returns_before_the_kernel_ends(void **state)
{
    (void)state;
    _Atomic(int) gate = 0;
    launch_gate(cpu.stream, &gate);
    assert_false(is_done(cpu.stream));
    atomic_store(&gate, 1);
    synchronize(cpu.stream);
    assert_true(is_done(cpu.stream));
}

static void streams_pass_each_other(void **state)
{
    (void)state;
    _Atomic(int) gate = 0;
    accel_native_stream *other = cpu_stream(&cpu);
    launch_gate(cpu.stream, &gate);
    launch_append(other, &log_of_stream, 1);
    synchronize(other);
    assert_int_equal(log_of_stream.count, 1);
    assert_false(is_done(cpu.stream));
    atomic_store(&gate, 1);
    synchronize(cpu.stream);
    cpu.table->stream.destroy(other);
}

typedef struct filler {
    pthread_t thread;
    uint32_t number;
    _Atomic(uint32_t) queued;
    journal *target;
    bool failed;
} filler;

static void *fill_stream(void *user)
{
    filler *self = user;
    for (uint32_t i = 0; i < 1500 && !self->failed; i++) {
        self->failed = try_append(cpu.stream, self->target, self->number << 16 | i) != ACCEL_OK;
        atomic_fetch_add(&self->queued, 1);
    }
    return NULL;
}

static void full_queue_blocks_until_there_is_room(void **state)
{
    (void)state;
    _Atomic(int) gate = 0;
    filler one = {.target = &log_of_stream};
    launch_gate(cpu.stream, &gate);
    assert_int_equal(pthread_create(&one.thread, NULL, fill_stream, &one), 0);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    const uint32_t stuck = atomic_load(&one.queued);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    assert_int_equal(atomic_load(&one.queued), stuck);
    assert_true(stuck > 0 && stuck < 1500);
    atomic_store(&gate, 1);
    pthread_join(one.thread, NULL);
    synchronize(cpu.stream);
    assert_false(one.failed);
    assert_int_equal(log_of_stream.count, 1500);
    for (uint32_t i = 0; i < 1500; i++)
        assert_int_equal(log_of_stream.values[i], i);
}

static void many_threads_queue_on_one_stream(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    filler fillers[THREADS] = {0};
    uint32_t next[THREADS] = {0};
    for (uint32_t i = 0; i < THREADS; i++) {
        fillers[i].number = i;
        fillers[i].target = &log_of_stream;
        assert_int_equal(pthread_create(&fillers[i].thread, NULL, fill_stream, &fillers[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(fillers[i].thread, NULL);
    synchronize(cpu.stream);
    assert_int_equal(log_of_stream.count, THREADS * 1500);
    for (uint32_t i = 0; i < THREADS * 1500; i++) {
        const uint32_t value = log_of_stream.values[i];
        assert_int_equal(value & 0xffff, next[value >> 16]++);
    }
}

static void *synchronize_in_thread(void *user)
{
    (void)user;
    for (int i = 0; i < 300; i++)
        cpu.table->stream.synchronize(cpu.stream);
    return NULL;
}

static void many_threads_synchronize_one_stream(void **state)
{
    (void)state;
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, synchronize_in_thread, NULL), 0);
    for (uint32_t i = 0; i < 8000; i++)
        launch_append(cpu.stream, &log_of_stream, i);
    synchronize(cpu.stream);
    assert_int_equal(log_of_stream.count, 8000);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

/* ---- callbacks and failure ---- */

typedef struct called {
    _Atomic(int) count;
    accel_status status;
    uint32_t log_count; /* how much had run */
} called;

static void call(accel_status status, void *user)
{
    called *self = user;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    self->status = status;
    self->log_count = log_of_stream.count;
    atomic_fetch_add(&self->count, 1);
}

static void callbacks_are_in_the_order(void **state)
{
    (void)state;
    called seen[5] = {0};
    for (uint32_t i = 0; i < 5; i++) {
        launch_append(cpu.stream, &log_of_stream, i);
        assert_int_equal(cpu.table->callbacks.add(cpu.stream, call, &seen[i]), ACCEL_OK);
    }
    synchronize(cpu.stream);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(atomic_load(&seen[i].count), 1);
        assert_int_equal(seen[i].status, ACCEL_OK);
        assert_int_equal(seen[i].log_count, i + 1);
    }
}

static void failure_sticks(void **state)
{
    (void)state;
    called seen = {0};
    bool done = false;
    float lanes[16] = {0};
    _Atomic(int) gate = 0;
    void *out = NULL;
    const uint8_t byte = 0;
    const double real = 0;
    const accel_kernel_arg args[] = {ACCEL_ARG_VALUE(byte), ACCEL_ARG_VALUE(real),
                                     ACCEL_ARG_VALUE(lanes), ACCEL_ARG_POINTER(out)};
    launch_gate(cpu.stream, &gate);
    cpu_launch(&cpu, cpu.stream, functions[FAIL], 1, NULL, 0);
    launch_append(cpu.stream, &log_of_stream, 1);
    cpu_launch(&cpu, cpu.stream, functions[ARGUMENTS], 1, args, 4); /* would crash */
    assert_int_equal(cpu.table->callbacks.add(cpu.stream, call, &seen), ACCEL_OK);
    atomic_store(&gate, 1);
    assert_int_equal(cpu.table->stream.synchronize(cpu.stream), ACCEL_ERROR_DEVICE_FAILED);
    assert_string_equal(accel_last_error_message(), "this kernel fails on purpose");
    assert_int_equal(cpu.table->stream.query(cpu.stream, &done), ACCEL_ERROR_DEVICE_FAILED);
    assert_int_equal(try_append(cpu.stream, &log_of_stream, 2), ACCEL_ERROR_DEVICE_FAILED);
    assert_int_equal(cpu.table->callbacks.add(cpu.stream, call, &seen), ACCEL_ERROR_DEVICE_FAILED);
    assert_int_equal(log_of_stream.count, 0);
    assert_int_equal(atomic_load(&seen.count), 1);
    assert_int_equal(seen.status, ACCEL_ERROR_DEVICE_FAILED);
    accel_native_stream *other = cpu_stream(&cpu);
    launch_append(other, &log_of_stream, 3);
    synchronize(other);
    cpu.table->stream.destroy(other);
}

static void failure_in_one_of_many_blocks_sticks(void **state)
{
    (void)state;
    cpu_launch(&cpu, cpu.stream, functions[FAIL], 100000, NULL, 0);
    assert_int_equal(cpu.table->stream.synchronize(cpu.stream), ACCEL_ERROR_DEVICE_FAILED);
}

/* ---- threads ---- */

static void lone_launch_needs_nobody_to_wait(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        called seen = {0};
        launch_append(cpu.stream, &log_of_stream, 1);
        assert_int_equal(cpu.table->callbacks.add(cpu.stream, call, &seen), ACCEL_OK);
        assert_true(cpu_comes_true(&seen.count));
        synchronize(cpu.stream);
        nanosleep(&(struct timespec){.tv_nsec = 20000 * (i % 10)}, NULL);
    }
}

static void asking_brings_work_to_its_end(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        launch_append(cpu.stream, &log_of_stream, i);
        const uint64_t begin = cpu_now_ns();
        while (!is_done(cpu.stream))
            assert_true(cpu_now_ns() - begin < 10000000000u);
        assert_int_equal(log_of_stream.count, i + 1);
        nanosleep(&(struct timespec){.tv_nsec = 30000 * (long)(i % 12)}, NULL);
    }
}

static void destroy_finishes_pending_work(void **state)
{
    (void)state;
    _Atomic(int) gate = 0;
    called seen = {0};
    accel_native_stream *stream = cpu_stream(&cpu);
    launch_gate(stream, &gate);
    launch_append(stream, &log_of_stream, 1);
    assert_int_equal(cpu.table->callbacks.add(stream, call, &seen), ACCEL_OK);
    cpu.table->stream.destroy(stream);
    assert_int_equal(atomic_load(&seen.count), 0);
    atomic_store(&gate, 1);
    assert_true(cpu_comes_true(&seen.count));
    assert_int_equal(log_of_stream.count, 1);
}

/* Threads of ours, and how often they have gone to sleep so far. */
static unsigned count_workers(uint64_t *out_switches)
{
    unsigned count = 0;
    char path[300];
    char line[128];
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    *out_switches = 0;
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        bool is_worker = false;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
        FILE *file = fopen(path, "re");
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            if (strcmp(line, "Name:\taccel-cpu\n") == 0)
                is_worker = true;
            if (is_worker && strncmp(line, "voluntary_ctxt_switches:", 24) == 0)
                *out_switches += strtoull(line + 24, NULL, 10);
        }
        if (file != NULL)
            fclose(file);
        count += is_worker;
    }
    closedir(tasks);
    return count;
}

static void threads_start_with_the_first_launch_and_sleep_when_idle(void **state)
{
    (void)state;
    uint64_t before = 0;
    uint64_t after = 0;
    assert_int_equal(count_workers(&before), 0);
    launch_append(cpu.stream, &log_of_stream, 1);
    synchronize(cpu.stream);
    const unsigned workers = count_workers(&before);
    assert_true(workers >= 1);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    count_workers(&before);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    assert_int_equal(count_workers(&after), workers);
    assert_true(after == before); /* nobody woke up */
}

static void stops_and_starts_again(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        launch_append(cpu.stream, &log_of_stream, i);
        synchronize(cpu.stream);
        cpu.table->discovery.stop();
        assert_int_equal(cpu.table->discovery.start(NULL, 0), ACCEL_OK);
    }
    assert_int_equal(log_of_stream.count, 20);
}

static void raise_flag(accel_status status, void *user)
{
    (void)status;
    atomic_store((_Atomic(int) *)user, 1);
}

/* Another thread's stop comes between the look at the pool and the place in the queue. */
static void stop_loses_nothing_on_its_way(void **state)
{
    (void)state;
    static _Atomic(int) flag;
    for (int i = 0; i < 20; i++) {
        accel__cpu_queue *queue = NULL;
        uint64_t ticket = 0;
        atomic_store(&flag, 0);
        accel_native_stream *stream = cpu_stream(&cpu); /* no worker is with it yet */
        assert_int_equal(accel__cpu_stream_reserve(stream, "test", &queue, &ticket), ACCEL_OK);
        accel__cpu_slot *slot = accel__cpu_queue_slot(queue, ticket >> 1);
        slot->op = ACCEL__CPU_OP_CALL;
        slot->call.call = raise_flag;
        slot->call.user = &flag;
        cpu.table->discovery.stop();
        accel__cpu_queue_publish(queue, ticket);
        assert_true(cpu_comes_true(&flag)); /* nobody waits in the stream, who would help */
        cpu.table->stream.destroy(stream);
    }
}

static void settings_are_checked(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "0", "1025", "-1", "two", " 1", "1 ", "99999999999999999999"};
    accel_backend_probe probe = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        setenv("ACCEL_CPU_THREADS", wrong[i], 1);
        assert_int_equal(cpu.table->discovery.start(NULL, 0), ACCEL_ERROR_START_FAILED);
        assert_non_null(strstr(accel_last_error_message(), "ACCEL_CPU_THREADS"));
        setenv("ACCEL_CPU_DEVICES", wrong[i], 1);
        cpu.table->local.probe(&probe);
        assert_int_equal(probe.device_count, 0);
        assert_non_null(strstr(probe.reason, "ACCEL_CPU_DEVICES"));
        assert_string_equal(probe.variable, "ACCEL_CPU_DEVICES");
    }
    unsetenv("ACCEL_CPU_THREADS");
    setenv("ACCEL_CPU_DEVICES", "64", 1);
    probe = (accel_backend_probe){0};
    cpu.table->local.probe(&probe);
    assert_int_equal(probe.device_count, 64);
    assert_string_equal(probe.reason, "");
    unsetenv("ACCEL_CPU_DEVICES");
    assert_int_equal(cpu.table->discovery.start(NULL, 0), ACCEL_OK);
}

static void module_outlives_its_launches(void **state)
{
    (void)state;
    _Atomic(int) gate = 0;
    accel_native_stream *streams[4];
    accel_native_module *own = cpu_module(&cpu, kernels, KERNEL_COUNT);
    for (int i = 0; i < 4; i++) {
        const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(&gate)};
        streams[i] = cpu_stream(&cpu);
        cpu_launch(&cpu, streams[i], cpu_function(&cpu, own, GATE), 1, args, 1);
        cpu_launch(&cpu, streams[i], cpu_function(&cpu, own, NOTHING), 1, NULL, 0);
    }
    cpu.table->kernel.unload(own);
    atomic_store(&gate, 1);
    for (int i = 0; i < 4; i++) {
        synchronize(streams[i]);
        cpu.table->stream.destroy(streams[i]);
    }
}

/* ---- faults ---- */

/* Everything from a fresh stream to its end, with stop, so that threads start anew. */
static accel_status attempt(void)
{
    accel_native_stream *stream = NULL;
    _Atomic(int) failures = 0;
    float lanes[16] = {0};
    double results[4];
    void *out = results;
    void *target = &failures;
    const uint8_t byte = 1;
    const double real = 1;
    const accel_launch_shape shape = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    const accel_kernel_arg large[] = {ACCEL_ARG_VALUE(byte), ACCEL_ARG_VALUE(real),
                                      ACCEL_ARG_VALUE(lanes), ACCEL_ARG_POINTER(out)};
    const accel_kernel_arg local[] = {ACCEL_ARG_LOCAL(800), ACCEL_ARG_POINTER(target),
                                      ACCEL_ARG_LOCAL(1600)};
    accel_status status = cpu.table->stream.create(cpu.device, 0, &stream);
    if (status != ACCEL_OK)
        return status;
    status = cpu.table->kernel.launch(stream, functions[ARGUMENTS], &shape, large, 4);
    if (status == ACCEL_OK)
        status = cpu.table->kernel.launch(stream, functions[LOCALS], &shape, local, 3);
    const accel_status end = cpu.table->stream.synchronize(stream);
    cpu.table->stream.destroy(stream);
    return status != ACCEL_OK ? status : end;
}

static void every_fault_is_reported_and_nothing_leaks(void **state)
{
    (void)state;
    accel_status status = ACCEL_OK;
    unsigned number = 0;
    do {
        number++;
        cpu.table->discovery.stop();
        fault_begin(number);
        status = attempt();
        const bool happened = fault_end();
        assert_true(happened == (status != ACCEL_OK));
        assert_true(!happened || status == ACCEL_ERROR_OUT_OF_HOST_MEMORY ||
                    status == ACCEL_ERROR_SYSTEM);
        assert_int_equal(attempt(), ACCEL_OK);
    } while (status != ACCEL_OK);
    assert_true(number > 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(threads_start_with_the_first_launch_and_sleep_when_idle),
        TEST(runs_in_order),
        TEST(covers_each_grid_once),
        TEST(passes_arguments),
        TEST(gives_each_thread_local_memory),
        TEST(returns_before_the_kernel_ends),
        TEST(streams_pass_each_other),
        TEST(full_queue_blocks_until_there_is_room),
        TEST(many_threads_queue_on_one_stream),
        TEST(many_threads_synchronize_one_stream),
        TEST(callbacks_are_in_the_order),
        TEST(failure_sticks),
        TEST(failure_in_one_of_many_blocks_sticks),
        TEST(lone_launch_needs_nobody_to_wait),
        TEST(asking_brings_work_to_its_end),
        TEST(destroy_finishes_pending_work),
        TEST(stops_and_starts_again),
        TEST(stop_loses_nothing_on_its_way),
        TEST(settings_are_checked),
        TEST(module_outlives_its_launches),
        TEST(every_fault_is_reported_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
