/* SPDX-License-Identifier: MIT
 * memory_pool.h: memory that is kept apart, and memory that others allocated.
 *
 * A pool is a caching allocator of its own on one device: memory freed into it is reused only by
 * allocations from it. Graphs keep their memory in pools; a program may use one to keep a component's
 * memory together, to see what that component uses, or to take memory from an allocator of its own.
 *
 * An allocation comes from, in this order: the pool that accel_memory_options names; the pool of the graph
 * that the stream is captured into; the innermost open scope of the calling thread whose pool is of the
 * stream's device; the device's default pool. Pools hold device memory; pinned memory is never theirs.
 *
 * A pool is counted. When its last reference is released, no more can be allocated from it: what is cached
 * goes back to where it came from at once, what is still allocated when it is freed. Using a released pool
 * is found (ACCEL_ERROR_INVALID_ARGUMENT, by name) until 256 other pools have been released after it.
 *
 * Fork: in a child of a process that had used a backend that survives that, an inherited pool starts
 * empty; otherwise it can only be released.
 */
#ifndef ACCEL_MEMORY_POOL_H
#define ACCEL_MEMORY_POOL_H

#include <accel/memory.h>

ACCEL_BEGIN_DECLS

typedef struct accel_memory_pool accel_memory_pool; /* counted; locked inside: any thread */

/* A program's own allocator, from which a pool takes its segments. All functions are called without any
 * lock held, on whatever thread allocates or frees, several at once; they must not allocate from the pool
 * they serve. */
typedef struct accel_memory_source {
    /* `size` bytes, a multiple of ACCEL_MEMORY_ALIGNMENT, aligned to `alignment` (at least
     * ACCEL_MEMORY_ALIGNMENT), that kernels and copies of `device` can use. Not OK, or NULL with OK: no
     * memory; the pool then gives back what it has cached, asks once more, and reports OUT_OF_MEMORY. A
     * pointer that is not aligned is given back and reported as INVALID_STATE. NULL in a source that is
     * all zero: the device's own memory. */
    accel_status (*alloc)(void *user, accel_device device, size_t size, size_t alignment,
                          void **out_pointer);
    /* Takes back what `alloc` gave, whole; every stream has passed its use. */
    void (*free)(void *user, accel_device device, void *pointer, size_t size);
    /* Called once, when the pool is gone and everything went back; may be NULL. Not called where
     * accel_memory_pool_create fails. Dropped in a forked child, as `free` is for inherited memory. */
    void (*release)(void *user);
    void *user;
} accel_memory_source;

typedef struct accel_memory_pool_options {
    uint32_t struct_size;
    bool no_split; /* a cached block is handed out whole, never cut */
    bool
        use_on_oom; /* allocations of the default pool may take what is cached here before they fail */
    accel_memory_source source;
} accel_memory_pool_options;

/* Names a pool in snapshots and reports, unique in the process. {0, 0} is a device's default pool; pools
 * of graphs have a first number, others a second one. */
typedef struct accel_memory_pool_id {
    uint64_t first;
    uint64_t second;
} accel_memory_pool_id;

/* accel_memory_pool_create (question): an empty pool on `device` with one reference. Touches no driver.
 * `options` may be NULL. Errors: INVALID_ARGUMENT (a source with one of alloc and free), those of the device,
 * OUT_OF_HOST_MEMORY. */
ACCEL_API accel_status accel_memory_pool_create(accel_device device,
                                                const accel_memory_pool_options *options,
                                                accel_memory_pool **out_pool);

/* accel_memory_pool_retain: one more reference. Errors: INVALID_ARGUMENT (NULL, or a released pool). */
ACCEL_API accel_status accel_memory_pool_retain(accel_memory_pool *pool);

/* accel_memory_pool_release: one reference less; NULL is a no-op. With the last one cached memory goes
 * back (a source's `free` is called from here). Errors: INVALID_ARGUMENT for a pool that was released
 * already: nothing changes. In a forked child quiet. Any thread. */
ACCEL_API accel_status accel_memory_pool_release(accel_memory_pool *pool);

/* Questions about a pool. `use_count`: references held now, those of scopes and graphs included; 0 for a
 * released one. Errors: INVALID_ARGUMENT (NULL; for all but the count also a released pool). Any thread;
 * fork: harmless. */
ACCEL_API accel_status accel_memory_pool_get_device(const accel_memory_pool *pool,
                                                    accel_device *out_device);
ACCEL_API accel_status accel_memory_pool_get_id(const accel_memory_pool *pool,
                                                accel_memory_pool_id *out_id);
ACCEL_API accel_status accel_memory_pool_get_use_count(const accel_memory_pool *pool,
                                                       uint32_t *out_use_count);

/* accel_memory_pool_trim (question): gives cached segments of the pool back, those whose streams have
 * passed; out_size (may be NULL) gets the bytes. Nothing of a pool that a graph has: its replays use that
 * memory. Never waits. Any thread. Errors: INVALID_ARGUMENT, IN_CALLBACK, FORKED. */
ACCEL_API accel_status accel_memory_pool_trim(accel_memory_pool *pool, size_t *out_size);

/* A scope: while it is open, the calling thread's allocations on the pool's device come from the pool.
 * Scopes nest, the same pool too; each holds a reference. The struct must stay where it is, and be ended on
 * the same thread. Ending one that is not the innermost ends those opened inside it, too; ending a closed
 * or zeroed one does nothing. */
typedef struct accel_memory_pool_scope {
    accel_memory_pool *pool;
    struct accel_memory_pool_scope *outer;
} accel_memory_pool_scope;

/* accel_memory_pool_scope_begin (question): Errors: INVALID_ARGUMENT (NULL, released); the scope is closed
 * then. */
ACCEL_API accel_status accel_memory_pool_scope_begin(accel_memory_pool *pool,
                                                     accel_memory_pool_scope *out_scope);
ACCEL_API void accel_memory_pool_scope_end(accel_memory_pool_scope *scope);

/* ---- memory that others allocated ---- */

typedef struct accel_memory_wrap_options {
    uint32_t struct_size;
    accel_memory_kind
        kind; /* DEVICE (also for UNKNOWN): memory of the device; PINNED: of the host, which
                               the device's copies take directly */
    accel_stream *stream; /* home stream; NULL: the device's default stream */
    /* Called once, without a lock held, after accel_memory_free and once the home stream and all
     * recorded ones have passed: from a free, an allocation, or a synchronize on any thread, inside of
     * which queueing, waiting and allocating are refused. May be NULL. Dropped in a forked child. */
    void (*release)(void *pointer, size_t size, void *user);
    void *user;
} accel_memory_wrap_options;

/* accel_memory_wrap (question): makes memory that something else allocated known, so that copies, fills,
 * kernels, accel_pointer_info and accel_record_stream take it as the device's. It is neither cached nor
 * counted in statistics. accel_memory_free (in the order of its streams, as ever) ends that: from then on
 * it is unknown, and `release` is called when nothing of accel uses it any more. The driver must know the
 * memory by itself: of the same context, or host memory for cpu. `options` may be NULL.
 * Errors: INVALID_ARGUMENT (NULL, size 0 or wrapping around, kind, overlap with memory that accel knows),
 * MISMATCH (stream of another device), those of the device, OUT_OF_HOST_MEMORY.
 * Any thread. Fork: a child knows inherited memory still; nothing is called when it frees that. */
ACCEL_API accel_status accel_memory_wrap(accel_device device, void *pointer, size_t size,
                                         const accel_memory_wrap_options *options);

ACCEL_END_DECLS

#endif /* ACCEL_MEMORY_POOL_H */
