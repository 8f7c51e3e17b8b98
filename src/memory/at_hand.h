/* at_hand.h: a block out of the thread's own drawer, and into it: the steps that the short ways (at_hand.c) and
 * the long ones (alloc.c) share. */
#ifndef ACCEL_MEMORY_AT_HAND_H
#define ACCEL_MEMORY_AT_HAND_H

#include "memory/cache.h"

/* Out of its list. NULL: that is empty. The caller is inside the cache, as for all of these. */
static inline accel__block *accel__at_hand_take(accel__drawer *drawer, accel__share *share,
                                                size_t size, size_t *out_size)
{
    accel__block **list = &drawer->lists[(size - 1) / ACCEL__BLOCK_UNIT + 1];
    accel__block *block = *list;
    if (__builtin_expect(block == NULL, false))
        return NULL;
    const size_t block_size = block->size;
    *list = block->bin_after;
    share->room += (ptrdiff_t)block_size;
    accel__range_set_size(&block->range, size);
    *out_size = block_size;
    return block;
}

/* Into its list. */
static inline void accel__at_hand_put(accel__drawer *drawer, accel__block *block, size_t size)
{
    const size_t list = size / ACCEL__BLOCK_UNIT;
    block->bin_after = drawer->lists[list];
    drawer->lists[list] = block;
    drawer->filled[size / ((size_t)ACCEL__BLOCK_UNIT * ACCEL__CACHE_FILLED)] = 1;
}

/* Makes the calling thread the one that frees the block, where others might at the same time. False: one of
 * them was first. */
static inline bool accel__at_hand_claim(accel__block *block)
{
    uint32_t live = ACCEL__RANGE_LIVE | ACCEL__RANGE_AT_HAND;
    return atomic_compare_exchange_strong_explicit(&block->range.state, &live, ACCEL__RANGE_CACHED,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

/* ---- alloc.c: the long ways, for whatever a short one does not do ---- */

accel_status accel__alloc_long(accel_stream *stream, size_t size,
                               const accel_memory_options *options, void **out_pointer);
/* All was in order for the short way but the drawer, which may be of a stream that lay where this one lies: it has
 * no block of that size. */
accel_status accel__alloc_missed(accel__drawer *drawer, accel_stream *stream, size_t size,
                                 void **out_pointer);

accel_status accel__free_long(void *pointer);

/* The range that begins there, or did a moment ago; NULL: there is none. */
accel_status accel__free_found(accel__range *range, void *pointer);

#endif
