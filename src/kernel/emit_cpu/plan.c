/* plan.c: puts the passes of a plan in order. */
#include "kernel/emit_cpu/plan.h"

/* Whatever holds a barrier is skeleton. */
static void mark_barriers(accel__node *node, void *context)
{
    bool *found = context;
    bool below = node->kind == ACCEL__NODE_BARRIER || node->kind == ACCEL__NODE_INLINE ||
                 node->kind == ACCEL__NODE_GUARD;
    if (node->kind >= ACCEL__NODE_BLOCK && node->kind != ACCEL__NODE_GUARD) {
        bool inner = false;
        accel__walk_children(node, mark_barriers, &inner);
        below |= inner;
    }
    node->skeleton = below;
    *found |= below && node->kind != ACCEL__NODE_GUARD;
}

static void find_masks(accel__node *node, void *context)
{
    bool *found = context;
    const bool masks = node->masked_exits || node->masked_continue;
    const bool splits = node->kind != ACCEL__NODE_SWITCH && node->diverges;
    *found |= node->skeleton && (masks || splits);
    if (node->kind >= ACCEL__NODE_BLOCK && !*found)
        accel__walk_children(node, find_masks, found);
}

/* A load that all items make from one address gives them the same only while all take part. */
static void find_uniformity(accel__plan *plan)
{
    plan->loads_uniform = true;
    for (;;) {
        bool ignored = false;
        accel__plan_uniformity(plan);
        mark_barriers(plan->body, &ignored);
        plan->full_mask = false;
        find_masks(plan->body, &plan->full_mask);
        plan->return_mask = plan->has_barrier && plan->some_return;
        if (!plan->loads_uniform || (!plan->full_mask && !plan->return_mask))
            return;
        plan->loads_uniform = false;
    }
}

/* Back to plain statements: a guard becomes the `if` it was. */
static void undo_guards(accel__plan *plan)
{
    for (accel__node *at = plan->body->a; at != NULL; at = at->next)
        if (at->kind == ACCEL__NODE_GUARD) {
            at->kind = ACCEL__NODE_IF;
            at->skeleton = false;
        }
}

static void clear_skeleton(accel__node *node, void *context)
{
    node->skeleton = node->kind == ACCEL__NODE_GUARD;
    if (node->kind >= ACCEL__NODE_BLOCK)
        accel__walk_children(node, clear_skeleton, context);
}

static bool spreads_aggregates(const accel__plan *plan)
{
    for (uint32_t i = 0; i < plan->variable_count; i++) {
        const accel__symbol *symbol = plan->variables[i];
        if (symbol->storage == ACCEL__STORAGE_ITEMS && accel__type_size(symbol->type) > 64)
            return true;
    }
    return plan->item_bytes > 256;
}

static void start_over(accel__plan *plan)
{
    clear_skeleton(plan->body, NULL);
    plan->loops_inside_out = false;
    accel__plan_regions(plan);
}

/* Flat kernels fall back to plain loops where turning them inside out costs too much memory, and to
 * one region, without guards, where more than one would need masks or arrays. */
static void settle_flat(accel__plan *plan)
{
    if (plan->loops_inside_out && spreads_aggregates(plan))
        start_over(plan);
    if (!plan->loops_inside_out &&
        (plan->item_arrays > 0 || (plan->some_return && plan->regions > 1))) {
        undo_guards(plan);
        start_over(plan);
    }
    plan->strips = plan->item_arrays > 0;
}

accel__plan *accel__plan_create(accel__emitter *emitter, accel__symbol *kernel)
{
    accel__plan *plan = accel__emit_take(emitter, sizeof *plan);
    plan->kernel = kernel;
    plan->has_barrier = kernel->has_barrier;
    plan->flat = !plan->has_barrier;
    accel__plan_copy(emitter, plan);
    accel__plan_guards(emitter, plan);
    accel__plan_facts(emitter, plan);
    find_uniformity(plan);
    accel__plan_loops(plan);
    accel__plan_regions(plan);
    if (plan->flat)
        settle_flat(plan);
    return plan;
}
