/* check.c: types of operators. What C and OpenCL C agree on is done here; deeper questions (a
 * dropped const, say) are left to the compiler behind, whose messages name the user's line. */
#include <string.h>

#include "kernel/parse/parse.h"

#define MOST_DEPTH 1000

static accel__node *operator_node(accel__parser *parser, accel__node_kind kind,
                                  const accel__token *op, accel__node *a, accel__node *b,
                                  accel__node *c)
{
    accel__node *node = accel__parse_node(parser, kind, op);
    memcpy(node->op, op->text, op->size < 3 ? op->size : 3);
    node->a = a;
    node->b = b;
    node->c = c;
    unsigned depth = a->depth;
    depth = b != NULL && b->depth > depth ? b->depth : depth;
    depth = c != NULL && c->depth > depth ? c->depth : depth;
    if (depth >= MOST_DEPTH)
        accel__parse_fail_at(parser, op, "this expression is too long");
    node->depth = (uint16_t)(depth + 1);
    return node;
}

const char *accel__check_describe(accel__parser *parser, const accel__type *type)
{
    accel__text text = {0};
    accel__type_describe(type, &text);
    if (text.failed || text.data == NULL) {
        accel__text_release(&text);
        parser->diagnostics->out_of_memory = true;
        longjmp(parser->bail, 1);
    }
    char *copy = accel__arena_copy(&parser->program->arena, text.data, text.size);
    accel__text_release(&text);
    if (copy == NULL) {
        parser->diagnostics->out_of_memory = true;
        longjmp(parser->bail, 1);
    }
    return copy;
}

static _Noreturn void fail_operands(accel__parser *parser, const accel__token *op,
                                    const accel__node *a, const accel__node *b)
{
    if (a->type->kind == ACCEL__TYPE_HALF || (b != NULL && b->type->kind == ACCEL__TYPE_HALF))
        accel__parse_fail_at(parser, op,
                             "half arithmetic is not part of the kernel language; use "
                             "vload_half and vstore_half");
    if (b == NULL)
        accel__parse_fail_at(parser, op, "'%.*s' does not take %s", (int)op->size, op->text,
                             accel__check_describe(parser, a->type));
    accel__parse_fail_at(parser, op, "'%.*s' does not take %s and %s", (int)op->size, op->text,
                         accel__check_describe(parser, a->type),
                         accel__check_describe(parser, b->type));
}

const accel__type *accel__check_decay(accel__parser *parser, const accel__type *type)
{
    return type->kind == ACCEL__TYPE_ARRAY ? accel__parse_pointer_to(parser, type->base) : type;
}

/* Without qualifiers and space, as the type of a value. */
const accel__type *accel__check_value_type(accel__parser *parser, const accel__type *type)
{
    if (type->kind <= ACCEL__TYPE_DOUBLE)
        return accel__type_scalar((accel__type_kind)type->kind);
    if (type->qualifiers == 0 && type->space == 0)
        return type;
    accel__type *plain = accel__parse_take(parser, sizeof *plain);
    *plain = *type;
    plain->qualifiers = 0;
    plain->space = ACCEL__SPACE_PRIVATE;
    return plain;
}

static bool is_lvalue(const accel__node *node)
{
    switch (node->kind) {
    case ACCEL__NODE_NAME:
    case ACCEL__NODE_INDEX:
        return true;
    case ACCEL__NODE_UNARY:
        return node->op[0] == '*';
    case ACCEL__NODE_MEMBER:
        return node->flag || is_lvalue(node->a);
    case ACCEL__NODE_SWIZZLE:
        for (uint64_t i = 0; i < node->value; i++)
            for (uint64_t j = 0; j < i; j++)
                if (node->lanes[i] == node->lanes[j])
                    return false;
        return is_lvalue(node->a);
    default:
        return false;
    }
}

static void check_writable(accel__parser *parser, const accel__token *op, const accel__node *node)
{
    if (!is_lvalue(node) || node->type->kind == ACCEL__TYPE_ARRAY)
        accel__parse_fail_at(parser, op, "'%.*s' needs something it can assign to", (int)op->size,
                             op->text);
    if ((node->type->qualifiers & ACCEL__QUALIFIER_CONST) ||
        node->type->space == ACCEL__SPACE_CONSTANT)
        accel__parse_fail_at(parser, op, "'%.*s' on something constant", (int)op->size, op->text);
}

void accel__check_truth(accel__parser *parser, const accel__node *node)
{
    const accel__type *type = accel__check_decay(parser, node->type);
    if (!accel__type_is_scalar(type))
        accel__parse_fail(parser, node->file, node->line, "a condition must be a scalar, not %s",
                          accel__check_describe(parser, node->type));
}

static const accel__type *address_of(accel__parser *parser, const accel__token *op,
                                     const accel__node *a)
{
    if (!is_lvalue(a) || a->kind == ACCEL__NODE_SWIZZLE)
        accel__parse_fail_at(parser, op, "'&' needs something that has an address");
    return accel__parse_pointer_to(parser, a->type);
}

static const accel__type *pointee(accel__parser *parser, const accel__token *op,
                                  const accel__node *a)
{
    const accel__type *type = accel__check_decay(parser, a->type);
    if (type->kind != ACCEL__TYPE_POINTER || type->base->kind == ACCEL__TYPE_VOID ||
        accel__type_size(type->base) == 0)
        fail_operands(parser, op, a, NULL);
    return type->base;
}

/* int of the same shape as `type`: what comparisons give. */
static const accel__type *truth_type(accel__parser *parser, const accel__type *type)
{
    if (type->kind != ACCEL__TYPE_VECTOR)
        return accel__type_scalar(ACCEL__TYPE_INT);
    static const uint8_t by_size[] = {
        0, ACCEL__TYPE_CHAR, ACCEL__TYPE_SHORT, 0, ACCEL__TYPE_INT, 0, 0, 0, ACCEL__TYPE_LONG};
    accel__type *truth = accel__parse_type(
        parser, ACCEL__TYPE_VECTOR,
        accel__type_scalar((accel__type_kind)by_size[accel__type_size(type->base)]));
    truth->count = type->count;
    return truth;
}

static bool has_integers(const accel__type *type)
{
    return accel__type_is_integer(type->kind == ACCEL__TYPE_VECTOR ? type->base : type);
}

accel__node *accel__check_unary(accel__parser *parser, const accel__token *op, accel__node *a)
{
    accel__node *node = operator_node(parser, ACCEL__NODE_UNARY, op, a, NULL, NULL);
    const accel__type *type = a->type;
    const bool vector = type->kind == ACCEL__TYPE_VECTOR;
    switch (op->text[0]) {
    case '&':
        node->type = address_of(parser, op, a);
        return node;
    case '*':
        node->type = pointee(parser, op, a);
        return node;
    case '!':
        if (!vector)
            accel__check_truth(parser, a);
        node->type = truth_type(parser, type);
        return node;
    default:
        break;
    }
    if ((!vector && !accel__type_is_arithmetic(type)) ||
        (op->text[0] == '~' && !has_integers(type)))
        fail_operands(parser, op, a, NULL);
    node->type = vector ? accel__check_value_type(parser, type)
                        : accel__type_scalar(accel__type_promoted((accel__type_kind)type->kind));
    return node;
}

accel__node *accel__check_step(accel__parser *parser, const accel__token *op, accel__node *a,
                               bool postfix)
{
    check_writable(parser, op, a);
    if (!accel__type_is_scalar(a->type) &&
        !(a->type->kind == ACCEL__TYPE_VECTOR && a->kind != ACCEL__NODE_SWIZZLE))
        fail_operands(parser, op, a, NULL);
    accel__node *node = operator_node(parser, ACCEL__NODE_STEP, op, a, NULL, NULL);
    node->flag = postfix;
    node->type = accel__check_value_type(parser, a->type);
    return node;
}

/* Operators over vectors: both of one type, or a scalar that widens to the lanes. */
static const accel__type *vector_operands(accel__parser *parser, const accel__token *op,
                                          const accel__node *a, const accel__node *b)
{
    const accel__type *vector = a->type->kind == ACCEL__TYPE_VECTOR ? a->type : b->type;
    const accel__type *other = vector == a->type ? b->type : a->type;
    if (other->kind == ACCEL__TYPE_VECTOR ? !accel__type_same(vector, other)
                                          : !accel__type_is_arithmetic(other))
        fail_operands(parser, op, a, b);
    if (accel__type_is_floating(other) && !accel__type_is_floating(vector->base))
        fail_operands(parser, op, a, b);
    return accel__check_value_type(parser, vector);
}

static bool is_null(const accel__node *node)
{
    int64_t value = 1;
    return accel__constant_integer(node, &value) && value == 0;
}

static const accel__type *pointer_operands(accel__parser *parser, const accel__token *op,
                                           const accel__node *a, const accel__node *b)
{
    const accel__type *left = accel__check_decay(parser, a->type);
    const accel__type *right = accel__check_decay(parser, b->type);
    const bool both = left->kind == ACCEL__TYPE_POINTER && right->kind == ACCEL__TYPE_POINTER;
    const bool compares = strchr("=!<>", op->text[0]) != NULL;
    if (both &&
        (accel__type_same(left, right) || (compares && left->base->space == right->base->space))) {
        if (compares)
            return accel__type_scalar(ACCEL__TYPE_INT);
        if (op->text[0] == '-' && accel__type_size(left->base) != 0)
            return accel__type_scalar(ACCEL__TYPE_LONG);
    }
    if (!both && compares && (is_null(a) || is_null(b)))
        return accel__type_scalar(ACCEL__TYPE_INT);
    const accel__type *pointer = left->kind == ACCEL__TYPE_POINTER ? left : right;
    const accel__type *integer = pointer == left ? right : left;
    if (!both && pointer->kind == ACCEL__TYPE_POINTER && accel__type_is_integer(integer) &&
        accel__type_size(pointer->base) != 0 &&
        (op->text[0] == '+' || (op->text[0] == '-' && pointer == left)))
        return accel__check_value_type(parser, pointer);
    fail_operands(parser, op, a, b);
}

static bool is_shift(const accel__token *op)
{
    return op->size == 2 && op->text[0] == op->text[1] && strchr("<>", op->text[0]) != NULL;
}

static bool is_logical(const accel__token *op)
{
    return op->size == 2 && op->text[0] == op->text[1] && strchr("&|", op->text[0]) != NULL;
}

static bool is_comparison(const accel__token *op)
{
    return !is_shift(op) && strchr("<>=!", op->text[0]) != NULL;
}

static const accel__type *binary_type(accel__parser *parser, const accel__token *op,
                                      const accel__node *a, const accel__node *b)
{
    const accel__type *left = a->type;
    const accel__type *right = b->type;
    const bool integers_only = is_shift(op) || (!is_logical(op) && strchr("%&|^", op->text[0]));
    if (integers_only && (!has_integers(left) || !has_integers(right)))
        fail_operands(parser, op, a, b);
    if (left->kind == ACCEL__TYPE_VECTOR || right->kind == ACCEL__TYPE_VECTOR) {
        if (is_shift(op) && left->kind != ACCEL__TYPE_VECTOR)
            fail_operands(parser, op, a, b);
        const accel__type *type = vector_operands(parser, op, a, b);
        return is_logical(op) || is_comparison(op) ? truth_type(parser, type) : type;
    }
    if (is_logical(op)) {
        accel__check_truth(parser, a);
        accel__check_truth(parser, b);
        return accel__type_scalar(ACCEL__TYPE_INT);
    }
    if (!accel__type_is_arithmetic(left) || !accel__type_is_arithmetic(right))
        return pointer_operands(parser, op, a, b);
    if (is_comparison(op))
        return accel__type_scalar(ACCEL__TYPE_INT);
    if (is_shift(op))
        return accel__type_scalar(accel__type_promoted((accel__type_kind)left->kind));
    return accel__type_scalar(
        accel__type_common((accel__type_kind)left->kind, (accel__type_kind)right->kind));
}

accel__node *accel__check_binary(accel__parser *parser, const accel__token *op, accel__node *a,
                                 accel__node *b)
{
    accel__node *node = operator_node(parser, ACCEL__NODE_BINARY, op, a, b, NULL);
    node->type = binary_type(parser, op, a, b);
    if ((op->text[0] == '/' || op->text[0] == '%') && has_integers(node->type) && is_null(b))
        accel__parse_warn(parser, op->file, op->line, "division by zero");
    return node;
}

void accel__check_convertible(accel__parser *parser, const accel__type *type,
                              const accel__node *node, const char *what)
{
    const accel__type *from = accel__check_decay(parser, node->type);
    if (accel__type_is_arithmetic(type) && accel__type_is_arithmetic(from))
        return;
    if (type->kind == ACCEL__TYPE_BOOL && from->kind == ACCEL__TYPE_POINTER)
        return;
    if (type->kind == ACCEL__TYPE_VECTOR && accel__type_is_arithmetic(from))
        return;
    if (type->kind != ACCEL__TYPE_POINTER && type->kind != ACCEL__TYPE_VOID &&
        type->kind != ACCEL__TYPE_HALF && accel__type_same(type, from))
        return;
    if (type->kind == ACCEL__TYPE_POINTER && is_null(node))
        return;
    if (type->kind == ACCEL__TYPE_POINTER && from->kind == ACCEL__TYPE_POINTER &&
        type->base->space == from->base->space &&
        (accel__type_same(type, from) || type->base->kind == ACCEL__TYPE_VOID ||
         from->base->kind == ACCEL__TYPE_VOID))
        return;
    if (type->kind == ACCEL__TYPE_HALF || from->kind == ACCEL__TYPE_HALF)
        accel__parse_fail(parser, node->file, node->line,
                          "half arithmetic is not part of the kernel language; use vload_half and "
                          "vstore_half");
    accel__parse_fail(parser, node->file, node->line, "%s is %s and cannot hold %s", what,
                      accel__check_describe(parser, type),
                      accel__check_describe(parser, node->type));
}

accel__node *accel__check_assign(accel__parser *parser, const accel__token *op, accel__node *a,
                                 accel__node *b)
{
    check_writable(parser, op, a);
    accel__node *node = operator_node(parser, ACCEL__NODE_ASSIGN, op, a, b, NULL);
    node->type = accel__check_value_type(parser, a->type);
    if (op->size == 1) {
        memset(node->op, 0, sizeof node->op);
        accel__check_convertible(parser, a->type, b, "what is assigned to");
        return node;
    }
    node->op[op->size - 1] = '\0';
    accel__token bare = *op;
    bare.size--;
    const accel__type *type = binary_type(parser, &bare, a, b);
    const bool vector = type->kind == ACCEL__TYPE_VECTOR;
    if (vector != (a->type->kind == ACCEL__TYPE_VECTOR) ||
        (type->kind == ACCEL__TYPE_POINTER) != (a->type->kind == ACCEL__TYPE_POINTER))
        fail_operands(parser, op, a, b);
    return node;
}

accel__node *accel__check_condition(accel__parser *parser, const accel__token *op, accel__node *a,
                                    accel__node *b, accel__node *c)
{
    accel__node *node = operator_node(parser, ACCEL__NODE_CONDITION, op, a, b, c);
    const accel__type *left = accel__check_decay(parser, b->type);
    const accel__type *right = accel__check_decay(parser, c->type);
    if (left->kind == ACCEL__TYPE_VECTOR || right->kind == ACCEL__TYPE_VECTOR) {
        node->type = vector_operands(parser, op, b, c);
        if (a->type->kind != ACCEL__TYPE_VECTOR)
            accel__check_truth(parser, a);
        else if (!accel__type_same(a->type, truth_type(parser, node->type)))
            accel__parse_fail_at(parser, op, "the condition %s does not fit %s",
                                 accel__check_describe(parser, a->type),
                                 accel__check_describe(parser, node->type));
        return node;
    }
    accel__check_truth(parser, a);
    if (accel__type_is_arithmetic(left) && accel__type_is_arithmetic(right))
        node->type = accel__type_scalar(
            accel__type_common((accel__type_kind)left->kind, (accel__type_kind)right->kind));
    else if (left->kind == ACCEL__TYPE_POINTER && is_null(c))
        node->type = left;
    else if (right->kind == ACCEL__TYPE_POINTER && is_null(b))
        node->type = right;
    else if (left->kind != ACCEL__TYPE_HALF && accel__type_same(left, right))
        node->type = accel__check_value_type(parser, left);
    else
        fail_operands(parser, op, b, c);
    return node;
}

accel__node *accel__check_index(accel__parser *parser, const accel__token *op, accel__node *a,
                                accel__node *b)
{
    if (!accel__type_is_integer(b->type))
        accel__parse_fail_at(parser, op, "the index of an array must be an integer, not %s",
                             accel__check_describe(parser, b->type));
    accel__node *node = operator_node(parser, ACCEL__NODE_INDEX, op, a, b, NULL);
    node->type = pointee(parser, op, a);
    return node;
}

static bool is_castable(const accel__type *type, const accel__type *from, const accel__node *a)
{
    if (type->kind == ACCEL__TYPE_VOID)
        return true;
    if (accel__type_is_arithmetic(type))
        return accel__type_is_arithmetic(from) ||
               (from->kind == ACCEL__TYPE_POINTER && accel__type_is_integer(type));
    if (type->kind == ACCEL__TYPE_VECTOR)
        return accel__type_is_arithmetic(from) || accel__type_same(type, from);
    if (type->kind == ACCEL__TYPE_POINTER)
        return is_null(a) ||
               (from->kind == ACCEL__TYPE_POINTER && type->base->space == from->base->space);
    return false;
}

accel__node *accel__check_cast(accel__parser *parser, const accel__token *op,
                               const accel__type *type, accel__node *a)
{
    const accel__type *from = accel__check_decay(parser, a->type);
    if (type->kind == ACCEL__TYPE_HALF || from->kind == ACCEL__TYPE_HALF)
        fail_operands(parser, op, a, NULL);
    if (!is_castable(type, from, a))
        accel__parse_fail_at(parser, op, "no cast from %s to %s",
                             accel__check_describe(parser, a->type),
                             accel__check_describe(parser, type));
    accel__node *node = operator_node(parser, ACCEL__NODE_CAST, op, a, NULL, NULL);
    node->type = accel__check_value_type(parser, type);
    return node;
}
