/* backend.h: what a backend answers to questions: how many devices it has, or why it has none. Nothing here
 * starts anything. */
#ifndef ACCEL_CORE_BACKEND_H
#define ACCEL_CORE_BACKEND_H

#include "core/registry.h"

/* Devices of a backend: frozen once started, else asked anew. CANNOT_TELL gives those that are
 * certain. A backend that ACCEL_BACKENDS leaves out has none. */
accel_status accel__backend_count(accel__backend *backend, int32_t *out_count,
                                  const char *function);

/* The same, with the reason and without recording a failure. */
void accel__backend_ask(accel__backend *backend, accel_backend_probe *out_probe);

/* CANNOT_TELL with the reason; OUT_OF_HOST_MEMORY where that was accel's own want of memory. */
accel_status accel__fail_cannot_tell(const accel__backend *backend,
                                     const accel_backend_probe *answer, const char *function);

/* UNAVAILABLE with the backend's own reason. */
accel_status accel__fail_no_device(accel__backend *backend, const char *function);

/* NOT_FOUND, with the names that there are. */
accel_status accel__fail_no_backend(const char *name, const char *function);

#endif
