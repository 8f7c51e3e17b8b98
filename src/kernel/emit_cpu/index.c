/* index.c: unsigned subscripts that move with the work-item, like a[lid + s] or a[y * w + x].
 * Unsigned sums may wrap, which keeps compilers from seeing that neighbouring items touch
 * neighbouring elements. All of such a sum but the item's own number is the same along a row of
 * items, so it is worked out for the row (accel_wide), and the number is added to it as a signed
 * one. Where the sum wraps inside of the row, the items behind the wrap get the small subscripts
 * that they must, and those before it negative ones in place of some near 2 to the 32nd. */
#include "kernel/emit_cpu/plan.h"

static bool is_row_id(const accel__node *node)
{
    int64_t axis = 0;
    return node->kind == ACCEL__NODE_BUILTIN && node->builtin->rule == ACCEL__RULE_ITEM &&
           node->builtin->value <= ACCEL__ITEM_LOCAL_ID &&
           accel__constant_integer(node->a, &axis) && axis == 0;
}

static bool is_fixed(const accel__symbol *symbol)
{
    return symbol->kind == ACCEL__SYMBOL_VARIABLE && symbol->init != NULL &&
           symbol->assignments == 0 && !symbol->address_taken &&
           (symbol->storage == ACCEL__STORAGE_REGION || symbol->storage == ACCEL__STORAGE_PURE) &&
           !(symbol->type->qualifiers & ACCEL__QUALIFIER_VOLATILE);
}

/* May differ between the items of a row. */
static void find_row_varying(accel__node *node, void *context)
{
    bool *found = context;
    int64_t axis = 0;
    switch (node->kind) {
    case ACCEL__NODE_NAME:
        if (!node->symbol->varies || node->symbol->kind != ACCEL__SYMBOL_VARIABLE)
            return;
        if (!is_fixed(node->symbol))
            *found = true;
        else
            find_row_varying(node->symbol->init, context);
        return;
    case ACCEL__NODE_BUILTIN:
        if (node->builtin->rule != ACCEL__RULE_ITEM || !accel__constant_integer(node->a, &axis) ||
            is_row_id(node))
            *found = true;
        return;
    case ACCEL__NODE_INTEGER:
    case ACCEL__NODE_CAST:
    case ACCEL__NODE_BINARY:
        break;
    default:
        *found = true;
        return;
    }
    if (!*found)
        accel__walk_children(node, find_row_varying, context);
}

static bool varies_along_row(const accel__node *node)
{
    bool found = false;
    find_row_varying((accel__node *)node, &found);
    return found;
}

static bool is_word(const accel__type *type)
{
    return type->kind >= ACCEL__TYPE_INT && type->kind <= ACCEL__TYPE_ULONG;
}

/* What a cast or a variable stands for. */
static const accel__node *inner(const accel__node *node)
{
    if (node->kind == ACCEL__NODE_CAST && is_word(node->type) && is_word(node->a->type))
        return node->a;
    if (node->kind == ACCEL__NODE_NAME && is_fixed(node->symbol) && is_word(node->symbol->type) &&
        is_word(node->symbol->init->type))
        return node->symbol->init;
    return NULL;
}

static bool is_sum(const accel__node *node)
{
    return node->kind == ACCEL__NODE_BINARY && node->op[1] == '\0' &&
           (node->op[0] == '+' || node->op[0] == '-') && is_word(node->type);
}

/* Exactly one row id, added, beside what does not vary along the row. */
static bool is_row_sum(const accel__node *node)
{
    if (is_row_id(node))
        return true;
    if (is_sum(node)) {
        const bool left = varies_along_row(node->a);
        const bool right = varies_along_row(node->b);
        if (left == right || (right && node->op[0] == '-'))
            return false;
        return is_row_sum(left ? node->a : node->b);
    }
    const accel__node *behind = inner(node);
    return behind != NULL && is_row_sum(behind);
}

/* The sum without the item's number in the row, modulo 2 to the 32nd. */
static void emit_rest(accel__emitter *emitter, const accel__node *node)
{
    if (is_row_id(node)) {
        if (node->builtin->value == ACCEL__ITEM_GLOBAL_ID)
            accel__emit(emitter, "(unsigned)accel_int_base0");
        else
            accel__emit(emitter, emitter->plan->flat ? "(unsigned)accel_start0" : "0u");
    } else if (!varies_along_row(node)) {
        accel__emit(emitter, "(unsigned)");
        accel__emit_expression(emitter, node);
    } else if (is_sum(node)) {
        accel__emit(emitter, "(");
        emit_rest(emitter, node->a);
        accel__emit(emitter, " %s ", node->op);
        emit_rest(emitter, node->b);
        accel__emit(emitter, ")");
    } else {
        emit_rest(emitter, inner(node));
    }
}

bool accel__emit_is_along_row(const accel__node *index)
{
    return !varies_along_row(index) || is_row_sum(index);
}

bool accel__emit_row_index(accel__emitter *emitter, const accel__node *index)
{
    if (emitter->plan == NULL || emitter->region == 0 || index->type->kind != ACCEL__TYPE_UINT ||
        !is_row_sum(index))
        return false;
    accel__emit(emitter, "accel_wide(");
    emit_rest(emitter, index);
    accel__emit(emitter, ", accel_x0, accel_x1) + accel_x");
    return true;
}
