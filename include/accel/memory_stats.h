/* SPDX-License-Identifier: MIT
 * memory_stats.h: what the caching allocator of device memory has handed out and holds.
 *
 * All functions are questions: they start nothing, and everything is zero before anything was allocated and
 * in a forked child that has not allocated yet. `device` may have the "current" forms. Any thread.
 *
 * Exactness: `current`, `allocated` and `freed` are exact whenever no call is in flight. `peak` is exact
 * while one thread allocates and frees on the device. With several it is never below the true peak, and
 * above it by at most 1 MiB (32 blocks) for each thread, for blocks of up to 1 MiB; larger blocks are always
 * counted exactly. The setting `exact_peaks:True` (allocator_config.h) makes it exact with any number of
 * threads, for the price of a lock in each call. No `current` is above its `peak` within one answer.
 *
 * Pinned host memory has figures of its own (host_memory.h); wrapped memory is not counted.
 */
#ifndef ACCEL_MEMORY_STATS_H
#define ACCEL_MEMORY_STATS_H

#include <accel/memory.h>

ACCEL_BEGIN_DECLS

typedef struct accel_memory_stat {
    int64_t current;
    int64_t peak;      /* the highest `current` since the last reset of peaks */
    int64_t allocated; /* the sum of all increases since the last reset of accumulated values */
    int64_t freed;     /* the sum of all decreases since then */
} accel_memory_stat;

/* Small blocks are those of up to 1 MiB, rounded. */
typedef enum accel_memory_stat_pool {
    ACCEL_MEMORY_STAT_POOL_ALL = 0,
    ACCEL_MEMORY_STAT_POOL_SMALL = 1,
    ACCEL_MEMORY_STAT_POOL_LARGE = 2,
    ACCEL_MEMORY_STAT_POOL_COUNT = 3
} accel_memory_stat_pool;

/* The arrays are indexed by accel_memory_stat_pool. Private pools are counted, too. */
typedef struct accel_memory_statistics {
    uint32_t struct_size;
    /* Blocks handed out, and the bytes of their blocks (rounded). A free takes them off at once. */
    accel_memory_stat allocation[3];
    accel_memory_stat allocated_bytes[3];
    /* The same with blocks that were freed and that a recorded stream may still use. */
    accel_memory_stat active[3];
    accel_memory_stat active_bytes[3];
    accel_memory_stat requested_bytes[3]; /* as asked for, of active blocks */
    /* Segments are whole allocations of the driver; growable ones count in bytes only. */
    accel_memory_stat segment[3];
    accel_memory_stat reserved_bytes[3];
    /* Free blocks that are parts of such segments. */
    accel_memory_stat inactive_split[3];
    accel_memory_stat inactive_split_bytes[3];
    /* Blocks and segments of at least max_split_size. */
    accel_memory_stat oversize_allocations;
    accel_memory_stat oversize_segments;
    int64_t num_alloc_retries; /* new segments that came only after cached ones were given back */
    int64_t num_ooms;
    int64_t num_sync_all_streams; /* times that the allocator waited for streams */
    int64_t num_device_alloc;     /* calls of the driver that gave memory, … */
    int64_t num_device_free;      /* … and that took it back */
    int64_t num_oom_rejections;   /* requests refused by a limit before the driver was asked */
    int64_t max_split_size;       /* bytes, the setting; -1: unlimited */
} accel_memory_statistics;

/* accel_memory_stats (question): all figures of a device.
 * Errors: INVALID_ARGUMENT (out struct), those of the device. Where there is no
 * accelerator at all and `device` is the current one: zeros and OK. */
ACCEL_API accel_status accel_memory_stats(accel_device device,
                                          accel_memory_statistics *out_statistics);

/* accel_memory_stats_visit (question): the same as pairs of key and value, in alphabetical order of the keys:
 * STAT.POOL.METRIC with POOL one of all, large_pool and small_pool, and METRIC one of allocated, current,
 * freed and peak; oversize_allocations.METRIC and oversize_segments.METRIC; and the plain counters. Stops
 * where `visit` returns false. `key` is lent for the call. Errors as above; INVALID_ARGUMENT for a NULL
 * `visit`. */
ACCEL_API accel_status accel_memory_stats_visit(
    accel_device device, bool (*visit)(const char *key, int64_t value, void *user), void *user);

/* accel_memory_stats_get (question): one of those values. `allocated.POOL.METRIC` is another name of
 * `allocation.POOL.METRIC`. Errors: as above; NOT_FOUND for a key that there is not. */
ACCEL_API accel_status accel_memory_stats_get(accel_device device, const char *key,
                                              int64_t *out_value);

/* The four figures that programs ask most, in bytes (questions): allocated_bytes.all and reserved_bytes.all,
 * current and peak. Errors as above. */
ACCEL_API accel_status accel_memory_allocated(accel_device device, size_t *out_size);
ACCEL_API accel_status accel_max_memory_allocated(accel_device device, size_t *out_size);
ACCEL_API accel_status accel_memory_reserved(accel_device device, size_t *out_size);
ACCEL_API accel_status accel_max_memory_reserved(accel_device device, size_t *out_size);

/* accel_reset_accumulated_memory_stats (question): `allocated` and `freed` of everything, and the counters
 * num_*, become 0; nothing else changes. accel_reset_peak_memory_stats (question): every `peak` becomes its
 * `current`; nothing else changes. Errors as above. */
ACCEL_API accel_status accel_reset_accumulated_memory_stats(accel_device device);
ACCEL_API accel_status accel_reset_peak_memory_stats(accel_device device);

ACCEL_END_DECLS

#endif /* ACCEL_MEMORY_STATS_H */
