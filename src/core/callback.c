/* callback.c: see callback.h.
 *
 * The stand-in: each callback gets an event recorded behind the work before it; one thread of the
 * process asks the events in turn and calls what has passed, in order for each stream. It sleeps
 * longer the longer nothing passes, and without a limit when there is nothing to ask. In a forked
 * child the inherited list is dropped and the thread started anew. */
#include "core/callback.h"

#include <pthread.h>

#include "base/allocate.h"
#include "base/error.h"
#include "core/capture.h"
#include "core/current.h"
#include "core/device.h"
#include "platform/futex.h"
#include "platform/thread.h"

typedef struct callback {
    struct callback *next;
    accel_stream *stream; /* counted */
    accel_stream_callback call;
    void *user;
    accel_native_event *event; /* stand-in only */
} callback;

/* Guards the list and `generation`. A leaf. */
static struct {
    accel__mutex mutex;
    callback *first;
    callback *last;
    _Atomic(uint32_t) generation; /* of the process whose thread runs; another: none runs here */
    _Atomic(uint32_t) added;      /* futex: counts additions */
} watch;

enum { SLEEP_LEAST_NS = 20000, SLEEP_MOST_NS = 1000000 };

static void run(callback *made, accel_status status)
{
    accel__error_aside aside; /* a thread that waits, or releases, may run it in between */
    accel__error_set_aside(&aside);
    accel__callback_enter();
    made->call(made->stream, status, made->user);
    accel__callback_leave();
    accel__error_put_back(&aside);
}

static void discard(callback *made)
{
    accel_stream_release(made->stream);
    accel__deallocate(made);
}

/* ---- the backend's own callbacks ---- */

static void on_native(accel_status status, void *user)
{
    callback *made = user;
    run(made, status);
    discard(made);
}

/* ---- the stand-in ---- */

/* Whether the callback's turn has come; *out_status is the stream's. */
static bool has_passed(const callback *made, accel_status *out_status)
{
    bool done = false;
    accel__error_mute();
    *out_status = made->stream->backend->table.event.query(made->event, &done);
    accel__error_unmute();
    return accel__work_is_over(*out_status, done);
}

static bool stream_is_behind(const callback *list, const callback *made)
{
    for (; list != made; list = list->next)
        if (list->stream == made->stream)
            return true;
    return false;
}

/* Unlinks the first callback that may be called now. */
static callback *take_ready(accel_status *out_status)
{
    accel__mutex_lock(&watch.mutex);
    callback **link = &watch.first;
    callback *before = NULL;
    while (*link != NULL &&
           (stream_is_behind(watch.first, *link) || !has_passed(*link, out_status))) {
        before = *link;
        link = &before->next;
    }
    callback *found = *link;
    if (found != NULL) {
        *link = found->next;
        if (watch.last == found)
            watch.last = before;
    }
    accel__mutex_unlock(&watch.mutex);
    return found;
}

/* False: the callback forked, and this is the child: nothing here is its own. */
static bool call_ready(callback *ready, accel_status status)
{
    accel_stream *stream = ready->stream;
    run(ready, status);
    if (watch.generation != accel__generation())
        return false;
    stream->backend->table.event.destroy(ready->event);
    atomic_fetch_add(&stream->callbacks_called, 1);
    accel__futex_wake_all(&stream->callbacks_called);
    discard(ready);
    return true;
}

static bool is_empty(void)
{
    accel__mutex_lock(&watch.mutex);
    const bool empty = watch.first == NULL;
    accel__mutex_unlock(&watch.mutex);
    return empty;
}

static void *watch_body(void *user)
{
    (void)user;
    uint64_t sleep_ns = SLEEP_LEAST_NS;
    for (;;) {
        const uint32_t seen = watch.added;
        accel_status status = ACCEL_OK;
        callback *ready = take_ready(&status);
        if (ready != NULL) {
            if (!call_ready(ready, status))
                return NULL;
            sleep_ns = SLEEP_LEAST_NS;
        } else if (is_empty())
            accel__futex_wait(&watch.added, seen, UINT64_MAX);
        else {
            accel__futex_wait(&watch.added, seen, sleep_ns);
            sleep_ns = sleep_ns * 2 < SLEEP_MOST_NS ? sleep_ns * 2 : SLEEP_MOST_NS;
        }
    }
    return NULL;
}

/* With the mutex held. */
static accel_status ensure_thread(void)
{
    if (watch.generation == accel__generation())
        return ACCEL_OK;
    pthread_t thread;
    watch.first = watch.last = NULL; /* a parent's list, perhaps half changed: dropped */
    const int code = accel__thread_start(&thread, "accel-callback", watch_body, NULL);
    if (code != 0)
        return accel__fail_errno(code, "accel_stream_add_callback",
                                 "no thread for host callbacks could be started");
    pthread_detach(thread);
    watch.generation = accel__generation();
    return ACCEL_OK;
}

/* With the mutex held. What a parent had pending is none of ours. */
static void count_added(accel_stream *stream)
{
    if (stream->callbacks_generation != accel__generation()) {
        atomic_store(&stream->callbacks_called, atomic_load(&stream->callbacks_added));
        stream->callbacks_generation = accel__generation();
    }
    atomic_fetch_add(&stream->callbacks_added, 1);
}

static accel_status append(callback *made)
{
    accel__mutex_lock(&watch.mutex);
    const accel_status status = ensure_thread();
    if (status == ACCEL_OK) {
        if (watch.last != NULL)
            watch.last->next = made;
        else
            watch.first = made;
        watch.last = made;
        count_added(made->stream);
    }
    accel__mutex_unlock(&watch.mutex);
    if (status == ACCEL_OK) {
        atomic_fetch_add(&watch.added, 1);
        accel__futex_wake_all(&watch.added);
    }
    return status;
}

static accel_status add_standin(callback *made, accel_native_stream *native)
{
    const accel_backend_event *event = &made->stream->backend->table.event;
    accel_status status = event->create(made->stream->device->native, false, &made->event);
    if (status != ACCEL_OK)
        return status;
    status = event->record(made->event, native);
    if (status == ACCEL_OK)
        status = append(made);
    if (status != ACCEL_OK)
        event->destroy(made->event);
    return status;
}

uint32_t accel__callbacks_mark(const accel_stream *stream)
{
    return stream->callbacks_added;
}

/* Whether the mark has callbacks before it that are still to be called: of this process, for there is
 * nobody who would call a parent's. */
static bool are_pending(const accel_stream *stream, uint32_t called, uint32_t mark)
{
    return (int32_t)(mark - called) > 0 && stream->callbacks_generation == accel__generation();
}

uint32_t accel__callbacks_pending(const accel_stream *stream)
{
    const uint32_t called = stream->callbacks_called; /* first: it never overtakes the others */
    const uint32_t added = stream->callbacks_added;
    return are_pending(stream, called, added) ? added - called : 0;
}

void accel__callbacks_wait(accel_stream *stream, uint32_t mark)
{
    uint32_t called;
    while (are_pending(stream, called = stream->callbacks_called, mark))
        accel__futex_wait(&stream->callbacks_called, called, UINT64_MAX);
}

accel_status accel__callback_queue(accel_stream *stream, accel_native_stream *native,
                                   accel_stream_callback call, void *user)
{
    callback *made = accel__allocate(sizeof *made);
    if (made == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, stream->backend->table.name,
                           "accel_stream_add_callback", "no memory for a callback");
    made->stream = stream;
    made->call = call;
    made->user = user;
    accel_stream_retain(stream);
    const accel_status status = accel__backend_owns(stream->backend, ACCEL__GROUP_CALLBACKS)
                                    ? stream->backend->table.callbacks.add(native, on_native, made)
                                    : add_standin(made, native);
    if (status != ACCEL_OK)
        discard(made);
    return accel__error_met_by(status,
                               "accel_stream_add_callback"); /* the stand-in's is an event's */
}

accel_status accel_stream_add_callback(accel_stream *stream, accel_stream_callback callback_call,
                                       void *user)
{
    accel_native_stream *native = NULL;
    accel__capture *capture = NULL;
    accel_status status = accel__resolve_stream(stream, __func__, &stream);
    if (status == ACCEL_OK && callback_call == NULL)
        status = accel__fail_null(__func__, "callback");
    if (status == ACCEL_OK)
        status = accel__stream_use(stream, __func__, &native, &capture);
    if (status != ACCEL_OK)
        return status;
    if (capture == NULL)
        return accel__callback_queue(stream, native, callback_call, user);
    status = capture->ops->callback(capture, stream, callback_call, user);
    accel__capture_release(capture);
    return status;
}
