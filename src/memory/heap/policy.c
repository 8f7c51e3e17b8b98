/* policy.c: see policy.h. */
#include "memory/heap/policy.h"

enum {
    LARGE_REST = 1024 * 1024, /* what is left of a large block of a fixed segment must be more */
    CHUNK_MIN = 24 * 1024 * 1024,
    CHUNK_MAX = 64 * 1024 * 1024,
    CHUNK_SHARE = 8, /* of what is reserved */
    FIXED_BUDGET_SHARE =
        8, /* of the highest use: beyond that, free segments are given back first */
    GROWN_BUDGET_SHARE = 64, /* of the highest use: beyond that, free pages are moved first */
    AHEAD_SHARE = 128,       /* of the highest use */
    STEAL_COST = 2,          /* tokens … */
    STEAL_TOKENS = 64,       /* … of which there are so many at most, … */
    STEAL_SEARCHES = 32      /* … and one more after so many searches */
};

static size_t clamp(size_t value, size_t low, size_t high)
{
    return value < low ? low : value > high ? high : value;
}

static size_t to_pages(size_t size)
{
    return (size + ACCEL__POLICY_PAGE - 1) / ACCEL__POLICY_PAGE * ACCEL__POLICY_PAGE;
}

bool accel__policy_accepts(const accel__segment *segment, size_t rounded, size_t size)
{
    const accel__config *config = accel__config_get();
    if (__builtin_expect(config->max_split_size == SIZE_MAX, true) || segment->is_growable ||
        segment->kind == ACCEL__BLOCK_SMALL)
        return true;
    return rounded < config->max_split_size ? size < config->max_split_size
                                            : size < rounded + config->max_non_split_rounding;
}

bool accel__policy_splits(const accel__heap *heap, const accel__segment *segment, size_t rounded,
                          size_t size)
{
    const size_t rest = size - rounded;
    if (rest < ACCEL__BLOCK_UNIT || heap->options.no_split || segment->is_uncached)
        return false;
    if (segment->is_growable || segment->kind == ACCEL__BLOCK_SMALL)
        return true;
    return rest > LARGE_REST && rounded < accel__config_get()->max_split_size;
}

/* A pool's blocks go by no thread's drawer, so a program that has one small block at a time would make a slab for
 * each. The last one stays; not in fixed segments, whose free parts statistics tell. */
bool accel__policy_keeps(const accel__segment *slab)
{
    const accel__block *only = slab->first;
    return slab->heap->options.pool != NULL && slab->previous == NULL && slab->next == NULL &&
           slab->host->segment->is_growable && only->after == NULL && !only->lane->is_closing &&
           !slab->host->lane->is_closing;
}

size_t accel__policy_segment_bare(size_t rounded)
{
    return to_pages(rounded);
}

/* A whole number of times the request, as many as make a chunk: what is left over of a torn multiple would
 * hardly ever fit anything. Of those numbers the one that wastes least in the last page. */
static size_t multiple(size_t rounded, size_t chunk)
{
    const size_t most = chunk / rounded > 1 ? chunk / rounded : 1;
    const size_t least = most / 2 > 1 ? most / 2 : 1;
    size_t best = most;
    for (size_t count = most; count >= least; count--) {
        const size_t waste = to_pages(count * rounded) - count * rounded;
        const size_t least_waste = to_pages(best * rounded) - best * rounded;
        if (waste * best < least_waste * count) /* in relation to their sizes */
            best = count;
    }
    return to_pages(best * rounded);
}

size_t accel__policy_segment(const accel__heap *heap, size_t rounded, bool is_slab)
{
    const accel__config *config = accel__config_get();
    const size_t reserved = accel__heap_reserved(heap);
    if (heap->options.no_split || rounded >= config->max_split_size)
        return to_pages(rounded);
    if (config->large_segment_size != 0)
        return rounded < config->large_segment_size / 2 ? config->large_segment_size
                                                        : to_pages(rounded);
    const size_t low = is_slab ? clamp(to_pages(reserved), ACCEL__POLICY_PAGE, CHUNK_MIN)
                               : (size_t)CHUNK_MIN;
    return multiple(rounded, clamp(to_pages(reserved / CHUNK_SHARE), low, CHUNK_MAX));
}

size_t accel__policy_fixed_budget(const accel__heap *heap)
{
    return heap->peak_live + heap->peak_live / FIXED_BUDGET_SHARE;
}

size_t accel__policy_budget(const accel__heap *heap, size_t live)
{
    const size_t peak = live > heap->peak_live ? live : heap->peak_live;
    const size_t budget = (peak + peak / GROWN_BUDGET_SHARE) / ACCEL__POLICY_PAGE *
                          ACCEL__POLICY_PAGE;
    return budget > heap->peak_reserved ? budget : heap->peak_reserved;
}

size_t accel__policy_ahead(const accel__heap *heap)
{
    return heap->peak_live / AHEAD_SHARE;
}

bool accel__policy_may_steal(accel__heap *heap)
{
    const uint64_t earned = (heap->searches - heap->steals_at) / STEAL_SEARCHES;
    heap->steals_at += earned * STEAL_SEARCHES;
    heap->steal_spent -= earned < heap->steal_spent ? earned : heap->steal_spent;
    return heap->steal_spent < STEAL_TOKENS;
}

void accel__policy_stole(accel__heap *heap)
{
    heap->steal_spent += STEAL_COST;
}
