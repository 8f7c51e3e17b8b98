/* instantiate.c: from a plan to an executable: the nodes, those of children in the place of their node,
 * by levels, which keeps every dependency and makes neighbours of what may run side by side. Rows of kernels, copies and fills become
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
    uint32_t level;          /* of the next step; rises over children and their nodes */
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
    accel_backend_step *step = &at->row[at->row_count++];
    step->level = at->level;
    step_of(payload, step);
    return ACCEL_OK;
}

static accel_status add_item(maker *at, const accel__payload *payload)
{
    const accel_status status = end_row(at);
    accel__item *item = status == ACCEL_OK ? push_item(at, ACCEL__ITEM_NODE) : NULL;
    if (item == NULL)
        return status == ACCEL_OK ? no_memory(at) : status;
    item->payload = payload;
    if (payload->kind == ACCEL_GRAPH_NODE_KIND_EVENT_WAIT)
        at->made->has_waits = true;
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

static accel_status add_part(maker *at, accel__shared_part *shared)
{
    const accel_status status = end_row(at);
    if (status != ACCEL_OK)
        return status;
    accel__item *item = push_item(at, ACCEL__ITEM_PART);
    if (item == NULL || !accel__executable_add_part(at->made, shared))
        return no_memory(at);
    item->part = shared->part;
    return ACCEL_OK;
}

static accel_status add_parts(maker *at, const accel__plan *plan)
{
    accel_status status = ACCEL_OK;
    for (size_t i = 0; status == ACCEL_OK && i < plan->part_count; i++)
        if (plan->parts[i]->part->prologue != NULL)
            status = add_part(at, plan->parts[i]);
    return status;
}

static accel_status add_plan(maker *at, const accel__plan *plan, accel__spot *spots);

static accel_status add_node(maker *at, accel__payload *payload)
{
    if (payload->kind == ACCEL_GRAPH_NODE_KIND_EMPTY)
        return ACCEL_OK;
    accel_status status = keep(at, payload);
    if (status != ACCEL_OK)
        return status;
    if (payload->kind == ACCEL_GRAPH_NODE_KIND_CHILD)
        return add_plan(at, payload->child, NULL);
    return at->has_schedules && is_step(payload) ? add_step(at, payload) : add_item(at, payload);
}

/* A counting sort. `next`, all 0, has room for one more than the nodes. */
static void sort_by_level(const accel__plan *plan, uint32_t *order, size_t *next)
{
    for (size_t i = 0; i < plan->count; i++)
        next[plan->nodes[i].level + 1]++;
    for (size_t level = 1; level <= plan->count; level++)
        next[level] += next[level - 1];
    for (size_t i = 0; i < plan->count; i++)
        order[next[plan->nodes[i].level]++] = (uint32_t)i;
}

/* The numbers of the nodes by levels, and in a level as they are. NULL: no memory. */
static uint32_t *order_of(const accel__plan *plan)
{
    uint32_t *order = accel__allocate_array(plan->count + 1, sizeof *order);
    size_t *next = accel__allocate_array(plan->count + 1, sizeof *next);
    if (order != NULL && next != NULL)
        sort_by_level(plan, order, next);
    else {
        accel__deallocate(order);
        order = NULL;
    }
    accel__deallocate(next);
    return order;
}

/* Notes where the node is that was just added: at the end of the row, or in an item of its own. */
static void note_spot(maker *at, accel__spot *spot, size_t row_count, size_t payload)
{
    const size_t items = at->made->count;
    spot->payload = (uint32_t)payload;
    if (at->row_count == row_count + 1) /* the row will be the next item */
        *spot = (accel__spot){(uint32_t)items, (uint32_t)row_count, (uint32_t)payload};
    else if (items != 0)
        *spot = (accel__spot){(uint32_t)items - 1, UINT32_MAX, (uint32_t)payload};
}

/* The nodes by levels: those of one level are neighbours. `spots`: of the graph's own nodes; NULL for
 * those of children. NOLINTNEXTLINE(misc-no-recursion) */
static accel_status add_nodes(maker *at, const accel__plan *plan, const uint32_t *order,
                              accel__spot *spots)
{
    accel_status status = ACCEL_OK;
    for (size_t i = 0; status == ACCEL_OK && i < plan->count; i++) {
        const accel__node *node = &plan->nodes[order[i]];
        const size_t row_count = at->row_count;
        const size_t payload = at->made->payload_count;
        if (i == 0 || node->level != plan->nodes[order[i - 1]].level)
            at->level++;
        status = add_node(at, node->payload);
        if (spots != NULL)
            note_spot(at, &spots[order[i]], row_count, payload);
    }
    return status;
}

/* Depth is bounded: a child is a copy, made before its parent. NOLINTNEXTLINE(misc-no-recursion) */
static accel_status add_plan(maker *at, const accel__plan *plan, accel__spot *spots)
{
    uint32_t *order = order_of(plan);
    if (order == NULL)
        return no_memory(at);
    at->level++;
    accel_status status = add_parts(at, plan);
    if (status == ACCEL_OK)
        status = add_nodes(at, plan, order, spots);
    at->level++;
    accel__deallocate(order);
    return status;
}

/* The graph's own nodes, with a note where each of them is. */
static accel_status add_graph(maker *at, const accel__plan *plan)
{
    accel__executable *made = at->made;
    made->spots = accel__allocate_array(plan->count + 1, sizeof *made->spots);
    return made->spots != NULL ? add_plan(at, plan, made->spots) : no_memory(at);
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
    accel__deallocate((void *)executable->parts);
    accel__deallocate(executable->spots);
    accel__deallocate(executable);
}
