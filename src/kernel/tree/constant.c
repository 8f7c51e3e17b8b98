/* constant.c: values of integer constant expressions: array sizes, case labels, enum constants. */
#include <string.h>

#include "kernel/parse/parse.h"

/* `value` as an object of that type holds it, sign- or zero-extended. */
static int64_t wrap(const accel__type *type, int64_t value)
{
    switch (type->kind) {
    case ACCEL__TYPE_BOOL:
        return value != 0;
    case ACCEL__TYPE_CHAR:
        return (int8_t)value;
    case ACCEL__TYPE_UCHAR:
        return (uint8_t)value;
    case ACCEL__TYPE_SHORT:
        return (int16_t)value;
    case ACCEL__TYPE_USHORT:
        return (uint16_t)value;
    case ACCEL__TYPE_INT:
        return (int32_t)value;
    case ACCEL__TYPE_UINT:
        return (uint32_t)value;
    default:
        return value;
    }
}

static bool less(const accel__type *type, int64_t a, int64_t b)
{
    return type->kind == ACCEL__TYPE_ULONG ? (uint64_t)a < (uint64_t)b : a < b;
}

static bool divide(const accel__type *type, bool remainder, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0 || (b == -1 && a == INT64_MIN))
        return false;
    if (type->kind == ACCEL__TYPE_ULONG)
        *out = (int64_t)(remainder ? (uint64_t)a % (uint64_t)b : (uint64_t)a / (uint64_t)b);
    else
        *out = remainder ? a % b : a / b;
    return true;
}

static int64_t shift(const accel__type *type, bool left, int64_t a, int64_t b)
{
    const unsigned bits = (unsigned)accel__type_size(type) * 8;
    const unsigned count = (unsigned)b & (bits - 1);
    if (left)
        return (int64_t)((uint64_t)a << count);
    if (type->kind == ACCEL__TYPE_ULONG)
        return (int64_t)((uint64_t)a >> count);
    return a < 0 ? ~(~a >> count) : a >> count;
}

static bool fold_binary(const accel__node *node, int64_t *out)
{
    int64_t a = 0;
    int64_t b = 0;
    if (!accel__constant_integer(node->a, &a) || !accel__constant_integer(node->b, &b))
        return false;
    const accel__type *common = accel__type_scalar(accel__type_common(
        (accel__type_kind)node->a->type->kind, (accel__type_kind)node->b->type->kind));
    const char *op = node->op;
    if (strcmp(op, "<<") == 0 || strcmp(op, ">>") == 0) {
        *out = wrap(node->type, shift(node->type, op[0] == '<', wrap(node->type, a), b));
        return true;
    }
    if (strcmp(op, "&&") == 0 || strcmp(op, "||") == 0) {
        *out = op[0] == '&' ? (a != 0 && b != 0) : (a != 0 || b != 0);
        return true;
    }
    a = wrap(common, a);
    b = wrap(common, b);
    if (op[0] == '/' || op[0] == '%') {
        if (!divide(common, op[0] == '%', a, b, out))
            return false;
    } else if (strcmp(op, "==") == 0 || strcmp(op, "!=") == 0)
        *out = (a == b) == (op[0] == '=');
    else if (op[0] == '<')
        *out = op[1] == '=' ? !less(common, b, a) : less(common, a, b);
    else if (op[0] == '>')
        *out = op[1] == '=' ? !less(common, a, b) : less(common, b, a);
    else if (op[0] == '+')
        *out = (int64_t)((uint64_t)a + (uint64_t)b);
    else if (op[0] == '-')
        *out = (int64_t)((uint64_t)a - (uint64_t)b);
    else if (op[0] == '*')
        *out = (int64_t)((uint64_t)a * (uint64_t)b);
    else
        *out = op[0] == '&' ? (a & b) : op[0] == '|' ? (a | b) : (a ^ b);
    *out = wrap(node->type, *out);
    return true;
}

static bool fold_unary(const accel__node *node, int64_t *out)
{
    int64_t a = 0;
    if (!accel__constant_integer(node->a, &a))
        return false;
    switch (node->op[0]) {
    case '+':
        *out = a;
        break;
    case '-':
        *out = (int64_t)(0 - (uint64_t)a);
        break;
    case '~':
        *out = ~a;
        break;
    case '!':
        *out = a == 0;
        break;
    default:
        return false;
    }
    *out = wrap(node->type, *out);
    return true;
}

bool accel__constant_integer(const accel__node *node, int64_t *out_value)
{
    int64_t value = 0;
    if (!accel__type_is_integer(node->type))
        return false;
    switch (node->kind) {
    case ACCEL__NODE_INTEGER:
        *out_value = (int64_t)node->value;
        return true;
    case ACCEL__NODE_UNARY:
        return fold_unary(node, out_value);
    case ACCEL__NODE_BINARY:
        return fold_binary(node, out_value);
    case ACCEL__NODE_CAST:
        if (!accel__constant_integer(node->a, &value))
            return false;
        *out_value = wrap(node->type, value);
        return true;
    case ACCEL__NODE_CONDITION:
        if (!accel__constant_integer(node->a, &value) ||
            !accel__constant_integer(value != 0 ? node->b : node->c, &value))
            return false;
        *out_value = wrap(node->type, value);
        return true;
    default:
        return false;
    }
}

bool accel__constant_is(const accel__node *node)
{
    switch (node->kind) {
    case ACCEL__NODE_INTEGER:
    case ACCEL__NODE_FLOAT:
        return true;
    case ACCEL__NODE_UNARY:
        return node->op[0] != '*' && node->op[0] != '&' && accel__constant_is(node->a);
    case ACCEL__NODE_CAST:
        return accel__constant_is(node->a);
    case ACCEL__NODE_BINARY:
        return accel__constant_is(node->a) && accel__constant_is(node->b);
    case ACCEL__NODE_CONDITION:
        return accel__constant_is(node->a) && accel__constant_is(node->b) &&
               accel__constant_is(node->c);
    case ACCEL__NODE_LIST:
    case ACCEL__NODE_VECTOR:
        for (const accel__node *at = node->a; at != NULL; at = at->next)
            if (!accel__constant_is(at))
                return false;
        return true;
    default:
        return false;
    }
}
