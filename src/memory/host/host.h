/* host.h: the caching allocator of pinned host memory.
 *
 * alloc.c calls it for ACCEL_MEMORY_KIND_PINNED, and hands ranges whose owner is ACCEL__RANGE_OF_HOST to it.
 * The host touches such memory without asking streams, so a freed block is handed out again only when its
 * home stream and all recorded ones have passed. */
#ifndef ACCEL_MEMORY_HOST_HOST_H
#define ACCEL_MEMORY_HOST_HOST_H

#include <accel/host_memory.h>

#include "core/pointers.h"

/* `size` is at least 1, `alignment` a power of two of at least ACCEL_MEMORY_ALIGNMENT; the stream's device
 * is open. Failures are recorded under `function`. */
accel_status accel__host_alloc(accel_stream *stream, size_t size, size_t alignment,
                               const char *function, void **out_pointer);

/* INVALID_ARGUMENT without a record: the range is not live (another thread freed it first). In a forked
 * child a no-op for inherited blocks. */
accel_status accel__host_free(accel__range *range);

/* One more stream that uses the block. INVALID_ARGUMENT without a record: it is not live. */
accel_status accel__host_record(accel__range *range, accel_stream *stream, const char *function);

/* Whether the address lies in the block of the range, which begins before it and may have ended meanwhile. */
bool accel__host_has(const accel__range *range, uintptr_t address);

/* Takes back what streams have passed by now; never waits. alloc.c calls it after a synchronize. */
void accel__host_collect(void);

#endif
