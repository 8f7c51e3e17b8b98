/* stream.h: the native stream of this backend: an in-order command queue. */
#ifndef ACCEL_OPENCL_STREAM_H
#define ACCEL_OPENCL_STREAM_H

#include "backends/opencl/device.h"
#include "platform/mutex.h"

/* The core's accel_native_stream. `last` stands for all that was queued: commands of an in-order queue
 * end in order, and a failure is handed on to what stands behind it. */
typedef struct accel__opencl_stream {
    accel__opencl_device *device;
    cl_command_queue queue;
    accel__mutex
        mutex;     /* guards the order of the queue: enqueueing and `last` are one step. A leaf. */
    cl_event last; /* of the command queued last; NULL: none was */
    _Atomic(cl_int) failure; /* the code that sticks to the stream; CL_SUCCESS: none */
} accel__opencl_stream;

/* The two ends of each enqueueing. `begin` locks the stream; where a failure sticks to it, that is
 * recorded and returned, and nothing is locked. Between the two the caller makes one or more enqueueing
 * calls, and asks the last of them for its event.
 *
 *     accel_status status = accel__opencl_begin(stream);
 *     if (status != ACCEL_OK)
 *         return status;
 *     cl_event event = NULL;
 *     cl_int code = api->clEnqueue…(stream->queue, …, 0, NULL, &event);
 *     return accel__opencl_enqueued(stream, code, event, "clEnqueue…");
 *
 * `enqueued` takes the event over, unlocks, flushes so that the work starts, and records a failing
 * code, which does not stick: nothing was queued then. */
accel_status accel__opencl_begin(accel__opencl_stream *stream);
accel_status accel__opencl_enqueued(accel__opencl_stream *stream, cl_int code, cl_event event,
                                    const char *call);

accel_status accel__opencl_stream_create(accel_native_device *device, int32_t priority,
                                         accel_native_stream **out_stream);
void accel__opencl_stream_destroy(accel_native_stream *stream);
accel_status accel__opencl_stream_query(accel_native_stream *stream, bool *out_done);
accel_status accel__opencl_stream_synchronize(accel_native_stream *stream);
accel_status accel__opencl_stream_handle(accel_native_stream *stream, void **out_handle);

#endif
