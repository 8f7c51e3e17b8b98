/* bins.h: the free blocks of one lane and kind, by size: two-level segregated fit with 32 steps an
 * octave. A search looks at the few newest blocks of the class of the size and takes the smallest that
 * fits, else does the same in the next larger class that has any: that is best fit to within a step.
 * Guarded by the heap's lock. */
#ifndef ACCEL_MEMORY_HEAP_BINS_H
#define ACCEL_MEMORY_HEAP_BINS_H

#include "memory/heap/block.h"

enum {
    ACCEL__BIN_STEPS = 32,
    ACCEL__BIN_OCTAVES = 36, /* up to 2^48 bytes */
    ACCEL__BIN_LOOKS = 8     /* blocks that are looked at in a class */
};

typedef struct accel__bins {
    uint64_t octaves; /* bit per octave that has a block */
    uint32_t steps[ACCEL__BIN_OCTAVES];
    accel__block *heads[ACCEL__BIN_OCTAVES][ACCEL__BIN_STEPS];
} accel__bins;

/* A list of those. */
typedef struct accel__bin {
    unsigned octave;
    unsigned step;
} accel__bin;

/* Sizes below 64 units have a class each; above, an octave has 32 steps of equal width. */
static inline accel__bin accel__bin_of(size_t size)
{
    const size_t units = size / ACCEL__BLOCK_UNIT;
    if (units < ACCEL__BIN_STEPS)
        return (accel__bin){0, (unsigned)units};
    const unsigned high = 63u - (unsigned)__builtin_clzll(units);
    return (accel__bin){high - 4u, (unsigned)(units >> (high - 5u)) & (ACCEL__BIN_STEPS - 1u)};
}

static inline void accel__bins_put(accel__bins *bins, accel__block *block)
{
    const accel__bin at = accel__bin_of(block->size);
    accel__block **head = &bins->heads[at.octave][at.step];
    block->bin_before = NULL;
    block->bin_after = *head;
    if (*head != NULL)
        (*head)->bin_before = block;
    *head = block;
    bins->steps[at.octave] |= 1u << at.step;
    bins->octaves |= 1ull << at.octave;
}

static inline void accel__bins_remove(accel__bins *bins, accel__block *block)
{
    if (block->bin_after != NULL)
        block->bin_after->bin_before = block->bin_before;
    if (block->bin_before != NULL) {
        block->bin_before->bin_after = block->bin_after;
        return;
    }
    const accel__bin at = accel__bin_of(block->size);
    bins->heads[at.octave][at.step] = block->bin_after;
    if (block->bin_after != NULL)
        return;
    bins->steps[at.octave] &= ~(1u << at.step);
    if (bins->steps[at.octave] == 0)
        bins->octaves &= ~(1ull << at.octave);
}

/* Of the blocks of at least `size` bytes that `accept` says yes to, the smallest, to within a step. NULL: none.
 * The block stays in. */
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

static inline bool accel__bins_are_empty(const accel__bins *bins)
{
    return bins->octaves == 0;
}

/* *count: and so many blocks more. */
bool accel__bins_are_valid(const accel__bins *bins, size_t *count);

#endif
