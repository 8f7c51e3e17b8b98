/* stream.h: what the core holds of a stream: a queue, which a forked child replaces. */
#ifndef ACCEL_BACKENDS_CPU_QUEUE_STREAM_H
#define ACCEL_BACKENDS_CPU_QUEUE_STREAM_H

#include "backends/cpu/queue/queue.h"

struct accel_native_stream {
    accel_native_device *device; /* counted by the queue */
    int32_t priority;
    _Atomic(accel__cpu_queue *) queue; /* counted */
};

/* The queue to put work into, of this process: a child makes itself a new one. */
accel_status accel__cpu_stream_queue(accel_native_stream *stream, const char *function,
                                     accel__cpu_queue **out_queue);

__attribute__((cold)) accel_status accel__cpu_stream_reserve_slow(accel_native_stream *stream,
                                                                  const char *function,
                                                                  accel__cpu_queue **out_queue,
                                                                  uint64_t *out_ticket);

/* Takes a place in the stream's queue: see accel__cpu_queue_reserve. */
static inline accel_status accel__cpu_stream_reserve(accel_native_stream *stream,
                                                     const char *function,
                                                     accel__cpu_queue **out_queue,
                                                     uint64_t *out_ticket)
{
    accel__cpu_queue *queue = atomic_load_explicit(&stream->queue, memory_order_acquire);
    uint64_t ticket;
    if (__builtin_expect(!accel__cpu_queue_try_reserve(queue, &ticket), 0)) {
        accel__cpu_queue *slow_queue; /* of their own, so that the others stay in registers */
        uint64_t slow_ticket;
        const accel_status status = accel__cpu_stream_reserve_slow(stream, function, &slow_queue,
                                                                   &slow_ticket);
        if (status != ACCEL_OK)
            return status;
        queue = slow_queue;
        ticket = slow_ticket;
    }
    *out_queue = queue;
    *out_ticket = ticket;
    return ACCEL_OK;
}

accel_status accel__cpu_stream_create(accel_native_device *device, int32_t priority,
                                      accel_native_stream **out_stream);
void accel__cpu_stream_destroy(accel_native_stream *stream);
accel_status accel__cpu_stream_query(accel_native_stream *stream, bool *out_done);
accel_status accel__cpu_stream_synchronize(accel_native_stream *stream);
accel_status accel__cpu_stream_add_callback(accel_native_stream *stream,
                                            void (*call)(accel_status status, void *user),
                                            void *user);
accel_status accel__cpu_stream_handle(accel_native_stream *stream, void **out_handle);

/* launch.c */
accel_status accel__cpu_launch(accel_native_stream *stream, accel_native_function *function,
                               const accel_launch_shape *shape, const accel_kernel_arg *args,
                               uint32_t arg_count);

#endif
