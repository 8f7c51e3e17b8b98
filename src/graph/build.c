/* build.c: nodes that are added one by one: accel_graph_add_…. What each call takes is checked as the
 * call that the node stands for does. */
#include "graph/build.h"
#include "core/launch.h"

#include "base/error.h"
#include "core/event.h"

/* ---- payloads from arguments ---- */

static accel_status fail_device(const accel_graph *graph, const char *what, const char *function)
{
    return accel__fail(ACCEL_ERROR_MISMATCH, graph->device->backend->table.name, function,
                       "the %s is of another device than the graph (device %d of '%s')", what,
                       graph->device->id.index, graph->device->backend->table.name);
}

static accel_status made(const accel_graph *graph, const char *function, accel__payload *payload)
{
    return payload != NULL ? ACCEL_OK : accel__graph_no_memory(graph, function);
}

accel_status accel__build_kernel(const accel_graph *graph, accel_kernel *kernel,
                                 const accel_launch_shape *shape, const accel_kernel_arg *args,
                                 uint32_t arg_count, const char *function,
                                 accel__payload **out_payload)
{
    bool is_empty = false;
    accel_status status = accel__launch_check(kernel, shape, args, arg_count, &is_empty);
    if (status != ACCEL_OK)
        return accel__error_met_by(status, function);
    if (kernel->device != graph->device)
        return fail_device(graph, "kernel", function);
    *out_payload = is_empty ? accel__payload_make(ACCEL_GRAPH_NODE_KIND_EMPTY)
                            : accel__payload_of_launch(kernel, shape, args, arg_count);
    return made(graph, function, *out_payload);
}

/* One side must be the graph's device, unless both are the host. */
static bool is_copy_of(const accel_graph *graph, const accel__captured_copy *copy)
{
    return copy->to == graph->device || copy->from == graph->device ||
           (copy->to == NULL && copy->from == NULL);
}

accel_status accel__build_copy(const accel_graph *graph, const accel_backend_copy *copy,
                               const char *function, accel__payload **out_payload)
{
    accel__captured_copy described = {0};
    if (copy->width == 0) {
        *out_payload = accel__payload_make(ACCEL_GRAPH_NODE_KIND_EMPTY);
        return made(graph, function, *out_payload);
    }
    const accel_status status = accel__copy_describe(copy, function, &described);
    if (status != ACCEL_OK)
        return status;
    if (!is_copy_of(graph, &described))
        return fail_device(graph, "memory on both sides", function);
    *out_payload = accel__payload_of_copy(&described);
    return made(graph, function, *out_payload);
}

accel_status accel__build_fill(const accel_graph *graph, const accel__fill_given *given,
                               const char *function, accel__payload **out_payload)
{
    accel__device *device = NULL;
    const accel_status status = accel__fill_check(
        given->destination, given->pattern, given->pattern_size, given->size, function, &device);
    if (status != ACCEL_OK)
        return status;
    if (given->size != 0 && device != graph->device)
        return fail_device(graph, "memory", function);
    *out_payload = given->size == 0 ? accel__payload_make(ACCEL_GRAPH_NODE_KIND_EMPTY)
                                    : accel__payload_of_fill(given->destination, given->pattern,
                                                             given->pattern_size, given->size);
    return made(graph, function, *out_payload);
}

accel_status accel__build_callback(const accel_graph *graph, accel_stream_callback callback,
                                   void *user, const char *function, accel__payload **out_payload)
{
    if (callback == NULL)
        return accel__fail_null(function, "callback");
    *out_payload = accel__payload_of_callback(callback, user);
    return made(graph, function, *out_payload);
}

static accel_status build_event(const accel_graph *graph, accel_graph_node_kind kind,
                                accel_event *event, const char *function,
                                accel__payload **out_payload)
{
    if (!accel__handle_is_live(event, ACCEL__HANDLE_EVENT))
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "the event is NULL or was released");
    accel__device *bound = event->device;
    if (kind == ACCEL_GRAPH_NODE_KIND_EVENT_RECORD &&
        (event->backend != graph->device->backend || (bound != NULL && bound != graph->device)))
        return fail_device(graph, "event", function);
    *out_payload = accel__payload_of_event(kind, event);
    return made(graph, function, *out_payload);
}

/* Locks the child, which may be the graph itself: that is locked only after. */
accel_status accel__build_child(const accel_graph *graph, const accel_graph *given,
                                const char *function, accel__payload **out_payload)
{
    accel_graph *child = (accel_graph *)(uintptr_t)given; /* its mutex changes, and nothing else */
    accel_status status = accel__graph_lock(child, function);
    if (status != ACCEL_OK)
        return status;
    status = accel__graph_check_idle(child, function);
    if (status == ACCEL_OK && !child->is_captured)
        status = accel__fail(ACCEL_ERROR_INVALID_STATE, NULL, function,
                             "the child graph is empty: capture it or add nodes to it first");
    if (status == ACCEL_OK && child->device != graph->device)
        status = fail_device(graph, "child graph", function);
    if (status == ACCEL_OK) {
        *out_payload = accel__payload_of_child(&child->plan);
        status = made(graph, function, *out_payload);
    }
    return accel__graph_unlock(child, status);
}

/* ---- adding ---- */

static accel_status check_dependencies(const accel_graph *graph,
                                       const accel_graph_node *dependencies, uint32_t count,
                                       const char *function)
{
    if (count != 0 && dependencies == NULL)
        return accel__fail_null(function, "dependencies");
    for (uint32_t i = 0; i < count; i++)
        if (dependencies[i] >= graph->plan.count)
            return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, graph->device->backend->table.name,
                               function, "dependency %u is node %u: the graph has %zu nodes", i,
                               dependencies[i], graph->plan.count);
    return ACCEL_OK;
}

/* Where a new node goes. */
typedef struct place {
    const accel_graph_node *dependencies;
    uint32_t dependency_count;
    accel_graph_node *out_node; /* may be NULL */
    const char *function;
} place;

static accel_status add_locked(accel_graph *graph, const place *node, accel__payload *payload)
{
    accel_status status = accel__graph_check_idle(graph, node->function);
    if (status == ACCEL_OK)
        status = check_dependencies(graph, node->dependencies, node->dependency_count,
                                    node->function);
    if (status == ACCEL_OK)
        status = accel__graph_check_room(&graph->plan, payload, NULL, node->function);
    if (status != ACCEL_OK) {
        accel__payload_release(payload);
        return status;
    }
    if (!accel__plan_add(&graph->plan, payload, node->dependencies, node->dependency_count,
                         node->out_node))
        return accel__graph_no_memory(graph, node->function);
    graph->is_captured = graph->is_dirty = true;
    return ACCEL_OK;
}

/* Takes the payload over. */
static accel_status add(accel_graph *graph, const place *node, accel__payload *payload)
{
    accel__mutex_lock(&graph->mutex);
    return accel__graph_unlock(graph, add_locked(graph, node, payload));
}

static accel_status begin(const accel_graph *graph, const place *node)
{
    return accel__graph_check(graph, node->function);
}

/* `out_node` may be one of the dependencies: it is written last. Takes the payload over. */
static accel_status finish(accel_graph *graph, const place *node, accel_status status,
                           accel__payload *payload)
{
    if (status == ACCEL_OK)
        status = add(graph, node, payload);
    if (status != ACCEL_OK && node->out_node != NULL)
        *node->out_node = UINT32_MAX;
    return status;
}

#define PLACE                                                                                      \
    {                                                                                              \
        dependencies, dependency_count, out_node, __func__                                         \
    }

accel_status accel_graph_add_empty(accel_graph *graph, const accel_graph_node *dependencies,
                                   uint32_t dependency_count, accel_graph_node *out_node)
{
    const place node = PLACE;
    accel__payload *payload = NULL;
    accel_status status = begin(graph, &node);
    if (status == ACCEL_OK) {
        payload = accel__payload_make(ACCEL_GRAPH_NODE_KIND_EMPTY);
        status = made(graph, __func__, payload);
    }
    return finish(graph, &node, status, payload);
}

accel_status accel_graph_add_kernel(accel_graph *graph, const accel_graph_node *dependencies,
                                    uint32_t dependency_count, accel_kernel *kernel,
                                    const accel_launch_shape *shape, const accel_kernel_arg *args,
                                    uint32_t arg_count, accel_graph_node *out_node)
{
    const place node = PLACE;
    accel__payload *payload = NULL;
    accel_status status = begin(graph, &node);
    if (status == ACCEL_OK)
        status = accel__build_kernel(graph, kernel, shape, args, arg_count, __func__, &payload);
    return finish(graph, &node, status, payload);
}

accel_status accel_graph_add_copy(accel_graph *graph, const accel_graph_node *dependencies,
                                  uint32_t dependency_count, void *destination, const void *source,
                                  size_t size, accel_graph_node *out_node)
{
    return accel__error_met_by(accel_graph_add_copy_2d(graph, dependencies, dependency_count,
                                                       destination, size, source, size, size, 1,
                                                       out_node),
                               __func__);
}

accel_status accel_graph_add_copy_2d(accel_graph *graph, const accel_graph_node *dependencies,
                                     uint32_t dependency_count, void *destination,
                                     size_t destination_pitch, const void *source,
                                     size_t source_pitch, size_t width, size_t height,
                                     accel_graph_node *out_node)
{
    const place node = PLACE;
    accel__payload *payload = NULL;
    accel_backend_copy copy = {0};
    accel_status status = begin(graph, &node);
    if (status == ACCEL_OK)
        status = accel__copy_rows_of(destination, destination_pitch, source, source_pitch, width,
                                     height, __func__, &copy);
    if (status == ACCEL_OK)
        status = accel__build_copy(graph, &copy, __func__, &payload);
    return finish(graph, &node, status, payload);
}

accel_status accel_graph_add_fill(accel_graph *graph, const accel_graph_node *dependencies,
                                  uint32_t dependency_count, void *destination, const void *pattern,
                                  size_t pattern_size, size_t size, accel_graph_node *out_node)
{
    const place node = PLACE;
    const accel__fill_given given = {destination, pattern, pattern_size, size};
    accel__payload *payload = NULL;
    accel_status status = begin(graph, &node);
    if (status == ACCEL_OK)
        status = accel__build_fill(graph, &given, __func__, &payload);
    return finish(graph, &node, status, payload);
}

accel_status accel_graph_add_callback(accel_graph *graph, const accel_graph_node *dependencies,
                                      uint32_t dependency_count, accel_stream_callback callback,
                                      void *user, accel_graph_node *out_node)
{
    const place node = PLACE;
    accel__payload *payload = NULL;
    accel_status status = begin(graph, &node);
    if (status == ACCEL_OK)
        status = accel__build_callback(graph, callback, user, __func__, &payload);
    return finish(graph, &node, status, payload);
}

static accel_status add_event(accel_graph *graph, const place *node, accel_graph_node_kind kind,
                              accel_event *event)
{
    accel__payload *payload = NULL;
    accel_status status = begin(graph, node);
    if (status == ACCEL_OK)
        status = build_event(graph, kind, event, node->function, &payload);
    return finish(graph, node, status, payload);
}

accel_status accel_graph_add_event_record(accel_graph *graph, const accel_graph_node *dependencies,
                                          uint32_t dependency_count, accel_event *event,
                                          accel_graph_node *out_node)
{
    const place node = PLACE;
    return add_event(graph, &node, ACCEL_GRAPH_NODE_KIND_EVENT_RECORD, event);
}

accel_status accel_graph_add_event_wait(accel_graph *graph, const accel_graph_node *dependencies,
                                        uint32_t dependency_count, accel_event *event,
                                        accel_graph_node *out_node)
{
    const place node = PLACE;
    return add_event(graph, &node, ACCEL_GRAPH_NODE_KIND_EVENT_WAIT, event);
}

accel_status accel_graph_add_child(accel_graph *graph, const accel_graph_node *dependencies,
                                   uint32_t dependency_count, const accel_graph *child,
                                   accel_graph_node *out_node)
{
    const place node = PLACE;
    accel__payload *payload = NULL;
    accel_status status = begin(graph, &node);
    if (status == ACCEL_OK)
        status = accel__build_child(graph, child, __func__, &payload);
    return finish(graph, &node, status, payload);
}
