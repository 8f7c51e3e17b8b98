/* dump_json.c: a graph in JSON, as docs/graphs.md describes it and `accel graph` reads it. */
#include <inttypes.h>

#include "graph/dump.h"

static void put_pointer(accel__text *text, const char *name, const void *pointer)
{
    accel__text_format(text, ", \"%s\": \"0x%" PRIxPTR "\"", name, (uintptr_t)pointer);
}

static void put_value(const accel_kernel_arg *arg, accel__text *text)
{
    const unsigned char *bytes = arg->data;
    accel__text_format(text, "{\"kind\": \"value\", \"size\": %zu, \"bytes\": \"", arg->size);
    for (size_t i = 0; i < arg->size; i++)
        accel__text_format(text, "%02x", bytes[i]);
    accel__text_append_string(text, "\"}");
}

static void put_arguments(const accel__payload *payload, accel__text *text)
{
    accel__text_append_string(text, ", \"arguments\": [");
    for (uint32_t i = 0; i < payload->launch.arg_count; i++) {
        const accel_kernel_arg *arg = &payload->launch.args[i];
        accel__text_append_string(text, i != 0 ? ", " : "");
        if (arg->kind == ACCEL_KERNEL_ARG_KIND_VALUE)
            put_value(arg, text);
        else if (arg->kind == ACCEL_KERNEL_ARG_KIND_LOCAL)
            accel__text_format(text, "{\"kind\": \"local\", \"size\": %zu}", arg->size);
        else
            accel__text_format(text, "{\"kind\": \"pointer\", \"address\": \"0x%" PRIxPTR "\"}",
                               (uintptr_t)arg->data);
    }
    accel__text_append_char(text, ']');
}

static void put_kernel(const accel__payload *payload, bool is_verbose, accel__text *text)
{
    const accel_launch_shape *shape = &payload->launch.shape;
    accel__text_append_string(text, ", \"name\": \"");
    accel__dump_escaped(text, payload->launch.kernel->facts.name);
    accel__text_format(text,
                       "\", \"grid\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "], \"block\": [%" PRIu32
                       ", %" PRIu32 ", %" PRIu32 "]",
                       shape->grid[0], shape->grid[1], shape->grid[2], shape->block[0],
                       shape->block[1], shape->block[2]);
    if (is_verbose)
        put_arguments(payload, text);
}

static void put_copy(const accel_backend_copy *copy, bool is_verbose, accel__text *text)
{
    accel__text_format(text,
                       ", \"direction\": \"%s\", \"size\": %zu, \"width\": %zu, \"height\": %zu",
                       accel__dump_direction(copy->direction), copy->width * copy->height,
                       copy->width, copy->height);
    if (!is_verbose)
        return;
    put_pointer(text, "destination", copy->destination);
    put_pointer(text, "source", copy->source);
}

static void put_fill(const accel__fill *fill, bool is_verbose, accel__text *text)
{
    accel__text_format(text, ", \"size\": %zu, \"pattern\": \"", fill->size);
    for (size_t i = 0; i < fill->pattern_size; i++)
        accel__text_format(text, "%02x", fill->pattern[i]);
    accel__text_append_char(text, '"');
    if (is_verbose)
        put_pointer(text, "destination", fill->destination);
}

static void put_plan(const accel__plan *plan, int depth, bool is_verbose, accel__text *text);

/* NOLINTNEXTLINE(misc-no-recursion) */
static void put_payload(const accel__payload *payload, int depth, bool is_verbose,
                        accel__text *text)
{
    switch (payload->kind) {
    case ACCEL_GRAPH_NODE_KIND_KERNEL:
        put_kernel(payload, is_verbose, text);
        break;
    case ACCEL_GRAPH_NODE_KIND_COPY:
        put_copy(&payload->copy.copy, is_verbose, text);
        break;
    case ACCEL_GRAPH_NODE_KIND_FILL:
        put_fill(&payload->fill, is_verbose, text);
        break;
    case ACCEL_GRAPH_NODE_KIND_CHILD:
        put_plan(payload->child, depth + 1, is_verbose, text);
        break;
    default:
        break;
    }
}

static void put_dependencies(const accel__plan *plan, const accel__node *node, accel__text *text)
{
    accel__text_append_string(text, ", \"dependencies\": [");
    for (uint32_t i = 0; i < node->dependency_count; i++)
        accel__text_format(text, "%s%" PRIu32, i != 0 ? ", " : "",
                           accel__node_dependencies(plan, node)[i]);
    accel__text_append_char(text, ']');
}

/* NOLINTNEXTLINE(misc-no-recursion) */
static void put_plan(const accel__plan *plan, int depth, bool is_verbose, accel__text *text)
{
    accel__text_format(text, ",\n%*s\"nodes\": [", 2 * depth, "");
    for (size_t i = 0; i < plan->count; i++) {
        const accel__node *node = &plan->nodes[i];
        accel__text_format(text, "%s\n%*s{\"node\": %zu, \"kind\": \"%s\", \"level\": %" PRIu32,
                           i != 0 ? "," : "", 2 * depth + 2, "", i,
                           accel__dump_kind(node->payload->kind), node->level);
        put_dependencies(plan, node, text);
        put_payload(node->payload, depth + 1, is_verbose, text);
        accel__text_append_char(text, '}');
    }
    accel__text_append_char(text, ']');
}

void accel__dump_json(const accel_graph *graph, accel__text *text)
{
    accel__text_format(text,
                       "{\n  \"format\": \"accel-graph\",\n  \"version\": 1,\n"
                       "  \"device\": \"%s:%d\"",
                       graph->device->backend->table.name, graph->device->id.index);
    put_plan(&graph->plan, 1, graph->is_verbose, text);
    accel__text_append_string(text, "\n}\n");
}
