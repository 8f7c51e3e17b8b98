/* Ticks as nanoseconds of the monotonic clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "platform/ticks.h"

enum { READINGS = 1000, SLACK_NS = 50000 };

static void check(void)
{
    uint64_t ticks[READINGS];
    uint64_t at[READINGS];
    uint64_t last = 0;
    const accel__ticks_pair before = accel__ticks_now();
    for (int i = 0; i < READINGS; i++) {
        at[i] = accel__clock_ns();
        ticks[i] = accel__ticks();
    }
    const struct timespec nap = {.tv_nsec = 20000000};
    nanosleep(&nap, NULL);
    const accel__ticks_pair after = accel__ticks_now();
    assert_int_equal(accel__ticks_to_ns(before.ticks, &before, &after), before.ns);
    int far = 0;
    for (int i = 0; i < READINGS; i++) {
        const uint64_t ns = accel__ticks_to_ns(ticks[i], &before, &after);
        assert_true(ns >= last && ns >= before.ns && ns <= after.ns);
        far += ns + SLACK_NS < at[i] || ns > at[i] + SLACK_NS;
        last = ns;
    }
    assert_true(far < READINGS / 10); /* but where the thread was interrupted between the two */
}

static void test_before_it_is_known_the_clock_counts(void **state)
{
    (void)state;
    check();
}

static void test_the_counter_agrees_with_the_clock(void **state)
{
    (void)state;
    accel__ticks_prepare();
    check();
    accel__ticks_prepare();
    check();
}

static void test_a_span_of_nothing_is_its_begin(void **state)
{
    const accel__ticks_pair pair = {.ticks = 5, .ns = 7};
    (void)state;
    assert_int_equal(accel__ticks_to_ns(5, &pair, &pair), 7);
    assert_int_equal(accel__ticks_to_ns(9, &pair, &pair), 7);
    assert_int_equal(accel__ticks_to_ns(1, &pair, &pair), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_it_is_known_the_clock_counts),
        cmocka_unit_test(test_the_counter_agrees_with_the_clock),
        cmocka_unit_test(test_a_span_of_nothing_is_its_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
