/* launch.c: kernels into a queue and out of it. */
#include <string.h>

#include "backends/cpu/queue/stream.h"
#include "backends/cpu/workers/execute.h"
#include "backends/cpu/workers/job.h"
#include "backends/cpu/workers/pool.h"
#include "base/allocate.h"
#include "base/error.h"

enum { MEASURED_NS = 1000 }; /* launches that take longer are measured each time */

static const char caller[] = "accel_kernel_launch";

static inline void pack_value(unsigned char *place, const void *data, size_t size)
{
    switch (size) { /* most values are of these sizes: no call for them */
    case 4:
        memcpy(place, data, 4);
        break;
    case 8:
        memcpy(place, data, 8);
        break;
    default:
        memcpy(place, data, size);
        break;
    }
}

static inline void pack(const accel__cpu_native_function *function, const accel_kernel_arg *args,
                        uint32_t arg_count, unsigned char *target)
{
    for (uint32_t i = 0; i < arg_count; i++) {
        unsigned char *place = target + function->offsets[i];
        if (args[i].kind == ACCEL_KERNEL_ARG_KIND_POINTER)
            memcpy(place, &args[i].data, sizeof args[i].data);
        else if (args[i].kind == ACCEL_KERNEL_ARG_KIND_LOCAL)
            memcpy(place, &args[i].size, sizeof args[i].size);
        else
            pack_value(place, args[i].data, args[i].size);
    }
}

static inline void describe(accel__cpu_slot *slot, accel__cpu_native_function *kernel,
                            const accel_launch_shape *shape, bool has_block)
{
    slot->op = ACCEL__CPU_OP_LAUNCH;
    slot->has_block = has_block;
    slot->launch.function = kernel;
    memcpy(slot->launch.grid, shape->grid, sizeof slot->launch.grid);
    memcpy(slot->launch.block, shape->block, sizeof slot->launch.block);
}

/* With more arguments than a slot holds. */
__attribute__((noinline)) static accel_status launch_large(accel_native_stream *stream,
                                                           accel__cpu_native_function *kernel,
                                                           const accel_launch_shape *shape,
                                                           const accel_kernel_arg *args,
                                                           uint32_t arg_count)
{
    accel__cpu_queue *queue = NULL;
    uint64_t ticket = 0;
    void *block = accel__allocate_aligned(kernel->packed_size, 64);
    if (block == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "cpu", caller,
                           "no memory for the arguments of the launch");
    const accel_status status = accel__cpu_stream_reserve(stream, caller, &queue, &ticket);
    if (status != ACCEL_OK) {
        accel__deallocate(block);
        return status;
    }
    accel__cpu_slot *slot = accel__cpu_queue_slot(queue, ticket >> 1);
    describe(slot, kernel, shape, true);
    pack(kernel, args, arg_count, block);
    slot->block = block;
    accel__cpu_queue_publish(queue, ticket);
    return ACCEL_OK;
}

accel_status accel__cpu_launch(accel_native_stream *stream, accel_native_function *native,
                               const accel_launch_shape *shape, const accel_kernel_arg *args,
                               uint32_t arg_count)
{
    accel__cpu_native_function *kernel = (accel__cpu_native_function *)native;
    accel__cpu_queue *queue = NULL;
    uint64_t ticket = 0;
    if (kernel->packed_size > ACCEL__CPU_INLINE_ARGUMENTS)
        return launch_large(stream, kernel, shape, args, arg_count);
    const accel_status status = accel__cpu_stream_reserve(stream, caller, &queue, &ticket);
    if (status != ACCEL_OK)
        return status;
    accel__cpu_slot *slot = accel__cpu_queue_slot(queue, ticket >> 1);
    describe(slot, kernel, shape, false);
    pack(kernel, args, arg_count, slot->arguments);
    accel__cpu_queue_publish(queue, ticket);
    return ACCEL_OK;
}

void accel__cpu_launch_release(accel__cpu_slot *slot)
{
    if (slot->has_block != 0)
        accel__deallocate(slot->block);
}

void accel__cpu_launch_pack(const accel__cpu_native_function *function,
                            const accel_kernel_arg *args, uint32_t arg_count, unsigned char *target)
{
    pack(function, args, arg_count, target);
}

void accel__cpu_launch_run(accel__cpu_executor *executor, accel__cpu_queue *queue,
                           const accel__cpu_launch_op *op, const unsigned char *arguments,
                           uint64_t position, bool is_measured)
{
    accel__cpu_job job = {
        .op = op,
        .arguments = arguments,
        .block_count = op->grid[0] * op->grid[1] * op->grid[2],
        .thread_count = accel__cpu_thread_count(),
        .is_measured = is_measured,
    };
    const bool ran = accel__cpu_job_run(executor, queue, &job);
    const char *error = atomic_load_explicit(&job.error, memory_order_relaxed);
    if (!ran)
        accel__cpu_queue_fail(queue, position, ACCEL_ERROR_OUT_OF_HOST_MEMORY,
                              "no memory for the local memory and scratch of a kernel");
    else if (error != NULL)
        accel__cpu_queue_fail(queue, position, ACCEL_ERROR_DEVICE_FAILED, error);
}

void accel__cpu_launch_execute(accel__cpu_executor *executor, accel__cpu_queue *queue,
                               accel__cpu_slot *slot, uint64_t position, uint64_t expected)
{
    accel__cpu_launch_run(executor, queue, &slot->launch,
                          slot->has_block != 0 ? slot->block : slot->arguments, position,
                          position % 16 == 0 || expected > accel__cpu_ticks_of_ns(MEASURED_NS));
    accel__cpu_launch_release(slot);
}
