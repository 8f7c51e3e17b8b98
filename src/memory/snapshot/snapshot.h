/* snapshot.h: a snapshot as flat arrays, as it was copied. Made by snapshot.c with each heap locked
 * for its copy alone; read without locks by snapshot_write.c and leaks.c. */
#ifndef ACCEL_MEMORY_SNAPSHOT_SNAPSHOT_H
#define ACCEL_MEMORY_SNAPSHOT_SNAPSHOT_H

#include <accel/memory_history.h>

#include "memory/config.h"
#include "memory/heap/segment.h"
#include "memory/history/history.h"
#include "memory/history/symbols.h"

/* Small, as there are many. A block begins where the one before it in the segment ends. */
typedef struct accel__snapshot_block {
    uint64_t size; /* whole, and the state (accel__range_state) in the bits that a size leaves 0 */
    uint64_t requested; /* as asked for; 0 where it is not active */
    uint32_t stack;
} accel__snapshot_block;

static inline uint64_t accel__snapshot_size(const accel__snapshot_block *block)
{
    return block->size & ~(uint64_t)(ACCEL__BLOCK_UNIT - 1);
}

static inline uint32_t accel__snapshot_state(const accel__snapshot_block *block)
{
    return (uint32_t)(block->size & (ACCEL__BLOCK_UNIT - 1));
}

/* A fixed segment, or one stretch of a growable one that has memory behind it. */
typedef struct accel__snapshot_segment {
    uint64_t address;
    uint64_t size;
    uint64_t allocated; /* bytes of live blocks */
    uint64_t active;    /* and of those that wait for streams */
    uint64_t requested; /* bytes that those were asked for with */
    uint64_t stream;
    uint64_t pool[2];
    uint32_t stack;
    bool is_small;
    bool is_growable;
    size_t first_block;
    size_t block_count;
} accel__snapshot_segment;

typedef struct accel__snapshot_device {
    const accel__backend *backend;
    int32_t index;
    accel__device *device; /* NULL: nobody ever asked about it */
    size_t first_segment;
    size_t segment_count;
    accel__history_trace trace;
} accel__snapshot_device;

struct accel_memory_snapshot {
    accel__snapshot_device *devices;
    size_t device_count;
    accel__snapshot_segment *segments; /* by device, then by address */
    size_t segment_count;
    size_t segment_capacity;
    accel__snapshot_block *blocks;
    size_t block_count;
    size_t block_capacity;
    const accel__config *config;
};

/* accel_memory_snapshot_create without an event of its own. `function` is the public one. */
accel_status accel__snapshot_take(const accel_memory_snapshot_options *options,
                                  const char *function, accel_memory_snapshot **out_snapshot);

#endif
