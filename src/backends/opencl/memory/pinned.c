/* pinned.c: host memory that the driver copies from and to directly: a buffer of its own in host memory,
 * mapped for as long as it lives. */
#include "backends/opencl/device.h"
#include "base/error.h"

static const char function[] = "accel_memory_alloc";

accel_status accel__opencl_pinned_alloc(accel_native_device *native, size_t size, size_t alignment,
                                        void **out_pointer)
{
    accel__opencl_device *device = (accel__opencl_device *)native;
    const accel__opencl_api *api = device->api;
    accel__opencl_range range = {.size = size};
    cl_int code = CL_SUCCESS;
    range.buffer = api->clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                       size + alignment, NULL, &code);
    if (range.buffer == NULL)
        return accel__error_met_by(accel__opencl_fail(code, "clCreateBuffer"), function);
    range.raw = api->clEnqueueMapBuffer(device->service, range.buffer, CL_TRUE,
                                        CL_MAP_READ | CL_MAP_WRITE, 0, size + alignment, 0, NULL,
                                        NULL, &code);
    if (range.raw == NULL) {
        api->clReleaseMemObject(range.buffer);
        return accel__error_met_by(accel__opencl_fail(code, "clEnqueueMapBuffer"), function);
    }
    range.begin = ((uintptr_t)range.raw + alignment - 1) & ~(uintptr_t)(alignment - 1);
    *out_pointer = (void *)range.begin;
    if (accel__opencl_range_enter(&device->pinned, &range))
        return ACCEL_OK;
    api->clEnqueueUnmapMemObject(device->service, range.buffer, range.raw, 0, NULL, NULL);
    api->clReleaseMemObject(range.buffer);
    return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "opencl", function,
                       "no host memory to keep account of an allocation");
}

void accel__opencl_pinned_free(accel_native_device *native, void *pointer)
{
    accel__opencl_device *device = (accel__opencl_device *)native;
    accel__opencl_range range;
    if (!accel__opencl_range_take(&device->pinned, pointer, &range))
        return;
    device->api->clEnqueueUnmapMemObject(device->service, range.buffer, range.raw, 0, NULL, NULL);
    device->api->clFlush(device->service);
    device->api->clReleaseMemObject(range.buffer); /* lives until the unmapping has passed */
}
