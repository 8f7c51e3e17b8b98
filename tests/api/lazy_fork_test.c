/* lazy_fork_test.c: deferred calls and the start of a backend (lifecycle.h). A backend starts once in a
 * process, so each case runs in a child of its own; the parent only asks. */
#include <pthread.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/kernels.h"
#include "support/process.h"

static test_log ran;
static test_log dropped;

static uint32_t number_of(void *user)
{
    return (uint32_t)(uintptr_t)user;
}

static void note(test_log *log, uint32_t value)
{
    log->values[atomic_fetch_add(&log->count, 1)] = value;
}

static accel_status run(accel_device device, void *user)
{
    (void)device;
    note(&ran, number_of(user));
    return ACCEL_OK;
}

static void drop(void *user)
{
    note(&dropped, number_of(user));
}

static accel_status queue(accel_lazy_kind kind, uint32_t number)
{
    const accel_lazy_options options = {.struct_size = sizeof options, .kind = kind, .drop = drop};
    return accel_lazy_call(test_cpu(), run, (void *)(uintptr_t)number, &options);
}

static bool initialized(void)
{
    bool is = false;
    accel_is_initialized(test_cpu(), &is);
    return is;
}

static int ran_were(const uint32_t *expected, uint32_t count)
{
    CHECK_QUIET(ran.count == count);
    for (uint32_t i = 0; i < count; i++)
        CHECK_QUIET(ran.values[i] == expected[i]);
    return 0;
}

static int in_order(void *user)
{
    (void)user;
    for (uint32_t i = 0; i < 50; i++)
        CHECK_QUIET(queue(ACCEL_LAZY_KIND_ORDINARY, i) == ACCEL_OK);
    CHECK_QUIET(ran.count == 0 && !initialized());
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    CHECK_QUIET(ran.count == 50 && initialized());
    for (uint32_t i = 0; i < 50; i++)
        CHECK_QUIET(ran.values[i] == i);
    CHECK_QUIET(queue(ACCEL_LAZY_KIND_ORDINARY, 99) == ACCEL_OK);
    CHECK_QUIET(ran.count == 51 && ran.values[50] == 99);
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    CHECK_QUIET(ran.count == 51);
    return 0;
}

/* Seeds that a later seed provably overwrites are dropped, and only those; all is in order. */
static int seeds(void *user)
{
    (void)user;
    queue(ACCEL_LAZY_KIND_SEED, 1);     /* dropped by 2 */
    queue(ACCEL_LAZY_KIND_SEED_ALL, 2); /* stays: 3 is of one device */
    queue(ACCEL_LAZY_KIND_SEED, 3);     /* dropped by 4 */
    queue(ACCEL_LAZY_KIND_SEED, 4);     /* stays: an ordinary call is next */
    queue(ACCEL_LAZY_KIND_ORDINARY, 5);
    queue(ACCEL_LAZY_KIND_SEED_ALL, 6); /* dropped by 8 */
    queue(ACCEL_LAZY_KIND_SEED, 7);     /* dropped by 8 */
    queue(ACCEL_LAZY_KIND_SEED_ALL, 8);
    queue(ACCEL_LAZY_KIND_ORDINARY, 9);
    CHECK_QUIET(accel_set_device_index(test_cpu_device(1)) == ACCEL_OK);
    queue(ACCEL_LAZY_KIND_SEED, 10); /* stays: 11 is of the other device */
    CHECK_QUIET(accel_set_device_index(test_cpu_device(0)) == ACCEL_OK);
    queue(ACCEL_LAZY_KIND_SEED, 11);
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    const uint32_t expected[] = {2, 4, 5, 8, 9, 10, 11};
    if (ran_were(expected, 7) != 0)
        return 1;
    const uint32_t gone[] = {1, 3, 6, 7};
    CHECK_QUIET(dropped.count == 4);
    for (uint32_t i = 0; i < 4; i++) {
        bool found = false;
        for (uint32_t j = 0; j < 4; j++)
            found |= dropped.values[j] == gone[i];
        CHECK_QUIET(found);
    }
    return 0;
}

static accel_device seen[2];

static accel_status see_device(accel_device device, void *user)
{
    seen[number_of(user)] = device;
    return ACCEL_OK;
}

/* The target is decided at the call. */
static int device_of_the_call(void *user)
{
    (void)user;
    CHECK_QUIET(accel_set_device_index(test_cpu_device(1)) == ACCEL_OK);
    CHECK_QUIET(accel_lazy_call(test_cpu(), see_device, (void *)0, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_set_device_index(test_cpu_device(0)) == ACCEL_OK);
    CHECK_QUIET(accel_lazy_call(ACCEL_BACKEND_CURRENT, see_device, (void *)1, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    CHECK_QUIET(seen[0].backend == test_cpu() && seen[0].index == 1);
    CHECK_QUIET(seen[1].backend == test_cpu() && seen[1].index == 0);
    return 0;
}

static accel_status fail_call(accel_device device, void *user)
{
    run(device, user);
    return ACCEL_ERROR_IO;
}

/* A failing call is removed and reported; the backend has started; later calls stay queued. */
static int a_failing_call(void *user)
{
    (void)user;
    queue(ACCEL_LAZY_KIND_ORDINARY, 1);
    accel_lazy_call(test_cpu(), fail_call, (void *)2, NULL);
    queue(ACCEL_LAZY_KIND_ORDINARY, 3);
    accel_lazy_call(test_cpu(), fail_call, (void *)4, NULL);
    queue(ACCEL_LAZY_KIND_ORDINARY, 5);
    accel_stream *stream = NULL;
    CHECK_QUIET(accel_stream_create(test_cpu_device(0), NULL, &stream) == ACCEL_ERROR_IO);
    CHECK_QUIET(stream == NULL && initialized());
    const uint32_t first[] = {1, 2};
    if (ran_were(first, 2) != 0)
        return 1;
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_ERROR_IO);
    queue(ACCEL_LAZY_KIND_ORDINARY, 6); /* not ahead of 5 */
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    const uint32_t all[] = {1, 2, 3, 4, 5, 6};
    return ran_were(all, 6);
}

static accel_status nested(accel_device device, void *user)
{
    const uint32_t number = number_of(user);
    note(&ran, number);
    if (number < 3) {
        accel_stream *stream = NULL;
        if (accel_lazy_call(device.backend, nested, (void *)(uintptr_t)(number + 1), NULL) !=
                ACCEL_OK ||
            accel_stream_create(device, NULL, &stream) != ACCEL_OK ||
            accel_stream_synchronize(stream) != ACCEL_OK ||
            accel_initialize(device.backend) != ACCEL_OK)
            return ACCEL_ERROR_INTERNAL;
        accel_stream_release(stream);
    }
    note(&ran, 100 + number);
    return ACCEL_OK;
}

/* A deferred call may use accel, and defer: that runs at once. */
static int re_entrant(void *user)
{
    (void)user;
    CHECK_QUIET(accel_lazy_call(test_cpu(), nested, (void *)1, NULL) == ACCEL_OK);
    queue(ACCEL_LAZY_KIND_ORDINARY, 9);
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    const uint32_t expected[] = {1, 2, 3, 103, 102, 101, 9};
    if (ran_were(expected, 7) != 0)
        return 1;
    CHECK_QUIET(accel_lazy_call(test_cpu(), nested, (void *)3, NULL) == ACCEL_OK);
    CHECK_QUIET(ran.count == 9);
    return 0;
}

/* What a call returns is what accel_lazy_call returns once the backend has started. */
static int at_once(void *user)
{
    (void)user;
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    CHECK_QUIET(accel_lazy_call(test_cpu(), fail_call, (void *)7, NULL) == ACCEL_ERROR_IO);
    CHECK_QUIET(ran.count == 1);
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    return 0;
}

static int child_of_the_queue(void *user)
{
    (void)user;
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    const uint32_t expected[] = {1, 2};
    return ran_were(expected, 2);
}

/* A child has the queue as it was at the fork; the parent keeps its own. */
static int queued_over_a_fork(void *user)
{
    queue(ACCEL_LAZY_KIND_ORDINARY, 1);
    queue(ACCEL_LAZY_KIND_ORDINARY, 2);
    CHECK_QUIET(test_in_child(child_of_the_queue, user, 20) == 0);
    CHECK_QUIET(ran.count == 0 && !initialized());
    return child_of_the_queue(user);
}

static accel_status slow(accel_device device, void *user)
{
    test_nap_ms(2);
    return run(device, user);
}

static void *use(void *user)
{
    accel_stream *stream = NULL;
    if (accel_stream_create(test_cpu_device(0), NULL, &stream) != ACCEL_OK)
        return user;
    /* Whoever comes back from a first use sees every call that was queued before as run. */
    const bool complete = atomic_load(&ran.count) >= 20;
    accel_stream_release(stream);
    return complete ? NULL : user;
}

static int sixteen_threads(void *user)
{
    (void)user;
    for (uint32_t i = 0; i < 20; i++)
        accel_lazy_call(test_cpu(), slow, (void *)(uintptr_t)i, NULL);
    pthread_t threads[16];
    for (int i = 0; i < 16; i++)
        CHECK_QUIET(pthread_create(&threads[i], NULL, use, (void *)1) == 0);
    void *bad = NULL;
    for (int i = 0; i < 16; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        bad = result != NULL ? result : bad;
    }
    CHECK_QUIET(bad == NULL);
    CHECK_QUIET(ran.count == 20);
    for (uint32_t i = 0; i < 20; i++)
        CHECK_QUIET(ran.values[i] == i);
    return 0;
}

static int shut_down_and_again(void *user)
{
    (void)user;
    CHECK_QUIET(accel_shutdown() == ACCEL_OK); /* nothing to do, and nothing started */
    CHECK_QUIET(!initialized());
    test_kernels kernels;
    static test_log log;
    accel_stream *stream = NULL;
    void *memory = NULL;
    CHECK_QUIET(accel_stream_create(test_cpu_device(0), NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(test_kernels_load(test_cpu_device(0), &kernels) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, 100, NULL, &memory) == ACCEL_OK);
    for (int round = 1; round <= 3; round++) {
        for (uint32_t i = 0; i < 10; i++)
            CHECK_QUIET(test_launch_append(&kernels, stream, &log, i) == ACCEL_OK);
        CHECK_QUIET(accel_shutdown() == ACCEL_OK);
        CHECK_QUIET(log.count == (uint32_t)(10 * round)); /* it waited for the streams */
        CHECK_QUIET(accel_shutdown() == ACCEL_OK);
    }
    CHECK_QUIET(test_launch_append(&kernels, stream, &log, 0) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    accel_stream_release(stream);
    test_kernels_unload(&kernels);
    return 0;
}

static int the_count_is_frozen(void *user)
{
    (void)user;
    int32_t count = 0;
    const char *const before[] = {"3", "1", "2"};
    for (int i = 0; i < 3; i++) {
        setenv("ACCEL_CPU_DEVICES", before[i], 1);
        CHECK_QUIET(accel_device_count(test_cpu(), &count) == ACCEL_OK);
        CHECK_QUIET(count == atoi(before[i]));
    }
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    setenv("ACCEL_CPU_DEVICES", "5", 1);
    CHECK_QUIET(accel_device_count(test_cpu(), &count) == ACCEL_OK && count == 2);
    return 0;
}

static int work_a_little(void *user)
{
    (void)user;
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

static accel_status fork_inside(accel_device device, void *user)
{
    (void)device;
    *(int *)user = test_in_child(work_a_little, NULL, 20);
    return ACCEL_OK;
}

/* A deferred call forks: the child's thread was starting the backend, and the child goes on alone. */
static int fork_in_a_deferred_call(void *user)
{
    (void)user;
    int result = -1;
    CHECK_QUIET(accel_lazy_call(test_cpu(), fork_inside, &result, NULL) == ACCEL_OK);
    queue(ACCEL_LAZY_KIND_ORDINARY, 1);
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    CHECK_QUIET(result == 0 && ran.count == 1);
    return work_a_little(NULL);
}

#define IN_A_CHILD(name)                                                                           \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        assert_int_equal(test_in_child(name, NULL, 30), 0);                                        \
    }

IN_A_CHILD(in_order)
IN_A_CHILD(seeds)
IN_A_CHILD(device_of_the_call)
IN_A_CHILD(a_failing_call)
IN_A_CHILD(re_entrant)
IN_A_CHILD(at_once)
IN_A_CHILD(queued_over_a_fork)
IN_A_CHILD(sixteen_threads)
IN_A_CHILD(shut_down_and_again)
IN_A_CHILD(the_count_is_frozen)
IN_A_CHILD(fork_in_a_deferred_call)

int main(void)
{
    test_environment(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_device_of_the_call),
        cmocka_unit_test(test_a_failing_call),
        cmocka_unit_test(test_re_entrant),
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_queued_over_a_fork),
        cmocka_unit_test(test_sixteen_threads),
        cmocka_unit_test(test_shut_down_and_again),
        cmocka_unit_test(test_the_count_is_frozen),
        cmocka_unit_test(test_fork_in_a_deferred_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
