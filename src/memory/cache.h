/* cache.h: what each thread keeps at hand: blocks that it freed, by lane and exact size, and its share of the
 * statistics.
 *
 * A hit changes only what is the thread's own: no lock, no locked instruction. To reach into the caches of
 * other threads (to flush them, to change the rules by which they count) they are held still: each thread
 * says when it is inside its cache (`is_busy`), looks then whether it may be (`is_held`), and whoever holds
 * the threads makes the two be seen in that order by an expedited barrier on their processors
 * (platform/barrier.h). A thread that finds itself held steps out and waits.
 *
 * The caches of a process are abandoned by its forked children. */
#ifndef ACCEL_MEMORY_CACHE_H
#define ACCEL_MEMORY_CACHE_H

#include "memory/config.h"
#include "memory/heap.h"
#include "memory/statistics.h"
#include "platform/barrier.h"

enum {
    ACCEL__CACHE_SIZES = ACCEL__SMALL_SIZE / ACCEL__BLOCK_UNIT, /* one list for each size */
    ACCEL__CACHE_PLACES_LOG2 = 6,
    ACCEL__CACHE_PLACES = 1 << ACCEL__CACHE_PLACES_LOG2,
    ACCEL__CACHE_DRAWERS = 16, /* of those, at most so many are taken */
    ACCEL__CACHE_WORDS = ACCEL__CACHE_SIZES / 64
};

/* Of one thread for one device. */
typedef struct accel__share {
    accel__shard shard;
    _Atomic(size_t) cached_bytes; /* in this thread's drawers, of the device; others read */
    accel__device *device;
    struct accel__share *next; /* of the same thread */
} accel__share;

/* Free blocks of one lane, all in state CACHED. */
typedef struct accel__drawer {
    accel_stream *stream; /* the lane's; NULL: an empty place */
    uint64_t stream_id;   /* streams may be made anew at the same address */
    accel__lane *lane;
    accel__share *share;
    uint64_t filled[ACCEL__CACHE_WORDS];     /* the lists that may have blocks */
    accel__block *sizes[ACCEL__CACHE_SIZES]; /* linked by bin_after, the latest first */
} accel__drawer;

typedef struct accel__cache {
    _Atomic(uint32_t) is_busy; /* its thread is inside */
    _Atomic(uint32_t) is_held; /* and shall not be */
    uint32_t generation;
    bool is_shared; /* other threads have caches, too: then two may free the same block at once */
    /* The settings under which the short ways hold; others never are those that hold now. */
    const accel__config *config;
    const accel__config *seen;                   /* what the cache is in line with */
    size_t limit;                                /* bytes that may lie cached for a device */
    accel__drawer *drawers[ACCEL__CACHE_PLACES]; /* at accel__cache_place of their streams */
    size_t drawer_count;
    size_t next_victim;
    accel__share *shares;
    struct accel__cache *next;      /* in the list of all */
    struct accel__cache *inherited; /* the parent's, before a fork */
} accel__cache;

/* The calling thread's; NULL: none, or not yet. It may be of the parent of a forked child: compare its
 * generation. */
extern _Thread_local accel__cache *accel__cache_mine __attribute__((tls_model("initial-exec")));

/* The calling thread's, made where there is none and brought in line with the settings; NULL: no host
 * memory. With no lock held. */
accel__cache *accel__cache_own(void);

/* The thread's share of a device, made at its first need; NULL: no host memory. With no lock held. */
accel__share *accel__cache_share(accel__cache *cache, accel__device *device);

/* Gives the lane, of a device's default heap, a drawer; what lay in its place goes back to its heap. With no
 * lock held. */
void accel__cache_open_drawer(accel__cache *cache, accel__lane *lane, accel_stream *stream);

/* What the calling thread keeps for the device goes back to the heap. With no lock held. */
void accel__cache_flush_mine(accel__device *device);

/* The same of all threads (NULL: of all devices). With no lock held: threads are held still. */
void accel__cache_flush_all(accel__device *device);

/* The calling thread's own way to count, for what does not go by the short ways; NULL: it has none. */
static inline accel__shard *accel__share_shard(accel__share *share)
{
    return share != NULL ? &share->shard : NULL;
}

/* Bytes that lie in all threads' drawers for the device: as good as any figure that changes meanwhile. */
size_t accel__cache_bytes(const accel__device *device);

/* Holds all threads of this process but the calling one still, at no place where a lock of the allocators
 * is held but the statistics'; lets them go. Between the two: no driver, no callback. */
void accel__cache_hold_all(void);
void accel__cache_let_all_go(void);

/* The thread was found held: waits until it is not any more. */
void accel__cache_wait(void);

/* False: the thread is held; it is outside, and must call accel__cache_wait. */
static inline bool accel__cache_enter(accel__cache *cache)
{
    accel__barrier_store(&cache->is_busy, 1);
    if (__builtin_expect(accel__barrier_load(&cache->is_held) == 0, true))
        return true;
    atomic_store_explicit(&cache->is_busy, 0, memory_order_release);
    return false;
}

static inline void accel__cache_leave(accel__cache *cache)
{
    atomic_store_explicit(&cache->is_busy, 0, memory_order_release);
}

static inline size_t accel__cache_place(const accel_stream *stream)
{
    return (uint64_t)(uintptr_t)stream * UINT64_C(0x9e3779b97f4a7c15) >>
           (64 - ACCEL__CACHE_PLACES_LOG2);
}

#endif
