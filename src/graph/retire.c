/* retire.c: what a graph held, from its reset to the moment when the last replay has passed. Waiting for
 * that would block the caller, and inside a callback for ever: a retired executable is kept in a list,
 * with a mark behind the replay, and given back by a later call of this folder, or when a device was
 * synchronised. In a forked child the parent's list is left as it is. */
#include "base/error.h"
#include "core/current.h"
#include "graph/graph.h"

/* Guards the list. A leaf but for queries of events and streams. */
static accel__mutex mutex;
static _Atomic(accel__executable *) waiting;
static _Atomic(uint32_t) waiting_generation;

static bool has_passed(const accel__executable *what)
{
    bool done = false;
    accel_stream *stream = what->retired.stream;
    if (stream == NULL)
        return true;
    if (what->retired.mark == NULL || accel__backend_is_forked(stream->backend))
        return accel__stream_is_idle(stream);
    const accel_status asked = stream->backend->table.event.query(what->retired.mark, &done);
    return accel__work_is_over(asked, done);
}

static void end(accel__executable *what)
{
    accel_stream *stream = what->retired.stream;
    accel__plan plan = {0};
    accel__plan_move(&plan, &what->retired.plan);
    if (what->retired.mark != NULL && !accel__backend_is_forked(stream->backend))
        stream->backend->table.event.destroy(what->retired.mark);
    accel__executable_destroy(what);
    accel__plan_clear(&plan);
    accel_stream_release(stream);
}

/* With the mutex held: the list is this process's. */
static void own_list(void)
{
    if (waiting_generation == accel__generation())
        return;
    waiting = NULL;
    waiting_generation = accel__generation();
}

static accel__executable *take_passed(void)
{
    accel__mutex_lock(&mutex);
    own_list();
    accel__executable *before = NULL;
    accel__executable *found = waiting;
    while (found != NULL && !has_passed(found)) {
        before = found;
        found = found->retired.next;
    }
    if (found != NULL && before == NULL)
        waiting = found->retired.next;
    else if (found != NULL)
        before->retired.next = found->retired.next;
    accel__mutex_unlock(&mutex);
    return found;
}

void accel__graph_collect(void)
{
    accel__executable *found = NULL;
    if (atomic_load_explicit(&waiting, memory_order_acquire) == NULL || accel__callback_depth != 0)
        return;
    accel__error_mute();
    while ((found = take_passed()) != NULL)
        end(found);
    accel__error_unmute();
}

/* A mark behind all that is queued; NULL where there can be none. */
static accel_native_event *make_mark(accel_stream *stream)
{
    const accel_backend_event *event = &stream->backend->table.event;
    accel_native_event *mark = NULL;
    if (accel__callback_depth != 0 || accel__stream_is_idle(stream) ||
        event->create(stream->device->native, false, &mark) != ACCEL_OK)
        return NULL;
    if (event->record(mark, stream->native) == ACCEL_OK)
        return mark;
    event->destroy(mark);
    return NULL;
}

void accel__graph_retire(accel__executable *executable, accel__plan *plan, accel_stream *last)
{
    accel__error_mute();
    accel__plan_move(&executable->retired.plan, plan);
    executable->retired.stream = last;
    executable->retired.mark = last != NULL ? make_mark(last) : NULL;
    accel__error_unmute();
    atomic_store(&accel__after_synchronize_graphs, accel__graph_collect);
    accel__mutex_lock(&mutex);
    own_list();
    executable->retired.next = waiting;
    waiting = executable;
    accel__mutex_unlock(&mutex);
}
