/* pool.h: pools of device memory: who holds one, what it takes its memory from, and which one a thread's
 * allocations go to. The memory itself is in the pool's heap (heap.h).
 *
 * `uses` counts the references of the program, of open scopes and of graphs. At 0 the pool is released, and
 * nothing is allocated from it any more; it is gone once its heap is, and that is when its last block was
 * freed. The structures are never freed, and used again after 256 other pools went, so that a stale handle is
 * found rather than followed. */
#ifndef ACCEL_MEMORY_POOL_INTERNAL_H
#define ACCEL_MEMORY_POOL_INTERNAL_H

#include <accel/memory_pool.h>

#include "memory/heap/heap.h"

/* All but the atomics and what is said otherwise is constant from its making until it is gone. */
struct accel_memory_pool {
    _Atomic(uint32_t) uses; /* 0: released */
    accel__device *device;
    accel_memory_pool_id id;
    accel_memory_pool_options options;
    accel__mutex mutex;          /* guards the making of the heap: before the heaps' own */
    _Atomic(accel__heap *) heap; /* of the process `generation`; NULL: none */
    _Atomic(uint32_t) generation;
    uint32_t origin; /* the process that made it */
    _Atomic(uint32_t) keepers;
    /* Calls of settle since the pool was released; the one that made it 1 works, for all of them. */
    _Atomic(uint32_t) settle_calls;
    _Atomic(bool) is_gone;
    _Atomic(accel_memory_pool *) next; /* in the list of all structures, which only grows */
    accel_memory_pool *next_gone;      /* in the queue of those to be used again */
};

/* Fails, by name, for NULL and for a released pool. */
accel_status accel__pool_check(const accel_memory_pool *pool, const char *function);

/* As accel_memory_pool_create, with an id whose first number is set, for graphs. */
accel_status accel__pool_create_for_graph(accel__device *device, const char *function,
                                          accel_memory_pool **out_pool);

static inline bool accel__pool_is_released(const accel_memory_pool *pool)
{
    return atomic_load_explicit(&pool->uses, memory_order_acquire) == 0;
}

/* While somebody keeps a pool, what is cached in it stays: replays of graphs use memory that no allocation
 * names any more. Pools of graphs are kept for as long as they have uses. */
static inline void accel__pool_keep(accel_memory_pool *pool)
{
    atomic_fetch_add(&pool->keepers, 1);
}

static inline void accel__pool_unkeep(accel_memory_pool *pool)
{
    atomic_fetch_sub(&pool->keepers, 1);
}

/* Whether cached segments of a heap may go back now. `pool` NULL: the default one. */
static inline bool accel__pool_may_release(const accel_memory_pool *pool)
{
    return pool == NULL || accel__pool_is_released(pool) ||
           (pool->id.first == 0 && atomic_load(&pool->keepers) == 0);
}

/* The pool's heap in this process, made at the first call. INVALID_ARGUMENT for a released pool,
 * OUT_OF_HOST_MEMORY. */
accel_status accel__pool_heap(accel_memory_pool *pool, const char *function,
                              accel__heap **out_heap);

/* How many pools are released and not gone yet, in all of the process. */
extern _Atomic(uint32_t) accel__pools_draining;

void accel__pool_settle_slow(const accel__device *device);

/* Gives back what released pools of the device (NULL: of all) still hold, as far as that is free by now.
 * Called where a block of such a pool was freed, after a synchronize, before new segments are made, by
 * accel_empty_cache. Never waits. No lock may be held: sources are called. */
static inline void accel__pool_settle(const accel__device *device)
{
    if (atomic_load_explicit(&accel__pools_draining, memory_order_acquire) != 0)
        accel__pool_settle_slow(device);
}

/* The innermost open scope of this thread. */
extern _Thread_local accel_memory_pool_scope *accel__pool_scope
    __attribute__((tls_model("initial-exec")));

accel_memory_pool *accel__pool_routed_slow(const accel__device *device);

/* The pool that this thread's scopes choose for the device (lent); NULL: none does. */
static inline accel_memory_pool *accel__pool_routed(const accel__device *device)
{
    return __builtin_expect(accel__pool_scope == NULL, true) ? NULL
                                                             : accel__pool_routed_slow(device);
}

#endif
