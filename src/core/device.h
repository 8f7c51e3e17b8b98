/* device.h: backends and devices by their public values, and the core's object behind each device. */
#ifndef ACCEL_CORE_DEVICE_H
#define ACCEL_CORE_DEVICE_H

#include "core/backend.h"
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
