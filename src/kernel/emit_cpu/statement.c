/* statement.c: statements that run per item: in functions, and inside of one region. */
#include "kernel/emit_cpu/plan.h"

static void emit_list(accel__emitter *emitter, const accel__node *list)
{
    for (; list != NULL; list = list->next)
        accel__emit_statement(emitter, list);
}

static void emit_body(accel__emitter *emitter, const accel__node *body)
{
    accel__emit(emitter, "{\n");
    accel__emit_statement(emitter, body);
    accel__emit(emitter, "}\n");
}

static void emit_condition(accel__emitter *emitter, const accel__node *condition)
{
    accel__emit(emitter, "(");
    if (condition != NULL)
        accel__emit_expression(emitter, condition);
    else
        accel__emit(emitter, "1");
    accel__emit(emitter, ")");
}

/* An array or a struct takes its initialiser through a copy. */
static void declare_stored(accel__emitter *emitter, const accel__symbol *symbol)
{
    if (symbol->storage != ACCEL__STORAGE_ITEMS || symbol->init == NULL)
        return;
    if (symbol->init->kind == ACCEL__NODE_LIST) {
        const accel__symbol temporary = {
            .name = symbol->name, .id = ++emitter->next_id, .type = symbol->type};
        accel__emit(emitter, "{ ");
        accel__emit_variable(emitter, &temporary);
        accel__emit(emitter, " = ");
        accel__emit_expression(emitter, symbol->init);
        accel__emit(emitter, "; __builtin_memcpy(&u_%s_%u[accel_i], &u_%s_%u, sizeof u_%s_%u); }\n",
                    symbol->name, symbol->id, symbol->name, temporary.id, symbol->name,
                    temporary.id);
        return;
    }
    accel__emit(emitter, "u_%s_%u[accel_i] = ", symbol->name, symbol->id);
    accel__emit_converted(emitter, symbol->type, symbol->init);
    accel__emit(emitter, ";\n");
}

static void emit_declare(accel__emitter *emitter, const accel__node *node)
{
    const accel__symbol *symbol = node->symbol;
    if (emitter->plan != NULL && symbol->storage != ACCEL__STORAGE_REGION &&
        symbol->storage != ACCEL__STORAGE_UNIFORM) {
        declare_stored(emitter, symbol);
        return;
    }
    if (emitter->plan != NULL && symbol->is_hoisted)
        return;
    accel__emit_variable(emitter, symbol);
    if (symbol->init != NULL) {
        accel__emit(emitter, " = ");
        accel__emit_converted(emitter, symbol->type, symbol->init);
    }
    accel__emit(emitter, ";\n");
}

static void emit_for(accel__emitter *emitter, const accel__node *node)
{
    accel__emit(emitter, "{\n");
    emit_list(emitter, node->a);
    accel__emit(emitter, "for (; ");
    emit_condition(emitter, node->b);
    accel__emit(emitter, "; ");
    if (node->c != NULL)
        accel__emit_expression(emitter, node->c);
    accel__emit(emitter, ") ");
    emit_body(emitter, node->d);
    accel__emit(emitter, "}\n");
}

static void emit_if(accel__emitter *emitter, const accel__node *node)
{
    accel__emit(emitter, "if ");
    emit_condition(emitter, node->a);
    accel__emit(emitter, " ");
    emit_body(emitter, node->b);
    if (node->c != NULL) {
        accel__emit(emitter, "else ");
        emit_body(emitter, node->c);
    }
}

static void emit_do(accel__emitter *emitter, const accel__node *node)
{
    accel__emit(emitter, "do ");
    emit_body(emitter, node->d);
    accel__emit(emitter, "while ");
    emit_condition(emitter, node->b);
    accel__emit(emitter, ";\n");
}

static void emit_head(accel__emitter *emitter, const accel__node *node, const char *word)
{
    accel__emit(emitter, "%s ", word);
    emit_condition(emitter, node->b);
    accel__emit(emitter, " ");
    emit_body(emitter, node->d);
}

static void emit_return(accel__emitter *emitter, const accel__node *node)
{
    accel__emit(emitter, "return");
    if (node->a != NULL) {
        accel__emit(emitter, " ");
        accel__emit_converted(emitter, emitter->returns, node->a);
    }
    accel__emit(emitter, ";\n");
}

static void emit_jump(accel__emitter *emitter, const accel__node *node)
{
    if (emitter->plan != NULL && accel__emit_exit(emitter, node))
        return;
    if (node->kind == ACCEL__NODE_RETURN)
        emit_return(emitter, node);
    else
        accel__emit(emitter, node->kind == ACCEL__NODE_BREAK ? "break;\n" : "continue;\n");
}

void accel__emit_statement(accel__emitter *emitter, const accel__node *node)
{
    accel__emit_line(emitter, node);
    switch (node->kind) {
    case ACCEL__NODE_BLOCK:
        accel__emit(emitter, "{\n");
        emit_list(emitter, node->a);
        accel__emit(emitter, "}\n");
        return;
    case ACCEL__NODE_DECLARE:
        emit_declare(emitter, node);
        return;
    case ACCEL__NODE_EXPRESSION:
        accel__emit_expression(emitter, node->a);
        accel__emit(emitter, ";\n");
        return;
    case ACCEL__NODE_IF:
        emit_if(emitter, node);
        return;
    case ACCEL__NODE_FOR:
        emit_for(emitter, node);
        return;
    case ACCEL__NODE_WHILE:
        emit_head(emitter, node, "while");
        return;
    case ACCEL__NODE_SWITCH:
        emit_head(emitter, node, "switch");
        return;
    case ACCEL__NODE_DO:
        emit_do(emitter, node);
        return;
    case ACCEL__NODE_CASE:
        accel__emit(emitter, "case %lld:;\n", (long long)node->value);
        return;
    case ACCEL__NODE_DEFAULT:
        accel__emit(emitter, "default:;\n");
        return;
    case ACCEL__NODE_BREAK:
    case ACCEL__NODE_CONTINUE:
    case ACCEL__NODE_RETURN:
        emit_jump(emitter, node);
        return;
    default:
        accel__emit_fail(emitter, node->file, node->line, "this statement cannot be translated");
    }
}

void accel__emit_function_head(accel__emitter *emitter, const accel__symbol *function)
{
    accel__emit(emitter, "static inline __attribute__((always_inline, unused)) ");
    accel__emit_type(emitter, function->type);
    accel__emit(emitter, " f_%s_%u(", function->name, function->id);
    if (function->uses_items)
        accel__emit(emitter, "const accel_item accel_w%s", function->params != NULL ? ", " : "");
    else if (function->params == NULL)
        accel__emit(emitter, "void");
    for (const accel__symbol *param = function->params; param != NULL; param = param->next_param) {
        accel__emit_variable(emitter, param);
        accel__emit(emitter, param->next_param != NULL ? ", " : "");
    }
    accel__emit(emitter, ")");
}

void accel__emit_function(accel__emitter *emitter, const accel__symbol *function)
{
    accel__emit_function_head(emitter, function);
    accel__emit(emitter, "\n");
    emitter->returns = function->type;
    accel__emit_statement(emitter, function->body);
}
