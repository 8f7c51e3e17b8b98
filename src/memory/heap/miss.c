/* miss.c: an allocation that no magazine could serve: the whole way from the bins to new memory, and what
 * is tried when there is none. No lock is held between the steps, so each looks again at what it finds. */
#include "base/error.h"
#include "core/device.h"
#include "memory/heap/heap_parts.h"
#include "memory/heap/neighbours.h"
#include "memory/heap/policy.h"
#include "memory/pool.h"
#include "memory/shortage/pressure.h"
#include "memory/shortage/report.h"
#include "memory/statistics/statistics.h"

typedef struct miss {
    accel__lane *lane;
    accel__heap *heap;
    size_t asked;
    size_t rounded;
    size_t alignment;
    bool dedicated;
    bool is_slab;       /* what is missing is a slab for small blocks */
    bool limit_forbade; /* the last time that memory was asked for */
    size_t wanted;      /* bytes that were asked for last */
    accel__block *block;
} miss;

/* ---- what is there ---- */

static inline accel__block *search_bins(accel__lane *lane, size_t rounded, size_t alignment,
                                        bool dedicated, bool opens)
{
    accel__heap *heap = lane->heap;
    accel__heap_lock(heap);
    accel__block *block = accel__heap_search(lane, rounded, alignment, dedicated, opens);
    accel__heap_tell_splits(heap);
    accel__heap_unlock(heap);
    return block;
}

static bool search(miss *now)
{
    now->block = search_bins(now->lane, now->rounded, now->alignment, now->dedicated, true);
    return now->block != NULL;
}

static bool adopt(miss *now)
{
    accel__lanes_refresh(now->heap, NULL);
    accel__heap_lock(now->heap);
    now->block = accel__lanes_adopt(now->lane, now->rounded, now->alignment, now->dedicated);
    accel__heap_tell_splits(now->heap);
    accel__heap_unlock(now->heap);
    return now->block != NULL;
}

/* What waits for streams, other threads' magazines, other lanes. */
static bool gather(miss *now)
{
    if (accel__neighbours_collect(now->heap->device) && search(now))
        return true;
    if (accel__neighbours_flush(now->heap->device) && search(now))
        return true;
    accel__lanes_sweep(now->heap);
    return search(now) || adopt(now);
}

/* ---- new memory ---- */

/* The new block, counted as busy, becomes what was asked for. False: no host memory. */
static bool shape(miss *now, accel__block *block, size_t need, size_t alignment)
{
    accel__heap *heap = now->heap;
    accel__heap_lock(heap);
    if (!block->segment->is_growable) { /* else it is cut to size already */
        accel__heap_count_idle(block);
        block = accel__block_reserve(&heap->blocks, 4)
                    ? accel__heap_shape(now->lane, block, need, alignment)
                    : (accel__heap_settle(block), NULL);
    }
    if (block != NULL && now->is_slab)
        block = accel__slab_take(block, now->rounded, now->alignment);
    accel__heap_tell_splits(heap);
    accel__heap_unlock(heap);
    now->block = block;
    return block != NULL;
}

static accel_status make_fixed(miss *now, size_t size, size_t alignment, bool is_uncached,
                               accel__block **out_block)
{
    accel__device *device = now->heap->device;
    now->wanted = size;
    now->limit_forbade = !accel__limit_take(device, size);
    if (now->limit_forbade)
        return ACCEL_ERROR_OUT_OF_MEMORY;
    const accel_status status = accel__segment_make(now->lane, size, alignment, is_uncached,
                                                    out_block);
    accel__limit_settle(device, size, status == ACCEL_OK);
    return status;
}

/* The size that the policy wants; before more is reserved than the use justifies, free segments go. */
static size_t plan_fixed(miss *now, size_t need)
{
    accel__heap *heap = now->heap;
    accel__heap_lock(heap);
    const size_t size = accel__policy_segment(heap, need, now->is_slab);
    const size_t after = accel__heap_reserved(heap) + size;
    const size_t budget = accel__policy_fixed_budget(heap);
    accel__heap_unlock(heap);
    if (after > budget)
        (void)accel__segments_release(heap, after - budget);
    return size;
}

/* A chunk, else whole pages, else the bare need. */
static accel_status obtain_fixed(miss *now, size_t need, size_t alignment, bool bare,
                                 accel__block **out_block)
{
    const size_t pages = accel__policy_segment_bare(need);
    const size_t chunk = bare ? pages : plan_fixed(now, need);
    accel_status status = make_fixed(now, chunk, alignment, false, out_block);
    if (status == ACCEL_ERROR_OUT_OF_MEMORY && pages < chunk)
        status = make_fixed(now, pages, alignment, false, out_block);
    if (status == ACCEL_ERROR_OUT_OF_MEMORY && need < pages)
        status = make_fixed(now, need, alignment, false, out_block);
    return status;
}

static accel_status obtain_grown(miss *now, size_t need, size_t alignment, bool bare,
                                 accel__block **out_block)
{
    now->wanted = need;
    accel_status status = accel__grow(now->lane, need, alignment, bare, &now->limit_forbade,
                                      out_block);
    if (status == ACCEL_ERROR_OUT_OF_MEMORY && !bare)
        status = accel__grow(now->lane, need, alignment, true, &now->limit_forbade, out_block);
    return status;
}

/* What a graph's replays use is kept whatever the settings say. */
static bool is_cached(const accel__heap *heap)
{
    return accel__config_get()->caching || !accel__pool_may_release(heap->options.pool);
}

static accel_status obtain(miss *now, bool bare)
{
    const accel__config *config = accel__config_get();
    const size_t need = now->is_slab ? ACCEL__SLAB_SIZE : now->rounded;
    const size_t alignment = now->is_slab ? ACCEL__BLOCK_UNIT : now->alignment;
    accel__block *block = NULL;
    accel_status status = ACCEL_ERROR_UNSUPPORTED;
    if (!is_cached(now->heap))
        status = make_fixed(now, need, alignment, true, &block);
    else if (!now->dedicated && accel__heap_grows(now->heap, config))
        status = obtain_grown(now, need, alignment, bare, &block);
    if (status == ACCEL_ERROR_UNSUPPORTED)
        status = obtain_fixed(now, need, alignment, bare, &block);
    if (status != ACCEL_OK || shape(now, block, need, alignment))
        return status;
    return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, now->heap->device->backend->table.name,
                       "accel_memory_alloc", "no host memory to keep account of an allocation");
}

/* ---- when there is none ---- */

/* Gives cached memory back: where a limit is in the way, as much as it takes. Of the heap first, then of
 * the others of the device. */
static bool give_back(miss *now, bool wait)
{
    accel__device *device = now->heap->device;
    size_t bytes = 0;
    for (accel__heap *heap = accel__heap_first(device); heap != NULL;
         heap = accel__heap_next(heap)) {
        const size_t excess = now->limit_forbade ? accel__limit_excess(device, now->wanted)
                                                 : SIZE_MAX;
        if (now->limit_forbade && !wait) {
            accel__lanes_refresh(heap, NULL);
            const size_t released = accel__segments_release(heap, excess);
            bytes += released;
            if (released < excess)
                bytes += accel__shrink(heap, excess - released);
        } else {
            bytes += accel__heap_release(heap, wait);
        }
    }
    accel__pool_settle(device); /* a pool may have been released while its memory left */
    return bytes != 0;
}

static accel_status retry(miss *now)
{
    if (search(now))
        return ACCEL_OK;
    return obtain(now, true);
}

static bool lends(accel__heap *heap)
{
    accel__heap_lock(heap);
    const bool does = heap->options.use_on_oom && accel__pool_may_release(heap->options.pool);
    accel__heap_unlock(heap);
    return does;
}

/* Free memory of pools that allow it. */
static bool borrow(miss *now)
{
    accel__heap *heap = accel__heap_first(now->heap->device);
    for (; heap != NULL && now->block == NULL; heap = accel__heap_next(heap)) {
        accel__lane *lane = NULL;
        if (heap == now->heap || now->dedicated || !lends(heap))
            continue;
        if (accel__lane_of(heap, now->lane->stream, &lane) != ACCEL_OK)
            continue;
        miss there = *now;
        there.lane = lane;
        there.heap = heap;
        there.block = NULL;
        if (search(&there) || adopt(&there))
            now->block = there.block;
    }
    return now->block != NULL;
}

/* Everything that may help, the cheapest first. */
static accel_status relieve(miss *now)
{
    accel__device *device = now->heap->device;
    accel_status status = ACCEL_ERROR_OUT_OF_MEMORY;
    if (give_back(now, false))
        status = retry(now);
    if (status == ACCEL_ERROR_OUT_OF_MEMORY && accel__pressure_call(device, now->wanted))
        status = gather(now) ? ACCEL_OK : (give_back(now, false), retry(now));
    if (status != ACCEL_ERROR_OUT_OF_MEMORY)
        return status;
    accel__statistics_count(device, ACCEL__COUNTER_SYNC_ALL_STREAMS);
    accel__neighbours_wait(device);
    if (gather(now))
        return ACCEL_OK;
    (void)give_back(now, true);
    accel__statistics_count(device, ACCEL__COUNTER_ALLOC_RETRIES);
    status = retry(now);
    return status == ACCEL_ERROR_OUT_OF_MEMORY && borrow(now) ? ACCEL_OK : status;
}

/* ---- the whole ---- */

static accel_status make_good(miss *now)
{
    if (is_cached(now->heap) && gather(now))
        return ACCEL_OK;
    accel__heap_collect_garbage(now->heap);
    const accel_status status = obtain(now, false);
    return status == ACCEL_ERROR_OUT_OF_MEMORY ? relieve(now) : status;
}

/* The bins had none, or are not to be looked at. */
__attribute__((noinline)) static accel_status grow(accel__lane *lane, size_t asked, size_t rounded,
                                                   size_t alignment, bool dedicated,
                                                   accel__block **out_block)
{
    miss now = {.lane = lane,
                .heap = lane->heap,
                .asked = asked,
                .rounded = rounded,
                .alignment = alignment,
                .dedicated = dedicated};
    now.is_slab = is_cached(now.heap) && accel__heap_kind_of(now.heap, rounded, alignment,
                                                             dedicated) == ACCEL__BLOCK_SMALL;
    accel__error_record before;
    accel__error_save(&before);
    const accel_status status = make_good(&now);
    if (status == ACCEL_ERROR_OUT_OF_MEMORY)
        return accel__report_out_of_memory(now.heap, asked, rounded, now.wanted, now.limit_forbade);
    if (status != ACCEL_OK)
        return status;
    accel__error_restore(&before);
    *out_block = now.block;
    return ACCEL_OK;
}

/* Blocks up to this size stay at hand when others are merged: they are asked for again soon, and keep few slabs
 * from becoming whole. */
enum { TINY = 16 * 1024 };

/* Before a small block breaks up memory of the large kind what the thread has at hand may serve it, merged: that
 * keeps slabs few, and recorded runs reserve up to 1 percent less. */
static accel__block *search_own(accel__lane *lane, size_t rounded, size_t alignment, bool dedicated)
{
    const bool is_at_hand = lane->heap->options.pool == NULL && rounded <= ACCEL__SMALL_SIZE;
    accel__block *block = search_bins(lane, rounded, alignment, dedicated, !is_at_hand);
    if (block != NULL || !is_at_hand)
        return block;
    accel__neighbours_flush_mine(lane->heap->device, TINY);
    return search_bins(lane, rounded, alignment, dedicated, true);
}

accel_status accel__heap_take_or_grow(accel__lane *lane, size_t asked, size_t rounded,
                                      size_t alignment, bool dedicated, accel__block **out_block)
{
    *out_block = is_cached(lane->heap) ? search_own(lane, rounded, alignment, dedicated) : NULL;
    return *out_block != NULL ? ACCEL_OK
                              : grow(lane, asked, rounded, alignment, dedicated, out_block);
}
