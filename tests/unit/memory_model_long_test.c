/* memory_model_long_test.c: ten million operations against the model, half of them over fixed segments. */
#include "unit/memory_model.h"

enum { RUNS = 100, STEPS = 50000 };

static accel_backend backends[2];

static void run(accel_backend number)
{
    for (int32_t seed = 0; seed < RUNS; seed++)
        model_run(number, seed, 1000 + (uint64_t)seed, STEPS);
}

static void test_fixed(void **state)
{
    (void)state;
    run(backends[0]);
}

static void test_growable(void **state)
{
    (void)state;
    run(backends[1]);
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
