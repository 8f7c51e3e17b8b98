/* memory_player.h: does the steps of a recorded history again, with accel's allocator on real streams.
 * Called by memory_replay.c.
 *
 * Memory is asked for and given back, never touched. What was there before the history is placed first,
 * in the order of its addresses. A block whose free was complete only later has been used on another
 * stream: that is told by accel_record_stream when its free was requested, and it is freed when the
 * recording says that it could be reused. */
#ifndef ACCEL_CLI_MEMORY_PLAYER_H
#define ACCEL_CLI_MEMORY_PLAYER_H

#include <accel/device.h>

#include "cli/memory_trace.h"

typedef struct accel__player_figures {
    uint64_t peak_reserved; /* bytes */
    uint64_t
        placing_calls; /* allocations and frees, maps and unmaps of the driver, before the history */
    uint64_t driver_calls; /* during the history */
    uint64_t segments;     /* of fixed size that were made; growable ones are not counted */
    uint64_t retries;      /* allocations that had to give cached memory back first */
    double placing_seconds;
    double seconds; /* the history alone */
} accel__player_figures;

/* Plays the trace on the device, with settings already made, and gives all back. */
accel__exit accel__player_run(const accel__trace *trace, accel_device device,
                              accel__player_figures *out_figures);

#endif
