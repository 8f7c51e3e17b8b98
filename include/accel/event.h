/* SPDX-License-Identifier: MIT
 * event.h: marks in streams, to wait for and to measure time with.
 *
 * An event is bound to a backend at its creation and to a device at its first record (or at its
 * creation, where the device has an index). Recording again replaces the mark: who waited for the old
 * one still waits for the old one. Events are locked inside: any thread may call any of these functions.
 *
 * An event that was recorded last in an open capture (graph.h) stands for a place in the graph: asking or
 * waiting for it fails with ACCEL_ERROR_CAPTURE.
 */
#ifndef ACCEL_EVENT_H
#define ACCEL_EVENT_H

#include <accel/stream.h>

ACCEL_BEGIN_DECLS

typedef struct accel_event_options {
    uint32_t struct_size;
    bool enable_timing; /* false by default */
} accel_event_options;

/* accel_event_create (question): touches no driver: the native event is made at the first record.
 * Errors: INVALID_ARGUMENT, those of the device, OUT_OF_HOST_MEMORY; UNSUPPORTED for timing
 * where the backend or, if `device` has an index, the device has none. Without an index it is the first
 * record that finds out. */
ACCEL_API accel_status accel_event_create(accel_device device, const accel_event_options *options,
                                          accel_event **out_event);

/* Counted references; NULL is a no-op; safe while the mark is pending or waited for. */
ACCEL_API void accel_event_retain(accel_event *event);
ACCEL_API void accel_event_release(accel_event *event);

/* accel_event_record (use): puts the mark behind all that is queued on `stream` now (NULL: the current
 * stream of the event's device). Errors: INVALID_ARGUMENT; MISMATCH (a stream of another backend or, once
 * bound, of another device); UNSUPPORTED (timing, which the device has not); CAPTURE; OUT_OF_HOST_MEMORY;
 * those of a start; the stream's failure. The event keeps its old mark then. */
ACCEL_API accel_status accel_event_record(accel_event *event, accel_stream *stream);

/* accel_event_query (question): whether the mark has passed. Never blocks; true for an event that was never
 * recorded. Errors: CAPTURE; FORKED for a mark that was pending when the process forked; CANNOT_TELL where
 * the driver could not be asked (ask again); the failure of the stream it was recorded on. */
ACCEL_API accel_status accel_event_query(accel_event *event, bool *out_done);

/* accel_event_synchronize (question): waits until the mark has passed; OK at once for an event that
 * was never recorded. Errors: IN_CALLBACK, and as accel_event_query. */
ACCEL_API accel_status accel_event_synchronize(accel_event *event);

/* accel_event_elapsed_time (question): milliseconds from `start` to `end`, as measured by the device
 * (negative where end passed first; 0 for the same event). Errors, in this order: same device type
 * (MISMATCH), both with timing (INVALID_ARGUMENT), both recorded (INVALID_STATE), same device
 * (MISMATCH), both passed (NOT_READY: synchronize `end` first). Nothing sticks. */
ACCEL_API accel_status accel_event_elapsed_time(accel_event *start, accel_event *end,
                                                double *out_milliseconds);

/* accel_event_get_device (question): the device has no index until the event is bound. Errors:
 * INVALID_ARGUMENT. */
ACCEL_API accel_status accel_event_get_device(const accel_event *event, accel_device *out_device);

/* accel_event_get_native_handle (use): the backend's own event, lent until the next record.
 * Errors: INVALID_ARGUMENT; UNSUPPORTED where the backend has none; INVALID_STATE before the first record;
 * FORKED. */
ACCEL_API accel_status accel_event_get_native_handle(accel_event *event, void **out_handle);

ACCEL_END_DECLS

#endif /* ACCEL_EVENT_H */
