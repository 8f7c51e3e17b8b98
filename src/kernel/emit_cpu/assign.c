/* assign.c: assignments and divisions. Integer division by zero gives 0 and the most
 * negative number divided by -1 itself: the processor's trap would end the process. */
#include <string.h>

#include "kernel/emit_cpu/plan.h"

/* Constant divisors that cannot trap are left to the compiler, which turns them into multiplies. */
static bool is_safe_divisor(const accel__node *node)
{
    int64_t value = 0;
    return accel__constant_integer(node, &value) && value != 0 && value != -1;
}

static void emit_operand(accel__emitter *emitter, const accel__node *node)
{
    accel__emit_expression(emitter, node);
}

void accel__emit_division(accel__emitter *emitter, const accel__node *node,
                          const accel__type *common)
{
    if (is_safe_divisor(node->b)) {
        accel__emit(emitter, "(");
        emit_operand(emitter, node->a);
        accel__emit(emitter, " %s ", node->op);
        emit_operand(emitter, node->b);
        accel__emit(emitter, ")");
        return;
    }
    emitter->prelude |= ACCEL__PRELUDE_INTEGER;
    accel__emit(emitter, "accel_%s_%s(", node->op[0] == '/' ? "div" : "mod",
                accel__emit_suffix(common));
    emit_operand(emitter, node->a);
    accel__emit(emitter, ", ");
    emit_operand(emitter, node->b);
    accel__emit(emitter, ")");
}

/* Naming it twice has no effect but its cost. */
static bool is_repeatable(const accel__node *node)
{
    return accel__plan_is_plain(node);
}

static bool needs_care(const accel__node *node)
{
    const char op = node->op[0];
    if (op == '\0')
        return false;
    if (op == '<' || op == '>')
        return true;
    return (op == '/' || op == '%') && accel__type_is_integer(node->a->type) &&
           accel__type_is_integer(node->b->type) && !is_safe_divisor(node->b);
}

/* "a /= b" and "a <<= b" written out; an lvalue with effects is evaluated once, through a pointer. */
static void emit_spelled_out(accel__emitter *emitter, const accel__node *node)
{
    const bool repeat = is_repeatable(node->a);
    const bool shift = node->op[0] == '<' || node->op[0] == '>';
    accel__symbol pointer = {.name = "accel", .id = ++emitter->next_id};
    accel__node target = *node->a;
    accel__node operation = *node;
    const accel__type_kind left = (accel__type_kind)node->a->type->kind;
    const accel__type *common = accel__type_scalar(
        shift ? accel__type_promoted(left)
              : accel__type_common(left, (accel__type_kind)node->b->type->kind));
    accel__node name = {.kind = ACCEL__NODE_NAME, .symbol = &pointer, .type = node->a->type};
    if (repeat) {
        accel__emit(emitter, "(");
    } else {
        accel__type reference = {.kind = ACCEL__TYPE_POINTER, .base = node->a->type};
        accel__emit(emitter, "({ ");
        accel__emit_declarator(emitter, &reference, "", &pointer, "");
        accel__emit(emitter, " = &");
        accel__emit_expression(emitter, node->a);
        accel__emit(emitter, "; ");
        target = (accel__node){
            .kind = ACCEL__NODE_UNARY, .op = "*", .a = &name, .type = node->a->type};
    }
    operation.kind = ACCEL__NODE_BINARY;
    operation.a = &target;
    operation.type = common;
    accel__emit_expression(emitter, &target);
    accel__emit(emitter, " = ");
    if (shift)
        accel__emit_shift(emitter, &operation, common);
    else
        accel__emit_division(emitter, &operation, common);
    accel__emit(emitter, repeat ? ")" : "; })");
}

void accel__emit_assign(accel__emitter *emitter, const accel__node *node)
{
    if (node->type->kind == ACCEL__TYPE_VECTOR) {
        accel__emit_vector(emitter, node);
        return;
    }
    if (needs_care(node)) {
        emit_spelled_out(emitter, node);
        return;
    }
    accel__emit(emitter, "(");
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, " %s= ", node->op);
    accel__emit_converted(emitter, node->a->type, node->b);
    accel__emit(emitter, ")");
}
