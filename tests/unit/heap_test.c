/* heap_test.c: blocks of one heap over a backend that keeps books: splitting and merging, slabs, growable
 * segments, alignment, streams that share memory once that is safe, and the end of streams. Each test
 * ends with all memory back at the driver. */
#include "unit/heap_support.h"

static accel_backend fixed;
static accel_backend growable;
static int32_t next_device;

static void open_fixed(heap_fixture *on)
{
    ledger.capacity = 1024 * MIB;
    heap_open(on, fixed, next_device++);
}

static void open_growable(heap_fixture *on)
{
    ledger.capacity = 1024 * MIB;
    heap_open(on, growable, next_device++);
}

/* ---- cutting and merging ---- */

static void test_neighbours_merge(void **state)
{
    (void)state;
    heap_fixture on;
    open_fixed(&on);
    accel__block *blocks[4];
    for (int i = 0; i < 4; i++) {
        blocks[i] = heap_get(on.lane, 4 * MIB);
        assert_int_equal(blocks[i]->size, 4 * MIB);
        assert_int_equal(heap_begin(blocks[i]), heap_begin(blocks[0]) + (size_t)i * 4 * MIB);
    }
    const uintptr_t begin = heap_begin(blocks[0]);
    assert_int_equal(ledger.allocations, 1);
    accel__heap_put(blocks[1]);
    accel__heap_put(blocks[2]);
    heap_check(on.heap);
    accel__block *both = heap_get(on.lane, 8 * MIB);
    assert_int_equal(heap_begin(both), begin + 4 * MIB);
    accel__heap_put(blocks[0]);
    accel__heap_put(both);
    accel__heap_put(blocks[3]);
    heap_check(on.heap);
    accel__heap_summary summary;
    accel__heap_summarize(on.heap, &summary);
    assert_int_equal(summary.segments, 1);
    assert_int_equal(summary.largest, summary.reserved);
    assert_int_equal(summary.free_bytes, summary.reserved);
    heap_close(&on);
}

static void test_small_blocks_lie_in_slabs(void **state)
{
    (void)state;
    heap_fixture on;
    open_fixed(&on);
    accel__block *large = heap_get(on.lane, 10 * MIB);
    const size_t used = ledger.used;
    accel__block *small = heap_get(on.lane, 1);
    assert_int_equal(small->size, 512);
    assert_int_equal(small->segment->kind, ACCEL__BLOCK_SMALL);
    assert_int_equal(small->segment->size, ACCEL__SLAB_SIZE);
    accel__block *other = heap_get(on.lane, 1000);
    assert_int_equal(heap_begin(other), heap_begin(small) + 512);
    accel__block *whole = heap_get(on.lane, MIB);
    assert_int_equal(whole->segment->kind, ACCEL__BLOCK_SMALL);
    assert_ptr_not_equal(whole->segment, small->segment);
    assert_int_equal(ledger.used, used); /* slabs are cut from what is there */
    accel__heap_put(small);
    accel__heap_put(other);
    heap_check(on.heap);
    assert_int_equal(on.heap->kinds[ACCEL__BLOCK_SMALL].reserved,
                     MIB); /* the empty one is no more */
    accel__heap_put(whole);
    assert_int_equal(on.heap->kinds[ACCEL__BLOCK_SMALL].reserved, 0);
    accel__heap_put(large);
    heap_close(&on);
}

static void test_small_programs_start_small(void **state)
{
    (void)state;
    heap_fixture on;
    open_fixed(&on);
    accel__block *small = heap_get(on.lane, 1);
    assert_int_equal(ledger.used, 2 * MIB);
    accel__heap_put(small);
    heap_close(&on);
}

static void check_alignment(heap_fixture *on, size_t size, size_t alignment, bool dedicated)
{
    accel__block *block = NULL;
    OK(accel__heap_take_or_grow(on->lane, size, heap_round(size), alignment, dedicated, &block));
    assert_int_equal(heap_begin(block) % alignment, 0);
    assert_true(block->size >= heap_round(size));
    if (dedicated) {
        assert_null(block->before);
        assert_int_equal(heap_begin(block), block->segment->begin);
        assert_false(block->segment->is_growable);
    }
    heap_check(on->heap);
    accel__heap_put(block);
    heap_check(on->heap);
}

static void test_alignment(void **state)
{
    (void)state;
    heap_fixture on;
    for (int grows = 0; grows < 2; grows++) {
        grows != 0 ? open_growable(&on) : open_fixed(&on);
        accel__block *first = heap_get(on.lane, 512);
        accel__block *large = heap_get(on.lane, 3 * MIB + 512);
        for (size_t alignment = 512; alignment <= 64 * MIB; alignment *= 4) {
            check_alignment(&on, 700, alignment, false);
            check_alignment(&on, 3 * MIB, alignment, false);
            check_alignment(&on, 700, alignment, true);
            check_alignment(&on, 30 * MIB, alignment, true);
        }
        accel__heap_put(first);
        accel__heap_put(large);
        heap_close(&on);
    }
}

/* ---- growing ---- */

static void test_growth_needs_no_more_than_pages(void **state)
{
    (void)state;
    heap_fixture on;
    open_growable(&on);
    accel__block *first = heap_get(on.lane, 5 * MIB);
    assert_int_equal(ledger.used, 6 * MIB);
    accel__block *second = heap_get(on.lane, 5 * MIB);
    assert_int_equal(heap_begin(second), heap_begin(first) + 5 * MIB);
    assert_int_equal(ledger.used, 10 * MIB); /* the rest of the first page was used */
    assert_int_equal(ledger.allocations, 0);
    accel__heap_put(first);
    accel__block *larger = heap_get(on.lane, 7 * MIB); /* 5 are free in front, but closed in */
    assert_int_equal(heap_begin(larger), heap_begin(second) + 5 * MIB);
    heap_check(on.heap);
    accel__heap_put(second);
    accel__heap_put(larger);
    heap_check(on.heap);
    heap_close(&on);
}

static void test_pages_move_where_they_are_needed(void **state)
{
    (void)state;
    heap_fixture on;
    open_growable(&on);
    accel__block *left[4];
    accel__block *right[4];
    for (int i = 0; i < 4; i++) {
        left[i] = heap_get(on.lane, 20 * MIB);
        right[i] = heap_get(on.lane, 20 * MIB);
    }
    assert_int_equal(ledger.used, 160 * MIB);
    for (int i = 0; i < 4; i++)
        accel__heap_put(left[i]);
    accel__block *whole = heap_get(on.lane, 80 * MIB);
    assert_true(ledger.used <= 164 * MIB); /* the budget is 1/64 above the highest use */
    assert_true(ledger.peak <= 164 * MIB);
    heap_check(on.heap);
    accel__heap_put(whole);
    for (int i = 0; i < 4; i++)
        accel__heap_put(right[i]);
    heap_check(on.heap);
    heap_close(&on);
}

static void test_holes_are_filled(void **state)
{
    (void)state;
    heap_fixture on;
    open_growable(&on);
    accel__block *first = heap_get(on.lane, 10 * MIB);
    accel__block *middle = heap_get(on.lane, 10 * MIB);
    accel__block *last = heap_get(on.lane, 10 * MIB);
    const uintptr_t begin = heap_begin(middle);
    accel__heap_put(middle);
    assert_int_equal(accel__heap_release(on.heap, false), 10 * MIB);
    assert_int_equal(ledger.used, 20 * MIB);
    heap_check(on.heap);
    middle = heap_get(on.lane, 10 * MIB);
    assert_int_equal(heap_begin(middle), begin);
    accel__heap_put(first);
    accel__heap_put(middle);
    accel__heap_put(last);
    heap_close(&on);
}

/* ---- streams ---- */

static accel_stream *held_stream(accel_device device)
{
    accel_stream *stream = NULL;
    mock_hold_new_streams(true);
    OK(accel_stream_create(device, NULL, &stream));
    mock_hold_new_streams(false);
    return stream;
}

static void test_idle_streams_lend(void **state)
{
    (void)state;
    for (int grows = 0; grows < 2; grows++) {
        heap_fixture on;
        grows != 0 ? open_growable(&on) : open_fixed(&on);
        accel_stream *other = NULL;
        OK(accel_stream_create(on.device, NULL, &other));
        accel__lane *lane = heap_lane(&on, other);
        accel__block *block = heap_get(lane, 100 * MIB);
        const uintptr_t begin = heap_begin(block);
        accel__heap_put(block);
        const unsigned calls = ledger.calls;
        block = heap_get(on.lane, 100 * MIB);
        assert_int_equal(heap_begin(block), begin);
        assert_int_equal(ledger.calls, calls);
        heap_check(on.heap);
        accel__heap_put(block);
        accel_stream_release(other);
        heap_close(&on);
    }
}

/* B54, and what adoption must not do: memory of a stream that still works is nobody else's, and not the
 * driver's. */
static void test_busy_streams_keep(void **state)
{
    (void)state;
    for (int grows = 0; grows < 2; grows++) {
        heap_fixture on;
        grows != 0 ? open_growable(&on) : open_fixed(&on);
        accel_stream *busy = held_stream(on.device);
        accel__lane *lane = heap_lane(&on, busy);
        accel__block *block = heap_get(lane, 100 * MIB);
        const uintptr_t begin = heap_begin(block);
        heap_hold(busy);
        accel__heap_put(block);
        accel__block *other = heap_get(on.lane, 100 * MIB);
        assert_true(heap_begin(other) >= begin + 100 * MIB || heap_begin(other) < begin);
        assert_int_equal(accel__heap_release(on.heap, false), 0);
        assert_true(ledger.used >= 200 * MIB);
        accel__block *same = heap_get(lane, 100 * MIB); /* its own stream may at once */
        assert_int_equal(heap_begin(same), begin);
        accel__heap_put(same);
        heap_check(on.heap);
        mock_release_all();
        accel__heap_put(other);
        accel_stream_release(busy);
        heap_close(&on);
    }
}

/* A stream that is never found idle lends what it passed: an event behind that says so. */
static void test_events_lend(void **state)
{
    (void)state;
    heap_fixture on;
    open_fixed(&on);
    accel_stream *busy = NULL;
    OK(accel_stream_create(on.device, NULL, &busy));
    accel__lane *lane = heap_lane(&on, busy);
    accel__block *block = heap_get(lane, 100 * MIB);
    const uintptr_t begin = heap_begin(block);
    accel_stream *first = held_stream(on.device);
    heap_hold(first);
    OK(accel_stream_wait_stream(busy, first));
    accel__heap_put(block);
    accel__block *other = heap_get(on.lane, 100 * MIB); /* asks, and leaves an event */
    assert_int_not_equal(heap_begin(other), begin);
    mock_release_all();
    accel_stream *second = held_stream(on.device);
    heap_hold(second);
    OK(accel_stream_wait_stream(busy, second)); /* busy again, with other work */
    block = heap_get(on.lane, 100 * MIB);
    assert_int_equal(heap_begin(block), begin);
    heap_check(on.heap);
    mock_release_all();
    accel__heap_put(block);
    accel__heap_put(other);
    accel_stream_release(first);
    accel_stream_release(second);
    accel_stream_release(busy);
    heap_close(&on);
}

static void test_blocks_of_several_streams_merge(void **state)
{
    (void)state;
    heap_fixture on;
    open_fixed(&on);
    accel_stream *other = NULL;
    OK(accel_stream_create(on.device, NULL, &other));
    accel__lane *lane = heap_lane(&on, other);
    accel__block *first = heap_get(on.lane, 4 * MIB); /* a segment of 24 MiB */
    accel__block *rest = heap_get(on.lane, 20 * MIB);
    const uintptr_t begin = heap_begin(first);
    accel__heap_put(rest);
    rest = heap_get(lane, 20 * MIB);
    assert_int_equal(heap_begin(rest), begin + 4 * MIB);
    accel__heap_put(first);
    accel__heap_put(rest);
    const unsigned calls = ledger.calls;
    accel__block *whole = heap_get(on.lane, 24 * MIB);
    assert_int_equal(heap_begin(whole), begin);
    assert_int_equal(ledger.calls, calls);
    heap_check(on.heap);
    accel__heap_put(whole);
    accel_stream_release(other);
    heap_close(&on);
}

static void test_ended_streams_leave_their_memory(void **state)
{
    (void)state;
    heap_fixture on;
    open_fixed(&on);
    const unsigned destroyed = mock.calls[MOCK_STREAM_DESTROY];
    for (unsigned i = 0; i < 50; i++) {
        accel_stream *stream = NULL;
        OK(accel_stream_create(on.device, NULL, &stream));
        accel__lane *lane = heap_lane(&on, stream);
        accel__block *block = heap_get(lane, 10 * MIB);
        accel__block *small = heap_get(lane, 100);
        if (i % 2 == 0)
            accel_stream_release(stream); /* before its memory */
        accel__heap_put(block);
        accel__heap_put(small);
        if (i % 2 != 0)
            accel_stream_release(stream);
        heap_check(on.heap);
    }
    assert_true(mock.calls[MOCK_STREAM_DESTROY] - destroyed >= 49);
    unsigned lanes = 0;
    for (const accel__lane *lane = on.heap->lanes; lane != NULL; lane = lane->next)
        lanes++;
    assert_true(lanes <= 4);
    assert_int_equal(ledger.allocations, 1);
    heap_close(&on);
}

static int set_up(void **state)
{
    (void)state;
    fixed = heap_backend(false);
    growable = heap_backend(true);
    return 0;
}

/* ---- addresses that the system refuses ---- */

static void test_fixed_segments_where_addresses_are_refused(void **state)
{
    (void)state;
    heap_fixture on;
    open_growable(&on);
    ledger.no_addresses = true;
    accel__block *block = heap_get(on.lane, 5 * MIB);
    assert_false(block->segment->is_growable);
    assert_int_equal(ledger.allocations, 1);
    ledger.no_addresses = false;
    accel__heap_put(block);
    heap_check(on.heap);
    heap_close(&on);
}

/* ---- structures of blocks ---- */

static accel__heap *emptied;

/* What other threads may do while one is at the driver: they use up all structures that were in store. */
static void use_up_store(void)
{
    accel__spin_lock(&emptied->spin);
    emptied->blocks = (accel__block_store){0};
    accel__spin_unlock(&emptied->spin);
}

static void test_store_used_up_at_the_driver(void **state)
{
    (void)state;
    heap_fixture on;
    open_growable(&on);
    emptied = on.heap;
    ledger.on_given = use_up_store;
    accel__block *small = heap_get(on.lane, 3000);
    accel__block *large = heap_get(on.lane, 5 * MIB + 512);
    accel__block *aligned = NULL;
    OK(accel__heap_take_or_grow(on.lane, 2 * MIB, 2 * MIB, 4 * MIB, false, &aligned));
    ledger.on_given = (void (*)(void))NULL;
    heap_check(on.heap);
    accel__heap_put(small);
    accel__heap_put(large);
    accel__heap_put(aligned);
    heap_check(on.heap);
    heap_close(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed_segments_where_addresses_are_refused),
        cmocka_unit_test(test_store_used_up_at_the_driver),
        cmocka_unit_test(test_neighbours_merge),
        cmocka_unit_test(test_small_blocks_lie_in_slabs),
        cmocka_unit_test(test_small_programs_start_small),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_growth_needs_no_more_than_pages),
        cmocka_unit_test(test_pages_move_where_they_are_needed),
        cmocka_unit_test(test_holes_are_filled),
        cmocka_unit_test(test_idle_streams_lend),
        cmocka_unit_test(test_busy_streams_keep),
        cmocka_unit_test(test_events_lend),
        cmocka_unit_test(test_blocks_of_several_streams_merge),
        cmocka_unit_test(test_ended_streams_leave_their_memory),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
