/* launch.c: the way of a launch through the core: look at the shape, look at the arguments, hand it to
 * the backend. No lock, no allocation. */
#include "core/launch.h"

#include "base/error.h"
#include "core/current.h"
#include "core/module.h"

static const char function[] = "accel_kernel_launch";

static accel_status fail_argument(const accel_kernel *kernel, uint32_t index, const char *what)
{
    const accel_param *param = kernel->facts.has_signature ? &kernel->facts.params[index] : NULL;
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, kernel->backend->table.name, function,
                       "'%s', argument %u%s%s: %s", kernel->facts.name, index,
                       param != NULL ? " " : "", param != NULL ? param->name : "", what);
}

/* What the arguments seen so far take. */
typedef struct taken {
    size_t bytes;
    size_t local; /* of one block */
} taken;

static accel_status fail_shape(const accel_kernel *kernel, const char *what,
                               unsigned long long given, unsigned long long limit)
{
    return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, kernel->backend->table.name, function,
                       "'%s': %s is %llu, the device's limit is %llu", kernel->facts.name, what,
                       given, limit);
}

static accel_status check_value(const accel_kernel *kernel, uint32_t index,
                                const accel_kernel_arg *arg, const accel_param *param)
{
    if (arg->data == NULL || arg->size == 0)
        return fail_argument(kernel, index, "a value without data");
    if (param == NULL || param->kind != ACCEL_PARAM_KIND_VALUE || param->size == arg->size)
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, kernel->backend->table.name, function,
                       "'%s', argument %u %s: the value has %zu bytes, the parameter %zu",
                       kernel->facts.name, index, param->name, arg->size, param->size);
}

static accel_status check_local(const accel_kernel *kernel, uint32_t index,
                                const accel_kernel_arg *arg, taken *so_far)
{
    const size_t limit = kernel->device->capability.local_memory_size;
    if (arg->size == 0)
        return fail_argument(kernel, index,
                             "local memory of 0 bytes: give the size of what a block shares");
    size_t all;
    if (__builtin_add_overflow(so_far->local, arg->size, &all))
        all = SIZE_MAX;
    if (all > limit)
        return fail_shape(kernel, "the local memory of a block, in bytes,", all, limit);
    so_far->local = all;
    return ACCEL_OK;
}

static accel_status check_argument(const accel_kernel *kernel, uint32_t index,
                                   const accel_kernel_arg *arg, taken *so_far)
{
    const accel_param *param = kernel->facts.has_signature ? &kernel->facts.params[index] : NULL;
    size_t bytes = sizeof(void *);
    accel_status status = ACCEL_OK;
    if (arg->kind == ACCEL_KERNEL_ARG_KIND_VALUE) {
        bytes = arg->size;
        status = check_value(kernel, index, arg, param);
    } else if (arg->kind == ACCEL_KERNEL_ARG_KIND_LOCAL)
        status = check_local(kernel, index, arg, so_far);
    else if (arg->kind != ACCEL_KERNEL_ARG_KIND_POINTER)
        status = fail_argument(kernel, index, "its kind is none of accel_kernel_arg_kind");
    if (status != ACCEL_OK)
        return status;
    /* The two enums number their kinds alike. */
    if (param != NULL && (int)param->kind != (int)arg->kind)
        return fail_argument(kernel, index,
                             param->kind == ACCEL_PARAM_KIND_VALUE     ? "a value is wanted"
                             : param->kind == ACCEL_PARAM_KIND_POINTER ? "a pointer is wanted"
                                                                       : "local memory is wanted");
    if (bytes > ACCEL_KERNEL_ARGS_SIZE_MAX - so_far->bytes)
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, kernel->backend->table.name, function,
                           "the arguments of '%s' have more than %d bytes in all",
                           kernel->facts.name, ACCEL_KERNEL_ARGS_SIZE_MAX);
    so_far->bytes += bytes;
    return ACCEL_OK;
}

static accel_status check_arguments(const accel_kernel *kernel, const accel_kernel_arg *args,
                                    uint32_t arg_count)
{
    taken so_far = {0};
    if (args == NULL && arg_count != 0)
        return accel__fail_null(function, "args");
    if (kernel->facts.has_signature && kernel->facts.param_count != arg_count)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, kernel->backend->table.name, function,
                           "'%s' takes %u arguments, %u were given", kernel->facts.name,
                           kernel->facts.param_count, arg_count);
    for (uint32_t i = 0; i < arg_count; i++) {
        const accel_status status = check_argument(kernel, i, &args[i], &so_far);
        if (status != ACCEL_OK)
            return status;
    }
    return ACCEL_OK;
}

static accel_status check_block(const accel_kernel *kernel, const uint32_t block[3])
{
    const accel_device_capability *limits = &kernel->device->capability;
    const uint32_t *required = kernel->facts.required_block;
    uint64_t items = 1;
    for (int d = 0; d < 3; d++) {
        if (block[d] == 0)
            return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, kernel->backend->table.name, function,
                               "'%s': block dimension %d is 0", kernel->facts.name, d);
        if (block[d] > limits->max_block[d])
            return fail_shape(kernel, "a block dimension", block[d], limits->max_block[d]);
        if (required[0] != 0 && block[d] != required[d])
            return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, kernel->backend->table.name, function,
                               "'%s' requires blocks of %u x %u x %u", kernel->facts.name,
                               required[0], required[1], required[2]);
        items *= block[d]; /* no overflow: the first two are at most 2^32, and checked below */
        if (items > limits->max_block_items)
            return fail_shape(kernel, "the number of work-items in a block", items,
                              limits->max_block_items);
    }
    return ACCEL_OK;
}

/* *out_empty: nothing runs. */
static accel_status check_grid(const accel_kernel *kernel, const uint64_t grid[3], bool *out_empty)
{
    const accel_device_capability *limits = &kernel->device->capability;
    *out_empty = grid[0] == 0 || grid[1] == 0 || grid[2] == 0;
    if (*out_empty)
        return ACCEL_OK;
    for (int d = 0; d < 3; d++)
        if (grid[d] > limits->max_grid[d])
            return fail_shape(kernel, "a grid dimension", grid[d], limits->max_grid[d]);
    uint64_t blocks;
    if (__builtin_mul_overflow(grid[0], grid[1], &blocks) ||
        __builtin_mul_overflow(blocks, grid[2], &blocks) || blocks > limits->max_grid_blocks)
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, kernel->backend->table.name, function,
                           "'%s': the grid has more blocks than the device's limit, %llu",
                           kernel->facts.name, (unsigned long long)limits->max_grid_blocks);
    return ACCEL_OK;
}

static accel_status resolve_stream(const accel_kernel *kernel, accel_stream **stream)
{
    if (*stream == NULL)
        *stream = accel__current_stream(kernel->device);
    const accel_status status = accel__stream_check(*stream, function);
    if (status != ACCEL_OK || (*stream)->device == kernel->device)
        return status;
    return accel__fail(ACCEL_ERROR_MISMATCH, kernel->backend->table.name, function,
                       "'%s' was built for device %d of '%s', the stream is of device %d of '%s'",
                       kernel->facts.name, kernel->device->id.index, kernel->backend->table.name,
                       (*stream)->device->id.index, (*stream)->backend->table.name);
}

/* ---- the usual launch ---- */

/* The checks above in as few instructions as they take where nothing is wrong: a launch has a budget.
 * What one of these refuses is looked at again, and described, the slow way. */

static inline bool is_plain_block(const accel_kernel *kernel, const uint32_t block[3])
{
    const accel_device_capability *limits = &kernel->device->capability;
    return block[0] - 1 < limits->max_block[0] && block[1] - 1 < limits->max_block[1] &&
           block[2] - 1 < limits->max_block[2] && kernel->facts.required_block[0] == 0 &&
           (uint64_t)block[0] * block[1] <= limits->max_block_items &&
           (uint64_t)block[0] * block[1] * block[2] <= limits->max_block_items;
}

static inline bool is_plain_grid(const accel_kernel *kernel, const uint64_t grid[3])
{
    const accel_device_capability *limits = &kernel->device->capability;
    uint64_t blocks;
    return grid[0] - 1 < limits->max_grid[0] && grid[1] - 1 < limits->max_grid[1] &&
           grid[2] - 1 < limits->max_grid[2] &&
           !__builtin_mul_overflow(grid[0], grid[1], &blocks) &&
           !__builtin_mul_overflow(blocks, grid[2], &blocks) && blocks <= limits->max_grid_blocks;
}

/* Values and pointers that are few enough to fit in any case. */
static inline bool are_plain_arguments(const accel_kernel *kernel, const accel_kernel_arg *args,
                                       uint32_t arg_count)
{
    const accel_param *params = kernel->facts.params;
    size_t bytes = 0;
    if (!kernel->facts.has_signature || kernel->facts.param_count != arg_count ||
        (args == NULL && arg_count != 0))
        return false;
    for (uint32_t i = 0; i < arg_count; i++) {
        const bool is_pointer = args[i].kind == ACCEL_KERNEL_ARG_KIND_POINTER;
        if ((int)args[i].kind != (int)params[i].kind ||
            !(is_pointer || (args[i].kind == ACCEL_KERNEL_ARG_KIND_VALUE && args[i].data != NULL &&
                             args[i].size == params[i].size)))
            return false;
        bytes += params[i].size | sizeof(void *);
    }
    return bytes <= ACCEL_KERNEL_ARGS_SIZE_MAX;
}

static accel_status check_kernel(const accel_kernel *kernel, const accel_launch_shape *shape)
{
    if (!accel__handle_is_live(kernel, ACCEL__HANDLE_KERNEL))
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "the kernel is NULL or its module was released");
    if (shape != NULL)
        return ACCEL_OK;
    accel__fail_null(function, "shape");
    return ACCEL_ERROR_INVALID_ARGUMENT; /* said here, too, for the analyzer */
}

static accel_status check_launch(const accel_kernel *kernel, const accel_launch_shape *shape,
                                 const accel_kernel_arg *args, uint32_t arg_count, bool *out_empty)
{
    accel_status status = check_block(kernel, shape->block);
    if (status == ACCEL_OK)
        status = check_grid(kernel, shape->grid, out_empty);
    return status == ACCEL_OK ? check_arguments(kernel, args, arg_count) : status;
}

accel_status accel__launch_check(const accel_kernel *kernel, const accel_launch_shape *shape,
                                 const accel_kernel_arg *args, uint32_t arg_count, bool *out_empty)
{
    const accel_status status = check_kernel(kernel, shape);
    return status == ACCEL_OK ? check_launch(kernel, shape, args, arg_count, out_empty) : status;
}

accel_status accel__launch_queue(accel_kernel *kernel, accel_stream *stream,
                                 accel_native_stream *native, accel__capture *capture,
                                 const accel_launch_shape *shape, const accel_kernel_arg *args,
                                 uint32_t arg_count)
{
    return capture != NULL ? capture->ops->launch(capture, stream, kernel, shape, args, arg_count)
                           : kernel->backend->table.kernel.launch(native, kernel->facts.function,
                                                                  shape, args, arg_count);
}

__attribute__((noinline, cold)) static accel_status launch_slow(accel_kernel *kernel,
                                                                accel_stream *stream,
                                                                const accel_launch_shape *shape,
                                                                const accel_kernel_arg *args,
                                                                uint32_t arg_count)
{
    accel_native_stream *native = NULL;
    accel__capture *capture = NULL;
    bool empty = false;
    accel_status status = check_kernel(kernel, shape);
    if (status == ACCEL_OK)
        status = resolve_stream(kernel, &stream);
    if (status == ACCEL_OK)
        status = check_launch(kernel, shape, args, arg_count, &empty);
    if (status != ACCEL_OK)
        return status;
    status = accel__stream_use(stream, function, &native, &capture);
    if (status == ACCEL_OK && !empty)
        status = accel__launch_queue(kernel, stream, native, capture, shape, args, arg_count);
    accel__capture_release(capture);
    return status;
}

accel_status accel_kernel_launch(accel_kernel *kernel, accel_stream *stream,
                                 const accel_launch_shape *shape, const accel_kernel_arg *args,
                                 uint32_t arg_count)
{
    accel_native_stream *native = NULL;
    if (accel__handle_is_live(kernel, ACCEL__HANDLE_KERNEL) &&
        accel__handle_is_live(stream, ACCEL__HANDLE_STREAM) && shape != NULL &&
        stream->device == kernel->device && is_plain_block(kernel, shape->block) &&
        is_plain_grid(kernel, shape->grid) && are_plain_arguments(kernel, args, arg_count) &&
        accel__stream_is_ready(stream, &native))
        return kernel->backend->table.kernel.launch(native, kernel->facts.function, shape, args,
                                                    arg_count);
    return launch_slow(kernel, stream, shape, args, arg_count);
}
