/* generation_fork_test.c: detection of forks where the kernel wipes no pages (generation.h): a handler of
 * fork() does it then. In a program of its own, because the way is chosen once, by whoever asks first. */
#include <errno.h>

#include "support/check.h"
#include "support/process.h"

#include "platform/calls.h"
#include "platform/generation.h"

static int advised;

static int refuse_advice(void *address, size_t size, int advice)
{
    (void)address, (void)size, (void)advice;
    advised++;
    errno = EINVAL;
    return -1;
}

static int grandchild(void *user)
{
    CHECK_QUIET(accel__generation_known() == 0);
    CHECK_QUIET(accel__generation() > *(const uint32_t *)user);
    return 0;
}

static int child(void *user)
{
    CHECK_QUIET(accel__generation_known() == 0);
    uint32_t mine = accel__generation();
    CHECK_QUIET(mine > *(const uint32_t *)user && accel__generation_is(mine));
    return test_in_child(grandchild, &mine, 10);
}

static void test_a_handler_tells_of_forks(void **state)
{
    (void)state;
    accel__platform.advise = refuse_advice;
    assert_int_equal(accel__generation_known(), 0);
    uint32_t mine = accel__generation();
    assert_int_equal(advised, 1);
    for (int i = 0; i < 20; i++)
        assert_int_equal(test_in_child(child, &mine, 10), 0);
    assert_int_equal(accel__generation(), mine);
    assert_int_equal(advised, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_handler_tells_of_forks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
