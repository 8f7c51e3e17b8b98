/* guard.c: conditions on the ids of work-items as bounds of loops.
 * `if (get_global_id(0) >= n) return;` at the head of a kernel cuts the box of items that take part,
 * so that nothing behind it needs a mask; `if (lid < s) …` alone in a region bounds its loop (a
 * reduction runs 25 times faster that way). */
#include <string.h>

#include "kernel/emit_cpu/plan.h"

/* One comparison: the item's id on one axis against something that all items share. */
typedef struct bound {
    const accel__node *id; /* the call of get_global_id or get_local_id */
    const accel__node *other;
    char op;      /* of "id op other": '<', 'l' (<=), '>', 'g' (>=), '=' */
    uint8_t kind; /* the type in which C compares */
} bound;

static const accel__node *id_behind(const accel__node *node)
{
    const accel__node *direct = accel__plan_id_of(node);
    if (direct != NULL)
        return direct;
    if (node->kind == ACCEL__NODE_CAST && accel__type_is_integer(node->type) &&
        accel__type_size(node->type) >= 4)
        return id_behind(node->a);
    if (node->kind != ACCEL__NODE_NAME)
        return NULL;
    const accel__symbol *symbol = node->symbol;
    const bool fixed = symbol->kind == ACCEL__SYMBOL_VARIABLE && symbol->init != NULL &&
                       symbol->assignments == 0 && !symbol->address_taken &&
                       accel__type_is_integer(symbol->type) &&
                       accel__type_size(symbol->type) >= 4 &&
                       !(symbol->type->qualifiers & ACCEL__QUALIFIER_VOLATILE);
    return fixed ? accel__plan_id_of(symbol->init) : NULL;
}

typedef struct shared_query {
    bool in_region; /* at the head of a region: variables already have their places */
    bool fails;
} shared_query;

/* Sizes, block ids, constants, unchanged parameters, and variables made of these only. */
static void check_shared(accel__node *node, void *context)
{
    shared_query *query = context;
    const accel__symbol *symbol = node->symbol;
    switch (node->kind) {
    case ACCEL__NODE_INTEGER:
    case ACCEL__NODE_CAST:
    case ACCEL__NODE_CONDITION:
        break;
    case ACCEL__NODE_UNARY:
        query->fails |= node->op[0] == '*' || node->op[0] == '&';
        break;
    case ACCEL__NODE_BINARY:
        break;
    case ACCEL__NODE_BUILTIN:
        query->fails |= node->builtin->rule != ACCEL__RULE_ITEM ||
                        node->builtin->value == ACCEL__ITEM_GLOBAL_ID ||
                        node->builtin->value == ACCEL__ITEM_LOCAL_ID;
        break;
    case ACCEL__NODE_NAME:
        if (!accel__type_is_integer(symbol->type))
            query->fails = true;
        else if (query->in_region)
            query->fails |= symbol->kind == ACCEL__SYMBOL_VARIABLE &&
                            symbol->storage != ACCEL__STORAGE_UNIFORM;
        else if (symbol->kind == ACCEL__SYMBOL_VARIABLE && !symbol->is_program_scope) {
            query->fails |= symbol->init == NULL || symbol->assignments > 0 ||
                            symbol->address_taken ||
                            (symbol->type->qualifiers & ACCEL__QUALIFIER_VOLATILE);
            if (!query->fails && symbol->init->kind != ACCEL__NODE_NAME)
                check_shared(symbol->init, context);
            else if (!query->fails && symbol->init->symbol->kind != ACCEL__SYMBOL_PARAM)
                check_shared(symbol->init, context);
        }
        break;
    default:
        query->fails = true;
        break;
    }
    if (!query->fails)
        accel__walk_children(node, check_shared, query);
}

static bool is_shared(const accel__node *node, bool in_region)
{
    shared_query query = {in_region, false};
    check_shared((accel__node *)node, &query);
    return !query.fails;
}

static char code_of(const char *op)
{
    if (strcmp(op, "<=") == 0)
        return 'l';
    if (strcmp(op, ">=") == 0)
        return 'g';
    if (strcmp(op, "==") == 0)
        return '=';
    return op[1] == '\0' && (op[0] == '<' || op[0] == '>') ? op[0] : '\0';
}

static char translate(char op, const char *from, const char *to)
{
    const char *found = strchr(from, op);
    return found == NULL || op == '\0' ? '\0' : to[found - from];
}

/* Reads `node` (negated where `negate`) as one bound. */
static bool read_bound(const accel__node *node, bool negate, bool in_region, bound *out)
{
    if (node->kind != ACCEL__NODE_BINARY || !accel__type_is_integer(node->a->type) ||
        !accel__type_is_integer(node->b->type))
        return false;
    char op = code_of(node->op);
    const accel__node *id = id_behind(node->a);
    const accel__node *other = node->b;
    if (id == NULL) {
        id = id_behind(node->b);
        other = node->a;
        op = translate(op, "<>lg=", "><gl=");
    }
    if (negate)
        op = translate(op, "<>lg", "gl><");
    if (id == NULL || op == '\0' || !is_shared(other, in_region))
        return false;
    *out = (bound){id, other, op,
                   (uint8_t)accel__type_common((accel__type_kind)node->a->type->kind,
                                               (accel__type_kind)node->b->type->kind)};
    return true;
}

/* True where every part of the condition is a bound, or the same for all items. */
static bool is_guard(const accel__node *node, bool negate)
{
    bound ignored;
    if (node->kind == ACCEL__NODE_UNARY && node->op[0] == '!')
        return is_guard(node->a, !negate);
    if (node->kind == ACCEL__NODE_BINARY && strcmp(node->op, negate ? "||" : "&&") == 0)
        return is_guard(node->a, negate) && is_guard(node->b, negate);
    return read_bound(node, negate, false, &ignored) || is_shared(node, false);
}

/* ---- the head of a kernel ---- */

static void find_changes(accel__node *node, void *context)
{
    accel__symbol *root = NULL;
    if (node->kind == ACCEL__NODE_ASSIGN || node->kind == ACCEL__NODE_STEP)
        root = accel__plan_root(node->a);
    if (root != NULL)
        root->assignments++;
    if (node->kind == ACCEL__NODE_UNARY && node->op[0] == '&') {
        root = accel__plan_root(node->a);
        if (root != NULL)
            root->address_taken = true;
    }
    accel__walk_children(node, find_changes, context);
}

static bool is_harmless(const accel__node *node)
{
    if (node->kind != ACCEL__NODE_DECLARE)
        return false;
    const accel__symbol *symbol = node->symbol;
    if (symbol->init == NULL)
        return true;
    if (symbol->type->qualifiers & ACCEL__QUALIFIER_VOLATILE)
        return false;
    return id_behind(symbol->init) != NULL || is_shared(symbol->init, false);
}

static bool returns(const accel__node *node)
{
    if (node->kind == ACCEL__NODE_BLOCK)
        return node->a != NULL && node->a->next == NULL && returns(node->a);
    return node->kind == ACCEL__NODE_RETURN && node->target == NULL;
}

/* "if (inside) { everything }" at the end as "if (!inside) return; everything". */
static void turn_around(accel__emitter *emitter, accel__node *node)
{
    accel__node *negated = accel__emit_take(emitter, sizeof *negated);
    *negated = (accel__node){.kind = ACCEL__NODE_UNARY,
                             .op = "!",
                             .a = node->a,
                             .file = node->file,
                             .line = node->line,
                             .type = accel__type_scalar(ACCEL__TYPE_INT)};
    accel__node *leave = accel__emit_take(emitter, sizeof *leave);
    *leave = (accel__node){.kind = ACCEL__NODE_RETURN, .file = node->file, .line = node->line};
    node->next = node->b;
    node->b = leave;
    node->a = negated;
}

/* A declaration that may as well stand behind a guard. */
static bool is_movable(const accel__node *node)
{
    return node->kind == ACCEL__NODE_DECLARE && node->symbol->init != NULL &&
           accel__plan_is_plain(node->symbol->init);
}

/* The debug mode leaves a branch a branch: barriers inside of it must be reached by all items. */
static bool make_guard(accel__emitter *emitter, const accel__plan *plan, accel__node *node)
{
    if (node->kind != ACCEL__NODE_IF || node->c != NULL)
        return false;
    if (!returns(node->b) || !is_guard(node->a, true)) {
        if (node->next != NULL || !is_guard(node->a, false) ||
            (emitter->check_barriers && plan->has_barrier))
            return false;
        turn_around(emitter, node);
    }
    node->kind = ACCEL__NODE_GUARD;
    return true;
}

void accel__plan_guards(accel__emitter *emitter, accel__plan *plan)
{
    accel__node *moved = NULL;
    accel__node **moved_end = &moved;
    accel__node **at = &plan->body->a;
    find_changes(plan->body, NULL);
    while (*at != NULL) {
        accel__node *node = *at;
        if (is_harmless(node) || make_guard(emitter, plan, node)) {
            at = &node->next;
        } else if (is_movable(node)) {
            *moved_end = node;
            moved_end = &node->next;
            *at = node->next;
            *moved_end = NULL;
        } else {
            break;
        }
    }
    *moved_end = *at;
    *at = moved;
    for (uint32_t i = 0; i < plan->variable_count; i++) {
        plan->variables[i]->assignments = 0;
        plan->variables[i]->address_taken = false;
    }
}

/* ---- output ---- */

/* The other side as a signed 64-bit number; one that is unsigned and huge stays out of reach. */
static void emit_other(accel__emitter *emitter, const bound *at)
{
    const accel__type *type = accel__type_scalar((accel__type_kind)at->kind);
    accel__emit(emitter, accel__type_is_signed(type) ? "(long)(" : "accel_reach((unsigned long)(");
    accel__emit_type(emitter, type);
    accel__emit(emitter, ")(");
    accel__emit_expression(emitter, at->other);
    accel__emit(emitter, accel__type_is_signed(type) ? ")" : "))");
}

static void emit_limit(accel__emitter *emitter, const bound *at, unsigned axis, bool upper,
                       bool next)
{
    static const char axes[] = "xyz";
    const bool global = at->id->builtin->value == ACCEL__ITEM_GLOBAL_ID;
    accel__emit(emitter, "accel_%c%d = accel_%s(accel_%c%d, accel_less(%s", axes[axis], upper,
                upper ? "upper" : "lower", axes[axis], upper, next ? "accel_next(" : "");
    emit_other(emitter, at);
    accel__emit(emitter, "%s, ", next ? ")" : "");
    if (global)
        accel__emit(emitter, "accel_base%u));\n", axis);
    else if (emitter->plan->flat && axis == 0)
        accel__emit(emitter, "accel_start0));\n");
    else
        accel__emit(emitter, "0));\n");
}

static void emit_bound(accel__emitter *emitter, const bound *at)
{
    int64_t axis = 0;
    accel__constant_integer(at->id->a, &axis);
    if (at->op == '<' || at->op == 'l' || at->op == '=')
        emit_limit(emitter, at, (unsigned)axis, true, at->op != '<');
    if (at->op == '>' || at->op == 'g' || at->op == '=')
        emit_limit(emitter, at, (unsigned)axis, false, at->op == '>');
}

static bool is_on_loop_axis(const accel__emitter *emitter, const bound *at)
{
    int64_t axis = 0;
    accel__constant_integer(at->id->a, &axis);
    return axis == 0 || !emitter->plan->flat;
}

static void emit_guard(accel__emitter *emitter, const accel__node *node, bool negate)
{
    bound at;
    if (node->kind == ACCEL__NODE_UNARY && node->op[0] == '!') {
        emit_guard(emitter, node->a, !negate);
    } else if (node->kind == ACCEL__NODE_BINARY && strcmp(node->op, negate ? "||" : "&&") == 0) {
        emit_guard(emitter, node->a, negate);
        emit_guard(emitter, node->b, negate);
    } else if (read_bound(node, negate, false, &at) && is_on_loop_axis(emitter, &at)) {
        emit_bound(emitter, &at);
    } else {
        accel__emit(emitter, "if (%s", negate ? "" : "!");
        accel__emit_expression(emitter, node);
        accel__emit(emitter, ")\n    goto accel_done;\n");
    }
}

void accel__emit_guard(accel__emitter *emitter, const accel__node *node)
{
    emit_guard(emitter, node->a, true);
    accel__emit(emitter, emitter->plan->flat
                             ? "if (accel_x0 >= accel_x1)\n    goto accel_done;\n"
                             : "if (accel_x0 >= accel_x1 || accel_y0 >= accel_y1 || accel_z0 >= "
                               "accel_z1)\n    goto accel_done;\n");
}

static bool is_region_bound(const accel__emitter *emitter, const accel__node *node)
{
    bound at;
    if (node->kind == ACCEL__NODE_BINARY && strcmp(node->op, "&&") == 0)
        return is_region_bound(emitter, node->a) && is_region_bound(emitter, node->b);
    return read_bound(node, false, true, &at) && is_on_loop_axis(emitter, &at);
}

static void emit_region_bound(accel__emitter *emitter, const accel__node *node)
{
    bound at;
    if (node->kind == ACCEL__NODE_BINARY && strcmp(node->op, "&&") == 0) {
        emit_region_bound(emitter, node->a);
        emit_region_bound(emitter, node->b);
    } else if (read_bound(node, false, true, &at)) {
        emit_bound(emitter, &at);
    }
}

bool accel__emit_region_bounds(accel__emitter *emitter, const accel__node *condition)
{
    static const char axes[] = "xyz";
    if (!is_region_bound(emitter, condition))
        return false;
    accel__emit(emitter, "{\n");
    for (int i = 0; i < (emitter->plan->flat ? 1 : 3); i++)
        accel__emit(emitter,
                    "const int accel_%c0_before = accel_%c0, accel_%c1_before = accel_%c1;\n",
                    axes[i], axes[i], axes[i], axes[i]);
    accel__emit(emitter, "{\n");
    for (int i = 0; i < (emitter->plan->flat ? 1 : 3); i++)
        accel__emit(emitter, "int accel_%c0 = accel_%c0_before, accel_%c1 = accel_%c1_before;\n",
                    axes[i], axes[i], axes[i], axes[i]);
    emit_region_bound(emitter, condition);
    accel__emit(emitter, "\n");
    return true;
}
