/* position.c: see position.h. A stretch is a run of neighbours in a growable segment, each a hole that is
 * nobody's or a free block that the lane may have. In a stretch the places that are looked at begin where a
 * piece begins, or end where one ends: one of them is always among the best. */
#include "memory/heap/position.h"

enum { PIECES_MAX = 64 }; /* that are looked at in a stretch, from each end of a place */

typedef struct search {
    const accel__lane *lane;
    size_t size;
    size_t alignment;
    accel__position best;
} search;

static bool is_open(const accel__lane *lane, const accel__block *block)
{
    if (block == NULL)
        return false;
    if (!block->is_mapped)
        return !block->is_claimed;
    return block->is_free && (block->lane == lane || accel__block_is_passed(block));
}

static uintptr_t round_down(uintptr_t value, size_t unit)
{
    return value & ~(uintptr_t)(unit - 1);
}

static uintptr_t round_up(uintptr_t value, size_t unit)
{
    return round_down(value + unit - 1, unit);
}

/* What a place costs. */
static void measure(accel__position *place)
{
    const size_t unit = place->segment->granularity;
    const uintptr_t end = place->begin + place->size;
    place->added = 0;
    place->holes = 0;
    for (const accel__block *piece = place->first;
         piece != NULL && accel__range_begin(&piece->range) < end; piece = piece->after) {
        if (piece->is_mapped)
            continue;
        const uintptr_t begin = accel__range_begin(&piece->range);
        const uintptr_t piece_end = accel__block_end(piece);
        const uintptr_t from = round_down(place->begin > begin ? place->begin : begin, unit);
        const uintptr_t to = round_up(end < piece_end ? end : piece_end, unit);
        place->added += to - from;
        place->holes++;
    }
}

static bool is_better(const accel__position *a, const accel__position *b)
{
    if (b->segment == NULL)
        return true;
    if (a->added != b->added)
        return a->added < b->added;
    if (a->holes != b->holes)
        return a->holes < b->holes;
    if (a->stretch != b->stretch)
        return a->stretch < b->stretch;
    return a->begin < b->begin;
}

/* Looks at the place that begins at `begin`, or at the next aligned address, in the stretch of pieces from
 * `first` on that ends at `end`. */
static void consider(search *of, accel__block *first, uintptr_t begin, uintptr_t end,
                     size_t stretch)
{
    begin = round_up(begin, of->alignment);
    if (begin < end - stretch || begin > end || end - begin < of->size)
        return;
    while (accel__block_end(first) <= begin)
        first = first->after;
    accel__position place = {.segment = first->segment,
                             .first = first,
                             .begin = begin,
                             .size = of->size,
                             .stretch = stretch};
    measure(&place);
    if (is_better(&place, &of->best))
        of->best = place;
}

static void search_stretch(search *of, accel__block *first, uintptr_t end)
{
    const uintptr_t begin = accel__range_begin(&first->range);
    const size_t stretch = end - begin;
    if (stretch < of->size)
        return;
    accel__block *piece = first;
    for (int count = 0;
         piece != NULL && accel__range_begin(&piece->range) < end && count < PIECES_MAX;
         piece = piece->after, count++) {
        consider(of, piece, accel__range_begin(&piece->range), end, stretch);
        const uintptr_t piece_end = accel__block_end(piece);
        if (piece_end - begin >= of->size)
            consider(of, first, round_down(piece_end - of->size, of->alignment), end, stretch);
    }
}

/* Every stretch with a hole; those without would have been found in the bins. */
static void search_segment(search *of, const accel__segment *segment)
{
    uintptr_t done = segment->begin;
    for (accel__block *hole = segment->holes; hole != NULL; hole = hole->bin_after) {
        if (accel__range_begin(&hole->range) < done)
            continue; /* in the stretch of an earlier one */
        accel__block *first = hole;
        const accel__block *last = hole;
        while (is_open(of->lane, first->before))
            first = first->before;
        while (is_open(of->lane, last->after))
            last = last->after;
        done = accel__block_end(last);
        search_stretch(of, first, done);
    }
}

accel__position accel__position_find(const accel__lane *lane, size_t size, size_t alignment)
{
    search of = {.lane = lane,
                 .size = size,
                 .alignment = alignment > ACCEL__BLOCK_UNIT ? alignment : ACCEL__BLOCK_UNIT};
    for (const accel__segment *s = lane->heap->kinds[ACCEL__BLOCK_LARGE].segments; s != NULL;
         s = s->next)
        if (s->is_growable)
            search_segment(&of, s);
    return of.best;
}
