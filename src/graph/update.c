/* update.c: other arguments for nodes that are there: accel_graph_update_…. The node gets a new payload;
 * replays that are queued have the old one. */
#include "base/error.h"
#include "graph/build.h"

static const char *const kind_names[] = {
    [ACCEL_GRAPH_NODE_KIND_EMPTY] = "an empty node",
    [ACCEL_GRAPH_NODE_KIND_KERNEL] = "a kernel",
    [ACCEL_GRAPH_NODE_KIND_COPY] = "a copy",
    [ACCEL_GRAPH_NODE_KIND_FILL] = "a fill",
    [ACCEL_GRAPH_NODE_KIND_CALLBACK] = "a callback",
    [ACCEL_GRAPH_NODE_KIND_EVENT_RECORD] = "a record of an event",
    [ACCEL_GRAPH_NODE_KIND_EVENT_WAIT] = "a wait for an event",
    [ACCEL_GRAPH_NODE_KIND_CHILD] = "a child graph",
};

/* With the graph locked. */
static accel_status find(const accel_graph *graph, accel_graph_node node,
                         accel_graph_node_kind wanted, const char *function)
{
    const char *backend = graph->device->backend->table.name;
    const accel_status status = accel__graph_check_idle(graph, function);
    if (status != ACCEL_OK)
        return status;
    if (node >= graph->plan.count)
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, backend, function,
                           "there is no node %u: the graph has %zu nodes", node, graph->plan.count);
    const accel_graph_node_kind kind = graph->plan.nodes[node].payload->kind;
    if (kind == wanted)
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, backend, function, "node %u is %s, not %s",
                       node, kind_names[kind], kind_names[wanted]);
}

/* Gives the node the payload, which is taken over. */
static accel_status replace(accel_graph *graph, accel_graph_node node, accel_graph_node_kind kind,
                            accel__payload *payload, const char *function)
{
    accel__mutex_lock(&graph->mutex);
    accel_status status = find(graph, node, kind, function);
    accel__payload *old = payload;
    if (status == ACCEL_OK)
        status = accel__graph_check_room(&graph->plan, payload, graph->plan.nodes[node].payload,
                                         function);
    if (status == ACCEL_OK) {
        old = accel__plan_replace(&graph->plan, node, payload);
        accel__executable_update(graph, node, old, payload);
    }
    accel__mutex_unlock(&graph->mutex);
    accel__payload_release(old);
    return status;
}

/* The kernel and the shape that the node has; the kernel's module is counted for the caller. */
static accel_status find_kernel(accel_graph *graph, accel_graph_node node, const char *function,
                                accel_kernel **out_kernel, accel_launch_shape *out_shape)
{
    accel_status status = accel__graph_lock(graph, function);
    if (status != ACCEL_OK)
        return status;
    status = find(graph, node, ACCEL_GRAPH_NODE_KIND_KERNEL, function);
    if (status == ACCEL_OK) {
        const accel__payload *payload = graph->plan.nodes[node].payload;
        *out_kernel = payload->launch.kernel;
        *out_shape = payload->launch.shape;
        accel_module_retain((*out_kernel)->module);
    }
    return accel__graph_unlock(graph, status);
}

accel_status accel_graph_update_kernel(accel_graph *graph, accel_graph_node node,
                                       const accel_launch_shape *shape,
                                       const accel_kernel_arg *args, uint32_t arg_count)
{
    accel_kernel *kernel = NULL;
    accel__payload *payload = NULL;
    accel_launch_shape before = {0};
    accel_status status = find_kernel(graph, node, __func__, &kernel, &before);
    if (status != ACCEL_OK || kernel == NULL)
        return status;
    status = accel__build_kernel(graph, kernel, shape != NULL ? shape : &before, args, arg_count,
                                 __func__, &payload);
    if (status == ACCEL_OK && payload->kind != ACCEL_GRAPH_NODE_KIND_KERNEL) {
        accel__payload_release(payload);
        status = accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, __func__,
                             "a grid dimension is 0: a node cannot become an empty one");
    } else if (status == ACCEL_OK)
        status = replace(graph, node, ACCEL_GRAPH_NODE_KIND_KERNEL, payload, __func__);
    accel_module_release(kernel->module);
    return status;
}

accel_status accel_graph_update_copy(accel_graph *graph, accel_graph_node node, void *destination,
                                     const void *source, size_t size)
{
    return accel__error_met_by(
        accel_graph_update_copy_2d(graph, node, destination, size, source, size, size, 1),
        __func__);
}

static accel_status fail_nothing(const char *function)
{
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                       "the size is 0: a node cannot become an empty one");
}

accel_status accel_graph_update_copy_2d(accel_graph *graph, accel_graph_node node,
                                        void *destination, size_t destination_pitch,
                                        const void *source, size_t source_pitch, size_t width,
                                        size_t height)
{
    accel__payload *payload = NULL;
    accel_backend_copy copy = {0};
    accel_status status = accel__graph_check(graph, __func__);
    if (status == ACCEL_OK && (width == 0 || height == 0))
        status = fail_nothing(__func__);
    if (status == ACCEL_OK)
        status = accel__copy_rows_of(destination, destination_pitch, source, source_pitch, width,
                                     height, __func__, &copy);
    if (status == ACCEL_OK)
        status = accel__build_copy(graph, &copy, __func__, &payload);
    return status == ACCEL_OK ? replace(graph, node, ACCEL_GRAPH_NODE_KIND_COPY, payload, __func__)
                              : status;
}

accel_status accel_graph_update_fill(accel_graph *graph, accel_graph_node node, void *destination,
                                     const void *pattern, size_t pattern_size, size_t size)
{
    const accel__fill_given given = {destination, pattern, pattern_size, size};
    accel__payload *payload = NULL;
    accel_status status = accel__graph_check(graph, __func__);
    if (status == ACCEL_OK && size == 0)
        status = fail_nothing(__func__);
    if (status == ACCEL_OK)
        status = accel__build_fill(graph, &given, __func__, &payload);
    return status == ACCEL_OK ? replace(graph, node, ACCEL_GRAPH_NODE_KIND_FILL, payload, __func__)
                              : status;
}

accel_status accel_graph_update_callback(accel_graph *graph, accel_graph_node node,
                                         accel_stream_callback callback, void *user)
{
    accel__payload *payload = NULL;
    accel_status status = accel__graph_check(graph, __func__);
    if (status == ACCEL_OK)
        status = accel__build_callback(graph, callback, user, __func__, &payload);
    return status == ACCEL_OK
               ? replace(graph, node, ACCEL_GRAPH_NODE_KIND_CALLBACK, payload, __func__)
               : status;
}

accel_status accel_graph_update_child(accel_graph *graph, accel_graph_node node,
                                      const accel_graph *child)
{
    accel__payload *payload = NULL;
    accel_status status = accel__graph_check(graph, __func__);
    if (status == ACCEL_OK)
        status = accel__build_child(graph, child, __func__, &payload);
    return status == ACCEL_OK ? replace(graph, node, ACCEL_GRAPH_NODE_KIND_CHILD, payload, __func__)
                              : status;
}
