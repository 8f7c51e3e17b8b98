/* bins.c: see bins.h. */
#include "memory/heap/bins.h"

#include "memory/heap/segment.h"

/* The next class with a block, from `from` on, or false. */
static inline bool next_class(const accel__bins *bins, accel__bin from, accel__bin *out_bin)
{
    if (from.octave >= ACCEL__BIN_OCTAVES)
        return false;
    const uint32_t steps = from.step < ACCEL__BIN_STEPS
                               ? bins->steps[from.octave] & (~0u << from.step)
                               : 0;
    if (steps != 0) {
        *out_bin = (accel__bin){from.octave, (unsigned)__builtin_ctz(steps)};
        return true;
    }
    const uint64_t octaves = bins->octaves & (~1ull << from.octave);
    if (octaves == 0)
        return false;
    const unsigned octave = (unsigned)__builtin_ctzll(octaves);
    *out_bin = (accel__bin){octave, (unsigned)__builtin_ctz(bins->steps[octave])};
    return true;
}

/* Smaller; or as small, and in an older segment, or lower in the same. Older segments fill up and newer ones
 * become free as wholes; addresses would say nothing, as systems hand them out downwards or at random. */
static inline bool is_better(const accel__block *block, const accel__block *best)
{
    if (block->size != best->size)
        return block->size < best->size;
    if (block->segment->number != best->segment->number)
        return block->segment->number < best->segment->number;
    return accel__range_begin(&block->range) < accel__range_begin(&best->range);
}

accel__block *accel__bins_fit(const accel__bins *bins, size_t size)
{
    accel__bin at = accel__bin_of(size);
    while (next_class(bins, at, &at)) {
        accel__block *best = NULL;
        accel__block *block = bins->heads[at.octave][at.step];
        for (int looks = 0; block != NULL && looks < ACCEL__BIN_LOOKS; looks++) {
            if (block->size >= size && (best == NULL || is_better(block, best)))
                best = block;
            block = block->bin_after;
        }
        if (best != NULL)
            return best;
        at.step++;
    }
    return NULL;
}

accel__block *accel__bins_find(const accel__bins *bins, size_t size,
                               bool (*accept)(const accel__block *block, const void *user),
                               const void *user)
{
    accel__bin at = accel__bin_of(size);
    while (next_class(bins, at, &at)) {
        accel__block *best = NULL;
        for (accel__block *block = bins->heads[at.octave][at.step]; block != NULL;
             block = block->bin_after)
            if (block->size >= size && (best == NULL || block->size < best->size) &&
                accept(block, user))
                best = block;
        if (best != NULL)
            return best;
        at.step++;
    }
    return NULL;
}

/* The last class with a block before `below`, or false. */
static bool class_before(const accel__bins *bins, accel__bin below, accel__bin *out_bin)
{
    const uint32_t steps = below.octave < ACCEL__BIN_OCTAVES
                               ? bins->steps[below.octave] & ((1u << below.step) - 1u)
                               : 0;
    if (steps != 0) {
        *out_bin = (accel__bin){below.octave, 31u - (unsigned)__builtin_clz(steps)};
        return true;
    }
    const uint64_t octaves = bins->octaves & ((1ull << below.octave) - 1u);
    if (octaves == 0)
        return false;
    const unsigned octave = 63u - (unsigned)__builtin_clzll(octaves);
    *out_bin = (accel__bin){octave, 31u - (unsigned)__builtin_clz(bins->steps[octave])};
    return true;
}

accel__block *accel__bins_find_largest(const accel__bins *bins,
                                       bool (*accept)(const accel__block *block, const void *user),
                                       const void *user)
{
    accel__bin at = {ACCEL__BIN_OCTAVES, 0};
    while (class_before(bins, at, &at)) {
        accel__block *best = NULL;
        for (accel__block *block = bins->heads[at.octave][at.step]; block != NULL;
             block = block->bin_after)
            if ((best == NULL || block->size > best->size) && accept(block, user))
                best = block;
        if (best != NULL)
            return best;
    }
    return NULL;
}

size_t accel__bins_largest(const accel__bins *bins)
{
    if (bins->octaves == 0)
        return 0;
    const unsigned octave = 63u - (unsigned)__builtin_clzll(bins->octaves);
    const unsigned step = 31u - (unsigned)__builtin_clz(bins->steps[octave]);
    size_t largest = 0;
    for (const accel__block *block = bins->heads[octave][step]; block != NULL;
         block = block->bin_after)
        if (block->size > largest)
            largest = block->size;
    return largest;
}

static bool class_is_valid(const accel__bins *bins, accel__bin at, size_t *count)
{
    const accel__block *before = NULL;
    for (const accel__block *block = bins->heads[at.octave][at.step]; block != NULL;
         block = block->bin_after) {
        const accel__bin belongs = accel__bin_of(block->size);
        if (block->bin_before != before || !block->is_free || belongs.octave != at.octave ||
            belongs.step != at.step)
            return false;
        before = block;
        ++*count;
    }
    return (before != NULL) == ((bins->steps[at.octave] >> at.step & 1u) != 0);
}

bool accel__bins_are_valid(const accel__bins *bins, size_t *count)
{
    for (unsigned octave = 0; octave < ACCEL__BIN_OCTAVES; octave++) {
        if ((bins->steps[octave] != 0) != ((bins->octaves >> octave & 1u) != 0))
            return false;
        for (unsigned step = 0; step < ACCEL__BIN_STEPS; step++)
            if (!class_is_valid(bins, (accel__bin){octave, step}, count))
                return false;
    }
    return true;
}
