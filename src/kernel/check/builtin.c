/* builtin.c: argument and result types of the functions in the table. */
#include <string.h>

#include "kernel/parse/parse.h"

/* One call under check. */
typedef struct call {
    accel__parser *parser;
    const accel__builtin *builtin;
    const accel__token *name;
    accel__node *args;
} call;

static const accel__node *arg_at(const call *at, unsigned index)
{
    const accel__node *arg = at->args;
    while (index-- > 0)
        arg = arg->next;
    return arg;
}

static _Noreturn void fail_arg(const call *at, unsigned index, const char *wanted)
{
    accel__parse_fail_at(at->parser, at->name, "argument %u of '%s' is %s, must be %s", index + 1,
                         at->builtin->name,
                         accel__check_describe(at->parser, arg_at(at, index)->type), wanted);
}

static const accel__type *element_of(const accel__type *type)
{
    return type->kind == ACCEL__TYPE_VECTOR ? type->base : type;
}

static bool is_floating(const accel__type *type)
{
    return accel__type_is_floating(element_of(type));
}

static bool is_integer(const accel__type *type)
{
    return accel__type_is_integer(element_of(type)) && type->kind != ACCEL__TYPE_BOOL;
}

static bool is_number(const accel__type *type)
{
    return is_floating(type) || is_integer(type);
}

/* T: the type that arguments [first, last) share; a scalar widens to the lanes of a vector. */
static const accel__type *shared_type(const call *at, unsigned first, unsigned last,
                                      bool (*accepts)(const accel__type *), const char *wanted)
{
    const accel__type *found = NULL;
    for (unsigned i = first; i < last; i++) {
        const accel__type *type = arg_at(at, i)->type;
        if (!accepts(type))
            fail_arg(at, i, wanted);
        if (found == NULL || (found->kind != ACCEL__TYPE_VECTOR &&
                              type->kind == ACCEL__TYPE_VECTOR && type->base->kind == found->kind))
            found = type;
        else if (!accel__type_same(found, type) &&
                 !(found->kind == ACCEL__TYPE_VECTOR && found->base->kind == type->kind))
            accel__parse_fail_at(
                at->parser, at->name,
                "the arguments of '%s' differ in type (%s and %s): cast them to one",
                at->builtin->name, accel__check_describe(at->parser, found),
                accel__check_describe(at->parser, type));
    }
    return accel__check_value_type(at->parser, found);
}

static const accel__type *like(const call *at, const accel__type *shape, accel__type_kind kind)
{
    if (shape->kind != ACCEL__TYPE_VECTOR)
        return accel__type_scalar(kind);
    accel__type *type = accel__parse_type(at->parser, ACCEL__TYPE_VECTOR, accel__type_scalar(kind));
    type->count = shape->count;
    return type;
}

static void check_scalar_integer(const call *at, unsigned index)
{
    if (!accel__type_is_integer(arg_at(at, index)->type))
        fail_arg(at, index, "an integer");
}

/* A pointer that may be written through, to `type`. */
static void check_out(const call *at, unsigned index, const accel__type *type)
{
    const accel__type *given = accel__check_decay(at->parser, arg_at(at, index)->type);
    if (given->kind != ACCEL__TYPE_POINTER || !accel__type_same(given->base, type) ||
        (given->base->qualifiers & ACCEL__QUALIFIER_CONST))
        fail_arg(at, index, "a pointer to the result's type");
}

static const accel__type *check_atomic(const call *at)
{
    const accel__type *given = accel__check_decay(at->parser, arg_at(at, 0)->type);
    const accel__type *base = given->kind == ACCEL__TYPE_POINTER ? given->base : given;
    if (given->kind == ACCEL__TYPE_POINTER &&
        (base->kind == ACCEL__TYPE_LONG || base->kind == ACCEL__TYPE_ULONG))
        accel__parse_fail_at(at->parser, at->name,
                             "64-bit atomics are not part of the kernel language ('%s')",
                             at->builtin->name);
    const bool fits = base->kind == ACCEL__TYPE_INT || base->kind == ACCEL__TYPE_UINT ||
                      (base->kind == ACCEL__TYPE_FLOAT &&
                       at->builtin->rule == ACCEL__RULE_ATOMIC_FLOAT);
    if (given->kind != ACCEL__TYPE_POINTER || !fits ||
        (base->space != ACCEL__SPACE_GLOBAL && base->space != ACCEL__SPACE_LOCAL) ||
        (base->qualifiers & ACCEL__QUALIFIER_CONST))
        fail_arg(at, 0, "a pointer to int or uint in global or local memory");
    for (unsigned i = 1; i < at->builtin->arg_count; i++)
        if (!accel__type_is_arithmetic(arg_at(at, i)->type))
            fail_arg(at, i, "a number");
    return accel__check_value_type(at->parser, base);
}

static const accel__type *check_absolute(const call *at)
{
    const accel__type *type = shared_type(at, 0, at->builtin->arg_count, is_integer, "an integer");
    const accel__type_kind kind = (accel__type_kind)element_of(type)->kind;
    return like(at, type, accel__type_is_signed(element_of(type)) ? kind + 1 : kind);
}

static const accel__type *check_upsample(const call *at)
{
    const accel__type *high = arg_at(at, 0)->type;
    const accel__type *low = arg_at(at, 1)->type;
    const accel__type_kind kind = (accel__type_kind)element_of(high)->kind;
    if (!is_integer(high) || kind >= ACCEL__TYPE_LONG)
        fail_arg(at, 0, "an integer of at most 32 bits");
    if (!is_integer(low) || accel__type_is_signed(element_of(low)) ||
        accel__type_size(low) != accel__type_size(high))
        fail_arg(at, 1, "the unsigned type of the same size");
    return like(at, high, kind + 2);
}

static const accel__type *check_select(const call *at)
{
    const accel__type *type = shared_type(at, 0, 2, is_number, "a number");
    const accel__type *condition = arg_at(at, 2)->type;
    if (!is_integer(condition) || accel__type_size(condition) != accel__type_size(type) ||
        condition->kind != (type->kind == ACCEL__TYPE_VECTOR ? type->kind : condition->kind))
        fail_arg(at, 2, "an integer of the size of the others");
    return type;
}

static const accel__type *check_test(const call *at)
{
    const accel__type *type = shared_type(at, 0, at->builtin->arg_count, is_floating, "floating");
    if (type->kind != ACCEL__TYPE_VECTOR)
        return accel__type_scalar(ACCEL__TYPE_INT);
    return like(at, type,
                type->base->kind == ACCEL__TYPE_DOUBLE ? ACCEL__TYPE_LONG : ACCEL__TYPE_INT);
}

static const accel__type *check_int24(const call *at)
{
    const accel__type *type = shared_type(at, 0, at->builtin->arg_count, is_integer, "an integer");
    if (element_of(type)->kind != ACCEL__TYPE_INT && element_of(type)->kind != ACCEL__TYPE_UINT)
        fail_arg(at, 0, "int or uint");
    return type;
}

static const accel__type *check_cross(const call *at)
{
    const accel__type *type = shared_type(at, 0, 2, is_floating, "floating");
    if (type->kind != ACCEL__TYPE_VECTOR || (type->count != 3 && type->count != 4))
        fail_arg(at, 0, "a vector of three or four lanes");
    return type;
}

/* The pointer argument of vload and vstore. */
static const accel__type *check_stream(const call *at, unsigned index, bool writes)
{
    const accel__type *given = accel__check_decay(at->parser, arg_at(at, index)->type);
    const accel__type *base = given->kind == ACCEL__TYPE_POINTER ? given->base : given;
    const bool half = at->builtin->rule == ACCEL__RULE_LOAD_HALF ||
                      at->builtin->rule == ACCEL__RULE_STORE_HALF;
    if (given->kind != ACCEL__TYPE_POINTER ||
        (half ? base->kind != ACCEL__TYPE_HALF
              : !accel__type_is_arithmetic(base) || base->kind == ACCEL__TYPE_BOOL))
        fail_arg(at, index, half ? "a pointer to half" : "a pointer to a number");
    if (writes && (base->qualifiers & ACCEL__QUALIFIER_CONST))
        fail_arg(at, index, "a pointer to something that is not constant");
    return base;
}

static const accel__type *check_vector_memory(const call *at)
{
    const bool stores = at->builtin->rule == ACCEL__RULE_VSTORE ||
                        at->builtin->rule == ACCEL__RULE_STORE_HALF;
    const accel__type *base = check_stream(at, stores ? 2 : 1, stores);
    check_scalar_integer(at, stores ? 1 : 0);
    if (at->builtin->rule == ACCEL__RULE_LOAD_HALF)
        return accel__type_scalar(ACCEL__TYPE_FLOAT);
    if (at->builtin->rule == ACCEL__RULE_STORE_HALF) {
        if (!accel__type_is_floating(arg_at(at, 0)->type))
            fail_arg(at, 0, "floating");
        return accel__type_scalar(ACCEL__TYPE_VOID);
    }
    accel__type *vector = accel__parse_type(at->parser, ACCEL__TYPE_VECTOR,
                                            accel__type_scalar((accel__type_kind)base->kind));
    vector->count = at->builtin->value;
    if (!stores)
        return vector;
    if (!accel__type_same(arg_at(at, 0)->type, vector))
        fail_arg(at, 0, "a vector of the pointer's type");
    return accel__type_scalar(ACCEL__TYPE_VOID);
}

static const accel__type *check_item(const call *at)
{
    check_scalar_integer(at, 0);
    return accel__type_scalar(ACCEL__TYPE_ULONG);
}

static const accel__type *check_fence(const call *at)
{
    check_scalar_integer(at, 0);
    if (at->builtin->rule == ACCEL__RULE_BARRIER) {
        if (at->parser->barrier != NULL)
            accel__parse_fail_at(at->parser, at->name, "a barrier must be a statement of its own");
        at->parser->barrier = at->name;
    }
    return accel__type_scalar(ACCEL__TYPE_VOID);
}

static const accel__type *check_convert(const call *at)
{
    const accel__type *type = arg_at(at, 0)->type;
    if (!is_number(type) && type->kind != ACCEL__TYPE_BOOL)
        fail_arg(at, 0, "a number");
    return type;
}

/* Rules where floating arguments come first and one more of another type may follow. */
static const accel__type *check_float(const call *at)
{
    const uint8_t rule = at->builtin->rule;
    const bool has_out = rule == ACCEL__RULE_FLOAT_OUT || rule == ACCEL__RULE_FLOAT_OUT_INT ||
                         rule == ACCEL__RULE_FLOAT2_OUT_INT;
    const bool extra = has_out || rule == ACCEL__RULE_FLOAT_INT;
    const unsigned count = at->builtin->arg_count - (extra ? 1u : 0u);
    const accel__type *type = shared_type(at, 0, count, is_floating, "float or double");
    if (has_out)
        check_out(at, count,
                  rule == ACCEL__RULE_FLOAT_OUT ? type : like(at, type, ACCEL__TYPE_INT));
    else if (extra && !is_integer(arg_at(at, count)->type))
        fail_arg(at, count, "an integer");
    if (rule == ACCEL__RULE_FLOAT_TO_INT)
        return like(at, type, ACCEL__TYPE_INT);
    return rule == ACCEL__RULE_DOT ? element_of(type) : type;
}

static const accel__type *result_type(const call *at)
{
    switch (at->builtin->rule) {
    case ACCEL__RULE_ITEM:
        return check_item(at);
    case ACCEL__RULE_DIMENSIONS:
        return accel__type_scalar(ACCEL__TYPE_UINT);
    case ACCEL__RULE_BARRIER:
    case ACCEL__RULE_FENCE:
        return check_fence(at);
    case ACCEL__RULE_NAN:
        check_scalar_integer(at, 0);
        return accel__type_scalar(accel__type_size(at->args->type) == 8 ? ACCEL__TYPE_DOUBLE
                                                                        : ACCEL__TYPE_FLOAT);
    case ACCEL__RULE_TEST:
        return check_test(at);
    case ACCEL__RULE_INTEGER:
        return shared_type(at, 0, at->builtin->arg_count, is_integer, "an integer");
    case ACCEL__RULE_ABSOLUTE:
        return check_absolute(at);
    case ACCEL__RULE_NUMBER:
        return shared_type(at, 0, at->builtin->arg_count, is_number, "a number");
    case ACCEL__RULE_INT24:
        return check_int24(at);
    case ACCEL__RULE_UPSAMPLE:
        return check_upsample(at);
    case ACCEL__RULE_SELECT:
        return check_select(at);
    case ACCEL__RULE_TRUTH:
        shared_type(at, 0, 1, is_integer, "an integer");
        return accel__type_scalar(ACCEL__TYPE_INT);
    case ACCEL__RULE_ATOMIC:
    case ACCEL__RULE_ATOMIC_FLOAT:
    case ACCEL__RULE_ATOMIC_ONE:
    case ACCEL__RULE_ATOMIC_TWO:
        return check_atomic(at);
    case ACCEL__RULE_CROSS:
        return check_cross(at);
    case ACCEL__RULE_VLOAD:
    case ACCEL__RULE_VSTORE:
    case ACCEL__RULE_LOAD_HALF:
    case ACCEL__RULE_STORE_HALF:
        return check_vector_memory(at);
    case ACCEL__RULE_CONVERT:
    case ACCEL__RULE_AS:
        return check_convert(at);
    default:
        return check_float(at);
    }
}

accel__node *accel__check_builtin(accel__parser *parser, const accel__builtin *builtin,
                                  const accel__token *name, accel__node *args)
{
    unsigned count = 0;
    for (const accel__node *arg = args; arg != NULL; arg = arg->next)
        count++;

    if (count != builtin->arg_count)
        accel__parse_fail_at(parser, name, "'%s' takes %u argument%s, not %u", builtin->name,
                             builtin->arg_count, builtin->arg_count == 1 ? "" : "s", count);
    const call at = {parser, builtin, name, args};
    accel__node *node = accel__parse_node(parser, ACCEL__NODE_BUILTIN, name);
    node->builtin = builtin;
    node->a = args;
    node->type = result_type(&at);
    return node;
}
