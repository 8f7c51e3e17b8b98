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

#include "memory/heap.h"

struct accel_memory_pool {
    _Atomic(uint32_t) uses; /* 0: released */
    bool is_gone;           /* the structure waits to be used again */
    accel__device *device;
    accel_memory_pool_id id;
    bool no_split;
    bool use_on_oom;
    accel_memory_source source;  /* all NULL: the device's own memory */
    accel__mutex mutex;          /* guards the making and the end of the heap: taken first of all */
    _Atomic(accel__heap *) heap; /* of the process `generation`; NULL: none yet */
    _Atomic(uint32_t) generation;
    _Atomic(accel_memory_pool *) next; /* in the list of all structures, which only grows */
    accel_memory_pool *next_gone;      /* in the queue of those to be used again */
};

/* Fails, by name, for NULL and for a released pool. */
accel_status accel__pool_check(const accel_memory_pool *pool, const char *function);

/* A pool whose id has a first number: for graphs. */
accel_status accel__pool_create_for_graph(accel__device *device, accel_memory_pool **out_pool);

static inline bool accel__pool_is_released(const accel_memory_pool *pool)
{
    return atomic_load_explicit(&pool->uses, memory_order_acquire) == 0;
}

static inline bool accel__pool_has_source(const accel_memory_pool *pool)
{
    return pool->source.alloc != NULL;
}

/* The pool's heap in this process, made at the first call. INVALID_ARGUMENT for a released pool,
 * OUT_OF_HOST_MEMORY. */
accel_status accel__pool_heap(accel_memory_pool *pool, const char *function,
                              accel__heap **out_heap);

/* Gives back what released pools of the device (NULL: of all) still hold, as far as that is free by now.
 * Called where a block of a released pool was freed, before new segments are made, by
 * accel_empty_cache. Never waits. No lock may be held. */
void accel__pool_settle(accel__device *device);

/* Calls `visit` for each pool of the device that is not gone, until it returns false. `visit` may take
 * heaps' locks, but must not release pools. */
void accel__pool_visit(accel__device *device, bool (*visit)(accel_memory_pool *pool, void *user),
                       void *user);

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
