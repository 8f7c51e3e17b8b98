/* item.c: the work-item functions. In a kernel they read its loop variables and per-block
 * constants; functions get them as their first parameter. */
#include "kernel/emit_cpu/plan.h"

static const char axes[] = "xyz";

/* One work-item function of one dimension, as a signed expression. `narrow`: as int. */
static void emit_value(accel__emitter *emitter, unsigned item, unsigned axis, bool narrow)
{
    static const char *const block_names[] = {"accel_group", "accel_size", NULL, "accel_count"};
    static const char *const fields[] = {"group", "size", "block", "count"};
    const accel__plan *plan = emitter->plan;
    const char *cast = narrow ? "(int)" : "";
    switch (item) {
    case ACCEL__ITEM_GLOBAL_ID:
        if (plan != NULL)
            accel__emit(emitter, "(%s%u + accel_%c)", narrow ? "accel_int_base" : "accel_base",
                        axis, axes[axis]);
        else
            accel__emit(emitter, "(%saccel_w.g->base[%u] + accel_w.local[%u])", cast, axis, axis);
        return;
    case ACCEL__ITEM_LOCAL_ID:
        if (plan == NULL)
            accel__emit(emitter, "(accel_w.g->start[%u] + accel_w.local[%u])", axis, axis);
        else if (plan->flat && axis == 0)
            accel__emit(emitter, "(accel_start0 + accel_x)");
        else
            accel__emit(emitter, "accel_%c", axes[axis]);
        return;
    case ACCEL__ITEM_LOCAL_SIZE:
        if (plan != NULL)
            accel__emit(emitter, "accel_b%c", axes[axis]);
        else
            accel__emit(emitter, "accel_w.g->block[%u]", axis);
        return;
    default:
        if (plan != NULL)
            accel__emit(emitter, "(%s%s%u)", cast, block_names[item - ACCEL__ITEM_GROUP_ID], axis);
        else
            accel__emit(emitter, "(%saccel_w.g->%s[%u])", cast, fields[item - ACCEL__ITEM_GROUP_ID],
                        axis);
        return;
    }
}

static bool is_size(unsigned item)
{
    return item == ACCEL__ITEM_GLOBAL_SIZE || item == ACCEL__ITEM_LOCAL_SIZE ||
           item == ACCEL__ITEM_NUM_GROUPS;
}

void accel__emit_item(accel__emitter *emitter, const accel__node *node)
{
    const unsigned item = node->builtin->value;
    int64_t axis = 0;
    if (item == ACCEL__ITEM_GLOBAL_OFFSET) {
        accel__emit(emitter, "0ul");
        return;
    }
    if (accel__constant_integer(node->a, &axis)) {
        if (axis < 0 || axis > 2) {
            accel__emit(emitter, is_size(item) ? "1ul" : "0ul");
            return;
        }
        accel__emit(emitter, "((unsigned long)");
        emit_value(emitter, item, (unsigned)axis, false);
        accel__emit(emitter, ")");
        return;
    }
    const uint32_t id = ++emitter->next_id;
    accel__emit(emitter, "({ const unsigned accel_axis_%u = (unsigned)", id);
    accel__emit_expression(emitter, node->a);
    accel__emit(emitter, "; (unsigned long)(");
    for (unsigned i = 0; i < 3; i++) {
        accel__emit(emitter, "accel_axis_%u == %u ? ", id, i);
        emit_value(emitter, item, i, false);
        accel__emit(emitter, " : ");
    }
    accel__emit(emitter, "%d); })", is_size(item) ? 1 : 0);
}

static bool is_item(const accel__node *node)
{
    int64_t axis = 0;
    return node->kind == ACCEL__NODE_BUILTIN && node->builtin->rule == ACCEL__RULE_ITEM &&
           node->builtin->value != ACCEL__ITEM_GLOBAL_OFFSET &&
           accel__constant_integer(node->a, &axis) && axis >= 0 && axis <= 2;
}

static bool is_sum_or_product(const accel__node *node)
{
    return node->kind == ACCEL__NODE_BINARY && node->op[1] == '\0' &&
           (node->op[0] == '+' || node->op[0] == '-' || node->op[0] == '*');
}

/* A cast that keeps the low 32 bits. */
static bool is_wide_cast(const accel__node *node)
{
    return node->kind == ACCEL__NODE_CAST && node->type->kind >= ACCEL__TYPE_INT &&
           node->type->kind <= ACCEL__TYPE_ULONG && accel__type_is_integer(node->a->type);
}

static bool contains_item(const accel__node *node)
{
    if (is_item(node))
        return true;
    if (is_wide_cast(node))
        return contains_item(node->a);
    return is_sum_or_product(node) && (contains_item(node->a) || contains_item(node->b));
}

/* The low 32 bits of sums and products depend on those of the operands only. Signed int may not
 * wrap in C, so products with large constants (hashes) are left as they are for it. */
static bool can_narrow(const accel__node *node, bool wraps, int64_t most)
{
    int64_t value = 0;
    if (is_item(node))
        return true;
    if (!accel__type_is_integer(node->type))
        return false;
    if (accel__constant_integer(node, &value))
        return wraps || (value >= -most && value <= most);
    if (is_wide_cast(node))
        return can_narrow(node->a, wraps, most);
    if (is_sum_or_product(node)) {
        const int64_t limit = node->op[0] == '*' ? 1024 : most;
        return can_narrow(node->a, wraps, limit) && can_narrow(node->b, wraps, limit);
    }
    return true;
}

static void emit_narrowed(accel__emitter *emitter, const accel__node *node, const char *cast)
{
    int64_t axis = 0;
    if (is_item(node)) {
        accel__constant_integer(node->a, &axis);
        accel__emit(emitter, "(%s", cast);
        emit_value(emitter, node->builtin->value, (unsigned)axis, true);
        accel__emit(emitter, ")");
    } else if (is_wide_cast(node)) {
        emit_narrowed(emitter, node->a, cast);
    } else if (is_sum_or_product(node)) {
        accel__emit(emitter, "(");
        emit_narrowed(emitter, node->a, cast);
        accel__emit(emitter, " %s ", node->op);
        emit_narrowed(emitter, node->b, cast);
        accel__emit(emitter, ")");
    } else {
        accel__emit(emitter, "(%s", cast);
        accel__emit_expression(emitter, node);
        accel__emit(emitter, ")");
    }
}

bool accel__emit_narrow(accel__emitter *emitter, const accel__type *type, const accel__node *node)
{
    const bool is_unsigned = type->kind == ACCEL__TYPE_UINT;
    if ((type->kind != ACCEL__TYPE_INT && !is_unsigned) || !contains_item(node) ||
        !can_narrow(node, is_unsigned, 1 << 24))
        return false;
    emit_narrowed(emitter, node, is_unsigned ? "(unsigned)" : "(int)");
    return true;
}
