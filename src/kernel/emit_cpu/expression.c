/* expression.c: expressions, each in parentheses of its own. */
#include <string.h>

#include "kernel/emit_cpu/plan.h"

static void emit_integer(accel__emitter *emitter, const accel__node *node)
{
    const int64_t value = (int64_t)node->value;
    switch (node->type->kind) {
    case ACCEL__TYPE_UINT:
        accel__emit(emitter, "%uu", (unsigned)node->value);
        return;
    case ACCEL__TYPE_ULONG:
        accel__emit(emitter, "%lluul", (unsigned long long)node->value);
        return;
    case ACCEL__TYPE_LONG:
        if (value == INT64_MIN)
            accel__emit(emitter, "(-9223372036854775807l - 1)");
        else
            accel__emit(emitter, value < 0 ? "(%lldl)" : "%lldl", (long long)value);
        return;
    default:
        if (value == INT32_MIN)
            accel__emit(emitter, "(-2147483647 - 1)");
        else
            accel__emit(emitter, value < 0 ? "(%lld)" : "%lld", (long long)value);
        return;
    }
}

static void emit_name(accel__emitter *emitter, const accel__symbol *symbol)
{
    accel__emit(emitter, "u_%s_%u", symbol->name, symbol->id);
    if (emitter->plan != NULL && symbol->storage == ACCEL__STORAGE_ITEMS)
        accel__emit(emitter, "[accel_i]");
}

static void emit_unary(accel__emitter *emitter, const accel__node *node)
{
    accel__emit(emitter, "(%s", node->op);
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, ")");
}

static void emit_step(accel__emitter *emitter, const accel__node *node)
{
    accel__emit(emitter, "(%s", node->flag ? "" : node->op);
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, "%s)", node->flag ? node->op : "");
}

/* A shift count counts modulo the width of what is shifted. */
static void emit_shift_count(accel__emitter *emitter, const accel__type *shifted,
                             const accel__node *count)
{
    const accel__type *element = shifted->kind == ACCEL__TYPE_VECTOR ? shifted->base : shifted;
    const unsigned mask = (unsigned)accel__type_size(element) * 8 - 1;
    int64_t value = 0;
    if (accel__constant_integer(count, &value)) {
        accel__emit(emitter, "%u", (unsigned)value & mask);
        return;
    }
    accel__emit(emitter, "(");
    accel__emit_expression(emitter, count);
    accel__emit(emitter, " & %u)", mask);
}

void accel__emit_shift(accel__emitter *emitter, const accel__node *node, const accel__type *shifted)
{
    accel__emit(emitter, "(");
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, " %s ", node->op);
    emit_shift_count(emitter, shifted, node->b);
    accel__emit(emitter, ")");
}

static bool divides(const accel__node *node)
{
    return (node->op[0] == '/' || node->op[0] == '%') && accel__type_is_integer(node->type);
}

static void emit_pair(accel__emitter *emitter, const accel__node *node, const char *between)
{
    accel__emit(emitter, "(");
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, " %s ", between);
    accel__emit_expression(emitter, node->b);
    accel__emit(emitter, ")");
}

static void emit_binary(accel__emitter *emitter, const accel__node *node)
{
    if (divides(node)) {
        accel__emit_division(emitter, node, node->type);
        return;
    }
    if (strcmp(node->op, "<<") == 0 || strcmp(node->op, ">>") == 0) {
        accel__emit_shift(emitter, node, node->type);
        return;
    }
    emit_pair(emitter, node, node->op);
}

static void emit_condition(accel__emitter *emitter, const accel__node *node)
{
    accel__emit(emitter, "(");
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, " ? ");
    accel__emit_expression(emitter, node->b);
    accel__emit(emitter, " : ");
    accel__emit_expression(emitter, node->c);
    accel__emit(emitter, ")");
}

static void emit_index(accel__emitter *emitter, const accel__node *node)
{
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, "[");
    if (!accel__emit_row_index(emitter, node->b))
        accel__emit_expression(emitter, node->b);
    accel__emit(emitter, "]");
}

/* An element that widens to a vector: in constants as a list, since calls are no constants. */
void accel__emit_element(accel__emitter *emitter, const accel__type *type, const accel__node *node)
{
    const bool widens = type->kind == ACCEL__TYPE_VECTOR && node->kind != ACCEL__NODE_LIST &&
                        node->type->kind != ACCEL__TYPE_VECTOR;
    if (!widens || !emitter->is_constant) {
        accel__emit_converted(emitter, type, node);
        return;
    }
    accel__emit(emitter, "{");
    for (uint64_t lane = 0; lane < type->count; lane++) {
        accel__emit(emitter, lane > 0 ? ", " : "");
        accel__emit_expression(emitter, node);
    }
    accel__emit(emitter, "}");
}

static void emit_comma(accel__emitter *emitter, const accel__node *node)
{
    emit_pair(emitter, node, ",");
}

static void emit_list(accel__emitter *emitter, const accel__node *node)
{
    const accel__type *type = node->type;
    const accel__field *field = type->kind == ACCEL__TYPE_RECORD ? type->record->fields : NULL;
    accel__emit(emitter, "{");
    for (const accel__node *at = node->a; at != NULL; at = at->next) {
        const accel__type *element = type->kind == ACCEL__TYPE_ARRAY ? type->base
                                     : field != NULL                 ? field->type
                                                                     : type;
        accel__emit_element(emitter, element, at);
        accel__emit(emitter, at->next != NULL ? ", " : "");
        field = field == NULL ? NULL : field->next;
    }
    accel__emit(emitter, node->a == NULL ? "0}" : "}");
}

static void emit_cast(accel__emitter *emitter, const accel__node *node)
{
    if (accel__type_is_arithmetic(node->type) && accel__emit_narrow(emitter, node->type, node->a))
        return;
    accel__emit(emitter, "((");
    accel__emit_type(emitter, node->type);
    accel__emit(emitter, ")");
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, ")");
}

void accel__emit_converted(accel__emitter *emitter, const accel__type *type,
                           const accel__node *node)
{
    if (accel__emit_narrow(emitter, type, node))
        return;
    if (type->kind == ACCEL__TYPE_VECTOR && node->type->kind != ACCEL__TYPE_VECTOR) {
        accel__emit_widened(emitter, type, node);
        return;
    }
    accel__emit_expression(emitter, node);
}

static bool is_vector(const accel__node *node)
{
    return node != NULL && node->type->kind == ACCEL__TYPE_VECTOR;
}

/* Operators that C has for scalars only, or differently. */
static bool is_vector_operator(const accel__node *node)
{
    switch (node->kind) {
    case ACCEL__NODE_UNARY:
        return is_vector(node->a) && node->op[0] != '&';
    case ACCEL__NODE_BINARY:
    case ACCEL__NODE_CONDITION:
        return is_vector(node->a) || is_vector(node->b) || is_vector(node->c);
    case ACCEL__NODE_STEP:
    case ACCEL__NODE_CAST:
        return is_vector(node);
    default:
        return false;
    }
}

static void emit_text(accel__emitter *emitter, const accel__node *node)
{
    accel__emit(emitter, "%s", node->text);
}

static void emit_named(accel__emitter *emitter, const accel__node *node)
{
    emit_name(emitter, node->symbol);
}

static void emit_member(accel__emitter *emitter, const accel__node *node)
{
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, "%sm_%s", node->flag ? "->" : ".", node->field->name);
}

typedef void (*emit_function)(accel__emitter *emitter, const accel__node *node);

/* By the kind of node; those that are no expressions have none. */
static const emit_function emit_functions[] = {
    [ACCEL__NODE_INTEGER] = emit_integer,
    [ACCEL__NODE_FLOAT] = emit_text,
    [ACCEL__NODE_NAME] = emit_named,
    [ACCEL__NODE_UNARY] = emit_unary,
    [ACCEL__NODE_STEP] = emit_step,
    [ACCEL__NODE_BINARY] = emit_binary,
    [ACCEL__NODE_ASSIGN] = accel__emit_assign,
    [ACCEL__NODE_CONDITION] = emit_condition,
    [ACCEL__NODE_COMMA] = emit_comma,
    [ACCEL__NODE_INDEX] = emit_index,
    [ACCEL__NODE_MEMBER] = emit_member,
    [ACCEL__NODE_SWIZZLE] = accel__emit_vector,
    [ACCEL__NODE_VECTOR] = accel__emit_vector,
    [ACCEL__NODE_CAST] = emit_cast,
    [ACCEL__NODE_CALL] = accel__emit_call,
    [ACCEL__NODE_BUILTIN] = accel__emit_builtin,
    [ACCEL__NODE_LIST] = emit_list,
};

void accel__emit_expression(accel__emitter *emitter, const accel__node *node)
{
    const size_t kind = (size_t)node->kind;
    if (is_vector_operator(node))
        accel__emit_vector(emitter, node);
    else if (kind < sizeof(emit_functions) / sizeof(emit_functions[0]) &&
             emit_functions[kind] != NULL)
        emit_functions[kind](emitter, node);
    else
        accel__emit_fail(emitter, node->file, node->line, "this expression cannot be translated");
}
