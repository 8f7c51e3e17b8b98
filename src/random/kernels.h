/* kernels.h: the kernels that fill memory with random numbers: the backend's own, or the stand-in. */
#ifndef ACCEL_RANDOM_KERNELS_H
#define ACCEL_RANDOM_KERNELS_H

#include <accel/backend.h>

#include "core/device.h"

/* How a fill is launched: block b of `block` work-items writes elements from b * elements on. */
typedef struct accel__fill_kernel {
    accel_kernel *kernel; /* stays */
    uint64_t elements;
    uint32_t block;
} accel__fill_kernel;

/* The kernel of a kind on a device that is in use. Loaded or built at the first call for it. */
accel_status accel__fill_kernel_get(accel__device *device, accel_backend_fill kind,
                                    accel__fill_kernel *out_kernel, const char *function);

#endif
