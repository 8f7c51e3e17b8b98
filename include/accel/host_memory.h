/* SPDX-License-Identifier: MIT
 * host_memory.h: the cache of pinned host memory: its figures, and how to empty it.
 *
 * accel_memory_alloc with ACCEL_MEMORY_KIND_PINNED takes from it. Sizes are rounded: up to 4 KiB to a
 * multiple of 512 bytes, up to 1 MiB to one of eight steps between powers of two (at most 12.5 % more than
 * asked), above to whole pages of 4 KiB. A cached block serves a request when it is at most an eighth
 * larger. Blocks of up to 32 KiB are cut, eight or more at a time, from segments of 64 to 256 KiB. A freed
 * block is handed out again when its home stream and every recorded one have passed: the host may write to
 * it at once. Any thread may call any of these functions.
 */
#ifndef ACCEL_HOST_MEMORY_H
#define ACCEL_HOST_MEMORY_H

#include <accel/memory_stats.h>

ACCEL_BEGIN_DECLS

/* Durations of calls of the driver, in nanoseconds. */
typedef struct accel_host_memory_time {
    uint64_t total_ns;
    uint64_t max_ns;
    uint64_t min_ns; /* 0 where count is */
    uint64_t count;
} accel_host_memory_time;

/* Figures of one device's cache, all exact: `current`, `peak`, `allocated` (sum of all increases) and `freed`
 * (of all decreases). Bytes change by the size of the block or segment, counts by one. */
typedef struct accel_host_memory_statistics {
    uint32_t struct_size;
    accel_memory_stat allocations;     /* blocks made: handed out, waiting or cached */
    accel_memory_stat allocated_bytes; /* their bytes, rounded */
    accel_memory_stat active_requests; /* blocks handed out, or freed and waiting for streams */
    accel_memory_stat active_bytes;    /* their bytes, rounded */
    accel_memory_stat requested_bytes; /* the same as asked for */
    accel_memory_stat segments;        /* allocations of the driver */
    accel_memory_stat reserved_bytes;  /* their bytes: what is really pinned */
    int64_t num_host_alloc;            /* calls of the driver that gave memory, … */
    int64_t num_host_free;             /* … and that took it back */
    accel_host_memory_time host_alloc_time;
    accel_host_memory_time host_free_time;
} accel_host_memory_statistics;

/* accel_host_memory_stats (question): zero before anything was allocated, in a forked child, and for the
 * current device where there is no accelerator. Errors: INVALID_ARGUMENT, those of the device. Any thread. */
ACCEL_API accel_status accel_host_memory_stats(accel_device device,
                                               accel_host_memory_statistics *out_statistics);

/* accel_host_memory_stats_visit (question): the same as keys in alphabetical order: NAME.METRIC for the stats
 * above (`allocations.current` …), `num_host_alloc`, `num_host_free`, and host_alloc_time.METRIC and
 * host_free_time.METRIC with avg, count, max, min and total in whole microseconds. Stops where `visit`
 * returns false. Errors as above. */
ACCEL_API accel_status accel_host_memory_stats_visit(
    accel_device device, bool (*visit)(const char *key, int64_t value, void *user), void *user);

/* accel_reset_accumulated_host_memory_stats (question): `allocated`, `freed`, the two counts and the times
 * become 0. accel_reset_peak_host_memory_stats (question): each `peak` becomes its `current`. Errors as
 * above. */
ACCEL_API accel_status accel_reset_accumulated_host_memory_stats(accel_device device);
ACCEL_API accel_status accel_reset_peak_host_memory_stats(accel_device device);

/* accel_empty_host_cache (question): gives all cached pinned memory of all devices back to the drivers, after
 * looking which freed blocks streams have passed by now. Never waits; a segment with one block in use stays.
 * A no-op before the first use. Errors: IN_CALLBACK. Any thread; fork: a child's cache
 * starts empty. */
ACCEL_API accel_status accel_empty_host_cache(void);

ACCEL_END_DECLS

#endif /* ACCEL_HOST_MEMORY_H */
