/* memory_trace.h: a device's history as steps that can be done again: which allocations there were, when
 * each began and ended, and which were there before the history began. Called by the report and by
 * replay.
 *
 * A history is a window: what is freed in it without having been allocated in it, and what is live at
 * its end without having been allocated in it, was there before and is placed first. */
#ifndef ACCEL_CLI_MEMORY_TRACE_H
#define ACCEL_CLI_MEMORY_TRACE_H

#include "cli/snapshot.h"

enum { ACCEL__TRACE_STREAM_MAX = 1024 };

typedef struct accel__trace_block {
    uint64_t address; /* as recorded */
    uint64_t size;    /* bytes asked for */
    uint32_t stream;  /* index among the trace's streams */
    bool was_live;    /* when the history began */
    bool was_pending; /* freed before that, but not yet reusable */
} accel__trace_block;

typedef enum accel__trace_step_kind {
    ACCEL__TRACE_ALLOC,
    ACCEL__TRACE_FREE,    /* and reusable at once */
    ACCEL__TRACE_REQUEST, /* freed; reusable at the COMPLETE of the same block, if that comes */
    ACCEL__TRACE_COMPLETE
} accel__trace_step_kind;

typedef struct accel__trace_step {
    uint32_t block;
    accel__trace_step_kind kind;
} accel__trace_step;

typedef struct accel__trace {
    size_t event_count; /* all of the history, also those that are no steps */
    accel__trace_block *blocks;
    size_t block_count;
    uint32_t *placed; /* blocks that were there before, by address */
    size_t placed_count;
    accel__trace_step *steps;
    size_t step_count;
    int64_t *streams; /* their names in the history */
    size_t stream_count;
    bool
        has_more_streams; /* than ACCEL__TRACE_STREAM_MAX: their blocks are listed under the last */
    size_t repaired_count;  /* events that contradict the ones before: some are missing */
    uint64_t live_at_start; /* bytes asked for */
    uint64_t peak_live;
    uint64_t recorded_reserved; /* the recording allocator's peak, bytes; 0 where it is not known */
} accel__trace;

/* Prepares the history of a device; one without events is an empty trace. Released in any case. False:
 * memory ran out. */
bool accel__trace_prepare(const accel__snapshot *snapshot, size_t device, accel__trace *out_trace);
void accel__trace_release(accel__trace *trace);

#endif
