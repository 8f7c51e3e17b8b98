/* device.c: opening a device, and what is asked of an open one. */
#include "backends/opencl/device.h"

#include "backends/opencl/driver/describe.h"
#include "backends/opencl/driver/driver.h"
#include "base/allocate.h"
#include "base/error.h"

accel_status accel__opencl_open(int32_t index, accel_native_device **out_device)
{
    accel__opencl_entry *entry = accel__opencl_entry_get(index);
    accel__opencl_device *device = accel__allocate(sizeof *device);
    cl_int code = CL_SUCCESS;
    if (device == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "opencl", "accel_initialize",
                           "no memory for a device");
    device->api = &entry->platform->api;
    device->platform = entry->platform->id;
    device->context = entry->context;
    device->id = entry->id;
    device->index = index;
    device->found = entry->found;
    device->total_memory = entry->found->capability.total_memory;
    device->timing = entry->found->capability.timing;
    device->priorities = entry->found->capability.priority_lowest != 0;
    const accel_status status = accel__opencl_choose_ways(
        device->api, device->id, &device->pointers, &device->exact_division);
    if (status != ACCEL_OK) {
        accel__deallocate(device);
        return accel__error_met_by(status, "accel_initialize");
    }
    device->service = accel__opencl_create_queue(device->api, device->context, device->id, 0, 0,
                                                 &code);
    if (device->service == NULL) {
        accel__deallocate(device);
        return accel__opencl_fail(code, "clCreateCommandQueue");
    }
    entry->device = device;
    *out_device = (accel_native_device *)device;
    return ACCEL_OK;
}

/* OpenCL does not tell what other processes have taken: free is what this one has not. */
accel_status accel__opencl_memory_info(int32_t index, size_t *out_free, size_t *out_total)
{
    accel__opencl_entry *entry = accel__opencl_entry_get(index);
    accel__opencl_device *device = entry->device;
    const size_t taken = device != NULL ? accel__opencl_memory_taken(&device->memory) : 0;
    *out_total = (size_t)entry->found->capability.total_memory;
    *out_free = taken < *out_total ? *out_total - taken : 0;
    return ACCEL_OK;
}

accel_status accel__opencl_priority_range(int32_t index, int32_t *out_lowest, int32_t *out_highest)
{
    const accel_device_capability *capability = &accel__opencl_entry_get(index)->found->capability;
    *out_lowest = capability->priority_lowest;
    *out_highest = capability->priority_highest;
    return ACCEL_OK;
}
