/* probe.c: asks one driver for its devices. Runs in the helper, where it may crash or hang. */
#include <string.h>

#include "backends/opencl/driver/describe.h"
#include "backends/opencl/driver/icd.h"
#include "base/allocate.h"

/* A device that its driver calls unavailable is none: nothing could be started on it. */
static bool is_available(const accel__opencl_platform *platform, cl_device_id device)
{
    cl_bool available = 0;
    return platform->api.clGetDeviceInfo(device, CL_DEVICE_AVAILABLE, sizeof available, &available,
                                         NULL) == CL_SUCCESS &&
           available != 0;
}

static accel_status report_platform(const accel__opencl_platform *platform, int32_t *ordinal,
                                    void (*report)(const accel_backend_found *found, void *user),
                                    void *user)
{
    for (cl_uint i = 0; i < platform->device_count; i++, (*ordinal)++) {
        accel_backend_found found;
        if (!is_available(platform, platform->devices[i]))
            continue;
        const accel_status status = accel__opencl_describe(platform, platform->devices[i], *ordinal,
                                                           &found);
        if (status != ACCEL_OK)
            return status;
        report(&found, user);
    }
    return ACCEL_OK;
}

accel_status accel__opencl_probe(const accel_backend_driver *driver,
                                 void (*report)(const accel_backend_found *found, void *user),
                                 void *user)
{
    accel__opencl_platform *platforms = NULL;
    cl_uint count = 0;
    int32_t ordinal = 0;
    accel_status status = accel__opencl_load_library(driver->library, &platforms, &count);
    for (cl_uint i = 0; i < count && status == ACCEL_OK; i++)
        status = report_platform(&platforms[i], &ordinal, report, user);
    accel__deallocate(platforms);
    return status;
}
