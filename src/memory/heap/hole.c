/* hole.c: see grow.h. */
#include "memory/heap/grow.h"

static accel__block **link_before(accel__segment *segment, uintptr_t begin)
{
    accel__block **link = &segment->holes;
    while (*link != NULL && accel__range_begin(&(*link)->range) < begin)
        link = &(*link)->bin_after;
    return link;
}

/* The next block in the chain, a hole, becomes part of this one. */
static void absorb_hole(accel__block *hole, accel__block *after)
{
    hole->size += after->size;
    hole->after = after->after;
    if (hole->after != NULL)
        hole->after->before = hole;
    accel__block_recycle(&hole->segment->heap->blocks, after);
}

static bool is_open_hole(const accel__block *block)
{
    return block != NULL && !block->is_mapped && !block->is_claimed;
}

void accel__hole_open(accel__block *hole)
{
    hole->is_claimed = false;
    if (is_open_hole(hole->after)) {
        accel__block *after = hole->after;
        accel__hole_claim(after);
        absorb_hole(hole, after);
    }
    if (is_open_hole(hole->before)) { /* in the list already */
        absorb_hole(hole->before, hole);
        return;
    }
    accel__block **link = link_before(hole->segment, accel__range_begin(&hole->range));
    hole->bin_after = *link;
    *link = hole;
}

void accel__hole_claim(accel__block *hole)
{
    accel__block **link = link_before(hole->segment, accel__range_begin(&hole->range));
    *link = hole->bin_after;
    hole->is_claimed = true;
}

accel__block *accel__hole_cut(accel__block *hole, size_t size)
{
    accel__segment *segment = hole->segment;
    accel__block *rest = accel__block_draw(&segment->heap->blocks);
    accel__range_set_begin(&rest->range, accel__range_begin(&hole->range) + size);
    accel__range_set_state(&rest->range, ACCEL__RANGE_FREE);
    rest->size = hole->size - size;
    rest->segment = segment;
    rest->lane = hole->lane;
    rest->is_claimed = true;
    rest->before = hole;
    rest->after = hole->after;
    if (rest->after != NULL)
        rest->after->before = rest;
    hole->after = rest;
    hole->size = size;
    return rest;
}
