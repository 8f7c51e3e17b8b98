/* thread_cache_test.c: what threads keep at hand on a system without a barrier for its processors, and what
 * figures say of blocks whose settings change while they live, or that were had while host memory was short. */
#include "unit/heap_support.h"

#include <accel/memory_stats.h>

#include "base/allocate.h"
#include "memory/cache.h"

#define KIB ((size_t)1024)

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

static void *take(const heap_fixture *on, size_t size)
{
    void *memory = NULL;
    OK(accel_memory_alloc(on->stream, size, NULL, &memory));
    return memory;
}

/* Of 1 MiB: where there is no room, what is larger than the block goes, and smaller ones stay. */
static void test_small_blocks_stay(void **state)
{
    (void)state;
    heap_fixture on;
    heap_open(&on, fixed, 0);
    const size_t sizes[] = {512 * KIB, 4 * KIB, 600 * KIB, 300 * KIB, 250 * KIB};
    const size_t at_hand[] = {512 * KIB, 516 * KIB, 516 * KIB, 816 * KIB, 254 * KIB};
    void *memory[5];
    for (int i = 0; i < 5; i++)
        memory[i] = take(&on, sizes[i]);
    for (int i = 0; i < 5; i++) {
        OK(accel_memory_free(memory[i]));
        assert_int_equal(accel__cache_bytes(on.stream->device), at_hand[i]);
    }
    heap_close(&on);
}

/* What lies at hand for ever, of sizes that nobody asks for again, does not keep others out for ever. */
static void test_other_sizes_get_room(void **state)
{
    (void)state;
    heap_fixture on;
    void *small[8];
    heap_open(&on, fixed, 0);
    for (int i = 0; i < 8; i++)
        small[i] = take(&on, 100 * KIB);
    for (int i = 0; i < 8; i++)
        OK(accel_memory_free(small[i]));
    size_t bytes = 0;
    for (int i = 0; i < 1000 && bytes != 500 * KIB; i++) {
        OK(accel_memory_free(take(&on, 500 * KIB)));
        bytes = accel__cache_bytes(on.stream->device);
    }
    assert_int_equal(bytes, 500 * KIB);
    heap_close(&on);
}

/* Before memory of the large kind is broken up, what the thread has at hand is merged and looked at. */
static void test_no_slab_while_there_is_some_at_hand(void **state)
{
    (void)state;
    heap_fixture on;
    heap_open(&on, fixed, 0);
    OK(accel_memory_free(take(&on, 2 * MIB))); /* there is memory for more than one slab */
    void *first = take(&on, 512 * KIB);
    void *second = take(&on, 512 * KIB);
    OK(accel_memory_free(first));
    OK(accel_memory_free(second));
    assert_int_equal(accel__cache_bytes(on.stream->device), 1024 * KIB);
    void *again = take(&on, 768 * KIB);
    assert_ptr_equal(again, first < second ? first : second);
    OK(accel_memory_free(again));
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

/* ---- figures of a device whose first allocations meet failures ---- */

static _Atomic(unsigned) requests_left; /* until the one that fails; 0: none does */

static bool fails_now(void)
{
    unsigned left = requests_left;
    while (left != 0 && !atomic_compare_exchange_weak(&requests_left, &left, left - 1))
        continue;
    return left == 1;
}

/* False: no request of host memory was left to fail. */
static bool count_with_failure(accel_device device, unsigned request)
{
    accel_stream *stream = NULL;
    void *memory[2] = {NULL};
    accel_memory_statistics figures = {.struct_size = sizeof figures};
    OK(accel_stream_create(device, NULL, &stream));
    requests_left = request;
    (void)accel_memory_alloc(stream, 3000, NULL, &memory[0]);
    (void)accel_memory_alloc(stream, 3 * MIB, NULL, &memory[1]);
    const bool is_met = requests_left == 0;
    requests_left = 0;
    OK(accel_memory_stats(device, &figures));
    assert_int_equal(figures.allocation[0].current, (memory[0] != NULL) + (memory[1] != NULL));
    if (memory[0] != NULL && memory[1] != NULL)
        assert_int_equal(figures.reserved_bytes[0].current,
                         figures.allocated_bytes[0].current +
                             figures.inactive_split_bytes[0].current);
    OK(accel_memory_free(memory[0]));
    OK(accel_memory_free(memory[1]));
    accel_stream_release(stream);
    OK(accel_empty_cache());
    OK(accel_memory_stats(device, &figures));
    for (int pool = 0; pool < 3; pool++) {
        assert_int_equal(figures.allocation[pool].current, 0);
        assert_int_equal(figures.allocated_bytes[pool].current, 0);
        assert_int_equal(figures.requested_bytes[pool].current, 0);
        assert_int_equal(figures.segment[pool].current, 0);
        assert_int_equal(figures.reserved_bytes[pool].current, 0);
        assert_int_equal(figures.inactive_split[pool].current, 0);
        assert_int_equal(figures.inactive_split_bytes[pool].current, 0);
    }
    return is_met;
}

/* What one failure prevents is not counted, and all else is. */
static void test_figures_where_host_memory_is_short(void **state)
{
    (void)state;
    accel_device device = ACCEL_DEVICE(fixed, 2);
    unsigned request = 1;
    accel__allocate_fault = fails_now;
    while (count_with_failure(device, request++))
        device.index++;
    accel__allocate_fault = NULL;
    assert_true(request > 8);
}

int main(void)
{
    ledger.capacity = 1024 * MIB;
    fixed = heap_backend(false);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_barrier),
        cmocka_unit_test(test_small_blocks_stay),
        cmocka_unit_test(test_other_sizes_get_room),
        cmocka_unit_test(test_no_slab_while_there_is_some_at_hand),
        cmocka_unit_test(test_oversize_under_other_settings),
        cmocka_unit_test(test_figures_where_host_memory_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
