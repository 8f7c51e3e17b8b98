/* call.c: calls of the source's functions and of those in the table. */
#include <string.h>

#include "kernel/emit_cpu/plan.h"

static void emit_args(accel__emitter *emitter, const accel__node *args, bool first)
{
    for (; args != NULL; args = args->next) {
        accel__emit(emitter, first ? "" : ", ");
        accel__emit_expression(emitter, args);
        first = false;
    }
}

void accel__emit_call(accel__emitter *emitter, const accel__node *node)
{
    const accel__symbol *function = node->symbol;
    accel__emit(emitter, "f_%s_%u(", function->name, function->id);
    if (function->uses_items)
        accel__emit(emitter, emitter->plan == NULL
                                 ? "accel_w"
                                 : "(const accel_item){{accel_x, accel_y, accel_z}, &accel_g}");
    const accel__symbol *param = function->params;
    bool first = !function->uses_items;
    for (const accel__node *arg = node->a; arg != NULL; arg = arg->next) {
        accel__emit(emitter, first ? "" : ", ");
        accel__emit_converted(emitter, param->type, arg);
        param = param->next_param;
        first = false;
    }
    accel__emit(emitter, ")");
}

/* The compiler's own function: its name ends in f for float. */
static void emit_compiler_builtin(accel__emitter *emitter, const accel__node *node)
{
    accel__emit(emitter, "__builtin_%s%s(", node->builtin->c_name,
                node->a->type->kind == ACCEL__TYPE_FLOAT ? "f" : "");
    emit_args(emitter, node->a, true);
    accel__emit(emitter, ")");
}

static void emit_prelude_call(accel__emitter *emitter, const accel__node *node,
                              const accel__type *type, unsigned part)
{
    emitter->prelude |= part;
    accel__emit(emitter, "accel_%s_%s(", node->builtin->name, accel__emit_suffix(type));
    emit_args(emitter, node->a, true);
    accel__emit(emitter, ")");
}

static const accel__type *pointee(const accel__node *node)
{
    return node->type->base;
}

static void emit_atomic(accel__emitter *emitter, const accel__node *node)
{
    const accel__type *base = pointee(node->a);
    emitter->prelude |= ACCEL__PRELUDE_ATOMIC;
    accel__emit(emitter, "accel_%s%s_%s(", base->space == ACCEL__SPACE_LOCAL ? "local_" : "",
                node->builtin->c_name, accel__emit_suffix(base));
    emit_args(emitter, node->a, true);
    accel__emit(emitter, ")");
}

static const char *rounding_function(unsigned rounding)
{
    static const char *const names[] = {"trunc", "rint", "trunc", "ceil", "floor"};
    return names[rounding & 7];
}

/* convert_TYPE: C's own conversion but for rounding and saturation. */
static void emit_convert(accel__emitter *emitter, const accel__node *node)
{
    const unsigned rounding = node->builtin->value & 7;
    const bool saturates = node->builtin->value & 8;
    const accel__type *from = node->a->type;
    const accel__type *type = node->type;
    const bool from_floating = accel__type_is_floating(from);
    const bool to_floating = accel__type_is_floating(type);
    if (to_floating && (rounding > 1 || saturates))
        accel__emit_fail(emitter, node->file, node->line,
                         "'%s': rounding modes of conversions to a floating type are not part of "
                         "the kernel language",
                         node->builtin->name);
    const bool rounds = from_floating && !to_floating && (rounding != 0 || saturates);
    accel__emit(emitter, "((");
    accel__emit_type(emitter, type);
    accel__emit(emitter, ")");
    if (saturates) {
        emitter->prelude |= ACCEL__PRELUDE_CONVERT;
        accel__emit(emitter, "accel_sat_%s_from_%s(", accel__emit_suffix(type),
                    from_floating                 ? "f64"
                    : accel__type_is_signed(from) ? "i64"
                                                  : "u64");
    }
    if (rounds)
        accel__emit(emitter, "__builtin_%s%s(", rounding_function(rounding),
                    from->kind == ACCEL__TYPE_FLOAT ? "f" : "");
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, "%s%s)", rounds ? ")" : "", saturates ? ")" : "");
}

static void emit_as(accel__emitter *emitter, const accel__node *node)
{
    const uint32_t id = ++emitter->next_id;
    accel__symbol from = {.name = "from", .id = id};
    accel__symbol to = {.name = "to", .id = id};
    const accel__type *type = node->a->type;
    accel__type plain = *type;
    plain.qualifiers = 0;
    accel__emit(emitter, "({ ");
    accel__emit_declarator(emitter, &plain, "", &from, "");
    accel__emit(emitter, " = ");
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, "; ");
    accel__emit_declarator(emitter, node->type, "", &to, "");
    accel__emit(emitter, "; __builtin_memcpy(&u_to_%u, &u_from_%u, sizeof u_to_%u); u_to_%u; })",
                id, id, id, id);
}

static void emit_half(accel__emitter *emitter, const accel__node *node)
{
    emitter->prelude |= ACCEL__PRELUDE_HALF;
    accel__emit(emitter, node->builtin->rule == ACCEL__RULE_LOAD_HALF ? "accel_load_half("
                                                                      : "accel_store_half(");
    emit_args(emitter, node->a, true);
    accel__emit(emitter, ")");
}

static bool has_vector(const accel__node *node)
{
    if (node->type->kind == ACCEL__TYPE_VECTOR)
        return true;
    for (const accel__node *arg = node->a; arg != NULL; arg = arg->next) {
        const accel__type *type = arg->type;
        if (type->kind == ACCEL__TYPE_VECTOR ||
            (type->kind == ACCEL__TYPE_POINTER && type->base->kind == ACCEL__TYPE_VECTOR))
            return true;
    }
    return node->builtin->rule == ACCEL__RULE_VLOAD || node->builtin->rule == ACCEL__RULE_VSTORE;
}

/* The type whose suffix picks the function of the prelude. */
static const accel__type *suffix_type(const accel__node *node)
{
    return node->builtin->rule == ACCEL__RULE_NAN ? node->type : node->a->type;
}

static unsigned prelude_part(const accel__node *node)
{
    switch (node->builtin->rule) {
    case ACCEL__RULE_INTEGER:
    case ACCEL__RULE_ABSOLUTE:
    case ACCEL__RULE_INT24:
    case ACCEL__RULE_UPSAMPLE:
    case ACCEL__RULE_TRUTH:
        return ACCEL__PRELUDE_INTEGER;
    case ACCEL__RULE_NUMBER:
    case ACCEL__RULE_SELECT:
        return ACCEL__PRELUDE_INTEGER | ACCEL__PRELUDE_MATH;
    default:
        return ACCEL__PRELUDE_MATH;
    }
}

static void emit_fence(accel__emitter *emitter, const accel__node *node)
{
    accel__emit(emitter, "((void)(");
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, "), __atomic_thread_fence(__ATOMIC_ACQ_REL))");
}

void accel__emit_builtin(accel__emitter *emitter, const accel__node *node)
{
    const accel__builtin *builtin = node->builtin;
    if (builtin->rule == ACCEL__RULE_ITEM)
        accel__emit_item(emitter, node);
    else if (builtin->rule == ACCEL__RULE_DIMENSIONS)
        accel__emit(emitter, emitter->plan != NULL ? "accel_dimensions(&accel_g)"
                                                   : "accel_dimensions(accel_w.g)");
    else if (builtin->rule == ACCEL__RULE_FENCE)
        emit_fence(emitter, node);
    else if (accel__builtin_is_atomic(builtin))
        emit_atomic(emitter, node);
    else if (builtin->rule == ACCEL__RULE_AS)
        emit_as(emitter, node);
    else if (has_vector(node))
        accel__emit_vector_call(emitter, node);
    else if (builtin->rule == ACCEL__RULE_CONVERT)
        emit_convert(emitter, node);
    else if (builtin->rule == ACCEL__RULE_LOAD_HALF || builtin->rule == ACCEL__RULE_STORE_HALF)
        emit_half(emitter, node);
    else if (builtin->c_name != NULL)
        emit_compiler_builtin(emitter, node);
    else
        emit_prelude_call(emitter, node, suffix_type(node), prelude_part(node));
}
