/* loop.c: which loops to turn inside out.
 * A loop that all items of a block run alike can run once, with the loop over work-items inside of
 * it: that inner loop then turns into vector code, where a loop over items around another loop
 * mostly does not (measured on an n-body kernel: 4 times faster with gcc, 8 with clang). Its price
 * is that variables that live across iterations become arrays. */
#include <string.h>

#include "kernel/emit_cpu/plan.h"

/* What compilers unroll by themselves, so that the loop around it is the inner one. */
#define SHORT_TRIP 16

static void find_obstacle(accel__node *node, void *context);

static bool is_loop(const accel__node *node)
{
    return node->kind == ACCEL__NODE_FOR || node->kind == ACCEL__NODE_WHILE ||
           node->kind == ACCEL__NODE_DO;
}

/* Calls of libm that no vector instruction does. */
static bool is_slow_builtin(const accel__builtin *builtin)
{
    static const char *const fast[] = {"sqrt",  "fabs", "floor",    "ceil",
                                       "trunc", "rint", "copysign", "fma"};
    if (builtin->rule == ACCEL__RULE_FLOAT && builtin->c_name != NULL) {
        for (size_t i = 0; i < sizeof fast / sizeof fast[0]; i++)
            if (strcmp(builtin->c_name, fast[i]) == 0)
                return false;
        return true;
    }
    switch (builtin->rule) {
    case ACCEL__RULE_FLOAT_INT:
    case ACCEL__RULE_FLOAT_TO_INT:
    case ACCEL__RULE_FLOAT_OUT:
    case ACCEL__RULE_FLOAT_OUT_INT:
    case ACCEL__RULE_FLOAT2_OUT_INT:
        return true;
    default:
        return false;
    }
}

static bool divides_slowly(const accel__node *node)
{
    int64_t value = 0;
    return (node->op[0] == '/' || node->op[0] == '%') && node->b != NULL &&
           accel__type_is_integer(node->b->type) && !accel__constant_integer(node->b, &value);
}

/* Rows of a matrix, one an item, say: side by side they fall on the same lines of the cache (2 to 4
 * times slower where rows are a power of two apart). */
static bool is_far_load(const accel__node *node)
{
    return (node->type->space == ACCEL__SPACE_GLOBAL ||
            node->type->space == ACCEL__SPACE_CONSTANT) &&
           !accel__emit_is_along_row(node->b);
}

static void find_obstacle(accel__node *node, void *context)
{
    bool *found = context;
    switch (node->kind) {
    case ACCEL__NODE_FOR:
    case ACCEL__NODE_WHILE:
    case ACCEL__NODE_DO:
    case ACCEL__NODE_SWITCH:
        *found |= node->diverges || node->masked_exits || node->masked_continue ||
                  node->kind == ACCEL__NODE_SWITCH;
        break;
    case ACCEL__NODE_NAME:
        *found |= (node->type->kind == ACCEL__TYPE_ARRAY ||
                   node->type->kind == ACCEL__TYPE_RECORD) &&
                  node->type->space == ACCEL__SPACE_PRIVATE;
        break;
    case ACCEL__NODE_INDEX:
        *found |= is_far_load(node);
        break;
    case ACCEL__NODE_CALL:
        find_obstacle(node->symbol->body, context);
        break;
    case ACCEL__NODE_BUILTIN:
        *found |= is_slow_builtin(node->builtin);
        break;
    case ACCEL__NODE_BINARY:
    case ACCEL__NODE_ASSIGN:
        *found |= divides_slowly(node);
        break;
    default:
        break;
    }
    if (!*found)
        accel__walk_children(node, find_obstacle, found);
}

static bool has_obstacle(const accel__node *loop)
{
    bool found = false;
    find_obstacle((accel__node *)loop, &found);
    return found;
}

/* for (i = constant; i < constant; i++ or i += constant) with few turns. */
static bool is_short(const accel__node *node)
{
    int64_t first = 0;
    int64_t last = 0;
    int64_t step = 1;
    if (node->kind != ACCEL__NODE_FOR || node->a == NULL || node->b == NULL || node->c == NULL)
        return false;
    const accel__node *init = node->a->kind == ACCEL__NODE_DECLARE ? node->a->symbol->init
                              : node->a->kind == ACCEL__NODE_EXPRESSION &&
                                      node->a->a->kind == ACCEL__NODE_ASSIGN
                                  ? node->a->a->b
                                  : NULL;
    if (init == NULL || node->b->kind != ACCEL__NODE_BINARY || node->b->op[0] != '<' ||
        node->b->op[1] == '<')
        return false;
    if (!accel__constant_integer(init, &first) || !accel__constant_integer(node->b->b, &last))
        return false;
    if (node->c->kind == ACCEL__NODE_ASSIGN && node->c->op[0] == '+') {
        if (!accel__constant_integer(node->c->b, &step))
            return false;
    } else if (node->c->kind != ACCEL__NODE_STEP || node->c->op[0] != '+') {
        return false;
    }
    return step > 0 && last > first && (last - first) / step <= SHORT_TRIP;
}

static void find_loop(accel__node *node, void *context)
{
    bool *found = context;
    *found |= is_loop(node) && !is_short(node);
    if (!*found)
        accel__walk_children(node, find_loop, found);
}

static bool has_long_loop(accel__node *body)
{
    bool found = false;
    find_loop(body, &found);
    return found;
}

/* Marks loops under `node`, which all items reach together. True where it marked one. */
static bool mark(accel__node *node)
{
    bool marked = false;
    switch (node->kind) {
    case ACCEL__NODE_BLOCK:
        for (accel__node *at = node->a; at != NULL; at = at->next)
            marked |= mark(at);
        break;
    case ACCEL__NODE_INLINE:
        marked = mark(node->d);
        break;
    case ACCEL__NODE_IF:
        if (node->diverges)
            return false;
        marked = mark(node->b);
        if (node->c != NULL)
            marked |= mark(node->c);
        break;
    case ACCEL__NODE_FOR:
    case ACCEL__NODE_WHILE:
    case ACCEL__NODE_DO:
        if (node->diverges || node->masked_exits || node->masked_continue)
            return false;
        marked = mark(node->d) || (!node->skeleton && !has_obstacle(node) &&
                                   (!is_short(node) || has_long_loop(node->d)));
        break;
    default:
        return false;
    }
    node->skeleton |= marked;
    return marked;
}

void accel__plan_loops(accel__plan *plan)
{
    if (plan->has_atomics || plan->some_return || plan->full_mask)
        return;
    plan->loops_inside_out = mark(plan->body);
}
