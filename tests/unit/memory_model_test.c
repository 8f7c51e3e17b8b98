/* memory_model_test.c: the allocator against the model, over fixed and growable segments. */
#include "unit/memory_model.h"

static accel_backend backends[2];

static void test_fixed(void **state)
{
    (void)state;
    for (int32_t seed = 1; seed <= 8; seed++)
        model_run(backends[0], seed, (uint64_t)seed, 10000);
}

static void test_growable(void **state)
{
    (void)state;
    for (int32_t seed = 1; seed <= 8; seed++)
        model_run(backends[1], seed, (uint64_t)seed, 10000);
}

static int set_up(void **state)
{
    (void)state;
    backends[0] = heap_backend(false);
    backends[1] = heap_backend(true);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_growable),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
