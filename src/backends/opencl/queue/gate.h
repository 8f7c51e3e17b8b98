/* gate.h: a place in a stream that the host opens: work behind it waits until a worker of ours has done
 * something. Host callbacks, copies and fills of plain host memory, and waits for another driver's events
 * are such gates. */
#ifndef ACCEL_OPENCL_GATE_H
#define ACCEL_OPENCL_GATE_H

#include "backends/opencl/queue/stream.h"
#include "backends/opencl/queue/worker.h"

typedef struct accel__opencl_gate accel__opencl_gate;

/* What a worker does when the gate's turn has come. `code` is CL_COMPLETE, or the failure of what came
 * before. `data` is the gate's own copy. */
typedef void (*accel__opencl_gate_work)(cl_int code, void *data);

/* Makes a gate for the stream; `work` (may be NULL) gets a copy of `size` bytes at `data`. */
accel_status accel__opencl_gate_create(accel__opencl_stream *stream, accel__opencl_gate_work work,
                                       const void *data, size_t size,
                                       accel__opencl_gate **out_gate);

/* Puts the gate into the stream, and lets it open after `event` of `api` (of whatever driver), or, with
 * NULL and NULL, after all that was queued on the stream before. Takes the gate over, also on failure. */
accel_status accel__opencl_gate_close(accel__opencl_gate *gate, accel__opencl_stream *stream,
                                      const accel__opencl_api *api, cl_event event);

/* The two together: queues host work on the stream. */
accel_status accel__opencl_gate_queue(accel__opencl_stream *stream, accel__opencl_gate_work work,
                                      const void *data, size_t size);

/* The callbacks group. */
accel_status accel__opencl_callback_add(accel_native_stream *stream,
                                        void (*call)(accel_status status, void *user), void *user);

#endif
