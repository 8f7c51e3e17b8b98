/* uniform.c: which expressions and variables are the same for all items of a block, and
 * which jumps all items take together. A search for a fixed point: everything is taken to be
 * uniform until something shows that it is not. */
#include "kernel/emit_cpu/plan.h"

typedef struct query {
    const accel__plan *plan;
    bool found;
} query;

/* ---- expressions ---- */

static bool item_varies(const accel__plan *plan, const accel__node *node)
{
    const unsigned item = node->builtin->value;
    int64_t axis = 0;
    if (item != ACCEL__ITEM_GLOBAL_ID && item != ACCEL__ITEM_LOCAL_ID)
        return false;
    if (!accel__constant_integer(node->a, &axis))
        return true;
    return axis == 0 || (!plan->flat && axis > 0 && axis < 3);
}

static bool is_load(const accel__node *node)
{
    if (node->type->kind == ACCEL__TYPE_ARRAY)
        return false;
    if (node->kind == ACCEL__NODE_INDEX || (node->kind == ACCEL__NODE_MEMBER && node->flag))
        return true;
    return node->kind == ACCEL__NODE_UNARY && node->op[0] == '*';
}

static void find_varying(accel__node *node, void *context)
{
    query *state = context;
    const bool load = is_load(node);
    switch (node->kind) {
    case ACCEL__NODE_NAME:
        state->found |= node->symbol->varies;
        break;
    case ACCEL__NODE_CALL:
    case ACCEL__NODE_ASSIGN:
    case ACCEL__NODE_STEP:
        state->found = true;
        break;
    case ACCEL__NODE_BUILTIN:
        state->found |= !accel__builtin_is_pure(node->builtin) ||
                        (node->builtin->rule == ACCEL__RULE_ITEM && item_varies(state->plan, node));
        break;
    default:
        break;
    }
    if (load &&
        (!state->plan->loads_uniform || (node->type->qualifiers & ACCEL__QUALIFIER_VOLATILE)))
        state->found = true;
    if (!state->found)
        accel__walk_children(node, find_varying, state);
}

bool accel__plan_varies(const accel__plan *plan, const accel__node *expression)
{
    query state = {plan, false};
    if (expression != NULL)
        find_varying((accel__node *)expression, &state);
    return state.found;
}

static void find_load(accel__node *node, void *context)
{
    bool *found = context;
    *found |= is_load(node);
    if (!*found)
        accel__walk_children(node, find_load, found);
}

bool accel__plan_loads(const accel__node *expression)
{
    bool found = false;
    find_load((accel__node *)expression, &found);
    return found;
}

static void find_effect(accel__node *node, void *context)
{
    bool *found = context;
    *found |= node->kind == ACCEL__NODE_CALL || node->kind == ACCEL__NODE_ASSIGN ||
              node->kind == ACCEL__NODE_STEP ||
              (node->kind == ACCEL__NODE_BUILTIN && !accel__builtin_is_pure(node->builtin));
    if (!*found)
        accel__walk_children(node, find_effect, found);
}

bool accel__plan_is_plain(const accel__node *expression)
{
    bool found = false;
    find_effect((accel__node *)expression, &found);
    return !found;
}

/* ---- statements ---- */

/* How deep in conditions that items may not share; what leaves a construct at a greater depth than
 * it began at is taken by some items only. */
static void visit(accel__plan *plan, accel__node *node, uint32_t depth);

static void set_varies(accel__plan *plan, accel__symbol *symbol)
{
    if (!symbol->varies) {
        symbol->varies = true;
        plan->changed = true;
    }
}

static void raise_flag(accel__plan *plan, bool *flag)
{
    if (!*flag) {
        *flag = true;
        plan->changed = true;
    }
}

static void visit_top(accel__plan *plan, const accel__node *node, uint32_t depth)
{
    if (node->kind == ACCEL__NODE_COMMA) {
        visit_top(plan, node->a, depth);
        visit_top(plan, node->b, depth);
        return;
    }
    const bool assigns = node->kind == ACCEL__NODE_ASSIGN || node->kind == ACCEL__NODE_STEP;
    if (assigns && node->a->kind == ACCEL__NODE_NAME &&
        (depth > 0 || accel__plan_varies(plan, node->b)))
        set_varies(plan, node->a->symbol);
}

static void visit_list(accel__plan *plan, accel__node *list, uint32_t depth)
{
    for (accel__node *at = list; at != NULL; at = at->next)
        visit(plan, at, depth);
}

static void visit_loop(accel__plan *plan, accel__node *node, uint32_t depth)
{
    if (node->kind == ACCEL__NODE_FOR)
        visit_list(plan, node->a, depth);
    node->entry_depth = depth;
    if (accel__plan_varies(plan, node->b) && !node->diverges) {
        node->diverges = true;
        plan->changed = true;
    }
    if (node->diverges || node->masked_exits)
        depth++;
    depth += node->masked_continue ? 1 : 0;
    if (node->c != NULL)
        visit_top(plan, node->c, depth);
    visit(plan, node->d, depth);
}

static void visit_if(accel__plan *plan, accel__node *node, uint32_t depth)
{
    if (!node->diverges && accel__plan_varies(plan, node->a)) {
        node->diverges = true;
        plan->changed = true;
    }
    if (node->diverges)
        depth++;
    visit(plan, node->b, depth);
    if (node->c != NULL)
        visit(plan, node->c, depth);
}

static void visit_jump(accel__plan *plan, accel__node *node, uint32_t depth)
{
    accel__node *target = node->target;
    const uint32_t entry = target == NULL ? 0 : target->entry_depth;
    node->uniform_exit = depth <= entry;
    if (node->uniform_exit)
        return;
    if (target == NULL)
        raise_flag(plan, &plan->some_return);
    else if (node->kind == ACCEL__NODE_CONTINUE)
        raise_flag(plan, &target->masked_continue);
    else
        raise_flag(plan, &target->masked_exits);
}

static void visit(accel__plan *plan, accel__node *node, uint32_t depth)
{
    switch (node->kind) {
    case ACCEL__NODE_BLOCK:
        visit_list(plan, node->a, depth);
        return;
    case ACCEL__NODE_DECLARE:
        if (node->symbol->init != NULL &&
            (depth > 0 || accel__plan_varies(plan, node->symbol->init)))
            set_varies(plan, node->symbol);
        return;
    case ACCEL__NODE_EXPRESSION:
        visit_top(plan, node->a, depth);
        return;
    case ACCEL__NODE_IF:
        visit_if(plan, node, depth);
        return;
    case ACCEL__NODE_FOR:
    case ACCEL__NODE_WHILE:
    case ACCEL__NODE_DO:
    case ACCEL__NODE_SWITCH:
        visit_loop(plan, node, depth);
        return;
    case ACCEL__NODE_INLINE:
        node->entry_depth = depth;
        visit(plan, node->d, depth + (node->masked_exits ? 1 : 0));
        return;
    case ACCEL__NODE_BREAK:
    case ACCEL__NODE_CONTINUE:
    case ACCEL__NODE_RETURN:
        visit_jump(plan, node, depth);
        return;
    default:
        return;
    }
}

void accel__plan_uniformity(accel__plan *plan)
{
    do {
        plan->changed = false;
        visit(plan, plan->body, 0);
    } while (plan->changed);
}
