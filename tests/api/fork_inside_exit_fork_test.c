/* fork_inside_exit_fork_test.c: forks inside of functions that accel called, whose children return from
 * them, on the cpu backend, which survives forks: a deferred call, and a host callback of the core's
 * stand-in. Each case runs in a child of its own; a grandchild ends with what its parent had pending. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/kernels.h"
#include "support/process.h"

/* What the children and grandchildren of a case have done; shared by all. */
static struct {
    _Atomic(uint32_t) first;   /* calls of the function that forks … */
    _Atomic(uint32_t) second;  /* … and of the one behind it */
    _Atomic(uint32_t) strange; /* of those, in another process than the one that queued them */
} * seen;

static pid_t forked = -1; /* as fork() returned */
static pid_t owner;       /* who queued */

static int work_a_little(void)
{
    accel_stream *stream = NULL;
    void *memory = NULL;
    uint32_t back = 0;
    CHECK_QUIET(accel_stream_create(test_cpu_device(0), NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, 4, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_fill(memory, "\7\0\0", 4, 4, stream) == ACCEL_OK);
    CHECK_QUIET(accel_copy(&back, memory, 4, stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK && back == 7);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    accel_stream_release(stream);
    return 0;
}

static void *work_on_a_thread(void *user)
{
    return work_a_little() == 0 ? NULL : user;
}

/* ---- a deferred call ---- */

static accel_status fork_and_return(accel_device device, void *user)
{
    (void)device, (void)user;
    seen->first++;
    forked = fork();
    return forked >= 0 ? ACCEL_OK : ACCEL_ERROR_SYSTEM;
}

static accel_status count_call(accel_device device, void *user)
{
    (void)device, (void)user;
    seen->second++;
    return ACCEL_OK;
}

/* Parent and child alike: the start is complete, for this thread and for others. */
static int has_started(accel_status status)
{
    bool initialized = false;
    pthread_t thread;
    void *bad = NULL;
    CHECK_QUIET(status == ACCEL_OK);
    CHECK_QUIET(accel_is_initialized(test_cpu(), &initialized) == ACCEL_OK && initialized);
    CHECK_QUIET(pthread_create(&thread, NULL, work_on_a_thread, seen) == 0);
    CHECK_QUIET(pthread_join(thread, &bad) == 0 && bad == NULL);
    return work_a_little();
}

/* The child has the rest of the queue, as it was at the fork, and starts the backend for itself. */
static int deferred_call(void *user)
{
    (void)user;
    CHECK_QUIET(accel_lazy_call(test_cpu(), fork_and_return, NULL, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_lazy_call(test_cpu(), count_call, NULL, NULL) == ACCEL_OK);
    const accel_status status = accel_initialize(test_cpu());
    if (forked == 0)
        _exit(has_started(status));
    CHECK_QUIET(test_child_wait(forked, 20) == 0);
    CHECK_QUIET(has_started(status) == 0);
    CHECK_QUIET(seen->first == 1 && seen->second == 2);
    return 0;
}

/* ---- a host callback of the stand-in ---- */

static void fork_and_end(accel_stream *stream, accel_status status, void *user)
{
    (void)stream, (void)status, (void)user;
    seen->first++;
    forked = fork();
}

static void count_callback(accel_stream *stream, accel_status status, void *user)
{
    (void)stream, (void)status, (void)user;
    seen->second++;
    seen->strange += getpid() != owner;
}

/* The child's only thread is the one that called: where the callback returns, nothing is left to do, and
 * nothing of what the parent has queued is called there, on any stream. */
static int stand_in_callback(void *user)
{
    (void)user;
    accel_stream *streams[2] = {NULL, NULL};
    test_kernels kernels;
    static test_gate gate;
    owner = getpid();
    CHECK_QUIET(setenv("ACCEL_MASK", "cpu:callbacks", 1) == 0);
    CHECK_QUIET(test_kernels_load(test_cpu_device(0), &kernels) == ACCEL_OK);
    for (int i = 0; i < 2; i++)
        CHECK_QUIET(accel_stream_create(test_cpu_device(0), NULL, &streams[i]) == ACCEL_OK);
    CHECK_QUIET(accel_stream_add_callback(streams[0], fork_and_end, NULL) == ACCEL_OK);
    CHECK_QUIET(test_launch_gate(&kernels, streams[0], &gate) == ACCEL_OK);
    CHECK_QUIET(test_launch_gate(&kernels, streams[1], &gate) == ACCEL_OK);
    for (int i = 0; i < 2; i++)
        CHECK_QUIET(accel_stream_add_callback(streams[i], count_callback, NULL) == ACCEL_OK);
    for (int turn = 0; turn < 10000 && forked == -1; turn++)
        test_nap_ms(1);
    CHECK_QUIET(forked > 0);
    CHECK_QUIET(test_child_wait(forked, 20) == 0); /* while the gates hold the rest back */
    CHECK_QUIET(seen->second == 0);
    test_gate_open(&gate);
    for (int i = 0; i < 2; i++)
        CHECK_QUIET(accel_stream_synchronize(streams[i]) == ACCEL_OK);
    CHECK_QUIET(seen->first == 1 && seen->second == 2 && seen->strange == 0);
    for (int i = 0; i < 2; i++)
        accel_stream_release(streams[i]);
    test_kernels_unload(&kernels);
    return work_a_little();
}

/* ---- */

#define IN_A_CHILD(name)                                                                           \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        memset(seen, 0, sizeof *seen);                                                             \
        assert_int_equal(test_in_child(name, NULL, 60), 0);                                        \
    }

IN_A_CHILD(deferred_call)
IN_A_CHILD(stand_in_callback)

int main(void)
{
    test_environment(1);
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seen == MAP_FAILED)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deferred_call),
        cmocka_unit_test(test_stand_in_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
