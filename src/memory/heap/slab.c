/* slab.c: slabs: blocks of the large kind that small blocks are cut from. In the map the small blocks take
 * the place of the block that they lie in, which comes back once all of them are free. */
#include "base/allocate.h"
#include "memory/heap/heap_parts.h"

/* Its one small block, on its way. */
static accel__block *open_slab(accel__segment *slab, accel__block *host)
{
    accel__heap *heap = host->segment->heap;
    accel__block *block = accel__block_draw(&heap->blocks);
    *slab = (accel__segment){.heap = heap,
                             .kind = ACCEL__BLOCK_SMALL,
                             .has_splits = host->segment->has_splits,
                             .host = host,
                             .begin = accel__range_begin(&host->range),
                             .size = host->size,
                             .mapped = host->size,
                             .block_count = 1,
                             .first = block,
                             .stream = host->lane->id};
    accel__range_set_begin(&block->range, slab->begin);
    block->size = slab->size;
    block->lane = host->lane;
    block->segment = slab;
    block->stamp = host->stamp;
    block->is_mapped = true;
    host->is_slab = true;
    host->slab = slab;
    accel__segment_link(slab);
    return block;
}

/* The host is on its way, and in the map, again. */
static void end_slab(accel__segment *slab)
{
    slab->host->is_slab = false;
    accel__segment_delist(slab);
    accel__deallocate(slab);
}

accel__block *accel__slab_take(accel__block *host, size_t rounded, size_t alignment)
{
    accel__lane *lane = host->lane;
    /* Other threads may have used up what there was in store while this one was at the driver. */
    const bool has_block = accel__block_reserve(&lane->heap->blocks, 1);
    accel__segment *slab = has_block
                               ? accel__allocate_aligned(sizeof *slab, _Alignof(accel__segment))
                               : NULL;
    if (slab == NULL) {
        accel__heap_count_idle(host);
        accel__heap_settle(host);
        return NULL;
    }
    accel__block *block = open_slab(slab, host);
    accel__pointers_leave(&host->range);
    if (accel__heap_enter(block, lane))
        return accel__heap_shape(lane, block, rounded, alignment);
    accel__block_recycle(&lane->heap->blocks, block);
    end_slab(slab);
    (void)accel__heap_enter(host, lane); /* its place in the map has all the memory it needs */
    accel__heap_count_idle(host);
    accel__heap_settle(host);
    return NULL;
}

/* The one lane whose stream has not passed blocks of the slab; NULL where all are passed. False: several
 * lanes. */
static bool find_owner(const accel__segment *slab, accel__lane **out_lane)
{
    *out_lane = NULL;
    for (const accel__block *block = slab->first; block != NULL; block = block->after) {
        if (accel__block_is_passed(block) || block->lane == *out_lane)
            continue;
        if (*out_lane != NULL)
            return false;
        *out_lane = block->lane;
    }
    return true;
}

void accel__slab_close(accel__segment *slab)
{
    accel__lane *lane = NULL;
    if (!find_owner(slab, &lane))
        return;
    accel__block_store *store = &slab->heap->blocks;
    accel__block *host = slab->host;
    accel__block *block = slab->first;
    accel__lane *heir = lane != NULL ? lane : block->lane;
    while (block != NULL) {
        accel__block *after = block->after;
        accel__heap_unbin(block);
        accel__pointers_leave(&block->range);
        accel__block_recycle(store, block);
        block = after;
    }
    accel__heap_count_idle(host);
    end_slab(slab);
    host->lane = heir;
    host->stamp = lane != NULL ? lane->epoch : 0;
    (void)accel__heap_enter(host, heir); /* its place in the map has all the memory it needs */
    accel__heap_settle(host);
}

void accel__slabs_close(accel__heap *heap)
{
    accel__segment *slab = heap->kinds[ACCEL__BLOCK_SMALL].segments;
    while (slab != NULL) {
        accel__segment *next = slab->next;
        if (slab->busy_count == 0)
            accel__slab_close(slab);
        slab = next;
    }
}
