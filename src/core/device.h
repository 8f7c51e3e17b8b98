/* device.h: backends and devices by their public values, and the core's object behind each device. */
#ifndef ACCEL_CORE_DEVICE_H
#define ACCEL_CORE_DEVICE_H

#include "core/registry.h"
#include "core/stream.h"

/* Behind each device that was asked about. Made once, never freed. */
struct accel__device {
    accel_device id;
    accel__backend *backend;

    /* Guards `native` being opened and the list of streams. Taken before nothing else; no driver
     * call that waits is made while it is held, but for `open`. */
    accel__mutex mutex;
    _Atomic(accel_native_device *) native; /* NULL until the first use */
    _Atomic(struct accel_stream *)
        streams;                        /* every stream with a native one; whole at each instant */
    accel_device_capability capability; /* valid once `native` is set */
    struct accel_stream default_stream;
};

/* ACCEL_BACKEND_CURRENT or a number. UNAVAILABLE where there is no accelerator. */
accel_status accel__backend_resolve(accel_backend number, const char *function,
                                    accel__backend **out_backend);

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
accel_status accel__fail_null(const char *function, const char *what);

/* Resolves the "current" forms and checks the index against the count. */
accel_status accel__device_resolve(accel_device device, const char *function,
                                   accel__device **out_device);

/* Backend started, device open. */
accel_status accel__device_use(accel__device *device, const char *function);

accel_status accel__device_describe(accel__backend *backend, int32_t index,
                                    accel_device_info *out_info);

/* The capability as accel promises it: the backend's answer with the groups it lacks taken off. */
accel_status accel__device_capability(accel__backend *backend, int32_t index,
                                      accel_device_capability *out_capability);

#endif
