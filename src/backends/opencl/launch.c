/* launch.c: launches: the arguments into the kernel, the kernel into the queue. */
#include "backends/opencl/module.h"
#include "backends/opencl/stream.h"
#include "base/error.h"

static const char function[] = "accel_kernel_launch";

/* What could not be set, for the record. */
typedef struct setting {
    cl_int code;
    const char *call;
    bool is_foreign; /* a pointer into no memory of the device */
} setting;

/* One pointer, passed in the way of the device; *index moves past what it takes. */
static void set_pointer(const accel__opencl_function *made, const void *pointer, cl_uint *index,
                        setting *state)
{
    const accel__opencl_api *api = made->device->api;
    switch (made->device->pointers) {
    case ACCEL__OPENCL_USM:
        state->call = "clSetKernelArgMemPointerINTEL";
        state->code = api->clSetKernelArgMemPointerINTEL(made->kernel, (*index)++, pointer);
        return;
    case ACCEL__OPENCL_SVM:
        state->call = "clSetKernelArgSVMPointer";
        state->code = api->clSetKernelArgSVMPointer(made->kernel, (*index)++, pointer);
        return;
    case ACCEL__OPENCL_TRANSLATE:
        break;
    }
    cl_mem buffer = NULL;
    size_t offset = 0;
    if (pointer != NULL && !accel__opencl_resolve(made->device, pointer, &buffer, &offset)) {
        state->is_foreign = true;
        return;
    }
    const cl_ulong passed = offset;
    state->code = api->clSetKernelArg(made->kernel, (*index)++, sizeof(cl_mem),
                                      buffer != NULL ? &buffer : NULL);
    if (state->code == CL_SUCCESS)
        state->code = api->clSetKernelArg(made->kernel, (*index)++, sizeof passed, &passed);
}

static void set_argument(const accel__opencl_function *made, const accel_kernel_arg *arg,
                         cl_uint *index, setting *state)
{
    state->call = "clSetKernelArg";
    switch (arg->kind) {
    case ACCEL_KERNEL_ARG_KIND_VALUE:
        state->code = made->device->api->clSetKernelArg(made->kernel, (*index)++, arg->size,
                                                        arg->data);
        return;
    case ACCEL_KERNEL_ARG_KIND_POINTER:
        set_pointer(made, arg->data, index, state);
        return;
    case ACCEL_KERNEL_ARG_KIND_LOCAL:
        state->code = made->device->api->clSetKernelArg(made->kernel, (*index)++, arg->size, NULL);
        return;
    }
}

static accel_status set_arguments(const accel__opencl_function *made, const accel_kernel_arg *args,
                                  uint32_t arg_count)
{
    setting state = {.code = CL_SUCCESS};
    cl_uint index = 0;
    for (uint32_t i = 0; i < arg_count; i++) {
        set_argument(made, &args[i], &index, &state);
        if (state.is_foreign)
            return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, "opencl", function,
                               "argument %u of '%s' points into no memory of the device", i,
                               made->facts.name);
        if (state.code != CL_SUCCESS)
            return accel__opencl_fail(state.code, state.call);
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
    return accel__error_met_by(
        accel__opencl_enqueued(stream, code, event, "clEnqueueNDRangeKernel"), function);
}
