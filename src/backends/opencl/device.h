/* device.h: the native device of this backend, failures, and the way from a pointer to a buffer. */
#ifndef ACCEL_OPENCL_DEVICE_H
#define ACCEL_OPENCL_DEVICE_H

#include <accel/backend.h>

#include "backends/opencl/driver/symbols.h"
#include "backends/opencl/memory/memory.h"

/* How device memory is addressed, best first. */
typedef enum accel__opencl_pointers {
    ACCEL__OPENCL_USM = 1, /* cl_intel_unified_shared_memory: the driver's own device pointers */
    ACCEL__OPENCL_SVM = 2, /* shared virtual memory of OpenCL 2 and 3 */
    ACCEL__OPENCL_TRANSLATE =
        3 /* reserved addresses, translated to (buffer, offset) at each call */
} accel__opencl_pointers;

/* The core's accel_native_device. Constant after open, but for the memory. */
typedef struct accel__opencl_device {
    const accel__opencl_api *api;
    cl_platform_id platform;
    cl_context context; /* shared by all devices of the platform */
    cl_device_id id;
    int32_t index;
    accel__opencl_pointers pointers;
    bool timing;                      /* queues measure */
    bool priorities;                  /* queues have them */
    bool exact_division;              /* kernels may be built for it */
    const accel_backend_found *found; /* name, driver, capability */
    uint64_t total_memory;
    cl_command_queue service;    /* for mapping */
    accel__opencl_memory memory; /* device memory */
    accel__opencl_memory pinned;
} accel__opencl_device;

accel_status accel__opencl_open(int32_t index, accel_native_device **out_device);
accel_status accel__opencl_memory_info(int32_t index, size_t *out_free, size_t *out_total);
accel_status accel__opencl_priority_range(int32_t index, int32_t *out_lowest, int32_t *out_highest);

/* ---- failures ---- */

/* "CL_OUT_OF_RESOURCES"; "unknown code" for others. Static. */
const char *accel__opencl_code_name(cl_int code);

/* Records that `call` ("clCreateBuffer") returned `code`, which is not CL_SUCCESS, and returns the status
 * that stands for it. */
accel_status accel__opencl_fail(cl_int code, const char *call);

#endif
