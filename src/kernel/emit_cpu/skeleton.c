/* skeleton.c: writes the skeleton and its regions.
 * With masks, accel_s holds a byte per item: 0 while it takes part, ACCEL__RETURNED when it has left
 * the kernel, else the number of the place where it takes part again. */
#include "kernel/emit_cpu/plan.h"

/* ---- regions ---- */

static bool has_masks(const accel__plan *plan)
{
    return plan->return_mask || plan->full_mask;
}

static bool uses_index(const accel__plan *plan)
{
    return plan->item_arrays > 0 || has_masks(plan);
}

static void open_loops(accel__emitter *emitter, bool independent)
{
    const accel__plan *plan = emitter->plan;
    accel__emit(emitter, "\n");
    if (!plan->flat)
        accel__emit(emitter, "for (int accel_z = accel_z0; accel_z < accel_z1; accel_z++)\n"
                             "for (int accel_y = accel_y0; accel_y < accel_y1; accel_y++)\n");
    accel__emit(emitter, "%sfor (int accel_x = accel_x0; accel_x < accel_x1; accel_x++) {\n",
                independent ? "ACCEL_INDEPENDENT\n" : "");
    if (uses_index(plan))
        accel__emit(emitter, plan->flat ? "const int accel_i = accel_x;\n"
                                        : "const int accel_i = accel_x + accel_bx * (accel_y + "
                                          "accel_by * accel_z);\n");
}

static void mark_needed(accel__node *node, void *context)
{
    if (node->kind == ACCEL__NODE_NAME && node->symbol->storage == ACCEL__STORAGE_PURE &&
        !node->symbol->needed) {
        node->symbol->needed = true;
        mark_needed(node->symbol->init, context);
    }
    accel__walk_children(node, mark_needed, context);
}

static void declare_plain(accel__emitter *emitter, accel__symbol *symbol)
{
    const uint8_t storage = symbol->storage;
    accel__node node = {
        .kind = ACCEL__NODE_DECLARE, .symbol = symbol, .file = symbol->file, .line = symbol->line};
    const bool hoisted = symbol->is_hoisted;
    symbol->storage = ACCEL__STORAGE_REGION;
    symbol->is_hoisted = false;
    accel__emit_statement(emitter, &node);
    symbol->is_hoisted = hoisted;
    symbol->storage = storage;
}

/* What the region's statements name but do not declare. */
static void declare_needed(accel__emitter *emitter, uint32_t region)
{
    const accel__plan *plan = emitter->plan;
    for (uint32_t i = 0; i < plan->variable_count; i++) {
        accel__symbol *symbol = plan->variables[i];
        if (symbol->needed || (symbol->is_hoisted && symbol->storage == ACCEL__STORAGE_REGION &&
                               region != 0 && symbol->used_in == region))
            declare_plain(emitter, symbol);
        symbol->needed = false;
    }
}

/* Begins the loop over work-items of a region that runs `first` to `last` (or one expression). */
static void open_region(accel__emitter *emitter, uint32_t region, accel__node *first,
                        accel__node *last)
{
    for (accel__node *at = first;; at = at->next) {
        if (at->region == region || first == last)
            mark_needed(at, NULL);
        if (at == last)
            break;
    }
    open_loops(emitter, accel__emit_is_independent(first, last, region));
    if (has_masks(emitter->plan))
        accel__emit(emitter, "if (accel_s[accel_i] != 0)\n    continue;\n");
    declare_needed(emitter, region);
    emitter->region = region;
    emitter->leaves_region = false;
}

static void close_region(accel__emitter *emitter)
{
    if (emitter->leaves_region)
        accel__emit(emitter, "accel_end_%u:;\n", emitter->region);
    accel__emit(emitter, "}\n");
    emitter->region = 0;
}

static void emit_region(accel__emitter *emitter, uint32_t region, accel__node *first,
                        accel__node *last)
{
    const bool alone = first == last && first->kind == ACCEL__NODE_IF && first->c == NULL &&
                       accel__emit_region_bounds(emitter, first->a);
    accel__node *begin = alone ? first->b : first;
    open_region(emitter, region, begin, alone ? begin : last);
    for (accel__node *at = begin;; at = at->next) {
        if (at->region == region || alone)
            accel__emit_statement(emitter, at);
        if (alone || at == last)
            break;
    }
    close_region(emitter);
    if (alone)
        accel__emit(emitter, "}\n}\n");
}

bool accel__emit_exit(accel__emitter *emitter, const accel__node *node)
{
    const accel__plan *plan = emitter->plan;
    const accel__node *target = node->target;
    if (target != NULL && !target->skeleton)
        return false;
    if (node->skeleton && emitter->region == 0) {
        if (target == NULL)
            accel__emit(emitter, "goto accel_done;\n");
        else
            accel__emit(emitter, "goto accel_%s_%u;\n",
                        node->kind == ACCEL__NODE_CONTINUE ? "continue" : "break", target->label);
        return true;
    }
    if (target == NULL && has_masks(plan))
        accel__emit(emitter, "{ accel_s[accel_i] = %u; ", ACCEL__RETURNED);
    else if (target == NULL)
        accel__emit(emitter, "{ ");
    else
        accel__emit(emitter, "{ accel_s[accel_i] = %u; ",
                    target->label + (node->kind == ACCEL__NODE_CONTINUE ? 1 : 0));
    accel__emit(emitter, "goto accel_end_%u; }\n", emitter->region);
    emitter->leaves_region = true;
    return true;
}

/* ---- masks ---- */

static uint32_t new_label(accel__emitter *emitter, const accel__node *node)
{
    accel__plan *plan = emitter->plan;
    plan->labels += 2; /* the place itself, and for loops the one of continue */
    if (plan->labels > ACCEL__MOST_STATES)
        accel__emit_fail(emitter, node->file, node->line,
                         "too many loops and branches with barriers in this kernel");
    return plan->labels;
}

static void resume(accel__emitter *emitter, uint32_t state)
{
    accel__emit(emitter, "accel_resume(accel_s, accel_items, %u);\n", state);
}

/* A region that evaluates a condition that items may not share; those for which it is false wait. */
static void emit_masked_condition(accel__emitter *emitter, accel__node *condition, uint32_t region,
                                  uint32_t state)
{
    open_region(emitter, region, condition, condition);
    accel__emit(emitter, "if (!");
    accel__emit_expression(emitter, condition);
    accel__emit(emitter, ")\n    accel_s[accel_i] = %u;\n", state);
    close_region(emitter);
}

/* ---- statements ---- */

static void emit_list(accel__emitter *emitter, accel__node *list);

static void emit_barrier(accel__emitter *emitter, const accel__node *node)
{
    if (emitter->check_barriers && emitter->plan->full_mask)
        accel__emit(
            emitter,
            "if (accel_takes_part(accel_s, accel_items) &&\n"
            "    accel_waits(accel_s, accel_items))\n"
            "    return \"kernel %s: the barrier in line %u was not reached by all items of "
            "a block\";\n",
            emitter->plan->kernel->name, node->line);
}

static void emit_step(accel__emitter *emitter, accel__node *step)
{
    if (step->kind == ACCEL__NODE_COMMA) {
        emit_step(emitter, step->a);
        emit_step(emitter, step->b);
        return;
    }
    accel__node statement = {
        .kind = ACCEL__NODE_EXPRESSION, .a = step, .file = step->file, .line = step->line};
    if (!step->once)
        open_region(emitter, step->region, step, step);
    accel__emit_statement(emitter, &statement);
    if (!step->once)
        close_region(emitter);
}

static void emit_loop_condition(accel__emitter *emitter, accel__node *node)
{
    const accel__plan *plan = emitter->plan;
    if (node->b != NULL && node->diverges)
        emit_masked_condition(emitter, node->b, node->condition_region, node->label);
    if (has_masks(plan))
        accel__emit(emitter, "if (!accel_takes_part(accel_s, accel_items))\n    break;\n");
    if (node->b != NULL && !node->diverges) {
        accel__emit(emitter, "if (!");
        accel__emit_expression(emitter, node->b);
        accel__emit(emitter, ")\n    break;\n");
    }
}

static void emit_loop(accel__emitter *emitter, accel__node *node)
{
    const bool masked = emitter->plan->full_mask;
    accel__emit(emitter, "{\n");
    if (node->kind == ACCEL__NODE_FOR)
        emit_list(emitter, node->a);
    node->label = new_label(emitter, node);
    accel__emit(emitter, "for (;;) {\n");
    if (node->kind != ACCEL__NODE_DO)
        emit_loop_condition(emitter, node);
    emit_list(emitter, node->d);
    accel__emit_line(emitter, node);
    accel__emit(emitter, "accel_continue_%u: __attribute__((unused));\n", node->label);
    if (masked)
        resume(emitter, node->label + 1);
    if (node->c != NULL)
        emit_step(emitter, node->c);
    if (node->kind == ACCEL__NODE_DO)
        emit_loop_condition(emitter, node);
    accel__emit(emitter, "}\naccel_break_%u: __attribute__((unused));\n", node->label);
    if (masked)
        resume(emitter, node->label);
    accel__emit(emitter, "}\n");
}

static void emit_uniform_if(accel__emitter *emitter, accel__node *node)
{
    accel__emit(emitter, "if (");
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, ") {\n");
    emit_list(emitter, node->b);
    accel__emit(emitter, "}\n");
    if (node->c != NULL) {
        accel__emit(emitter, "else {\n");
        emit_list(emitter, node->c);
        accel__emit(emitter, "}\n");
    }
}

/* Items for which the condition is false wait behind the first branch; those that took it wait
 * behind the second. */
static void emit_masked_if(accel__emitter *emitter, accel__node *node)
{
    const uint32_t label = new_label(emitter, node);
    emit_masked_condition(emitter, node->a, node->condition_region, label);
    accel__emit(emitter, "if (accel_takes_part(accel_s, accel_items)) {\n");
    emit_list(emitter, node->b);
    accel__emit(emitter, "}\n");
    if (node->c != NULL) {
        accel__emit(emitter, "accel_swap(accel_s, accel_items, %u, %u);\n", label, label + 1);
        accel__emit(emitter, "if (accel_takes_part(accel_s, accel_items)) {\n");
        emit_list(emitter, node->c);
        accel__emit(emitter, "}\n");
        resume(emitter, label + 1);
    } else {
        resume(emitter, label);
    }
}

/* Around a barrier, all items of a block must agree on the value; the debug mode checks that. */
static void emit_switch(accel__emitter *emitter, accel__node *node)
{
    node->label = new_label(emitter, node);
    const uint32_t label = node->label;
    accel__emit(emitter, "{\n");
    accel__emit_type(emitter, node->b->type);
    accel__emit(emitter, " accel_value_%u = 0;\n", label);
    if (node->diverges) {
        accel__emit(emitter, "int accel_known_%u = 0, accel_differs_%u = 0;\n", label, label);
        open_region(emitter, node->condition_region, node->b, node->b);
    }
    accel__emit_type(emitter, node->b->type);
    accel__emit(emitter, " accel_now_%u = ", label);
    accel__emit_expression(emitter, node->b);
    if (node->diverges) {
        accel__emit(emitter,
                    ";\naccel_differs_%u |= accel_known_%u && accel_now_%u != "
                    "accel_value_%u;\naccel_known_%u = 1",
                    label, label, label, label, label);
    }
    accel__emit(emitter, ";\naccel_value_%u = accel_now_%u;\n", label, label);
    if (node->diverges)
        close_region(emitter);
    if (node->diverges && emitter->check_barriers)
        accel__emit(
            emitter,
            "if (accel_differs_%u)\n    return \"kernel %s: the items of a block disagree in "
            "the switch with barriers in line %u\";\n",
            label, emitter->plan->kernel->name, node->line);
    accel__emit(emitter, "switch (accel_value_%u) {\n", label);
    emit_list(emitter, node->d->a);
    accel__emit(emitter, "}\naccel_break_%u: __attribute__((unused));\n", label);
    if (emitter->plan->full_mask)
        resume(emitter, label);
    accel__emit(emitter, "}\n");
}

static void emit_inline(accel__emitter *emitter, accel__node *node)
{
    node->label = new_label(emitter, node);
    accel__emit(emitter, "{\n");
    emit_list(emitter, node->d);
    accel__emit(emitter, "accel_break_%u: __attribute__((unused));\n", node->label);
    if (emitter->plan->full_mask)
        resume(emitter, node->label);
    accel__emit(emitter, "}\n");
}

static void emit_structure(accel__emitter *emitter, accel__node *node)
{
    accel__emit_line(emitter, node);
    switch (node->kind) {
    case ACCEL__NODE_BLOCK:
        accel__emit(emitter, "{\n");
        emit_list(emitter, node->a);
        accel__emit(emitter, "}\n");
        return;
    case ACCEL__NODE_BARRIER:
        emit_barrier(emitter, node);
        return;
    case ACCEL__NODE_GUARD:
        accel__emit_guard(emitter, node);
        return;
    case ACCEL__NODE_IF:
        if (node->diverges)
            emit_masked_if(emitter, node);
        else
            emit_uniform_if(emitter, node);
        return;
    case ACCEL__NODE_FOR:
    case ACCEL__NODE_WHILE:
    case ACCEL__NODE_DO:
        emit_loop(emitter, node);
        return;
    case ACCEL__NODE_SWITCH:
        emit_switch(emitter, node);
        return;
    case ACCEL__NODE_INLINE:
        emit_inline(emitter, node);
        return;
    default:
        accel__emit_statement(emitter, node);
        return;
    }
}

/* Statements gathered for the region that is written next. */
typedef struct gathered {
    accel__node *first, *last;
} gathered;

static void flush(accel__emitter *emitter, gathered *pending)
{
    if (pending->first != NULL)
        emit_region(emitter, pending->first->region, pending->first, pending->last);
    pending->first = pending->last = NULL;
}

static void emit_list(accel__emitter *emitter, accel__node *list)
{
    gathered pending = {NULL, NULL};
    for (accel__node *at = list; at != NULL; at = at->next) {
        if (at->silent)
            continue;
        if (at->skeleton) {
            flush(emitter, &pending);
            emit_structure(emitter, at);
        } else if (at->once) {
            if (at->flush)
                flush(emitter, &pending);
            accel__emit_statement(emitter, at);
        } else {
            if (pending.first != NULL && pending.first->region != at->region)
                flush(emitter, &pending);
            pending.first = pending.first == NULL ? at : pending.first;
            pending.last = at;
        }
    }
    flush(emitter, &pending);
}

void accel__emit_skeleton(accel__emitter *emitter, accel__node *list)
{
    emit_list(emitter, list);
}
