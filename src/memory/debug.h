/* debug.h: the settings `guard` and `poison`. alloc.c comes here where the settings are not plain, and for
 * ranges whose owner is ACCEL__RANGE_OF_GUARD.
 *
 * A guarded allocation is an ordinary one, some larger, with a range of its own around what the program may
 * touch; before and behind that lie canaries, which are looked at when it is freed. */
#ifndef ACCEL_MEMORY_DEBUG_H
#define ACCEL_MEMORY_DEBUG_H

#include "core/pointers.h"
#include "memory/config.h"

/* accel_memory_alloc without any of this. */
typedef accel_status (*accel__plain_alloc)(accel_stream *stream, size_t size,
                                           const accel_memory_options *options, void **out_pointer);

/* An allocation by `plain`, poisoned and guarded as the settings say. `options` are complete and checked,
 * `size` is not 0. In a capture, where nothing can be looked at, it is the plain one. */
accel_status accel__debug_alloc(accel_stream *stream, size_t size,
                                const accel_memory_options *options, accel__plain_alloc plain,
                                void **out_pointer);

/* Ends a guarded allocation: waits for the streams that use it (a quarter of a second at most), looks at its
 * canaries, and frees what it lies in by `plain`. CORRUPTED, recorded: a canary was overwritten; the memory is
 * freed all the same. INVALID_ARGUMENT without a record: it is not live. Inside a callback, where a stream
 * captures, and where the streams do not pass in time, nothing is looked at. */
accel_status accel__debug_free(accel__range *range, accel_status (*plain)(void *pointer));

/* One more stream that uses a guarded allocation. INVALID_ARGUMENT without a record: it is not live.
 * *out_inner: what it lies in, which must be told, too. */
accel_status accel__debug_record(accel__range *range, accel_stream *stream, const char *function,
                                 void **out_inner);

/* Before a block is freed that no other stream uses: overwritten, in the order of its home stream, where the
 * settings ask for poison. For device memory; pinned memory is host.c's. */
void accel__debug_poison(const accel__range *range);

#endif
