/* facts.c: what a kernel's copy does with its variables: where each is assigned, whether
 * its address is taken, and which part of the body it can be seen in. */
#include "kernel/emit_cpu/plan.h"

typedef struct scan {
    accel__emitter *emitter;
    accel__plan *plan;
} scan;

static void number(scan *state, accel__node *node);

/* The variable that an lvalue is, or is a part of; NULL: memory behind a pointer. */
accel__symbol *accel__plan_root(const accel__node *node)
{
    for (;;) {
        if (node->kind == ACCEL__NODE_NAME)
            return node->symbol;
        const bool part = node->kind == ACCEL__NODE_SWIZZLE ||
                          (node->kind == ACCEL__NODE_MEMBER && !node->flag) ||
                          (node->kind == ACCEL__NODE_INDEX &&
                           node->a->type->kind == ACCEL__TYPE_ARRAY);
        if (!part)
            return NULL;
        node = node->a;
    }
}

static void record(scan *state, accel__symbol *symbol)
{
    accel__assignment *assignment = accel__emit_take(state->emitter, sizeof *assignment);
    assignment->symbol = symbol;
    assignment->position = state->plan->position;
    assignment->next = state->plan->assignments;
    state->plan->assignments = assignment;
    symbol->assignments++;
}

static void scan_expression(accel__node *node, void *context);

/* An argument of a call may be an address without escaping: functions return no pointers they got
 * into anything that lives longer than the call's statement. */
static void scan_arg(scan *state, accel__node *arg, bool escapes)
{
    const bool address = arg->kind == ACCEL__NODE_UNARY && arg->op[0] == '&';
    const bool decays = arg->type->kind == ACCEL__TYPE_ARRAY;
    accel__symbol *root = address  ? accel__plan_root(arg->a)
                          : decays ? accel__plan_root(arg)
                                   : NULL;
    if (root != NULL) {
        root->address_taken = true;
        root->odd_assignment = true;
        root->escapes |= escapes;
    }
    scan_expression(arg, state);
}

static void scan_address(scan *state, accel__node *node)
{
    accel__symbol *root = accel__plan_root(node);
    if (root != NULL) {
        root->address_taken = true;
        root->escapes = true;
        root->odd_assignment = true;
    }
    scan_expression(node, state);
}

/* Subscripts of arrays keep to the array; any other use of its name takes its address. */
static void scan_subscript(scan *state, accel__node *node)
{
    if (node->a->type->kind == ACCEL__TYPE_ARRAY && accel__plan_root(node->a) != NULL) {
        accel__node *base = node->a;
        while (base->kind != ACCEL__NODE_NAME) {
            if (base->kind == ACCEL__NODE_INDEX)
                scan_expression(base->b, state);
            base = base->a;
        }
    } else {
        scan_expression(node->a, state);
    }
    scan_expression(node->b, state);
}

static void scan_expression(accel__node *node, void *context)
{
    scan *state = context;
    accel__symbol *root = NULL;
    switch (node->kind) {
    case ACCEL__NODE_ASSIGN:
    case ACCEL__NODE_STEP:
        root = accel__plan_root(node->a);
        if (root != NULL) {
            record(state, root);
            root->odd_assignment = true;
        }
        break;
    case ACCEL__NODE_CALL:
    case ACCEL__NODE_BUILTIN:
        for (accel__node *arg = node->a; arg != NULL; arg = arg->next)
            scan_arg(state, arg, node->type->kind == ACCEL__TYPE_POINTER);
        if (node->kind == ACCEL__NODE_CALL && node->symbol->has_atomics)
            state->plan->has_atomics = true;
        if (node->kind == ACCEL__NODE_CALL && node->symbol->uses_items)
            state->plan->names_block = state->plan->names_rows = true;
        if (node->kind == ACCEL__NODE_BUILTIN) {
            const accel__builtin *builtin = node->builtin;
            if (accel__builtin_is_atomic(builtin) || builtin->rule == ACCEL__RULE_FENCE)
                state->plan->has_atomics = true;
            if (builtin->rule == ACCEL__RULE_ITEM &&
                (builtin->value == ACCEL__ITEM_LOCAL_ID || builtin->value == ACCEL__ITEM_GROUP_ID))
                state->plan->names_block = true;
            int64_t axis = 0;
            if (builtin->rule == ACCEL__RULE_ITEM &&
                !(accel__constant_integer(node->a, &axis) && axis == 0))
                state->plan->names_rows = true;
        }
        return;
    case ACCEL__NODE_UNARY:
        if (node->op[0] == '&') {
            scan_address(state, node->a);
            return;
        }
        break;
    case ACCEL__NODE_INDEX:
        scan_subscript(state, node);
        return;
    case ACCEL__NODE_NAME:
        if (node->type->kind == ACCEL__TYPE_ARRAY)
            node->symbol->address_taken = node->symbol->escapes = node->symbol->odd_assignment =
                true;
        return;
    default:
        break;
    }
    accel__walk_children(node, scan_expression, state);
}

/* An expression whose value is not used: assignments at its top are plain ones. */
static void scan_top(scan *state, accel__node *node)
{
    if (node->kind == ACCEL__NODE_COMMA) {
        scan_top(state, node->a);
        scan_top(state, node->b);
        return;
    }
    const bool assigns = node->kind == ACCEL__NODE_ASSIGN || node->kind == ACCEL__NODE_STEP;
    if (!assigns || node->a->kind != ACCEL__NODE_NAME) {
        scan_expression(node, state);
        return;
    }
    record(state, node->a->symbol);
    if (node->b != NULL)
        scan_expression(node->b, state);
}

static void number_list(scan *state, accel__node *list)
{
    for (accel__node *at = list; at != NULL; at = at->next)
        number(state, at);
}

static void end_scope(scan *state, accel__node *list)
{
    for (accel__node *at = list; at != NULL; at = at->next)
        if (at->kind == ACCEL__NODE_DECLARE)
            at->symbol->scope_end = state->plan->position;
}

static void number_declare(scan *state, accel__node *node)
{
    accel__symbol *symbol = node->symbol;
    symbol->scope_begin = state->plan->position;
    if (symbol->init != NULL)
        scan_expression(symbol->init, state);
    if (symbol->type->space == ACCEL__SPACE_LOCAL && symbol->type->kind != ACCEL__TYPE_POINTER)
        state->plan->names_block = true;
    else if (symbol->type->kind == ACCEL__TYPE_ARRAY || symbol->type->kind == ACCEL__TYPE_RECORD)
        symbol->varies = true;
}

static void number_loop(scan *state, accel__node *node)
{
    number_list(state, node->kind == ACCEL__NODE_FOR ? node->a : NULL);
    state->plan->position++;
    if (node->b != NULL && node->kind != ACCEL__NODE_DO)
        scan_expression(node->b, state);
    number(state, node->d);
    state->plan->position++;
    if (node->b != NULL && node->kind == ACCEL__NODE_DO)
        scan_expression(node->b, state);
    if (node->c != NULL)
        scan_top(state, node->c);
    state->plan->position++;
    end_scope(state, node->kind == ACCEL__NODE_FOR ? node->a : NULL);
}

static void number(scan *state, accel__node *node)
{
    node->position = ++state->plan->position;
    switch (node->kind) {
    case ACCEL__NODE_BLOCK:
        number_list(state, node->a);
        state->plan->position++;
        end_scope(state, node->a);
        return;
    case ACCEL__NODE_DECLARE:
        number_declare(state, node);
        return;
    case ACCEL__NODE_EXPRESSION:
        scan_top(state, node->a);
        return;
    case ACCEL__NODE_IF:
    case ACCEL__NODE_GUARD:
        scan_expression(node->a, state);
        if (node->b != NULL)
            number(state, node->b);
        if (node->c != NULL)
            number(state, node->c);
        return;
    case ACCEL__NODE_FOR:
    case ACCEL__NODE_WHILE:
    case ACCEL__NODE_DO:
    case ACCEL__NODE_SWITCH:
        number_loop(state, node);
        return;
    case ACCEL__NODE_INLINE:
        number(state, node->d);
        return;
    case ACCEL__NODE_BARRIER:
        scan_expression(node->a, state);
        return;
    default:
        return;
    }
}

void accel__plan_facts(accel__emitter *emitter, accel__plan *plan)
{
    scan state = {emitter, plan};
    number(&state, plan->body);
    for (const accel__symbol *param = plan->kernel->params; param != NULL;
         param = param->next_param)
        if (param->type->kind == ACCEL__TYPE_POINTER &&
            param->type->base->space == ACCEL__SPACE_LOCAL)
            plan->names_block = true;
    for (uint32_t i = 0; i < plan->variable_count; i++) {
        accel__symbol *symbol = plan->variables[i];
        const bool block = symbol->type->space == ACCEL__SPACE_LOCAL &&
                           symbol->type->kind != ACCEL__TYPE_POINTER;
        if (!block && (symbol->odd_assignment || symbol->address_taken ||
                       (symbol->type->qualifiers & ACCEL__QUALIFIER_VOLATILE)))
            symbol->varies = true;
    }
}
