/* lane.c: the lanes of a heap: finding them, learning what their streams have passed, letting other
 * lanes have that, and retiring them.
 *
 * A free block carries the lane's epoch at which it came. To learn what a stream has passed, the epoch
 * goes up by one and the stream is asked whether it is idle; or, while it is busy, an event recorded
 * behind its work is. Either, once true, says that the stream has passed all blocks of older epochs:
 * `lane->passed` says so, and any lane may have those. Streams and events are asked without the lock;
 * `is_marking` keeps other threads from the same lane meanwhile. */
#include <sched.h>

#include "base/allocate.h"
#include "base/error.h"
#include "core/device.h"
#include "memory/heap/heap_parts.h"
#include "memory/heap/neighbours.h"
#include "memory/heap/policy.h"

enum { RETIRED_ID = -1 };

/* ---- finding ---- */

static bool is_lane_of(accel__lane *lane, const accel_stream *stream)
{
    return atomic_load_explicit(&lane->id, memory_order_acquire) == stream->id &&
           atomic_load_explicit(&lane->stream, memory_order_relaxed) == stream;
}

static accel__lane *find(accel__heap *heap, const accel_stream *stream)
{
    accel__lane *lane = atomic_load_explicit(&heap->lanes, memory_order_acquire);
    while (lane != NULL && !is_lane_of(lane, stream))
        lane = lane->next;
    return lane;
}

static accel__lane *find_retired(accel__heap *heap)
{
    accel__lane *lane = heap->lanes;
    while (lane != NULL && lane->stream != NULL)
        lane = lane->next;
    return lane;
}

/* With the lock held: makes the lane the stream's. */
static void open_lane(accel__lane *lane, accel_stream *stream)
{
    static _Atomic(uint64_t) last_key;
    accel__stream_hold(stream);
    lane->key = atomic_fetch_add(&last_key, 1) + 1;
    lane->place = stream->place;
    lane->is_closing = false;
    lane->epoch = lane->passed = 1; /* stamp 0: passed from the start */
    lane->marked = 0;
    atomic_store_explicit(&lane->stream, stream, memory_order_relaxed);
    atomic_store_explicit(&lane->id, stream->id, memory_order_release);
}

accel_status accel__lane_of(accel__heap *heap, accel_stream *stream, accel__lane **out_lane)
{
    *out_lane = find(heap, stream);
    if (*out_lane != NULL)
        return ACCEL_OK;
    accel__lane *made = accel__allocate(sizeof *made); /* before the lock: it is large */
    accel__heap_lock(heap);
    accel__lane *lane = find(heap, stream); /* another thread was first */
    const bool is_closed = heap->is_closed;
    if (lane == NULL && !is_closed) {
        lane = find_retired(heap);
        const bool is_new = lane == NULL && made != NULL;
        if (is_new) {
            lane = made;
            made = NULL;
            lane->heap = heap;
            lane->next = heap->lanes;
        }
        if (lane != NULL)
            open_lane(lane, stream);
        if (is_new)
            atomic_store_explicit(&heap->lanes, lane, memory_order_release);
    }
    accel__heap_unlock(heap);
    accel__deallocate(made);
    *out_lane = lane;
    if (lane != NULL)
        return ACCEL_OK;
    return is_closed ? accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, heap->device->backend->table.name,
                                   "accel_memory_alloc", "the pool was released meanwhile")
                     : accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY,
                                   heap->device->backend->table.name, "accel_memory_alloc",
                                   "no host memory to keep account of a stream's memory");
}

/* ---- what a stream has passed ---- */

/* Puts the lane's event behind the work of its stream. False: that cannot be done now. */
static bool mark(accel__lane *lane, accel_stream *stream)
{
    const accel_backend_event *event = &stream->backend->table.event;
    accel_native_stream *native = NULL;
    if (!accel__stream_is_ready(stream, &native)) /* it captures, or this is a callback */
        return false;
    if (lane->mark == NULL &&
        event->create(stream->device->native, false, &lane->mark) != ACCEL_OK) {
        lane->mark = NULL;
        return false;
    }
    return event->record(lane->mark, native) == ACCEL_OK;
}

/* A mark that fails counts as passed: nothing runs on its stream any more. */
static bool mark_is_passed(const accel__lane *lane, const accel_stream *stream)
{
    bool done = false;
    const accel_status asked = stream->backend->table.event.query(lane->mark, &done);
    return accel__work_is_over(asked, done);
}

/* With `is_marking` set, without the lock: what lane->passed and lane->marked become. */
static void look(accel__lane *lane, accel_stream *stream, uint64_t *passed, uint64_t *marked)
{
    const uint64_t now = lane->epoch; /* nobody else raises it meanwhile */
    accel__error_mute();
    if (accel__stream_is_idle(stream)) {
        *passed = now;
        *marked = 0;
    } else {
        if (*marked != 0 && mark_is_passed(lane, stream)) {
            *passed = *marked;
            *marked = 0;
        }
        if (*marked == 0 && mark(lane, stream))
            *marked = now;
    }
    accel__error_unmute();
}

/* With the lock held, which is let go meanwhile. False: there is nothing to learn. */
static bool refresh(accel__lane *lane)
{
    accel_stream *stream = lane->stream;
    if (stream == NULL || lane->is_marking || (!accel__lane_has_free(lane) && !lane->is_closing))
        return false;
    uint64_t passed = lane->passed;
    uint64_t marked = lane->marked;
    lane->epoch++;
    lane->is_marking = true;
    accel__heap_unlock(lane->heap);
    look(lane, stream, &passed, &marked);
    accel__heap_lock(lane->heap);
    lane->passed = passed;
    lane->marked = marked;
    lane->is_marking = false;
    return true;
}

void accel__lanes_refresh(accel__heap *heap, const accel__lane *own)
{
    accel__heap_lock(heap);
    for (accel__lane *lane = heap->lanes; lane != NULL; lane = lane->next)
        if (lane != own)
            refresh(lane);
    accel__heap_unlock(heap);
}

/* ---- adoption ---- */

typedef struct wish {
    const accel__lane *lane;
    size_t rounded;
    size_t alignment;
    bool dedicated;
} wish;

static bool serves(const accel__block *block, const void *user)
{
    const wish *wanted = user;
    return accel__block_is_passed(block) &&
           block->size >= wanted->rounded + accel__block_misfit(block, wanted->alignment) &&
           (!wanted->dedicated || (!block->segment->is_growable && block->before == NULL)) &&
           accel__policy_accepts(block->segment, wanted->rounded, block->size);
}

static accel__block *best_of_others(const accel__heap *heap, accel__block_kind kind,
                                    const wish *wanted)
{
    accel__block *best = NULL;
    for (accel__lane *lane = heap->lanes; lane != NULL; lane = lane->next) {
        if (lane == wanted->lane)
            continue;
        accel__block *found = accel__bins_find(&lane->bins[kind], wanted->rounded, serves, wanted);
        if (found != NULL && (best == NULL || found->size < best->size))
            best = found;
    }
    return best;
}

static bool is_open_to(const accel__lane *lane, const accel__block *block)
{
    return block != NULL && block->is_free &&
           (block->lane == lane || accel__block_is_passed(block));
}

/* The size of the run of blocks from `first` on that the lane may have; the last one of it. */
static size_t run_from(const accel__lane *lane, accel__block *first, accel__block **out_last)
{
    size_t size = first->size;
    *out_last = first;
    while (is_open_to(lane, (*out_last)->after)) {
        *out_last = (*out_last)->after;
        size += (*out_last)->size;
    }
    return size;
}

/* Makes one block of the lane of all from `first` to `last`, out of the bins. */
static accel__block *merge_run(accel__lane *lane, accel__block *first, const accel__block *last)
{
    bool is_last = false;
    accel__heap_unbin(first);
    first->lane = lane;
    first->stamp = lane->epoch; /* some of it may be what the lane itself has not passed */
    while (!is_last) {
        accel__block *next = first->after;
        is_last = next == last;
        accel__heap_unbin(next);
        accel__heap_absorb(first, next);
    }
    return first;
}

/* Neighbours of one lane are merged as they come. */
static bool has_strangers(const accel__lane *own, accel__block_kind kind)
{
    const accel__lane *lane = own->heap->lanes;
    while (lane != NULL && (lane == own || accel__bins_are_empty(&lane->bins[kind])))
        lane = lane->next;
    return lane != NULL;
}

/* The first run of neighbours, of whatever lanes, that is large enough when merged. */
static accel__block *merge_across(accel__lane *lane, accel__block_kind kind, const wish *wanted)
{
    const accel__heap *heap = lane->heap;
    if (heap->kinds[kind].free_bytes < wanted->rounded || !has_strangers(lane, kind))
        return NULL;
    for (const accel__segment *s = heap->kinds[kind].segments; s != NULL; s = s->next) {
        accel__block *last = NULL;
        for (accel__block *block = s->first; block != NULL; block = last->after) {
            last = block;
            if (!is_open_to(lane, block))
                continue;
            const size_t size = run_from(lane, block, &last);
            if (last != block &&
                size >= wanted->rounded + accel__block_misfit(block, wanted->alignment) &&
                (!wanted->dedicated || (!s->is_growable && block->before == NULL)) &&
                accel__policy_accepts(s, wanted->rounded, size))
                return merge_run(lane, block, last);
        }
    }
    return NULL;
}

static bool is_passed(const accel__block *block)
{
    return block != NULL && block->is_free && accel__block_is_passed(block);
}

void accel__lanes_merge(accel__heap *heap)
{
    for (const accel__segment *s = heap->kinds[ACCEL__BLOCK_LARGE].segments; s != NULL; s = s->next)
        for (accel__block *block = s->first; block != NULL; block = block->after) {
            if (!is_passed(block) || !is_passed(block->after))
                continue;
            accel__heap_unbin(block);
            while (is_passed(block->after)) {
                accel__heap_unbin(block->after);
                accel__heap_absorb(block, block->after);
            }
            block->stamp = 0;
            accel__heap_bin(block);
        }
}

static accel__block *adopt(accel__lane *lane, accel__block_kind kind, const wish *wanted)
{
    accel__block *found = best_of_others(lane->heap, kind, wanted);
    if (found != NULL)
        accel__heap_unbin(found);
    else
        found = merge_across(lane, kind, wanted);
    return found != NULL ? accel__heap_shape(lane, found, wanted->rounded, wanted->alignment)
                         : NULL;
}

accel__block *accel__lanes_adopt(accel__lane *lane, size_t rounded, size_t alignment,
                                 bool dedicated)
{
    accel__heap *heap = lane->heap;
    const accel__block_kind kind = accel__heap_kind_of(heap, rounded, alignment, dedicated);
    const wish wanted = {.lane = lane,
                         .rounded = rounded,
                         .alignment = alignment > ACCEL__BLOCK_UNIT ? alignment : ACCEL__BLOCK_UNIT,
                         .dedicated = dedicated};
    const wish slab = {.lane = lane, .rounded = ACCEL__SLAB_SIZE, .alignment = ACCEL__BLOCK_UNIT};
    accel__slabs_close(heap);
    if (!accel__block_reserve(&heap->blocks, 5))
        return NULL;
    accel__block *block = adopt(lane, kind, &wanted);
    if (block != NULL || kind == ACCEL__BLOCK_LARGE)
        return block;
    accel__block *host = adopt(lane, ACCEL__BLOCK_LARGE, &slab);
    return host != NULL ? accel__slab_take(host, rounded, alignment) : NULL;
}

/* ---- retiring ---- */

static void move_bins(accel__lane *from, accel__lane *to)
{
    for (int kind = 0; kind < 2; kind++) {
        accel__bins *bins = &from->bins[kind];
        accel__block *block = NULL;
        while ((block = accel__bins_fit(bins, ACCEL__BLOCK_UNIT)) != NULL) {
            accel__heap_unbin(block);
            block->lane = to;
            block->stamp = 0;
            accel__heap_settle(block);
        }
    }
}

/* With the lock held. The stream to let go, or NULL: it cannot be retired now. */
static accel_stream *retire(accel__lane *lane, accel__lane *heir)
{
    accel_stream *stream = lane->stream;
    if (stream == NULL || !lane->is_closing || lane->busy_count != 0 || lane->is_marking ||
        lane->passed < lane->epoch || heir == lane)
        return NULL;
    move_bins(lane, heir);
    atomic_store_explicit(&lane->id, (uint64_t)RETIRED_ID, memory_order_release);
    atomic_store_explicit(&lane->stream, NULL, memory_order_release);
    return stream;
}

static void let_go(accel_stream *stream, accel_native_event *event)
{
    if (event != NULL)
        stream->backend->table.event.destroy(event);
    accel__stream_let_go(stream);
}

/* Given up by the program, which the hook below may have missed where two threads released at once. */
static bool is_closing(accel__lane *lane)
{
    accel_stream *stream = lane->stream;
    if (stream != NULL && !stream->is_default && stream->references <= stream->held)
        lane->is_closing = true;
    return stream != NULL && lane->is_closing;
}

/* Retires one lane; false: none can be. */
static bool retire_one(accel__heap *heap, accel__lane *heir)
{
    accel_stream *stream = NULL;
    accel_native_event *event = NULL;
    accel__lane *lane = heap->lanes;
    accel__heap_lock(heap);
    for (; lane != NULL; lane = lane->next) {
        if (is_closing(lane) && lane->busy_count != 0 && heap->options.pool != NULL)
            accel__slabs_close(heap); /* it may have the one that is kept */
        if (is_closing(lane) && lane->busy_count == 0)
            refresh(lane);
        stream = retire(lane, heir);
        if (stream != NULL) {
            event = lane->mark;
            lane->mark = NULL;
            break;
        }
    }
    accel__heap_tell_splits(heap);
    accel__heap_unlock(heap);
    if (stream != NULL)
        let_go(stream, event);
    return stream != NULL;
}

void accel__lanes_sweep(accel__heap *heap)
{
    accel__lane *heir = NULL;
    if (accel__lane_of(heap, &heap->device->default_stream, &heir) == ACCEL_OK)
        while (retire_one(heap, heir))
            continue;
}

/* Takes stream and event out of a lane; NULL: somebody who came by is asking them at this moment. */
static accel_stream *end_lane(accel__lane *lane, accel_native_event **out_event)
{
    accel__heap_lock(lane->heap);
    accel_stream *stream = lane->is_marking ? NULL : lane->stream;
    if (stream != NULL) {
        *out_event = lane->mark;
        lane->mark = NULL;
        atomic_store_explicit(&lane->id, (uint64_t)RETIRED_ID, memory_order_release);
        atomic_store_explicit(&lane->stream, NULL, memory_order_release);
    }
    accel__heap_unlock(lane->heap);
    return stream;
}

void accel__lanes_end(accel__heap *heap)
{
    for (accel__lane *lane = heap->lanes; lane != NULL; lane = lane->next)
        while (lane->stream != NULL) {
            accel_native_event *event = NULL;
            accel_stream *stream = end_lane(lane, &event);
            if (stream != NULL)
                let_go(stream, event);
            else
                sched_yield(); /* asking takes no longer than a call of the driver that never waits */
        }
}

/* ---- the end of streams ---- */

/* True where blocks of the lane are handed out, be it to a magazine. */
static bool close_lane(accel__heap *heap, accel_stream *stream)
{
    accel__heap_lock(heap);
    accel__lane *lane = find(heap, stream);
    if (lane != NULL)
        lane->is_closing = true;
    if (lane != NULL && heap->options.pool != NULL)
        accel__slabs_close(heap); /* it may have the one that is kept */
    const bool is_busy = lane != NULL && lane->busy_count != 0;
    accel__heap_tell_splits(heap);
    accel__heap_unlock(heap);
    return is_busy;
}

void accel__lanes_close(accel_stream *stream)
{
    accel__device *device = stream->device;
    bool is_busy = false;
    for (accel__heap *heap = accel__heap_first(device); heap != NULL; heap = accel__heap_next(heap))
        is_busy |= close_lane(heap, stream);
    if (is_busy)
        (void)accel__neighbours_flush(device);
    for (accel__heap *heap = accel__heap_first(device); heap != NULL; heap = accel__heap_next(heap))
        accel__lanes_sweep(heap);
}
