/* memory.c: device memory in the three ways of addressing it. Drivers align what they give to 128 bytes at
 * most, so more is asked for than is needed; where pointers are translated they are addresses that are
 * reserved and never touched, with a page between allocations. */
#include <sys/mman.h>
#include <unistd.h>

#include "backends/opencl/device.h"
#include "base/error.h"
#include "platform/calls.h"

static const char function[] = "accel_memory_alloc";

static uintptr_t align_up(uintptr_t address, size_t alignment)
{
    return (address + alignment - 1) & ~(uintptr_t)(alignment - 1);
}

static accel_status out_of_memory(const accel__opencl_device *device, size_t size, cl_int code,
                                  const char *call)
{
    const char *name = code != CL_SUCCESS ? accel__opencl_code_name(code) : NULL;
    return accel__fail_vendor(ACCEL_ERROR_OUT_OF_MEMORY, "opencl", function, code, name,
                              "%s: no memory for %zu bytes on '%s'", call, size,
                              device->found->info.name);
}

/* ---- one way each ---- */

static accel_status alloc_usm(accel__opencl_device *device, size_t size, size_t alignment,
                              accel__opencl_range *range)
{
    cl_int code = CL_SUCCESS;
    range->raw = device->api->clDeviceMemAllocINTEL(device->context, device->id, NULL,
                                                    size + alignment, 0, &code);
    if (range->raw == NULL)
        return out_of_memory(device, size, code, "clDeviceMemAllocINTEL");
    range->begin = align_up((uintptr_t)range->raw, alignment);
    return ACCEL_OK;
}

static accel_status alloc_svm(accel__opencl_device *device, size_t size, size_t alignment,
                              accel__opencl_range *range)
{
    range->raw = device->api->clSVMAlloc(device->context, CL_MEM_READ_WRITE, size + alignment, 0);
    if (range->raw == NULL)
        return out_of_memory(device, size, CL_SUCCESS, "clSVMAlloc");
    range->begin = align_up((uintptr_t)range->raw, alignment);
    return ACCEL_OK;
}

static accel_status alloc_translated(accel__opencl_device *device, size_t size, size_t alignment,
                                     accel__opencl_range *range)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    cl_int code = CL_SUCCESS;
    range->buffer = device->api->clCreateBuffer(device->context, CL_MEM_READ_WRITE, size, NULL,
                                                &code);
    if (range->buffer == NULL)
        return out_of_memory(device, size, code, "clCreateBuffer");
    range->raw_size = align_up(size, page) + page + (alignment > page ? alignment : 0);
    range->raw = accel__platform.map(NULL, range->raw_size, PROT_NONE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range->raw == MAP_FAILED) {
        device->api->clReleaseMemObject(range->buffer);
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "opencl", function,
                           "no address space for %zu bytes", size);
    }
    range->begin = align_up((uintptr_t)range->raw, alignment);
    return ACCEL_OK;
}

static void give_back(accel__opencl_device *device, const accel__opencl_range *range)
{
    switch (device->pointers) {
    case ACCEL__OPENCL_USM:
        device->api->clMemFreeINTEL(device->context, range->raw);
        break;
    case ACCEL__OPENCL_SVM:
        device->api->clSVMFree(device->context, range->raw);
        break;
    case ACCEL__OPENCL_TRANSLATE:
        device->api->clReleaseMemObject(range->buffer);
        accel__platform.unmap(range->raw, range->raw_size);
        break;
    }
}

/* ---- the group ---- */

/* Drivers that hand out memory only when it is touched would promise more than there is. */
static bool fits(accel__opencl_device *device, size_t size)
{
    const size_t total = device->total_memory;
    const size_t taken = accel__opencl_memory_taken(&device->memory);
    return size <= device->found->capability.max_allocation && taken <= total &&
           size <= total - taken;
}

static accel_status allocate(accel__opencl_device *device, size_t size, size_t alignment,
                             accel__opencl_range *range)
{
    switch (device->pointers) {
    case ACCEL__OPENCL_USM:
        return alloc_usm(device, size, alignment, range);
    case ACCEL__OPENCL_SVM:
        return alloc_svm(device, size, alignment, range);
    case ACCEL__OPENCL_TRANSLATE:
        break;
    }
    return alloc_translated(device, size, alignment, range);
}

accel_status accel__opencl_memory_alloc(accel_native_device *native, size_t size, size_t alignment,
                                        void **out_pointer)
{
    accel__opencl_device *device = (accel__opencl_device *)native;
    accel__opencl_range range = {.size = size};
    if (!fits(device, size))
        return accel__fail(ACCEL_ERROR_OUT_OF_MEMORY, "opencl", function,
                           "%zu bytes are more than '%s' has free or gives at once", size,
                           device->found->info.name);
    const accel_status status = allocate(device, size, alignment, &range);
    if (status != ACCEL_OK)
        return status;
    if (!accel__opencl_range_enter(&device->memory, &range)) {
        give_back(device, &range);
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "opencl", function,
                           "no host memory to keep account of an allocation");
    }
    *out_pointer = (void *)range.begin;
    return ACCEL_OK;
}

void accel__opencl_memory_free(accel_native_device *native, void *pointer)
{
    accel__opencl_device *device = (accel__opencl_device *)native;
    accel__opencl_range range;
    if (accel__opencl_range_take(&device->memory, pointer, &range))
        give_back(device, &range);
}

bool accel__opencl_resolve(accel__opencl_device *device, const void *pointer, cl_mem *out_buffer,
                           size_t *out_offset)
{
    accel__opencl_range range;
    if (!accel__opencl_range_find(&device->memory, pointer, &range) || range.buffer == NULL)
        return false;
    *out_buffer = range.buffer;
    *out_offset = (uintptr_t)pointer - range.begin;
    return true;
}
