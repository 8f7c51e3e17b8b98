/* copy.c: the plan works on a copy of the kernel's body. Calls of functions that hold
 * barriers are replaced by those functions' bodies; parameters that are assigned become variables;
 * jumps learn what they leave. */
#include <string.h>

#include "kernel/emit_cpu/plan.h"

typedef struct copier {
    accel__emitter *emitter;
    accel__plan *plan;
    accel__node *loop; /* the target of continue */
    accel__node *breakable;
    accel__node *inlined; /* the target of return; NULL: the kernel */
} copier;

static accel__node *copy_list(copier *state, const accel__node *list);
static accel__node *copy(copier *state, const accel__node *node);

static accel__node *new_node(copier *state, accel__node_kind kind, const accel__node *at)
{
    accel__node *node = accel__emit_take(state->emitter, sizeof *node);
    node->kind = (uint8_t)kind;
    node->file = at->file;
    node->line = at->line;
    return node;
}

static accel__symbol *new_variable(copier *state, const accel__symbol *from)
{
    accel__plan *plan = state->plan;
    accel__symbol *symbol = accel__emit_take(state->emitter, sizeof *symbol);
    *symbol = *from;
    symbol->kind = ACCEL__SYMBOL_VARIABLE;
    symbol->id = ++state->emitter->next_id;
    symbol->init = NULL;
    symbol->next = symbol->next_param = symbol->copy = NULL;
    if (plan->variable_count == plan->variable_capacity) {
        const uint32_t capacity = plan->variable_capacity == 0 ? 32 : plan->variable_capacity * 2;
        accel__symbol **larger = accel__emit_take(state->emitter,
                                                  capacity * sizeof plan->variables[0]);
        if (plan->variable_count > 0)
            memcpy(larger, plan->variables, plan->variable_count * sizeof larger[0]);
        plan->variables = larger;
        plan->variable_capacity = capacity;
    }
    plan->variables[plan->variable_count++] = symbol;
    return symbol;
}

static accel__node *name_of(copier *state, accel__symbol *symbol, const accel__node *at)
{
    accel__node *node = new_node(state, ACCEL__NODE_NAME, at);
    node->symbol = symbol;
    node->type = symbol->type;
    return node;
}

static accel__node *declare(copier *state, accel__symbol *symbol, const accel__node *at)
{
    accel__node *node = new_node(state, ACCEL__NODE_DECLARE, at);
    node->symbol = symbol;
    return node;
}

static accel__node *assign(copier *state, accel__node *left, accel__node *right)
{
    accel__node *node = new_node(state, ACCEL__NODE_ASSIGN, right);
    node->a = left;
    node->b = right;
    node->type = left->type;
    accel__node *statement = new_node(state, ACCEL__NODE_EXPRESSION, right);
    statement->a = node;
    return statement;
}

/* ---- inlining ---- */

static bool calls_barrier(const accel__node *node)
{
    return node != NULL && node->kind == ACCEL__NODE_CALL && node->symbol->has_barrier;
}

/* The body of the called function in a node of its own; its result goes to `result`. */
static accel__node *inline_call(copier *state, const accel__node *call, accel__symbol *result)
{
    const accel__symbol *function = call->symbol;
    accel__node *node = new_node(state, ACCEL__NODE_INLINE, call);
    node->symbol = result;
    accel__node *block = new_node(state, ACCEL__NODE_BLOCK, call);
    accel__node **end = &block->a;
    const accel__node *arg = call->a;
    for (accel__symbol *param = function->params; param != NULL; param = param->next_param) {
        accel__symbol *variable = new_variable(state, param);
        variable->init = copy(state, arg);
        *end = declare(state, variable, call);
        end = &(*end)->next;
        arg = arg->next;
        param->copy = variable; /* the arguments before it were copied already: no recursion */
    }
    const copier outer = *state;
    state->inlined = node;
    state->loop = state->breakable = NULL;
    *end = copy(state, function->body);
    *state = outer;
    node->d = block;
    return node;
}

/* A statement that calls a function with barriers: f(…);  x = f(…);  T x = f(…);  return f(…); */
static accel__node *copy_calling(copier *state, const accel__node *node)
{
    const accel__node *value = node->kind == ACCEL__NODE_DECLARE ? node->symbol->init : node->a;
    const bool assigns = node->kind == ACCEL__NODE_EXPRESSION && value != NULL &&
                         value->kind == ACCEL__NODE_ASSIGN;
    const accel__node *call = assigns ? value->b : value;
    if (!calls_barrier(call))
        return NULL;
    accel__symbol *result = NULL;
    if (call->type->kind != ACCEL__TYPE_VOID) {
        result = new_variable(state, call->symbol);
        result->is_kernel = result->is_defined = false;
        result->body = NULL;
        result->params = NULL;
    }
    accel__node *list = result == NULL ? NULL : declare(state, result, node);
    accel__node **end = list == NULL ? &list : &list->next;
    *end = inline_call(state, call, result);
    end = &(*end)->next;
    if (node->kind == ACCEL__NODE_DECLARE) {
        accel__symbol *variable = new_variable(state, node->symbol);
        node->symbol->copy = variable;
        variable->init = name_of(state, result, node);
        *end = declare(state, variable, node);
    } else if (assigns) {
        *end = assign(state, copy(state, value->a), name_of(state, result, node));
        memcpy((*end)->a->op, value->op, sizeof value->op);
    } else if (node->kind == ACCEL__NODE_RETURN) {
        *end = assign(state, name_of(state, state->inlined->symbol, node),
                      name_of(state, result, node));
        end = &(*end)->next;
        *end = new_node(state, ACCEL__NODE_RETURN, node);
        (*end)->target = state->inlined;
    }
    return list;
}

/* ---- copying ---- */

static accel__node *copy_return(copier *state, const accel__node *node)
{
    accel__node *leave = new_node(state, ACCEL__NODE_RETURN, node);
    leave->target = state->inlined;
    if (node->a == NULL)
        return leave;
    accel__node *value = assign(state, name_of(state, state->inlined->symbol, node),
                                copy(state, node->a));
    value->next = leave;
    return value;
}

static accel__node *copy_declare(copier *state, const accel__node *node)
{
    accel__symbol *variable = new_variable(state, node->symbol);
    accel__node *init = node->symbol->init == NULL ? NULL : copy(state, node->symbol->init);
    node->symbol->copy = variable;
    variable->init = init;
    return declare(state, variable, node);
}

static accel__node *copy_body(copier *state, const accel__node *body)
{
    if (body == NULL)
        return NULL;
    accel__node *list = copy_list(state, body);
    if (list != NULL && list->next == NULL && list->kind == ACCEL__NODE_BLOCK)
        return list;
    accel__node *block = new_node(state, ACCEL__NODE_BLOCK, body);
    block->a = list;
    return block;
}

static void copy_loop(copier *state, accel__node *copied, const accel__node *node)
{
    const copier outer = *state;
    copied->a = copy_list(state, node->a);
    copied->b = node->b == NULL ? NULL : copy(state, node->b);
    copied->c = node->c == NULL ? NULL : copy(state, node->c);
    state->breakable = copied;
    if (node->kind != ACCEL__NODE_SWITCH)
        state->loop = copied;
    copied->d = copy_body(state, node->d);
    state->loop = outer.loop;
    state->breakable = outer.breakable;
}

static void copy_children(copier *state, accel__node *copied, const accel__node *node)
{
    switch (node->kind) {
    case ACCEL__NODE_FOR:
    case ACCEL__NODE_WHILE:
    case ACCEL__NODE_DO:
    case ACCEL__NODE_SWITCH:
        copy_loop(state, copied, node);
        return;
    case ACCEL__NODE_IF:
        copied->a = copy(state, node->a);
        copied->b = copy_body(state, node->b);
        copied->c = copy_body(state, node->c);
        return;
    case ACCEL__NODE_BLOCK:
    case ACCEL__NODE_CALL:
    case ACCEL__NODE_BUILTIN:
    case ACCEL__NODE_VECTOR:
    case ACCEL__NODE_LIST:
        copied->a = copy_list(state, node->a);
        return;
    default:
        copied->a = node->a == NULL ? NULL : copy(state, node->a);
        copied->b = node->b == NULL ? NULL : copy(state, node->b);
        copied->c = node->c == NULL ? NULL : copy(state, node->c);
        return;
    }
}

/* "a, b;" as two statements. */
static accel__node *copy_comma(copier *state, const accel__node *node)
{
    accel__node *first = NULL;
    accel__node **end = &first;
    for (int i = 0; i < 2; i++) {
        accel__node part = *node;
        part.a = i == 0 ? node->a->a : node->a->b;
        part.next = NULL;
        *end = copy(state, &part);
        while (*end != NULL)
            end = &(*end)->next;
    }
    return first;
}

/* "for (i = 0; …" as "i = 0; for (; …". */
static accel__node *copy_for(copier *state, const accel__node *node)
{
    accel__node loop = *node;
    accel__node *first = copy_list(state, node->a);
    accel__node **end = &first;
    while (*end != NULL)
        end = &(*end)->next;
    loop.a = NULL;
    loop.next = NULL;
    *end = copy(state, &loop);
    return first;
}

/* May give several statements for one. */
static accel__node *copy(copier *state, const accel__node *node)
{
    accel__node *calling = node->kind == ACCEL__NODE_EXPRESSION ||
                                   node->kind == ACCEL__NODE_DECLARE ||
                                   node->kind == ACCEL__NODE_RETURN
                               ? copy_calling(state, node)
                               : NULL;
    if (calling != NULL)
        return calling;
    if (node->kind == ACCEL__NODE_EXPRESSION && node->a->kind == ACCEL__NODE_COMMA)
        return copy_comma(state, node);
    if (node->kind == ACCEL__NODE_FOR && node->a != NULL && node->a->kind != ACCEL__NODE_DECLARE)
        return copy_for(state, node);
    if (node->kind == ACCEL__NODE_RETURN)
        return copy_return(state, node);
    if (node->kind == ACCEL__NODE_DECLARE)
        return copy_declare(state, node);
    if (calls_barrier(node))
        accel__emit_fail(state->emitter, node->file, node->line,
                         "'%s' holds a barrier: call it as a statement of its own, or as the whole "
                         "right side of an assignment",
                         node->symbol->name);
    accel__node *copied = accel__emit_take(state->emitter, sizeof *copied);
    *copied = *node;
    copied->next = NULL;
    if (node->kind == ACCEL__NODE_NAME && node->symbol->copy != NULL) {
        copied->symbol = node->symbol->copy;
        copied->type = copied->symbol->type;
    }
    if (node->kind == ACCEL__NODE_BREAK)
        copied->target = state->breakable;
    if (node->kind == ACCEL__NODE_CONTINUE)
        copied->target = state->loop;
    copy_children(state, copied, node);
    return copied;
}

static accel__node *copy_list(copier *state, const accel__node *list)
{
    accel__node *first = NULL;
    accel__node **end = &first;
    for (; list != NULL; list = list->next) {
        *end = copy(state, list);
        while (*end != NULL)
            end = &(*end)->next;
    }
    return first;
}

/* ---- parameters that the kernel changes ---- */

static const accel__symbol *root_of(const accel__node *node)
{
    while (node->kind == ACCEL__NODE_SWIZZLE || (node->kind == ACCEL__NODE_MEMBER && !node->flag))
        node = node->a;
    return node->kind == ACCEL__NODE_NAME ? node->symbol : NULL;
}

static void mark_changed(accel__node *node, void *context)
{
    const bool address = node->kind == ACCEL__NODE_UNARY && node->op[0] == '&';
    if (node->kind == ACCEL__NODE_ASSIGN || node->kind == ACCEL__NODE_STEP || address) {
        accel__symbol *root = (accel__symbol *)root_of(node->a);
        if (root != NULL && root->kind == ACCEL__SYMBOL_PARAM)
            root->assignments++;
    }
    accel__walk_children(node, mark_changed, context);
}

void accel__plan_copy(accel__emitter *emitter, accel__plan *plan)
{
    copier state = {.emitter = emitter, .plan = plan};
    accel__symbol *kernel = plan->kernel;
    for (accel__symbol *param = kernel->params; param != NULL; param = param->next_param)
        param->assignments = 0;
    mark_changed(kernel->body, NULL);
    accel__node *body = new_node(&state, ACCEL__NODE_BLOCK, kernel->body);
    accel__node **end = &body->a;
    for (accel__symbol *param = kernel->params; param != NULL; param = param->next_param) {
        param->copy = NULL;
        if (param->assignments == 0)
            continue;
        accel__symbol *variable = new_variable(&state, param);
        variable->init = name_of(&state, param, kernel->body);
        variable->assignments = 0;
        *end = declare(&state, variable, kernel->body);
        end = &(*end)->next;
        param->copy = variable;
        param->assignments = 0;
    }
    *end = copy_list(&state, kernel->body->a);
    plan->body = body;
}
