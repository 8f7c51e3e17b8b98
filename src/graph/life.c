/* life.c: graphs as objects: made, counted, emptied; the checks that every function begins with; and
 * the scope. */
#include "base/allocate.h"
#include "base/error.h"
#include "base/lent.h"
#include "core/current.h"
#include "graph/graph.h"

/* ---- checks ---- */

static accel_status check_live(const accel_graph *graph, const char *function)
{
    if (accel__handle_is_live(graph, ACCEL__HANDLE_GRAPH))
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                       graph == NULL ? "the graph is NULL" : "the graph was released");
}

accel_status accel__graph_check(const accel_graph *graph, const char *function)
{
    const accel_status status = check_live(graph, function);
    return status == ACCEL_OK ? accel__check_callback(function) : status;
}

accel_status accel__graph_lock(accel_graph *graph, const char *function)
{
    const accel_status status = accel__graph_check(graph, function);
    if (status == ACCEL_OK)
        accel__mutex_lock(&graph->mutex);
    return status;
}

accel_status accel__graph_unlock(accel_graph *graph, accel_status status)
{
    accel__mutex_unlock(&graph->mutex);
    return status;
}

accel_status accel__graph_check_idle(const accel_graph *graph, const char *function)
{
    if (graph->capture == NULL)
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_INVALID_STATE, graph->device->backend->table.name, function,
                       "the graph is being captured: accel_graph_capture_end comes first");
}

accel_status accel__graph_check_room(const accel__plan *plan, const accel__payload *payload,
                                     const accel__payload *instead, const char *function)
{
    if (payload == NULL || accel__plan_has_room(plan, payload, instead))
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, NULL, function,
                       "a graph can have %d nodes, with those of its children, and children in "
                       "children %d deep: this would be more",
                       (int)ACCEL__PLAN_MAX_NODES, (int)ACCEL__PLAN_MAX_DEPTH);
}

accel_status accel__graph_no_memory(const accel_graph *graph, const char *function)
{
    return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, graph->device->backend->table.name, function,
                       "no memory for the graph");
}

accel_status accel__graph_stream(const accel_graph *graph, accel_stream *stream,
                                 const char *function, accel_stream **out_stream)
{
    if (stream == NULL)
        stream = accel__current_stream(graph->device);
    *out_stream = stream;
    const accel_status status = accel__stream_check(stream, function);
    if (status != ACCEL_OK || stream->device == graph->device)
        return status;
    return accel__fail(ACCEL_ERROR_MISMATCH, graph->device->backend->table.name, function,
                       "the graph is of device %d of '%s', the stream of device %d of '%s'",
                       graph->device->id.index, graph->device->backend->table.name,
                       stream->device->id.index, stream->backend->table.name);
}

/* ---- creation ---- */

static accel_status keep_pool(accel_graph *graph, accel_memory_pool *pool, const char *function)
{
    accel_device of = ACCEL_DEVICE(ACCEL_BACKEND_NONE, ACCEL_INDEX_NONE);
    accel_status status = accel_memory_pool_get_device(pool, &of);
    if (status == ACCEL_OK &&
        (of.backend != graph->device->id.backend || of.index != graph->device->id.index))
        return accel__fail(ACCEL_ERROR_MISMATCH, graph->device->backend->table.name, function,
                           "the pool is of another device than the graph");
    if (status == ACCEL_OK)
        status = accel_memory_pool_retain(pool);
    if (status == ACCEL_OK)
        graph->pool = pool;
    return accel__error_met_by(status, function);
}

accel_status accel_graph_create(accel_device device, const accel_graph_options *options,
                                accel_graph **out_graph)
{
    if (out_graph == NULL)
        return accel__fail_null(__func__, "out_graph");
    *out_graph = NULL;
    accel_graph_options known = {0};
    accel__device *found = NULL;
    accel_status status = accel__options_read(options, &known, sizeof known, __func__);
    if (status == ACCEL_OK)
        status = accel__device_resolve(device, __func__, &found);
    if (status != ACCEL_OK)
        return status;
    accel_graph *graph = accel__allocate(sizeof *graph);
    if (graph == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, found->backend->table.name, __func__,
                           "no memory for a graph");
    graph->references = 1;
    graph->device = found;
    graph->keep_graph = known.keep_graph;
    if (known.pool != NULL)
        status = keep_pool(graph, known.pool, __func__);
    if (status != ACCEL_OK) {
        accel__deallocate(graph);
        return status;
    }
    accel__handle_open(&graph->handle, ACCEL__HANDLE_GRAPH);
    *out_graph = graph;
    return ACCEL_OK;
}

/* ---- the end ---- */

/* What a graph had. */
typedef struct remains {
    accel__plan captured; /* of an open capture */
    accel__plan plan;
    accel__executable *executable;
    accel_stream *last;
} remains;

/* With the graph locked, or nobody's. */
static void empty(accel_graph *graph, remains *out_remains)
{
    accel__graph_abandon(graph, &out_remains->captured);
    accel__plan_move(&out_remains->plan, &graph->plan);
    out_remains->executable = graph->executable;
    out_remains->last = graph->last.stream;
    graph->executable = NULL;
    graph->last.stream = NULL;
    graph->is_captured = graph->is_dirty = false;
}

/* Without a lock. A graph without an executable was never replayed since it was emptied last. */
static void give_back(remains *what)
{
    accel__plan_clear(&what->captured);
    if (what->executable != NULL)
        accel__graph_retire(what->executable, &what->plan, what->last);
    else
        accel__plan_clear(&what->plan);
    accel__graph_collect();
}

accel_status accel_graph_reset(accel_graph *graph)
{
    const accel_status status = accel__graph_lock(graph, __func__);
    if (status != ACCEL_OK)
        return status;
    remains left = {0};
    empty(graph, &left);
    accel__mutex_unlock(&graph->mutex);
    give_back(&left);
    return ACCEL_OK;
}

void accel_graph_retain(accel_graph *graph)
{
    if (accel__handle_is_live(graph, ACCEL__HANDLE_GRAPH))
        atomic_fetch_add_explicit(&graph->references, 1, memory_order_relaxed);
}

void accel_graph_release(accel_graph *graph)
{
    if (!accel__handle_is_live(graph, ACCEL__HANDLE_GRAPH) ||
        atomic_fetch_sub(&graph->references, 1) != 1)
        return;
    remains left = {0};
    accel__error_mute();
    empty(graph, &left);
    give_back(&left);
    if (graph->pool != NULL)
        accel_memory_pool_release(graph->pool);
    accel__error_unmute();
    accel__handle_close(&graph->handle);
    accel__deallocate(graph);
}

/* ---- the scope ---- */

/* A stream for a scope that was given none. */
static accel_status find_stream(const accel_graph *graph, accel_stream *given, const char *function,
                                accel_stream **out_stream)
{
    *out_stream = given;
    if (given == NULL)
        return accel__error_met_by(accel_stream_create(graph->device->id, NULL, out_stream),
                                   function);
    const accel_status status = accel__stream_check(given, function);
    if (status == ACCEL_OK)
        accel_stream_retain(given);
    return status;
}

static accel_status open_scope(accel_graph *graph, accel_capture_mode mode,
                               accel_graph_scope *scope)
{
    accel_status status = accel_graph_capture_begin(graph, scope->stream, mode);
    if (status != ACCEL_OK)
        return status;
    status = accel_stream_scope_begin(scope->stream, &scope->current);
    if (status != ACCEL_OK)
        accel_graph_reset(graph);
    return status;
}

accel_status accel_graph_scope_begin(accel_graph *graph, accel_stream *stream,
                                     accel_capture_mode mode, accel_graph_scope *out_scope)
{
    if (out_scope == NULL)
        return accel__fail_null(__func__, "out_scope");
    *out_scope = (accel_graph_scope){0};
    accel_status status = accel__graph_check(graph, __func__);
    if (status == ACCEL_OK)
        status = find_stream(graph, stream, __func__, &out_scope->stream);
    if (status != ACCEL_OK) {
        out_scope->stream = NULL;
        return status;
    }
    status = open_scope(graph, mode, out_scope);
    if (status != ACCEL_OK) {
        accel_stream_release(out_scope->stream);
        *out_scope = (accel_graph_scope){0};
        return accel__error_met_by(status, __func__);
    }
    accel_graph_retain(graph);
    out_scope->graph = graph;
    out_scope->active = true;
    return ACCEL_OK;
}

/* Whether the end was refused, as on a wrong thread, and the capture is as it was. */
static bool goes_on(accel_graph *graph, accel_status status)
{
    bool is_open = status == ACCEL_ERROR_IN_CALLBACK;
    if (status == ACCEL_ERROR_INVALID_STATE) {
        accel__mutex_lock(&graph->mutex);
        is_open = graph->capture != NULL;
        accel__mutex_unlock(&graph->mutex);
    }
    return is_open;
}

accel_status accel_graph_scope_end(accel_graph_scope *scope)
{
    if (scope == NULL || !scope->active)
        return ACCEL_OK;
    const accel_status status = accel_graph_capture_end(scope->graph, scope->stream);
    if (goes_on(scope->graph, status))
        return accel__error_met_by(status, __func__);
    accel_stream_scope_end(&scope->current);
    accel_stream_release(scope->stream);
    accel_graph_release(scope->graph);
    *scope = (accel_graph_scope){0};
    return accel__error_met_by(status, __func__);
}

accel_status accel_stream_is_capturing(accel_stream *stream, bool *out_capturing)
{
    if (out_capturing == NULL)
        return accel__fail_null(__func__, "out_capturing");
    *out_capturing = false;
    const accel_status status = accel__resolve_stream(stream, __func__, &stream);
    if (status != ACCEL_OK)
        return status;
    accel__capture *capture = accel__capture_of(stream);
    *out_capturing = capture != NULL;
    accel__capture_release(capture);
    return ACCEL_OK;
}
