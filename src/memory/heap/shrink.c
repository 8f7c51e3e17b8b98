/* shrink.c: takes memory from free pages of growable segments. */
#include "core/device.h"
#include "memory/heap/grow.h"
#include "memory/heap/heap_note.h"
#include "memory/heap/policy.h"
#include "memory/pool.h"

/* The whole pages of a block. */
static size_t pages_of(const accel__block *block, uintptr_t *out_begin)
{
    const size_t unit = block->segment->granularity;
    const uintptr_t mask = ~(uintptr_t)(unit - 1);
    const uintptr_t begin = (accel__range_begin(&block->range) + unit - 1) & mask;
    const uintptr_t end = accel__block_end(block) & mask;
    *out_begin = begin;
    return end > begin ? end - begin : 0;
}

static bool has_pages(const accel__block *block, const void *user)
{
    uintptr_t begin = 0;
    (void)user;
    return block->segment->is_growable && accel__block_is_passed(block) &&
           pages_of(block, &begin) != 0;
}

/* The free block with the most, roughly: of all lanes and both kinds the largest one that has any. */
static accel__block *find(const accel__heap *heap)
{
    accel__block *best = NULL;
    for (const accel__lane *lane = heap->lanes; lane != NULL; lane = lane->next)
        for (int kind = 0; kind < 2; kind++) {
            accel__block *found = accel__bins_find_largest(&lane->bins[kind], has_pages, NULL);
            if (found != NULL && (best == NULL || found->size > best->size))
                best = found;
        }
    return best;
}

/* Makes a claimed hole of the block's pages, which still have their memory. NULL: no host memory. */
static accel__block *cut_out(accel__block *block)
{
    accel__segment *segment = block->segment;
    uintptr_t begin = 0;
    const size_t size = pages_of(block, &begin);
    const size_t front = begin - accel__range_begin(&block->range);
    if (!accel__block_reserve(&segment->heap->blocks, 2))
        return NULL;
    accel__heap_unbin(block);
    accel__block *back = front + size < block->size ? accel__heap_cut(block, front + size) : NULL;
    if (back == NULL && front + size < block->size) {
        accel__heap_bin(block);
        return NULL;
    }
    accel__block *hole = front != 0 ? accel__heap_cut(block, front) : block;
    if (front != 0)
        accel__heap_bin(block);
    if (back != NULL)
        accel__heap_bin(back);
    if (hole == NULL) /* `block` has lost no more than its back */
        return NULL;
    accel__pointers_leave(&hole->range);
    hole->is_mapped = false;
    hole->is_claimed = true;
    segment->block_count--;
    segment->mapped -= hole->size;
    segment->heap->kinds[segment->kind].reserved -= hole->size;
    accel__note_unmapped(segment, begin, hole->size);
    return hole;
}

size_t accel__shrink(accel__heap *heap, size_t wanted)
{
    const accel_backend_virtual *table = &heap->device->backend->table.virtual_memory;
    size_t bytes = 0;
    accel__lanes_refresh(heap, NULL);
    accel__heap_lock(heap);
    accel__lanes_merge(heap); /* a page may lie in blocks of several */
    while (bytes < wanted && accel__pool_may_release(heap->options.pool)) {
        accel__block *block = find(heap);
        accel__block *hole = block != NULL ? cut_out(block) : NULL;
        if (hole == NULL)
            break;
        const size_t size = hole->size;
        heap->leaving++;
        accel__policy_stole(heap);
        accel__heap_tell_splits(heap);
        accel__heap_unlock(heap);
        table->decommit(heap->device->native, (void *)accel__range_begin(&hole->range), size);
        accel__limit_give(heap->device, size);
        bytes += size;
        accel__heap_lock(heap);
        heap->leaving--;
        accel__hole_open(hole);
    }
    accel__heap_tell_splits(heap);
    accel__heap_unlock(heap);
    return bytes;
}
