/* segment.c: fixed segments: from the heap's source and back to it. */
#include "base/allocate.h"
#include "base/error.h"
#include "core/device.h"
#include "memory/heap/heap_note.h"
#include "memory/heap/heap_parts.h"

/* ---- the source ---- */

static accel_status source_alloc(const accel__heap *heap, size_t size, size_t alignment,
                                 void **out_pointer)
{
    const accel__heap_options *options = &heap->options;
    const size_t least = alignment > ACCEL__BLOCK_UNIT ? alignment : ACCEL__BLOCK_UNIT;
    *out_pointer = NULL;
    if (options->source_alloc == NULL)
        return heap->device->backend->table.memory.alloc(heap->device->native, size, least,
                                                         out_pointer);
    accel_status status = options->source_alloc(options->source_user, size, least, out_pointer);
    if (status == ACCEL_OK &&
        (*out_pointer == NULL || ((uintptr_t)*out_pointer & (least - 1)) != 0)) {
        void *wrong = *out_pointer;
        *out_pointer = NULL;
        if (wrong != NULL)
            options->source_free(options->source_user, wrong, size);
        status = accel__fail(ACCEL_ERROR_INVALID_STATE, NULL, "accel_memory_alloc",
                             "the pool's allocator gave %p, which is not aligned to %zu bytes",
                             wrong, least);
    }
    return status;
}

static void source_free(const accel__heap *heap, void *pointer, size_t size)
{
    const accel__heap_options *options = &heap->options;
    if (options->source_alloc == NULL)
        heap->device->backend->table.memory.free(heap->device->native, pointer);
    else
        options->source_free(options->source_user, pointer, size);
}

/* ---- the heap's list ---- */

void accel__segment_link(accel__segment *segment)
{
    accel__heap *heap = segment->heap;
    accel__heap_kind *kind = &heap->kinds[segment->kind];
    segment->previous = NULL;
    segment->next = kind->segments;
    if (kind->segments != NULL)
        kind->segments->previous = segment;
    kind->segments = segment;
    kind->reserved += segment->mapped;
    segment->number = segment->host != NULL ? segment->host->segment->number
                                            : ++heap->segment_number;
    if (accel__heap_reserved(heap) > heap->peak_reserved)
        heap->peak_reserved = accel__heap_reserved(heap);
}

void accel__segment_delist(accel__segment *segment)
{
    accel__heap_kind *kind = &segment->heap->kinds[segment->kind];
    if (segment->previous != NULL)
        segment->previous->next = segment->next;
    else
        kind->segments = segment->next;
    if (segment->next != NULL)
        segment->next->previous = segment->previous;
    segment->next = segment->previous = NULL;
    kind->reserved -= segment->mapped;
}

/* Blocks of several lanes may be left: nobody merges them any more. */
void accel__segment_unlink(accel__segment *segment)
{
    accel__block *block = segment->first;
    while (block != NULL) {
        accel__block *after = block->after;
        if (block->is_mapped) {
            accel__heap_unbin(block);
            accel__pointers_leave(&block->range);
        }
        accel__block_recycle(&segment->heap->blocks, block);
        block = after;
    }
    segment->first = segment->holes = NULL;
    segment->block_count = 0;
    segment->heap->leaving++;
    accel__segment_delist(segment);
    if (!segment->is_growable)
        accel__note_segment_freed(segment);
}

void accel__segments_left(accel__heap *heap, size_t count)
{
    accel__heap_lock(heap);
    heap->leaving -= count;
    accel__heap_unlock(heap);
}

size_t accel__segments_give_back(accel__heap *heap, accel__segment *segments)
{
    size_t bytes = 0;
    size_t count = 0;
    while (segments != NULL) {
        accel__segment *next = segments->next;
        source_free(heap, (void *)segments->begin, segments->size);
        accel__limit_give(heap->device, segments->size);
        bytes += segments->size;
        accel__deallocate(segments);
        segments = next;
        count++;
    }
    if (count != 0)
        accel__segments_left(heap, count);
    return bytes;
}

/* ---- making one ---- */

static accel_status no_host_memory(const accel__heap *heap)
{
    return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, heap->device->backend->table.name,
                       "accel_memory_alloc", "no host memory to keep account of a segment");
}

/* The first block, which is all of it, on its way. NULL: no host memory. */
static accel__block *make_first(accel__lane *lane, accel__segment *segment)
{
    accel__heap *heap = lane->heap;
    if (!accel__block_reserve(&heap->blocks, 3))
        return NULL;
    accel__block *block = accel__block_draw(&heap->blocks);
    accel__range_set_begin(&block->range, segment->begin);
    if (!accel__heap_enter(block, lane)) {
        accel__block_recycle(&heap->blocks, block);
        return NULL;
    }
    block->size = segment->size;
    block->lane = lane;
    block->segment = segment;
    block->stamp = 0; /* nobody has used it */
    block->is_mapped = true;
    segment->first = block;
    segment->block_count = 1;
    return block;
}

/* Into the heap, with the block counted as busy. */
static accel__block *enter(accel__lane *lane, accel__segment *segment)
{
    accel__heap *heap = lane->heap;
    accel__heap_lock(heap);
    accel__block *block = make_first(lane, segment);
    if (block != NULL) {
        accel__segment_link(segment);
        accel__heap_count_busy(block);
        accel__note_segment_made(segment);
    }
    accel__heap_unlock(heap);
    return block;
}

accel_status accel__segment_make(accel__lane *lane, size_t size, size_t alignment, bool is_uncached,
                                 accel__block **out_block)
{
    accel__heap *heap = lane->heap;
    *out_block = NULL;
    accel__segment *segment = accel__allocate_aligned(sizeof *segment, _Alignof(accel__segment));
    if (segment == NULL)
        return no_host_memory(heap);
    void *pointer = NULL;
    accel_status status = source_alloc(heap, size, alignment, &pointer);
    if (status == ACCEL_OK) {
        *segment = (accel__segment){.heap = heap,
                                    .kind = ACCEL__BLOCK_LARGE,
                                    .has_splits = true,
                                    .is_uncached = is_uncached,
                                    .is_oversize = size >= accel__config_get()->max_split_size,
                                    .begin = (uintptr_t)pointer,
                                    .size = size,
                                    .mapped = size,
                                    .stream = lane->id};
        *out_block = enter(lane, segment);
        if (*out_block != NULL)
            return ACCEL_OK;
        source_free(heap, pointer, size);
        status = no_host_memory(heap);
    }
    accel__deallocate(segment);
    return status;
}
