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
#include "memory/heap/heap.h"
#include "memory/statistics/statistics.h"
#include "platform/barrier.h"

enum {
    ACCEL__CACHE_FILLED = 8, /* lists that share a mark whether they may have blocks */
    /* One for each size from 0, in whole groups of those. */
    ACCEL__CACHE_LISTS = ACCEL__SMALL_SIZE / ACCEL__BLOCK_UNIT + ACCEL__CACHE_FILLED,
    ACCEL__CACHE_DRAWERS = 16, /* places that are taken, at most */
    /* Why a thread shall not enter at once: bits of `is_held`. */
    ACCEL__CACHE_HELD = 1, /* it is held still */
    ACCEL__CACHE_FENCE =
        2, /* it must put a fence between its two steps: the system has no barrier */
};

/* Of one thread for one device. What has no lock here or below is its thread's, inside its cache, or of
 * whoever holds that still. */
typedef struct accel__share {
    accel__shard shard;
    ptrdiff_t room; /* bytes that the thread may cache yet, of the device */
    accel__device *device;
    struct accel__share *next; /* of the same thread */
} accel__share;

/* Free blocks of one lane, all in state CACHED. */
typedef struct accel__drawer {
    accel__block *lists[ACCEL__CACHE_LISTS]; /* by size / 512; by bin_after, the latest first */
    accel_stream *stream;                    /* the lane's, perhaps of before; NULL: nobody's */
    uint64_t stream_id;                      /* another stream may lie where that one lay */
    uint64_t key;                            /* of the use of the lane; 0: nobody's */
    accel__lane *lane;
    accel__share *share;
    uint8_t filled[ACCEL__CACHE_LISTS / ACCEL__CACHE_FILLED];
} accel__drawer;

typedef struct accel__cache {
    _Atomic(uint32_t) is_busy; /* its thread is inside */
    _Atomic(uint32_t) is_held; /* and shall not be, or not without ado */
    /* The generation while the short ways may be taken; UINT32_MAX while the long ones must be: the settings
     * are not plain ones, the history is on, or a scope of a pool is open. */
    _Atomic(uint32_t) pass;
    bool is_shared; /* other threads have caches, too: then two may free the same block at once */
    _Atomic(bool) is_plain; /* but for the history, the short ways might be taken */
    bool is_scoped;         /* the thread has a scope of a pool open */
    uint32_t generation;
    _Atomic(const accel__config *) config; /* what the cache is in line with */
    _Atomic(size_t) limit;                 /* bytes that may lie cached for a device */
    accel__share *shares;
    size_t drawer_count;
    unsigned overflows; /* blocks for which there was no room */
    size_t next_victim;
    struct accel__cache *next;                    /* in the list of all */
    struct accel__cache *inherited;               /* the parent's, before a fork */
    accel__drawer *drawers[ACCEL__STREAM_PLACES]; /* never NULL: accel__drawer_nobodys */
} accel__cache;

/* Where no drawer is. */
extern accel__drawer accel__drawer_nobodys __attribute__((visibility("hidden")));

/* The calling thread's; one of generation UINT32_MAX where it has none. It may be of the parent of a forked
 * child: compare its generation. */
extern _Thread_local accel__cache *accel__cache_mine
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The calling thread's, made where there is none and brought in line with the settings; NULL: no host
 * memory. With no lock held. */
accel__cache *accel__cache_own(void);

/* The thread's share of a device, made at its first need; NULL: no host memory. With no lock held. */
accel__share *accel__cache_share(accel__cache *cache, accel__device *device);

/* The drawer of the lane, which is one of a device's default heap; what lay in its place goes back to its heap.
 * The thread has a share of the device. NULL: no host memory. With no lock held. */
accel__drawer *accel__cache_open_drawer(accel__cache *cache, accel__lane *lane,
                                        accel_stream *stream);

/* Room for a block of the drawer's lane in the calling thread's own drawer: larger ones, which the thread is less
 * likely to ask for again, go back to the heap before it. False: there is none. With no lock held. */
bool accel__cache_make_room(accel__cache *cache, accel__drawer *drawer, size_t size);

/* What the calling thread keeps for the device (NULL: for all) in blocks larger than `above`, roughly, goes back to
 * the heap. With no lock held. */
void accel__cache_flush_mine(accel__device *device, size_t above);

/* The same of all threads (NULL: of all devices). With no lock held: threads are held still. */
void accel__cache_flush_all(accel__device *device);

/* The calling thread's own way to count, for what does not go by the short ways; NULL: it has none. */
static inline accel__shard *accel__share_shard(accel__share *share)
{
    return share != NULL ? &share->shard : NULL;
}

/* Bytes that lie in all threads' drawers for the device. As accel__cache_flush_all. */
size_t accel__cache_bytes(const accel__device *device);

/* Holds all threads of this process but the calling one still, at no place where a lock of the allocators
 * is held but the statistics'; lets them go. Between the two: no driver, no callback. */
void accel__cache_hold_all(void);
void accel__cache_let_all_go(void);

/* ---- entering one's own cache: around every look at its drawers ---- */

static inline void accel__cache_leave(accel__cache *cache)
{
    atomic_store_explicit(&cache->is_busy, 0, memory_order_release);
}

/* False: not without ado. The thread is outside. */
static inline bool accel__cache_enter_at_once(accel__cache *cache)
{
    accel__barrier_store(&cache->is_busy, 1);
    if (__builtin_expect(accel__barrier_load(&cache->is_held) == 0, true))
        return true;
    accel__cache_leave(cache);
    return false;
}

/* Waits while the thread is held. */
void accel__cache_enter_slow(accel__cache *cache);

static inline void accel__cache_enter(accel__cache *cache)
{
    if (!accel__cache_enter_at_once(cache))
        accel__cache_enter_slow(cache);
}

/* ---- the rules have changed ---- */

/* Settings or history: all caches are brought in line. With no lock held. */
void accel__cache_review_all(void);

/* The thread's scopes of pools. */
void accel__cache_review_mine(void);

#endif
