/* staging.h: copies between two devices that cannot reach each other, through host memory. */
#ifndef ACCEL_CORE_STAGING_H
#define ACCEL_CORE_STAGING_H

#include "core/device.h"

/* Does the copy in the order of `stream` (of either device) and returns when it is done. */
accel_status accel__staging_copy(accel_stream *stream, accel__device *destination,
                                 accel__device *source, const accel_backend_copy *copy,
                                 const char *function);

#endif
