/* capture.c: the begin and the end of captures. What happens in between is record.c. */
#include "base/allocate.h"
#include "base/error.h"
#include "base/log.h"
#include "graph/record.h"
#include "memory/pool.h"

/* With the capture locked: streams and events are as before. */
static void dissolve(accel__graph_capture *capture)
{
    capture->is_over = true;
    for (size_t i = 0; i < capture->member_count; i++) {
        accel__capture_leave(&capture->head, capture->members[i].stream);
        accel_stream_release(capture->members[i].stream);
        accel__deallocate(capture->members[i].front.nodes);
    }
    for (size_t i = 0; i < capture->mark_count; i++) {
        accel__capture_unmark_event(&capture->head, capture->marks[i].event);
        accel_event_release(capture->marks[i].event);
        accel__deallocate(capture->marks[i].front.nodes);
    }
    accel__deallocate(capture->members);
    accel__deallocate(capture->marks);
    capture->members = NULL;
    capture->marks = NULL;
    capture->member_count = capture->mark_count = 0;
}

/* The capture, which is unlocked by this, is over. */
static void close(accel_graph *graph, accel__plan *out_plan)
{
    accel__graph_capture *capture = graph->capture;
    graph->capture = NULL;
    dissolve(capture);
    accel__plan_move(out_plan, &capture->plan);
    accel__mutex_unlock(&capture->mutex);
    accel__capture_close(&capture->head);
}

static bool is_of_parent(const accel__graph_capture *capture)
{
    return capture->head.generation != accel__generation();
}

void accel__graph_abandon(accel_graph *graph, accel__plan *out_plan)
{
    if (graph->capture == NULL)
        return;
    if (is_of_parent(
            graph->capture)) { /* another thread may have been changing it: left as it is */
        graph->capture = NULL;
        return;
    }
    accel__mutex_lock(&graph->capture->mutex);
    close(graph, out_plan);
}

uint32_t accel__graph_captured_count(const accel_graph *graph)
{
    accel__graph_capture *capture = graph->capture;
    accel__mutex_lock(&capture->mutex);
    const size_t count = capture->plan.count;
    accel__mutex_unlock(&capture->mutex);
    return (uint32_t)count;
}

/* ---- begin ---- */

static accel_status check_begin(const accel_graph *graph, accel_stream *stream,
                                const char *function)
{
    const char *backend = graph->device->backend->table.name;
    if (graph->capture != NULL)
        return accel__fail(ACCEL_ERROR_INVALID_STATE, backend, function,
                           "the graph is being captured already: end that capture, or reset the "
                           "graph");
    if (graph->is_captured)
        return accel__fail(ACCEL_ERROR_INVALID_STATE, backend, function,
                           "the graph is captured or built already: reset it, or make another one, "
                           "to capture anew");
    if (stream->is_default)
        return accel__fail(ACCEL_ERROR_INVALID_STATE, backend, function,
                           "the stream is the device's default stream, which every thread uses: "
                           "capture on one made with accel_stream_create");
    return ACCEL_OK;
}

static accel_status find_pool(accel_graph *graph, accel__graph_capture *capture,
                              const char *function)
{
    accel_memory_pool *pool = graph->pool;
    const accel_status status = pool != NULL
                                    ? accel_memory_pool_retain(pool)
                                    : accel__pool_create_for_graph(graph->device, function, &pool);
    if (status != ACCEL_OK)
        return status;
    accel__pool_keep(pool); /* replays use what no allocation names any more */
    capture->plan.pool = pool;
    return ACCEL_OK;
}

static accel_status open_on(accel_graph *graph, accel__graph_capture *capture, accel_stream *stream,
                            const char *function)
{
    accel_status status = find_pool(graph, capture, function);
    if (status == ACCEL_OK && accel__record_member(capture, stream) == NULL)
        status = accel__graph_no_memory(graph, function);
    if (status != ACCEL_OK)
        return status;
    return accel__capture_open(&capture->head, stream, function);
}

static accel_status begin(accel_graph *graph, accel_stream *stream, accel_capture_mode mode,
                          const char *function)
{
    accel__graph_capture *capture = accel__allocate(sizeof *capture);
    if (capture == NULL)
        return accel__graph_no_memory(graph, function);
    capture->head.ops = &accel__record_ops;
    capture->head.device = graph->device;
    capture->head.thread = accel__thread_number();
    capture->head.forbids_others = mode == ACCEL_CAPTURE_MODE_GLOBAL;
    capture->head.forbids_own = mode != ACCEL_CAPTURE_MODE_RELAXED;
    capture->is_relaxed = mode == ACCEL_CAPTURE_MODE_RELAXED;
    capture->origin = stream;
    const accel_status status = open_on(graph, capture, stream, function);
    if (status == ACCEL_OK) {
        graph->capture = capture;
        return status;
    }
    dissolve(capture);
    accel__plan_clear(&capture->plan); /* a pool that is new, or that the graph has, too */
    accel__deallocate(capture);
    return status;
}

accel_status accel_graph_capture_begin(accel_graph *graph, accel_stream *stream,
                                       accel_capture_mode mode)
{
    accel_native_stream *native = NULL;
    accel__capture *other = NULL;
    accel_status status = accel__graph_lock(graph, __func__);
    if (status != ACCEL_OK)
        return status;
    if ((unsigned)mode > ACCEL_CAPTURE_MODE_RELAXED)
        status = accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, __func__,
                             "mode %d is none of accel_capture_mode", (int)mode);
    if (status == ACCEL_OK)
        status = accel__graph_stream(graph, stream, __func__, &stream);
    if (status == ACCEL_OK)
        status = check_begin(graph, stream, __func__);
    if (status == ACCEL_OK)
        status = accel__stream_use(stream, __func__, &native, &other);
    accel__capture_release(other); /* the stream is found busy at the opening, if it still is */
    if (status == ACCEL_OK)
        status = begin(graph, stream, mode, __func__);
    return accel__graph_unlock(graph, accel__error_met_by(status, __func__));
}

/* ---- end ---- */

/* Marks all that `node` depends on in `reached`. Dependencies have smaller numbers: one way suffices. */
static void reach(const accel__plan *plan, const accel__front *from, bool *reached)
{
    for (size_t i = 0; i < from->count; i++)
        reached[from->nodes[i]] = true;
    for (size_t i = plan->count; i-- > 0;) {
        const accel__node *node = &plan->nodes[i];
        for (uint32_t d = 0; reached[i] && d < node->dependency_count; d++)
            reached[accel__node_dependencies(plan, node)[d]] = true;
    }
}

/* The first stream with work that the origin does not wait for; NULL: all are joined. */
static const accel_stream *find_unjoined(const accel__graph_capture *capture, const bool *reached)
{
    for (size_t m = 1; m < capture->member_count; m++)
        for (size_t i = 0; i < capture->members[m].front.count; i++)
            if (!reached[capture->members[m].front.nodes[i]])
                return capture->members[m].stream;
    return NULL;
}

static accel_status check_joined(accel__graph_capture *capture, const char *function)
{
    if (capture->member_count < 2 || capture->plan.count == 0)
        return ACCEL_OK;
    bool *reached = accel__allocate(capture->plan.count);
    if (reached == NULL)
        return accel__record_no_memory(capture, function);
    reach(&capture->plan, &capture->members[0].front, reached);
    const accel_stream *found = find_unjoined(capture, reached);
    accel__deallocate(reached);
    if (found == NULL)
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_CAPTURE, accel__capture_backend(capture), function,
                       "stream %llu takes part in the capture and was not joined: before the end, "
                       "have the stream on which it began wait for it (accel_stream_wait_stream)",
                       (unsigned long long)found->id);
}

static accel_status check_end(const accel_graph *graph, const accel_stream *stream,
                              const char *function)
{
    const accel__graph_capture *capture = graph->capture;
    const char *backend = graph->device->backend->table.name;
    if (capture == NULL)
        return accel__fail(
            ACCEL_ERROR_INVALID_STATE, backend, function,
            "the graph is not being captured: accel_graph_capture_begin comes first");
    if (is_of_parent(capture))
        return accel__fail(
            ACCEL_ERROR_FORKED, backend, function,
            "the process was forked during the capture, which belongs to the parent: "
            "reset the graph, and capture anew");
    if (stream != capture->origin)
        return accel__fail(
            ACCEL_ERROR_INVALID_STATE, backend, function,
            "a capture must end on the stream on which it began, stream %llu; this is "
            "stream %llu",
            (unsigned long long)capture->origin->id, (unsigned long long)stream->id);
    if (!capture->is_relaxed && capture->head.thread != accel__thread_number())
        return accel__fail(
            ACCEL_ERROR_INVALID_STATE, backend, function,
            "a capture must end on the thread that began it: end it there, or capture "
            "with ACCEL_CAPTURE_MODE_RELAXED");
    return ACCEL_OK;
}

/* The capture's plan to the graph, where all is well, else to *out_left; it is over in any case. */
static accel_status end(accel_graph *graph, const char *function, accel__plan *out_left)
{
    accel__graph_capture *capture = graph->capture;
    accel__mutex_lock(&capture->mutex);
    const accel_status status = capture->failure == ACCEL_OK
                                    ? check_joined(capture, function)
                                    : accel__record_fail_spoilt(capture, function);
    close(graph, out_left);
    if (status != ACCEL_OK)
        return status;
    accel__plan_move(&graph->plan, out_left);
    graph->is_captured = graph->is_dirty = true;
    return status;
}

static accel_status end_and_instantiate(accel_graph *graph, const char *function,
                                        accel__plan *out_left)
{
    accel_status status = end(graph, function, out_left);
    if (status != ACCEL_OK || graph->keep_graph)
        return status;
    status = accel__executable_make(graph, function, &graph->executable);
    graph->is_dirty = status != ACCEL_OK;
    if (status == ACCEL_OK)
        return status;
    accel__plan_move(out_left, &graph->plan);
    graph->is_captured = false;
    return status;
}

accel_status accel_graph_capture_end(accel_graph *graph, accel_stream *stream)
{
    accel__plan left = {0};
    accel_status status = accel__graph_lock(graph, __func__);
    if (status != ACCEL_OK)
        return status;
    status = accel__graph_stream(graph, stream, __func__, &stream);
    if (status == ACCEL_OK)
        status = check_end(graph, stream, __func__);
    if (status == ACCEL_OK)
        status = end_and_instantiate(graph, __func__, &left);
    const bool is_empty = status == ACCEL_OK && graph->plan.count == 0;
    const char *backend = graph->device->backend->table.name;
    status = accel__graph_unlock(graph, accel__error_met_by(status, __func__));
    if (is_empty)
        accel__log(ACCEL_LOG_LEVEL_WARNING, backend,
                   "a graph was captured without any work: its replay does nothing (was the work "
                   "queued on another stream, or done on the host?)");
    accel__plan_clear(&left);
    accel__graph_collect();
    return status;
}
