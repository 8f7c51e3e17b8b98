/* host_test.c: the allocator of pinned memory (memory/host/host.c): sizes, reuse, what waits for streams and
 * graphs, limits, want of memory, figures. */
#include "unit/host_support.h"

#include "core/capture.h"
#include "memory/host/host_cache.h"
#include "unit/fault_sweep.h"

enum { KIB = 1024, MIB = 1024 * 1024 };

static accel_device device;
static accel_stream *stream;

static void expect_nothing_left(void)
{
    OK(accel_empty_host_cache());
    const accel_host_memory_statistics figures = pinned_figures(device);
    assert_int_equal(figures.allocations.current, 0);
    assert_int_equal(figures.allocated_bytes.current, 0);
    assert_int_equal(figures.active_requests.current, 0);
    assert_int_equal(figures.active_bytes.current, 0);
    assert_int_equal(figures.requested_bytes.current, 0);
    assert_int_equal(figures.segments.current, 0);
    assert_int_equal(figures.reserved_bytes.current, 0);
    assert_int_equal(pinned_bytes, 0);
    assert_int_equal(figures.num_host_alloc, figures.num_host_free);
}

/* ---- sizes ---- */

/* B60: the overhead of a large block is bounded, and each figure is of its own. */
static void test_large_blocks_are_not_doubled(void **state)
{
    (void)state;
    static const size_t sizes[] = {MIB + 1, 10 * MIB, 33 * MIB + 5, (size_t)64 * MIB + 1};
    size_t asked = 0;
    void *pointers[4];
    for (size_t i = 0; i < 4; i++) {
        pointers[i] = pinned_take(stream, sizes[i]);
        asked += sizes[i];
        const accel_host_memory_statistics figures = pinned_figures(device);
        assert_int_equal(figures.requested_bytes.current, asked);
        assert_true((size_t)figures.active_bytes.current - asked < (i + 1) * 4096);
        assert_int_equal(figures.allocated_bytes.current, figures.active_bytes.current);
        assert_int_equal(figures.reserved_bytes.current, figures.active_bytes.current);
        assert_int_equal(pinned_bytes, figures.reserved_bytes.current);
    }
    for (size_t i = 0; i < 4; i++)
        EXPECT(pinned_give(pointers[i]), ACCEL_OK);
    for (size_t i = 0; i < 100; i++)
        EXPECT(pinned_give(pinned_take(stream, MIB + i * 77777)), ACCEL_OK);
    expect_nothing_left();
}

static void test_too_much(void **state)
{
    (void)state;
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 47, ((size_t)1 << 46) + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *pointer = &pointer;
        FAILS(accel__host_alloc(stream, sizes[i], ACCEL_MEMORY_ALIGNMENT, "f", &pointer),
              ACCEL_ERROR_OUT_OF_HOST_MEMORY, "f");
        assert_null(pointer);
    }
    expect_nothing_left();
}

/* ---- reuse ---- */

static void test_reuse(void **state)
{
    (void)state;
    void *first = pinned_take(stream, 5000);
    EXPECT(pinned_give(first), ACCEL_OK);
    EXPECT(pinned_give(first), ACCEL_ERROR_INVALID_ARGUMENT);
    assert_ptr_equal(pinned_take(stream, 4609), first); /* of the same class */
    void *other = pinned_take(stream, 4608);
    assert_ptr_not_equal(other, first);
    EXPECT(pinned_give(first), ACCEL_OK);
    EXPECT(pinned_give(other), ACCEL_OK);
    /* Larger ones serve what needs at least eight ninths of them. */
    void *large = pinned_take(stream, 9 * MIB);
    EXPECT(pinned_give(large), ACCEL_OK);
    void *smaller = pinned_take(stream, 8 * MIB);
    assert_ptr_equal(smaller, large);
    EXPECT(pinned_give(smaller), ACCEL_OK);
    smaller = pinned_take(stream, 8 * MIB - 4096);
    assert_ptr_not_equal(smaller, large);
    void *larger = pinned_take(stream, 9 * MIB + 1);
    assert_ptr_not_equal(larger, large);
    EXPECT(pinned_give(smaller), ACCEL_OK);
    EXPECT(pinned_give(larger), ACCEL_OK);
    expect_nothing_left();
}

static void test_small_blocks_share_a_segment(void **state)
{
    (void)state;
    enum { COUNT = 128 };
    unsigned char *pointers[COUNT];
    const unsigned before = pinned_calls;
    for (int i = 0; i < COUNT; i++) {
        pointers[i] = pinned_take(stream, 100);
        memset(pointers[i], i, 512);
    }
    assert_int_equal(pinned_calls - before, 1);
    assert_int_equal(pinned_figures(device).segments.current, 1);
    assert_int_equal(pinned_figures(device).allocations.current, COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(pointers[i][0], i);
        assert_int_equal(pointers[i][511], i);
        if (i != 77)
            EXPECT(pinned_give(pointers[i]), ACCEL_OK);
    }
    OK(accel_empty_host_cache()); /* one block of it is in use */
    assert_int_equal(pinned_figures(device).segments.current, 1);
    EXPECT(pinned_give(pointers[77]), ACCEL_OK);
    expect_nothing_left();
}

static void test_alignment(void **state)
{
    (void)state;
    for (size_t alignment = 1024; alignment <= 2 * MIB; alignment *= 2)
        for (size_t size = 1; size < 100000; size = size * 7 + 1) {
            void *pointer = NULL;
            OK(accel__host_alloc(stream, size, alignment, "f", &pointer));
            assert_int_equal((uintptr_t)pointer % alignment, 0);
            memset(pointer, 1, size);
            EXPECT(pinned_give(pointer), ACCEL_OK);
        }
    expect_nothing_left();
}

static void test_information(void **state)
{
    (void)state;
    unsigned char *pointer = pinned_take(stream, 1000);
    accel_pointer_information about = {.struct_size = sizeof about};
    OK(accel_pointer_info(pointer + 999, &about));
    assert_int_equal(about.kind, ACCEL_MEMORY_KIND_PINNED);
    assert_ptr_equal(about.base, pointer);
    assert_int_equal(about.size, 1000);
    assert_int_equal(about.offset, 999);
    assert_ptr_equal(about.home_stream, stream);
    assert_true(about.host_readable);
    OK(accel_pointer_info(pointer + 1000, &about));
    assert_int_equal(about.kind, ACCEL_MEMORY_KIND_UNKNOWN);
    EXPECT(pinned_give(pointer), ACCEL_OK);
    OK(accel_pointer_info(pointer, &about));
    assert_int_equal(about.kind, ACCEL_MEMORY_KIND_UNKNOWN);
    expect_nothing_left();
}

/* ---- streams ---- */

static void test_waits_for_the_home_stream(void **state)
{
    (void)state;
    accel_stream *held = pinned_stream(device, true);
    void *pointer = pinned_take(held, 5000);
    pinned_work(held);
    EXPECT(pinned_give(pointer), ACCEL_OK);
    EXPECT(pinned_give(pointer), ACCEL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(pinned_figures(device).active_requests.current, 1);
    assert_int_equal(pinned_figures(device).requested_bytes.current, 5000);
    void *other = pinned_take(stream, 5000);
    assert_ptr_not_equal(other, pointer);
    OK(accel_empty_host_cache()); /* does not wait */
    assert_int_equal(pinned_figures(device).active_requests.current, 2);
    mock_release_all();
    accel__host_collect();
    assert_int_equal(pinned_figures(device).active_requests.current, 1);
    EXPECT(pinned_give(other), ACCEL_OK);
    accel_stream_release(held);
    expect_nothing_left();
}

static void test_waits_for_recorded_streams(void **state)
{
    (void)state;
    accel_stream *held = pinned_stream(ACCEL_DEVICE(device.backend, 1), true);
    void *pointer = pinned_take(stream, 5000);
    accel__range *range = accel__pointers_at(pointer);
    pinned_work(held);
    for (int i = 0; i < 3; i++) { /* the same one again changes nothing */
        OK(accel__host_record(range, held, "accel_record_stream"));
        OK(accel__host_record(range, stream, "accel_record_stream"));
    }
    EXPECT(pinned_give(pointer), ACCEL_OK);
    EXPECT(accel__host_record(range, held, "accel_record_stream"), ACCEL_ERROR_INVALID_ARGUMENT);
    void *other = pinned_take(stream, 5000);
    assert_ptr_not_equal(other, pointer);
    EXPECT(pinned_give(other), ACCEL_OK);
    accel_stream_release(held); /* before it is passed */
    mock_release_all();
    expect_nothing_left();
}

/* A miss looks for what has passed before it asks the driver. */
static void test_a_miss_collects(void **state)
{
    (void)state;
    accel_stream *held = pinned_stream(device, true);
    void *pointer = pinned_take(held, 70000);
    pinned_work(held);
    EXPECT(pinned_give(pointer), ACCEL_OK);
    mock_release_all();
    const unsigned before = pinned_calls;
    assert_ptr_equal(pinned_take(stream, 70000), pointer);
    assert_int_equal(pinned_calls, before);
    EXPECT(pinned_give(pointer), ACCEL_OK);
    accel_stream_release(held);
    expect_nothing_left();
}

/* ---- graphs ---- */

static accel__capture_part *attached;

static accel_status attach(accel__capture *capture, accel__capture_part *part)
{
    (void)capture;
    attached = part;
    return ACCEL_OK;
}

static accel_status refuse_attach(accel__capture *capture, accel__capture_part *part)
{
    (void)capture, (void)part;
    return accel__fail(ACCEL_ERROR_CAPTURE, "mock", "accel_memory_alloc", "it is over");
}

static void no_destroy(accel__capture *capture)
{
    (void)capture;
}

static struct accel_memory_pool *no_pool(accel__capture *capture)
{
    (void)capture;
    return NULL;
}

/* What `body` allocates is allocated in a capture. */
static void in_capture(accel_status (*attach_part)(accel__capture *, accel__capture_part *),
                       void (*body)(accel_stream *captured))
{
    const accel__capture_ops ops = {
        .attach = attach_part, .hold_pool = no_pool, .destroy = no_destroy};
    accel__capture capture = {.ops = &ops};
    accel_stream *captured = pinned_stream(device, false);
    accel__device *found = NULL;
    OK(accel__device_resolve(device, "f", &found));
    capture.device = found;
    capture.thread = accel__thread_number();
    OK(accel__capture_open(&capture, captured, "f"));
    body(captured);
    accel__capture_leave(&capture, captured);
    accel__capture_close(&capture);
    accel_stream_release(captured);
}

static void *captured_memory;

static void take_captured(accel_stream *captured)
{
    captured_memory = pinned_take(captured, 3000);
    assert_non_null(attached);
}

static void test_memory_of_a_graph_stays(void **state)
{
    (void)state;
    for (int program_first = 0; program_first < 2; program_first++) {
        attached = NULL;
        in_capture(attach, take_captured);
        assert_null(attached->prologue); /* a replay has nothing to queue for it */
        if (program_first == 0)
            attached->release(attached);
        EXPECT(pinned_give(captured_memory), ACCEL_OK);
        if (program_first == 1) {
            void *other = pinned_take(stream, 3000);
            assert_ptr_not_equal(other, captured_memory);
            EXPECT(pinned_give(other), ACCEL_OK);
            OK(accel_empty_host_cache());
            assert_int_equal(pinned_figures(device).active_requests.current, 1);
            attached->release(attached);
        }
        expect_nothing_left();
    }
}

static void take_in_vain(accel_stream *captured)
{
    void *pointer = &pointer;
    FAILS(accel__host_alloc(captured, 3000, 512, "accel_memory_alloc", &pointer),
          ACCEL_ERROR_CAPTURE, "accel_memory_alloc");
    assert_null(pointer);
}

static void test_a_graph_that_takes_no_more(void **state)
{
    (void)state;
    in_capture(refuse_attach, take_in_vain);
    expect_nothing_left();
}

/* ---- settings ---- */

static void test_the_limit(void **state)
{
    (void)state;
    enum { COUNT = 8 };
    void *pointers[COUNT];
    OK(accel_allocator_set_config("pinned_cache_limit_mb:10"));
    for (int i = 0; i < COUNT; i++)
        pointers[i] = pinned_take(stream, 3 * MIB);
    for (int i = 0; i < COUNT; i++)
        EXPECT(pinned_give(pointers[i]), ACCEL_OK);
    assert_int_equal(pinned_bytes, 9 * MIB);
    /* The oldest went. */
    assert_ptr_equal(pinned_take(stream, 3 * MIB), pointers[7]);
    EXPECT(pinned_give(pointers[7]), ACCEL_OK);
    OK(accel_allocator_set_config("pinned_cache_limit_mb:0"));
    EXPECT(pinned_give(pinned_take(stream, 100)), ACCEL_OK);
    assert_int_equal(pinned_bytes, 0);
    OK(accel_allocator_set_config(""));
    expect_nothing_left();
}

static void test_without_caching(void **state)
{
    (void)state;
    OK(accel_allocator_set_config("caching:False"));
    const unsigned before = pinned_calls;
    void *first = pinned_take(stream, 100);
    void *second = pinned_take(stream, 100);
    assert_int_equal(pinned_calls - before, 2);
    assert_int_equal(pinned_bytes, 1024);
    EXPECT(pinned_give(first), ACCEL_OK);
    assert_int_equal(pinned_bytes, 512);
    OK(accel_allocator_set_config(""));
    EXPECT(pinned_give(second), ACCEL_OK);
    expect_nothing_left();
}

static void test_poison(void **state)
{
    (void)state;
    OK(accel_allocator_set_config("poison:True"));
    unsigned char *pointer = pinned_take(stream, 5000);
    memset(pointer, 1, 5000);
    EXPECT(pinned_give(pointer), ACCEL_OK);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(pointer[i], 0xdd);
    OK(accel_allocator_set_config(""));
    expect_nothing_left();
}

/* ---- want of memory ---- */

static void test_idle_memory_goes_first(void **state)
{
    (void)state;
    EXPECT(pinned_give(pinned_take(stream, 3 * MIB)), ACCEL_OK);
    pinned_most = 4 * MIB;
    void *pointer = pinned_take(stream, 4 * MIB);
    assert_int_equal(pinned_bytes, 4 * MIB);
    EXPECT(pinned_give(pointer), ACCEL_OK);
    pinned_most = 0;
    expect_nothing_left();
}

static void test_failure_changes_nothing(void **state)
{
    (void)state;
    void *pointer = pinned_take(stream, 2 * MIB);
    const accel_host_memory_statistics before = pinned_figures(device);
    pinned_most = 3 * MIB;
    void *none = &none;
    FAILS(accel__host_alloc(stream, 2 * MIB, 512, "accel_memory_alloc", &none),
          ACCEL_ERROR_OUT_OF_HOST_MEMORY, "accel_memory_alloc");
    assert_null(none);
    const accel_host_memory_statistics after = pinned_figures(device);
    assert_memory_equal(&before, &after, sizeof before);
    pinned_most = 0;
    EXPECT(pinned_give(pointer), ACCEL_OK);
    expect_nothing_left();
}

static void test_faults(void **state)
{
    (void)state;
    bool happened = true;
    for (unsigned n = 1; happened; n++) {
        void *pointers[3] = {0};
        fault_begin(n);
        const accel_status status[3] = {
            accel__host_alloc(stream, 100, 512, "f", &pointers[0]),
            accel__host_alloc(stream, 2 * MIB, 512, "f", &pointers[1]),
            accel__host_alloc(stream, 9999, 4096, "f", &pointers[2]),
        };
        for (int i = 0; i < 3; i++)
            if (pointers[i] != NULL)
                (void)accel__host_record(accel__pointers_at(pointers[i]), stream, "f");
        happened = fault_end();
        for (int i = 0; i < 3; i++) {
            assert_int_equal(status[i] == ACCEL_OK, pointers[i] != NULL);
            if (pointers[i] != NULL)
                EXPECT(pinned_give(pointers[i]), ACCEL_OK);
            else
                assert_int_equal(status[i], ACCEL_ERROR_OUT_OF_HOST_MEMORY);
        }
        expect_nothing_left();
    }
}

/* ---- the look at the whole ---- */

/* Each kind of damage is seen. (Without the lock: in the invariants preset that would look by itself.) */
static void test_is_valid(void **state)
{
    (void)state;
    accel__device *found = NULL;
    void *pointer = pinned_take(stream, 5000);
    EXPECT(pinned_give(pointer), ACCEL_OK);
    EXPECT(pinned_give(pinned_take(stream, 2 * MIB)), ACCEL_OK);
    OK(accel__device_resolve(device, "f", &found));
    accel__host_cache *cache = accel__host_cache_peek(found);
    accel__host_block *block = (accel__host_block *)accel__pointers_at(pointer);
    assert_true(accel__host_cache_is_valid(cache));
    cache->cached_bytes++;
    assert_false(accel__host_cache_is_valid(cache));
    cache->cached_bytes--;
    block->size += 512;
    assert_false(accel__host_cache_is_valid(cache));
    block->size -= 512;
    block->segment->busy++;
    assert_false(accel__host_cache_is_valid(cache));
    block->segment->busy--;
    accel__range_set_state(&block->range, ACCEL__RANGE_LIVE);
    assert_false(accel__host_cache_is_valid(cache));
    accel__range_set_state(&block->range, ACCEL__RANGE_FREE);
    cache->figures.active_requests.current++;
    cache->figures.active_bytes.current += 512;
    assert_false(accel__host_cache_is_valid(cache));
    cache->figures.active_requests.current--;
    cache->figures.active_bytes.current -= 512;
    cache->idle_first->idle_before = cache->idle_last;
    assert_false(accel__host_cache_is_valid(cache));
    cache->idle_first->idle_before = NULL;
    assert_true(accel__host_cache_is_valid(cache));
    expect_nothing_left();
}

/* ---- figures ---- */

typedef struct keys {
    char last[64];
    size_t count;
    size_t stop_at;
} keys;

static bool next_key(const char *key, int64_t value, void *user)
{
    keys *seen = user;
    assert_true(strcmp(seen->last, key) < 0);
    assert_true(value >= 0);
    snprintf(seen->last, sizeof seen->last, "%s", key);
    return ++seen->count != seen->stop_at;
}

static void test_keys(void **state)
{
    (void)state;
    keys seen = {0};
    OK(accel_host_memory_stats_visit(device, next_key, &seen));
    assert_int_equal(seen.count, 7 * 4 + 2 * 5 + 2);
    keys some = {.stop_at = 3};
    OK(accel_host_memory_stats_visit(device, next_key, &some));
    assert_int_equal(some.count, 3);
    FAILS(accel_host_memory_stats_visit(device, NULL, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_host_memory_stats_visit");
}

/* A peak reset leaves what is resident, a reset of sums leaves current and peak. */
static void test_resets(void **state)
{
    (void)state;
    void *kept = pinned_take(stream, 4 * MIB);
    OK(accel_reset_accumulated_host_memory_stats(device));
    OK(accel_reset_peak_host_memory_stats(device));
    EXPECT(pinned_give(pinned_take(stream, MIB)), ACCEL_OK);
    accel_host_memory_statistics figures = pinned_figures(device);
    assert_int_equal(figures.active_bytes.current, 4 * MIB);
    assert_int_equal(figures.active_bytes.peak, 5 * MIB);
    assert_int_equal(figures.active_bytes.allocated, MIB);
    assert_int_equal(figures.active_bytes.freed, MIB);
    assert_int_equal(figures.num_host_alloc, 1);
    assert_int_equal(figures.host_alloc_time.count, 1);
    assert_true(figures.host_alloc_time.min_ns <= figures.host_alloc_time.max_ns);
    OK(accel_reset_peak_host_memory_stats(device));
    OK(accel_reset_accumulated_host_memory_stats(device));
    figures = pinned_figures(device);
    assert_int_equal(figures.active_bytes.current, 4 * MIB);
    assert_int_equal(figures.active_bytes.peak, 4 * MIB);
    assert_int_equal(figures.active_bytes.allocated, 0);
    assert_int_equal(figures.host_alloc_time.total_ns, 0);
    EXPECT(pinned_give(kept), ACCEL_OK);
    OK(accel_empty_host_cache());
    OK(accel_reset_accumulated_host_memory_stats(device));
    expect_nothing_left();
}

static void test_questions_before_the_first_use(void **state)
{
    (void)state;
    const accel_device other = ACCEL_DEVICE(device.backend, 1);
    const unsigned opened = mock.opened[1];
    keys seen = {0};
    OK(accel_empty_host_cache());
    OK(accel_reset_accumulated_host_memory_stats(other));
    OK(accel_reset_peak_host_memory_stats(other));
    OK(accel_host_memory_stats_visit(other, next_key, &seen));
    const accel_host_memory_statistics figures = pinned_figures(other);
    const accel_host_memory_statistics zero = {.struct_size = sizeof zero};
    assert_memory_equal(&figures, &zero, sizeof zero);
    assert_int_equal(mock.opened[1], opened);
    accel_host_memory_statistics wrong = {.struct_size = sizeof wrong};
    FAILS(accel_host_memory_stats(ACCEL_DEVICE(device.backend, 2), &wrong),
          ACCEL_ERROR_OUT_OF_RANGE, "accel_host_memory_stats");
}

static int open_stream(void **state)
{
    (void)state;
    stream = pinned_stream(device, false);
    return 0;
}

static int close_stream(void **state)
{
    (void)state;
    accel_stream_release(stream);
    return 0;
}

int main(void)
{
    device = pinned_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_questions_before_the_first_use),
        cmocka_unit_test(test_large_blocks_are_not_doubled),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_small_blocks_share_a_segment),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_information),
        cmocka_unit_test(test_waits_for_the_home_stream),
        cmocka_unit_test(test_waits_for_recorded_streams),
        cmocka_unit_test(test_a_miss_collects),
        cmocka_unit_test(test_memory_of_a_graph_stays),
        cmocka_unit_test(test_a_graph_that_takes_no_more),
        cmocka_unit_test(test_the_limit),
        cmocka_unit_test(test_without_caching),
        cmocka_unit_test(test_poison),
        cmocka_unit_test(test_idle_memory_goes_first),
        cmocka_unit_test(test_failure_changes_nothing),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_is_valid),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_resets),
    };
    return cmocka_run_group_tests(tests, open_stream, close_stream);
}
