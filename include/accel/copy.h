/* SPDX-License-Identifier: MIT
 * copy.h: copies and fills.
 *
 * Which memory a pointer names is looked up (accel_pointer_info): unknown pointers are plain host
 * memory. All calls are asynchronous on `stream`: host memory must stay valid, and for sources
 * unchanged, until the stream has passed the copy. The stream must be of the source's or the
 * destination's device. NULL: the current stream of the destination's device, else the source's,
 * else (host to host) of the current device.
 *
 * Rules that are checked: both ranges must lie inside their allocation (OUT_OF_RANGE); source and
 * destination must not overlap (INVALID_ARGUMENT); a size or pitch that overflows is OUT_OF_RANGE;
 * size 0 is OK and still ordered. Copies have no alignment rule.
 *
 * Between two devices of one backend that can reach each other the copy is direct. Elsewhere it goes
 * through host memory in pieces, and the call returns only when it is done (the streams' order holds
 * all the same): do not make such a copy wait for something that only the calling thread would do.
 *
 * On a stream that captures a copy or fill becomes a node of the graph. Any thread may call any of these
 * functions.
 */
#ifndef ACCEL_COPY_H
#define ACCEL_COPY_H

#include <accel/memory.h>

ACCEL_BEGIN_DECLS

/* accel_copy (use): `size` bytes. Errors: INVALID_ARGUMENT (NULL with a size, overlap), OUT_OF_RANGE,
 * MISMATCH (stream of a third device), CAPTURE, OUT_OF_HOST_MEMORY, those of a start, the stream's failure. */
ACCEL_API accel_status accel_copy(void *destination, const void *source, size_t size,
                                  accel_stream *stream);

/* accel_copy_2d (use): `height` rows of `width` bytes; row i starts at i * pitch. A pitch is at least
 * the width (or the height is at most 1). Errors as accel_copy, and INVALID_ARGUMENT for a pitch. */
ACCEL_API accel_status accel_copy_2d(void *destination, size_t destination_pitch,
                                     const void *source, size_t source_pitch, size_t width,
                                     size_t height, accel_stream *stream);

/* accel_fill (use): repeats the `pattern_size` bytes at `pattern` (copied by the call) over `size`
 * bytes of device or pinned memory. pattern_size is 1, 2, 4 or 8; size is a multiple of it and
 * `destination` aligned to it. Errors as accel_copy; INVALID_ARGUMENT for these rules and for plain
 * host memory. */
ACCEL_API accel_status accel_fill(void *destination, const void *pattern, size_t pattern_size,
                                  size_t size, accel_stream *stream);

ACCEL_END_DECLS

#endif /* ACCEL_COPY_H */
