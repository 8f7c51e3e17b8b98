/* grow.h: the parts of growable segments: the chain of blocks of such a segment covers its whole range of
 * addresses; parts without memory are holes, which begin and end at multiples of the granularity. For
 * grow.c, shrink.c and the check; all with the heap's lock held. */
#ifndef ACCEL_MEMORY_HEAP_GROW_H
#define ACCEL_MEMORY_HEAP_GROW_H

#include "memory/heap/heap_parts.h"

/* The hole is nobody's: into the list, merged with its neighbours that are, too. */
void accel__hole_open(accel__block *hole);

/* Out of the list: the caller's. */
void accel__hole_claim(accel__block *hole);

/* The claimed hole keeps its first `size` bytes; the rest is a claimed hole of its own. One block must be
 * in store. */
accel__block *accel__hole_cut(accel__block *hole, size_t size);

static inline uintptr_t accel__block_end(const accel__block *block)
{
    return accel__range_begin(&block->range) + block->size;
}

#endif
