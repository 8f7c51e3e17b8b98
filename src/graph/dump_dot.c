/* dump_dot.c: a graph in Graphviz's language: a box for each node, with what it does, an arrow for each
 * dependency; a child is a cluster behind its node. */
#include <inttypes.h>

#include "core/device.h"
#include "graph/dump.h"

/* Where a node is: its plan's path ("n", "n3_") and how far it is indented. */
typedef struct place {
    const char *prefix;
    int depth;
    bool is_verbose;
} place;

static void put_arguments(const accel__payload *payload, accel__text *text)
{
    for (uint32_t i = 0; i < payload->launch.arg_count; i++) {
        const accel_kernel_arg *arg = &payload->launch.args[i];
        if (arg->kind == ACCEL_KERNEL_ARG_KIND_POINTER)
            accel__text_format(text, "\\n%" PRIu32 ": %p", i, arg->data);
        else if (arg->kind == ACCEL_KERNEL_ARG_KIND_LOCAL)
            accel__text_format(text, "\\n%" PRIu32 ": %zu bytes local", i, arg->size);
        else {
            accel__text_format(text, "\\n%" PRIu32 ": 0x", i);
            for (size_t b = arg->size; b-- > 0;)
                accel__text_format(text, "%02x", ((const unsigned char *)arg->data)[b]);
        }
    }
}

static void put_kernel(const accel__payload *payload, bool is_verbose, accel__text *text)
{
    const accel_launch_shape *shape = &payload->launch.shape;
    accel__dump_escaped(text, payload->launch.kernel->facts.name);
    accel__text_format(text,
                       "\\n%" PRIu64 " x %" PRIu64 " x %" PRIu64 " blocks of %" PRIu32 " x %" PRIu32
                       " x %" PRIu32,
                       shape->grid[0], shape->grid[1], shape->grid[2], shape->block[0],
                       shape->block[1], shape->block[2]);
    if (is_verbose)
        put_arguments(payload, text);
}

static void put_copy(const accel_backend_copy *copy, bool is_verbose, accel__text *text)
{
    accel__text_format(text, "copy %s\\n%zu bytes", accel__dump_direction(copy->direction),
                       copy->width * copy->height);
    if (is_verbose)
        accel__text_format(text, "\\n%p from %p", copy->destination, copy->source);
}

static void put_label(const accel__payload *payload, bool is_verbose, accel__text *text)
{
    switch (payload->kind) {
    case ACCEL_GRAPH_NODE_KIND_KERNEL:
        put_kernel(payload, is_verbose, text);
        break;
    case ACCEL_GRAPH_NODE_KIND_COPY:
        put_copy(&payload->copy.copy, is_verbose, text);
        break;
    case ACCEL_GRAPH_NODE_KIND_FILL:
        accel__text_format(text, "fill\\n%zu bytes", payload->fill.size);
        if (is_verbose)
            accel__text_format(text, "\\n%p", payload->fill.destination);
        break;
    default:
        accel__text_append_string(text, accel__dump_kind(payload->kind));
        break;
    }
}

static void indent(const place *at, accel__text *text)
{
    accel__text_format(text, "%*s", 2 * at->depth, "");
}

static void put_plan(const accel__plan *plan, const place *at, accel__text *text);

/* The child's nodes; its roots hang on the node itself. NOLINTNEXTLINE(misc-no-recursion) */
static void put_child(const accel__plan *child, const place *at, size_t node, accel__text *text)
{
    accel__text prefix = {0};
    accel__text_format(&prefix, "%s%zu_", at->prefix, node);
    const place inner = {accel__text_string(&prefix), at->depth + 1, at->is_verbose};
    indent(at, text);
    accel__text_format(text, "subgraph cluster_%s%zu {\n", at->prefix, node);
    put_plan(child, &inner, text);
    indent(at, text);
    accel__text_append_string(text, "}\n");
    for (size_t i = 0; i < child->count; i++) {
        if (child->nodes[i].dependency_count != 0)
            continue;
        indent(at, text);
        accel__text_format(text, "%s%zu -> %s%zu;\n", at->prefix, node, inner.prefix, i);
    }
    text->failed = text->failed || prefix.failed;
    accel__text_release(&prefix);
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static void put_plan(const accel__plan *plan, const place *at, accel__text *text)
{
    for (size_t i = 0; i < plan->count; i++) {
        const accel__node *node = &plan->nodes[i];
        indent(at, text);
        accel__text_format(text, "%s%zu [label=\"", at->prefix, i);
        put_label(node->payload, at->is_verbose, text);
        accel__text_append_string(text, "\"];\n");
        for (uint32_t d = 0; d < node->dependency_count; d++) {
            indent(at, text);
            accel__text_format(text, "%s%" PRIu32 " -> %s%zu;\n", at->prefix,
                               accel__node_dependencies(plan, node)[d], at->prefix, i);
        }
        if (node->payload->kind == ACCEL_GRAPH_NODE_KIND_CHILD)
            put_child(node->payload->child, at, i, text);
    }
}

void accel__dump_dot(const accel_graph *graph, accel__text *text)
{
    const place top = {"n", 1, graph->is_verbose};
    accel__text_format(text, "digraph accel {\n  label=\"%s:%d\";\n  node [shape=box];\n",
                       graph->device->backend->table.name, graph->device->id.index);
    put_plan(&graph->plan, &top, text);
    accel__text_append_string(text, "}\n");
}
