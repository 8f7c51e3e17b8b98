/* statistics.h: what is counted, where, and how it stays exact.
 *
 * Small blocks (up to 1 MiB) are counted in shards, one for each thread and device, which their threads
 * change without a lock. A shard's bounds say how far its figures may move unseen; a figure that crosses
 * one takes the slow way, under the device's mutex:
 *   - one shard: `upper` is what makes some peak rise, so peaks are exact;
 *   - several: a shard has announced `upper` to the others, which is never below what it has, and lets that
 *     follow when it is more than a window above. Peaks are those of the sum of what was announced.
 * Everything else (large blocks, blocks that wait for streams, segments, counters) is counted under the
 * mutex. The change from one to several shards and back is made with all threads held still (cache.h).
 *
 * A forked child starts from nothing: its parent's figures count as not there. */
#ifndef ACCEL_MEMORY_STATISTICS_H
#define ACCEL_MEMORY_STATISTICS_H

#include <accel/memory_stats.h>

#include "memory/block.h"

typedef struct accel__statistics accel__statistics; /* of a device; never freed */

/* What is counted of blocks. */
enum {
    ACCEL__AMOUNT_COUNT = 0,
    ACCEL__AMOUNT_BYTES = 1,     /* of the block */
    ACCEL__AMOUNT_REQUESTED = 2, /* as asked */
    ACCEL__AMOUNTS = 3
};

/* Changed by its thread alone, or with that held still. Others read. */
typedef struct accel__shard {
    _Atomic(int64_t) current[ACCEL__AMOUNTS];
    _Atomic(int64_t) total[ACCEL__AMOUNTS]; /* sum of the increases */
    _Atomic(int64_t) upper[ACCEL__AMOUNTS]; /* above it, or below `lower`: the slow way */
    _Atomic(int64_t) lower[ACCEL__AMOUNTS];
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

static inline bool accel__shard_change(accel__shard *shard, int amount, int64_t change)
{
    const int64_t now = atomic_load_explicit(&shard->current[amount], memory_order_relaxed) +
                        change;
    atomic_store_explicit(&shard->current[amount], now, memory_order_relaxed);
    return now > atomic_load_explicit(&shard->upper[amount], memory_order_relaxed) ||
           now < atomic_load_explicit(&shard->lower[amount], memory_order_relaxed);
}

static inline void accel__shard_increase(accel__shard *shard, int amount, int64_t change,
                                         bool *crossed)
{
    atomic_store_explicit(&shard->total[amount],
                          atomic_load_explicit(&shard->total[amount], memory_order_relaxed) +
                              change,
                          memory_order_relaxed);
    *crossed |= accel__shard_change(shard, amount, change);
}

/* A small block of the thread's was handed out. */
static inline void accel__shard_add(accel__shard *shard, size_t size, size_t requested)
{
    bool crossed = false;
    accel__shard_increase(shard, ACCEL__AMOUNT_COUNT, 1, &crossed);
    accel__shard_increase(shard, ACCEL__AMOUNT_BYTES, (int64_t)size, &crossed);
    accel__shard_increase(shard, ACCEL__AMOUNT_REQUESTED, (int64_t)requested, &crossed);
    if (__builtin_expect(crossed, false))
        accel__shard_crossed(shard);
}

/* It was taken back. */
static inline void accel__shard_remove(accel__shard *shard, size_t size, size_t requested)
{
    bool crossed = accel__shard_change(shard, ACCEL__AMOUNT_COUNT, -1);
    crossed |= accel__shard_change(shard, ACCEL__AMOUNT_BYTES, -(int64_t)size);
    crossed |= accel__shard_change(shard, ACCEL__AMOUNT_REQUESTED, -(int64_t)requested);
    if (__builtin_expect(crossed, false))
        accel__shard_crossed(shard);
}

/* A block of any kind; `shard` NULL: the thread has none (no host memory). */
void accel__statistics_allocated(accel__statistics *statistics, accel__shard *shard,
                                 accel__block_kind kind, size_t size, size_t requested);

/* Taken back; `waits`: some stream may still use it. */
void accel__statistics_freed(accel__statistics *statistics, accel__shard *shard,
                             accel__block_kind kind, size_t size, size_t requested, bool waits);

/* One that waited: its streams have passed. */
void accel__statistics_completed(accel__statistics *statistics, accel__block_kind kind, size_t size,
                                 size_t requested);

/* ---- shards: with all threads held still ---- */

void accel__statistics_open(accel__statistics *statistics, accel__shard *shard);

/* What the shard counted goes to the device's own figures. */
void accel__statistics_close(accel__shard *shard);

/* The setting exact_peaks has changed, perhaps. */
void accel__statistics_rebase(accel__statistics *statistics);

/* ---- questions ---- */

/* All but struct_size and max_split_size. The two resets: with all threads held still. */
void accel__statistics_read(accel__statistics *statistics, accel_memory_statistics *out);
void accel__statistics_reset_accumulated(accel__statistics *statistics);
void accel__statistics_reset_peak(accel__statistics *statistics);

#endif
