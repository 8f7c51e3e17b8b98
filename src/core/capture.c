/* capture.c: which streams and events are part of a capture, and which captures are open.
 *
 * One mutex guards `capture` of every stream and event, and the list. What leaves it is counted, so
 * that a call on one thread may still refuse or record while another thread ends the capture: the
 * graph layer then says that it is over. */
#include "core/capture.h"

#include "base/error.h"

/* Guards what the head of this file says. A leaf. */
static accel__mutex mutex;
static _Atomic(accel__capture *) opened; /* list */

uint64_t accel__thread_number(void)
{
    static _Atomic(uint64_t) last;
    static _Thread_local uint64_t number;
    if (number == 0)
        number = atomic_fetch_add(&last, 1) + 1;
    return number;
}

static bool is_own(const accel__capture *capture)
{
    return capture->generation == accel__generation();
}

/* With the mutex held. A parent's capture is none of ours: its streams and events are free again. */

static accel__capture *capture_of_stream(accel_stream *stream)
{
    accel__capture *capture = stream->capture;
    if (capture == NULL || is_own(capture))
        return capture;
    stream->capture = NULL;
    return NULL;
}

static void restore_event(accel_event *event)
{
    accel__event_set_recorded(event, event->was_recorded);
    event->capture = NULL;
}

static accel__capture *capture_of_event(accel_event *event)
{
    accel__capture *capture = event->capture;
    if (capture == NULL || is_own(capture))
        return capture;
    restore_event(event);
    return NULL;
}

static accel__capture *counted(accel__capture *capture)
{
    if (capture != NULL)
        atomic_fetch_add_explicit(&capture->references, 1, memory_order_relaxed);
    return capture;
}

/* ---- asking ---- */

accel__capture *accel__capture_of(accel_stream *stream)
{
    if (atomic_load_explicit(&stream->capture, memory_order_acquire) == NULL)
        return NULL;
    accel__mutex_lock(&mutex);
    accel__capture *capture = counted(capture_of_stream(stream));
    accel__mutex_unlock(&mutex);
    return capture;
}

accel__capture *accel__capture_of_event(accel_event *event)
{
    if (atomic_load_explicit(&event->capture, memory_order_acquire) == NULL)
        return NULL;
    accel__mutex_lock(&mutex);
    accel__capture *capture = counted(capture_of_event(event));
    accel__mutex_unlock(&mutex);
    return capture;
}

void accel__capture_release(accel__capture *capture)
{
    if (capture != NULL && atomic_fetch_sub(&capture->references, 1) == 1)
        capture->ops->destroy(capture);
}

accel_status accel__capture_refuse_stream(accel_stream *stream, const char *function,
                                          const char *why)
{
    accel__capture *capture = accel__capture_of(stream);
    if (capture == NULL)
        return ACCEL_OK;
    const accel_status status = capture->ops->refuse(capture, function, why);
    accel__capture_release(capture);
    return status;
}

/* The first open capture of the device that does not allow this thread to wait for all of it. */
static accel__capture *find_forbidding(const accel__device *device)
{
    const uint64_t thread = accel__thread_number();
    accel__mutex_lock(&mutex);
    accel__capture *found = opened;
    while (found != NULL &&
           !(found->device == device && is_own(found) &&
             (found->thread == thread ? found->forbids_own : found->forbids_others)))
        found = found->next;
    counted(found);
    accel__mutex_unlock(&mutex);
    return found;
}

accel_status accel__capture_refuse_device(accel__device *device, const char *function)
{
    if (atomic_load_explicit(&opened, memory_order_acquire) == NULL)
        return ACCEL_OK;
    accel__capture *found = find_forbidding(device);
    if (found == NULL)
        return ACCEL_OK;
    const accel_status status = found->ops->refuse(
        found, function,
        "it waits for the whole device, which the capture's mode forbids on this thread: wait for "
        "single streams, or capture with ACCEL_CAPTURE_MODE_RELAXED");
    accel__capture_release(found);
    return status;
}

/* ---- streams ---- */

/* With the mutex held. */
static accel_status enter(accel__capture *capture, accel_stream *stream)
{
    if (capture_of_stream(stream) != NULL)
        return ACCEL_ERROR_INVALID_STATE;
    atomic_store(&stream->generation, ACCEL__NOT_READY);
    atomic_store(&stream->capture, capture);
    return ACCEL_OK;
}

static accel_status fail_busy(const accel_stream *stream, const char *function)
{
    return accel__fail(ACCEL_ERROR_INVALID_STATE, stream->backend->table.name, function,
                       "the stream is part of another capture already: end that one first");
}

accel_status accel__capture_open(accel__capture *capture, accel_stream *stream,
                                 const char *function)
{
    capture->generation = accel__generation();
    capture->references = 1;
    accel__mutex_lock(&mutex);
    const accel_status status = enter(capture, stream);
    if (status == ACCEL_OK) {
        capture->next = opened;
        opened = capture;
    }
    accel__mutex_unlock(&mutex);
    return status == ACCEL_OK ? status : fail_busy(stream, function);
}

accel_status accel__capture_join(accel__capture *capture, accel_stream *stream,
                                 const char *function)
{
    accel__mutex_lock(&mutex);
    const accel_status status = enter(capture, stream);
    accel__mutex_unlock(&mutex);
    return status == ACCEL_OK ? status : fail_busy(stream, function);
}

void accel__capture_leave(accel__capture *capture, accel_stream *stream)
{
    accel__mutex_lock(&mutex);
    if (stream->capture == capture) {
        atomic_store(&stream->capture, NULL);
        atomic_store(&stream->generation,
                     stream->native != NULL ? accel__generation() : ACCEL__NOT_READY);
    }
    accel__mutex_unlock(&mutex);
}

void accel__capture_close(accel__capture *capture)
{
    accel__mutex_lock(&mutex);
    accel__capture *before = opened;
    if (before == capture)
        opened = capture->next;
    else {
        while (before != NULL && before->next != capture)
            before = before->next;
        if (before != NULL)
            before->next = capture->next;
    }
    accel__mutex_unlock(&mutex);
    accel__capture_release(capture);
}

void accel__capture_publish_generation(accel_stream *stream)
{
    accel__mutex_lock(&mutex);
    if (capture_of_stream(stream) == NULL)
        atomic_store(&stream->generation, accel__generation());
    accel__mutex_unlock(&mutex);
}

/* ---- events ---- */

bool accel__capture_mark_event(accel__capture *capture, accel_event *event)
{
    accel__mutex_lock(&mutex);
    accel__capture *before = capture_of_event(event);
    if (before == NULL)
        event->was_recorded = accel__event_is_recorded(event);
    accel__event_set_recorded(event, false);
    atomic_store_explicit(&event->capture, capture, memory_order_release);
    accel__mutex_unlock(&mutex);
    return before != capture;
}

void accel__capture_unmark_event(accel__capture *capture, accel_event *event)
{
    accel__mutex_lock(&mutex);
    if (event->capture == capture)
        restore_event(event);
    accel__mutex_unlock(&mutex);
}

void accel__capture_event_recorded(accel_event *event)
{
    accel__mutex_lock(&mutex);
    event->capture = NULL;
    accel__event_set_recorded(event, true);
    accel__mutex_unlock(&mutex);
}
