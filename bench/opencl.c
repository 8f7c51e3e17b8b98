/* SPDX-License-Identifier: MIT
 * opencl.c: the few OpenCL calls that the benchmarks need, from a library opened at run time: the
 * bench program must start, and measure the rest, on a machine without it.
 */
#include "opencl.h"

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS

#include "device.h"
#include "harness.h"

#include <CL/cl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define CALL_LIST(X)                                                                               \
    X(clGetPlatformIDs)                                                                            \
    X(clGetPlatformInfo)                                                                           \
    X(clGetDeviceIDs)                                                                              \
    X(clCreateContext)                                                                             \
    X(clCreateCommandQueue)                                                                        \
    X(clCreateProgramWithSource)                                                                   \
    X(clBuildProgram)                                                                              \
    X(clCreateKernel)                                                                              \
    X(clSetKernelArg)                                                                              \
    X(clCreateBuffer)                                                                              \
    X(clReleaseMemObject)                                                                          \
    X(clEnqueueNDRangeKernel)                                                                      \
    X(clEnqueueReadBuffer)                                                                         \
    X(clFinish)

static struct {
#define CALL_MEMBER(name) __typeof__(&name) name;
    CALL_LIST(CALL_MEMBER)
#undef CALL_MEMBER
} cl;

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;

static bool load_call(void *library, const char *name, void *out_call)
{
    void *symbol = dlsym(library, name);
    memcpy(out_call, &symbol, sizeof(symbol)); /* ISO C has no cast from object to function */
    return symbol != NULL;
}

static bool load_calls(void *library)
{
    bool complete = true;
#define CALL_LOAD(name) complete = load_call(library, #name, &cl.name) && complete;
    CALL_LIST(CALL_LOAD)
#undef CALL_LOAD
    return complete;
}

static bool find_pocl(cl_platform_id *out_platform)
{
    enum { MAX_PLATFORMS = 16 };
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint count = 0;
    if (cl.clGetPlatformIDs(MAX_PLATFORMS, platforms, &count) != CL_SUCCESS)
        return false;
    for (cl_uint i = 0; i < count && i < MAX_PLATFORMS; i++) {
        char name[128] = "";
        cl.clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
        if (strcmp(name, "Portable Computing Language") == 0) {
            *out_platform = platforms[i];
            return true;
        }
    }
    return false;
}

static const char *open_pocl(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL || !load_calls(library))
        return "no libOpenCL.so.1";
    cl_platform_id platform = NULL;
    if (!find_pocl(&platform))
        return "no PoCL (Debian: pocl-opencl-icd)";
    if (cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, NULL) != CL_SUCCESS)
        return "PoCL has no CPU device";
    context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    if (context != NULL)
        queue = cl.clCreateCommandQueue(context, device, 0, NULL);
    return queue != NULL ? NULL : "PoCL could not be opened";
}

const char *bench_opencl_missing(void)
{
    static bool opened;
    static const char *reason;
    if (!opened) {
        opened = true;
        reason = open_pocl();
    }
    return reason;
}

bench_opencl_kernel *bench_opencl_kernel_create(const char *source, const char *name)
{
    cl_int status = CL_SUCCESS;
    cl_program program = cl.clCreateProgramWithSource(context, 1, &source, NULL, &status);
    if (status == CL_SUCCESS)
        status = cl.clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_kernel kernel = NULL;
    if (status == CL_SUCCESS)
        kernel = cl.clCreateKernel(program, name, &status);
    if (status != CL_SUCCESS) {
        bench_failed("PoCL cannot build kernel %s: %d", name, status);
        return NULL;
    }
    return (bench_opencl_kernel *)kernel;
}

bench_opencl_buffer *bench_opencl_buffer_create(size_t size, const void *contents)
{
    cl_mem_flags flags = CL_MEM_READ_WRITE | (contents != NULL ? CL_MEM_COPY_HOST_PTR : 0);
    void *copied = NULL;
    memcpy(&copied, &contents, sizeof(copied)); /* OpenCL takes it without const, and only reads */
    cl_int status = CL_SUCCESS;
    cl_mem buffer = cl.clCreateBuffer(context, flags, size, copied, &status);
    if (status != CL_SUCCESS) {
        bench_failed("PoCL has no buffer of %zu bytes: %d", size, status);
        return NULL;
    }
    return (bench_opencl_buffer *)buffer;
}

void bench_opencl_buffer_release(bench_opencl_buffer *buffer)
{
    if (buffer != NULL)
        cl.clReleaseMemObject((cl_mem)buffer);
}

static bool ok(cl_int status)
{
    if (status != CL_SUCCESS)
        bench_failed("PoCL: error %d", status);
    return status == CL_SUCCESS;
}

bool bench_opencl_set_arg(bench_opencl_kernel *kernel, unsigned index, size_t size,
                          const void *value)
{
    return ok(cl.clSetKernelArg((cl_kernel)kernel, index, size, value));
}

bool bench_opencl_launch(bench_opencl_kernel *kernel, unsigned dimensions, const size_t *global,
                         const size_t *local)
{
    return ok(cl.clEnqueueNDRangeKernel(queue, (cl_kernel)kernel, dimensions, NULL, global, local,
                                        0, NULL, NULL));
}

bool bench_opencl_finish(void)
{
    return ok(cl.clFinish(queue));
}

bool bench_opencl_read(bench_opencl_buffer *buffer, size_t size, void *destination)
{
    return ok(cl.clEnqueueReadBuffer(queue, (cl_mem)buffer, CL_TRUE, 0, size, destination, 0, NULL,
                                     NULL));
}

bench_opencl_kernel *bench_opencl_kernel_load(const char *name)
{
    char *source = bench_kernel_source(name);
    if (source == NULL)
        return NULL;
    bench_opencl_kernel *kernel = bench_opencl_kernel_create(source, name);
    free(source);
    return kernel;
}
