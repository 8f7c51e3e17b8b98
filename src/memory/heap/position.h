/* position.h: where in the growable segments of a heap a request can be served with the least new memory. */
#ifndef ACCEL_MEMORY_HEAP_POSITION_H
#define ACCEL_MEMORY_HEAP_POSITION_H

#include "memory/heap/grow.h"

/* A place for `size` bytes from `begin` on, in a stretch of free blocks and holes. */
typedef struct accel__position {
    accel__segment *segment; /* NULL: there is none */
    accel__block *first;     /* the block or hole that `begin` lies in */
    uintptr_t begin;
    size_t size;
    size_t added;   /* bytes of holes that must get memory */
    unsigned holes; /* in how many pieces */
    size_t stretch; /* bytes of the whole stretch */
} accel__position;

/* The best one for the lane: the fewest added bytes, then the fewest pieces, then the shortest stretch,
 * then the lowest address. */
accel__position accel__position_find(const accel__lane *lane, size_t size, size_t alignment);

#endif
