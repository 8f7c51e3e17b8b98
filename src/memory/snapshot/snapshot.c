/* snapshot.c: copies how memory lies into flat arrays. Room for the copy is made before a heap is
 * locked; where it does not suffice, the visit counts what it would take and is made again. */
#include "memory/snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/lent.h"
#include "memory/heap/heap.h"

/* ---- one heap ---- */

typedef struct visit {
    accel_memory_snapshot *snapshot;
    const accel__heap *heap;
    size_t segments; /* used, or wanted: more than the capacity where that was too small */
    size_t blocks;
} visit;

static bool has_room(const visit *now)
{
    return now->segments <= now->snapshot->segment_capacity &&
           now->blocks <= now->snapshot->block_capacity;
}

/* The block's neighbourhood is the heap's, but its state, size and stack are its holder's. */
static void copy_block(const accel__block *block, accel__snapshot_segment *segment,
                       accel__snapshot_block *copy)
{
    const uint32_t state = accel__range_state_of(&block->range);
    const bool is_active = state == ACCEL__RANGE_LIVE || state == ACCEL__RANGE_PENDING;
    copy->size = block->size | state;
    copy->requested = is_active ? accel__range_size(&block->range) : 0;
    copy->stack = is_active ? atomic_load_explicit(&block->history, memory_order_relaxed) : 0;
    segment->size += block->size;
    segment->requested += copy->requested;
    segment->allocated += state == ACCEL__RANGE_LIVE ? block->size : 0;
    segment->active += is_active ? block->size : 0;
}

/* Slabs are copied several at a time: a list of blocks that lie anywhere in memory is a row of
 * cache misses, each of which waits for the one before, but not for those of another list. */
enum { WALKERS = 8 };

typedef struct walkers {
    accel__snapshot_segment *segment;
    int count;
    const accel__block *at[WALKERS];
    accel__snapshot_block *to[WALKERS];
} walkers;

static void walk(walkers *all)
{
    for (int busy = all->count; busy > 0;) {
        busy = 0;
        for (int i = 0; i < all->count; i++) {
            const accel__block *block = all->at[i];
            if (block == NULL)
                continue;
            all->at[i] = block->after;
            __builtin_prefetch(block->after);
            copy_block(block, all->segment, all->to[i]++);
            busy++;
        }
    }
    all->count = 0;
}

static void copy_piece(visit *now, walkers *all, const accel__block *block)
{
    const accel__segment *slab = block->is_slab ? block->slab : NULL;
    const size_t first = now->blocks;
    now->blocks += slab != NULL ? slab->block_count : 1;
    if (!has_room(now))
        return;
    if (slab == NULL) {
        copy_block(block, all->segment, &now->snapshot->blocks[first]);
        return;
    }
    all->at[all->count] = slab->first;
    all->to[all->count++] = &now->snapshot->blocks[first];
    if (all->count == WALKERS)
        walk(all);
}

/* The blocks from `first` on that have memory behind them, as one segment. Returns the first behind. */
static const accel__block *copy_stretch(visit *now, const accel__segment *from,
                                        const accel__block *first)
{
    const accel__block *block = first;
    accel__snapshot_segment segment = {
        .address = accel__range_begin(&first->range),
        .stream = from->stream,
        .pool = {now->heap->options.id[0], now->heap->options.id[1]},
        .stack = from->history,
        .is_small = from->kind == ACCEL__BLOCK_SMALL,
        .is_growable = from->is_growable,
        .first_block = now->blocks,
    };
    walkers all = {.segment = &segment};
    now->segments++;
    for (; block != NULL && block->is_mapped; block = block->after)
        copy_piece(now, &all, block);
    walk(&all);
    segment.block_count = now->blocks - segment.first_block;
    if (has_room(now))
        now->snapshot->segments[now->segments - 1] = segment;
    return block;
}

static void copy_segment(const accel__segment *segment, void *user)
{
    visit *now = user;
    const accel__block *block = segment->first;
    while (block != NULL)
        block = block->is_mapped ? copy_stretch(now, segment, block) : block->after;
}

/* Room for so many more. */
static bool make_room(accel_memory_snapshot *snapshot, size_t segments, size_t blocks)
{
    const size_t segment_capacity = snapshot->segment_count + segments;
    const size_t block_capacity = snapshot->block_count + blocks;
    if (segment_capacity > snapshot->segment_capacity) {
        void *grown = accel__reallocate(snapshot->segments,
                                        segment_capacity * sizeof *snapshot->segments);
        if (grown == NULL)
            return false;
        snapshot->segments = grown;
        snapshot->segment_capacity = segment_capacity;
    }
    if (block_capacity > snapshot->block_capacity) {
        void *grown = accel__reallocate(snapshot->blocks,
                                        block_capacity * sizeof *snapshot->blocks);
        if (grown == NULL)
            return false;
        snapshot->blocks = grown;
        snapshot->block_capacity = block_capacity;
    }
    return true;
}

static void count_segment(const accel__segment *segment, void *user)
{
    visit *now = user;
    now->segments += segment->is_growable ? 8 : 1;
    for (const accel__block *block = segment->first; block != NULL; block = block->after)
        now->blocks += block->is_slab ? block->slab->block_count : 1;
}

static bool copy_heap(accel_memory_snapshot *snapshot, accel__heap *heap)
{
    visit now = {.snapshot = snapshot, .heap = heap};
    accel__heap_visit(heap, count_segment, &now);
    for (;;) {
        if (!make_room(snapshot, now.segments + 8, now.blocks + now.blocks / 16 + 64))
            return false;
        now.segments = snapshot->segment_count;
        now.blocks = snapshot->block_count;
        accel__heap_visit(heap, copy_segment, &now);
        if (has_room(&now))
            break;
        now.segments -= snapshot->segment_count;
        now.blocks -= snapshot->block_count;
    }
    snapshot->segment_count = now.segments;
    snapshot->block_count = now.blocks;
    return true;
}

/* ---- one device ---- */

static int by_address(const void *a, const void *b)
{
    const accel__snapshot_segment *first = a;
    const accel__snapshot_segment *second = b;
    return (first->address > second->address) - (first->address < second->address);
}

static bool copy_device(accel_memory_snapshot *snapshot, accel__snapshot_device *to,
                        bool without_events)
{
    to->first_segment = snapshot->segment_count;
    if (to->device == NULL)
        return true;
    for (accel__heap *heap = accel__heap_first(to->device); heap != NULL;
         heap = accel__heap_next(heap))
        if (!copy_heap(snapshot, heap))
            return false;
    to->segment_count = snapshot->segment_count - to->first_segment;
    if (to->segment_count > 1)
        qsort(snapshot->segments + to->first_segment, to->segment_count, sizeof *snapshot->segments,
              by_address);
    return without_events || accel__history_read(to->device, &to->trace);
}

/* ---- which devices ---- */

static accel__device *device_at(const accel__backend *backend, int32_t index)
{
    return atomic_load_explicit(&backend->devices[index], memory_order_acquire);
}

/* Up to the last one that has something to show. */
static int32_t count_devices(const accel__backend *backend)
{
    int32_t count = 0;
    for (int32_t i = 0; i < ACCEL__DEVICE_MAX; i++) {
        const accel__device *device = device_at(backend, i);
        if (device != NULL && (accel__heap_first(device) != NULL || accel__history_has(device)))
            count = i + 1;
    }
    return count;
}

/* A device that begins to allocate meanwhile is left out. */
static bool list_devices(accel_memory_snapshot *snapshot, accel_backend only)
{
    int32_t counts[ACCEL__BACKEND_MAX + 1] = {0};
    const uint32_t backends = accel__registry_count();
    size_t total = 0;
    for (uint32_t i = 1; i <= backends; i++)
        if (only == ACCEL_BACKEND_NONE || only == i)
            total += (size_t)(counts[i] = count_devices(accel__registry_get(i)));
    snapshot->devices = accel__allocate_array(total + 1, sizeof *snapshot->devices);
    if (snapshot->devices == NULL)
        return false;
    for (uint32_t i = 1; i <= backends; i++)
        for (int32_t index = 0; index < counts[i]; index++) {
            accel__snapshot_device *device = &snapshot->devices[snapshot->device_count++];
            device->backend = accel__registry_get(i);
            device->index = index;
            device->device = device_at(device->backend, index);
        }
    return true;
}

/* ---- all of it ---- */

void accel_memory_snapshot_release(accel_memory_snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    for (size_t i = 0; i < snapshot->device_count; i++)
        accel__deallocate(snapshot->devices[i].trace.entries);
    accel__deallocate(snapshot->devices);
    accel__deallocate(snapshot->segments);
    accel__deallocate(snapshot->blocks);
    accel__deallocate(snapshot);
}

accel_status accel__snapshot_take(const accel_memory_snapshot_options *options,
                                  const char *function, accel_memory_snapshot **out_snapshot)
{
    accel_memory_snapshot *snapshot = accel__allocate(sizeof *snapshot);
    accel__backend *only = NULL;
    if (options->backend != ACCEL_BACKEND_NONE) {
        const accel_status status = accel__backend_resolve(options->backend, function, &only);
        if (status != ACCEL_OK) {
            accel__deallocate(snapshot);
            return status;
        }
    }
    bool whole = snapshot != NULL &&
                 list_devices(snapshot, only != NULL ? only->number : ACCEL_BACKEND_NONE);
    for (size_t i = 0; whole && i < snapshot->device_count; i++)
        whole = copy_device(snapshot, &snapshot->devices[i], options->without_events);
    if (!whole) {
        accel_memory_snapshot_release(snapshot);
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, NULL, function,
                           "no host memory for the copy");
    }
    snapshot->config = accel__config_get();
    *out_snapshot = snapshot;
    return ACCEL_OK;
}

/* The event says how many bytes were active. */
static void note_snapshot(const accel_memory_snapshot *snapshot)
{
    static const uint64_t no_pool[2];
    for (size_t i = 0; i < snapshot->device_count; i++) {
        const accel__snapshot_device *device = &snapshot->devices[i];
        uint64_t active = 0;
        for (size_t k = 0; k < device->segment_count; k++)
            active += snapshot->segments[device->first_segment + k].active;
        if (device->device != NULL)
            accel__history_segment(ACCEL__HISTORY_SNAPSHOT, device->device, 0, active, 0, no_pool);
    }
}

accel_status accel_memory_snapshot_create(const accel_memory_snapshot_options *options,
                                          accel_memory_snapshot **out_snapshot)
{
    accel_memory_snapshot_options known = {0};
    accel_memory_snapshot *snapshot = NULL;
    if (out_snapshot == NULL)
        return accel__fail_null(__func__, "out_snapshot");
    *out_snapshot = NULL;
    accel_status status = accel__options_read(options, &known, sizeof known, __func__);
    if (status == ACCEL_OK)
        status = accel__snapshot_take(&known, __func__, &snapshot);
    if (snapshot != NULL && accel__history_is_on())
        note_snapshot(snapshot);
    *out_snapshot = snapshot;
    return status;
}
