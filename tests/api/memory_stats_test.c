/* memory_stats_test.c: the figures of memory_stats.h, each as its definition has it. Two cpu devices. Tests run
 * in this order: the first sees a process that has allocated nothing. */
#include "support/check.h"
#include "support/kernels.h"

enum { MIB = 1024 * 1024 };

static test_kernels on;

static accel_device device(void)
{
    return test_cpu_device(0);
}

static int64_t get(accel_device of, const char *key)
{
    int64_t value = -1;
    OK(accel_memory_stats_get(of, key, &value));
    return value;
}

static void *allocate(size_t size)
{
    void *memory = NULL;
    accel_stream *stream = NULL;
    OK(accel_stream_default(device(), &stream));
    OK(accel_memory_alloc(stream, size, NULL, &memory));
    return memory;
}

static accel_memory_statistics read(void)
{
    accel_memory_statistics all = {.struct_size = sizeof all};
    OK(accel_memory_stats(device(), &all));
    return all;
}

static void expect_stat(const accel_memory_stat *stat, int64_t current, int64_t peak,
                        int64_t allocated, int64_t freed)
{
    assert_int_equal(stat->current, current);
    assert_int_equal(stat->peak, peak);
    assert_int_equal(stat->allocated, allocated);
    assert_int_equal(stat->freed, freed);
}

/* Begins a test with an empty allocator and figures that say so. */
static int start_over(void **state)
{
    (void)state;
    OK(accel_synchronize(device()));
    OK(accel_empty_cache());
    OK(accel_reset_accumulated_memory_stats(device()));
    OK(accel_reset_peak_memory_stats(device()));
    return 0;
}

/* ---- before anything was allocated; B50 ---- */

static void test_zero_before_anything(void **state)
{
    (void)state;
    const accel_memory_statistics zeros = {.struct_size = sizeof zeros, .max_split_size = -1};
    const accel_memory_statistics all = read();
    assert_memory_equal(&all, &zeros, sizeof all);
    size_t size = 1;
    OK(accel_memory_allocated(device(), &size));
    assert_int_equal(size, 0);
    OK(accel_reset_peak_memory_stats(device()));
    OK(accel_reset_accumulated_memory_stats(device()));
    bool initialized = true;
    OK(accel_is_initialized(test_cpu(), &initialized));
    assert_false(initialized);
}

static void test_devices_that_there_are_not(void **state)
{
    (void)state;
    int64_t value = 0;
    size_t size = 0;
    accel_memory_statistics all = {.struct_size = sizeof all};
    FAILS(accel_memory_stats(test_cpu_device(2), &all), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_memory_stats");
    FAILS(accel_memory_stats_get(test_cpu_device(2), "num_ooms", &value), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_memory_stats_get");
    EXPECT(accel_memory_allocated(test_cpu_device(-3), &size), ACCEL_ERROR_OUT_OF_RANGE);
    EXPECT(accel_reset_peak_memory_stats(test_cpu_device(7)), ACCEL_ERROR_OUT_OF_RANGE);
    FAILS(accel_memory_stats(ACCEL_DEVICE(999, 0), &all), ACCEL_ERROR_NOT_FOUND,
          "accel_memory_stats");
    FAILS(accel_memory_stats(device(), NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_stats");
    FAILS(accel_max_memory_reserved(device(), NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_max_memory_reserved");
    FAILS(accel_memory_stats_visit(device(), NULL, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_memory_stats_visit");
}

/* ---- keys ---- */

typedef struct seen {
    int count;
    char last[96];
    bool sorted;
    int stop_at;
} seen;

static bool see(const char *key, int64_t value, void *user)
{
    seen *all = user;
    int64_t again = -1;
    all->sorted = all->sorted && strcmp(all->last, key) < 0;
    snprintf(all->last, sizeof all->last, "%s", key);
    all->sorted = all->sorted && accel_memory_stats_get(device(), key, &again) == ACCEL_OK &&
                  again == value;
    return ++all->count != all->stop_at;
}

static void test_keys(void **state)
{
    (void)state;
    seen all = {.sorted = true};
    OK(accel_memory_stats_visit(device(), see, &all));
    assert_true(all.sorted);
    assert_int_equal(all.count, 9 * 3 * 4 + 2 * 4 + 7);
    all = (seen){.sorted = true, .stop_at = 5};
    OK(accel_memory_stats_visit(device(), see, &all));
    assert_int_equal(all.count, 5);
    static const char *const keys[] = {"active.all.current",
                                       "active_bytes.small_pool.peak",
                                       "allocated_bytes.all.freed",
                                       "allocation.large_pool.allocated",
                                       "inactive_split.all.current",
                                       "inactive_split_bytes.all.peak",
                                       "max_split_size",
                                       "num_alloc_retries",
                                       "num_device_alloc",
                                       "num_device_free",
                                       "num_oom_rejections",
                                       "num_ooms",
                                       "num_sync_all_streams",
                                       "oversize_allocations.current",
                                       "oversize_segments.allocated",
                                       "requested_bytes.all.current",
                                       "reserved_bytes.all.allocated",
                                       "segment.small_pool.freed"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        (void)get(device(), keys[i]);
    int64_t value = 7;
    FAILS(accel_memory_stats_get(device(), "allocation.all", &value), ACCEL_ERROR_NOT_FOUND,
          "accel_memory_stats_get");
    assert_int_equal(value, 0);
    FAILS(accel_memory_stats_get(device(), "", &value), ACCEL_ERROR_NOT_FOUND,
          "accel_memory_stats_get");
    void *memory = allocate(100);
    assert_int_equal(get(device(), "allocated.all.current"), 1); /* the documented name */
    assert_int_equal(get(device(), "allocation.all.current"), 1);
    OK(accel_memory_free(memory));
}

/* ---- values ---- */

static void test_one_kibibyte(void **state)
{
    (void)state;
    const accel_memory_statistics before = read();
    void *memory = allocate(1024);
    accel_memory_statistics now = read();
    expect_stat(&now.active_bytes[ACCEL_MEMORY_STAT_POOL_ALL], 1024, 1024, 1024, 0);
    expect_stat(&now.active_bytes[ACCEL_MEMORY_STAT_POOL_SMALL], 1024, 1024, 1024, 0);
    expect_stat(&now.active_bytes[ACCEL_MEMORY_STAT_POOL_LARGE], 0, 0, 0, 0);
    expect_stat(&now.allocation[ACCEL_MEMORY_STAT_POOL_ALL], 1, 1, 1, 0);
    assert_true(now.reserved_bytes[0].current >= 1024);
    assert_true(now.num_device_alloc > 0);
    OK(accel_reset_accumulated_memory_stats(device()));
    OK(accel_memory_free(memory));
    now = read();
    expect_stat(&now.active_bytes[ACCEL_MEMORY_STAT_POOL_ALL], 0, 1024, 0, 1024);
    OK(accel_empty_cache());
    now = read();
    assert_int_equal(now.reserved_bytes[0].current, before.reserved_bytes[0].current);
    assert_int_equal(now.allocated_bytes[0].current, before.allocated_bytes[0].current);
    assert_int_equal(now.reserved_bytes[0].current, 0);
    assert_int_equal(now.segment[0].current, 0);
    assert_int_equal(now.inactive_split[0].current, 0);
    assert_int_equal(now.inactive_split_bytes[0].current, 0);
    assert_true(now.num_device_free > 0);
}

static void expect_bytes(int64_t current, int64_t peak)
{
    size_t size = 0;
    OK(accel_memory_allocated(device(), &size));
    assert_int_equal(size, current);
    OK(accel_max_memory_allocated(device(), &size));
    assert_int_equal(size, peak);
}

/* B48: resets touch what they name, nothing else. */
static void test_resets(void **state)
{
    (void)state;
    void *first = allocate(4 * MIB);
    accel_memory_statistics now = read();
    OK(accel_reset_peak_memory_stats(device()));
    expect_bytes(4 * MIB, 4 * MIB);
    expect_stat(&now.allocated_bytes[0], 4 * MIB, 4 * MIB, 4 * MIB, 0);
    void *second = allocate(MIB);
    expect_bytes(5 * MIB, 5 * MIB);
    OK(accel_memory_free(first));
    expect_bytes(MIB, 5 * MIB);
    OK(accel_reset_accumulated_memory_stats(device()));
    now = read();
    expect_stat(&now.allocated_bytes[0], MIB, 5 * MIB, 0, 0);
    expect_stat(&now.allocated_bytes[ACCEL_MEMORY_STAT_POOL_LARGE], 0, 4 * MIB, 0, 0);
    expect_stat(&now.allocated_bytes[ACCEL_MEMORY_STAT_POOL_SMALL], MIB, MIB, 0, 0);
    OK(accel_reset_peak_memory_stats(device()));
    OK(accel_memory_free(second));
    now = read();
    expect_stat(&now.allocated_bytes[0], 0, MIB, 0, MIB);
    expect_stat(&now.allocation[0], 0, 1, 0, 1);
}

/* "all" has a peak of its own: not the sum of the two others'. */
static void test_peak_of_all(void **state)
{
    (void)state;
    OK(accel_memory_free(allocate(8 * MIB)));
    OK(accel_memory_free(allocate(MIB)));
    const accel_memory_statistics now = read();
    assert_int_equal(now.allocated_bytes[0].peak, 8 * MIB);
    assert_int_equal(now.allocated_bytes[1].peak, MIB);
    assert_int_equal(now.allocated_bytes[2].peak, 8 * MIB);
    assert_int_equal(now.allocation[0].peak, 1);
    assert_int_equal(now.allocation[0].allocated, 2);
}

/* B72: what is asked, rounded and reserved are three things. */
static void test_a_thousand_single_bytes(void **state)
{
    (void)state;
    static void *memory[1000];
    for (int i = 0; i < 1000; i++)
        memory[i] = allocate(1);
    accel_memory_statistics now = read();
    expect_stat(&now.requested_bytes[0], 1000, 1000, 1000, 0);
    expect_stat(&now.allocated_bytes[0], 512000, 512000, 512000, 0);
    expect_stat(&now.allocation[0], 1000, 1000, 1000, 0);
    const int64_t reserved = now.reserved_bytes[0].current;
    assert_true(reserved >= 512000 && reserved % 512 == 0);
    for (int i = 0; i < 1000; i++)
        OK(accel_memory_free(memory[i]));
    OK(accel_empty_cache());
    now = read();
    expect_stat(&now.requested_bytes[0], 0, 1000, 1000, 1000);
    expect_stat(&now.allocated_bytes[0], 0, 512000, 512000, 512000);
    assert_int_equal(now.reserved_bytes[0].current, 0);
    assert_int_equal(now.reserved_bytes[0].peak, reserved);
    assert_int_equal(now.reserved_bytes[0].allocated, now.reserved_bytes[0].freed);
}

/* What another stream uses stays active when it is freed, and its asked bytes stay counted. */
static void test_waiting_for_a_stream(void **state)
{
    (void)state;
    accel_stream *side = NULL;
    test_gate gate = {0};
    OK(accel_stream_create(device(), NULL, &side));
    unsigned char *small = allocate(1000);
    unsigned char *large = allocate(3 * MIB);
    OK(test_launch_gate(&on, side, &gate));
    OK(accel_record_stream(small, side));
    OK(accel_record_stream(small + 999, side)); /* the same stream twice, anywhere in it */
    OK(accel_record_stream(large + MIB, side));
    OK(accel_memory_free(small));
    OK(accel_memory_free(large));
    FAILS(accel_record_stream(small, side), ACCEL_ERROR_INVALID_ARGUMENT, "accel_record_stream");
    FAILS(accel_memory_free(large), ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_free");
    accel_memory_statistics now = read();
    expect_stat(&now.allocation[0], 0, 2, 2, 2);
    expect_stat(&now.allocated_bytes[0], 0, 3 * MIB + 1024, 3 * MIB + 1024, 3 * MIB + 1024);
    expect_stat(&now.active[0], 2, 2, 2, 0);
    expect_stat(&now.active_bytes[1], 1024, 1024, 1024, 0);
    expect_stat(&now.requested_bytes[0], 3 * MIB + 1000, 3 * MIB + 1000, 3 * MIB + 1000, 0);
    void *other = allocate(1000); /* not the one that waits */
    assert_ptr_not_equal(other, small);
    assert_int_equal(read().active[0].peak, 3);
    OK(accel_memory_free(other));
    test_gate_open(&gate);
    OK(accel_synchronize(device()));
    now = read();
    expect_stat(&now.active[0], 0, 3, 3, 3);
    expect_stat(&now.requested_bytes[0], 0, 3 * MIB + 2000, 3 * MIB + 2000, 3 * MIB + 2000);
    accel_stream_release(side);
}

/* B50: each device by its own name. */
static void test_two_devices(void **state)
{
    (void)state;
    accel_stream *second = NULL;
    void *there = NULL;
    void *here = allocate(MIB);
    size_t size = 0;
    OK(accel_stream_default(test_cpu_device(1), &second));
    OK(accel_memory_alloc(second, 3 * MIB, NULL, &there));
    OK(accel_memory_allocated(test_cpu_device(0), &size));
    assert_int_equal(size, MIB);
    OK(accel_memory_allocated(test_cpu_device(1), &size));
    assert_int_equal(size, 3 * MIB);
    OK(accel_set_device_index(test_cpu_device(1)));
    OK(accel_memory_allocated(ACCEL_DEVICE_CURRENT, &size));
    assert_int_equal(size, 3 * MIB);
    OK(accel_set_device_index(test_cpu_device(0)));
    OK(accel_memory_allocated(ACCEL_DEVICE(test_cpu(), ACCEL_INDEX_NONE), &size));
    assert_int_equal(size, MIB);
    OK(accel_memory_free(here));
    OK(accel_memory_free(there));
}

/* B52: sizes that nobody has count nothing, and bad frees change nothing. */
static void test_refusals(void **state)
{
    (void)state;
    const size_t sizes[] = {(size_t)1 << 63, SIZE_MAX, SIZE_MAX - 1023, (size_t)PTRDIFF_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *memory = &memory;
        EXPECT(accel_memory_alloc(NULL, sizes[i], NULL, &memory), ACCEL_ERROR_OUT_OF_MEMORY);
        assert_null(memory);
    }
    void *nothing = &nothing;
    OK(accel_memory_alloc(NULL, 0, NULL, &nothing));
    assert_null(nothing);
    char *memory = allocate(512);
    void *const wrong[] = {memory + 1, memory + 512, &nothing, (void *)UINTPTR_MAX, (void *)1};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        FAILS(accel_memory_free(wrong[i]), ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_free");
    assert_int_equal(read().allocation[0].current, 1);
    OK(accel_memory_free(memory));
    FAILS(accel_memory_free(memory), ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_free");
    const accel_memory_statistics now = read();
    expect_stat(&now.allocation[0], 0, 1, 1, 1);
}

int main(void)
{
    test_environment(2);
    const struct CMUnitTest before[] = {
        cmocka_unit_test(test_zero_before_anything),
        cmocka_unit_test(test_devices_that_there_are_not),
    };
    int failed = cmocka_run_group_tests_name("memory_stats, before", before, NULL, NULL);
    if (test_kernels_load(device(), &on) != ACCEL_OK)
        return 1;
#define FRESH(name) cmocka_unit_test_setup(name, start_over)
    const struct CMUnitTest tests[] = {
        FRESH(test_keys),        FRESH(test_one_kibibyte),
        FRESH(test_resets),      FRESH(test_peak_of_all),
        FRESH(test_refusals),    FRESH(test_a_thousand_single_bytes),
        FRESH(test_two_devices), FRESH(test_waiting_for_a_stream),
    };
    failed += cmocka_run_group_tests_name("memory_stats", tests, NULL, NULL);
    test_kernels_unload(&on);
    return failed;
}
