/* marks.c: see marks.h. */
#include "memory/marks.h"

#include "base/allocate.h"
#include "base/error.h"
#include "core/capture.h"
#include "core/device.h"
#include "memory/event_pool.h"

void accel__marks_begin(accel__mark *first, accel_stream *home)
{
    accel_stream_retain(home);
    *first = (accel__mark){.stream = home};
}

accel__mark *accel__mark_create(accel_stream *stream)
{
    accel__mark *made = accel__allocate(sizeof *made);
    if (made == NULL)
        return NULL;
    accel_stream_retain(stream);
    made->stream = stream;
    return made;
}

bool accel__marks_add(accel__mark *first, accel__mark *mark)
{
    const accel__mark *found = first;
    do {
        if (found->stream == mark->stream)
            return false;
    } while ((found = found->next) != NULL);
    mark->next = first->next;
    first->next = mark;
    return true;
}

/* The stream's backend, which need not be the memory's. */
static const accel_backend_event *events_of(const accel__mark *mark)
{
    return &mark->stream->backend->table.event;
}

static void end_mark(accel__mark *mark)
{
    if (mark->event != NULL && !accel__backend_is_forked(mark->stream->backend))
        accel__event_give_back(mark->stream->device, mark->event);
    accel_stream_release(mark->stream);
    mark->event = NULL;
    mark->stream = NULL;
}

void accel__mark_release(accel__mark *mark)
{
    if (mark == NULL)
        return;
    end_mark(mark);
    accel__deallocate(mark);
}

static bool is_captured(accel_stream *stream)
{
    accel__capture *capture = accel__capture_of(stream);
    accel__capture_release(capture);
    return capture != NULL;
}

static void set_mark(accel__mark *mark)
{
    accel_native_stream *native = mark->stream->native;
    mark->is_captured = is_captured(mark->stream);
    if (native == NULL || accel__callback_depth != 0 || mark->is_captured)
        return;
    mark->is_over = accel__stream_is_idle(mark->stream);
    if (mark->is_over || accel__event_draw(mark->stream->device, &mark->event) != ACCEL_OK)
        return;
    if (events_of(mark)->record(mark->event, native) != ACCEL_OK) {
        accel__event_give_back(mark->stream->device, mark->event);
        mark->event = NULL;
    }
}

void accel__marks_set(accel__mark *first)
{
    accel__error_mute();
    for (accel__mark *mark = first; mark != NULL; mark = mark->next)
        set_mark(mark);
    accel__error_unmute();
}

/* A mark that fails (the stream failed, or a fork cut the mark off) has passed: nothing runs there any
 * more. One that was set while the stream captured has when the capture is over: the order of the graph
 * covers the use from then on. */
static bool has_passed(const accel__mark *mark)
{
    bool done = false;
    if (mark->is_over)
        return true;
    if (mark->is_captured)
        return !is_captured(mark->stream);
    if (mark->event == NULL || accel__backend_is_forked(mark->stream->backend))
        return accel__stream_is_idle(mark->stream);
    const accel_status asked = events_of(mark)->query(mark->event, &done);
    return accel__work_is_over(asked, done);
}

const accel__mark *accel__marks_first_busy(const accel__mark *first)
{
    const accel__mark *mark = first;
    accel__error_mute();
    while (mark != NULL && has_passed(mark))
        mark = mark->next;
    accel__error_unmute();
    return mark;
}

bool accel__marks_passed(const accel__mark *first)
{
    return accel__marks_first_busy(first) == NULL;
}

void accel__marks_end(accel__mark *first)
{
    while (first->next != NULL) {
        accel__mark *mark = first->next;
        first->next = mark->next;
        accel__mark_release(mark);
    }
    end_mark(first);
}
