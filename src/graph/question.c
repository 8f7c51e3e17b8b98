/* question.c: what a program can ask a graph. */
#include "base/error.h"
#include "base/lent.h"
#include "graph/graph.h"

accel_status accel_graph_get_device(const accel_graph *graph, accel_device *out_device)
{
    if (out_device == NULL)
        return accel__fail_null(__func__, "out_device");
    *out_device = ACCEL_DEVICE(ACCEL_BACKEND_NONE, ACCEL_INDEX_NONE);
    const accel_status status = accel__graph_check(graph, __func__);
    if (status == ACCEL_OK)
        *out_device = graph->device->id;
    return status;
}

accel_status accel_graph_get_state(accel_graph *graph, accel_graph_state *out_state)
{
    if (out_state == NULL)
        return accel__fail_null(__func__, "out_state");
    *out_state = ACCEL_GRAPH_STATE_EMPTY;
    const accel_status status = accel__graph_lock(graph, __func__);
    if (status != ACCEL_OK)
        return status;
    if (graph->capture != NULL)
        *out_state = ACCEL_GRAPH_STATE_CAPTURING;
    else if (graph->is_captured)
        *out_state = graph->executable != NULL && !graph->is_dirty ? ACCEL_GRAPH_STATE_INSTANTIATED
                                                                   : ACCEL_GRAPH_STATE_CAPTURED;
    return accel__graph_unlock(graph, ACCEL_OK);
}

accel_status accel_graph_get_node_count(accel_graph *graph, uint32_t *out_count)
{
    if (out_count == NULL)
        return accel__fail_null(__func__, "out_count");
    *out_count = 0;
    const accel_status status = accel__graph_lock(graph, __func__);
    if (status != ACCEL_OK)
        return status;
    *out_count = graph->capture != NULL ? accel__graph_captured_count(graph)
                                        : (uint32_t)graph->plan.count;
    return accel__graph_unlock(graph, ACCEL_OK);
}

/* With the graph locked. */
static accel_status check_node(const accel_graph *graph, accel_graph_node node,
                               const char *function)
{
    const accel_status status = accel__graph_check_idle(graph, function);
    if (status != ACCEL_OK || node < graph->plan.count)
        return status;
    return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, graph->device->backend->table.name, function,
                       "there is no node %u: the graph has %zu nodes", node, graph->plan.count);
}

static void describe(const accel__node *node, accel_graph_node_info *info)
{
    const accel__payload *payload = node->payload;
    info->kind = payload->kind;
    info->dependency_count = node->dependency_count;
    info->level = node->level;
    if (payload->kind == ACCEL_GRAPH_NODE_KIND_KERNEL) {
        info->kernel = payload->launch.kernel;
        info->shape = payload->launch.shape;
    } else if (payload->kind == ACCEL_GRAPH_NODE_KIND_COPY)
        info->size = payload->copy.copy.width * payload->copy.copy.height;
    else if (payload->kind == ACCEL_GRAPH_NODE_KIND_FILL)
        info->size = payload->fill.size;
    else if (payload->kind == ACCEL_GRAPH_NODE_KIND_CHILD)
        info->child_count = payload->child->flat_count;
}

accel_status accel_graph_get_node_info(accel_graph *graph, accel_graph_node node,
                                       accel_graph_node_info *out_info)
{
    accel_graph_node_info info = {0};
    accel_status status = accel__out_check(out_info, __func__);
    if (status != ACCEL_OK)
        return status;
    accel__out_clear(out_info);
    status = accel__graph_lock(graph, __func__);
    if (status != ACCEL_OK)
        return status;
    status = check_node(graph, node, __func__);
    if (status == ACCEL_OK) {
        describe(&graph->plan.nodes[node], &info);
        accel__out_write(out_info, &info, sizeof info);
    }
    return accel__graph_unlock(graph, status);
}

accel_status accel_graph_get_dependencies(accel_graph *graph, accel_graph_node node,
                                          accel_graph_node *out_dependencies, uint32_t capacity,
                                          uint32_t *out_needed)
{
    size_t needed = 0;
    if (out_needed != NULL)
        *out_needed = 0;
    accel_status status = accel__graph_lock(graph, __func__);
    if (status != ACCEL_OK)
        return status;
    status = check_node(graph, node, __func__);
    if (status != ACCEL_OK)
        return accel__graph_unlock(graph, status);
    const accel__node *found = &graph->plan.nodes[node];
    status = accel__buffer_check(out_dependencies, capacity, found->dependency_count, &needed,
                                 __func__);
    for (uint32_t i = 0; status == ACCEL_OK && capacity != 0 && i < needed; i++)
        out_dependencies[i] = accel__node_dependencies(&graph->plan, found)[i];
    if (out_needed != NULL)
        *out_needed = (uint32_t)needed;
    return accel__graph_unlock(graph, status);
}

accel_status accel_graph_pool(accel_graph *graph, accel_memory_pool **out_pool)
{
    if (out_pool == NULL)
        return accel__fail_null(__func__, "out_pool");
    *out_pool = NULL;
    accel_status status = accel__graph_lock(graph, __func__);
    if (status != ACCEL_OK)
        return status;
    *out_pool = graph->plan.pool != NULL ? graph->plan.pool : graph->pool;
    if (*out_pool == NULL)
        status = accel__fail(ACCEL_ERROR_INVALID_STATE, graph->device->backend->table.name,
                             __func__,
                             "the graph has no pool before its first successful capture: capture "
                             "it, or create it with one");
    return accel__graph_unlock(graph, status);
}

accel_status accel_graph_enable_debug_mode(accel_graph *graph)
{
    const accel_status status = accel__graph_lock(graph, __func__);
    if (status != ACCEL_OK)
        return status;
    graph->is_verbose = true;
    return accel__graph_unlock(graph, status);
}
