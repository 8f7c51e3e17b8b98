/* default_backend.h: the accelerator of threads that chose none: what ACCEL_BACKEND names, else the first
 * available one by rank. */
#ifndef ACCEL_CORE_DEFAULT_BACKEND_H
#define ACCEL_CORE_DEFAULT_BACKEND_H

#include "core/registry.h"

/* *out_backend is NULL with OK where there is none. UNAVAILABLE: ACCEL_BACKEND names what cannot be used;
 * CANNOT_TELL. */
accel_status accel__default_backend(const char *function, accel__backend **out_backend);

/* Called at each start: from the first one on the default is fixed (accel_current_accelerator). Asks nobody. */
void accel__default_backend_freeze(void);

#endif
