/* memory_trace.c: pairs the events of a history. See memory_trace.h.
 *
 * Invariant: at most one block lives at an address at a time: an event that says otherwise ends the
 * older one first, so that every block is allocated once and freed at most once. */
#include "cli/memory_trace.h"

#include <stdlib.h>
#include <string.h>

#include "cli/size_text.h"

/* What is known of an address. */
typedef enum place_state { PLACE_UNSEEN, PLACE_LIVE, PLACE_PENDING, PLACE_ENDED } place_state;

typedef struct place {
    uint64_t address;
    uint32_t block; /* the newest there */
    place_state state;
} place;

typedef struct pairing {
    const accel__snapshot *snapshot;
    accel__trace *trace;
    place *places; /* open addressing by address; UNSEEN: free */
    size_t place_mask;
    size_t stream_capacity;
    bool has_completions; /* else each free is complete at once */
} pairing;

/* ---- places ---- */

static size_t slots_for(size_t count)
{
    size_t slots = 64;
    while (slots < count * 2)
        slots *= 2;
    return slots;
}

/* There are fewer addresses than half the slots, so this ends. */
static place *place_at(pairing *p, uint64_t address)
{
    size_t at = (size_t)accel__snapshot_hash(address) & p->place_mask;
    while (p->places[at].state != PLACE_UNSEEN && p->places[at].address != address)
        at = (at + 1) & p->place_mask;
    p->places[at].address = address;
    return &p->places[at];
}

/* ---- streams ---- */

/* Streams are few; the newest is the likeliest. */
static bool stream_index(pairing *p, int64_t stream, uint32_t *out_index)
{
    accel__trace *trace = p->trace;
    for (size_t i = trace->stream_count; i-- > 0;)
        if (trace->streams[i] == stream) {
            *out_index = (uint32_t)i;
            return true;
        }
    if (trace->stream_count == ACCEL__TRACE_STREAM_MAX) {
        trace->has_more_streams = true;
        *out_index = ACCEL__TRACE_STREAM_MAX - 1;
        return true;
    }
    if (trace->stream_count == p->stream_capacity) {
        const size_t wanted = p->stream_capacity > 0 ? p->stream_capacity * 2 : 16;
        int64_t *grown = reallocarray(trace->streams, wanted, sizeof *grown);
        if (grown == NULL)
            return false;
        trace->streams = grown;
        p->stream_capacity = wanted;
    }
    *out_index = (uint32_t)trace->stream_count;
    trace->streams[trace->stream_count++] = stream;
    return true;
}

/* ---- steps ---- */

/* Whether the newest step is the request of that block's free. */
static bool just_requested(const accel__trace *trace, uint32_t block)
{
    const size_t count = trace->step_count;
    return count > 0 && trace->steps[count - 1].block == block &&
           trace->steps[count - 1].kind == ACCEL__TRACE_REQUEST;
}

static void add_step(pairing *p, uint32_t block, accel__trace_step_kind kind)
{
    accel__trace *trace = p->trace;
    if (kind == ACCEL__TRACE_REQUEST && !p->has_completions)
        kind = ACCEL__TRACE_FREE;
    if (kind == ACCEL__TRACE_COMPLETE && just_requested(trace, block))
        trace->steps[trace->step_count - 1].kind = ACCEL__TRACE_FREE;
    else
        trace->steps[trace->step_count++] = (accel__trace_step){block, kind};
}

static bool add_block(pairing *p, place *at, uint64_t size, int64_t stream)
{
    accel__trace *trace = p->trace;
    accel__trace_block *block = &trace->blocks[trace->block_count];
    *block = (accel__trace_block){.address = at->address, .size = size};
    if (!stream_index(p, stream, &block->stream))
        return false;
    at->block = (uint32_t)trace->block_count++;
    at->state = PLACE_LIVE;
    return true;
}

/* A block that was there before the history began. */
static bool add_placed(pairing *p, place *at, uint64_t size, int64_t stream, bool is_live)
{
    accel__trace *trace = p->trace;
    if (!add_block(p, at, size, stream))
        return false;
    trace->blocks[at->block].was_live = is_live;
    trace->blocks[at->block].was_pending = !is_live;
    at->state = is_live ? PLACE_LIVE : PLACE_PENDING;
    trace->placed[trace->placed_count++] = at->block;
    return true;
}

static bool pair_alloc(pairing *p, place *at, const accel__snapshot_event *event)
{
    if (at->state == PLACE_LIVE) {
        add_step(p, at->block, ACCEL__TRACE_FREE);
        p->trace->repaired_count++;
    } else if (at->state == PLACE_PENDING && p->has_completions) {
        add_step(p, at->block, ACCEL__TRACE_COMPLETE);
        p->trace->repaired_count++;
    }
    if (!add_block(p, at, event->size, event->stream))
        return false;
    add_step(p, at->block, ACCEL__TRACE_ALLOC);
    return true;
}

static bool pair_request(pairing *p, place *at, const accel__snapshot_event *event)
{
    if (at->state == PLACE_UNSEEN && !add_placed(p, at, event->size, event->stream, true))
        return false;
    if (at->state != PLACE_LIVE) {
        p->trace->repaired_count++;
        return true;
    }
    add_step(p, at->block, ACCEL__TRACE_REQUEST);
    at->state = p->has_completions ? PLACE_PENDING : PLACE_ENDED;
    return true;
}

static bool pair_complete(pairing *p, place *at, const accel__snapshot_event *event)
{
    if (at->state == PLACE_UNSEEN && !add_placed(p, at, event->size, event->stream, false))
        return false;
    if (at->state == PLACE_PENDING)
        add_step(p, at->block, ACCEL__TRACE_COMPLETE);
    else if (at->state == PLACE_LIVE) /* the request was left out of the history */
        add_step(p, at->block, ACCEL__TRACE_FREE);
    else
        p->trace->repaired_count++;
    at->state = PLACE_ENDED;
    return true;
}

static bool pair_events(pairing *p, const accel__snapshot_event *events, size_t count)
{
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        if (events[i].action == ACCEL__EVENT_ALLOC)
            good = pair_alloc(p, place_at(p, events[i].address), &events[i]);
        else if (events[i].action == ACCEL__EVENT_FREE_REQUESTED)
            good = pair_request(p, place_at(p, events[i].address), &events[i]);
        else if (events[i].action == ACCEL__EVENT_FREE_COMPLETED)
            good = pair_complete(p, place_at(p, events[i].address), &events[i]);
    }
    return good;
}

/* What the segments hold at the end and no event speaks of. */
static bool pair_segment(pairing *p, const accel__snapshot_segment *segment)
{
    for (size_t i = 0; i < segment->block_count; i++) {
        const accel__snapshot_block *block = &p->snapshot->blocks[segment->first_block + i];
        if (block->state == ACCEL__BLOCK_INACTIVE)
            continue;
        const uint64_t size = block->requested > 0 ? block->requested : block->size;
        place *at = place_at(p, block->address);
        if (at->state == PLACE_UNSEEN &&
            !add_placed(p, at, size, segment->stream, block->state == ACCEL__BLOCK_ALLOCATED))
            return false;
    }
    return true;
}

static bool pair_segments(pairing *p, size_t device)
{
    bool good = true;
    for (size_t i = 0; good && i < p->snapshot->segment_count; i++)
        if ((uint64_t)p->snapshot->segments[i].device == device)
            good = pair_segment(p, &p->snapshot->segments[i]);
    return good;
}

/* ---- figures ---- */

static void measure_live(accel__trace *trace)
{
    uint64_t live = 0;
    for (size_t i = 0; i < trace->placed_count; i++)
        if (trace->blocks[trace->placed[i]].was_live)
            live = accel__size_add(live, trace->blocks[trace->placed[i]].size);
    trace->live_at_start = live;
    trace->peak_live = live;
    for (size_t i = 0; i < trace->step_count; i++) {
        const accel__trace_step *step = &trace->steps[i];
        const uint64_t size = trace->blocks[step->block].size;
        if (step->kind == ACCEL__TRACE_ALLOC)
            live = accel__size_add(live, size);
        else if (step->kind != ACCEL__TRACE_COMPLETE)
            live -= size < live ? size : live;
        if (live > trace->peak_live)
            trace->peak_live = live;
    }
}

/* From what is reserved at the end, backwards. */
static void measure_reserved(pairing *p, size_t device, const accel__snapshot_event *events,
                             size_t count)
{
    uint64_t reserved = 0;
    for (size_t i = 0; i < p->snapshot->segment_count; i++)
        if ((uint64_t)p->snapshot->segments[i].device == device)
            reserved = accel__size_add(reserved, p->snapshot->segments[i].size);
    uint64_t peak = reserved;
    for (size_t i = count; i-- > 0;) {
        const uint64_t size = events[i].size;
        const accel__event_action action = events[i].action;
        if (action == ACCEL__EVENT_SEGMENT_ALLOC || action == ACCEL__EVENT_SEGMENT_MAP)
            reserved -= size < reserved ? size : reserved;
        else if (action == ACCEL__EVENT_SEGMENT_FREE || action == ACCEL__EVENT_SEGMENT_UNMAP)
            reserved = accel__size_add(reserved, size);
        if (reserved > peak)
            peak = reserved;
    }
    /* Less than what was live: the snapshot leaves segments out. */
    p->trace->recorded_reserved = peak >= p->trace->peak_live ? peak : 0;
}

static int compare_addresses(const void *left, const void *right, void *user)
{
    const accel__trace *trace = user;
    const uint64_t a = trace->blocks[*(const uint32_t *)left].address;
    const uint64_t b = trace->blocks[*(const uint32_t *)right].address;
    return (a > b) - (a < b);
}

/* ---- the whole ---- */

/* Each event makes at most one block and two steps, each block of a segment at most one block. */
static bool reserve(pairing *p, size_t event_count)
{
    accel__trace *trace = p->trace;
    const size_t most = event_count + p->snapshot->block_count;
    const size_t slots = slots_for(most + 1);
    if (most >= UINT32_MAX)
        return false;
    trace->blocks = calloc(most + 1, sizeof *trace->blocks);
    trace->placed = calloc(most + 1, sizeof *trace->placed);
    trace->steps = calloc(event_count * 2 + 1, sizeof *trace->steps);
    p->places = calloc(slots, sizeof *p->places);
    p->place_mask = slots - 1;
    return trace->blocks != NULL && trace->placed != NULL && trace->steps != NULL &&
           p->places != NULL;
}

bool accel__trace_prepare(const accel__snapshot *snapshot, size_t device, accel__trace *out_trace)
{
    pairing p = {.snapshot = snapshot, .trace = out_trace};
    memset(out_trace, 0, sizeof *out_trace);
    if (device >= snapshot->trace_count)
        return true;
    const size_t count = snapshot->traces[device].count;
    /* A snapshot without an event has no array of them. */
    const accel__snapshot_event *events = count > 0
                                              ? snapshot->events + snapshot->traces[device].first
                                              : NULL;
    out_trace->event_count = count;
    for (size_t i = 0; i < count; i++)
        p.has_completions |= events[i].action == ACCEL__EVENT_FREE_COMPLETED;
    bool good = reserve(&p, count) && pair_events(&p, events, count) && pair_segments(&p, device);
    if (good) {
        qsort_r(out_trace->placed, out_trace->placed_count, sizeof *out_trace->placed,
                compare_addresses, out_trace);
        measure_live(out_trace);
        measure_reserved(&p, device, events, count);
    }
    free(p.places);
    return good;
}

void accel__trace_release(accel__trace *trace)
{
    free(trace->blocks);
    free(trace->placed);
    free(trace->steps);
    free(trace->streams);
    memset(trace, 0, sizeof *trace);
}
