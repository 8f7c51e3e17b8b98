/* Catching and keeping stacks, and naming what is on them. What the reader of unwind tables finds is held
 * against the C library's backtrace(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <accel/memory_history.h>

#include "base/allocate.h"
#include "memory/history/stack.h"
#include "memory/history/symbols.h"

enum { MAX = ACCEL_MEMORY_HISTORY_FRAMES_MAX };

static volatile int sink;        /* keeps calls from becoming jumps */
static volatile uint32_t caught; /* by handlers, too */
static void *expected[MAX];
static int expected_count;

/* ---- what backtrace finds, we find ---- */

__attribute__((noinline)) static void catch_both(void)
{
    expected_count = backtrace(expected, MAX);
    caught = accel__stack_catch(ACCEL__UNWINDER_TABLES, MAX);
    sink++;
}

/* Ours begins inside of accel__stack_catch, which here is part of the program; a sanitizer may have put
 * a function of its own before backtrace. What they have in common begins at the caller of catch_both or
 * one of those. */
static void check_same(int least)
{
    const uintptr_t *frames = NULL;
    const size_t count = accel__stack_frames(caught, &frames);
    size_t first = count;
    int begin = 0;
    assert_true(expected_count > least);
    while (first == count && ++begin < 4)
        for (first = 0; first < count && frames[first] != (uintptr_t)expected[begin];)
            first++;
    assert_true(first < count);
    for (size_t i = first; i < count && begin + (int)(i - first) < expected_count; i++)
        assert_int_equal(frames[i], (uintptr_t)expected[begin + (int)(i - first)]);
    if (count < MAX)
        assert_int_equal(count - first, expected_count - begin);
}

__attribute__((noinline)) static void recurse(int depth)
{
    if (depth == 0)
        catch_both();
    else
        recurse(depth - 1);
    sink++;
}

/* A frame that holds memory of a size that is not known when it is compiled. */
__attribute__((noinline)) static void with_variable_frame(size_t size)
{
    char bytes[size];
    memset(bytes, 1, size);
    catch_both();
    sink += bytes[size - 1];
}

/* A frame that realigns the stack. */
__attribute__((noinline)) static void with_aligned_frame(size_t size)
{
    _Alignas(64) char bytes[256];
    char more[size];
    memset(bytes, 1, sizeof bytes);
    memset(more, 1, size);
    catch_both();
    sink += bytes[3] + more[0] + (int)((uintptr_t)bytes % 64);
}

static int compare_and_catch(const void *a, const void *b)
{
    catch_both();
    return *(const int *)a - *(const int *)b;
}

static void test_tables_find_what_backtrace_finds(void **state)
{
    int numbers[] = {3, 1, 2};
    (void)state;
    accel__stack_prepare(ACCEL__UNWINDER_TABLES);
    for (int depth = 0; depth < 30; depth++) {
        recurse(depth);
        check_same(depth + 2);
    }
    recurse(200);
    check_same(MAX - 1);
    with_variable_frame(100);
    check_same(3);
    with_variable_frame(1000);
    check_same(3);
    with_aligned_frame(33);
    check_same(3);
    qsort(numbers, 3, sizeof *numbers, compare_and_catch);
    check_same(4);
}

/* ---- ways that change from one catch to the next, most of them a little ---- */

static uint32_t drawn = 1;
static int choices[64];

__attribute__((noinline)) static void wander(int depth);

__attribute__((noinline)) static void wander_aligned(int depth)
{
    _Alignas(64) char bytes[64];
    memset(bytes, depth, sizeof bytes);
    wander(depth - 1);
    sink += bytes[5] + (int)((uintptr_t)bytes % 64);
}

__attribute__((noinline)) static void wander_variable(int depth, size_t size)
{
    char bytes[size];
    memset(bytes, depth, size);
    wander(depth - 1);
    sink += bytes[size - 1];
}

static void wander(int depth)
{
    if (depth <= 0) {
        catch_both();
        check_same(2);
        catch_both(); /* another place in the same frame */
        check_same(2);
    } else if (choices[depth] % 4 == 0) {
        wander_aligned(depth);
    } else if (choices[depth] % 4 == 1) {
        wander_variable(depth, (size_t)choices[depth] % 200 + 1);
    } else if (choices[depth] % 4 == 2) {
        wander(depth - 1);
    } else {
        wander(depth - 2);
    }
    sink++;
}

static void test_ways_may_change(void **state)
{
    (void)state;
    accel__stack_prepare(ACCEL__UNWINDER_TABLES);
    for (int i = 0; i < 3000; i++) {
        for (int changes = 0; changes < 3; changes++) {
            drawn = drawn * 1664525u + 1013904223u;
            choices[drawn >> 26] = (int)(drawn >> 8 & 0xffff);
        }
        wander((int)(drawn >> 20) % 40);
        if (i % 500 == 0) /* the tables are read anew */
            accel__stack_prepare(ACCEL__UNWINDER_TABLES);
    }
}

static void *catch_on_thread(void *user)
{
    recurse(*(int *)user);
    return NULL;
}

static void test_each_thread_has_its_stack(void **state)
{
    (void)state;
    for (int depth = 0; depth < 3; depth++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, catch_on_thread, &depth), 0);
        pthread_join(thread, NULL);
        check_same(depth + 2);
    }
}

/* ---- odd stacks ---- */

static void catch_in_handler(int number)
{
    (void)number;
    caught = accel__stack_catch(ACCEL__UNWINDER_TABLES, MAX);
    (void)accel__stack_catch(ACCEL__UNWINDER_FRAME_POINTERS, MAX);
}

static void test_a_handler_on_its_own_stack_harms_nothing(void **state)
{
    stack_t other = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    stack_t before;
    struct sigaction action = {.sa_handler = catch_in_handler, .sa_flags = SA_ONSTACK};
    struct sigaction old;
    (void)state;
    assert_int_equal(sigaltstack(&other, &before), 0);
    sigaction(SIGUSR1, &action, &old);
    caught = 1;
    raise(SIGUSR1);
    assert_int_equal(caught, 0);
    sigaction(SIGUSR1, &old, NULL);
    sigaltstack(&before, NULL);
    free(other.ss_sp);
}

static void test_a_handler_on_the_same_stack_is_the_end(void **state)
{
    struct sigaction action = {.sa_handler = catch_in_handler};
    struct sigaction old;
    const uintptr_t *frames = NULL;
    (void)state;
    sigaction(SIGUSR1, &action, &old);
    raise(SIGUSR1);
    assert_true(accel__stack_frames(caught, &frames) >= 1);
    sigaction(SIGUSR1, &old, NULL);
}

static ucontext_t outside;
static ucontext_t inside;

static void coroutine(void)
{
    caught = accel__stack_catch(ACCEL__UNWINDER_TABLES, MAX);
    (void)accel__stack_catch(ACCEL__UNWINDER_FRAME_POINTERS, MAX);
}

static void test_a_coroutine_harms_nothing(void **state)
{
    (void)state;
    getcontext(&inside);
    inside.uc_stack.ss_sp = malloc(1 << 16);
    inside.uc_stack.ss_size = 1 << 16;
    inside.uc_link = &outside;
    makecontext(&inside, coroutine, 0);
    caught = 1;
    swapcontext(&outside, &inside);
    assert_int_equal(caught, 0);
    free(inside.uc_stack.ss_sp);
}

/* Whatever lies in a frame pointer: the walk stays on the stack. */
static void test_frame_pointers_stay_on_the_stack(void **state)
{
    const uintptr_t *frames = NULL;
    (void)state;
    for (int i = 0; i < 10; i++) {
        const uint32_t number = accel__stack_catch(ACCEL__UNWINDER_FRAME_POINTERS, MAX);
        assert_true(accel__stack_frames(number, &frames) >= 1);
    }
    assert_true(
        accel__stack_frames(accel__stack_catch(ACCEL__UNWINDER_FRAME_POINTERS, 1), &frames) == 1);
}

/* ---- keeping ---- */

static void test_equal_stacks_have_one_number(void **state)
{
    const uintptr_t one[] = {0x1000, 0x2000, 0x3000};
    const uintptr_t other[] = {0x1000, 0x3000, 0x2000};
    const uintptr_t *frames = NULL;
    (void)state;
    const uint32_t a = accel__stack_keep(one, 3);
    const uint32_t b = accel__stack_keep(other, 3);
    assert_int_not_equal(a, 0);
    assert_int_not_equal(a, b);
    assert_int_equal(accel__stack_keep(one, 3), a);
    assert_int_not_equal(accel__stack_keep(one, 2), a);
    assert_int_equal(accel__stack_frames(b, &frames), 3);
    assert_memory_equal(frames, other, sizeof other);
    assert_int_equal(accel__stack_keep(one, 0), 0);
    assert_int_equal(accel__stack_frames(0, &frames), 0);
}

enum { THREADS = 4, STACKS = 20000 };

/* All threads keep the same stacks, in different orders, and must get the same numbers. */
static void *keep_many(void *user)
{
    uint32_t *numbers = user;
    const size_t start = numbers[0];
    for (size_t i = 0; i < STACKS; i++) {
        const size_t which = (i * 7919 + start * 4999) % STACKS;
        const uintptr_t frames[] = {which + 1, which * 3 + 5, 77};
        numbers[which] = accel__stack_keep(frames, 3);
    }
    return NULL;
}

static void test_threads_agree_on_numbers(void **state)
{
    static uint32_t numbers[THREADS][STACKS];
    pthread_t threads[THREADS];
    (void)state;
    for (uint32_t i = 0; i < THREADS; i++) {
        numbers[i][0] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, keep_many, numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t k = 0; k < STACKS; k++) {
        const uintptr_t *frames = NULL;
        for (int i = 1; i < THREADS; i++)
            assert_int_equal(numbers[i][k], numbers[0][k]);
        assert_int_equal(accel__stack_frames(numbers[0][k], &frames), 3);
        assert_int_equal(frames[0], k + 1);
        assert_int_equal(frames[1], k * 3 + 5);
    }
}

static bool refuse(void)
{
    return true;
}

static void test_no_memory_means_no_stack(void **state)
{
    uint32_t last = 1;
    (void)state;
    accel__allocate_fault = refuse;
    for (uintptr_t i = 0; i < 10000 && last != 0; i++) { /* until the chunk at hand is full */
        const uintptr_t frames[] = {i, 0x9999, 0x8888};
        last = accel__stack_keep(frames, 3);
    }
    accel__allocate_fault = NULL;
    assert_int_equal(last, 0);
    const uintptr_t frames[] = {0x5555, 0x9999};
    assert_int_not_equal(accel__stack_keep(frames, 2), 0);
}

/* ---- names ---- */

__attribute__((noinline)) static uint32_t catch_by_a_name(void)
{
    const uint32_t number = accel__stack_catch(ACCEL__UNWINDER_TABLES, MAX);
    sink++;
    return number;
}

static void test_static_functions_have_names(void **state)
{
    uintptr_t addresses[MAX + 1];
    const uintptr_t *frames = NULL;
    accel__symbols symbols;
    bool found = false;
    (void)state;
    const size_t count = accel__stack_frames(catch_by_a_name(), &frames);
    memcpy(addresses, frames, count * sizeof *frames);
    addresses[count] = 1; /* no code */
    assert_true(accel__symbols_find(addresses, count + 1, &symbols));
    assert_int_equal(symbols.items[0].address, 1);
    assert_string_equal(symbols.items[0].function, "??");
    assert_string_equal(symbols.items[0].file, "??");
    for (size_t i = 0; i < count; i++) {
        const size_t place = accel__symbols_place(&symbols, frames[i]);
        assert_int_equal(symbols.items[place].address, frames[i]);
        if (strcmp(symbols.items[place].function, "catch_by_a_name") == 0) {
            assert_non_null(strstr(symbols.items[place].file, "unit_stack_test+0x"));
            found = true;
        }
    }
    assert_true(found);
    accel__symbols_release(&symbols);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_find_what_backtrace_finds),
        cmocka_unit_test(test_ways_may_change),
        cmocka_unit_test(test_each_thread_has_its_stack),
        cmocka_unit_test(test_a_handler_on_its_own_stack_harms_nothing),
        cmocka_unit_test(test_a_handler_on_the_same_stack_is_the_end),
        cmocka_unit_test(test_a_coroutine_harms_nothing),
        cmocka_unit_test(test_frame_pointers_stay_on_the_stack),
        cmocka_unit_test(test_equal_stacks_have_one_number),
        cmocka_unit_test(test_threads_agree_on_numbers),
        cmocka_unit_test(test_no_memory_means_no_stack),
        cmocka_unit_test(test_static_functions_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
