/* stream.h: what the core holds of a stream: a queue, which a forked child replaces. */
#ifndef ACCEL_BACKENDS_CPU_STREAM_H
#define ACCEL_BACKENDS_CPU_STREAM_H

#include "backends/cpu/queue.h"
#include "platform/generation.h"

struct accel_native_stream {
    accel_native_device *device; /* counted by the queue */
    int32_t priority;
    _Atomic(accel__cpu_queue *) queue; /* counted */
};

accel_status accel__cpu_stream_renew(accel_native_stream *stream, const char *function,
                                     accel__cpu_queue **out_queue);

/* The queue to put work into: of this process. */
static inline accel_status accel__cpu_stream_queue(accel_native_stream *stream,
                                                   const char *function,
                                                   accel__cpu_queue **out_queue)
{
    *out_queue = atomic_load_explicit(&stream->queue, memory_order_acquire);
    return (*out_queue)->generation == accel__generation()
               ? ACCEL_OK
               : accel__cpu_stream_renew(stream, function, out_queue);
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
