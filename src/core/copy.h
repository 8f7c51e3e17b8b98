/* copy.h: copies and fills in two steps, for graphs: what a call means, and queueing it, later and often. */
#ifndef ACCEL_CORE_COPY_H
#define ACCEL_CORE_COPY_H

#include <accel/copy.h>

#include "core/capture.h"

/* Rows as accel_copy_2d takes them. INVALID_ARGUMENT: a pitch. A width or height of 0 is 0 in both. */
accel_status accel__copy_rows_of(void *destination, size_t destination_pitch, const void *source,
                                 size_t source_pitch, size_t width, size_t height,
                                 const char *function, accel_backend_copy *out_copy);

/* What the pointers name, and which way the bytes go. Not for copies of nothing. */
accel_status accel__copy_describe(const accel_backend_copy *copy, const char *function,
                                  accel__captured_copy *out_copy);

/* Queues it on a ready stream of one of the devices, whatever is captured on it. */
accel_status accel__copy_queue(accel_stream *stream, accel_native_stream *native,
                               const accel__captured_copy *copy);

/* The rules of accel_fill; *out_device: whose memory it is. */
accel_status accel__fill_check(void *destination, const void *pattern, size_t pattern_size,
                               size_t size, const char *function, accel__device **out_device);

#endif
