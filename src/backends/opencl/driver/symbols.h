/* symbols.h: what this backend uses of OpenCL, in own declarations, so that building needs no SDK: types,
 * constants, functions with their places in the dispatch table of an installable driver. Where the real
 * headers are on the machine a test compares every line with them.
 *
 * Names are OpenCL's own, so that its documentation applies; no file may include the real headers
 * beside this one, but for that test. */
#ifndef ACCEL_OPENCL_SYMBOLS_H
#define ACCEL_OPENCL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef ACCEL__OPENCL_ONLY_LISTS

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef cl_uint cl_bool;
typedef cl_ulong cl_bitfield;

typedef struct accel__cl_platform_id *cl_platform_id;
typedef struct accel__cl_device_id *cl_device_id;
typedef struct accel__cl_context *cl_context;
typedef struct accel__cl_command_queue *cl_command_queue;
typedef struct accel__cl_mem *cl_mem;
typedef struct accel__cl_program *cl_program;
typedef struct accel__cl_kernel *cl_kernel;
typedef struct accel__cl_event *cl_event;

#endif

/* ---- codes and constants ---- */

/* The codes that a call can return; those below -1000 are of extensions. */
#define ACCEL__OPENCL_CODES(X)                                                                     \
    X(CL_SUCCESS, 0)                                                                               \
    X(CL_DEVICE_NOT_FOUND, -1)                                                                     \
    X(CL_DEVICE_NOT_AVAILABLE, -2)                                                                 \
    X(CL_COMPILER_NOT_AVAILABLE, -3)                                                               \
    X(CL_MEM_OBJECT_ALLOCATION_FAILURE, -4)                                                        \
    X(CL_OUT_OF_RESOURCES, -5)                                                                     \
    X(CL_OUT_OF_HOST_MEMORY, -6)                                                                   \
    X(CL_PROFILING_INFO_NOT_AVAILABLE, -7)                                                         \
    X(CL_MEM_COPY_OVERLAP, -8)                                                                     \
    X(CL_IMAGE_FORMAT_MISMATCH, -9)                                                                \
    X(CL_IMAGE_FORMAT_NOT_SUPPORTED, -10)                                                          \
    X(CL_BUILD_PROGRAM_FAILURE, -11)                                                               \
    X(CL_MAP_FAILURE, -12)                                                                         \
    X(CL_MISALIGNED_SUB_BUFFER_OFFSET, -13)                                                        \
    X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, -14)                                           \
    X(CL_COMPILE_PROGRAM_FAILURE, -15)                                                             \
    X(CL_LINKER_NOT_AVAILABLE, -16)                                                                \
    X(CL_LINK_PROGRAM_FAILURE, -17)                                                                \
    X(CL_DEVICE_PARTITION_FAILED, -18)                                                             \
    X(CL_KERNEL_ARG_INFO_NOT_AVAILABLE, -19)                                                       \
    X(CL_INVALID_VALUE, -30)                                                                       \
    X(CL_INVALID_DEVICE_TYPE, -31)                                                                 \
    X(CL_INVALID_PLATFORM, -32)                                                                    \
    X(CL_INVALID_DEVICE, -33)                                                                      \
    X(CL_INVALID_CONTEXT, -34)                                                                     \
    X(CL_INVALID_QUEUE_PROPERTIES, -35)                                                            \
    X(CL_INVALID_COMMAND_QUEUE, -36)                                                               \
    X(CL_INVALID_HOST_PTR, -37)                                                                    \
    X(CL_INVALID_MEM_OBJECT, -38)                                                                  \
    X(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, -39)                                                     \
    X(CL_INVALID_IMAGE_SIZE, -40)                                                                  \
    X(CL_INVALID_SAMPLER, -41)                                                                     \
    X(CL_INVALID_BINARY, -42)                                                                      \
    X(CL_INVALID_BUILD_OPTIONS, -43)                                                               \
    X(CL_INVALID_PROGRAM, -44)                                                                     \
    X(CL_INVALID_PROGRAM_EXECUTABLE, -45)                                                          \
    X(CL_INVALID_KERNEL_NAME, -46)                                                                 \
    X(CL_INVALID_KERNEL_DEFINITION, -47)                                                           \
    X(CL_INVALID_KERNEL, -48)                                                                      \
    X(CL_INVALID_ARG_INDEX, -49)                                                                   \
    X(CL_INVALID_ARG_VALUE, -50)                                                                   \
    X(CL_INVALID_ARG_SIZE, -51)                                                                    \
    X(CL_INVALID_KERNEL_ARGS, -52)                                                                 \
    X(CL_INVALID_WORK_DIMENSION, -53)                                                              \
    X(CL_INVALID_WORK_GROUP_SIZE, -54)                                                             \
    X(CL_INVALID_WORK_ITEM_SIZE, -55)                                                              \
    X(CL_INVALID_GLOBAL_OFFSET, -56)                                                               \
    X(CL_INVALID_EVENT_WAIT_LIST, -57)                                                             \
    X(CL_INVALID_EVENT, -58)                                                                       \
    X(CL_INVALID_OPERATION, -59)                                                                   \
    X(CL_INVALID_GL_OBJECT, -60)                                                                   \
    X(CL_INVALID_BUFFER_SIZE, -61)                                                                 \
    X(CL_INVALID_MIP_LEVEL, -62)                                                                   \
    X(CL_INVALID_GLOBAL_WORK_SIZE, -63)                                                            \
    X(CL_INVALID_PROPERTY, -64)                                                                    \
    X(CL_INVALID_IMAGE_DESCRIPTOR, -65)                                                            \
    X(CL_INVALID_COMPILER_OPTIONS, -66)                                                            \
    X(CL_INVALID_LINKER_OPTIONS, -67)                                                              \
    X(CL_INVALID_DEVICE_PARTITION_COUNT, -68)                                                      \
    X(CL_PLATFORM_NOT_FOUND_KHR, -1001)

#define ACCEL__OPENCL_CONSTANTS(X)                                                                 \
    X(CL_FALSE, 0)                                                                                 \
    X(CL_TRUE, 1)                                                                                  \
    X(CL_PLATFORM_VERSION, 0x0901)                                                                 \
    X(CL_PLATFORM_NAME, 0x0902)                                                                    \
    X(CL_DEVICE_TYPE_CPU, 1 << 1)                                                                  \
    X(CL_DEVICE_TYPE_GPU, 1 << 2)                                                                  \
    X(CL_DEVICE_TYPE_ACCELERATOR, 1 << 3)                                                          \
    X(CL_DEVICE_TYPE, 0x1000)                                                                      \
    X(CL_DEVICE_VENDOR_ID, 0x1001)                                                                 \
    X(CL_DEVICE_MAX_COMPUTE_UNITS, 0x1002)                                                         \
    X(CL_DEVICE_MAX_WORK_GROUP_SIZE, 0x1004)                                                       \
    X(CL_DEVICE_MAX_WORK_ITEM_SIZES, 0x1005)                                                       \
    X(CL_DEVICE_ADDRESS_BITS, 0x100D)                                                              \
    X(CL_DEVICE_MAX_MEM_ALLOC_SIZE, 0x1010)                                                        \
    X(CL_DEVICE_MEM_BASE_ADDR_ALIGN, 0x1019)                                                       \
    X(CL_DEVICE_GLOBAL_MEM_SIZE, 0x101F)                                                           \
    X(CL_DEVICE_LOCAL_MEM_SIZE, 0x1023)                                                            \
    X(CL_DEVICE_PROFILING_TIMER_RESOLUTION, 0x1025)                                                \
    X(CL_DEVICE_AVAILABLE, 0x1027)                                                                 \
    X(CL_DEVICE_COMPILER_AVAILABLE, 0x1028)                                                        \
    X(CL_DEVICE_NAME, 0x102B)                                                                      \
    X(CL_DEVICE_VENDOR, 0x102C)                                                                    \
    X(CL_DRIVER_VERSION, 0x102D)                                                                   \
    X(CL_DEVICE_VERSION, 0x102F)                                                                   \
    X(CL_DEVICE_EXTENSIONS, 0x1030)                                                                \
    X(CL_DEVICE_SINGLE_FP_CONFIG, 0x101B)                                                          \
    X(CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, 1 << 7)                                                 \
    X(CL_DEVICE_DOUBLE_FP_CONFIG, 0x1032)                                                          \
    X(CL_DEVICE_OPENCL_C_VERSION, 0x103D)                                                          \
    X(CL_DEVICE_SVM_CAPABILITIES, 0x1053)                                                          \
    X(CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, 1 << 0)                                                   \
    X(CL_DEVICE_UUID_KHR, 0x106A)                                                                  \
    X(CL_DEVICE_PCI_BUS_INFO_KHR, 0x410F)                                                          \
    X(CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL, 0x4191)                                             \
    X(CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL, 1 << 0)                                               \
    X(CL_CONTEXT_PLATFORM, 0x1084)                                                                 \
    X(CL_QUEUE_PROPERTIES, 0x1093)                                                                 \
    X(CL_QUEUE_PROFILING_ENABLE, 1 << 1)                                                           \
    X(CL_QUEUE_PRIORITY_KHR, 0x1096)                                                               \
    X(CL_QUEUE_PRIORITY_HIGH_KHR, 1 << 0)                                                          \
    X(CL_QUEUE_PRIORITY_MED_KHR, 1 << 1)                                                           \
    X(CL_QUEUE_PRIORITY_LOW_KHR, 1 << 2)                                                           \
    X(CL_MEM_READ_WRITE, 1 << 0)                                                                   \
    X(CL_MEM_ALLOC_HOST_PTR, 1 << 4)                                                               \
    X(CL_MAP_READ, 1 << 0)                                                                         \
    X(CL_MAP_WRITE, 1 << 1)                                                                        \
    X(CL_PROGRAM_NUM_DEVICES, 0x1162)                                                              \
    X(CL_PROGRAM_DEVICES, 0x1163)                                                                  \
    X(CL_PROGRAM_BINARY_SIZES, 0x1165)                                                             \
    X(CL_PROGRAM_BINARIES, 0x1166)                                                                 \
    X(CL_PROGRAM_NUM_KERNELS, 0x1167)                                                              \
    X(CL_PROGRAM_KERNEL_NAMES, 0x1168)                                                             \
    X(CL_PROGRAM_BUILD_STATUS, 0x1181)                                                             \
    X(CL_PROGRAM_BUILD_LOG, 0x1183)                                                                \
    X(CL_KERNEL_FUNCTION_NAME, 0x1190)                                                             \
    X(CL_KERNEL_NUM_ARGS, 0x1191)                                                                  \
    X(CL_KERNEL_ARG_ADDRESS_QUALIFIER, 0x1196)                                                     \
    X(CL_KERNEL_ARG_TYPE_NAME, 0x1198)                                                             \
    X(CL_KERNEL_ARG_TYPE_QUALIFIER, 0x1199)                                                        \
    X(CL_KERNEL_ARG_NAME, 0x119A)                                                                  \
    X(CL_KERNEL_WORK_GROUP_SIZE, 0x11B0)                                                           \
    X(CL_KERNEL_COMPILE_WORK_GROUP_SIZE, 0x11B1)                                                   \
    X(CL_KERNEL_LOCAL_MEM_SIZE, 0x11B2)                                                            \
    X(CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL, 0x4201)                                    \
    X(CL_EVENT_COMMAND_EXECUTION_STATUS, 0x11D3)                                                   \
    X(CL_COMPLETE, 0)                                                                              \
    X(CL_PROFILING_COMMAND_END, 0x1283)

#ifndef ACCEL__OPENCL_ONLY_LISTS

enum {
#define ACCEL__OPENCL_CONSTANT(name, value) name = value,
    ACCEL__OPENCL_CODES(ACCEL__OPENCL_CONSTANT) ACCEL__OPENCL_CONSTANTS(ACCEL__OPENCL_CONSTANT)
#undef ACCEL__OPENCL_CONSTANT
};

#endif

/* ---- functions ---- */

/* Name, place in the dispatch table, the OpenCL version (times 10) that brought it, result, parameters. */
#define ACCEL__OPENCL_FUNCTIONS(X)                                                                 \
    X(clGetPlatformIDs, 0, 10, cl_int, (cl_uint, cl_platform_id *, cl_uint *))                     \
    X(clGetPlatformInfo, 1, 10, cl_int, (cl_platform_id, cl_uint, size_t, void *, size_t *))       \
    X(clGetDeviceIDs, 2, 10, cl_int,                                                               \
      (cl_platform_id, cl_bitfield, cl_uint, cl_device_id *, cl_uint *))                           \
    X(clGetDeviceInfo, 3, 10, cl_int, (cl_device_id, cl_uint, size_t, void *, size_t *))           \
    X(clCreateContext, 4, 10, cl_context,                                                          \
      (const intptr_t *, cl_uint, const cl_device_id *,                                            \
       void (*)(const char *, const void *, size_t, void *), void *, cl_int *))                    \
    X(clReleaseContext, 7, 10, cl_int, (cl_context))                                               \
    X(clCreateCommandQueue, 9, 10, cl_command_queue,                                               \
      (cl_context, cl_device_id, cl_bitfield, cl_int *))                                           \
    X(clReleaseCommandQueue, 11, 10, cl_int, (cl_command_queue))                                   \
    X(clCreateBuffer, 14, 10, cl_mem, (cl_context, cl_bitfield, size_t, void *, cl_int *))         \
    X(clReleaseMemObject, 18, 10, cl_int, (cl_mem))                                                \
    X(clCreateProgramWithSource, 26, 10, cl_program,                                               \
      (cl_context, cl_uint, const char **, const size_t *, cl_int *))                              \
    X(clCreateProgramWithBinary, 27, 10, cl_program,                                               \
      (cl_context, cl_uint, const cl_device_id *, const size_t *, const unsigned char **,          \
       cl_int *, cl_int *))                                                                        \
    X(clRetainProgram, 28, 10, cl_int, (cl_program))                                               \
    X(clReleaseProgram, 29, 10, cl_int, (cl_program))                                              \
    X(clBuildProgram, 30, 10, cl_int,                                                              \
      (cl_program, cl_uint, const cl_device_id *, const char *, void (*)(cl_program, void *),      \
       void *))                                                                                    \
    X(clGetProgramInfo, 32, 10, cl_int, (cl_program, cl_uint, size_t, void *, size_t *))           \
    X(clGetProgramBuildInfo, 33, 10, cl_int,                                                       \
      (cl_program, cl_device_id, cl_uint, size_t, void *, size_t *))                               \
    X(clCreateKernel, 34, 10, cl_kernel, (cl_program, const char *, cl_int *))                     \
    X(clCreateKernelsInProgram, 35, 10, cl_int, (cl_program, cl_uint, cl_kernel *, cl_uint *))     \
    X(clRetainKernel, 36, 10, cl_int, (cl_kernel))                                                 \
    X(clReleaseKernel, 37, 10, cl_int, (cl_kernel))                                                \
    X(clSetKernelArg, 38, 10, cl_int, (cl_kernel, cl_uint, size_t, const void *))                  \
    X(clGetKernelInfo, 39, 10, cl_int, (cl_kernel, cl_uint, size_t, void *, size_t *))             \
    X(clGetKernelWorkGroupInfo, 40, 10, cl_int,                                                    \
      (cl_kernel, cl_device_id, cl_uint, size_t, void *, size_t *))                                \
    X(clWaitForEvents, 41, 10, cl_int, (cl_uint, const cl_event *))                                \
    X(clGetEventInfo, 42, 10, cl_int, (cl_event, cl_uint, size_t, void *, size_t *))               \
    X(clRetainEvent, 43, 10, cl_int, (cl_event))                                                   \
    X(clReleaseEvent, 44, 10, cl_int, (cl_event))                                                  \
    X(clGetEventProfilingInfo, 45, 10, cl_int, (cl_event, cl_uint, size_t, void *, size_t *))      \
    X(clFlush, 46, 10, cl_int, (cl_command_queue))                                                 \
    X(clFinish, 47, 10, cl_int, (cl_command_queue))                                                \
    X(clEnqueueReadBuffer, 48, 10, cl_int,                                                         \
      (cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *,       \
       cl_event *))                                                                                \
    X(clEnqueueWriteBuffer, 49, 10, cl_int,                                                        \
      (cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint, const cl_event *, \
       cl_event *))                                                                                \
    X(clEnqueueCopyBuffer, 50, 10, cl_int,                                                         \
      (cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event *,        \
       cl_event *))                                                                                \
    X(clEnqueueMapBuffer, 56, 10, void *,                                                          \
      (cl_command_queue, cl_mem, cl_bool, cl_bitfield, size_t, size_t, cl_uint, const cl_event *,  \
       cl_event *, cl_int *))                                                                      \
    X(clEnqueueUnmapMemObject, 58, 10, cl_int,                                                     \
      (cl_command_queue, cl_mem, void *, cl_uint, const cl_event *, cl_event *))                   \
    X(clEnqueueNDRangeKernel, 59, 10, cl_int,                                                      \
      (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,       \
       cl_uint, const cl_event *, cl_event *))                                                     \
    X(clSetEventCallback, 81, 11, cl_int,                                                          \
      (cl_event, cl_int, void (*)(cl_event, cl_int, void *), void *))                              \
    X(clCreateUserEvent, 84, 11, cl_event, (cl_context, cl_int *))                                 \
    X(clSetUserEventStatus, 85, 11, cl_int, (cl_event, cl_int))                                    \
    X(clEnqueueReadBufferRect, 86, 11, cl_int,                                                     \
      (cl_command_queue, cl_mem, cl_bool, const size_t *, const size_t *, const size_t *, size_t,  \
       size_t, size_t, size_t, void *, cl_uint, const cl_event *, cl_event *))                     \
    X(clEnqueueWriteBufferRect, 87, 11, cl_int,                                                    \
      (cl_command_queue, cl_mem, cl_bool, const size_t *, const size_t *, const size_t *, size_t,  \
       size_t, size_t, size_t, const void *, cl_uint, const cl_event *, cl_event *))               \
    X(clEnqueueCopyBufferRect, 88, 11, cl_int,                                                     \
      (cl_command_queue, cl_mem, cl_mem, const size_t *, const size_t *, const size_t *, size_t,   \
       size_t, size_t, size_t, cl_uint, const cl_event *, cl_event *))                             \
    X(clGetKernelArgInfo, 101, 12, cl_int,                                                         \
      (cl_kernel, cl_uint, cl_uint, size_t, void *, size_t *))                                     \
    X(clEnqueueFillBuffer, 102, 12, cl_int,                                                        \
      (cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, const cl_event *,  \
       cl_event *))                                                                                \
    X(clEnqueueMarkerWithWaitList, 105, 12, cl_int,                                                \
      (cl_command_queue, cl_uint, const cl_event *, cl_event *))                                   \
    X(clEnqueueBarrierWithWaitList, 106, 12, cl_int,                                               \
      (cl_command_queue, cl_uint, const cl_event *, cl_event *))                                   \
    X(clGetExtensionFunctionAddressForPlatform, 107, 12, void *, (cl_platform_id, const char *))   \
    X(clCreateCommandQueueWithProperties, 123, 20, cl_command_queue,                               \
      (cl_context, cl_device_id, const cl_bitfield *, cl_int *))                                   \
    X(clSVMAlloc, 126, 20, void *, (cl_context, cl_bitfield, size_t, cl_uint))                     \
    X(clSVMFree, 127, 20, void, (cl_context, void *))                                              \
    X(clEnqueueSVMMemcpy, 129, 20, cl_int,                                                         \
      (cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint, const cl_event *,         \
       cl_event *))                                                                                \
    X(clEnqueueSVMMemFill, 130, 20, cl_int,                                                        \
      (cl_command_queue, void *, const void *, size_t, size_t, cl_uint, const cl_event *,          \
       cl_event *))                                                                                \
    X(clSetKernelArgSVMPointer, 134, 20, cl_int, (cl_kernel, cl_uint, const void *))               \
    X(clSetKernelExecInfo, 135, 20, cl_int, (cl_kernel, cl_uint, size_t, const void *))            \
    X(clCloneKernel, 137, 21, cl_kernel, (cl_kernel, cl_int *))

/* Of the extension cl_intel_unified_shared_memory. */
#define ACCEL__OPENCL_USM_FUNCTIONS(X)                                                             \
    X(clDeviceMemAllocINTEL, 0, 0, void *,                                                         \
      (cl_context, cl_device_id, const cl_bitfield *, size_t, cl_uint, cl_int *))                  \
    X(clMemFreeINTEL, 0, 0, cl_int, (cl_context, void *))                                          \
    X(clSetKernelArgMemPointerINTEL, 0, 0, cl_int, (cl_kernel, cl_uint, const void *))             \
    X(clEnqueueMemFillINTEL, 0, 0, cl_int,                                                         \
      (cl_command_queue, void *, const void *, size_t, size_t, cl_uint, const cl_event *,          \
       cl_event *))                                                                                \
    X(clEnqueueMemcpyINTEL, 0, 0, cl_int,                                                          \
      (cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint, const cl_event *,         \
       cl_event *))

#ifndef ACCEL__OPENCL_ONLY_LISTS

/* One platform's functions. Those that came with OpenCL 2.0 and later, and those of extensions, are
 * NULL where the platform is older or has them not; the others are always there. */
typedef struct accel__opencl_api {
#define ACCEL__OPENCL_MEMBER(name, place, version, result, parameters) result(*name) parameters;
    ACCEL__OPENCL_FUNCTIONS(ACCEL__OPENCL_MEMBER)
    ACCEL__OPENCL_USM_FUNCTIONS(ACCEL__OPENCL_MEMBER)
#undef ACCEL__OPENCL_MEMBER
} accel__opencl_api;

/* From clGetDeviceInfo(CL_DEVICE_PCI_BUS_INFO_KHR). */
typedef struct accel__opencl_bus_info {
    cl_uint domain;
    cl_uint bus;
    cl_uint device;
    cl_uint function;
} accel__opencl_bus_info;

#endif

#endif
