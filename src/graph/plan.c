/* plan.c: see plan.h. */
#include "graph/plan.h"

#include <string.h>

#include "base/allocate.h"
#include "base/array.h"
#include "memory/pool.h"

/* ---- sizes ---- */

static uint32_t flat_count_of(const accel__payload *payload)
{
    return payload->kind == ACCEL_GRAPH_NODE_KIND_CHILD ? payload->child->flat_count : 1;
}

/* Of a plan that has the payload. */
static uint32_t depth_of(const accel__payload *payload)
{
    return payload->kind == ACCEL_GRAPH_NODE_KIND_CHILD ? payload->child->depth + 1 : 0;
}

static uint32_t greater(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

bool accel__plan_has_room(const accel__plan *plan, const accel__payload *payload,
                          const accel__payload *instead)
{
    const uint32_t others = plan->flat_count - (instead != NULL ? flat_count_of(instead) : 0);
    return flat_count_of(payload) <= ACCEL__PLAN_MAX_NODES - others &&
           plan->count < ACCEL__PLAN_MAX_NODES && depth_of(payload) <= ACCEL__PLAN_MAX_DEPTH;
}

/* ---- nodes ---- */

static uint32_t level_behind(const accel__plan *plan, const uint32_t *dependencies, uint32_t count)
{
    uint32_t level = 0;
    for (uint32_t i = 0; i < count; i++)
        if (plan->nodes[dependencies[i]].level >= level)
            level = plan->nodes[dependencies[i]].level + 1;
    return level;
}

bool accel__plan_add(accel__plan *plan, accel__payload *payload, const uint32_t *dependencies,
                     uint32_t dependency_count, uint32_t *out_node)
{
    if (payload == NULL ||
        !accel__array_reserve((void **)&plan->nodes, &plan->capacity, plan->count, 1,
                              sizeof *plan->nodes) ||
        !accel__array_reserve((void **)&plan->dependencies, &plan->dependency_capacity,
                              plan->dependency_count, dependency_count,
                              sizeof *plan->dependencies)) {
        accel__payload_release(payload);
        return false;
    }
    plan->nodes[plan->count] = (accel__node){
        .payload = payload,
        .level = level_behind(plan, dependencies, dependency_count),
        .dependency_count = dependency_count,
        .dependency_begin = plan->dependency_count,
    };
    if (dependency_count != 0)
        memcpy(plan->dependencies + plan->dependency_count, dependencies,
               dependency_count * sizeof *dependencies);
    plan->dependency_count += dependency_count;
    plan->flat_count += flat_count_of(payload);
    plan->depth = greater(plan->depth, depth_of(payload));
    if (out_node != NULL)
        *out_node = (uint32_t)plan->count;
    plan->count++;
    return true;
}

accel__payload *accel__plan_replace(accel__plan *plan, uint32_t node, accel__payload *payload)
{
    accel__payload *before = plan->nodes[node].payload;
    plan->nodes[node].payload = payload;
    plan->flat_count += flat_count_of(payload) - flat_count_of(before);
    plan->depth = 0;
    for (size_t i = 0; i < plan->count && payload->kind == ACCEL_GRAPH_NODE_KIND_CHILD; i++)
        plan->depth = greater(plan->depth, depth_of(plan->nodes[i].payload));
    return before;
}

/* ---- whole plans ---- */

void accel__plan_move(accel__plan *to, accel__plan *from)
{
    *to = *from;
    *from = (accel__plan){0};
}

void accel__plan_clear(accel__plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        accel__payload_release(plan->nodes[i].payload);
    accel__plan_release_parts(plan);
    accel__deallocate(plan->nodes);
    accel__deallocate(plan->dependencies);
    if (plan->pool != NULL) {
        accel__pool_unkeep(plan->pool);
        accel_memory_pool_release(plan->pool);
    }
    *plan = (accel__plan){0};
}

static bool copy_plan(accel__plan *copy, const accel__plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const accel__node *node = &plan->nodes[i];
        if (!accel__plan_add(copy, accel__payload_retain(node->payload),
                             accel__node_dependencies(plan, node), node->dependency_count, NULL))
            return false;
    }
    if (!accel__plan_copy_parts(copy, plan))
        return false;
    if (plan->pool != NULL && accel_memory_pool_retain(plan->pool) == ACCEL_OK) {
        accel__pool_keep(plan->pool);
        copy->pool = plan->pool;
    }
    return true;
}

accel__payload *accel__payload_of_child(const accel__plan *plan)
{
    accel__payload *payload = accel__payload_make(ACCEL_GRAPH_NODE_KIND_CHILD);
    if (payload == NULL)
        return NULL;
    payload->child = accel__allocate(sizeof *payload->child);
    if (payload->child != NULL && copy_plan(payload->child, plan))
        return payload;
    accel__payload_release(payload);
    return NULL;
}
