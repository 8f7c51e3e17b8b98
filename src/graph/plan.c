/* plan.c: see plan.h. */
#include "graph/plan.h"

#include <string.h>

#include "base/allocate.h"
#include "base/array.h"
#include "memory/pool.h"

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
    if (payload == NULL || plan->count >= UINT32_MAX - 1 ||
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
    if (out_node != NULL)
        *out_node = (uint32_t)plan->count;
    plan->count++;
    return true;
}

uint32_t accel__plan_flat_count(const accel__plan *plan)
{
    uint32_t count = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const accel__payload *payload = plan->nodes[i].payload;
        count += payload->kind == ACCEL_GRAPH_NODE_KIND_CHILD
                     ? accel__plan_flat_count(payload->child)
                     : 1;
    }
    return count;
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
