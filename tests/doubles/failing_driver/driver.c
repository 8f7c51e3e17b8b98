/* driver.c: an installable OpenCL driver that passes each call on to a real one, whose library the
 * variable FAILING_DRIVER_OF names, unless failing_driver_due says that this call shall fail. Whoever
 * loads the library sets that (tests/failures); in other processes nothing fails.
 *
 * A call that waits, or gives back, has its effect also where it then fails: what a driver does that loses
 * a release or never waits, no program can live with. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/driver/symbols.h"

#define EXPORTED __attribute__((visibility("default")))

enum { TABLE_SIZE = 160 };

typedef struct platform {
    void *const *table; /* ours: what whoever has the platform calls */
    cl_platform_id real;
} platform;

extern EXPORTED _Atomic(bool (*)(const char *call)) failing_driver_due;
_Atomic(bool (*)(const char *call)) failing_driver_due;

static void *own_table[TABLE_SIZE];
static platform own = {.table = own_table};
static accel__opencl_api real;
static cl_int (*get_real_platforms)(cl_uint, cl_platform_id *, cl_uint *);
static atomic_int objects;

/* What was made and not released, as far as the program knows. */
EXPORTED int failing_driver_objects(void);

int failing_driver_objects(void)
{
    return objects;
}

static bool due(const char *call)
{
    bool (*ask)(const char *) = failing_driver_due;
    return ask != NULL && ask(call);
}

static cl_platform_id real_platform(cl_platform_id of)
{
    return of == (cl_platform_id)&own ? own.real : of;
}

/* ---- the kinds of calls ---- */

#define DECLARE(name, place, version, result, parameters) static result own_##name parameters;
ACCEL__OPENCL_FUNCTIONS(DECLARE)
#undef DECLARE

/* Returns a code. */
#define CODE(name, parameters, arguments, code)                                                    \
    static cl_int own_##name parameters                                                            \
    {                                                                                              \
        return due(#name) ? (code) : real.name arguments;                                          \
    }

/* The same, but it has its effect in any case. */
#define AFTER(name, parameters, arguments, code)                                                   \
    static cl_int own_##name parameters                                                            \
    {                                                                                              \
        const cl_int result = real.name arguments;                                                 \
        return due(#name) ? (code) : result;                                                       \
    }

/* One reference less. */
#define RELEASE(name, type)                                                                        \
    static cl_int own_##name(type of)                                                              \
    {                                                                                              \
        const cl_int result = real.name(of);                                                       \
        objects--;                                                                                 \
        return due(#name) ? CL_OUT_OF_RESOURCES : result;                                          \
    }

/* One more. */
#define RETAIN(name, type)                                                                         \
    static cl_int own_##name(type of)                                                              \
    {                                                                                              \
        const cl_int result = due(#name) ? CL_OUT_OF_RESOURCES : real.name(of);                    \
        objects += result == CL_SUCCESS;                                                           \
        return result;                                                                             \
    }

/* Returns an object. */
#define OBJECT(name, type, parameters, arguments, code)                                            \
    static type own_##name parameters                                                              \
    {                                                                                              \
        if (due(#name)) {                                                                          \
            if (out_code != NULL)                                                                  \
                *out_code = (code);                                                                \
            return NULL;                                                                           \
        }                                                                                          \
        type made = real.name arguments;                                                           \
        objects += made != NULL;                                                                   \
        return made;                                                                               \
    }

/* Queues a command, whose event is an object. */
#define QUEUE(name, parameters, arguments)                                                         \
    static cl_int own_##name parameters                                                            \
    {                                                                                              \
        const cl_int result = due(#name) ? CL_OUT_OF_RESOURCES : real.name arguments;              \
        objects += result == CL_SUCCESS && out_event != NULL;                                      \
        return result;                                                                             \
    }

/* ---- platform and device ---- */

static cl_int own_clGetPlatformIDs(cl_uint capacity, cl_platform_id *out, cl_uint *out_count)
{
    cl_platform_id found = NULL;
    cl_uint count = 0;
    if (due("clGetPlatformIDs"))
        return CL_OUT_OF_HOST_MEMORY;
    const cl_int code = get_real_platforms != NULL ? get_real_platforms(1, &found, &count)
                                                   : CL_PLATFORM_NOT_FOUND_KHR;
    if (code != CL_SUCCESS || count == 0 || found == NULL)
        return code != CL_SUCCESS ? code : CL_PLATFORM_NOT_FOUND_KHR;
    own.real = found;
    if (out_count != NULL)
        *out_count = 1;
    if (out != NULL && capacity != 0)
        *out = (cl_platform_id)&own;
    return CL_SUCCESS;
}

CODE(clGetPlatformInfo,
     (cl_platform_id of, cl_uint what, size_t capacity, void *out, size_t *out_size),
     (real_platform(of), what, capacity, out, out_size), CL_OUT_OF_HOST_MEMORY)
CODE(clGetDeviceIDs,
     (cl_platform_id of, cl_bitfield kinds, cl_uint capacity, cl_device_id *out,
      cl_uint *out_count),
     (real_platform(of), kinds, capacity, out, out_count), CL_OUT_OF_HOST_MEMORY)
CODE(clGetDeviceInfo, (cl_device_id of, cl_uint what, size_t capacity, void *out, size_t *out_size),
     (of, what, capacity, out, out_size), CL_OUT_OF_HOST_MEMORY)

static void *own_clGetExtensionFunctionAddressForPlatform(cl_platform_id of, const char *name)
{
    return due("clGetExtensionFunctionAddressForPlatform")
               ? NULL
               : real.clGetExtensionFunctionAddressForPlatform(real_platform(of), name);
}

/* A list of properties names the platform: the driver is to see its own. */
static cl_context own_clCreateContext(const intptr_t *properties, cl_uint count,
                                      const cl_device_id *devices,
                                      void (*notify)(const char *, const void *, size_t, void *),
                                      void *user, cl_int *out_code)
{
    intptr_t changed[32] = {0};
    size_t used = 0;
    for (; properties != NULL && properties[used] != 0 && used + 2 < 32; used += 2) {
        changed[used] = properties[used];
        changed[used + 1] = properties[used + 1] == (intptr_t)&own ? (intptr_t)own.real
                                                                   : properties[used + 1];
    }
    if (due("clCreateContext")) {
        if (out_code != NULL)
            *out_code = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    cl_context made = real.clCreateContext(properties != NULL ? changed : NULL, count, devices,
                                           notify, user, out_code);
    objects += made != NULL;
    return made;
}

RELEASE(clReleaseContext, cl_context)

/* ---- queues ---- */

OBJECT(clCreateCommandQueue, cl_command_queue,
       (cl_context in, cl_device_id device, cl_bitfield properties, cl_int *out_code),
       (in, device, properties, out_code), CL_OUT_OF_HOST_MEMORY)
OBJECT(clCreateCommandQueueWithProperties, cl_command_queue,
       (cl_context in, cl_device_id device, const cl_bitfield *properties, cl_int *out_code),
       (in, device, properties, out_code), CL_OUT_OF_HOST_MEMORY)
RELEASE(clReleaseCommandQueue, cl_command_queue)
AFTER(clFlush, (cl_command_queue queue), (queue), CL_OUT_OF_RESOURCES)
AFTER(clFinish, (cl_command_queue queue), (queue), CL_OUT_OF_RESOURCES)
QUEUE(clEnqueueMarkerWithWaitList,
      (cl_command_queue queue, cl_uint count, const cl_event *after, cl_event *out_event),
      (queue, count, after, out_event))
QUEUE(clEnqueueBarrierWithWaitList,
      (cl_command_queue queue, cl_uint count, const cl_event *after, cl_event *out_event),
      (queue, count, after, out_event))

/* ---- events ---- */

AFTER(clWaitForEvents, (cl_uint count, const cl_event *events), (count, events),
      CL_OUT_OF_RESOURCES)
CODE(clGetEventInfo, (cl_event of, cl_uint what, size_t capacity, void *out, size_t *out_size),
     (of, what, capacity, out, out_size), CL_OUT_OF_HOST_MEMORY)
CODE(clGetEventProfilingInfo,
     (cl_event of, cl_uint what, size_t capacity, void *out, size_t *out_size),
     (of, what, capacity, out, out_size), CL_OUT_OF_HOST_MEMORY)
CODE(clSetEventCallback,
     (cl_event of, cl_int status, void (*function)(cl_event, cl_int, void *), void *user),
     (of, status, function, user), CL_OUT_OF_HOST_MEMORY)
OBJECT(clCreateUserEvent, cl_event, (cl_context in, cl_int *out_code), (in, out_code),
       CL_OUT_OF_HOST_MEMORY)
AFTER(clSetUserEventStatus, (cl_event of, cl_int status), (of, status), CL_OUT_OF_RESOURCES)
RETAIN(clRetainEvent, cl_event)
RELEASE(clReleaseEvent, cl_event)

/* ---- memory ---- */

OBJECT(clCreateBuffer, cl_mem,
       (cl_context in, cl_bitfield flags, size_t size, void *host, cl_int *out_code),
       (in, flags, size, host, out_code), CL_MEM_OBJECT_ALLOCATION_FAILURE)
RELEASE(clReleaseMemObject, cl_mem)

static void *own_clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                    cl_bitfield flags, size_t offset, size_t size, cl_uint count,
                                    const cl_event *after, cl_event *out_event, cl_int *out_code)
{
    if (due("clEnqueueMapBuffer")) {
        if (out_code != NULL)
            *out_code = CL_MAP_FAILURE;
        return NULL;
    }
    void *mapped = real.clEnqueueMapBuffer(queue, memory, blocking, flags, offset, size, count,
                                           after, out_event, out_code);
    objects += mapped != NULL && out_event != NULL;
    return mapped;
}

static cl_int own_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *mapped,
                                          cl_uint count, const cl_event *after, cl_event *out_event)
{
    const cl_int result = real.clEnqueueUnmapMemObject(queue, memory, mapped, count, after,
                                                       out_event);
    const bool fails = due("clEnqueueUnmapMemObject");
    if (fails && result == CL_SUCCESS && out_event != NULL)
        real.clReleaseEvent(*out_event);
    objects += !fails && result == CL_SUCCESS && out_event != NULL;
    return fails ? CL_OUT_OF_RESOURCES : result;
}

static void *own_clSVMAlloc(cl_context in, cl_bitfield flags, size_t size, cl_uint alignment)
{
    void *made = due("clSVMAlloc") ? NULL : real.clSVMAlloc(in, flags, size, alignment);
    objects += made != NULL;
    return made;
}

static void own_clSVMFree(cl_context in, void *pointer)
{
    objects -= pointer != NULL;
    real.clSVMFree(in, pointer);
}

QUEUE(clEnqueueReadBuffer,
      (cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset, size_t size,
       void *host, cl_uint count, const cl_event *after, cl_event *out_event),
      (queue, memory, blocking, offset, size, host, count, after, out_event))
QUEUE(clEnqueueWriteBuffer,
      (cl_command_queue queue, cl_mem memory, cl_bool blocking, size_t offset, size_t size,
       const void *host, cl_uint count, const cl_event *after, cl_event *out_event),
      (queue, memory, blocking, offset, size, host, count, after, out_event))
QUEUE(clEnqueueCopyBuffer,
      (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
       size_t size, cl_uint count, const cl_event *after, cl_event *out_event),
      (queue, from, to, from_offset, to_offset, size, count, after, out_event))
QUEUE(clEnqueueReadBufferRect,
      (cl_command_queue queue, cl_mem memory, cl_bool blocking, const size_t *origin,
       const size_t *host_origin, const size_t *region, size_t row, size_t slice, size_t host_row,
       size_t host_slice, void *host, cl_uint count, const cl_event *after, cl_event *out_event),
      (queue, memory, blocking, origin, host_origin, region, row, slice, host_row, host_slice, host,
       count, after, out_event))
QUEUE(clEnqueueWriteBufferRect,
      (cl_command_queue queue, cl_mem memory, cl_bool blocking, const size_t *origin,
       const size_t *host_origin, const size_t *region, size_t row, size_t slice, size_t host_row,
       size_t host_slice, const void *host, cl_uint count, const cl_event *after,
       cl_event *out_event),
      (queue, memory, blocking, origin, host_origin, region, row, slice, host_row, host_slice, host,
       count, after, out_event))
QUEUE(clEnqueueCopyBufferRect,
      (cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
       const size_t *to_origin, const size_t *region, size_t from_row, size_t from_slice,
       size_t to_row, size_t to_slice, cl_uint count, const cl_event *after, cl_event *out_event),
      (queue, from, to, from_origin, to_origin, region, from_row, from_slice, to_row, to_slice,
       count, after, out_event))
QUEUE(clEnqueueFillBuffer,
      (cl_command_queue queue, cl_mem memory, const void *pattern, size_t pattern_size,
       size_t offset, size_t size, cl_uint count, const cl_event *after, cl_event *out_event),
      (queue, memory, pattern, pattern_size, offset, size, count, after, out_event))
QUEUE(clEnqueueSVMMemcpy,
      (cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size,
       cl_uint count, const cl_event *after, cl_event *out_event),
      (queue, blocking, to, from, size, count, after, out_event))
QUEUE(clEnqueueSVMMemFill,
      (cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size,
       cl_uint count, const cl_event *after, cl_event *out_event),
      (queue, to, pattern, pattern_size, size, count, after, out_event))

/* ---- programs and kernels ---- */

OBJECT(clCreateProgramWithSource, cl_program,
       (cl_context in, cl_uint count, const char **texts, const size_t *sizes, cl_int *out_code),
       (in, count, texts, sizes, out_code), CL_OUT_OF_HOST_MEMORY)
OBJECT(clCreateProgramWithBinary, cl_program,
       (cl_context in, cl_uint count, const cl_device_id *devices, const size_t *sizes,
        const unsigned char **binaries, cl_int *out_codes, cl_int *out_code),
       (in, count, devices, sizes, binaries, out_codes, out_code), CL_OUT_OF_HOST_MEMORY)
RETAIN(clRetainProgram, cl_program)
RELEASE(clReleaseProgram, cl_program)
CODE(clBuildProgram,
     (cl_program of, cl_uint count, const cl_device_id *devices, const char *options,
      void (*notify)(cl_program, void *), void *user),
     (of, count, devices, options, notify, user), CL_OUT_OF_HOST_MEMORY)
CODE(clGetProgramInfo, (cl_program of, cl_uint what, size_t capacity, void *out, size_t *out_size),
     (of, what, capacity, out, out_size), CL_OUT_OF_HOST_MEMORY)
CODE(clGetProgramBuildInfo,
     (cl_program of, cl_device_id device, cl_uint what, size_t capacity, void *out,
      size_t *out_size),
     (of, device, what, capacity, out, out_size), CL_OUT_OF_HOST_MEMORY)
OBJECT(clCreateKernel, cl_kernel, (cl_program of, const char *name, cl_int *out_code),
       (of, name, out_code), CL_OUT_OF_HOST_MEMORY)

static cl_int own_clCreateKernelsInProgram(cl_program of, cl_uint capacity, cl_kernel *out,
                                           cl_uint *out_count)
{
    cl_uint count = 0;
    if (due("clCreateKernelsInProgram"))
        return CL_OUT_OF_HOST_MEMORY;
    const cl_int code = real.clCreateKernelsInProgram(of, capacity, out, &count);
    if (out_count != NULL)
        *out_count = count;
    objects += code == CL_SUCCESS && out != NULL ? (int)count : 0;
    return code;
}

OBJECT(clCloneKernel, cl_kernel, (cl_kernel of, cl_int *out_code), (of, out_code),
       CL_OUT_OF_HOST_MEMORY)
RETAIN(clRetainKernel, cl_kernel)
RELEASE(clReleaseKernel, cl_kernel)
CODE(clSetKernelArg, (cl_kernel of, cl_uint index, size_t size, const void *value),
     (of, index, size, value), CL_OUT_OF_RESOURCES)
CODE(clSetKernelArgSVMPointer, (cl_kernel of, cl_uint index, const void *pointer),
     (of, index, pointer), CL_OUT_OF_RESOURCES)
CODE(clSetKernelExecInfo, (cl_kernel of, cl_uint what, size_t size, const void *value),
     (of, what, size, value), CL_OUT_OF_RESOURCES)
CODE(clGetKernelInfo, (cl_kernel of, cl_uint what, size_t capacity, void *out, size_t *out_size),
     (of, what, capacity, out, out_size), CL_OUT_OF_HOST_MEMORY)
CODE(clGetKernelWorkGroupInfo,
     (cl_kernel of, cl_device_id device, cl_uint what, size_t capacity, void *out,
      size_t *out_size),
     (of, device, what, capacity, out, out_size), CL_OUT_OF_HOST_MEMORY)
CODE(clGetKernelArgInfo,
     (cl_kernel of, cl_uint index, cl_uint what, size_t capacity, void *out, size_t *out_size),
     (of, index, what, capacity, out, out_size), CL_OUT_OF_HOST_MEMORY)
QUEUE(clEnqueueNDRangeKernel,
      (cl_command_queue queue, cl_kernel of, cl_uint dimensions, const size_t *offset,
       const size_t *global, const size_t *local, cl_uint count, const cl_event *after,
       cl_event *out_event),
      (queue, of, dimensions, offset, global, local, count, after, out_event))

/* ---- the real driver, and the table ---- */

static void put(size_t place, void (*function)(void))
{
    memcpy(&own_table[place], &function, sizeof function);
}

/* Ours for each function that the real table has: one of an older driver ends before newer functions. */
static void fill(void *const *table, int driver_version)
{
#define FILL(name, place, version, result, parameters)                                             \
    if ((version) <= driver_version)                                                               \
        memcpy(&real.name, &table[place], sizeof real.name);                                       \
    if (real.name != NULL)                                                                         \
        put(place, (void (*)(void))own_##name);
    ACCEL__OPENCL_FUNCTIONS(FILL)
#undef FILL
}

static int read_version(cl_platform_id of, void *const *table)
{
    cl_int (*ask)(cl_platform_id, cl_uint, size_t, void *, size_t *) = NULL;
    char text[128] = "";
    int major = 0;
    int minor = 0;
    memcpy(&ask, &table[1], sizeof ask);
    if (ask(of, CL_PLATFORM_VERSION, sizeof text, text, NULL) != CL_SUCCESS ||
        sscanf(text, "OpenCL %d.%d", &major, &minor) != 2)
        return 0;
    return major * 10 + minor;
}

static void load(void)
{
    const char *path = getenv("FAILING_DRIVER_OF");
    void *library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *found = library != NULL ? dlsym(library, "clIcdGetPlatformIDsKHR") : NULL;
    void *(*ask)(const char *) = NULL;
    if (found == NULL && library != NULL) {
        void *symbol = dlsym(library, "clGetExtensionFunctionAddress");
        memcpy(&ask, &symbol, sizeof ask);
        found = ask != NULL ? ask("clIcdGetPlatformIDsKHR") : NULL;
    }
    memcpy(&get_real_platforms, &found, sizeof found);
    cl_platform_id first = NULL;
    if (get_real_platforms != NULL && get_real_platforms(1, &first, NULL) == CL_SUCCESS &&
        first != NULL) {
        void *const *table = NULL;
        memcpy(&table, first, sizeof table);
        fill(table, read_version(first, table));
    }
}

EXPORTED cl_int clIcdGetPlatformIDsKHR(cl_uint capacity, cl_platform_id *out, cl_uint *out_count);

cl_int clIcdGetPlatformIDsKHR(cl_uint capacity, cl_platform_id *out, cl_uint *out_count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return own_clGetPlatformIDs(capacity, out, out_count);
}
