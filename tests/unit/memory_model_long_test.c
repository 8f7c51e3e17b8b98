/* memory_model_long_test.c: ten million operations against the model, half of them over fixed segments. */
#include "unit/memory_model.h"

enum { RUNS = 100, STEPS = 50000 };

static void run(accel_backend number)
{
    for (int32_t seed = 0; seed < RUNS; seed++)
        model_run(number, seed, 1000 + (uint64_t)seed, STEPS);
}

static void test_fixed(void **state)
{
    (void)state;
    run(heap_number(false));
}

static void test_growable(void **state)
{
    (void)state;
    run(heap_number(true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_growable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
