/* memory_model_test.c: the allocator against the model, over fixed and growable segments. */
#include "unit/memory_model.h"

/* With the structures looked at around every change a step takes a hundred times longer. */
#if ACCEL_INVARIANTS
enum { STEPS = 2000 };
#else
enum { STEPS = 10000 };
#endif

static void test_fixed(void **state)
{
    (void)state;
    for (int32_t seed = 1; seed <= 8; seed++)
        model_run(heap_number(false), seed, (uint64_t)seed, STEPS);
}

static void test_growable(void **state)
{
    (void)state;
    for (int32_t seed = 1; seed <= 8; seed++)
        model_run(heap_number(true), seed, (uint64_t)seed, STEPS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_growable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
