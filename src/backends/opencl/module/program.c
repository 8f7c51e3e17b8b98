/* program.c: OpenCL programs: building them from text and from the driver's own objects, and what a built
 * one says. Called when kernels are compiled and loaded; nothing here records failures. */
#include <string.h>

#include "backends/opencl/module/module.h"
#include "base/allocate.h"

/* No log and no object is larger; a driver that says so is not believed. */
enum { BYTES_MAX = 1 << 28 };

const char *accel__opencl_build_options(const accel__opencl_device *device)
{
    return device->exact_division ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"
                                  : "-cl-std=CL1.2";
}

char *accel__opencl_build_log(const accel__opencl_device *device, cl_program program)
{
    size_t size = 0;
    cl_int code = device->api->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0,
                                                     NULL, &size);
    if (code != CL_SUCCESS || size == 0 || size > BYTES_MAX)
        return NULL;
    char *log = accel__allocate(size + 1); /* zeroed: the log's own end is not relied on */
    if (log == NULL)
        return NULL;
    code = device->api->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, size, log,
                                              NULL);
    if (code == CL_SUCCESS && log[0] != '\0')
        return log;
    accel__deallocate(log);
    return NULL;
}

/* ---- objects of the driver ---- */

/* All devices' objects: the query gives them together. */
typedef struct binaries {
    cl_uint count;
    cl_device_id *devices;
    size_t *sizes;
    unsigned char **bytes;
} binaries;

static void release_binaries(binaries *all)
{
    for (cl_uint i = 0; all->bytes != NULL && i < all->count; i++)
        accel__deallocate(all->bytes[i]);
    accel__deallocate(all->bytes);
    accel__deallocate(all->sizes);
    accel__deallocate(all->devices);
}

static bool allocate_lists(const accel__opencl_api *api, cl_program program, binaries *all)
{
    if (api->clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof all->count, &all->count,
                              NULL) != CL_SUCCESS ||
        all->count == 0 || all->count > BYTES_MAX / sizeof(cl_device_id))
        return false;
    all->devices = accel__allocate_array(all->count, sizeof *all->devices);
    all->sizes = accel__allocate_array(all->count, sizeof *all->sizes);
    all->bytes = accel__allocate_array(all->count, sizeof *all->bytes);
    return all->devices != NULL && all->sizes != NULL && all->bytes != NULL;
}

static bool read_binaries(const accel__opencl_api *api, cl_program program, binaries *all)
{
    if (api->clGetProgramInfo(program, CL_PROGRAM_DEVICES, all->count * sizeof *all->devices,
                              all->devices, NULL) != CL_SUCCESS ||
        api->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, all->count * sizeof *all->sizes,
                              all->sizes, NULL) != CL_SUCCESS)
        return false;
    for (cl_uint i = 0; i < all->count; i++) {
        if (all->sizes[i] == 0)
            continue;
        all->bytes[i] = all->sizes[i] <= BYTES_MAX ? accel__allocate(all->sizes[i]) : NULL;
        if (all->bytes[i] == NULL)
            return false;
    }
    return api->clGetProgramInfo(program, CL_PROGRAM_BINARIES, all->count * sizeof *all->bytes,
                                 all->bytes, NULL) == CL_SUCCESS;
}

bool accel__opencl_get_binary(const accel__opencl_device *device, cl_program program,
                              void **out_binary, size_t *out_size)
{
    binaries all = {0};
    *out_binary = NULL;
    *out_size = 0;
    if (allocate_lists(device->api, program, &all) && read_binaries(device->api, program, &all))
        for (cl_uint i = 0; i < all.count; i++)
            if (all.devices[i] == device->id && *out_binary == NULL) {
                *out_binary = all.bytes[i];
                *out_size = all.sizes[i];
                all.bytes[i] = NULL;
            }
    release_binaries(&all);
    return *out_binary != NULL;
}

/* ---- building ---- */

static cl_int build(const accel__opencl_device *device, cl_program program)
{
    return device->api->clBuildProgram(program, 1, &device->id, accel__opencl_build_options(device),
                                       NULL, NULL);
}

cl_program accel__opencl_build_text(const accel__opencl_device *device, const char *text,
                                    size_t size, cl_program *out_failed, cl_int *out_code,
                                    const char **out_call)
{
    *out_failed = NULL;
    *out_call = "clCreateProgramWithSource";
    cl_program program = device->api->clCreateProgramWithSource(device->context, 1, &text, &size,
                                                                out_code);
    if (program == NULL)
        return NULL;
    *out_call = "clBuildProgram";
    *out_code = build(device, program);
    if (*out_code == CL_SUCCESS)
        return program;
    *out_failed = program;
    return NULL;
}

cl_program accel__opencl_build_binary(const accel__opencl_device *device, const void *binary,
                                      size_t size, cl_int *out_code, const char **out_call)
{
    const unsigned char *bytes = binary;
    cl_int status = CL_SUCCESS;
    *out_call = "clCreateProgramWithBinary";
    cl_program program = device->api->clCreateProgramWithBinary(device->context, 1, &device->id,
                                                                &size, &bytes, &status, out_code);
    if (program == NULL)
        return NULL;
    *out_call = "clBuildProgram";
    *out_code = status != CL_SUCCESS ? status : build(device, program);
    if (*out_code == CL_SUCCESS)
        return program;
    device->api->clReleaseProgram(program);
    return NULL;
}
