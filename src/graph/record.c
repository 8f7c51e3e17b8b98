/* record.c: what becomes of a call on a stream that captures.
 *
 * A capture has its own plan, to which calls add nodes on whatever thread they are made, and for each of
 * its streams the front: the nodes that the stream's next one depends on. An event that is recorded keeps
 * a copy of the front; a wait adds it to that of the waiting stream. The first failure of a call makes
 * the capture invalid and is kept for its end. */
#include "graph/record.h"

#include <stdio.h>

#include "base/allocate.h"
#include "base/array.h"
#include "base/error.h"

/* ---- fronts ---- */

static bool front_has(const accel__front *set, uint32_t node)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->nodes[i] == node)
            return true;
    return false;
}

static bool front_reserve(accel__front *set, size_t extra)
{
    return accel__array_reserve((void **)&set->nodes, &set->capacity, set->count, extra,
                                sizeof *set->nodes);
}

static bool front_add(accel__front *set, const accel__front *others)
{
    if (!front_reserve(set, others->count))
        return false;
    for (size_t i = 0; i < others->count; i++)
        if (!front_has(set, others->nodes[i]))
            set->nodes[set->count++] = others->nodes[i];
    return true;
}

/* ---- failing ---- */

/* With the capture locked: it is invalid from now on, if it was not before. Returns `status`. */
static accel_status spoil(accel__graph_capture *capture, accel_status status, const char *function,
                          const char *reason)
{
    if (capture->failure == ACCEL_OK) {
        capture->failure = status;
        snprintf(capture->failed_function, sizeof capture->failed_function, "%s", function);
        snprintf(capture->reason, sizeof capture->reason, "%s", reason);
    }
    return status;
}

accel_status accel__record_fail_spoilt(const accel__graph_capture *capture, const char *function)
{
    return accel__fail(ACCEL_ERROR_CAPTURE, accel__capture_backend(capture), function,
                       "the capture is invalid since %s (%s): end it, reset the graph, and capture "
                       "without that call",
                       capture->failed_function, capture->reason);
}

accel_status accel__record_no_memory(accel__graph_capture *capture, const char *function)
{
    static const char why[] = "no memory for a node of the graph";
    spoil(capture, ACCEL_ERROR_OUT_OF_HOST_MEMORY, function, why);
    return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, accel__capture_backend(capture), function,
                       "%s", why);
}

static accel_status refuse_locked(accel__graph_capture *capture, const char *function,
                                  const char *why)
{
    spoil(capture, ACCEL_ERROR_CAPTURE, function, why);
    return accel__fail(ACCEL_ERROR_CAPTURE, accel__capture_backend(capture), function,
                       "this cannot be done in a capture, which is invalid now: %s", why);
}

/* ---- entering and leaving a call ---- */

static accel__graph_capture *lock(accel__capture *head)
{
    accel__graph_capture *capture = (accel__graph_capture *)head;
    accel__mutex_lock(&capture->mutex);
    return capture;
}

static accel_status unlock(accel__graph_capture *capture, accel_status status)
{
    accel__mutex_unlock(&capture->mutex);
    return status;
}

static accel_status check_open(const accel__graph_capture *capture, const char *function)
{
    if (capture->is_over)
        return accel__fail(ACCEL_ERROR_CAPTURE, accel__capture_backend(capture), function,
                           "the capture was ended by another thread during the call");
    return capture->failure == ACCEL_OK ? ACCEL_OK : accel__record_fail_spoilt(capture, function);
}

static accel__member *find_member(accel__graph_capture *capture, const accel_stream *stream)
{
    for (size_t i = 0; i < capture->member_count; i++)
        if (capture->members[i].stream == stream)
            return &capture->members[i];
    return NULL;
}

/* Adds a node behind the stream's front; the payload is taken over, NULL: there was no memory for it. */
static accel_status add_node(accel__graph_capture *capture, accel_stream *stream,
                             accel__payload *payload, const char *function)
{
    accel_status status = check_open(capture, function);
    accel__member *here = find_member(capture, stream);
    if (status == ACCEL_OK && here == NULL)
        status = accel__fail(ACCEL_ERROR_CAPTURE, accel__capture_backend(capture), function,
                             "the stream left the capture during the call");
    if (status == ACCEL_OK) {
        status = accel__graph_check_room(&capture->plan, payload, NULL, function);
        if (status != ACCEL_OK)
            spoil(capture, status, function, "the graph would have too many nodes");
    }
    if (status != ACCEL_OK || here == NULL) {
        accel__payload_release(payload);
        return status;
    }
    uint32_t node = 0;
    if (!front_reserve(&here->front, 1)) {
        accel__payload_release(payload);
        return accel__record_no_memory(capture, function);
    }
    if (!accel__plan_add(&capture->plan, payload, here->front.nodes, (uint32_t)here->front.count,
                         &node))
        return accel__record_no_memory(capture, function);
    here->front.nodes[0] = node;
    here->front.count = 1;
    return ACCEL_OK;
}

static accel_status add(accel__capture *head, accel_stream *stream, accel__payload *payload,
                        const char *function)
{
    accel__graph_capture *capture = lock(head);
    return unlock(capture, add_node(capture, stream, payload, function));
}

/* ---- the calls ---- */

static accel_status on_launch(accel__capture *head, accel_stream *stream, accel_kernel *kernel,
                              const accel_launch_shape *shape, const accel_kernel_arg *args,
                              uint32_t arg_count)
{
    return add(head, stream, accel__payload_of_launch(kernel, shape, args, arg_count),
               "accel_kernel_launch");
}

static accel_status on_copy(accel__capture *head, accel_stream *stream,
                            const accel__captured_copy *copy)
{
    return add(head, stream, accel__payload_of_copy(copy), copy->function);
}

static accel_status on_fill(accel__capture *head, accel_stream *stream, void *destination,
                            const void *pattern, size_t pattern_size, size_t size)
{
    return add(head, stream, accel__payload_of_fill(destination, pattern, pattern_size, size),
               "accel_fill");
}

static accel_status on_callback(accel__capture *head, accel_stream *stream,
                                accel_stream_callback call, void *user)
{
    return add(head, stream, accel__payload_of_callback(call, user), "accel_stream_add_callback");
}

accel_status accel__graph_capture_child(accel__capture *capture, accel_stream *stream,
                                        const accel__plan *plan, const char *function)
{
    return add(capture, stream, accel__payload_of_child(plan), function);
}

/* Where the event says that it was marked last: elsewhere only after another capture marked it, too. */
static accel__mark *find_mark_at_once(accel__graph_capture *capture, const accel_event *event)
{
    const size_t place = atomic_load_explicit(&event->mark, memory_order_relaxed);
    return place < capture->mark_count && capture->marks[place].event == event
               ? &capture->marks[place]
               : NULL;
}

static accel__mark *find_mark(accel__graph_capture *capture, const accel_event *event)
{
    accel__mark *found = find_mark_at_once(capture, event);
    for (size_t i = capture->mark_count; found == NULL && i-- > 0;)
        if (capture->marks[i].event == event)
            found = &capture->marks[i];
    return found;
}

/* The event's mark, made where it has none; NULL: no memory. An event that another capture marked
 * meanwhile may get a second one: the later one counts. */
static accel__mark *mark_of(accel__graph_capture *capture, accel_event *event)
{
    accel__mark *found = find_mark_at_once(capture, event);
    if (found != NULL)
        return found;
    if (!accel__array_reserve((void **)&capture->marks, &capture->mark_capacity,
                              capture->mark_count, 1, sizeof *capture->marks))
        return NULL;
    accel_event_retain(event);
    atomic_store_explicit(&event->mark, capture->mark_count, memory_order_relaxed);
    found = &capture->marks[capture->mark_count++];
    *found = (accel__mark){.event = event};
    return found;
}

static accel_status record(accel__graph_capture *capture, accel_stream *stream, accel_event *event)
{
    static const char function[] = "accel_event_record";
    const accel_status status = check_open(capture, function);
    const accel__member *here = find_member(capture, stream);
    if (status != ACCEL_OK || here == NULL)
        return status;
    accel__mark *made = mark_of(capture, event);
    if (made == NULL || !front_reserve(&made->front, here->front.count))
        return accel__record_no_memory(capture, function);
    made->front.count = 0;
    front_add(&made->front, &here->front);
    accel__capture_mark_event(&capture->head, event);
    return ACCEL_OK;
}

static accel_status on_record(accel__capture *head, accel_stream *stream, accel_event *event)
{
    accel__graph_capture *capture = lock(head);
    return unlock(capture, record(capture, stream, event));
}

accel__member *accel__record_member(accel__graph_capture *capture, accel_stream *stream)
{
    if (!accel__array_reserve((void **)&capture->members, &capture->member_capacity,
                              capture->member_count, 1, sizeof *capture->members))
        return NULL;
    accel_stream_retain(stream);
    accel__member *made = &capture->members[capture->member_count++];
    *made = (accel__member){.stream = stream};
    return made;
}

static accel_status join(accel__graph_capture *capture, accel_stream *stream, const char *function,
                         accel__member **out_member)
{
    accel_native_stream *native = NULL;
    accel__capture *other = NULL;
    *out_member = find_member(capture, stream);
    if (*out_member != NULL)
        return ACCEL_OK;
    if (stream->device != capture->head.device)
        return refuse_locked(capture, function,
                             "the waiting stream is of another device: a graph is of one device");
    if (stream->is_default)
        return refuse_locked(
            capture, function,
            "the waiting stream is a default stream, which other threads use: make "
            "one with accel_stream_create");
    accel_status status = accel__stream_use(stream, function, &native, &other);
    accel__capture_release(other); /* the join finds the stream busy, if it still is */
    if (status == ACCEL_OK)
        status = accel__capture_join(&capture->head, stream, function);
    if (status != ACCEL_OK)
        return spoil(capture, status, function, "the waiting stream could not join");
    *out_member = accel__record_member(capture, stream);
    if (*out_member != NULL)
        return ACCEL_OK;
    accel__capture_leave(&capture->head, stream);
    return accel__record_no_memory(capture, function);
}

static accel_status wait(accel__graph_capture *capture, accel_stream *stream, accel_event *event,
                         const char *function)
{
    accel__member *here = NULL;
    const accel__mark *behind = find_mark(capture, event);
    accel_status status = check_open(capture, function);
    if (status != ACCEL_OK || behind == NULL)
        return status;
    status = join(capture, stream, function, &here);
    if (status != ACCEL_OK || here == NULL)
        return status;
    return front_add(&here->front, &behind->front) ? ACCEL_OK
                                                   : accel__record_no_memory(capture, function);
}

static accel_status on_wait(accel__capture *head, accel_stream *stream, accel_event *event,
                            const char *function)
{
    accel__capture *other = accel__capture_of(stream);
    if (other != NULL && other != head) { /* one of the two cannot go on without the other */
        static const char why[] =
            "the event was recorded in another capture: a graph cannot wait for "
            "one that is being captured beside it";
        head->ops->refuse(head, function, why);
        const accel_status status = other->ops->refuse(other, function, why);
        accel__capture_release(other);
        return status;
    }
    accel__capture_release(other);
    accel__graph_capture *capture = lock(head);
    return unlock(capture, wait(capture, stream, event, function));
}

static accel_status on_refuse(accel__capture *head, const char *function, const char *why)
{
    accel__graph_capture *capture = lock(head);
    return unlock(capture, refuse_locked(capture, function, why));
}

/* ---- parts ---- */

static accel_status on_attach(accel__capture *head, accel__capture_part *part)
{
    static const char function[] = "accel_graph_capture_begin";
    accel__graph_capture *capture = lock(head);
    accel_status status = check_open(capture, function);
    if (status == ACCEL_OK && !accel__plan_add_part(&capture->plan, part))
        status = accel__record_no_memory(capture, function);
    return unlock(capture, status);
}

static accel__capture_part *on_find_part(accel__capture *head, const void *key)
{
    accel__graph_capture *capture = lock(head);
    accel__capture_part *found = NULL;
    for (size_t i = 0; found == NULL && i < capture->plan.part_count; i++)
        if (capture->plan.parts[i]->part->key == key)
            found = capture->plan.parts[i]->part;
    accel__mutex_unlock(&capture->mutex);
    return found;
}

static struct accel_memory_pool *on_hold_pool(accel__capture *head)
{
    accel__graph_capture *capture = lock(head);
    struct accel_memory_pool *pool = capture->is_over ? NULL : capture->plan.pool;
    if (pool != NULL && accel_memory_pool_retain(pool) != ACCEL_OK)
        pool = NULL;
    accel__mutex_unlock(&capture->mutex);
    return pool;
}

/* ---- the end of the object ---- */

static void on_destroy(accel__capture *head)
{
    accel__deallocate(head);
}

const accel__capture_ops accel__record_ops = {
    .launch = on_launch,
    .copy = on_copy,
    .fill = on_fill,
    .record = on_record,
    .wait = on_wait,
    .callback = on_callback,
    .refuse = on_refuse,
    .attach = on_attach,
    .find_part = on_find_part,
    .hold_pool = on_hold_pool,
    .destroy = on_destroy,
};
