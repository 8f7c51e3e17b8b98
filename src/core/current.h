/* current.h: what is current on a thread: accelerator, device index per backend, stream per device. */
#ifndef ACCEL_CORE_CURRENT_H
#define ACCEL_CORE_CURRENT_H

#include "core/device.h"

/* The thread's index on that backend; 0 where it set none. */
int32_t accel__current_index(accel_backend backend);

/* The thread's accelerator, else the process default. *out_backend is NULL with OK where there is
 * none. UNAVAILABLE: ACCEL_BACKEND names what cannot be used. */
accel_status accel__current_backend(const char *function, accel__backend **out_backend);

/* The thread's current stream of a device (lent), else its default stream. */
accel_stream *accel__current_stream(accel__device *device);

/* For calls whose stream is NULL: the current stream of the current device. */
accel_status accel__resolve_stream(accel_stream *given, const char *function,
                                   accel_stream **out_stream);

#endif
