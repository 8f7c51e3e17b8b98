/* snapshot_fuzz.c: any bytes as a snapshot: read or refused with a reason, and what was read adds up, in the
 * report as in the steps of a replay. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/memory_summary.h"
#include "cli/memory_trace.h"

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "snapshot_fuzz: %s\n", what);
    abort();
}

static void check_summary(const accel__snapshot *snapshot)
{
    accel__memory_summary summary;
    size_t segments = 0;
    require(accel__memory_summarise(snapshot, &summary), "there is memory");
    for (size_t i = 0; i < summary.group_count; i++)
        segments += summary.groups[i].figures.segment_count;
    require(segments == snapshot->segment_count, "each segment is in one group");
    require(summary.total.allocated <= summary.total.active, "allocated is active");
    require(summary.hole_count <= snapshot->block_count, "a hole is a block");
    require(summary.live_count <= snapshot->block_count, "live blocks are blocks");
    for (size_t i = 1; i < summary.hole_count; i++)
        require(summary.holes[i - 1].block->size >= summary.holes[i].block->size,
                "holes are sorted");
    accel__memory_summary_release(&summary);
}

/* Each block is allocated once, freed at most once, and completed after that. */
static void check_trace(const accel__snapshot *snapshot, size_t device)
{
    enum { UNMADE, LIVE, FREED, DONE };
    accel__trace trace;
    require(accel__trace_prepare(snapshot, device, &trace), "there is memory");
    unsigned char *states = calloc(trace.block_count + 1, 1);
    require(states != NULL, "there is memory");
    for (size_t i = 0; i < trace.placed_count; i++) {
        require(states[trace.placed[i]] == UNMADE, "a block is placed once");
        states[trace.placed[i]] = trace.blocks[trace.placed[i]].was_live ? LIVE : FREED;
    }
    for (size_t i = 0; i < trace.step_count; i++) {
        const accel__trace_step *step = &trace.steps[i];
        unsigned char *state = &states[step->block];
        const int wanted = step->kind == ACCEL__TRACE_ALLOC      ? UNMADE
                           : step->kind == ACCEL__TRACE_COMPLETE ? FREED
                                                                 : LIVE;
        require(*state == wanted, "steps follow each other");
        *state = step->kind == ACCEL__TRACE_ALLOC     ? LIVE
                 : step->kind == ACCEL__TRACE_REQUEST ? FREED
                                                      : DONE;
    }
    for (size_t i = 0; i < trace.block_count; i++) {
        require(states[i] != UNMADE, "every block is made");
        require(trace.blocks[i].stream < trace.stream_count, "a block has a stream");
    }
    require(trace.live_at_start <= trace.peak_live, "the peak is not below the start");
    free(states);
    accel__trace_release(&trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    accel__snapshot snapshot;
    accel__snapshot_problem problem = {""};
    if (accel__snapshot_parse(data, size, &snapshot, &problem)) {
        check_summary(&snapshot);
        for (size_t i = 0; i < snapshot.trace_count && i < 4; i++)
            check_trace(&snapshot, i);
    } else {
        require(strstr(problem.text, "; ") != NULL, "a refusal says what to do");
    }
    accel__snapshot_release(&snapshot);
    return 0;
}
