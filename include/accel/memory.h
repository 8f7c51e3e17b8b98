/* SPDX-License-Identifier: MIT
 * memory.h: memory on devices, and what is known of a pointer.
 *
 * Allocation and release are ordered in a stream. Memory may be used at once on the stream it was
 * allocated for (its home stream), and on another stream behind an event. Freeing never blocks: the
 * memory goes back once the home stream, and each stream told by accel_record_stream, has passed what
 * was queued on it at the free.
 */
#ifndef ACCEL_MEMORY_H
#define ACCEL_MEMORY_H

#include <accel/stream.h>

ACCEL_BEGIN_DECLS

typedef enum accel_memory_kind {
    ACCEL_MEMORY_KIND_UNKNOWN = 0, /* accel knows nothing of the pointer: plain host memory */
    ACCEL_MEMORY_KIND_DEVICE = 1,
    ACCEL_MEMORY_KIND_PINNED = 2 /* host memory that the device copies from and to directly */
} accel_memory_kind;

/* Every allocation is aligned to at least this many bytes. */
#define ACCEL_MEMORY_ALIGNMENT 512

typedef struct accel_memory_pool accel_memory_pool; /* memory_pool.h */

typedef struct accel_memory_options {
    uint32_t struct_size;
    accel_memory_kind kind;  /* UNKNOWN means DEVICE */
    size_t alignment;        /* bytes, a power of two up to 2^30; 0: ACCEL_MEMORY_ALIGNMENT */
    accel_memory_pool *pool; /* NULL: as memory_pool.h says. Device memory only */
    /* The memory begins where an allocation of the driver does, and nobody else has memory in that. For
     * driver binaries that take nothing else (docs/backend-opencl.md). Device memory only. */
    bool dedicated;
} accel_memory_options;

/* accel_memory_alloc (use): `size` bytes on the device of `stream` (NULL: the current stream of the
 * current device), which becomes the memory's home stream. Contents are undefined. Size 0 gives NULL
 * and OK. `options` may be NULL. Memory comes from a cache, so most calls reach no driver; a block of
 * memory that its home stream still works on is handed out again for that stream, and for others once they
 * may have it. The first call of a process reads ACCEL_ALLOC_CONF (allocator_config.h).
 * Errors: INVALID_ARGUMENT (alignment, kind, a released pool, a pool with pinned memory, the setting),
 * MISMATCH (a pool of another device), OUT_OF_MEMORY (allocator.h: what was tried, and the report),
 * OUT_OF_HOST_MEMORY, INVALID_STATE (a source of the program's, memory_pool.h), IN_CALLBACK, FORKED, those of a
 * start; with `guard` or `poison` the stream's failure. Any thread. */
ACCEL_API accel_status accel_memory_alloc(accel_stream *stream, size_t size,
                                          const accel_memory_options *options, void **out_pointer);

/* accel_memory_free (question): gives the memory back in the order of its streams. NULL is OK. Never blocks, but
 * for the setting `guard`, and may be called on any thread, in callbacks too. In a forked child a quiet no-op
 * for all memory that it inherited.
 * Errors: INVALID_ARGUMENT for a pointer that is not the start of a live allocation (freed twice,
 * foreign, inside a block): nothing changes then. CORRUPTED, with `guard` alone: something was written beside
 * the memory, which is freed all the same. */
ACCEL_API accel_status accel_memory_free(void *pointer);

/* accel_record_stream (use): tells that `stream` uses the memory, so that a free waits for it too. The
 * pointer may point into the allocation. No-op for the home stream and for NULL. `stream` NULL: the current
 * stream of the current device. Errors: INVALID_ARGUMENT (no such allocation), OUT_OF_HOST_MEMORY, those of
 * the device. Any thread. */
ACCEL_API accel_status accel_record_stream(const void *pointer, accel_stream *stream);

typedef struct accel_pointer_information {
    uint32_t struct_size; /* in */
    accel_memory_kind kind;
    accel_device device;       /* of the allocation; {NONE, INDEX_NONE} for unknown pointers */
    void *base;                /* start of the allocation */
    size_t size;               /* bytes asked for */
    size_t offset;             /* of the pointer from base */
    accel_stream *home_stream; /* lent while the allocation lives; NULL for unknown pointers */
    bool host_readable;        /* the host may read through this pointer */
} accel_pointer_information;

/* accel_pointer_info (question): answers for any pointer, also into the middle of an allocation; one
 * that accel knows nothing of is UNKNOWN, host_readable, size 0. NULL is UNKNOWN and not readable.
 * Errors: INVALID_ARGUMENT for a NULL or wrongly sized out struct. Any thread. */
ACCEL_API accel_status accel_pointer_info(const void *pointer,
                                          accel_pointer_information *out_information);

ACCEL_END_DECLS

#endif /* ACCEL_MEMORY_H */
