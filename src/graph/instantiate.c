/* instantiate.c: from a plan to an executable: the nodes, those of children in the place of their node,
 * in the order of their numbers, which keeps every dependency. Rows of kernels, copies and fills become
 * schedules, where the backend takes those; everything else is queued node by node. */
#include "base/allocate.h"
#include "base/array.h"
#include "base/error.h"
#include "graph/graph.h"

/* An executable in the making. */
typedef struct maker {
    const accel_graph *graph;
    const char *function;
    accel__executable *made;
    bool has_schedules;
    accel_backend_step *row; /* of steps that are not in a schedule yet */
    size_t row_count;
    size_t row_capacity;
} maker;

static accel_status no_memory(const maker *at)
{
    return accel__graph_no_memory(at->graph, at->function);
}

static accel__item *push_item(maker *at, accel__item_kind kind)
{
    accel__executable *made = at->made;
    if (!accel__array_reserve((void **)&made->items, &made->capacity, made->count, 1,
                              sizeof *made->items))
        return NULL;
    accel__item *item = &made->items[made->count++];
    *item = (accel__item){.kind = kind};
    return item;
}

/* Makes a schedule of the row. */
static accel_status end_row(maker *at)
{
    if (at->row_count == 0)
        return ACCEL_OK;
    accel__device *device = at->graph->device;
    accel_native_schedule *schedule = NULL;
    const accel_status status = device->backend->table.schedules.create(
        device->native, at->row, (uint32_t)at->row_count, &schedule);
    at->row_count = 0;
    if (status != ACCEL_OK)
        return status;
    accel__item *item = push_item(at, ACCEL__ITEM_SCHEDULE);
    if (item == NULL) {
        device->backend->table.schedules.destroy(schedule);
        return no_memory(at);
    }
    item->schedule = schedule;
    return ACCEL_OK;
}

static void step_of(const accel__payload *payload, accel_backend_step *out_step)
{
    switch (payload->kind) {
    case ACCEL_GRAPH_NODE_KIND_KERNEL:
        out_step->kind = ACCEL_BACKEND_STEP_KIND_LAUNCH;
        out_step->launch.function = payload->launch.kernel->facts.function;
        out_step->launch.shape = &payload->launch.shape;
        out_step->launch.args = payload->launch.args;
        out_step->launch.arg_count = payload->launch.arg_count;
        break;
    case ACCEL_GRAPH_NODE_KIND_COPY:
        out_step->kind = ACCEL_BACKEND_STEP_KIND_COPY;
        out_step->copy = &payload->copy.copy;
        break;
    default:
        out_step->kind = ACCEL_BACKEND_STEP_KIND_FILL;
        out_step->fill.destination = payload->fill.destination;
        out_step->fill.pattern = payload->fill.pattern;
        out_step->fill.pattern_size = payload->fill.pattern_size;
        out_step->fill.size = payload->fill.size;
        break;
    }
}

static bool is_step(const accel__payload *payload)
{
    const accel__captured_copy *copy = &payload->copy;
    return payload->kind == ACCEL_GRAPH_NODE_KIND_KERNEL ||
           payload->kind == ACCEL_GRAPH_NODE_KIND_FILL ||
           (payload->kind == ACCEL_GRAPH_NODE_KIND_COPY &&
            (copy->to == NULL || copy->from == NULL || copy->to == copy->from));
}

static accel_status add_step(maker *at, const accel__payload *payload)
{
    if (!accel__array_reserve((void **)&at->row, &at->row_capacity, at->row_count, 1,
                              sizeof *at->row))
        return no_memory(at);
    step_of(payload, &at->row[at->row_count++]);
    return ACCEL_OK;
}

static accel_status add_item(maker *at, const accel__payload *payload)
{
    const accel_status status = end_row(at);
    accel__item *item = status == ACCEL_OK ? push_item(at, ACCEL__ITEM_NODE) : NULL;
    if (item == NULL)
        return status == ACCEL_OK ? no_memory(at) : status;
    item->payload = payload;
    return ACCEL_OK;
}

static accel_status keep(maker *at, accel__payload *payload)
{
    accel__executable *made = at->made;
    if (!accel__array_reserve((void **)&made->payloads, &made->payload_capacity,
                              made->payload_count, 1, sizeof(accel__payload *)))
        return no_memory(at);
    made->payloads[made->payload_count++] = accel__payload_retain(payload);
    return ACCEL_OK;
}

static accel_status add_parts(maker *at, const accel__plan *plan)
{
    accel_status status = plan->part_count != 0 ? end_row(at) : ACCEL_OK;
    for (size_t i = 0; status == ACCEL_OK && i < plan->part_count; i++) {
        accel__item *item = push_item(at, ACCEL__ITEM_PART);
        if (item == NULL)
            return no_memory(at);
        item->part = plan->parts[i]->part;
    }
    return status;
}

static accel_status add_plan(maker *at, const accel__plan *plan);

static accel_status add_node(maker *at, accel__payload *payload)
{
    if (payload->kind == ACCEL_GRAPH_NODE_KIND_EMPTY)
        return ACCEL_OK;
    accel_status status = keep(at, payload);
    if (status != ACCEL_OK)
        return status;
    if (payload->kind == ACCEL_GRAPH_NODE_KIND_CHILD)
        return add_plan(at, payload->child);
    return at->has_schedules && is_step(payload) ? add_step(at, payload) : add_item(at, payload);
}

/* Depth is bounded: a child is a copy, made before its parent. NOLINTNEXTLINE(misc-no-recursion) */
static accel_status add_plan(maker *at, const accel__plan *plan)
{
    accel_status status = add_parts(at, plan);
    for (size_t i = 0; status == ACCEL_OK && i < plan->count; i++)
        status = add_node(at, plan->nodes[i].payload);
    return status;
}

/* The graph's own nodes, with a note where each of them is. */
static accel_status add_graph(maker *at, const accel__plan *plan)
{
    accel__executable *made = at->made;
    made->spots = accel__allocate_array(plan->count + 1, sizeof *made->spots);
    if (made->spots == NULL)
        return no_memory(at);
    accel_status status = add_parts(at, plan);
    for (size_t i = 0; status == ACCEL_OK && i < plan->count; i++) {
        accel__payload *payload = plan->nodes[i].payload;
        const uint32_t index = (uint32_t)made->payload_count;
        const uint32_t row_count = (uint32_t)at->row_count;
        status = add_node(at, payload);
        if (at->row_count == row_count + 1) /* the row will be the next item */
            made->spots[i] = (accel__spot){(uint32_t)made->count, row_count, index};
        else if (made->count != 0)
            made->spots[i] = (accel__spot){(uint32_t)made->count - 1, UINT32_MAX, index};
    }
    return status;
}

accel_status accel__executable_make(const accel_graph *graph, const char *function,
                                    accel__executable **out_executable)
{
    maker at = {.graph = graph, .function = function};
    *out_executable = NULL;
    accel_status status = accel__device_use(graph->device, function);
    if (status != ACCEL_OK)
        return status;
    at.has_schedules = accel__backend_owns(graph->device->backend, ACCEL__GROUP_SCHEDULES);
    at.made = accel__allocate(sizeof *at.made);
    if (at.made == NULL)
        return no_memory(&at);
    at.made->backend = graph->device->backend;
    status = add_graph(&at, &graph->plan);
    if (status == ACCEL_OK)
        status = end_row(&at);
    accel__deallocate(at.row);
    if (status == ACCEL_OK)
        *out_executable = at.made;
    else
        accel__executable_destroy(at.made);
    return status;
}

/* ---- updating ---- */

/* Whether the change could be made in the executable as it is. */
static bool change(accel__executable *executable, const accel__spot *spot,
                   const accel__payload *old, const accel__payload *payload)
{
    accel__item *item = &executable->items[spot->item];
    accel_backend_step step = {0};
    if (payload->kind == ACCEL_GRAPH_NODE_KIND_CHILD || is_step(old) != is_step(payload))
        return false;
    if (item->kind == ACCEL__ITEM_NODE) {
        item->payload = payload;
        return true;
    }
    step_of(payload, &step);
    return executable->backend->table.schedules.update(item->schedule, spot->step, &step);
}

void accel__executable_update(accel_graph *graph, uint32_t node, const accel__payload *old,
                              accel__payload *payload)
{
    accel__executable *executable = graph->executable;
    if (executable == NULL || graph->is_dirty)
        return;
    const accel__spot *spot = &executable->spots[node];
    if (accel__backend_is_forked(executable->backend) || !change(executable, spot, old, payload)) {
        graph->is_dirty = true;
        return;
    }
    accel__payload_release(executable->payloads[spot->payload]);
    executable->payloads[spot->payload] = accel__payload_retain(payload);
}

void accel__executable_destroy(accel__executable *executable)
{
    if (executable == NULL)
        return;
    const bool is_forked = accel__backend_is_forked(executable->backend);
    for (size_t i = 0; !is_forked && i < executable->count; i++)
        if (executable->items[i].kind == ACCEL__ITEM_SCHEDULE)
            executable->backend->table.schedules.destroy(executable->items[i].schedule);
    for (size_t i = 0; i < executable->payload_count; i++)
        accel__payload_release(executable->payloads[i]);
    accel__deallocate(executable->items);
    accel__deallocate((void *)executable->payloads);
    accel__deallocate(executable->spots);
    accel__deallocate(executable);
}
