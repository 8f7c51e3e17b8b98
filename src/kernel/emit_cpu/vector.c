/* vector.c: operators over vectors, with the vector extension that gcc and clang share. A
 * vector of three lanes is one of four whose last lane nobody reads. */
#include <stdio.h>
#include <string.h>

#include "kernel/emit_cpu/plan.h"

static bool is_vector(const accel__node *node)
{
    return node->type->kind == ACCEL__TYPE_VECTOR;
}

static void emit_value_type(accel__emitter *emitter, const accel__type *type)
{
    accel__type plain = *type;
    plain.qualifiers = 0;
    accel__emit_type(emitter, &plain);
}

void accel__emit_widened(accel__emitter *emitter, const accel__type *type, const accel__node *node)
{
    if (is_vector(node)) {
        accel__emit_expression(emitter, node);
        return;
    }
    emitter->prelude |= ACCEL__PRELUDE_VECTOR;
    accel__emit(emitter, "accel_splat_%sx%u(", accel__emit_suffix(type->base),
                (unsigned)type->count);
    accel__emit_expression(emitter, node);
    accel__emit(emitter, ")");
}

/* ---- swizzles and literals ---- */

static bool has_place(const accel__node *node)
{
    return node->kind == ACCEL__NODE_NAME || node->kind == ACCEL__NODE_INDEX ||
           (node->kind == ACCEL__NODE_UNARY && node->op[0] == '*') ||
           (node->kind == ACCEL__NODE_MEMBER && (node->flag || has_place(node->a)));
}

/* Swizzles of swizzles name lanes of the innermost vector. */
static const accel__node *flatten(const accel__node *node, uint8_t lanes[16])
{
    memcpy(lanes, node->lanes, 16);
    const accel__node *root = node->a;
    while (root->kind == ACCEL__NODE_SWIZZLE) {
        for (uint64_t i = 0; i < node->value; i++)
            lanes[i] = root->lanes[lanes[i]];
        root = root->a;
    }
    return root;
}

static void emit_lanes(accel__emitter *emitter, const accel__node *node, uint32_t id,
                       const uint8_t lanes[16])
{
    accel__emit(emitter, "(");
    emit_value_type(emitter, node->type);
    accel__emit(emitter, "){");
    for (uint64_t i = 0; i < node->value; i++)
        accel__emit(emitter, "%saccel_v%u[%u]", i > 0 ? ", " : "", id, lanes[i]);
    accel__emit(emitter, "}");
}

static void emit_swizzle(accel__emitter *emitter, const accel__node *node)
{
    uint8_t lanes[16];
    const accel__node *root = flatten(node, lanes);
    if (node->value == 1 && has_place(root)) {
        accel__emit_expression(emitter, root);
        accel__emit(emitter, "[%u]", lanes[0]);
        return;
    }
    const uint32_t id = ++emitter->next_id;
    accel__emit(emitter, "({ const ");
    emit_value_type(emitter, root->type);
    accel__emit(emitter, " accel_v%u = ", id);
    accel__emit_expression(emitter, root);
    accel__emit(emitter, "; ");
    if (node->value == 1)
        accel__emit(emitter, "accel_v%u[%u]", id, lanes[0]);
    else
        emit_lanes(emitter, node, id, lanes);
    accel__emit(emitter, "; })");
}

static void emit_literal(accel__emitter *emitter, const accel__node *node)
{
    const uint32_t id = emitter->next_id + 1;
    uint32_t count = 0;
    if (node->a->next == NULL) {
        accel__emit_widened(emitter, node->type, node->a);
        return;
    }
    for (const accel__node *at = node->a; at != NULL; at = at->next)
        count++;
    emitter->next_id += count;
    accel__emit(emitter, "({ ");
    count = 0;
    for (const accel__node *at = node->a; at != NULL; at = at->next, count++) {
        accel__emit(emitter, "const ");
        emit_value_type(emitter, is_vector(at) ? at->type : node->type->base);
        accel__emit(emitter, " accel_v%u = ", id + count);
        accel__emit_expression(emitter, at);
        accel__emit(emitter, "; ");
    }
    accel__emit(emitter, "(");
    emit_value_type(emitter, node->type);
    accel__emit(emitter, "){");
    count = 0;
    for (const accel__node *at = node->a; at != NULL; at = at->next, count++)
        for (uint64_t lane = 0; lane < (is_vector(at) ? at->type->count : 1); lane++) {
            accel__emit(emitter, "%saccel_v%u", count + lane > 0 ? ", " : "", id + count);
            if (is_vector(at))
                accel__emit(emitter, "[%u]", (unsigned)lane);
        }
    accel__emit(emitter, "}; })");
}

/* A constant vector at program scope: no statements there. */
static void emit_constant_literal(accel__emitter *emitter, const accel__node *node)
{
    accel__emit(emitter, "{");
    const bool splat = node->a->next == NULL;
    const accel__node *at = node->a;
    for (uint64_t lane = 0; lane < node->type->count && at != NULL; lane++) {
        if (is_vector(at))
            accel__emit_fail(emitter, node->file, node->line,
                             "a vector inside of a constant vector is not part of the kernel "
                             "language");
        accel__emit(emitter, lane > 0 ? ", " : "");
        accel__emit_expression(emitter, at);
        at = splat ? at : at->next;
    }
    accel__emit(emitter, "}");
}

/* ---- operators ---- */

static bool is_comparison(const accel__node *node)
{
    const char *op = node->op;
    return strcmp(op, "<") == 0 || strcmp(op, ">") == 0 || strcmp(op, "<=") == 0 ||
           strcmp(op, ">=") == 0 || strcmp(op, "==") == 0 || strcmp(op, "!=") == 0;
}

static const accel__type *operand_type(const accel__node *node)
{
    return is_vector(node->a) ? node->a->type : node->b->type;
}

static void emit_pair(accel__emitter *emitter, const accel__node *node, const char *op)
{
    const accel__type *type = operand_type(node);
    accel__emit(emitter, "(");
    accel__emit_widened(emitter, type, node->a);
    accel__emit(emitter, " %s ", op);
    accel__emit_widened(emitter, type, node->b);
    accel__emit(emitter, ")");
}

static void emit_logical(accel__emitter *emitter, const accel__node *node)
{
    const accel__type *type = operand_type(node);
    accel__emit(emitter, "((");
    emit_value_type(emitter, node->type);
    accel__emit(emitter, ")((");
    accel__emit_widened(emitter, type, node->a);
    accel__emit(emitter, " != 0) %c (", node->op[0]);
    accel__emit_widened(emitter, type, node->b);
    accel__emit(emitter, " != 0)))");
}

/* Lane by lane, where the compilers' own operator would trap. */
static void emit_division(accel__emitter *emitter, const accel__node *node, const accel__type *type)
{
    const accel__type_kind kind = accel__type_promoted((accel__type_kind)type->base->kind);
    const uint32_t id = ++emitter->next_id;
    emitter->prelude |= ACCEL__PRELUDE_INTEGER;
    accel__emit(emitter, "({ const ");
    emit_value_type(emitter, type);
    accel__emit(emitter, " accel_v%u = ", id);
    accel__emit_widened(emitter, type, node->a);
    accel__emit(emitter, ", accel_u%u = ", id);
    accel__emit_widened(emitter, type, node->b);
    accel__emit(emitter, "; ");
    emit_value_type(emitter, type);
    accel__emit(emitter,
                " accel_r%u = {0}; for (int accel_k = 0; accel_k < %u; accel_k++) "
                "accel_r%u[accel_k] = (",
                id, (unsigned)type->count, id);
    emit_value_type(emitter, type->base);
    accel__emit(emitter, ")accel_%s_%s(accel_v%u[accel_k], accel_u%u[accel_k]); accel_r%u; })",
                node->op[0] == '/' ? "div" : "mod", accel__emit_suffix(accel__type_scalar(kind)),
                id, id, id);
}

static void emit_shift(accel__emitter *emitter, const accel__node *node, const accel__type *type)
{
    accel__emit(emitter, "(");
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, " %s ((", node->op);
    emit_value_type(emitter, type);
    accel__emit(emitter, ")");
    if (is_vector(node->b))
        accel__emit_expression(emitter, node->b);
    else
        accel__emit_widened(emitter, type, node->b);
    accel__emit(emitter, " & %u))", (unsigned)accel__type_size(type->base) * 8 - 1);
}

static void emit_binary(accel__emitter *emitter, const accel__node *node)
{
    const accel__type *type = operand_type(node);
    const char op = node->op[0];
    if (strcmp(node->op, "&&") == 0 || strcmp(node->op, "||") == 0) {
        emit_logical(emitter, node);
    } else if (is_comparison(node)) {
        accel__emit(emitter, "((");
        emit_value_type(emitter, node->type);
        accel__emit(emitter, ")");
        emit_pair(emitter, node, node->op);
        accel__emit(emitter, ")");
    } else if ((op == '/' || op == '%') && accel__type_is_integer(type->base)) {
        emit_division(emitter, node, type);
    } else if (op == '<' || op == '>') {
        emit_shift(emitter, node, type);
    } else {
        emit_pair(emitter, node, node->op);
    }
}

/* Bits of b where the condition's lane is negative, else of c. */
static void emit_choice(accel__emitter *emitter, const accel__node *node)
{
    const uint32_t id = ++emitter->next_id;
    const accel__type *mask = node->a->type;
    if (!is_vector(node->a)) {
        accel__emit(emitter, "(");
        accel__emit_expression(emitter, node->a);
        accel__emit(emitter, " ? ");
        accel__emit_widened(emitter, node->type, node->b);
        accel__emit(emitter, " : ");
        accel__emit_widened(emitter, node->type, node->c);
        accel__emit(emitter, ")");
        return;
    }
    accel__emit(emitter, "({ const ");
    emit_value_type(emitter, mask);
    accel__emit(emitter, " accel_m%u = (", id);
    emit_value_type(emitter, mask);
    accel__emit(emitter, ")(");
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, " < 0); (");
    emit_value_type(emitter, node->type);
    accel__emit(emitter, ")((accel_m%u & (", id);
    emit_value_type(emitter, mask);
    accel__emit(emitter, ")");
    accel__emit_widened(emitter, node->type, node->b);
    accel__emit(emitter, ") | (~accel_m%u & (", id);
    emit_value_type(emitter, mask);
    accel__emit(emitter, ")");
    accel__emit_widened(emitter, node->type, node->c);
    accel__emit(emitter, ")); })");
}

static void emit_unary(accel__emitter *emitter, const accel__node *node)
{
    if (node->op[0] == '!') {
        accel__emit(emitter, "((");
        emit_value_type(emitter, node->type);
        accel__emit(emitter, ")(");
        accel__emit_expression(emitter, node->a);
        accel__emit(emitter, " == 0))");
        return;
    }
    accel__emit(emitter, "(%s", node->op);
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, ")");
}

/* ---- assignments ---- */

/* A node that prints as `text`. */
static accel__node verbatim(const char *text, const accel__type *type, const accel__node *at)
{
    return (accel__node){
        .kind = ACCEL__NODE_FLOAT, .text = text, .type = type, .file = at->file, .line = at->line};
}

/* What is assigned: b, or "a op b" with a read through the pointer. */
static void emit_new_value(accel__emitter *emitter, const accel__node *node,
                           const accel__node *before)
{
    accel__node operation = *node;
    accel__type plain = *node->a->type;
    plain.qualifiers = 0;
    accel__node left = *before;
    if (node->op[0] == '\0') {
        accel__emit_widened(emitter, &plain, node->b);
        return;
    }
    operation.kind = ACCEL__NODE_BINARY;
    operation.a = &left;
    operation.type = &plain;
    emit_binary(emitter, &operation);
}

/* "({ V *p = &root; T r = …; (*p)[lane] = r[i]; …; r; })", without lanes: "*p = r". */
static void emit_assign(accel__emitter *emitter, const accel__node *node)
{
    uint8_t lanes[16];
    char text[64];
    const bool swizzles = node->a->kind == ACCEL__NODE_SWIZZLE;
    const accel__node *root = swizzles ? flatten(node->a, lanes) : node->a;
    const uint32_t id = ++emitter->next_id;
    accel__emit(emitter, "({ ");
    accel__emit_type(emitter, root->type);
    accel__emit(emitter, " *accel_p%u = &", id);
    accel__emit_expression(emitter, root);
    accel__emit(emitter, "; const ");
    emit_value_type(emitter, node->a->type);
    accel__emit(emitter, " accel_r%u = ", id);
    snprintf(text, sizeof text, "(*accel_p%u)", id);
    accel__node pointed = verbatim(text, root->type, node);
    accel__node before = *node->a;
    if (swizzles) {
        memcpy(before.lanes, lanes, sizeof lanes);
        before.a = &pointed;
    }
    emit_new_value(emitter, node, swizzles ? &before : &pointed);
    accel__emit(emitter, "; ");
    if (!swizzles)
        accel__emit(emitter, "*accel_p%u = accel_r%u; ", id, id);
    for (uint64_t i = 0; swizzles && i < node->a->value; i++)
        accel__emit(emitter, "(*accel_p%u)[%u] = accel_r%u[%u]; ", id, lanes[i], id, (unsigned)i);
    accel__emit(emitter, "accel_r%u; })", id);
}

static void emit_step(accel__emitter *emitter, const accel__node *node)
{
    const uint32_t id = ++emitter->next_id;
    accel__emit(emitter, "({ ");
    accel__emit_type(emitter, node->a->type);
    accel__emit(emitter, " *accel_p%u = &", id);
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, "; const ");
    emit_value_type(emitter, node->type);
    accel__emit(emitter, " accel_r%u = *accel_p%u; *accel_p%u = accel_r%u %c 1; ", id, id, id, id,
                node->op[0]);
    accel__emit(emitter, node->flag ? "accel_r%u; })" : "*accel_p%u; })", id);
}

void accel__emit_vector(accel__emitter *emitter, const accel__node *node)
{
    emitter->prelude |= ACCEL__PRELUDE_VECTOR;
    switch (node->kind) {
    case ACCEL__NODE_SWIZZLE:
        emit_swizzle(emitter, node);
        return;
    case ACCEL__NODE_VECTOR:
        if (emitter->is_constant)
            emit_constant_literal(emitter, node);
        else
            emit_literal(emitter, node);
        return;
    case ACCEL__NODE_CAST:
        accel__emit_widened(emitter, node->type, node->a);
        return;
    case ACCEL__NODE_BINARY:
        emit_binary(emitter, node);
        return;
    case ACCEL__NODE_CONDITION:
        emit_choice(emitter, node);
        return;
    case ACCEL__NODE_UNARY:
        emit_unary(emitter, node);
        return;
    case ACCEL__NODE_STEP:
        emit_step(emitter, node);
        return;
    default:
        emit_assign(emitter, node);
        return;
    }
}
