/* failure.c: from OpenCL's codes to statuses. Called wherever a driver returns one; see device.h. */
#include "backends/opencl/device.h"
#include "base/error.h"

const char *accel__opencl_code_name(cl_int code)
{
    switch (code) {
#define CODE_CASE(name, number)                                                                    \
    case name:                                                                                     \
        return #name;
        ACCEL__OPENCL_CODES(CODE_CASE)
#undef CODE_CASE
    default:
        return "unknown code";
    }
}

static accel_status status_of(cl_int code)
{
    switch (code) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_INVALID_BUFFER_SIZE:
        return ACCEL_ERROR_OUT_OF_MEMORY;
    case CL_OUT_OF_HOST_MEMORY:
        return ACCEL_ERROR_OUT_OF_HOST_MEMORY;
    case CL_COMPILER_NOT_AVAILABLE:
    case CL_LINKER_NOT_AVAILABLE:
        return ACCEL_ERROR_NO_COMPILER;
    case CL_PROFILING_INFO_NOT_AVAILABLE: /* the event was recorded again on another thread */
        return ACCEL_ERROR_NOT_READY;
    case CL_BUILD_PROGRAM_FAILURE:
    case CL_COMPILE_PROGRAM_FAILURE:
    case CL_LINK_PROGRAM_FAILURE:
        return ACCEL_ERROR_BUILD_FAILED;
    case CL_INVALID_WORK_DIMENSION:
    case CL_INVALID_WORK_GROUP_SIZE:
    case CL_INVALID_WORK_ITEM_SIZE:
    case CL_INVALID_GLOBAL_WORK_SIZE:
        return ACCEL_ERROR_OUT_OF_RANGE;
    case CL_INVALID_BINARY:
    case CL_INVALID_ARG_INDEX:
    case CL_INVALID_ARG_VALUE:
    case CL_INVALID_ARG_SIZE:
    case CL_INVALID_KERNEL_ARGS:
        return ACCEL_ERROR_INVALID_ARGUMENT;
    default:
        return ACCEL_ERROR_DEVICE_FAILED;
    }
}

accel_status accel__opencl_fail(cl_int code, const char *call)
{
    const char *name = accel__opencl_code_name(code);
    return accel__fail_vendor(status_of(code), "opencl", call, code, name, "%s returned %s (%d)",
                              call, name, code);
}
