/* statistics.h: what is counted, where, and how it stays exact.
 *
 * Small blocks (up to 1 MiB) are counted in shards, one for each thread and device, which their threads
 * change without a lock; to look at them the threads are held still (cache.h). A shard's bounds say how far its figures may move unseen; a figure that crosses
 * one takes the slow way, under the device's mutex:
 *   - one shard: `upper` is what makes some peak rise, so peaks are exact;
 *   - several: a shard has announced `upper` to the others, which is never below what it has, and lets that
 *     follow when it is more than a window above. Peaks are those of the sum of what was announced.
 * Everything else (large blocks, blocks that wait for streams, segments, counters) is counted under the
 * mutex. The change from one to several shards and back is made with all threads held still (cache.h).
 *
 * A forked child starts from nothing: its parent's figures count as not there. */
#ifndef ACCEL_MEMORY_STATISTICS_STATISTICS_H
#define ACCEL_MEMORY_STATISTICS_STATISTICS_H

#include <accel/memory_stats.h>

#include "memory/heap/block.h"

typedef struct accel__statistics accel__statistics; /* of a device; never freed */

/* What is counted of blocks. */
enum {
    ACCEL__AMOUNT_COUNT = 0,
    ACCEL__AMOUNT_BYTES = 1,     /* of the block */
    ACCEL__AMOUNT_REQUESTED = 2, /* as asked */
    ACCEL__AMOUNTS = 3
};

/* Its thread's, inside its cache, or of whoever holds that still. */
typedef struct accel__shard {
    /* How far the figures are from their bounds: below 0, the slow way. */
    int64_t above[ACCEL__AMOUNTS];
    int64_t below[ACCEL__AMOUNTS];
    int64_t total[ACCEL__AMOUNTS]; /* sum of the increases */
    int64_t upper[ACCEL__AMOUNTS]; /* the bound: the figure itself is upper - above */
    accel__statistics *statistics;
    struct accel__shard *next; /* in the device's list, under its mutex */
} accel__shard;

/* The device's, made at the first call; NULL: no host memory. */
accel__statistics *accel__statistics_of(accel__device *device);

/* NULL: there are none. */
accel__statistics *accel__statistics_peek(const accel__device *device);

/* ---- what the heap tells ---- */

typedef enum accel__gauge {
    ACCEL__GAUGE_SEGMENT = 0,
    ACCEL__GAUGE_RESERVED_BYTES,
    ACCEL__GAUGE_INACTIVE_SPLIT,
    ACCEL__GAUGE_INACTIVE_SPLIT_BYTES,
    ACCEL__GAUGE_OVERSIZE_SEGMENTS, /* its kind means nothing */
    ACCEL__GAUGE_OVERSIZE_ALLOCATIONS,
    ACCEL__GAUGES
} accel__gauge;

typedef enum accel__counter {
    ACCEL__COUNTER_ALLOC_RETRIES = 0,
    ACCEL__COUNTER_OOMS,
    ACCEL__COUNTER_SYNC_ALL_STREAMS,
    ACCEL__COUNTER_DEVICE_ALLOC,
    ACCEL__COUNTER_DEVICE_FREE,
    ACCEL__COUNTER_OOM_REJECTIONS,
    ACCEL__COUNTERS
} accel__counter;

/* One net change. Takes the statistics' mutex, a leaf: under a heap's lock, too. Where no statistics could
 * be made for want of host memory nothing is counted. */
void accel__statistics_gauge(accel__device *device, accel__gauge gauge, accel__block_kind kind,
                             int64_t change);
void accel__statistics_count(accel__device *device, accel__counter counter);

/* The same of both figures of inactive splits at once: the heap changes them with nearly every block. */
void accel__statistics_splits(accel__statistics *statistics, accel__block_kind kind, int64_t count,
                              int64_t bytes);

/* ---- what alloc.c and uses.c tell ---- */

/* Some figure of the shard is out of bounds. */
void accel__shard_crossed(accel__shard *shard);

/* A small block of the thread's was handed out. False: accel__shard_crossed must be called. */
static inline bool accel__shard_add(accel__shard *shard, size_t size, size_t requested)
{
    int64_t *below = shard->below;
    int64_t *total = shard->total;
    below[ACCEL__AMOUNT_COUNT] += 1;
    below[ACCEL__AMOUNT_BYTES] += (int64_t)size;
    below[ACCEL__AMOUNT_REQUESTED] += (int64_t)requested;
    total[ACCEL__AMOUNT_COUNT] += 1;
    total[ACCEL__AMOUNT_BYTES] += (int64_t)size;
    total[ACCEL__AMOUNT_REQUESTED] += (int64_t)requested;
    const int64_t count = shard->above[ACCEL__AMOUNT_COUNT] -= 1;
    const int64_t bytes = shard->above[ACCEL__AMOUNT_BYTES] -= (int64_t)size;
    const int64_t asked = shard->above[ACCEL__AMOUNT_REQUESTED] -= (int64_t)requested;
    return (count | bytes | asked) >= 0;
}

/* It was taken back. The same. */
static inline bool accel__shard_remove(accel__shard *shard, size_t size, size_t requested)
{
    int64_t *above = shard->above;
    above[ACCEL__AMOUNT_COUNT] += 1;
    above[ACCEL__AMOUNT_BYTES] += (int64_t)size;
    above[ACCEL__AMOUNT_REQUESTED] += (int64_t)requested;
    const int64_t count = shard->below[ACCEL__AMOUNT_COUNT] -= 1;
    const int64_t bytes = shard->below[ACCEL__AMOUNT_BYTES] -= (int64_t)size;
    const int64_t asked = shard->below[ACCEL__AMOUNT_REQUESTED] -= (int64_t)requested;
    return (count | bytes | asked) >= 0;
}

/* A block of any kind. The thread is inside its cache; or `shard` is NULL, as it has none (no host memory),
 * and all threads are held still. */
void accel__statistics_allocated(accel__statistics *statistics, accel__shard *shard,
                                 accel__block_kind kind, size_t size, size_t requested);

/* Taken back; `waits`: some stream may still use it. */
void accel__statistics_freed(accel__statistics *statistics, accel__shard *shard,
                             accel__block_kind kind, size_t size, size_t requested, bool waits);

/* One that waited: its streams have passed. On any thread. */
void accel__statistics_completed(accel__statistics *statistics, accel__block_kind kind, size_t size,
                                 size_t requested);

/* ---- shards: with all threads held still ---- */

void accel__statistics_open(accel__statistics *statistics, accel__shard *shard);

/* What the shard counted goes to the device's own figures. */
void accel__statistics_close(accel__shard *shard);

/* The setting exact_peaks has changed, perhaps. */
void accel__statistics_rebase(accel__statistics *statistics);

/* ---- questions ---- */

/* All but struct_size and max_split_size. These, too: with all threads held still. */
void accel__statistics_read(accel__statistics *statistics, accel_memory_statistics *out);
void accel__statistics_reset_accumulated(accel__statistics *statistics);
void accel__statistics_reset_peak(accel__statistics *statistics);

#endif
