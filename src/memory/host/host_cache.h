/* host_cache.h: what the files of the pinned allocator share: the cache of one device, its segments and its
 * blocks. Called by host.c, host_segment.c and host_stats.c.
 *
 * Every block has the size of its class (host_class.h): up to ACCEL__HOST_CLASS_EXACT exactly, above it is a whole
 * number of pages within the class. Blocks up to ACCEL__HOST_SHARED_SIZE share a segment with others of their class,
 * all others have one of their own. A block is in one place: with the program, in the pending list, or in
 * the list of its class. A segment of which all blocks are in those lists is idle, and may go back. */
#ifndef ACCEL_MEMORY_HOST_HOST_CACHE_H
#define ACCEL_MEMORY_HOST_HOST_CACHE_H

#include <accel/host_memory.h>

#include "core/capture.h"
#include "core/pointers.h"
#include "memory/host/host_class.h"
#include "memory/marks.h"
#include "platform/mutex.h"

typedef struct accel__host_segment {
    struct accel__host_cache *cache;
    void *pointer;
    size_t size;
    size_t block_size;
    unsigned class_index;
    unsigned capacity;                      /* blocks that fit */
    unsigned made;                          /* of those: have a structure; the first ones */
    unsigned busy;                          /* of those: not in the list of their class */
    struct accel__host_block *blocks;       /* those made, linked by `sibling` */
    struct accel__host_segment *next_open;  /* in the list of those that are not all made */
    struct accel__host_segment *idle_after; /* in the list of idle ones, oldest first */
    struct accel__host_segment *idle_before;
    bool is_idle;
} accel__host_segment;

/* The memory of the structures stays theirs as long as the process lives: readers of the address map may
 * look at one at any time. */
typedef struct accel__host_block {
    accel__range range; /* first: the map hands it back */
    accel__host_segment *segment;
    size_t size;
    uint32_t generation; /* of the process that made it */
    accel__mark home;    /* the home stream, and others behind it; with the lock while it is live */
    struct accel__host_block *after; /* in the list of the class, the pending or the spare ones */
    struct accel__host_block *before;
    struct accel__host_block *sibling;
    /* A block that was allocated in a capture belongs to the graph, too: it is free when the program and
     * the graph have both given it up. */
    accel__capture_part part;
    _Atomic(uint32_t) owners;
} accel__host_block;

typedef struct accel__host_cache {
    accel__device *device;
    struct accel__host_cache *next; /* in the list of all, which only grows */

    /* Guards everything below. No driver's function and no callback is called while it is held. Before the
     * address map's mutex; after none. */
    accel__mutex mutex;
    uint32_t generation; /* of what follows: a child of another one finds nothing */
    accel__host_block *classes[ACCEL__HOST_CLASSES]; /* free blocks, the latest first */
    accel__host_segment *open[ACCEL__HOST_CLASSES];  /* segments with blocks to be made */
    accel__host_segment *idle_first;
    accel__host_segment *idle_last;
    accel__host_block *pending; /* freed, and some stream had not passed */
    accel__host_block *spare;   /* structures */
    size_t cached_bytes;        /* of idle segments */
    accel_host_memory_statistics figures;
} accel__host_cache;

/* The cache of a device; NULL: nothing was ever pinned. */
accel__host_cache *accel__host_cache_peek(const accel__device *device);

/* Locks, and empties first what another process left. */
void accel__host_lock(accel__host_cache *cache);
void accel__host_unlock(accel__host_cache *cache);

/* With the lock. */
bool accel__host_cache_is_valid(const accel__host_cache *cache);

/* ---- host_segment.c ---- */

/* With the lock: a free block or one made anew in an open segment; NULL: none. */
accel__host_block *accel__host_take_locked(accel__host_cache *cache, size_t size,
                                           unsigned class_index, size_t alignment);

/* Without the lock: a new segment, of which the first block is handed out. */
accel_status accel__host_take_new(accel__host_cache *cache, size_t size, unsigned class_index,
                                  size_t alignment, bool is_shared, const char *function,
                                  accel__host_block **out_block);

/* With the lock: into the list of its class. */
void accel__host_put_locked(accel__host_cache *cache, accel__host_block *block);

/* Without the lock: gives idle segments back, the oldest first, until at most `keep` bytes of them are
 * left. Returns the bytes given back. */
size_t accel__host_give_back(accel__host_cache *cache, size_t keep);

/* ---- host_stats.c ---- */

void accel__host_stat_add(accel_memory_stat *stat, size_t amount);
void accel__host_stat_take(accel_memory_stat *stat, size_t amount);
void accel__host_time_add(accel_host_memory_time *time, uint64_t ns);

#endif
