/* heap.h: where blocks come from on a miss of the thread's magazine, and where they go. Called by
 * alloc.c, cache.c, uses.c and the pools.
 *
 * Heaps and lanes of a process are abandoned by its forked children: whoever keeps a pointer to one
 * must compare generations. Within a generation the device's default heap and its lanes live for ever;
 * those of a pool until accel__heap_destroy. A lane whose stream is gone is used again for another
 * stream: whoever finds a lane by its stream must compare `lane->id` with `stream->id`, too. */
#ifndef ACCEL_MEMORY_HEAP_HEAP_H
#define ACCEL_MEMORY_HEAP_HEAP_H

#include "memory/heap/segment.h"

/* The default heap of the device (`pool` NULL), made at its first use, or that of a pool (NOT_FOUND: it
 * has none in this process). OUT_OF_HOST_MEMORY. */
accel_status accel__heap_of(accel__device *device, struct accel_memory_pool *pool,
                            accel__heap **out_heap);

/* A heap for a pool: found from now on by accel__heap_of. Nothing is asked of the backend. */
accel_status accel__heap_create(accel__device *device, const accel__heap_options *options,
                                accel__heap **out_heap);

/* All blocks are free (busy_count is 0), no thread's magazine has one, nothing is leaving, and nobody
 * allocates from it any more. Others may come by on their way through all heaps. Waits for its streams,
 * gives its memory back. */
void accel__heap_destroy(accel__heap *heap);

/* The heaps of a device in this process, the default one first; NULL: none, or no more. */
accel__heap *accel__heap_first(const accel__device *device);
accel__heap *accel__heap_next(const accel__heap *heap);

/* The lane of a stream of the heap's device, made at its first use. Without a lock where it is there.
 * OUT_OF_HOST_MEMORY. */
accel_status accel__lane_of(accel__heap *heap, accel_stream *stream, accel__lane **out_lane);

/* A block of at least `rounded` bytes (a multiple of 512) from the lane's bins, split where that pays;
 * its begin is a multiple of `alignment` (a power of two; 512 and less are the same). NULL: none. Its
 * range says whose it is and what its home stream is; `range.state` stays FREE: the caller sets it. */
accel__block *accel__heap_take(accel__lane *lane, size_t rounded, size_t alignment);

/* The whole way of a miss: bins; what waits for streams; magazines of other threads; free blocks of
 * other lanes; new memory; giving back; hooks; waiting; pools for the time of need. `asked` is for
 * reports. A `dedicated` block begins where a fixed segment does. Makes accel__heap_take's search
 * first. On failure OUT_OF_MEMORY is recorded with its report, the observers were called, and nothing
 * is changed. Call it with no lock held. */
accel_status accel__heap_take_or_grow(accel__lane *lane, size_t asked, size_t rounded,
                                      size_t alignment, bool dedicated, accel__block **out_block);

/* Back into the bins of block->lane. Work on the lane's stream that was queued before may still use
 * it; every other stream has passed. The caller has set `range.state` to FREE and emptied `uses`. */
void accel__heap_put(accel__block *block);

/* The same for a list (linked by bin_after) of blocks of one lane, with one lock. */
void accel__heap_put_many(accel__lane *lane, accel__block *list);

/* ---- giving back ---- */

/* Every cached segment, and every whole page of growable ones that no block is in, of the heap to its
 * source; `wait`: waits for streams that have not passed, else leaves those. Returns bytes. */
size_t accel__heap_release(accel__heap *heap, bool wait);

/* accel_empty_cache for one device: flushes magazines, collects, releases every heap's. */
size_t accel__heap_empty_cache(accel__device *device);

/* ---- questions ---- */

typedef struct accel__heap_summary {
    uint64_t id[2];    /* of the pool */
    size_t reserved;   /* bytes from the source */
    size_t free_bytes; /* of those: in the bins */
    size_t largest;    /* the largest free block */
    size_t segments;
    size_t busy_count; /* blocks that are handed out: live, cached in magazines or pending */
    size_t leaving;    /* segments, and pages, that some thread gives back at this moment */
} accel__heap_summary;

void accel__heap_summarize(accel__heap *heap, accel__heap_summary *out_summary);

/* For snapshots: calls `visit` on every segment but slabs, as they come, with the heap locked: it may walk
 * the pieces by accel__piece_first and accel__piece_after, and must not call into the allocator. */
void accel__heap_visit(accel__heap *heap, void (*visit)(const accel__segment *segment, void *user),
                       void *user);

/* With the heap locked. */
bool accel__heap_is_valid(const accel__heap *heap);

#endif
