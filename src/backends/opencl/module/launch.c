/* launch.c: launches: the arguments into the kernel, the kernel into the queue. */
#include "backends/opencl/module/module.h"
#include "backends/opencl/queue/stream.h"
#include "base/error.h"

static const char function[] = "accel_kernel_launch";

/* A pointer as a buffer and an offset; *index moves past both. */
static accel_status set_translated(const accel__opencl_function *made, uint32_t number,
                                   const void *pointer, cl_uint *index)
{
    cl_mem buffer = NULL;
    size_t offset = 0;
    if (pointer != NULL && !accel__opencl_resolve(made->device, pointer, &buffer, &offset))
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, "opencl", function,
                           "argument %u of '%s' points into no memory of the device", number,
                           made->facts.name);
    const accel__opencl_api *api = made->device->api;
    const cl_ulong passed = offset;
    cl_int code = api->clSetKernelArg(made->kernel, (*index)++, sizeof(cl_mem),
                                      buffer != NULL ? &buffer : NULL);
    if (code == CL_SUCCESS)
        code = api->clSetKernelArg(made->kernel, (*index)++, sizeof passed, &passed);
    return code == CL_SUCCESS ? ACCEL_OK : accel__opencl_fail(code, "clSetKernelArg");
}

static accel_status set_arguments(const accel__opencl_function *made, const accel_kernel_arg *args,
                                  uint32_t arg_count)
{
    const accel__opencl_api *api = made->device->api;
    cl_uint index = 0;
    for (uint32_t i = 0; i < arg_count; i++) {
        const accel_kernel_arg *arg = &args[i];
        const bool is_pointer = arg->kind == ACCEL_KERNEL_ARG_KIND_POINTER;
        cl_int code = CL_SUCCESS;
        if (!is_pointer) {
            const void *value = arg->kind == ACCEL_KERNEL_ARG_KIND_VALUE ? arg->data : NULL;
            code = api->clSetKernelArg(made->kernel, index++, arg->size, value);
        } else if (made->set_pointer != NULL) {
            code = made->set_pointer(made->kernel, index++, arg->data);
        } else {
            const accel_status status = set_translated(made, i, arg->data, &index);
            if (status != ACCEL_OK)
                return status;
        }
        if (code != CL_SUCCESS)
            return accel__opencl_fail(code, is_pointer ? "clSetKernelArg for a pointer"
                                                       : "clSetKernelArg");
    }
    return ACCEL_OK;
}

/* As the kernel language counts dimensions: up to the last that has more than one item. */
static cl_uint fill_sizes(const accel_launch_shape *shape, size_t global[3], size_t local[3])
{
    cl_uint dimensions = 1;
    for (cl_uint i = 0; i < 3; i++) {
        local[i] = shape->block[i];
        global[i] = (size_t)shape->grid[i] * local[i];
        if (global[i] > 1)
            dimensions = i + 1;
    }
    return dimensions;
}

accel_status accel__opencl_launch(accel_native_stream *native,
                                  accel_native_function *native_function,
                                  const accel_launch_shape *shape, const accel_kernel_arg *args,
                                  uint32_t arg_count)
{
    accel__opencl_stream *stream = (accel__opencl_stream *)native;
    accel__opencl_function *made = (accel__opencl_function *)native_function;
    size_t global[3];
    size_t local[3];
    const cl_uint dimensions = fill_sizes(shape, global, local);
    cl_event event = NULL;
    if (made->fault != NULL)
        return accel__fail(ACCEL_ERROR_UNSUPPORTED, "opencl", function, "the kernel '%s' %s",
                           made->facts.name, made->fault);
    accel__mutex_lock(&made->mutex);
    accel_status status = set_arguments(made, args, arg_count);
    if (status == ACCEL_OK)
        status = accel__opencl_begin(stream);
    if (status != ACCEL_OK) {
        accel__mutex_unlock(&made->mutex);
        return accel__error_met_by(status, function);
    }
    const cl_int code = stream->device->api->clEnqueueNDRangeKernel(
        stream->queue, made->kernel, dimensions, NULL, global, local, 0, NULL, &event);
    accel__mutex_unlock(&made->mutex);
    status = accel__opencl_enqueued(stream, code, event, "clEnqueueNDRangeKernel");
    return status == ACCEL_OK ? status : accel__error_met_by(status, function);
}
