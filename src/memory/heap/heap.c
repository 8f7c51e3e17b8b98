/* heap.c: blocks of one heap: in and out of the bins, splitting, merging. heap_parts.h says how its
 * functions lean on each other; callers come through heap.h. */
#include "memory/heap/heap.h"

#include "base/callback.h"
#include "memory/heap/heap_note.h"
#include "memory/heap/heap_parts.h"
#include "memory/heap/policy.h"

enum { FEW_BLOCKS = 64 };

void accel__heap_check(accel__heap *heap)
{
    if (heap->busy_count > FEW_BLOCKS && heap->looks++ % 16 != 0)
        return;
    if (!accel__heap_is_valid(heap))
        __builtin_trap();
}

/* ---- bins ---- */

static inline accel__heap_kind *kind_of(const accel__block *block)
{
    return &block->segment->heap->kinds[block->segment->kind];
}

/* A free block that is less than its segment: what PyTorch calls an inactive split. Growable segments have
 * none by definition. */
static inline bool is_split(const accel__block *block)
{
    const accel__segment *segment = block->segment;
    return segment->has_splits && (segment->host != NULL || block->size != segment->size);
}

void accel__heap_bin(accel__block *block)
{
    accel__heap_kind *kind = kind_of(block);
    block->is_free = true;
    kind->free_bytes += block->size;
    if (is_split(block)) {
        kind->split_count++;
        kind->split_bytes += block->size;
        kind->is_untold = true;
    }
    accel__bins_put(&block->lane->bins[block->segment->kind], block);
}

void accel__heap_unbin(accel__block *block)
{
    accel__heap_kind *kind = kind_of(block);
    block->is_free = false;
    kind->free_bytes -= block->size;
    if (is_split(block)) {
        kind->split_count--;
        kind->split_bytes -= block->size;
        kind->is_untold = true;
    }
    accel__bins_remove(&block->lane->bins[block->segment->kind], block);
}

void accel__heap_count_busy(accel__block *block)
{
    accel__heap *heap = block->segment->heap;
    block->segment->busy_count++;
    block->lane->busy_count++;
    heap->busy_count++;
}

/* The highest use there ever was, as far as it was handed out by here. */
static inline void note_peak(accel__heap *heap)
{
    const size_t live = accel__heap_live(heap);
    if (live > heap->peak_live)
        heap->peak_live = live;
}

void accel__heap_count_idle(accel__block *block)
{
    accel__segment *segment = block->segment;
    if (--segment->busy_count == 0)
        segment->idle_since = segment->heap->searches;
    block->lane->busy_count--;
    segment->heap->busy_count--;
}

/* ---- cutting and merging ---- */

bool accel__heap_enter(accel__block *block, const accel__lane *lane)
{
    accel__range_set(&block->range, lane->heap->device, ACCEL_MEMORY_KIND_DEVICE, lane->stream);
    accel__range_set_size(&block->range, 0);
    accel__range_set_owner(&block->range, ACCEL__RANGE_OF_BLOCK);
    accel__range_set_state(&block->range, ACCEL__RANGE_FREE);
    return accel__pointers_enter(&block->range) == ACCEL_OK;
}

accel__block *accel__heap_cut(accel__block *block, size_t size)
{
    accel__segment *segment = block->segment;
    const uintptr_t begin = accel__range_begin(&block->range) + size;
    if (!accel__block_reserve(&segment->heap->blocks, 1))
        return NULL;
    accel__block *rest = accel__block_draw(&segment->heap->blocks);
    accel__range_set_begin(&rest->range, begin);
    if (!accel__heap_enter(rest, block->lane)) {
        accel__block_recycle(&segment->heap->blocks, rest);
        return NULL;
    }
    rest->size = block->size - size;
    rest->lane = block->lane;
    rest->segment = segment;
    rest->stamp = block->stamp;
    rest->is_mapped = true;
    rest->before = block;
    rest->after = block->after;
    if (rest->after != NULL)
        rest->after->before = rest;
    block->after = rest;
    block->size = size;
    segment->block_count++;
    return rest;
}

void accel__heap_absorb(accel__block *block, accel__block *after)
{
    accel__segment *segment = block->segment;
    accel__pointers_leave(&after->range);
    block->size += after->size;
    block->after = after->after;
    if (block->after != NULL)
        block->after->before = block;
    segment->block_count--;
    accel__block_recycle(&segment->heap->blocks, after);
}

/* Whether `block`, on its way, may take its neighbour in: free, and of its own lane or passed. */
static inline bool can_join(const accel__block *block, const accel__block *neighbour)
{
    return neighbour != NULL && neighbour->is_free &&
           (neighbour->lane == block->lane || accel__block_is_passed(neighbour));
}

/* What the streams have passed of both, as one block of the lane. */
static inline uint64_t stamp_of_both(const accel__block *block, const accel__block *neighbour)
{
    const bool is_passed = accel__block_is_passed(block) && accel__block_is_passed(neighbour);
    return is_passed ? 0 : block->lane->epoch;
}

accel__block *accel__heap_join(accel__block *block)
{
    accel__block *before = block->before;
    accel__block *after = block->after;
    if (can_join(block, after)) {
        accel__heap_unbin(after);
        block->stamp = stamp_of_both(block, after);
        accel__heap_absorb(block, after);
    }
    if (can_join(block, before)) {
        accel__heap_unbin(before);
        before->stamp = stamp_of_both(block, before);
        before->lane = block->lane;
        accel__heap_absorb(before, block);
        return before;
    }
    return block;
}

/* ---- taking ---- */

static bool begins_segment(const accel__block *block, const void *alignment)
{
    return !block->segment->is_growable && block->before == NULL &&
           accel__block_misfit(block, *(const size_t *)alignment) == 0;
}

static inline accel__block *find_fit(accel__lane *lane, accel__block_kind kind, size_t rounded,
                                     size_t alignment, bool dedicated)
{
    const accel__bins *bins = &lane->bins[kind];
    if (__builtin_expect(dedicated, false))
        return accel__bins_find(bins, rounded, begins_segment, &alignment);
    accel__block *block = accel__bins_fit(bins, rounded);
    if (alignment <= ACCEL__BLOCK_UNIT || block == NULL ||
        block->size >= rounded + accel__block_misfit(block, alignment))
        return block;
    return accel__bins_fit(bins, rounded + alignment - ACCEL__BLOCK_UNIT);
}

accel__block *accel__heap_shape(accel__lane *lane, accel__block *block, size_t rounded,
                                size_t alignment)
{
    const size_t front = alignment > ACCEL__BLOCK_UNIT ? accel__block_misfit(block, alignment) : 0;
    if (front != 0) {
        accel__block *rest = accel__heap_cut(block, front);
        accel__heap_bin(block);
        if (rest == NULL)
            return NULL;
        block = rest;
    }
    if (accel__policy_splits(lane->heap, block->segment, rounded, block->size)) {
        accel__block *rest = accel__heap_cut(block, rounded);
        if (rest != NULL)
            accel__heap_bin(rest);
    }
    if (block->lane != lane) { /* the other stream has passed it */
        block->lane = lane;
        block->stamp = 0;
    }
    atomic_store_explicit(&block->range.home, lane->stream, memory_order_relaxed);
    accel__heap_count_busy(block);
    note_peak(lane->heap);
    return block;
}

static accel__block *search_kind(accel__lane *lane, accel__block_kind kind, size_t rounded,
                                 size_t alignment, bool dedicated)
{
    accel__block *block = find_fit(lane, kind, rounded, alignment, dedicated);
    if (block == NULL || !accel__policy_accepts(block->segment, rounded, block->size))
        return NULL;
    accel__heap_unbin(block);
    return accel__heap_shape(lane, block, rounded, alignment);
}

accel__block *accel__heap_search(accel__lane *lane, size_t rounded, size_t alignment,
                                 bool dedicated, bool opens)
{
    accel__heap *heap = lane->heap;
    heap->searches++;
    if (!accel__block_reserve(&heap->blocks, 4))
        return NULL;
    const accel__block_kind kind = accel__heap_kind_of(heap, rounded, alignment, dedicated);
    accel__block *block = search_kind(lane, kind, rounded, alignment, dedicated);
    if (block != NULL || kind == ACCEL__BLOCK_LARGE || !opens)
        return block;
    accel__block *host = search_kind(lane, ACCEL__BLOCK_LARGE, ACCEL__SLAB_SIZE, ACCEL__BLOCK_UNIT,
                                     false);
    return host != NULL ? accel__slab_take(host, rounded, alignment) : NULL;
}

accel__block *accel__heap_take(accel__lane *lane, size_t rounded, size_t alignment)
{
    accel__heap *heap = lane->heap;
    accel__heap_lock(heap);
    accel__block *block = accel__heap_search(lane, rounded, alignment, false, true);
    accel__heap_tell_splits(heap);
    accel__heap_unlock(heap);
    return block;
}

/* ---- putting ---- */

void accel__heap_settle(accel__block *block)
{
    accel__segment *segment = block->segment;
    accel__heap_bin(accel__heap_join(block));
    if (segment->busy_count == 0 && segment->host != NULL && !accel__policy_keeps(segment))
        accel__slab_close(segment);
}

/* True: the block's segment is to be given back. */
static inline bool put_locked(accel__block *block)
{
    const bool is_uncached = block->segment->is_uncached;
    block->stamp = block->lane->epoch;
    accel__heap_count_idle(block);
    accel__heap_settle(block);
    return is_uncached;
}

/* Caching is off: what streams have passed goes back, the rest with a later block. */
static void give_back(accel__heap *heap)
{
    if (accel__callback_depth != 0)
        return;
    accel__lanes_refresh(heap, NULL);
    (void)accel__segments_release(heap, SIZE_MAX);
}

void accel__heap_put(accel__block *block)
{
    accel__heap *heap = block->segment->heap;
    accel__heap_lock(heap);
    const bool is_uncached = put_locked(block);
    accel__heap_tell_splits(heap);
    accel__heap_unlock(heap);
    if (__builtin_expect(is_uncached, false))
        give_back(heap);
}

void accel__heap_put_many(accel__lane *lane, accel__block *list)
{
    accel__heap *heap = lane->heap;
    bool is_uncached = false;
    accel__heap_lock(heap);
    while (list != NULL) {
        accel__block *next = list->bin_after;
        is_uncached |= put_locked(list);
        list = next;
    }
    accel__heap_tell_splits(heap);
    accel__heap_unlock(heap);
    if (is_uncached)
        give_back(heap);
}

static void tell_kind(accel__heap *heap, accel__block_kind kind)
{
    accel__heap_kind *of = &heap->kinds[kind];
    const int64_t count = (int64_t)of->split_count - (int64_t)of->told_count;
    const int64_t bytes = (int64_t)of->split_bytes - (int64_t)of->told_bytes;
    of->is_untold = false;
    of->told_count = of->split_count;
    of->told_bytes = of->split_bytes;
    if (count != 0 || bytes != 0)
        accel__note_splits(heap, kind, count, bytes);
}

void accel__heap_tell_untold(accel__heap *heap)
{
    if (heap->kinds[ACCEL__BLOCK_SMALL].is_untold)
        tell_kind(heap, ACCEL__BLOCK_SMALL);
    if (heap->kinds[ACCEL__BLOCK_LARGE].is_untold)
        tell_kind(heap, ACCEL__BLOCK_LARGE);
}

/* ---- questions ---- */

void accel__heap_summarize(accel__heap *heap, accel__heap_summary *out_summary)
{
    *out_summary = (accel__heap_summary){0};
    accel__heap_lock(heap);
    out_summary->id[0] = heap->options.id[0];
    out_summary->id[1] = heap->options.id[1];
    out_summary->reserved = accel__heap_reserved(heap);
    for (const accel__segment *s = heap->kinds[ACCEL__BLOCK_LARGE].segments; s != NULL; s = s->next)
        out_summary->segments++;
    for (int kind = 0; kind < 2; kind++) {
        out_summary->free_bytes += heap->kinds[kind].free_bytes;
        for (const accel__lane *lane = heap->lanes; lane != NULL; lane = lane->next) {
            const size_t largest = accel__bins_largest(&lane->bins[kind]);
            if (largest > out_summary->largest)
                out_summary->largest = largest;
        }
    }
    out_summary->busy_count = heap->busy_count;
    out_summary->leaving = heap->leaving;
    accel__heap_unlock(heap);
}

void accel__heap_visit(accel__heap *heap, void (*visit)(const accel__segment *segment, void *user),
                       void *user)
{
    accel__heap_lock(heap);
    for (const accel__segment *s = heap->kinds[ACCEL__BLOCK_LARGE].segments; s != NULL; s = s->next)
        visit(s, user);
    accel__heap_unlock(heap);
}
