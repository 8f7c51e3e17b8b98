/* retire.c: what a graph held, from its reset to the moment when the last replay has passed. Waiting for
 * that would block the caller, and inside a callback for ever: what is pending is kept in a list with a
 * mark behind the replay, and given back by a later call of this folder, or when a device was
 * synchronised. In a forked child the parent's list is left as it is. */
#include "base/allocate.h"
#include "base/error.h"
#include "core/current.h"
#include "graph/graph.h"

typedef struct remains {
    struct remains *next;
    accel__executable *executable;
    accel__plan plan;
    accel_stream *stream;     /* of the last replay, counted */
    accel_native_event *mark; /* behind it; NULL: the stream must be idle */
} remains;

/* Guards the list. A leaf but for queries of events and streams. */
static accel__mutex mutex;
static _Atomic(remains *) waiting;
static _Atomic(uint32_t) waiting_generation;

static void give_back(accel__executable *executable, accel__plan *plan)
{
    accel__executable_destroy(executable);
    accel__plan_clear(plan);
}

static bool has_passed(const remains *what)
{
    bool done = false;
    if (what->mark == NULL || accel__backend_is_forked(what->stream->backend))
        return accel__stream_is_idle(what->stream);
    return what->stream->backend->table.event.query(what->mark, &done) != ACCEL_OK || done;
}

static void end(remains *what)
{
    if (what->mark != NULL)
        what->stream->backend->table.event.destroy(what->mark);
    give_back(what->executable, &what->plan);
    accel_stream_release(what->stream);
    accel__deallocate(what);
}

/* With the mutex held: the list is this process's. */
static void own_list(void)
{
    if (waiting_generation == accel__generation())
        return;
    waiting = NULL;
    waiting_generation = accel__generation();
}

static remains *take_passed(void)
{
    accel__mutex_lock(&mutex);
    own_list();
    remains *before = NULL;
    remains *found = waiting;
    while (found != NULL && !has_passed(found)) {
        before = found;
        found = found->next;
    }
    if (found != NULL && before == NULL)
        waiting = found->next;
    else if (found != NULL)
        before->next = found->next;
    accel__mutex_unlock(&mutex);
    return found;
}

void accel__graph_collect(void)
{
    remains *found = NULL;
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
    if (accel__callback_depth != 0 ||
        event->create(stream->device->native, false, &mark) != ACCEL_OK)
        return NULL;
    if (event->record(mark, stream->native) == ACCEL_OK)
        return mark;
    event->destroy(mark);
    return NULL;
}

static void keep(remains *made)
{
    atomic_store(&accel__after_synchronize_graphs, accel__graph_collect);
    accel__mutex_lock(&mutex);
    own_list();
    made->next = waiting;
    waiting = made;
    accel__mutex_unlock(&mutex);
}

/* In a callback, where nothing may wait for a stream, only until it is idle by itself. */
static void wait_for(accel_stream *stream)
{
    if (accel__callback_depth == 0)
        stream->backend->table.stream.synchronize(stream->native);
}

static void wait_or_give_back(accel__executable *executable, accel__plan *plan, accel_stream *last)
{
    remains *made = accel__stream_is_idle(last) ? NULL : accel__allocate(sizeof *made);
    if (made == NULL) { /* idle, or no memory: then there is nothing left but to wait */
        if (!accel__backend_is_forked(last->backend))
            wait_for(last);
        give_back(executable, plan);
        accel_stream_release(last);
        return;
    }
    made->executable = executable;
    accel__plan_move(&made->plan, plan);
    made->stream = last;
    made->mark = make_mark(last);
    keep(made);
}

void accel__graph_retire(accel__executable *executable, accel__plan *plan, accel_stream *last)
{
    accel__error_mute();
    if (last == NULL)
        give_back(executable, plan);
    else
        wait_or_give_back(executable, plan, last);
    accel__error_unmute();
}
