/* valid.c: whether a heap is in order. Looked at around every change in the invariants preset. */
#include "memory/heap/grow.h"

/* What is counted on the way, to be compared with what the heap says of itself. */
typedef struct tally {
    size_t reserved[2];
    size_t free_bytes[2];
    size_t free_count[2];
    size_t busy_count;
} tally;

static bool links_are_valid(const accel__segment *segment, const accel__block *block,
                            const accel__block *before, uintptr_t begin)
{
    return block->before == before && accel__range_begin(&block->range) == begin &&
           block->segment == segment && block->size != 0 && block->size % ACCEL__BLOCK_UNIT == 0 &&
           (block->is_mapped || segment->is_growable);
}

static bool hole_is_valid(const accel__segment *segment, const accel__block *hole)
{
    return !hole->is_free && hole->size % segment->granularity == 0 && !hole->is_slab;
}

/* A mapped block, with what it says of its slab. */
static bool block_is_valid(const accel__block *block)
{
    if (accel__pointers_at((const void *)accel__range_begin(&block->range)) != &block->range)
        return block->is_slab; /* the slab's first block is in the map instead */
    if (block->is_slab)
        return false;
    return !block->is_free || (accel__range_state_of(&block->range) == ACCEL__RANGE_FREE &&
                               block->lane != NULL && !block->is_claimed);
}

static bool segment_is_valid(const accel__segment *segment, tally *counted)
{
    uintptr_t begin = segment->begin;
    size_t mapped = 0;
    size_t busy = 0;
    size_t count = 0;
    const accel__block *before = NULL;
    for (const accel__block *block = segment->first; block != NULL; block = block->after) {
        if (!links_are_valid(segment, block, before, begin))
            return false;
        if (!(block->is_mapped ? block_is_valid(block) : hole_is_valid(segment, block)))
            return false;
        if (block->is_mapped) {
            mapped += block->size;
            count++;
            busy += !block->is_free;
            counted->free_count[segment->kind] += block->is_free;
            counted->free_bytes[segment->kind] += block->is_free ? block->size : 0;
        }
        begin = accel__block_end(block);
        before = block;
    }
    counted->reserved[segment->kind] += mapped;
    counted->busy_count += busy;
    return begin == segment->begin + segment->size && mapped == segment->mapped &&
           busy == segment->busy_count && count == segment->block_count;
}

/* The list has every hole that nobody claimed, by address. */
static bool holes_are_valid(const accel__segment *segment)
{
    const accel__block *listed = segment->holes;
    for (const accel__block *block = segment->first; block != NULL; block = block->after) {
        if (block->is_mapped || block->is_claimed)
            continue;
        if (listed != block)
            return false;
        listed = listed->bin_after;
    }
    return listed == NULL;
}

static bool segments_are_valid(const accel__heap *heap, int kind, tally *counted)
{
    const accel__segment *previous = NULL;
    for (const accel__segment *s = heap->kinds[kind].segments; s != NULL; s = s->next) {
        if (s->previous != previous || s->heap != heap || (int)s->kind != kind)
            return false;
        if ((s->host != NULL) != (kind == ACCEL__BLOCK_SMALL) ||
            (s->host != NULL && (!s->host->is_slab || s->host->slab != s || s->host->is_free)))
            return false;
        if (!segment_is_valid(s, counted) || !holes_are_valid(s))
            return false;
        previous = s;
    }
    return true;
}

/* The lanes have the free blocks, all of them. */
static bool lanes_are_valid(const accel__heap *heap, const tally *counted)
{
    size_t busy = 0;
    size_t count[2] = {0, 0};
    for (const accel__lane *lane = heap->lanes; lane != NULL; lane = lane->next) {
        busy += lane->busy_count;
        if (lane->passed > lane->epoch)
            return false;
        for (int kind = 0; kind < 2; kind++)
            if (!accel__bins_are_valid(&lane->bins[kind], &count[kind]))
                return false;
    }
    return busy == heap->busy_count && count[0] == counted->free_count[0] &&
           count[1] == counted->free_count[1];
}

bool accel__heap_is_valid(const accel__heap *heap)
{
    tally counted = {0};
    for (int kind = 0; kind < 2; kind++) {
        const accel__heap_kind *of = &heap->kinds[kind];
        if (!segments_are_valid(heap, kind, &counted))
            return false;
        if (of->reserved != counted.reserved[kind] || of->free_bytes != counted.free_bytes[kind])
            return false;
    }
    return counted.busy_count == heap->busy_count && lanes_are_valid(heap, &counted);
}
