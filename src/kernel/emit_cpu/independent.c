/* independent.c: may a region's loop over items be called free of dependences?
 * Between items it is: kernels without races allow any order. But compilers take the word for the
 * accesses of one item too, and merge neighbouring strided ones (a[2 * i] with a[2 * i + 1]) across
 * a store that might reach the same memory through another pointer (seen with clang 14). So the word
 * is given only where that cannot happen: no store that may meet a strided access. */
#include "kernel/emit_cpu/plan.h"

#define MOST_ROOTS 32

/* Memory that a region touches: behind a pointer, or an array of the block. */
typedef struct root {
    const accel__symbol *symbol; /* NULL: not told by its name */
    uint8_t space;
    bool is_restrict;
    bool is_stored;
    bool is_strided; /* some access is not along the row of items, and not the same for all */
} root;

typedef struct footprint {
    root roots[MOST_ROOTS];
    unsigned count;
    bool communicates; /* atomics and fences */
    bool is_full;      /* more roots than fit */
} footprint;

static root *find_root(footprint *touched, const accel__symbol *symbol, const accel__type *base)
{
    for (unsigned i = 0; i < touched->count; i++)
        if (touched->roots[i].symbol == symbol && touched->roots[i].space == base->space)
            return &touched->roots[i];
    if (touched->count == MOST_ROOTS) {
        touched->is_full = true;
        return &touched->roots[0];
    }
    root *added = &touched->roots[touched->count++];
    *added = (root){.symbol = symbol, .space = base->space};
    added->is_restrict = symbol != NULL && symbol->kind == ACCEL__SYMBOL_PARAM &&
                         (symbol->type->qualifiers & ACCEL__QUALIFIER_RESTRICT);
    return added;
}

/* Notes one access; `node` is a subscript, a dereference or a field. */
static void note_access(footprint *touched, const accel__node *node, bool is_store)
{
    bool strided = false;
    const accel__type *type = node->type;
    while (node->kind == ACCEL__NODE_INDEX || node->kind == ACCEL__NODE_MEMBER ||
           node->kind == ACCEL__NODE_SWIZZLE ||
           (node->kind == ACCEL__NODE_UNARY && node->op[0] == '*')) {
        if (node->kind == ACCEL__NODE_INDEX)
            strided |= !accel__emit_is_along_row(node->b);
        else
            strided = true;
        node = node->a;
    }
    const accel__symbol *symbol = node->kind == ACCEL__NODE_NAME ? node->symbol : NULL;
    if (type->space == ACCEL__SPACE_PRIVATE)
        return;
    root *found = find_root(touched, symbol, type);
    found->is_stored |= is_store;
    found->is_strided |= strided || symbol == NULL ||
                         (symbol->kind == ACCEL__SYMBOL_VARIABLE && symbol->varies);
}

static void visit(accel__node *node, void *context);

static void visit_args(footprint *touched, const accel__node *call)
{
    for (accel__node *arg = call->a; arg != NULL; arg = arg->next) {
        const accel__type *type = arg->type;
        const accel__type *base = type->base;
        if (type->kind != ACCEL__TYPE_POINTER && type->kind != ACCEL__TYPE_ARRAY)
            continue;
        while (base->kind == ACCEL__TYPE_ARRAY)
            base = base->base;
        if (base->space == ACCEL__SPACE_PRIVATE)
            continue;
        root *found = find_root(touched, arg->kind == ACCEL__NODE_NAME ? arg->symbol : NULL, base);
        found->is_strided = true;
        found->is_stored |= !(base->qualifiers & ACCEL__QUALIFIER_CONST);
    }
}

static bool is_access(const accel__node *node)
{
    return node->kind == ACCEL__NODE_INDEX ||
           (node->kind == ACCEL__NODE_UNARY && node->op[0] == '*') ||
           (node->kind == ACCEL__NODE_MEMBER && node->flag);
}

static void visit(accel__node *node, void *context)
{
    footprint *touched = context;
    switch (node->kind) {
    case ACCEL__NODE_CALL:
        touched->communicates |= node->symbol->has_atomics;
        visit_args(touched, node);
        break;
    case ACCEL__NODE_BUILTIN:
        touched->communicates |= accel__builtin_is_atomic(node->builtin) ||
                                 node->builtin->rule == ACCEL__RULE_FENCE;
        visit_args(touched, node);
        break;
    case ACCEL__NODE_ASSIGN:
    case ACCEL__NODE_STEP:
        if (node->a->kind != ACCEL__NODE_NAME)
            note_access(touched, node->a, true);
        break;
    default:
        if (is_access(node))
            note_access(touched, node, false);
        break;
    }
    accel__walk_children(node, visit, context);
}

static bool may_meet(const root *a, const root *b)
{
    if (a == b)
        return true;
    if (a->space != b->space || a->is_restrict || b->is_restrict)
        return false;
    const bool blocks = a->symbol != NULL && b->symbol != NULL &&
                        a->symbol->kind == ACCEL__SYMBOL_VARIABLE &&
                        b->symbol->kind == ACCEL__SYMBOL_VARIABLE &&
                        a->symbol->storage == ACCEL__STORAGE_BLOCK &&
                        b->symbol->storage == ACCEL__STORAGE_BLOCK;
    return !blocks;
}

bool accel__emit_is_independent(accel__node *first, accel__node *last, uint32_t region)
{
    footprint touched = {.count = 0};
    for (accel__node *at = first;; at = at->next) {
        if (at->region == region || first == last)
            visit(at, &touched);
        if (at == last)
            break;
    }
    if (touched.communicates || touched.is_full)
        return false;
    for (unsigned i = 0; i < touched.count; i++)
        for (unsigned j = 0; j < touched.count; j++)
            if (touched.roots[i].is_stored &&
                (touched.roots[j].is_strided || touched.roots[i].is_strided) &&
                may_meet(&touched.roots[i], &touched.roots[j]) &&
                (i != j || touched.roots[i].is_strided))
                return false;
    return true;
}
