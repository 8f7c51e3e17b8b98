/* cpu_fork_test.c: the cpu backend in forked children. Children leave by _exit with 0, or with the line
 * of the check that failed. */
#include "unit/cpu_support.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *wait_for_gate(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)first, (void)last;
    return cpu_comes_true(*(_Atomic(int) **)launch->arguments[0]) ? NULL : "the gate stayed shut";
}

static const char *add_one(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    atomic_fetch_add(*(_Atomic(int) **)launch->arguments[0], (int)(last - first));
    return NULL;
}

static const char *break_down(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)launch, (void)first, (void)last;
    return "this kernel fails on purpose";
}

static const accel_param params[] = {CPU_POINTER_PARAM("target")};
static const accel_cpu_kernel kernels[] = {
    {.name = "gate", .function = wait_for_gate, .params = params, .param_count = 1},
    {.name = "add", .function = add_one, .params = params, .param_count = 1},
    {.name = "fail", .function = break_down},
};

static cpu_fixture cpu;
static accel_native_module *module;
static accel_native_function *functions[3];
static _Atomic(int) gate;
static _Atomic(int) sum;

static int set_up(void **state)
{
    (void)state;
    cpu_open(&cpu);
    module = cpu_module(&cpu, kernels, 3);
    for (uint32_t i = 0; i < 3; i++)
        functions[i] = cpu_function(&cpu, module, i);
    atomic_store(&gate, 0);
    atomic_store(&sum, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cpu.table->kernel.unload(module);
    cpu_close(&cpu);
    return 0;
}

static accel_status launch(accel_native_stream *stream, uint32_t kernel, uint64_t blocks)
{
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(kernel == 0 ? &gate : &sum)};
    return cpu_try_launch(&cpu, stream, functions[kernel], blocks, args, kernel < 2);
}

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__ % 255 + 1;                                                             \
    } while (0)

static pid_t start_child(int (*body)(void))
{
    const pid_t child = fork();
    if (child == 0) {
        alarm(20); /* nothing may hang */
        _exit(body());
    }
    return child;
}

static void expect_success(pid_t child)
{
    int status = -1;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Works on an inherited stream, an own one, and with an event. */
static int use_everything(void)
{
    bool done = false;
    accel_native_stream *stream = NULL;
    accel_native_event *event = NULL;
    const int before = atomic_load(&sum);
    CHECK(cpu.table->stream.query(cpu.stream, &done) == ACCEL_OK && done);
    CHECK(cpu.table->stream.synchronize(cpu.stream) == ACCEL_OK);
    CHECK(cpu.table->stream.create(cpu.device, 0, &stream) == ACCEL_OK);
    CHECK(cpu.table->event.create(cpu.device, true, &event) == ACCEL_OK);
    for (int i = 0; i < 50; i++) {
        CHECK(launch(cpu.stream, 1, 100) == ACCEL_OK);
        CHECK(cpu.table->event.record(event, cpu.stream) == ACCEL_OK);
        CHECK(cpu.table->event.wait(stream, event) == ACCEL_OK);
        CHECK(launch(stream, 1, 1) == ACCEL_OK);
    }
    CHECK(cpu.table->stream.synchronize(stream) == ACCEL_OK);
    CHECK(atomic_load(&sum) == before + 50 * 101);
    CHECK(cpu.table->event.query(event, &done) == ACCEL_OK && done);
    cpu.table->event.destroy(event);
    cpu.table->stream.destroy(stream);
    return 0;
}

static void child_of_an_idle_parent_works(void **state)
{
    (void)state;
    expect_success(start_child(use_everything));
    assert_int_equal(use_everything(), 0);
    expect_success(start_child(use_everything));
    assert_int_equal(use_everything(), 0);
}

static accel_native_event *passed;
static accel_native_event *pending;
static accel_native_event *timed;
static void *block;

static int see_the_parents_objects(void)
{
    bool done = false;
    accel_native_stream *stream = NULL;
    CHECK(cpu.table->event.query(passed, &done) == ACCEL_OK && done);
    CHECK(cpu.table->event.synchronize(passed) == ACCEL_OK);
    CHECK(cpu.table->event.query(pending, &done) == ACCEL_ERROR_FORKED);
    CHECK(cpu.table->event.synchronize(pending) == ACCEL_ERROR_FORKED);
    CHECK(cpu.table->event.query(timed, &done) == ACCEL_ERROR_FORKED);
    CHECK(cpu.table->event.wait(cpu.stream, passed) == ACCEL_OK);
    CHECK(cpu.table->event.wait(cpu.stream, pending) == ACCEL_ERROR_FORKED);
    const int before = use_everything(); /* the gate in front of it is the parent's */
    CHECK(before == 0);
    CHECK(cpu.table->event.query(pending, &done) == ACCEL_ERROR_FORKED); /* still */
    CHECK(cpu.table->event.record(pending, cpu.stream) == ACCEL_OK);
    CHECK(cpu.table->event.synchronize(pending) == ACCEL_OK);
    CHECK(cpu.table->stream.create(cpu.device, 0, &stream) == ACCEL_OK);
    CHECK(memcmp(block, "as it was at the fork", 22) == 0);
    cpu.table->memory.free(cpu.device, block);
    cpu.table->event.destroy(passed);
    cpu.table->event.destroy(pending);
    cpu.table->event.destroy(timed);
    cpu.table->stream.destroy(stream);
    cpu.table->stream.destroy(cpu.stream);
    cpu.table->kernel.unload(module);
    cpu.table->discovery.stop();
    return 0;
}

static int fork_again(void)
{
    int status = -1;
    CHECK(use_everything() == 0);
    const pid_t child = start_child(see_the_parents_objects);
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return status != 0;
}

static void child_sees_the_truth(void **state)
{
    (void)state;
    passed = cpu_event(&cpu, false);
    pending = cpu_event(&cpu, false);
    timed = cpu_event(&cpu, true);
    assert_int_equal(cpu.table->memory.alloc(cpu.device, 1 << 20, 512, &block), ACCEL_OK);
    strcpy(block, "as it was at the fork");
    assert_int_equal(launch(cpu.stream, 1, 1), ACCEL_OK);
    assert_int_equal(cpu.table->event.record(passed, cpu.stream), ACCEL_OK);
    assert_int_equal(cpu.table->event.synchronize(passed), ACCEL_OK);
    assert_int_equal(launch(cpu.stream, 0, 1), ACCEL_OK);
    assert_int_equal(launch(cpu.stream, 1, 1), ACCEL_OK);
    assert_int_equal(cpu.table->event.record(pending, cpu.stream), ACCEL_OK);
    assert_int_equal(cpu.table->event.record(timed, cpu.stream), ACCEL_OK);
    expect_success(start_child(see_the_parents_objects));
    expect_success(start_child(fork_again));
    atomic_store(&gate, 1);
    assert_int_equal(cpu.table->stream.synchronize(cpu.stream), ACCEL_OK);
    assert_int_equal(atomic_load(&sum), 2); /* the children's work is theirs */
    assert_int_equal(cpu.table->event.synchronize(pending), ACCEL_OK);
    cpu.table->event.destroy(passed);
    cpu.table->event.destroy(pending);
    cpu.table->event.destroy(timed);
    cpu.table->memory.free(cpu.device, block);
}

static int fails_still(void)
{
    CHECK(launch(cpu.stream, 1, 1) == ACCEL_ERROR_DEVICE_FAILED);
    CHECK(cpu.table->stream.synchronize(cpu.stream) == ACCEL_ERROR_DEVICE_FAILED);
    CHECK(strcmp(accel_last_error_message(), "this kernel fails on purpose") == 0);
    return 0;
}

static void failure_sticks_in_the_child(void **state)
{
    (void)state;
    assert_int_equal(launch(cpu.stream, 2, 1), ACCEL_OK);
    assert_int_equal(cpu.table->stream.synchronize(cpu.stream), ACCEL_ERROR_DEVICE_FAILED);
    expect_success(start_child(fails_still));
}

static void hundred_children_at_once(void **state)
{
    (void)state;
    pid_t children[100];
    assert_int_equal(launch(cpu.stream, 1, 1), ACCEL_OK);
    for (int i = 0; i < 100; i++)
        children[i] = start_child(use_everything);
    assert_int_equal(launch(cpu.stream, 1, 1), ACCEL_OK);
    for (int i = 0; i < 100; i++)
        expect_success(children[i]);
    assert_int_equal(use_everything(), 0);
}

/* ---- while others are busy ---- */

static _Atomic(int) stop;
static accel_native_event *shared;

static void ignore(accel_status status, void *user)
{
    (void)status, (void)user;
}

static void *disturb(void *user)
{
    accel_native_stream *own = user;
    double milliseconds = 0;
    for (unsigned i = 0; atomic_load(&stop) == 0; i++) {
        accel_native_stream *brief = NULL;
        launch(own, 1, i % 3 == 0 ? 1000 : 1);
        cpu.table->event.record(shared, own);
        cpu.table->event.wait(cpu.stream, shared);
        launch(cpu.stream, 1, 1);
        cpu.table->callbacks.add(own, ignore, NULL);
        cpu.table->timing.elapsed(shared, shared, &milliseconds);
        if (i % 16 == 0 && cpu.table->stream.create(cpu.device, 0, &brief) == ACCEL_OK) {
            launch(brief, 1, 1);
            cpu.table->stream.destroy(brief);
        }
        if (i % 8 == 0)
            cpu.table->stream.synchronize(own);
    }
    cpu.table->stream.synchronize(own);
    return NULL;
}

static int use_while_others_did(void)
{
    bool done = false;
    accel_native_stream *stream = NULL;
    CHECK(launch(cpu.stream, 1, 100) == ACCEL_OK);
    CHECK(cpu.table->stream.synchronize(cpu.stream) == ACCEL_OK);
    const accel_status status = cpu.table->event.query(shared, &done);
    CHECK(status == ACCEL_ERROR_FORKED || (status == ACCEL_OK && done));
    CHECK(cpu.table->event.record(shared, cpu.stream) == ACCEL_OK);
    CHECK(cpu.table->stream.create(cpu.device, 0, &stream) == ACCEL_OK);
    CHECK(cpu.table->event.wait(stream, shared) == ACCEL_OK);
    CHECK(launch(stream, 1, 10000) == ACCEL_OK);
    CHECK(cpu.table->stream.synchronize(stream) == ACCEL_OK);
    cpu.table->stream.destroy(stream);
    cpu.table->kernel.unload(module);
    cpu.table->event.destroy(shared);
    cpu.table->discovery.stop();
    return 0;
}

#if defined(__has_feature)
#define HAS_ADDRESS_SANITIZER __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER 1
#else
#define HAS_ADDRESS_SANITIZER 0
#endif

static void fork_while_other_threads_launch(void **state)
{
    (void)state;
    enum { THREADS = 3, FORKS = 150 };
    int worst = 0;
    if (HAS_ADDRESS_SANITIZER) /* its allocator's locks stay locked in a child */
        skip();
    pthread_t threads[THREADS];
    accel_native_stream *streams[THREADS];
    shared = cpu_event(&cpu, true);
    atomic_store(&stop, 0);
    for (int i = 0; i < THREADS; i++) {
        streams[i] = cpu_stream(&cpu);
        assert_int_equal(pthread_create(&threads[i], NULL, disturb, streams[i]), 0);
    }
    for (int i = 0; i < FORKS && worst == 0; i++) {
        const pid_t child = start_child(use_while_others_did);
        if (child < 0 || waitpid(child, &worst, 0) != child)
            worst = -1;
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        cpu.table->stream.destroy(streams[i]);
    }
    assert_int_equal(cpu.table->stream.synchronize(cpu.stream), ACCEL_OK);
    cpu.table->event.destroy(shared);
    assert_int_equal(worst, 0);
}

/* ---- in a callback ---- */

static _Atomic(int) forked_child;

static void leave(void)
{
    _exit(0);
}

static void fork_in_callback(accel_status status, void *user)
{
    (void)status, (void)user;
    const pid_t child = fork();
    if (child != 0)
        atomic_store(&forked_child, child);
    else
        atexit(leave); /* before the exit handlers of the parent */
}

static void callback_may_fork(void **state)
{
    (void)state;
    const pid_t own = getpid();
    for (int helped = 0; helped < 2; helped++) {
        atomic_store(&forked_child, 0);
        assert_int_equal(cpu.table->callbacks.add(cpu.stream, fork_in_callback, NULL), ACCEL_OK);
        assert_int_equal(launch(cpu.stream, 1, 1), ACCEL_OK);
        if (helped == 0)
            assert_true(cpu_comes_true(&forked_child)); /* a worker forked: its child just ends */
        const accel_status status = cpu.table->stream.synchronize(cpu.stream);
        if (getpid() != own) /* the child of a helping caller goes on here */
            _exit(status != ACCEL_ERROR_FORKED || atomic_load(&sum) != helped);
        assert_int_equal(status, ACCEL_OK);
        expect_success(atomic_load(&forked_child));
        assert_int_equal(atomic_load(&sum), helped + 1);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(child_of_an_idle_parent_works),   TEST(child_sees_the_truth),
        TEST(failure_sticks_in_the_child),     TEST(hundred_children_at_once),
        TEST(fork_while_other_threads_launch), TEST(callback_may_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
