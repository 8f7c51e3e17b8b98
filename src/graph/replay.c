/* replay.c: instantiating when it is asked for, and queueing what was instantiated. */
#include "base/error.h"
#include "core/callback.h"
#include "core/capture.h"
#include "core/current.h"
#include "core/event.h"
#include "graph/graph.h"

/* ---- instantiating ---- */

/* With the graph locked. The executable before may still be pending: it is retired. */
static accel_status instantiate(accel_graph *graph, const char *function)
{
    accel__executable *made = NULL;
    accel__plan nothing = {0};
    const accel_status status = accel__executable_make(graph, function, &made);
    if (status != ACCEL_OK)
        return status;
    if (graph->executable != NULL) {
        accel_stream_retain(graph->last.stream);
        accel__graph_retire(graph->executable, &nothing, graph->last.stream);
    }
    graph->executable = made;
    graph->is_dirty = false;
    return ACCEL_OK;
}

static accel_status check_captured(const accel_graph *graph, const char *function)
{
    const accel_status status = accel__graph_check_idle(graph, function);
    if (status != ACCEL_OK || graph->is_captured)
        return status;
    return accel__fail(
        ACCEL_ERROR_INVALID_STATE, graph->device->backend->table.name, function,
        "the graph is empty: capture it (accel_graph_capture_begin and …_end), or add "
        "nodes, first");
}

accel_status accel_graph_instantiate(accel_graph *graph)
{
    accel_status status = accel__graph_lock(graph, __func__);
    if (status != ACCEL_OK)
        return status;
    status = check_captured(graph, __func__);
    if (status == ACCEL_OK && graph->executable != NULL && !graph->keep_graph && !graph->is_dirty)
        status = accel__fail(ACCEL_ERROR_INVALID_STATE, graph->device->backend->table.name,
                             __func__,
                             "the graph is instantiated already; to do that again, create it with "
                             "keep_graph");
    if (status == ACCEL_OK)
        status = instantiate(graph, __func__);
    status = accel__graph_unlock(graph, accel__error_met_by(status, __func__));
    accel__graph_collect();
    return status;
}

/* ---- replaying ---- */

/* Has the stream wait, on the device, for the replay before, where that was on another one. */
static accel_status follow(const accel__last_replay *before, accel_stream *stream,
                           accel_native_stream *native)
{
    accel_stream *last = before->stream;
    if (last == NULL || last == stream || before->generation != accel__generation())
        return ACCEL_OK;
    return accel__stream_queue_behind(stream, native, last);
}

static void remember(accel__last_replay *last, accel_stream *stream)
{
    last->generation = accel__generation();
    if (last->stream == stream)
        return;
    accel_stream_retain(stream);
    accel_stream_release(last->stream);
    last->stream = stream;
}

/* Behind the graph's last replay, and behind those of other graphs that have parts of it. */
static accel_status follow_all(const accel_graph *graph, accel_stream *stream,
                               accel_native_stream *native)
{
    const accel__executable *executable = graph->executable;
    accel_status status = follow(&graph->last, stream, native);
    for (size_t i = 0; status == ACCEL_OK && i < executable->part_count; i++) {
        const accel__last_replay *last = &executable->parts[i]->last;
        if (last->stream != graph->last.stream || last->generation != graph->last.generation)
            status = follow(last, stream, native);
    }
    return status;
}

static void remember_all(accel_graph *graph, accel_stream *stream)
{
    const accel__executable *executable = graph->executable;
    remember(&graph->last, stream);
    for (size_t i = 0; i < executable->part_count; i++)
        remember(&executable->parts[i]->last, stream);
}

static accel_status queue_payload(const accel__payload *payload, accel_stream *stream,
                                  accel_native_stream *native)
{
    const accel_backend_table *table = &stream->backend->table;
    switch (payload->kind) {
    case ACCEL_GRAPH_NODE_KIND_KERNEL:
        return table->kernel.launch(native, payload->launch.kernel->facts.function,
                                    &payload->launch.shape, payload->launch.args,
                                    payload->launch.arg_count);
    case ACCEL_GRAPH_NODE_KIND_COPY:
        return accel__copy_queue(stream, native, &payload->copy);
    case ACCEL_GRAPH_NODE_KIND_FILL:
        return table->memory.fill(native, payload->fill.destination, payload->fill.pattern,
                                  payload->fill.pattern_size, payload->fill.size);
    case ACCEL_GRAPH_NODE_KIND_CALLBACK:
        return accel__callback_queue(stream, native, payload->callback.call,
                                     payload->callback.user);
    case ACCEL_GRAPH_NODE_KIND_EVENT_RECORD:
        return accel__event_queue_record(payload->event, stream, native);
    case ACCEL_GRAPH_NODE_KIND_EVENT_WAIT:
        return accel__event_queue_wait(payload->event, stream, native, "accel_graph_replay");
    case ACCEL_GRAPH_NODE_KIND_EMPTY:
    case ACCEL_GRAPH_NODE_KIND_CHILD: /* never in an executable */
        break;
    }
    return ACCEL_OK;
}

static accel_status queue_item(const accel__item *item, accel_stream *stream,
                               accel_native_stream *native)
{
    switch (item->kind) {
    case ACCEL__ITEM_SCHEDULE:
        return stream->backend->table.schedules.replay(native, item->schedule);
    case ACCEL__ITEM_NODE:
        return queue_payload(item->payload, stream, native);
    case ACCEL__ITEM_PART:
        return item->part->prologue(item->part, &item->taken, stream, native);
    }
    return ACCEL_OK;
}

/* Before anything is queued: events that the graph waits for are none of an open capture. */
static accel_status check_waits(const accel__executable *executable, const char *function)
{
    accel_status status = ACCEL_OK;
    for (size_t i = 0; status == ACCEL_OK && executable->has_waits && i < executable->count; i++) {
        const accel__item *item = &executable->items[i];
        if (item->kind == ACCEL__ITEM_NODE &&
            item->payload->kind == ACCEL_GRAPH_NODE_KIND_EVENT_WAIT)
            status = accel__event_refuse_captured(item->payload->event, function);
    }
    return status;
}

/* What the parts of items from `first` up to `end` have taken, the last one first. */
static void give_back(const accel__executable *executable, size_t first, size_t end)
{
    for (size_t i = end; executable->part_count != 0 && i-- > first;) {
        const accel__item *item = &executable->items[i];
        if (item->kind == ACCEL__ITEM_PART && item->part->give_back != NULL)
            item->part->give_back(item->part, &item->taken);
    }
}

/* All that parts take is taken before anything is queued: one that cannot have it leaves no half of a
 * replay behind. */
static accel_status take_all(const accel__executable *executable)
{
    accel_status status = ACCEL_OK;
    for (size_t i = 0; executable->part_count != 0 && i < executable->count; i++) {
        accel__item *item = &executable->items[i];
        if (item->kind == ACCEL__ITEM_PART && item->part->take != NULL)
            status = item->part->take(item->part, &item->taken);
        if (status != ACCEL_OK) {
            give_back(executable, 0, i);
            return status;
        }
    }
    return ACCEL_OK;
}

static accel_status queue_items(const accel__executable *executable, accel_stream *stream,
                                accel_native_stream *native)
{
    for (size_t i = 0; i < executable->count; i++) {
        const accel_status status = queue_item(&executable->items[i], stream, native);
        if (status != ACCEL_OK) {
            give_back(executable, i, executable->count);
            return status;
        }
    }
    return ACCEL_OK;
}

/* With the parts locked. */
static accel_status queue_all(accel_graph *graph, accel_stream *stream, accel_native_stream *native)
{
    const accel__executable *executable = graph->executable;
    accel_status status = take_all(executable);
    if (status != ACCEL_OK)
        return status;
    status = follow_all(graph, stream, native);
    if (status != ACCEL_OK) {
        give_back(executable, 0, executable->count);
        return status;
    }
    remember_all(graph, stream); /* before the first item: a part of them may be queued */
    return queue_items(executable, stream, native);
}

static accel_status replay(accel_graph *graph, accel_stream *stream, accel_native_stream *native,
                           const char *function)
{
    accel_status status = ACCEL_OK;
    if (graph->executable == NULL || graph->is_dirty)
        status = instantiate(graph, function);
    if (status == ACCEL_OK)
        status = check_waits(graph->executable, function);
    if (status != ACCEL_OK)
        return status;
    accel__executable_lock_parts(graph->executable);
    status = queue_all(graph, stream, native);
    accel__executable_unlock_parts(graph->executable);
    return status;
}

/* Queues the replay, or makes it a child of the stream's capture. */
static accel_status replay_or_capture(accel_graph *graph, accel_stream *stream,
                                      const char *function)
{
    accel_native_stream *native = NULL;
    accel__capture *capture = NULL;
    accel_status status = accel__stream_use(stream, function, &native, &capture);
    if (status != ACCEL_OK)
        return status;
    if (capture == NULL)
        return replay(graph, stream, native, function);
    status = accel__graph_capture_child(capture, stream, &graph->plan, function);
    accel__capture_release(capture);
    return status;
}

accel_status accel_graph_replay(accel_graph *graph, accel_stream *stream)
{
    accel_status status = accel__graph_lock(graph, __func__);
    if (status != ACCEL_OK)
        return status;
    status = check_captured(graph, __func__);
    if (status == ACCEL_OK)
        status = accel__graph_stream(graph, stream, __func__, &stream);
    if (status == ACCEL_OK)
        status = replay_or_capture(graph, stream, __func__);
    status = accel__graph_unlock(graph, accel__error_met_by(status, __func__));
    accel__graph_collect();
    return status;
}
