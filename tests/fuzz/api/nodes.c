/* nodes.c: steps that build graphs node by node, and change nodes. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

enum { DEPENDENCIES_MAX = 4 };

/* What a new node depends on; seldom on one that there is not. */
typedef struct dependencies {
    accel_graph_node nodes[DEPENDENCIES_MAX];
    uint32_t count;
} dependencies;

static dependencies draw_dependencies(fuzz_thread *thread, accel_graph *graph)
{
    dependencies drawn = {{0}, 0};
    uint32_t count = 0;
    CALL(thread, accel_graph_get_node_count, graph, &count);
    if (count == 0)
        return drawn;
    drawn.count = draw_below(&thread->draw, DEPENDENCIES_MAX + 1);
    for (uint32_t i = 0; i < drawn.count; i++)
        drawn.nodes[i] = draw_below(&thread->draw, count);
    if (drawn.count != 0 && draw_chance(&thread->draw, 3))
        drawn.nodes[0] = draw_chance(&thread->draw, 50) ? count : UINT32_MAX;
    return drawn;
}

/* The device of a graph, or any. */
static const fuzz_device_state *device_of(fuzz_thread *thread, const accel_graph *graph)
{
    accel_device device = {0, 0};
    if (graph != NULL && draw_chance(&thread->draw, 90))
        CALL(thread, accel_graph_get_device, graph, &device);
    const fuzz_device_state *state = fuzz_state_of(device);
    return state != NULL ? state : fuzz_good_device(thread);
}

/* ---- adding ---- */

static void add_copy(fuzz_thread *thread, accel_graph *graph, const dependencies *after,
                     accel_graph_node *out_node)
{
    const fuzz_device_state *device = device_of(thread, graph);
    size_t size = draw_below(&thread->draw, 5000);
    void *destination = fuzz_scratch(thread, device, &size);
    const void *source = fuzz_scratch(thread, device, &size);
    const uint32_t height = 1 + draw_below(&thread->draw, 3);
    if (size > FUZZ_SCRATCH_SIZE || draw_chance(&thread->draw, 60))
        CALL(thread, accel_graph_add_copy, graph, after->nodes, after->count, destination, source,
             size, out_node);
    else
        CALL(thread, accel_graph_add_copy_2d, graph, after->nodes, after->count, destination,
             size / height, source, size / height, size / height, height, out_node);
}

static void add_kernel(fuzz_thread *thread, accel_graph *graph, const dependencies *after,
                       accel_graph_node *out_node)
{
    fuzz_launch drawn;
    accel_module *module = fuzz_take(thread, FUZZ_MODULE);
    if (fuzz_draw_launch(thread, module, device_of(thread, graph), &drawn))
        CALL(thread, accel_graph_add_kernel, graph, after->nodes, after->count, drawn.kernel,
             draw_chance(&thread->draw, 97) ? &drawn.shape : NULL, drawn.args,
             drawn.arg_count == UINT32_MAX ? 0 : drawn.arg_count, out_node);
    else
        CALL(thread, accel_graph_add_kernel, graph, after->nodes, after->count, NULL, &drawn.shape,
             drawn.args, 0, out_node);
    fuzz_drop(thread, FUZZ_MODULE, module);
}

static void add_event(fuzz_thread *thread, accel_graph *graph, const dependencies *after,
                      accel_graph_node *out_node)
{
    accel_event *event = fuzz_take(thread, FUZZ_CAPTURE_EVENT);
    if (draw_chance(&thread->draw, 50))
        CALL(thread, accel_graph_add_event_record, graph, after->nodes, after->count, event,
             out_node);
    else
        CALL(thread, accel_graph_add_event_wait, graph, after->nodes, after->count, event,
             out_node);
    fuzz_drop(thread, FUZZ_CAPTURE_EVENT, event);
}

static void add_child(fuzz_thread *thread, accel_graph *graph, const dependencies *after,
                      accel_graph_node *out_node)
{
    uint32_t count = 0;
    accel_graph *child = fuzz_take(thread, FUZZ_GRAPH);
    /* A graph in itself, again and again, would grow without end. */
    CALL(thread, accel_graph_get_node_count, child, &count);
    if (count < 40)
        CALL(thread, accel_graph_add_child, graph, after->nodes, after->count, child, out_node);
    fuzz_drop(thread, FUZZ_GRAPH, child);
}

static void add_node(fuzz_thread *thread)
{
    static const size_t pattern_sizes[] = {1, 2, 4, 8, 4, 3};
    accel_graph *graph = fuzz_take(thread, FUZZ_GRAPH);
    const dependencies after = draw_dependencies(thread, graph);
    accel_graph_node node = 77;
    accel_graph_node *out_node = draw_chance(&thread->draw, 80) ? &node : NULL;
    const uint64_t pattern = draw_bits(&thread->draw);
    switch (draw_below(&thread->draw, 9)) {
    case 0:
        CALL(thread, accel_graph_add_empty, graph,
             draw_chance(&thread->draw, 97) ? after.nodes : NULL, after.count, out_node);
        break;
    case 1:
    case 2:
        add_copy(thread, graph, &after, out_node);
        break;
    case 3:
        CALL(thread, accel_graph_add_fill, graph, after.nodes, after.count,
             device_of(thread, graph)->scratch, &pattern,
             pattern_sizes[draw_below(&thread->draw, 6)],
             8 * (size_t)draw_below(&thread->draw, FUZZ_SCRATCH_SIZE / 8 + 2), out_node);
        break;
    case 4:
    case 5:
        add_kernel(thread, graph, &after, out_node);
        break;
    case 6:
        CALL(thread, accel_graph_add_callback, graph, after.nodes, after.count,
             draw_chance(&thread->draw, 97) ? fuzz_graph_callback : NULL, NULL, out_node);
        break;
    case 7:
        add_event(thread, graph, &after, out_node);
        break;
    default:
        add_child(thread, graph, &after, out_node);
        break;
    }
    fuzz_drop(thread, FUZZ_GRAPH, graph);
}

/* ---- updates ---- */

static void update_copy(fuzz_thread *thread, accel_graph *graph, accel_graph_node node)
{
    const fuzz_device_state *device = device_of(thread, graph);
    size_t size = draw_below(&thread->draw, 5000);
    void *destination = fuzz_scratch(thread, device, &size);
    const void *source = fuzz_scratch(thread, device, &size);
    const uint32_t height = 1 + draw_below(&thread->draw, 3);
    if (size > FUZZ_SCRATCH_SIZE || draw_chance(&thread->draw, 60))
        CALL(thread, accel_graph_update_copy, graph, node, destination, source, size);
    else
        CALL(thread, accel_graph_update_copy_2d, graph, node, destination, size / height, source,
             size / height, size / height, height);
}

/* The kernel of a node is lent: another thread may reset the graph, so it is only looked at alone. */
static void update_kernel(fuzz_thread *thread, accel_graph *graph, accel_graph_node node)
{
    fuzz_launch drawn;
    accel_module *module = fuzz_take(thread, FUZZ_MODULE);
    if (fuzz_draw_launch(thread, module, device_of(thread, graph), &drawn))
        CALL(thread, accel_graph_update_kernel, graph, node,
             draw_chance(&thread->draw, 70) ? &drawn.shape : NULL, drawn.args,
             drawn.arg_count == UINT32_MAX ? 0 : drawn.arg_count);
    fuzz_drop(thread, FUZZ_MODULE, module);
}

/* Of the node's own kind more often than not. */
static uint32_t draw_kind(fuzz_thread *thread, accel_graph *graph, accel_graph_node node)
{
    accel_graph_node_info info = {.struct_size = sizeof info};
    if (draw_chance(&thread->draw, 80) &&
        CALL(thread, accel_graph_get_node_info, graph, node, &info) == ACCEL_OK)
        return (uint32_t)info.kind;
    return draw_below(&thread->draw, 8);
}

static void update_node(fuzz_thread *thread)
{
    accel_graph *graph = fuzz_take(thread, FUZZ_GRAPH);
    accel_graph *child = NULL;
    uint32_t count = 0;
    const uint64_t pattern = draw_bits(&thread->draw);
    CALL(thread, accel_graph_get_node_count, graph, &count);
    const accel_graph_node node = draw_below(&thread->draw, count + 1);
    switch (draw_kind(thread, graph, node)) {
    case ACCEL_GRAPH_NODE_KIND_KERNEL:
        update_kernel(thread, graph, node);
        break;
    case ACCEL_GRAPH_NODE_KIND_COPY:
        update_copy(thread, graph, node);
        break;
    case ACCEL_GRAPH_NODE_KIND_FILL:
        CALL(thread, accel_graph_update_fill, graph, node, device_of(thread, graph)->scratch,
             &pattern, 4, 4 * (size_t)draw_below(&thread->draw, FUZZ_SCRATCH_SIZE / 4 + 2));
        break;
    case ACCEL_GRAPH_NODE_KIND_CALLBACK:
        CALL(thread, accel_graph_update_callback, graph, node,
             draw_chance(&thread->draw, 90) ? fuzz_graph_callback : NULL, NULL);
        break;
    case ACCEL_GRAPH_NODE_KIND_CHILD:
        child = fuzz_take(thread, FUZZ_GRAPH);
        CALL(thread, accel_graph_get_node_count, child, &count);
        if (count < 40)
            CALL(thread, accel_graph_update_child, graph, node, child);
        fuzz_drop(thread, FUZZ_GRAPH, child);
        break;
    default:
        break;
    }
    fuzz_drop(thread, FUZZ_GRAPH, graph);
}

const fuzz_step fuzz_steps_nodes[] = {
    {"add a node", 20, add_node},
    {"update a node", 8, update_node},
    {NULL, 0, NULL},
};
