/* event.c: events. The native event is made at the first record, which binds the event to a device;
 * after that `native` and `device` never change, so that record, query and wait read them without a
 * lock. What a record replaces is the backend's business. */
#include "core/event.h"

#include "base/allocate.h"
#include "base/error.h"
#include "base/lent.h"
#include "core/capture.h"
#include "core/current.h"

static accel_status check(const accel_event *event, const char *function)
{
    if (accel__handle_is_live(event, ACCEL__HANDLE_EVENT))
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                       event == NULL ? "the event is NULL" : "the event was released");
}

/* As check; and not made by the parent of a forked child, on a backend that does not survive that. */
static accel_status check_usable(const accel_event *event, const char *function)
{
    const accel_status status = check(event, function);
    if (status == ACCEL_OK && accel__backend_is_forked(event->backend))
        return accel__fail_forked(event->backend, function);
    return status;
}

/* ---- creation ---- */

static bool device_has_timing(const accel__device *device)
{
    accel_device_capability asked = {.timing = false};
    if (device->native != NULL)
        return device->capability.timing;
    return accel__device_capability(device->backend, device->id.index, &asked) == ACCEL_OK &&
           asked.timing;
}

/* `device` is NULL where the event is not bound yet: the first record finds out then. */
static accel_status check_timing(accel__backend *backend, const accel__device *device)
{
    if (accel__backend_owns(backend, ACCEL__GROUP_TIMING) &&
        (device == NULL || device_has_timing(device)))
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_UNSUPPORTED, backend->table.name, "accel_event_create",
                       "'%s' has no event timing%s", backend->table.name,
                       device != NULL ? " on this device" : "");
}

/* A device with an index binds at once. */
static accel_status resolve(accel_device device, const char *function, accel__backend **out_backend,
                            accel__device **out_device)
{
    accel_status status = accel__backend_resolve(device.backend, function, out_backend);
    if (status == ACCEL_OK && device.index != ACCEL_INDEX_NONE)
        status = accel__device_resolve(device, function, out_device);
    return status;
}

accel_status accel_event_create(accel_device device, const accel_event_options *options,
                                accel_event **out_event)
{
    if (out_event == NULL)
        return accel__fail_null(__func__, "out_event");
    *out_event = NULL;
    accel_event_options known = {0};
    accel__backend *backend = NULL;
    accel__device *bound = NULL;
    accel_status status = accel__options_read(options, &known, sizeof known, __func__);
    if (status == ACCEL_OK)
        status = resolve(device, __func__, &backend, &bound);
    if (status == ACCEL_OK && known.enable_timing)
        status = check_timing(backend, bound);
    if (status != ACCEL_OK)
        return status;
    accel_event *event = accel__allocate(sizeof *event);
    if (event == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, backend->table.name, __func__,
                           "no memory for an event");
    accel__handle_open(&event->handle, ACCEL__HANDLE_EVENT);
    event->references = 1;
    event->backend = backend;
    event->device = bound;
    event->timing = known.enable_timing;
    *out_event = event;
    return ACCEL_OK;
}

void accel_event_retain(accel_event *event)
{
    if (accel__handle_is_live(event, ACCEL__HANDLE_EVENT))
        atomic_fetch_add_explicit(&event->references, 1, memory_order_relaxed);
}

void accel_event_release(accel_event *event)
{
    if (!accel__handle_is_live(event, ACCEL__HANDLE_EVENT) ||
        atomic_fetch_sub(&event->references, 1) != 1)
        return;
    if (event->native != NULL && !accel__backend_is_forked(event->backend))
        event->backend->table.event.destroy(event->native);
    accel__handle_close(&event->handle);
    accel__deallocate(event);
}

/* ---- record ---- */

static accel_status mismatch(const accel_event *event, const accel_stream *stream)
{
    if (event->backend != stream->backend)
        return accel__fail(ACCEL_ERROR_MISMATCH, event->backend->table.name, "accel_event_record",
                           "the event is of '%s', the stream of '%s'", event->backend->table.name,
                           stream->backend->table.name);
    return accel__fail(ACCEL_ERROR_MISMATCH, event->backend->table.name, "accel_event_record",
                       "the event belongs to device %d, the stream to device %d",
                       atomic_load(&event->device)->id.index, stream->device->id.index);
}

static accel_status bind_locked(accel_event *event, accel_stream *stream)
{
    accel__device *device = event->device;
    if (event->native != NULL)
        return ACCEL_OK;
    if (event->backend != stream->backend || (device != NULL && device != stream->device))
        return mismatch(event, stream);
    accel_native_event *native = NULL;
    const accel_status status = event->backend->table.event.create(stream->device->native,
                                                                   event->timing, &native);
    if (status != ACCEL_OK)
        return status;
    event->device = stream->device;
    atomic_store_explicit(&event->native, native, memory_order_release);
    return ACCEL_OK;
}

static accel_status bind(accel_event *event, accel_stream *stream)
{
    accel__mutex_lock(&event->mutex);
    const accel_status status = bind_locked(event, stream);
    accel__mutex_unlock(&event->mutex);
    return status;
}

/* Takes over the caller's count of the capture. */
static accel_status record_captured(accel__capture *capture, accel_event *event,
                                    accel_stream *stream)
{
    const bool is_other = event->backend != stream->backend ||
                          (event->device != NULL && event->device != stream->device);
    const accel_status status = is_other ? mismatch(event, stream)
                                         : capture->ops->record(capture, stream, event);
    accel__capture_release(capture);
    return status;
}

accel_status accel__event_queue_record(accel_event *event, accel_stream *stream,
                                       accel_native_stream *native)
{
    accel_status status = event->native == NULL ? bind(event, stream) : ACCEL_OK;
    if (status == ACCEL_OK && event->device != stream->device)
        status = mismatch(event, stream);
    if (status == ACCEL_OK)
        status = event->backend->table.event.record(event->native, native);
    if (status == ACCEL_OK)
        accel__capture_event_recorded(event);
    return status;
}

/* Any record: the first one, one on the current stream, one that is captured, one that fails. */
__attribute__((noinline, cold)) static accel_status record_slow(accel_event *event,
                                                                accel_stream *stream)
{
    static const char function[] = "accel_event_record";
    accel_native_stream *native = NULL;
    accel__capture *capture = NULL;
    accel_status status = check(event, function);
    if (status == ACCEL_OK && stream == NULL) {
        accel__device *device = event->device;
        const accel_device target = device != NULL
                                        ? device->id
                                        : ACCEL_DEVICE(event->backend->number, ACCEL_INDEX_NONE);
        status = accel_current_stream(target, &stream);
    } else if (status == ACCEL_OK)
        status = accel__stream_check(stream, function);
    if (status == ACCEL_OK && event->native != NULL && event->device != stream->device)
        status = mismatch(event, stream);
    if (status == ACCEL_OK)
        status = accel__stream_use(stream, function, &native, &capture);
    if (status != ACCEL_OK)
        return status;
    return capture != NULL ? record_captured(capture, event, stream)
                           : accel__event_queue_record(event, stream, native);
}

/* An event that was recorded is bound for ever: only the stream needs a look. */
accel_status accel_event_record(accel_event *event, accel_stream *stream)
{
    accel_native_stream *native = NULL;
    if (accel__handle_is_live(event, ACCEL__HANDLE_EVENT) &&
        accel__handle_is_live(stream, ACCEL__HANDLE_STREAM) &&
        atomic_load_explicit(&event->recorded_on, memory_order_acquire) == stream->device &&
        accel__stream_is_ready(stream, &native))
        return event->backend->table.event.record(
            atomic_load_explicit(&event->native, memory_order_relaxed), native);
    return record_slow(event, stream);
}

/* ---- questions and waits ---- */

accel_status accel__event_refuse_captured(accel_event *event, const char *function)
{
    accel__capture *capture = accel__capture_of_event(event);
    if (capture == NULL)
        return ACCEL_OK;
    const accel_status status = capture->ops->refuse(
        capture, function,
        "the event was recorded in the capture, and passes only when the graph is replayed: end "
        "the capture first");
    accel__capture_release(capture);
    return status;
}

__attribute__((noinline, cold)) static accel_status query_slow(accel_event *event, bool *out_done)
{
    static const char function[] = "accel_event_query";
    if (out_done == NULL)
        return accel__fail_null(function, "out_done");
    *out_done = false;
    bool done = true;
    accel_status status = check_usable(event, function);
    if (status == ACCEL_OK)
        status = accel__event_refuse_captured(event, function);
    if (status == ACCEL_OK && accel__event_is_recorded(event))
        status = event->backend->table.event.query(event->native, &done);
    *out_done = status == ACCEL_OK && done;
    return status;
}

/* A backend that survives a fork answers for what it inherited by itself. */
accel_status accel_event_query(accel_event *event, bool *out_done)
{
    if (out_done != NULL && accel__handle_is_live(event, ACCEL__HANDLE_EVENT)) {
        accel_native_event *asked = atomic_load_explicit(&event->asked, memory_order_acquire);
        if (asked != NULL)
            return event->backend->table.event.query(asked, out_done);
    }
    return query_slow(event, out_done);
}

accel_status accel_event_synchronize(accel_event *event)
{
    accel_status status = check_usable(event, __func__);
    if (status == ACCEL_OK)
        status = accel__check_callback(__func__);
    if (status == ACCEL_OK)
        status = accel__event_refuse_captured(event, __func__);
    return status == ACCEL_OK && accel__event_is_recorded(event)
               ? event->backend->table.event.synchronize(event->native)
               : status;
}

/* A stream that captures waits for an event that was recorded outside, or never: then there is nothing to
 * wait for. Takes over the caller's count of the capture. */
static accel_status refuse_outside(accel__capture *capture, const accel_event *event,
                                   const char *function)
{
    const accel_status status =
        !accel__event_is_recorded(event)
            ? ACCEL_OK
            : capture->ops->refuse(capture, function,
                                   "the event was recorded outside of the capture: record it on a "
                                   "stream of the capture, or wait for it before the capture "
                                   "begins");
    accel__capture_release(capture);
    return status;
}

static accel_status queue_wait(accel_stream *stream, accel_native_stream *native,
                               accel_event *event)
{
    if (!accel__event_is_recorded(event))
        return ACCEL_OK;
    if (event->backend != stream->backend) /* the host is the only clock both know */
        return event->backend->table.event.synchronize(event->native);
    return event->backend->table.event.wait(native, event->native);
}

accel_status accel__event_queue_wait(accel_event *event, accel_stream *stream,
                                     accel_native_stream *native, const char *function)
{
    accel_status status = check_usable(event, function);
    if (status == ACCEL_OK)
        status = accel__event_refuse_captured(event, function);
    return status == ACCEL_OK ? queue_wait(stream, native, event) : status;
}

/* The event was recorded in an open capture, or never in one, in which the stream is or is not. */
accel_status accel__stream_wait(accel_stream *stream, accel_event *event, const char *function)
{
    accel_native_stream *native = NULL;
    accel_status status = check_usable(event, function);
    if (status == ACCEL_OK)
        status = accel__check_callback(function);
    if (status != ACCEL_OK)
        return status;
    accel__capture *capture = accel__capture_of_event(event);
    if (capture != NULL) { /* the stream joins it */
        status = capture->ops->wait(capture, stream, event, function);
        accel__capture_release(capture);
        return status;
    }
    status = accel__stream_use(stream, function, &native, &capture);
    if (status != ACCEL_OK)
        return status;
    return capture != NULL ? refuse_outside(capture, event, function)
                           : queue_wait(stream, native, event);
}

accel_status accel__stream_queue_behind(accel_stream *stream, accel_native_stream *native,
                                        accel_stream *other)
{
    const accel_backend_event *event = &stream->backend->table.event;
    accel_native_event *mark = NULL;
    accel_status status = event->create(stream->device->native, false, &mark);
    if (status != ACCEL_OK)
        return status;
    accel__error_mute();
    const accel_status recorded = event->record(mark, other->native);
    accel__error_unmute();
    if (recorded == ACCEL_OK)
        status = event->wait(native, mark);
    event->destroy(mark);
    return status;
}

accel_status accel_stream_wait_event(accel_stream *stream, accel_event *event)
{
    const accel_status status = accel__resolve_stream(stream, __func__, &stream);
    return status == ACCEL_OK ? accel__stream_wait(stream, event, __func__) : status;
}

/* ---- elapsed time ---- */

static accel_status check_passed(accel_event *event, const char *which)
{
    bool done = false;
    const accel_status status = event->backend->table.event.query(event->native, &done);
    if (status != ACCEL_OK || done)
        return status;
    return accel__fail(ACCEL_ERROR_NOT_READY, event->backend->table.name,
                       "accel_event_elapsed_time",
                       "the %s event has not passed yet: synchronize it first", which);
}

/* In the order that the header promises. */
static accel_status check_pair(accel_event *start, accel_event *end)
{
    static const char function[] = "accel_event_elapsed_time";
    if (start->backend != end->backend)
        return accel__fail(ACCEL_ERROR_MISMATCH, NULL, function,
                           "the events are of different backends, '%s' and '%s'",
                           start->backend->table.name, end->backend->table.name);
    const char *backend = start->backend->table.name;
    if (!start->timing || !end->timing)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, backend, function,
                           "both events must be created with enable_timing");
    if (!accel__event_is_recorded(start) || !accel__event_is_recorded(end))
        return accel__fail(ACCEL_ERROR_INVALID_STATE, backend, function,
                           "both events must be recorded before the time between them is asked");
    if (start->device != end->device)
        return accel__fail(ACCEL_ERROR_MISMATCH, backend, function,
                           "the events are of different devices, %d and %d",
                           atomic_load(&start->device)->id.index,
                           atomic_load(&end->device)->id.index);
    const accel_status status = check_passed(start, "start");
    return status == ACCEL_OK ? check_passed(end, "end") : status;
}

accel_status accel_event_elapsed_time(accel_event *start, accel_event *end,
                                      double *out_milliseconds)
{
    if (out_milliseconds == NULL)
        return accel__fail_null(__func__, "out_milliseconds");
    *out_milliseconds = 0;
    accel_status status = check_usable(start, __func__);
    if (status == ACCEL_OK)
        status = check_usable(end, __func__);
    if (status == ACCEL_OK)
        status = accel__event_refuse_captured(start, __func__);
    if (status == ACCEL_OK)
        status = accel__event_refuse_captured(end, __func__);
    if (status == ACCEL_OK)
        status = check_pair(start, end);
    if (status != ACCEL_OK || start == end)
        return status;
    return start->backend->table.timing.elapsed(start->native, end->native, out_milliseconds);
}

accel_status accel_event_get_device(const accel_event *event, accel_device *out_device)
{
    if (out_device == NULL)
        return accel__fail_null(__func__, "out_device");
    *out_device = ACCEL_DEVICE(ACCEL_BACKEND_NONE, ACCEL_INDEX_NONE);
    const accel_status status = check(event, __func__);
    if (status != ACCEL_OK)
        return status;
    accel__device *device = event->device;
    *out_device = device != NULL ? device->id
                                 : ACCEL_DEVICE(event->backend->number, ACCEL_INDEX_NONE);
    return ACCEL_OK;
}

accel_status accel_event_get_native_handle(accel_event *event, void **out_handle)
{
    if (out_handle == NULL)
        return accel__fail_null(__func__, "out_handle");
    *out_handle = NULL;
    const accel_status status = check_usable(event, __func__);
    if (status != ACCEL_OK)
        return status;
    if (!accel__event_is_recorded(event) &&
        accel__backend_owns(event->backend, ACCEL__GROUP_HANDLES))
        return accel__fail(ACCEL_ERROR_INVALID_STATE, event->backend->table.name, __func__,
                           "the event was never recorded: there is no native event yet");
    return event->backend->table.handles.event(event->native, out_handle);
}
