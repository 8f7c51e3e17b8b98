/* SPDX-License-Identifier: MIT
 * stream.h: queues of work on a device.
 *
 * A stream is a FIFO: what is queued on it runs in that order. Streams run side by side and know
 * nothing of each other unless an event joins them. The default stream of a device is an ordinary
 * stream, shared by all threads. Queueing from several threads is safe: the order is the order in
 * which the calls return. Wherever work is queued or waited for, NULL means the calling thread's current
 * stream of the device concerned (where no other argument names a device: of the current device); not for
 * accel_set_stream, scopes, and the questions about a stream itself.
 *
 * A failure of work on a stream sticks to it: each later query, wait and enqueue reports it; work
 * queued after the failed piece does not run. A stream that has failed stays failed.
 *
 * While a stream is captured (graph.h) its work is kept for the graph; what cannot be kept is refused with
 * ACCEL_ERROR_CAPTURE, by any function here that queues, waits or asks whether work has passed. Any thread
 * may call any of these functions.
 */
#ifndef ACCEL_STREAM_H
#define ACCEL_STREAM_H

#include <accel/device.h>

ACCEL_BEGIN_DECLS

typedef struct accel_stream accel_stream; /* counted; locked inside: any thread */
typedef struct accel_event accel_event;   /* see event.h */

typedef struct accel_stream_options {
    uint32_t struct_size;
    int32_t priority; /* negative is higher; clamped to the device's range; 0 is the default */
} accel_stream_options;

/* accel_stream_create (use): a new stream. Each one is a queue of its own: streams are not pooled.
 * `options` may be NULL. Errors: INVALID_ARGUMENT, OUT_OF_HOST_MEMORY, those of a start. */
ACCEL_API accel_status accel_stream_create(accel_device device, const accel_stream_options *options,
                                           accel_stream **out_stream);

/* Counted references; NULL is a no-op. Releasing the last one with work pending is safe: the work
 * is finished first, without blocking the caller. The default stream is lent and never goes away;
 * retaining and releasing it is harmless. In a forked child release is quiet. */
ACCEL_API void accel_stream_retain(accel_stream *stream);
ACCEL_API void accel_stream_release(accel_stream *stream);

/* accel_stream_default (question): lends the device's default stream. Starts nothing. Errors:
 * INVALID_ARGUMENT, those of the device, OUT_OF_HOST_MEMORY. */
ACCEL_API accel_status accel_stream_default(accel_device device, accel_stream **out_stream);

/* accel_current_stream (question): lends the calling thread's current stream of `device`: what the
 * thread set, else the default stream. Lent until the thread sets another. Starts nothing.
 * Errors: INVALID_ARGUMENT, those of the device, OUT_OF_HOST_MEMORY. */
ACCEL_API accel_status accel_current_stream(accel_device device, accel_stream **out_stream);

/* accel_set_stream (question): makes `stream` the thread's current stream of its device, that device
 * the current one and its backend the current accelerator. The thread keeps the stream alive.
 * Errors: INVALID_ARGUMENT for NULL, OUT_OF_HOST_MEMORY; nothing has changed then. */
ACCEL_API accel_status accel_set_stream(accel_stream *stream);

/* A scope for C: torch's `with stream:`. At its end the previous device, that device's previous
 * stream, and the previous stream of the scope's own device are current again, also where the body
 * set others. NULL does nothing. Scopes nest (the same stream too); end them in reverse order, on the same
 * thread. Its members are accel's. */
typedef struct accel_stream_scope {
    accel_device_scope device;            /* what was current before */
    accel_device stream_device;           /* the device of the scope's stream */
    int32_t stream_device_previous_index; /* current index of its backend before */
    accel_stream *previous;               /* what was set as its current stream before; counted */
    accel_stream *previous_outer; /* the same for the device that was current before; counted */
    bool active;
} accel_stream_scope;

/* accel_stream_scope_begin (question). Errors: INVALID_ARGUMENT (a released stream, NULL for the scope),
 * OUT_OF_HOST_MEMORY, UNAVAILABLE and CANNOT_TELL (no current device to come back to); the scope is inactive
 * then, and ending it does nothing. */
ACCEL_API accel_status accel_stream_scope_begin(accel_stream *stream,
                                                accel_stream_scope *out_scope);
ACCEL_API void accel_stream_scope_end(accel_stream_scope *scope);

/* Questions about a stream. `accel_stream_id`: unique in the process; 0 for a default stream; two
 * streams are the same exactly when device and id are. `priority`: the effective one. Errors:
 * INVALID_ARGUMENT. Any thread; fork: harmless. */
ACCEL_API accel_status accel_stream_get_device(const accel_stream *stream,
                                               accel_device *out_device);
ACCEL_API accel_status accel_stream_get_id(const accel_stream *stream, uint64_t *out_id);
ACCEL_API accel_status accel_stream_get_priority(const accel_stream *stream, int32_t *out_priority);

/* accel_stream_query (question): whether all that was queued has passed. Never blocks; true for a stream that
 * was never used. Errors: CAPTURE, FORKED, CANNOT_TELL (the driver could not be asked: ask again), and the
 * failure that sticks to the stream. */
ACCEL_API accel_status accel_stream_query(accel_stream *stream, bool *out_done);

/* accel_stream_synchronize (question): waits until all that was queued before the call has passed. Errors:
 * IN_CALLBACK, CAPTURE, FORKED, CANNOT_TELL (the driver could not be asked: wait again), and the failure that
 * sticks to the stream. */
ACCEL_API accel_status accel_stream_synchronize(accel_stream *stream);

/* accel_stream_wait_event (use): work queued on `stream` from now on starts after the event's record
 * as it is at this call. An event that was never recorded: a no-op. Never blocks the caller. The
 * event may be of another device. One of another backend is waited for by the call itself, on the
 * host: then, and only then, the caller blocks.
 * Errors: INVALID_ARGUMENT, IN_CALLBACK, CAPTURE, those of a start, the stream's failure. */
ACCEL_API accel_status accel_stream_wait_event(accel_stream *stream, accel_event *event);

/* accel_stream_wait_stream (use): work queued on `stream` from now on starts after what is queued on
 * `other` now; nothing where they are the same. Blocks the caller only between backends, as above. Errors as
 * above, and OUT_OF_HOST_MEMORY. */
ACCEL_API accel_status accel_stream_wait_stream(accel_stream *stream, accel_stream *other);

/* Called on some thread once the work before it has passed. It must not queue or wait for work: such
 * calls return ACCEL_ERROR_IN_CALLBACK. `status` is ACCEL_OK, or the stream's failure: the callback
 * is called in any case, exactly once, except in a forked child, where it is dropped. */
typedef void (*accel_stream_callback)(accel_stream *stream, accel_status status, void *user);

/* accel_stream_add_callback (use): queues a call of `callback`. Where capability.ordered_callbacks
 * is true, work queued later starts after it has returned; elsewhere it may start before.
 * accel_stream_synchronize waits for callbacks in both cases. Errors: INVALID_ARGUMENT, IN_CALLBACK, CAPTURE,
 * OUT_OF_HOST_MEMORY, those of a start, the stream's failure; it is never called then. */
ACCEL_API accel_status accel_stream_add_callback(accel_stream *stream,
                                                 accel_stream_callback callback, void *user);

/* accel_stream_get_native_handle (use): the backend's own stream object (CUstream,
 * cl_command_queue), lent. Errors: INVALID_ARGUMENT, UNSUPPORTED where the backend has none, CAPTURE, those
 * of a start. */
ACCEL_API accel_status accel_stream_get_native_handle(accel_stream *stream, void **out_handle);

ACCEL_END_DECLS

#endif /* ACCEL_STREAM_H */
