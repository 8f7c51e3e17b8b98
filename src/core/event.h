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
    _Atomic(bool) recorded;                   /* false, too, while `capture` is set */
    _Atomic(struct accel__capture *) capture; /* capture.c: where it was recorded last */
    bool recorded_before;                     /* `recorded`, before `capture` was set */
};

/* accel_stream_wait_event under another name for messages. */
accel_status accel__stream_wait(accel_stream *stream, accel_event *event, const char *function);

#endif
