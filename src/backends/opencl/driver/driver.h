/* driver.h: the started backend: which OpenCL device stands behind each index. */
#ifndef ACCEL_OPENCL_DRIVER_H
#define ACCEL_OPENCL_DRIVER_H

#include <accel/backend.h>

#include "backends/opencl/driver/library.h"

/* What stands behind an index. Constant once the backend has started. */
typedef struct accel__opencl_entry {
    accel__opencl_platform *platform;
    cl_context context; /* of all selected devices of the platform */
    cl_device_id id;
    const accel_backend_found *found;
    _Atomic(struct accel__opencl_device *) device; /* once opened */
} accel__opencl_entry;

accel_status accel__opencl_start(const accel_backend_selected *selected, uint32_t count);
void accel__opencl_stop(void);

/* After a successful start; `index` is in range. */
accel__opencl_entry *accel__opencl_entry_get(int32_t index);

#endif
