/* walk.c: the one place that knows which children a node has. */
#include "kernel/tree/ast.h"

static void visit_list(accel__node *list, void (*visit)(accel__node *, void *), void *context)
{
    for (accel__node *at = list; at != NULL; at = at->next)
        visit(at, context);
}

static void visit_one(accel__node *node, void (*visit)(accel__node *, void *), void *context)
{
    if (node != NULL)
        visit(node, context);
}

void accel__walk_children(accel__node *node, void (*visit)(accel__node *child, void *context),
                          void *context)
{
    switch (node->kind) {
    case ACCEL__NODE_DECLARE:
        visit_one(node->symbol->init, visit, context);
        return;
    case ACCEL__NODE_BLOCK:
    case ACCEL__NODE_CALL:
    case ACCEL__NODE_BUILTIN:
    case ACCEL__NODE_VECTOR:
    case ACCEL__NODE_LIST:
        visit_list(node->a, visit, context);
        return;
    case ACCEL__NODE_FOR:
        visit_list(node->a, visit, context);
        visit_one(node->b, visit, context);
        visit_one(node->d, visit, context);
        visit_one(node->c, visit, context);
        return;
    case ACCEL__NODE_DO:
        visit_one(node->d, visit, context);
        visit_one(node->b, visit, context);
        return;
    default:
        visit_one(node->a, visit, context);
        visit_one(node->b, visit, context);
        visit_one(node->c, visit, context);
        visit_one(node->d, visit, context);
        return;
    }
}
