/* memory_player.c: see memory_player.h.
 *
 * Invariant: pointers[i] is the memory of block i between its step ALLOC (or being placed) and its free,
 * else NULL, so that the end gives back exactly what is left. */
#include "cli/memory_player.h"

#include <stdlib.h>
#include <string.h>

#include <accel/memory.h>
#include <accel/memory_stats.h>

#include "cli/memory_progress.h"
#include "cli/size_text.h"

typedef struct player {
    const accel__trace *trace;
    accel_device device;
    accel_stream **streams; /* of the trace, by its indices; [0, made) are there */
    size_t made;
    accel_stream *other; /* a stream besides, for traces of one */
    void **pointers;
} player;

/* ---- streams ---- */

/* The trace's stream 0 is the default one, as it is for accel and for PyTorch. */
static accel_status make_stream(player *p, size_t index)
{
    if (p->trace->streams[index] == 0)
        return accel_stream_default(p->device, &p->streams[index]);
    return accel_stream_create(p->device, NULL, &p->streams[index]);
}

static accel__exit make_streams(player *p)
{
    const accel__trace *trace = p->trace;
    accel_status status = ACCEL_OK;
    if (trace->has_more_streams)
        return accel__cli_fail(
            "the history has more than %d streams, which is more than replay makes; "
            "record it with fewer",
            ACCEL__TRACE_STREAM_MAX);
    while (status == ACCEL_OK && p->made < trace->stream_count) {
        status = make_stream(p, p->made);
        p->made += status == ACCEL_OK;
    }
    if (status == ACCEL_OK)
        status = accel_stream_create(p->device, NULL, &p->other);
    return status == ACCEL_OK ? ACCEL__EXIT_OK : accel__cli_fail_status(status);
}

/* Any stream but the block's own. */
static accel_stream *other_stream(const player *p, const accel__trace_block *block)
{
    if (p->trace->stream_count < 2)
        return p->other;
    return p->streams[(block->stream + 1) % p->trace->stream_count];
}

/* ---- steps ---- */

static accel_status allocate(player *p, uint32_t index)
{
    const accel__trace_block *block = &p->trace->blocks[index];
    return accel_memory_alloc(p->streams[block->stream], (size_t)block->size, NULL,
                              &p->pointers[index]);
}

static accel_status release(player *p, uint32_t index)
{
    const accel_status status = accel_memory_free(p->pointers[index]);
    p->pointers[index] = NULL;
    return status;
}

/* What the allocator queues on the block's streams to learn what they have passed is let pass at once:
 * as nothing else is queued, a replay then does not depend on how fast they are. */
static accel_status settle(const player *p, uint32_t index, accel_status status)
{
    const accel__trace_block *block = &p->trace->blocks[index];
    if (status == ACCEL_OK)
        status = accel_stream_synchronize(p->streams[block->stream]);
    return status == ACCEL_OK ? accel_stream_synchronize(other_stream(p, block)) : status;
}

static accel_status request_free(player *p, uint32_t index)
{
    accel_stream *other = other_stream(p, &p->trace->blocks[index]);
    return settle(p, index, accel_record_stream(p->pointers[index], other));
}

static accel_status complete_free(player *p, uint32_t index)
{
    return settle(p, index, release(p, index));
}

static accel_status do_step(player *p, const accel__trace_step *step)
{
    switch (step->kind) {
    case ACCEL__TRACE_ALLOC:
        return allocate(p, step->block);
    case ACCEL__TRACE_REQUEST:
        return request_free(p, step->block);
    case ACCEL__TRACE_COMPLETE:
        return complete_free(p, step->block);
    default:
        return release(p, step->block);
    }
}

static accel__exit fail_block(const player *p, uint32_t index, accel_status status,
                              const char *when, size_t at, size_t of)
{
    char size[ACCEL__SIZE_TEXT_MAX];
    const char *message = accel_last_error_message();
    return accel__cli_fail("%s %zu of %zu, a block of %s: %s", when, at + 1, of,
                           accel__size_text(p->trace->blocks[index].size, size),
                           message[0] != '\0' ? message : accel_status_text(status));
}

static accel__exit place(player *p)
{
    const accel__trace *trace = p->trace;
    for (size_t i = 0; i < trace->placed_count; i++) {
        const uint32_t index = trace->placed[i];
        accel_status status = allocate(p, index);
        if (status == ACCEL_OK && trace->blocks[index].was_pending)
            status = request_free(p, index);
        if (status != ACCEL_OK)
            return fail_block(p, index, status, "placed block", i, trace->placed_count);
    }
    return ACCEL__EXIT_OK;
}

static accel__exit do_steps(player *p)
{
    const accel__trace *trace = p->trace;
    accel_status status = ACCEL_OK;
    accel__progress progress;
    size_t i = 0;
    accel__progress_begin(&progress, "replaying", trace->step_count);
    for (; i < trace->step_count; i++) {
        accel__progress_step(&progress, i);
        status = do_step(p, &trace->steps[i]);
        if (status != ACCEL_OK)
            break;
    }
    accel__progress_end(&progress);
    if (status != ACCEL_OK)
        return fail_block(p, trace->steps[i].block, status, "step", i, trace->step_count);
    return ACCEL__EXIT_OK;
}

/* ---- figures ---- */

typedef struct counts {
    uint64_t peak_reserved;
    uint64_t calls;
    uint64_t segments;
    uint64_t retries;
} counts;

static accel__exit count(const player *p, counts *out_counts)
{
    accel_memory_statistics now = {.struct_size = sizeof now};
    const accel_status status = accel_memory_stats(p->device, &now);
    if (status != ACCEL_OK)
        return accel__cli_fail_status(status);
    out_counts->peak_reserved = (uint64_t)now.reserved_bytes[ACCEL_MEMORY_STAT_POOL_ALL].peak;
    out_counts->calls = (uint64_t)(now.num_device_alloc + now.num_device_free);
    out_counts->segments = (uint64_t)now.segment[ACCEL_MEMORY_STAT_POOL_ALL].allocated;
    out_counts->retries = (uint64_t)now.num_alloc_retries;
    return ACCEL__EXIT_OK;
}

static double seconds_since(uint64_t start_ns)
{
    return (double)(accel__progress_now_ns() - start_ns) / 1e9;
}

static accel__exit play(player *p, accel__player_figures *figures)
{
    counts before = {0};
    counts placed = {0};
    counts after = {0};
    accel__exit result = make_streams(p);
    if (result == ACCEL__EXIT_OK)
        result = count(p, &before);
    uint64_t start = accel__progress_now_ns();
    if (result == ACCEL__EXIT_OK)
        result = place(p);
    figures->placing_seconds = seconds_since(start);
    if (result == ACCEL__EXIT_OK)
        result = count(p, &placed);
    start = accel__progress_now_ns();
    if (result == ACCEL__EXIT_OK)
        result = do_steps(p);
    figures->seconds = seconds_since(start);
    if (result == ACCEL__EXIT_OK)
        result = count(p, &after);
    if (result != ACCEL__EXIT_OK)
        return result;
    figures->peak_reserved = after.peak_reserved;
    figures->placing_calls = placed.calls - before.calls;
    figures->driver_calls = after.calls - placed.calls;
    figures->segments = after.segments - before.segments;
    figures->retries = after.retries - before.retries;
    return ACCEL__EXIT_OK;
}

static void clean_up(player *p)
{
    for (size_t i = 0; p->pointers != NULL && i < p->trace->block_count; i++)
        (void)accel_memory_free(p->pointers[i]);
    for (size_t i = 0; p->streams != NULL && i < p->made; i++)
        if (p->trace->streams[i] != 0) /* the default stream is lent */
            accel_stream_release(p->streams[i]);
    accel_stream_release(p->other);
    free(p->streams);
    free(p->pointers);
}

accel__exit accel__player_run(const accel__trace *trace, accel_device device,
                              accel__player_figures *out_figures)
{
    player p = {.trace = trace, .device = device};
    memset(out_figures, 0, sizeof *out_figures);
    p.streams = calloc(trace->stream_count + 1, sizeof(accel_stream *));
    p.pointers = calloc(trace->block_count + 1, sizeof(void *));
    const accel__exit result = p.streams != NULL && p.pointers != NULL ? play(&p, out_figures)
                                                                       : accel__cli_fail_memory();
    clean_up(&p);
    return result;
}
