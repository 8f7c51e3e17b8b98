/* library.h: a driver library, loaded, and the platforms that it has. */
#ifndef ACCEL_OPENCL_LIBRARY_H
#define ACCEL_OPENCL_LIBRARY_H

#include <accel/status.h>

#include "backends/opencl/driver/symbols.h"

enum { ACCEL__OPENCL_PLATFORM_MAX = 64, ACCEL__OPENCL_DEVICE_MAX = 256 };

/* A platform of OpenCL 1.2 or newer, and its devices in the driver's order. */
typedef struct accel__opencl_platform {
    accel__opencl_api api;
    cl_platform_id id;
    int version; /* times 10 */
    char name[128];
    cl_uint device_count;
    cl_device_id devices[ACCEL__OPENCL_DEVICE_MAX];
} accel__opencl_platform;

/* Loads the library, never to unload it: drivers leave threads behind. *out_platforms is to be freed with
 * accel__deallocate. Errors: NOT_FOUND (no such library), UNSUPPORTED (it cannot be used), OUT_OF_RANGE and
 * INTERNAL (nonsense), the driver's own. */
accel_status accel__opencl_load_library(const char *library, accel__opencl_platform **out_platforms,
                                        cl_uint *out_count);

/* Reads a text of the device: printable, cut to the capacity. */
accel_status accel__opencl_read_text(const accel__opencl_api *api, cl_device_id device,
                                     cl_uint what, char *buffer, size_t capacity);

/* Whether the device has the extension of exactly that name. Errors: the driver's own, OUT_OF_HOST_MEMORY. */
accel_status accel__opencl_find_extension(const accel__opencl_api *api, cl_device_id device,
                                          const char *name, bool *out_found);

#endif
