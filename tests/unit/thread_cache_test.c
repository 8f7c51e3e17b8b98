/* thread_cache_test.c: what threads keep at hand on a system without a barrier for its processors, and what
 * figures say of blocks whose settings change while they live. */
#include "unit/heap_support.h"

#include <accel/memory_stats.h>

#include "memory/cache.h"

static accel_backend fixed;

/* The short ways are never let in then; what is freed must be found again all the same. */
static void test_without_barrier(void **state)
{
    (void)state;
    heap_fixture on;
    void *first = NULL;
    void *second = NULL;
    heap_open(&on, fixed, 0);
    OK(accel_memory_alloc(on.stream, 3000, NULL, &first));
    atomic_fetch_or(&accel__cache_mine->is_held, ACCEL__CACHE_FENCE);
    OK(accel_memory_free(first));
    assert_int_equal(accel__cache_bytes(on.stream->device), 3072);
    for (int i = 0; i < 3; i++) {
        OK(accel_memory_alloc(on.stream, 3000, NULL, &second));
        assert_ptr_equal(second, first);
        assert_int_equal(accel__cache_bytes(on.stream->device), 0);
        OK(accel_memory_free(second));
    }
    atomic_fetch_and(&accel__cache_mine->is_held, ~(uint32_t)ACCEL__CACHE_FENCE);
    heap_close(&on);
}

/* A block is oversize from its beginning to its end, whatever the settings are by then. */
static void test_oversize_under_other_settings(void **state)
{
    (void)state;
    heap_fixture on;
    void *large[2] = {NULL};
    accel_memory_statistics figures = {.struct_size = sizeof figures};
    heap_open(&on, fixed, 1);
    OK(accel_memory_alloc(on.stream, 40 * MIB, NULL, &large[0]));
    OK(accel_allocator_set_config("max_split_size_mb:30"));
    OK(accel_memory_alloc(on.stream, 40 * MIB, NULL, &large[1]));
    OK(accel_memory_free(large[0]));
    OK(accel_memory_stats(on.device, &figures));
    assert_int_equal(figures.oversize_allocations.current, 1);
    OK(accel_allocator_set_config(""));
    OK(accel_memory_free(large[1]));
    OK(accel_memory_stats(on.device, &figures));
    assert_int_equal(figures.oversize_allocations.current, 0);
    assert_int_equal(figures.oversize_allocations.allocated, 1);
    assert_int_equal(figures.oversize_allocations.freed, 1);
    heap_close(&on);
}

int main(void)
{
    ledger.capacity = 1024 * MIB;
    fixed = heap_backend(false);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_barrier),
        cmocka_unit_test(test_oversize_under_other_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
