/* platform_test.c: the platform layer: generations, the mutex that a fork cannot leave locked, futexes,
 * threads. Children here start no thread, so that ThreadSanitizer can watch. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "support/check.h"
#include "support/process.h"

#include "platform/calls.h"
#include "platform/clock.h"
#include "platform/futex.h"
#include "platform/generation.h"
#include "platform/mutex.h"
#include "platform/thread.h"

/* ---- generation ---- */

static int grandchild_generation(void *user)
{
    CHECK_QUIET(accel__generation() > *(const uint32_t *)user);
    return 0;
}

static int child_generation(void *user)
{
    const uint32_t mine = accel__generation();
    CHECK_QUIET(mine > *(const uint32_t *)user && mine == accel__generation());
    uint32_t parent = mine;
    return test_in_child(grandchild_generation, &parent, 10);
}

static void test_each_fork_is_a_generation(void **state)
{
    (void)state;
    uint32_t mine = accel__generation();
    assert_true(mine != 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(test_in_child(child_generation, &mine, 10), 0);
    assert_int_equal(accel__generation(), mine);
}

static _Atomic(uint32_t) seen_by_threads[8];

static void *ask_generation(void *user)
{
    atomic_store((_Atomic(uint32_t) *)user, accel__generation());
    return NULL;
}

static void test_all_threads_agree(void **state)
{
    (void)state;
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_generation, &seen_by_threads[i]), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 8; i++)
        assert_int_equal(seen_by_threads[i], accel__generation());
}

/* ---- mutex ---- */

static accel__mutex mutex;
static uint64_t guarded;

static void *count_up(void *user)
{
    for (int i = 0; i < *(const int *)user; i++) {
        accel__mutex_lock(&mutex);
        guarded++;
        accel__mutex_unlock(&mutex);
    }
    return NULL;
}

static void test_mutex_excludes(void **state)
{
    (void)state;
    int turns = 20000;
    pthread_t threads[4];
    guarded = 0;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, &turns), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(guarded, 4 * turns);
}

static void *hold_for_a_while(void *user)
{
    _Atomic(uint32_t) *step = user;
    accel__mutex_lock(&mutex);
    atomic_store(step, 1);
    while (atomic_load(step) == 1)
        sched_yield();
    test_nap_ms(20);
    guarded = 77;
    accel__mutex_unlock(&mutex);
    return NULL;
}

static void test_mutex_sleeps_and_wakes(void **state)
{
    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        _Atomic(uint32_t) step = 0; /* 1: held, 2: a try was refused */
        pthread_t thread;
        guarded = 0;
        assert_int_equal(pthread_create(&thread, NULL, hold_for_a_while, &step), 0);
        while (atomic_load(&step) == 0)
            sched_yield();
        const bool taken = accel__mutex_try_lock(&mutex);
        atomic_store(&step, 2);
        assert_false(taken);
        accel__mutex_lock(&mutex);
        assert_int_equal(guarded, 77);
        accel__mutex_unlock(&mutex);
        pthread_join(thread, NULL);
    }
    assert_true(accel__mutex_try_lock(&mutex));
    assert_false(accel__mutex_try_lock(&mutex));
    accel__mutex_unlock(&mutex);
}

static int lock_in_child(void *user)
{
    (void)user;
    CHECK_QUIET(accel__mutex_try_lock(&mutex));
    accel__mutex_unlock(&mutex);
    accel__mutex_lock(&mutex);
    CHECK_QUIET(!accel__mutex_try_lock(&mutex));
    accel__mutex_unlock(&mutex);
    return 0;
}

static void test_mutex_held_at_a_fork(void **state) /* B36 */
{
    (void)state;
    accel__mutex_lock(&mutex);
    assert_int_equal(test_in_child(lock_in_child, NULL, 5), 0);
    assert_false(accel__mutex_try_lock(&mutex));
    accel__mutex_unlock(&mutex);
    assert_int_equal(test_in_child(lock_in_child, NULL, 5), 0);
}

static _Atomic(bool) stop;

static void *lock_all_the_time(void *user)
{
    while (!atomic_load(&stop))
        count_up(user);
    return NULL;
}

static void test_mutex_held_by_others_at_a_fork(void **state) /* B36 */
{
    (void)state;
    int turns = 50;
    pthread_t threads[3];
    stop = false;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, lock_all_the_time, &turns), 0);
    int bad = 0;
    for (int i = 0; i < 200; i++)
        bad += test_in_child(lock_in_child, NULL, 5) != 0;
    stop = true;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(bad, 0);
}

/* ---- futex ---- */

static void test_futex_wait_and_time_out(void **state)
{
    (void)state;
    _Atomic(uint32_t) word = 1;
    assert_true(accel__futex_wait(&word, 0, UINT64_MAX)); /* not that value: returns at once */
    const uint64_t before = accel__clock_ns();
    while (accel__futex_wait(&word, 1, 5000000)) /* spurious returns are allowed */
        continue;
    assert_true(accel__clock_ns() - before >= 4000000u);
}

static void *wake_later(void *user)
{
    _Atomic(uint32_t) *word = user;
    test_nap_ms(5);
    atomic_store(word, 1);
    accel__futex_wake_all(word);
    return NULL;
}

static void test_futex_wakes(void **state)
{
    (void)state;
    _Atomic(uint32_t) word = 0;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wake_later, &word), 0);
    while (atomic_load(&word) == 0)
        accel__futex_wait(&word, 0, UINT64_MAX);
    pthread_join(thread, NULL);
    accel__futex_wake_one(&word);
}

/* ---- threads ---- */

static void *look_at_signals(void *user)
{
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    *(int *)user = sigismember(&blocked, SIGUSR1) + sigismember(&blocked, SIGTERM) * 2;
    return NULL;
}

static void test_signals_stay_with_the_program(void **state)
{
    (void)state;
    int blocked = 0;
    pthread_t thread;
    sigset_t before;
    sigset_t after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert_int_equal(accel__thread_start(&thread, "accel-test", look_at_signals, &blocked), 0);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    assert_int_equal(blocked, 3);
    assert_int_equal(sigismember(&before, SIGUSR1), sigismember(&after, SIGUSR1));
}

static int no_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                     void *user)
{
    (void)thread;
    (void)attributes;
    (void)body;
    (void)user;
    return EAGAIN;
}

static void test_a_thread_that_cannot_start(void **state)
{
    (void)state;
    pthread_t thread;
    const accel__calls real = accel__platform;
    accel__platform.thread_create = no_thread;
    const int code = accel__thread_start(&thread, "accel-test", look_at_signals, NULL);
    accel__platform = real;
    assert_int_equal(code, EAGAIN);
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    assert_false(sigismember(&now, SIGUSR1));
}

static void test_cpu_count_follows_the_affinity(void **state)
{
    (void)state;
    cpu_set_t before;
    cpu_set_t one;
    const unsigned all = accel__thread_cpu_count();
    assert_true(all >= 1);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &one);
            break;
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(accel__thread_cpu_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(accel__thread_cpu_count(), all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_fork_is_a_generation),
        cmocka_unit_test(test_all_threads_agree),
        cmocka_unit_test(test_mutex_excludes),
        cmocka_unit_test(test_mutex_sleeps_and_wakes),
        cmocka_unit_test(test_mutex_held_at_a_fork),
        cmocka_unit_test(test_mutex_held_by_others_at_a_fork),
        cmocka_unit_test(test_futex_wait_and_time_out),
        cmocka_unit_test(test_futex_wakes),
        cmocka_unit_test(test_signals_stay_with_the_program),
        cmocka_unit_test(test_a_thread_that_cannot_start),
        cmocka_unit_test(test_cpu_count_follows_the_affinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
