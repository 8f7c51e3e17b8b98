/* describe.c: see describe.h. */
#include "backends/opencl/driver/describe.h"

#include <accel/data_type.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/driver/icd_file.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/log.h"

static const char function[] = "OpenCL driver";

/* One device being asked; the first failure stays. */
typedef struct asked {
    const accel__opencl_api *api;
    cl_device_id device;
    accel_status status;
} asked;

/* ---- numbers ---- */

/* Reads a value of exactly that size; zeroes after a failure. */
static void read_value(asked *from, cl_uint what, void *value, size_t size)
{
    memset(value, 0, size);
    if (from->status != ACCEL_OK)
        return;
    const cl_int code = from->api->clGetDeviceInfo(from->device, what, size, value, NULL);
    if (code != CL_SUCCESS)
        from->status = accel__opencl_fail(code, "clGetDeviceInfo");
}

static cl_uint read_uint(asked *from, cl_uint what)
{
    cl_uint value;
    read_value(from, what, &value, sizeof value);
    return value;
}

static cl_ulong read_ulong(asked *from, cl_uint what)
{
    cl_ulong value;
    read_value(from, what, &value, sizeof value);
    return value;
}

static size_t read_size(asked *from, cl_uint what)
{
    size_t value;
    read_value(from, what, &value, sizeof value);
    return value;
}

/* Reads what a driver may not know. False: it does not, or there was a failure. */
static bool read_known(asked *from, cl_uint what, void *value, size_t size)
{
    if (from->status != ACCEL_OK)
        return false;
    const cl_int code = from->api->clGetDeviceInfo(from->device, what, size, value, NULL);
    if (code == CL_OUT_OF_RESOURCES || code == CL_OUT_OF_HOST_MEMORY)
        from->status = accel__opencl_fail(code, "clGetDeviceInfo");
    return code == CL_SUCCESS;
}

static cl_bitfield read_optional(asked *from, cl_uint what)
{
    cl_bitfield value = 0;
    return read_known(from, what, &value, sizeof value) ? value : 0;
}

static bool has_extension(asked *from, const char *name)
{
    bool found = false;
    if (from->status == ACCEL_OK)
        from->status = accel__opencl_find_extension(from->api, from->device, name, &found);
    return found;
}

/* ---- who it is ---- */

/* Two hashes of all that tells devices apart: 16 bytes that stay the same over restarts. */
static void hash_identity(const char *const texts[], size_t count, int32_t ordinal,
                          unsigned char bytes[16])
{
    uint64_t halves[2] = {ACCEL__OPENCL_HASH_START, ~ACCEL__OPENCL_HASH_START};
    for (int half = 0; half < 2; half++) {
        for (size_t i = 0; i < count; i++) /* with its end, so that "ab", "c" is not "a", "bc" */
            halves[half] = accel__opencl_hash(halves[half], texts[i], strlen(texts[i]) + 1);
        halves[half] = accel__opencl_hash(halves[half], &ordinal, sizeof ordinal);
    }
    memcpy(bytes, halves, 16);
}

static bool is_zero(const unsigned char bytes[16])
{
    for (int i = 0; i < 16; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static void describe_uuid(asked *from, const accel__opencl_platform *platform, int32_t ordinal,
                          accel_device_info *info)
{
    unsigned char b[16] = {0};
    const char *const texts[] = {platform->name, info->vendor, info->name};
    /* A driver of processors gives all of them one UUID: only those of cards tell devices apart. */
    const bool own = info->kind != ACCEL_DEVICE_KIND_CPU &&
                     has_extension(from, "cl_khr_device_uuid") &&
                     read_known(from, CL_DEVICE_UUID_KHR, b, sizeof b);
    if (!own || is_zero(b))
        hash_identity(texts, sizeof texts / sizeof texts[0], ordinal, b);
    snprintf(info->uuid, sizeof info->uuid,
             "opencl-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
             b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

static void describe_bus(asked *from, accel_device_info *info)
{
    accel__opencl_bus_info bus;
    if (has_extension(from, "cl_khr_pci_bus_info") &&
        read_known(from, CL_DEVICE_PCI_BUS_INFO_KHR, &bus, sizeof bus))
        snprintf(info->bus_address, sizeof info->bus_address, "%04x:%02x:%02x.%x", bus.domain,
                 bus.bus & 0xffu, bus.device & 0xffu, bus.function & 0xfu);
}

static void read_text(asked *from, cl_uint what, char *buffer, size_t capacity)
{
    if (from->status == ACCEL_OK)
        from->status = accel__opencl_read_text(from->api, from->device, what, buffer, capacity);
}

static accel_device_kind kind_of(cl_bitfield type)
{
    if ((type & CL_DEVICE_TYPE_GPU) != 0)
        return ACCEL_DEVICE_KIND_GPU;
    if ((type & CL_DEVICE_TYPE_ACCELERATOR) != 0)
        return ACCEL_DEVICE_KIND_ACCELERATOR;
    return (type & CL_DEVICE_TYPE_CPU) != 0 ? ACCEL_DEVICE_KIND_CPU : ACCEL_DEVICE_KIND_UNKNOWN;
}

static int32_t order_of(accel_device_kind kind)
{
    return kind == ACCEL_DEVICE_KIND_GPU ? 0 : kind == ACCEL_DEVICE_KIND_CPU ? 2 : 1;
}

static void describe_info(asked *from, const accel__opencl_platform *platform, int32_t ordinal,
                          accel_device_info *info)
{
    char version[32];
    info->struct_size = sizeof *info;
    info->kind = kind_of(read_ulong(from, CL_DEVICE_TYPE));
    info->total_memory = read_ulong(from, CL_DEVICE_GLOBAL_MEM_SIZE);
    read_text(from, CL_DEVICE_NAME, info->name, sizeof info->name);
    read_text(from, CL_DEVICE_VENDOR, info->vendor, sizeof info->vendor);
    read_text(from, CL_DRIVER_VERSION, version, sizeof version);
    if (from->status != ACCEL_OK)
        return;
    /* Some say their name in both. */
    const bool twice = strncmp(version, platform->name, strlen(platform->name)) == 0;
    snprintf(info->driver, sizeof info->driver, "%.30s%s%.31s", twice ? "" : platform->name,
             twice ? "" : " ", version);
    describe_uuid(from, platform, ordinal, info);
    describe_bus(from, info);
}

/* ---- what it can do ---- */

static accel__opencl_pointers choose_pointers(asked *from)
{
    const accel__opencl_api *api = from->api;
    const char *wanted = accel__environment_get("ACCEL_OPENCL_POINTERS");
    const bool translate = wanted != NULL && strcmp(wanted, "translate") == 0;
    const bool no_usm = translate || (wanted != NULL && strcmp(wanted, "svm") == 0);
    if (wanted != NULL && !no_usm && strcmp(wanted, "usm") != 0)
        accel__log(ACCEL_LOG_LEVEL_WARNING, "opencl",
                   "ACCEL_OPENCL_POINTERS is '%.32s', none of usm, svm and translate: it is passed "
                   "over",
                   wanted);
    if (!no_usm && api->clDeviceMemAllocINTEL != NULL && api->clMemFreeINTEL != NULL &&
        api->clSetKernelArgMemPointerINTEL != NULL && api->clEnqueueMemFillINTEL != NULL &&
        api->clEnqueueMemcpyINTEL != NULL &&
        has_extension(from, "cl_intel_unified_shared_memory") &&
        (read_optional(from, CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL) &
         CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL) != 0)
        return ACCEL__OPENCL_USM;
    if (!translate && api->clSVMAlloc != NULL && api->clSVMFree != NULL &&
        api->clEnqueueSVMMemcpy != NULL && api->clEnqueueSVMMemFill != NULL &&
        api->clSetKernelArgSVMPointer != NULL &&
        (read_optional(from, CL_DEVICE_SVM_CAPABILITIES) & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0)
        return ACCEL__OPENCL_SVM;
    return ACCEL__OPENCL_TRANSLATE;
}

accel_status accel__opencl_choose_ways(const accel__opencl_api *api, cl_device_id device,
                                       accel__opencl_pointers *out_pointers,
                                       bool *out_exact_division)
{
    asked from = {.api = api, .device = device, .status = ACCEL_OK};
    *out_pointers = choose_pointers(&from);
    *out_exact_division = (read_optional(&from, CL_DEVICE_SINGLE_FP_CONFIG) &
                           CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    return from.status;
}

/* Limits of a launch. OpenCL has none for the grid but that sizes fit the device's size_t. */
static void describe_limits(asked *from, accel_device_capability *capability)
{
    size_t sizes[16] = {0};
    size_t needed = 0;
    if (from->status != ACCEL_OK)
        return;
    const cl_int code = from->api->clGetDeviceInfo(from->device, CL_DEVICE_MAX_WORK_ITEM_SIZES,
                                                   sizeof sizes, sizes, &needed);
    if (code != CL_SUCCESS)
        from->status = accel__opencl_fail(code, "clGetDeviceInfo");
    const size_t items = read_size(from, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    const cl_uint bits = read_uint(from, CL_DEVICE_ADDRESS_BITS);
    if (from->status != ACCEL_OK)
        return;
    if (items == 0 || sizes[0] == 0 || sizes[1] == 0 || sizes[2] == 0 ||
        (bits != 32 && bits != 64)) {
        from->status = accel__fail(ACCEL_ERROR_OUT_OF_RANGE, "opencl", function,
                                   "the limits that the driver reports make no sense");
        return;
    }
    capability->max_block_items = (uint32_t)(items < INT32_MAX ? items : INT32_MAX);
    for (int d = 0; d < 3; d++) {
        capability->max_block[d] = (uint32_t)(sizes[d] < INT32_MAX ? sizes[d] : INT32_MAX);
        capability->max_grid[d] = bits == 64 ? INT32_MAX : INT32_MAX / items;
    }
    capability->max_grid_blocks = bits == 64 ? (uint64_t)INT64_MAX / capability->max_block_items
                                             : INT32_MAX / items;
}

static uint64_t data_types(bool fp64)
{
    uint64_t types = 0;
#define TYPE_BIT(name, number, size, text) types |= ACCEL_DATA_TYPE_BIT(name);
    ACCEL_DATA_TYPE_LIST(TYPE_BIT)
#undef TYPE_BIT
    return fp64 ? types
                : types & ~(ACCEL_DATA_TYPE_BIT(ACCEL_DATA_TYPE_F64) |
                            ACCEL_DATA_TYPE_BIT(ACCEL_DATA_TYPE_C128));
}

static void describe_memory(asked *from, accel_device_capability *capability)
{
    const cl_ulong total = read_ulong(from, CL_DEVICE_GLOBAL_MEM_SIZE);
    const cl_ulong largest = read_ulong(from, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    capability->total_memory = total;
    capability->max_allocation = largest < total ? largest : total;
    capability->alignment = 512;
    capability->local_memory_size = read_ulong(from, CL_DEVICE_LOCAL_MEM_SIZE);
    if (from->status == ACCEL_OK && capability->max_allocation == 0)
        from->status = accel__fail(ACCEL_ERROR_OUT_OF_RANGE, "opencl", function,
                                   "the driver says that the device has no memory");
}

static void describe_capability(asked *from, const accel__opencl_platform *platform,
                                accel_device_kind kind, accel_device_capability *capability)
{
    capability->struct_size = sizeof *capability;
    capability->compute_units = read_uint(from, CL_DEVICE_MAX_COMPUTE_UNITS);
    capability->kernels_from_source = read_uint(from, CL_DEVICE_COMPILER_AVAILABLE) != 0;
    describe_limits(from, capability);
    describe_memory(from, capability);
    if (from->status != ACCEL_OK)
        return;
    const accel__opencl_pointers pointers = choose_pointers(from);
    capability->fp64 = read_optional(from, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
    capability->data_types = data_types(capability->fp64);
    capability->atomics_32 = true;
    capability->timing = accel__opencl_clock_is_true(platform, from->device);
    capability->pinned_memory = true;
    capability->peer_copies = platform->device_count > 1;
    capability->concurrent_streams = true;
    /* An SVM pointer that a kernel finds in memory must be announced to the driver beforehand, but
     * where the device is the processor itself. */
    capability->pointers_in_memory = pointers == ACCEL__OPENCL_USM ||
                                     (pointers == ACCEL__OPENCL_SVM &&
                                      kind == ACCEL_DEVICE_KIND_CPU);
    if (has_extension(from, "cl_khr_priority_hints") &&
        from->api->clCreateCommandQueueWithProperties != NULL) {
        capability->priority_lowest = 1;
        capability->priority_highest = -1;
    }
}

accel_status accel__opencl_describe(const accel__opencl_platform *platform, cl_device_id device,
                                    int32_t ordinal, accel_backend_found *out_found)
{
    asked from = {.api = &platform->api, .device = device, .status = ACCEL_OK};
    *out_found = (accel_backend_found){.ordinal = ordinal};
    describe_info(&from, platform, ordinal, &out_found->info);
    out_found->order = order_of(out_found->info.kind);
    describe_capability(&from, platform, out_found->info.kind, &out_found->capability);
    return from.status;
}
