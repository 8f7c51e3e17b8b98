/* event.h: the core's event object. */
#ifndef ACCEL_CORE_EVENT_H
#define ACCEL_CORE_EVENT_H

#include <accel/event.h>

#include "core/device.h"

struct accel_event {
    accel__handle handle;
    _Atomic(uint32_t) references;
    bool timing;
    accel__backend *backend;
    accel__mutex mutex; /* guards the first record; a leaf but for the driver's create */
    _Atomic(accel__device *) device; /* NULL until bound */
    _Atomic(accel_native_event *) native;
    /* `device` and `native` where it is recorded, for calls without further looks: NULL before that, and
     * while `capture` is set. `asked` is NULL, too, where the backend does not survive a fork. */
    _Atomic(accel__device *) recorded_on;
    _Atomic(accel_native_event *) asked;
    _Atomic(struct accel__capture *) capture; /* capture.c: where it was recorded last */
    bool was_recorded;                        /* before `capture` was set */
    _Atomic(size_t) mark; /* the graph layer's: which one of the capture it is, where it is one */
};

static inline bool accel__event_is_recorded(const accel_event *event)
{
    return atomic_load_explicit(&event->recorded_on, memory_order_acquire) != NULL;
}

/* With the mutex of capture.c held. */
static inline void accel__event_set_recorded(accel_event *event, bool is_recorded)
{
    const bool is_asked = is_recorded && accel__backend_survives_fork(event->backend);
    atomic_store_explicit(&event->asked, is_asked ? atomic_load(&event->native) : NULL,
                          memory_order_release);
    atomic_store_explicit(&event->recorded_on, is_recorded ? atomic_load(&event->device) : NULL,
                          memory_order_release);
}

/* accel_stream_wait_event under another name for messages. */
accel_status accel__stream_wait(accel_stream *stream, accel_event *event, const char *function);

/* Records it, and has a stream wait for it, on a ready stream, whatever is captured on that. An event that was
 * recorded in a capture is not waited for: CAPTURE, and the capture is invalid. */
accel_status accel__event_queue_record(accel_event *event, accel_stream *stream,
                                       accel_native_stream *native);
accel_status accel__event_queue_wait(accel_event *event, accel_stream *stream,
                                     accel_native_stream *native, const char *function);

/* Has the ready stream wait for what is queued on `other`, of the same device, now. One that failed is over,
 * and not waited for. */
accel_status accel__stream_queue_behind(accel_stream *stream, accel_native_stream *native,
                                        accel_stream *other);

/* CAPTURE where the event was recorded last in a capture that is open: the event does not pass, and the
 * capture is invalid. */
accel_status accel__event_refuse_captured(accel_event *event, const char *function);

#endif
