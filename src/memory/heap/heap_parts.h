/* heap_parts.h: what the files of the heap do for each other. Unless said otherwise the heap's lock is
 * held. A block on its way is neither free nor handed out: its maker, or whoever took it out of the bins,
 * has it, and puts it back or counts it as busy before the lock is let go. */
#ifndef ACCEL_MEMORY_HEAP_HEAP_PARTS_H
#define ACCEL_MEMORY_HEAP_HEAP_PARTS_H

#include "memory/config.h"
#include "memory/heap/heap.h"

/* ---- heap.c: blocks ---- */

/* In the invariants preset changes are looked at: of a heap with few blocks all, else one in 16. */
void accel__heap_check(accel__heap *heap);

/* The lock. */
static inline void accel__heap_lock(accel__heap *heap)
{
    accel__spin_lock(&heap->spin);
#if ACCEL_INVARIANTS
    accel__heap_check(heap);
#endif
}

static inline void accel__heap_unlock(accel__heap *heap)
{
#if ACCEL_INVARIANTS
    accel__heap_check(heap);
#endif
    accel__spin_unlock(&heap->spin);
}

/* Into and out of the bins of its lane; its stamp says what the lane's stream has passed. */
void accel__heap_bin(accel__block *block);
void accel__heap_unbin(accel__block *block);

/* Into the map, as free and nobody's. False: no host memory. */
bool accel__heap_enter(accel__block *block, const accel__lane *lane);

/* The kind that serves a request. What must begin at a segment, or may not be cut, or is more than a slab
 * with its alignment, is large. */
static inline accel__block_kind accel__heap_kind_of(const accel__heap *heap, size_t rounded,
                                                    size_t alignment, bool dedicated)
{
    const size_t slack = alignment > ACCEL__BLOCK_UNIT ? alignment - ACCEL__BLOCK_UNIT : 0;
    return rounded + slack <= ACCEL__SMALL_SIZE && !dedicated && !heap->options.no_split
               ? ACCEL__BLOCK_SMALL
               : ACCEL__BLOCK_LARGE;
}

/* A block on its way becomes free: merged with its neighbours, into the bins; a slab that is all free goes
 * back to the large kind. */
void accel__heap_settle(accel__block *block);

/* Counts a block on its way as handed out, or claimed; and no more. */
void accel__heap_count_busy(accel__block *block);
void accel__heap_count_idle(accel__block *block);

/* The block on its way keeps its first `size` bytes; the rest becomes one of its own, on its way, of the
 * same lane. NULL: no host memory, nothing changed. */
accel__block *accel__heap_cut(accel__block *block, size_t size);

/* Merges the block on its way with free neighbours that its lane may use, and gives what came of it. */
accel__block *accel__heap_join(accel__block *block);

/* Merges `after`, on its way and the next in the segment, into `block`. */
void accel__heap_absorb(accel__block *block, accel__block *after);

/* From the bins' or a new block on its way to one that is handed out for `lane`: cut to size, the rest
 * into the bins. NULL: no host memory; the block is in the bins. */
accel__block *accel__heap_shape(accel__lane *lane, accel__block *block, size_t rounded,
                                size_t alignment);

/* Whether the streams of all work on this free block have passed it: then any lane may have it. */
static inline bool accel__block_is_passed(const accel__block *block)
{
    return block->stamp < block->lane->passed;
}

/* The search of accel__heap_take. For a small block a slab is opened only where `opens` says so. */
accel__block *accel__heap_search(accel__lane *lane, size_t rounded, size_t alignment,
                                 bool dedicated, bool opens);

/* Tells the statistics how many free blocks are only parts of their segments, where they do not know. */
void accel__heap_tell_untold(accel__heap *heap);

static inline void accel__heap_tell_splits(accel__heap *heap)
{
    if (heap->kinds[ACCEL__BLOCK_SMALL].is_untold || heap->kinds[ACCEL__BLOCK_LARGE].is_untold)
        accel__heap_tell_untold(heap);
}

/* How far the block's begin is below the next multiple of `alignment`, a power of two. */
static inline size_t accel__block_misfit(const accel__block *block, size_t alignment)
{
    return -accel__range_begin(&block->range) & (alignment - 1);
}

/* ---- slab.c: segments of small blocks inside of large blocks ---- */

/* Makes the handed out block a slab and takes a block from it. NULL: no host memory; the host is free
 * again. */
accel__block *accel__slab_take(accel__block *host, size_t rounded, size_t alignment);

/* No block of the slab is handed out: gives it back to the large kind, unless that would mix what several
 * streams have not passed yet. */
void accel__slab_close(accel__segment *slab);

/* The same for all of the heap. */
void accel__slabs_close(accel__heap *heap);

/* ---- lane.c ---- */

/* Finds out which free blocks the streams of all lanes but `own` have passed. Without the lock. */
void accel__lanes_refresh(accel__heap *heap, const accel__lane *own);

/* A block for `lane` from what other lanes' streams have passed; merges across lanes where only that
 * makes a block large enough. */
accel__block *accel__lanes_adopt(accel__lane *lane, size_t rounded, size_t alignment,
                                 bool dedicated);

/* Merges neighbours of different lanes that their streams have passed, in the large kind. */
void accel__lanes_merge(accel__heap *heap);

/* Retires what lanes of the heap can be. Without the lock. */
void accel__lanes_sweep(accel__heap *heap);

/* All lanes of a heap that ends and whose blocks are gone: lets their streams go. Without the lock. */
void accel__lanes_end(accel__heap *heap);

/* The program is done with the stream: retires its lanes, now or once their blocks are free and it is
 * idle. Without locks. What accel__stream_unused calls. */
void accel__lanes_close(accel_stream *stream);

/* ---- segment.c: fixed segments ---- */

/* New memory of `size` bytes for the lane, as one block that is counted as busy. Without the lock.
 * OUT_OF_MEMORY is recorded as the source says it. */
accel_status accel__segment_make(accel__lane *lane, size_t size, size_t alignment, bool is_uncached,
                                 accel__block **out_block);

/* Takes a segment without busy blocks out of the heap; its blocks are gone. It is the caller's, who
 * gives it to the next function. Until then it is leaving, and the heap does not end. */
void accel__segment_unlink(accel__segment *segment);

/* A list (by next) of those back to their source. Without the lock. Returns bytes. */
size_t accel__segments_give_back(accel__heap *heap, accel__segment *segments);

/* So many of those that were leaving have left. Without the lock. */
void accel__segments_left(accel__heap *heap, size_t count);

/* Gives up the addresses of growable segments of a heap that ends: none has memory. */
void accel__segments_end(accel__heap *heap);

/* In the list of its heap, with its statistics. */
void accel__segment_link(accel__segment *segment);
void accel__segment_delist(accel__segment *segment);

/* ---- grow.c: growable segments ---- */

/* Whether the heap's segments can grow now. */
bool accel__heap_grows(const accel__heap *heap, const accel__config *config);

/* A block of `rounded` bytes for the lane, counted as busy and cut to size, from addresses that get
 * memory; `bare`: and no more of it than needed. Without the lock. UNSUPPORTED, with or without a record:
 * it takes a fixed segment. OUT_OF_MEMORY without a record where the limit forbids it. */
accel_status accel__grow(accel__lane *lane, size_t rounded, size_t alignment, bool bare,
                         bool *out_limit_forbade, accel__block **out_block);

/* Takes memory from whole pages of free blocks that their streams have passed, up to `wanted` bytes, the
 * largest stretches first. Without the lock. Returns bytes. */
size_t accel__shrink(accel__heap *heap, size_t wanted);

/* ---- release.c; without the lock ---- */

/* Fixed segments that are all free and passed, until `wanted` bytes were given back. Returns bytes. */
size_t accel__segments_release(accel__heap *heap, size_t wanted);

/* What the setting garbage_collection_threshold asks for. */
void accel__heap_collect_garbage(accel__heap *heap);

/* ---- limit.c: what a device may reserve in this process ---- */

/* Counts `size` more bytes as reserved, before they are asked for; false where the limit forbids that. No
 * heap is locked: where only what other threads are asking for stands against it, it waits for them a while. */
bool accel__limit_take(accel__device *device, size_t size);
/* What was taken was asked for: whether it was had. */
void accel__limit_settle(accel__device *device, size_t size, bool was_had);
void accel__limit_give(accel__device *device, size_t size);

/* SIZE_MAX: none. */
size_t accel__limit_get(accel__device *device);

/* By how much more than `bytes` is reserved. */
size_t accel__limit_reserved_above(accel__device *device, size_t bytes);

/* By how much `size` more bytes would pass it. */
size_t accel__limit_excess(accel__device *device, size_t size);

#endif
