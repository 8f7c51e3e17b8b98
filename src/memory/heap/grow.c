/* grow.c: growable segments: a new block from addresses that get memory.
 *
 * Growing claims the blocks and holes of the place it chose, so that nobody else touches them while the
 * driver is called without the lock, and then makes one block of them. Before it adds to what is
 * reserved beyond the budget, free pages elsewhere lose their memory (shrink.c). */
#include "base/allocate.h"
#include "base/error.h"
#include "core/device.h"
#include "memory/heap/heap_note.h"
#include "memory/heap/policy.h"
#include "memory/heap/position.h"

static const accel_backend_virtual *virtual_of(const accel__heap *heap)
{
    return &heap->device->backend->table.virtual_memory;
}

bool accel__heap_grows(const accel__heap *heap, const accel__config *config)
{
    const accel__heap_options *options = &heap->options;
    return config->expandable_segments && !options->never_grow && !options->no_split &&
           options->source_alloc == NULL &&
           accel__backend_owns(heap->device->backend, ACCEL__GROUP_VIRTUAL);
}

/* ---- a new range of addresses ---- */

enum { LEAST_RESERVE = 64 * 1024 * 1024 };

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) & ~(unit - 1);
}

/* An eighth more than the device has, so that it never runs out; less where the system refuses that. */
static accel_status reserve(const accel__heap *heap, size_t least, size_t unit, size_t *out_size,
                            void **out_address)
{
    accel__device *device = heap->device;
    size_t unused = 0;
    size_t total = 0;
    accel_status status = device->backend->table.device.memory_info(
        accel__inventory_table_index(device->backend, device->id.index), &unused, &total);
    const size_t need = round_up(least > LEAST_RESERVE ? least : LEAST_RESERVE, unit);
    size_t size = status == ACCEL_OK ? round_up(total + total / 8, unit) : 16 * need;
    do {
        size = size > need ? size : need;
        status = virtual_of(heap)->reserve(device->native, size, out_address);
        *out_size = size;
        size /= 4;
        size = round_up(size, unit);
    } while (status != ACCEL_OK && *out_size > need);
    return status;
}

/* Its one hole. NULL: no host memory. */
static accel__block *make_hole(accel__segment *segment)
{
    accel__block_store *store = &segment->heap->blocks;
    if (!accel__block_reserve(store, 1))
        return NULL;
    accel__block *hole = accel__block_draw(store);
    accel__range_set_begin(&hole->range, segment->begin);
    accel__range_set_state(&hole->range, ACCEL__RANGE_FREE);
    hole->size = segment->size;
    hole->segment = segment;
    hole->lane = NULL;
    return hole;
}

/* False: no host memory. Once it is entered another thread may take it out again, as it is empty. */
static bool enter(accel__segment *segment)
{
    accel__heap *heap = segment->heap;
    accel__heap_lock(heap);
    accel__block *hole = make_hole(segment);
    segment->first = hole;
    if (hole != NULL) {
        accel__segment_link(segment);
        accel__hole_open(hole);
    }
    accel__heap_unlock(heap);
    return hole != NULL;
}

static accel_status no_host_memory(const accel__heap *heap)
{
    return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, heap->device->backend->table.name,
                       "accel_memory_alloc", "no host memory to keep account of a segment");
}

static accel_status make_segment(accel__lane *lane, size_t least)
{
    accel__heap *heap = lane->heap;
    accel__segment *segment = accel__allocate_aligned(sizeof *segment, _Alignof(accel__segment));
    if (segment == NULL)
        return no_host_memory(heap);
    size_t unit = 0;
    void *address = NULL;
    accel_status status = virtual_of(heap)->granularity(heap->device->native, &unit);
    if (status == ACCEL_OK)
        status = reserve(heap, least + unit, unit, &segment->size, &address);
    if (status ==
        ACCEL_ERROR_OUT_OF_MEMORY) /* where addresses are short, fixed segments still do */
        status = ACCEL_ERROR_UNSUPPORTED;
    if (status == ACCEL_OK) {
        segment->heap = heap;
        segment->kind = ACCEL__BLOCK_LARGE;
        segment->is_growable = true;
        segment->begin = (uintptr_t)address;
        segment->granularity = unit;
        segment->stream = lane->id;
        if (enter(segment))
            return ACCEL_OK;
        virtual_of(heap)->release(heap->device->native, address, segment->size);
        status = no_host_memory(heap);
    }
    accel__deallocate(segment);
    return status;
}

/* A growable segment without memory that nobody works at, out of the heap; NULL: there is none. */
static accel__segment *take_empty(accel__heap *heap)
{
    accel__heap_lock(heap);
    accel__segment *segment = heap->kinds[ACCEL__BLOCK_LARGE].segments;
    while (segment != NULL && (segment->holes == NULL || segment->holes->size != segment->size))
        segment = segment->next;
    if (segment != NULL)
        accel__segment_unlink(segment);
    accel__heap_unlock(heap);
    return segment;
}

void accel__segments_end(accel__heap *heap)
{
    accel__segment *segment = NULL;
    while ((segment = take_empty(heap)) != NULL) {
        virtual_of(heap)->release(heap->device->native, (void *)segment->begin, segment->size);
        accel__deallocate(segment);
        accel__segments_left(heap, 1);
    }
}

/* ---- claiming a place, with the lock held ---- */

/* A place that a thread works at: a run of claimed blocks and holes. */
typedef struct claim {
    accel__lane *lane;
    accel__position place;
    bool limit_forbade;
    accel__block *first;
    accel__block *last;
    size_t added; /* bytes of the holes among them */
} claim;

static void claim_block(accel__block *block)
{
    accel__heap_unbin(block);
    block->is_claimed = true;
    accel__heap_count_busy(block);
}

/* Only the pages that the place needs, and `ahead` more bytes behind them. Gives what was claimed. */
static accel__block *claim_hole(claim *at, accel__block *hole, size_t ahead)
{
    const size_t unit = hole->segment->granularity;
    const uintptr_t begin = accel__range_begin(&hole->range);
    const uintptr_t end = accel__block_end(hole);
    const uintptr_t place_end = at->place.begin + at->place.size;
    const uintptr_t from = at->place.begin > begin ? at->place.begin & ~(uintptr_t)(unit - 1)
                                                   : begin;
    uintptr_t to = place_end < end ? round_up(place_end, unit) : end;
    to += ahead < end - to ? ahead : end - to;
    accel__hole_claim(hole);
    if (from > begin) {
        accel__block *rest = accel__hole_cut(hole, from - begin);
        accel__hole_open(hole);
        hole = rest;
    }
    if (to < end)
        accel__hole_open(accel__hole_cut(hole, to - from));
    at->added += hole->size;
    return hole;
}

/* What begins a block of the map must be in it before it can be handed out. */
static bool enter_hole(const claim *at, accel__block *hole)
{
    return accel__heap_enter(hole, at->lane);
}

static void unclaim(claim *at)
{
    accel__block *block = at->first;
    const accel__block *last = at->last;
    bool is_last = block == NULL;
    if (!is_last && !block->is_mapped)
        accel__pointers_leave(&block->range);
    while (!is_last) {
        accel__block *after = block->after;
        is_last = block == last;
        block->is_claimed = false;
        if (block->is_mapped) {
            accel__heap_count_idle(block);
            accel__heap_bin(accel__heap_join(block)); /* neighbours may have come free meanwhile */
        } else {
            accel__hole_open(block);
        }
        block = after;
    }
}

static accel__block *claim_piece(claim *at, accel__block *piece, size_t ahead)
{
    if (!piece->is_mapped)
        return claim_hole(at, piece, ahead);
    claim_block(piece);
    return piece;
}

static bool claim_place(claim *at, size_t ahead)
{
    const uintptr_t end = at->place.begin + at->place.size;
    accel__heap *heap = at->lane->heap;
    if (!accel__block_reserve(&heap->blocks, 2 * (size_t)at->place.holes + 4))
        return false;
    at->added = 0;
    at->first = at->last = claim_piece(at, at->place.first, ahead);
    accel__block *next = NULL;
    while ((next = at->last->after) != NULL && accel__range_begin(&next->range) < end)
        at->last = claim_piece(at, next, ahead);
    if (at->first->is_mapped || enter_hole(at, at->first))
        return true;
    accel__block *first = at->first; /* was not entered: unclaim must not take it out */
    if (first != at->last) {
        at->first = first->after;
        unclaim(at);
    }
    accel__hole_open(first);
    return false;
}

/* ---- memory for its holes, without the lock ---- */

static void decommit_before(const claim *at, const accel__block *end)
{
    for (accel__block *block = at->first; block != end; block = block->after)
        if (!block->is_mapped)
            virtual_of(at->lane->heap)
                ->decommit(at->lane->heap->device->native,
                           (void *)accel__range_begin(&block->range), block->size);
}

static accel_status commit(const claim *at)
{
    const accel__heap *heap = at->lane->heap;
    accel__block *block = at->first;
    for (;; block = block->after) {
        const accel_status status = block->is_mapped
                                        ? ACCEL_OK
                                        : virtual_of(heap)->commit(
                                              heap->device->native,
                                              (void *)accel__range_begin(&block->range),
                                              block->size);
        if (status != ACCEL_OK) {
            decommit_before(at, block);
            return status;
        }
        if (block == at->last)
            return ACCEL_OK;
    }
}

/* ---- one block of it all, with the lock held ---- */

/* The hole has memory now. */
static void map_hole(const claim *at, accel__block *hole)
{
    accel__segment *segment = hole->segment;
    hole->is_mapped = true;
    segment->mapped += hole->size;
    accel__heap *heap = segment->heap;
    heap->kinds[segment->kind].reserved += hole->size;
    if (accel__heap_reserved(heap) > heap->peak_reserved)
        heap->peak_reserved = accel__heap_reserved(heap);
    accel__note_mapped(segment, accel__range_begin(&hole->range), hole->size, at->lane->id);
}

static void absorb_claimed(accel__block *block, accel__block *after, bool was_hole)
{
    accel__segment *segment = block->segment;
    if (!was_hole) {
        accel__heap_absorb(block, after);
        return;
    }
    block->size += after->size;
    block->after = after->after;
    if (block->after != NULL)
        block->after->before = block;
    accel__block_recycle(&segment->heap->blocks, after);
}

static accel__block *merge(const claim *at)
{
    accel__block *block = at->first;
    const bool was_hole = !block->is_mapped;
    bool is_last = block == at->last;
    if (was_hole) {
        map_hole(at, block);
        block->segment->block_count++;
    } else {
        accel__heap_count_idle(block);
    }
    block->lane = at->lane;
    block->is_claimed = false;
    block->stamp = is_last && was_hole ? 0 : at->lane->epoch;
    while (!is_last) {
        accel__block *after = block->after;
        const bool is_hole = !after->is_mapped;
        is_last = after == at->last;
        if (is_hole)
            map_hole(at, after);
        else
            accel__heap_count_idle(after);
        absorb_claimed(block, after, is_hole);
    }
    return block;
}

static accel__block *finish(claim *at, size_t rounded)
{
    accel__block *block = merge(at);
    const size_t front = at->place.begin - accel__range_begin(&block->range);
    if (front != 0) {
        accel__block *rest = accel__heap_cut(block, front);
        accel__heap_bin(accel__heap_join(block));
        if (rest == NULL)
            return NULL;
        block = rest;
    }
    block = accel__heap_shape(at->lane, block, rounded, ACCEL__BLOCK_UNIT);
    accel__block *rest = block != NULL ? block->after : NULL;
    if (rest != NULL && rest->is_free) { /* what lies behind it may have come free meanwhile */
        accel__heap_unbin(rest);
        accel__heap_bin(accel__heap_join(rest));
    }
    return block;
}

/* ---- the whole ---- */

/* With the lock held: how much more than the place needs may be added, and how much is too much. */
static void plan(const claim *at, size_t *out_ahead, size_t *out_excess)
{
    accel__heap *heap = at->lane->heap;
    const size_t unit = at->place.segment->granularity;
    const size_t need = accel__heap_reserved(heap) + at->place.added;
    const size_t budget = accel__policy_budget(heap, accel__heap_live(heap) + at->place.size);
    const size_t ahead = accel__policy_ahead(heap);
    const size_t room = budget > need ? budget - need : 0;
    *out_ahead = (ahead < room ? ahead : room) & ~(unit - 1);
    *out_excess = need > budget && accel__policy_may_steal(heap) ? need - budget : 0;
}

/* The place is claimed: gives it memory and takes the block. */
static accel_status fill(claim *at, size_t rounded, size_t excess, accel__block **out_block)
{
    accel__heap *heap = at->lane->heap;
    if (excess != 0)
        accel__shrink(heap, excess);
    accel_status status = ACCEL_ERROR_OUT_OF_MEMORY;
    at->limit_forbade = !accel__limit_take(heap->device, at->added);
    if (!at->limit_forbade) {
        status = commit(at);
        accel__limit_settle(heap->device, at->added, status == ACCEL_OK);
    }
    accel__heap_lock(heap);
    if (status != ACCEL_OK)
        unclaim(at);
    else
        *out_block = finish(at, rounded);
    accel__heap_tell_splits(heap);
    accel__heap_unlock(heap);
    if (status == ACCEL_OK && *out_block == NULL)
        status = no_host_memory(heap);
    return status;
}

/* OK with a NULL block: there is no place. */
static accel_status try_grow(accel__lane *lane, size_t rounded, size_t alignment, bool bare,
                             bool *out_limit_forbade, accel__block **out_block)
{
    accel__heap *heap = lane->heap;
    claim at = {.lane = lane};
    *out_limit_forbade = false;
    size_t ahead = 0;
    size_t excess = 0;
    accel__heap_lock(heap);
    at.place = accel__position_find(lane, rounded, alignment);
    bool has_host_memory = true;
    if (at.place.segment != NULL) {
        plan(&at, &ahead, &excess);
        has_host_memory = claim_place(&at, bare ? 0 : ahead);
    }
    accel__heap_unlock(heap);
    if (!has_host_memory)
        return no_host_memory(heap);
    if (at.place.segment == NULL)
        return ACCEL_OK;
    const accel_status status = fill(&at, rounded, excess, out_block);
    *out_limit_forbade = at.limit_forbade;
    return status;
}

/* A new segment is empty, and others who give back what is empty may be faster than its maker. */
enum { SEGMENTS_TRIED = 4 };

accel_status accel__grow(accel__lane *lane, size_t rounded, size_t alignment, bool bare,
                         bool *out_limit_forbade, accel__block **out_block)
{
    *out_block = NULL;
    accel_status status = try_grow(lane, rounded, alignment, bare, out_limit_forbade, out_block);
    for (int i = 0; i < SEGMENTS_TRIED && status == ACCEL_OK && *out_block == NULL; i++) {
        status = make_segment(lane, rounded + alignment);
        if (status == ACCEL_OK)
            status = try_grow(lane, rounded, alignment, bare, out_limit_forbade, out_block);
    }
    return *out_block != NULL || status != ACCEL_OK ? status : ACCEL_ERROR_UNSUPPORTED;
}
