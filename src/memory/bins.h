/* bins.h: the free blocks of one lane and kind, by size: two-level segregated fit with 32 steps an
 * octave. A search looks at the few newest blocks of the class of the size and takes the smallest that
 * fits, else does the same in the next larger class that has any: that is best fit to within a step.
 * Guarded by the heap's lock. */
#ifndef ACCEL_MEMORY_BINS_H
#define ACCEL_MEMORY_BINS_H

#include "memory/block.h"

enum {
    ACCEL__BIN_STEPS = 32,
    ACCEL__BIN_OCTAVES = 36, /* up to 2^48 bytes */
    ACCEL__BIN_LOOKS = 8     /* blocks that are looked at in a class */
};

typedef struct accel__bins {
    uint64_t octaves; /* bit per octave that has a block */
    uint32_t steps[ACCEL__BIN_OCTAVES];
    accel__block *heads[ACCEL__BIN_OCTAVES][ACCEL__BIN_STEPS];
    size_t count;
    size_t bytes;
} accel__bins;

void accel__bins_put(accel__bins *bins, accel__block *block);
void accel__bins_remove(accel__bins *bins, accel__block *block);

/* Calls `accept` (NULL: all are) on blocks of at least `size` bytes, the better fits first, until it
 * says yes. NULL: none. The block stays in. */
accel__block *accel__bins_find(const accel__bins *bins, size_t size,
                               bool (*accept)(const accel__block *block, const void *user),
                               const void *user);

/* Of at least `size` bytes: the best fit. NULL: none. The block stays in. */
accel__block *accel__bins_fit(const accel__bins *bins, size_t size);

/* The largest block that `accept` says yes to; NULL: none. The block stays in. */
accel__block *accel__bins_find_largest(const accel__bins *bins,
                                       bool (*accept)(const accel__block *block, const void *user),
                                       const void *user);

/* The size of the largest block; 0: none. */
size_t accel__bins_largest(const accel__bins *bins);

bool accel__bins_are_valid(const accel__bins *bins);

#endif
