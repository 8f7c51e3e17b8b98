/* program.c: what can only be known once all functions are: recursion, functions that are
 * called but nowhere defined, and which functions use work-items or barriers through others. */
#include "kernel/parse/parse.h"

typedef struct search {
    accel__parser *parser;
    accel__symbol *function;
    bool failed;
} search;

static void report(search *state, const accel__node *call, const char *format)
{
    const accel__unit *unit = state->parser->unit;
    accel__diagnose_error(state->parser->diagnostics, unit->files[call->file], call->line, format,
                          call->symbol->name);
    state->failed = true;
}

static bool visit_function(search *state, accel__symbol *function);

static void visit_node(accel__node *node, void *context)
{
    search *state = context;
    if (state->failed)
        return;
    if (node->kind == ACCEL__NODE_BUILTIN &&
        (node->builtin->rule == ACCEL__RULE_ITEM || node->builtin->rule == ACCEL__RULE_DIMENSIONS))
        state->function->uses_items = true;
    if (node->kind == ACCEL__NODE_BUILTIN &&
        (accel__builtin_is_atomic(node->builtin) || node->builtin->rule == ACCEL__RULE_FENCE))
        state->function->has_atomics = true;
    if (node->kind == ACCEL__NODE_CALL) {
        accel__symbol *callee = node->symbol;
        if (callee->visiting) {
            report(state, node, "recursion is not part of the kernel language ('%s')");
            return;
        }
        if (callee->body == NULL) {
            report(state, node, "the function '%s' is declared but not defined");
            return;
        }
        if (!visit_function(state, callee))
            return;
        state->function->uses_items |= callee->uses_items;
        state->function->has_barrier |= callee->has_barrier;
        state->function->has_atomics |= callee->has_atomics;
    }
    accel__walk_children(node, visit_node, state);
}

static bool visit_function(search *state, accel__symbol *function)
{
    if (function->visited)
        return true;
    accel__symbol *caller = state->function;
    state->function = function;
    function->visiting = true;
    visit_node(function->body, state);
    function->visiting = false;
    function->visited = true;
    state->function = caller;
    return !state->failed;
}

bool accel__check_program(accel__parser *parser)
{
    search state = {parser, NULL, false};
    for (accel__symbol *at = parser->program->first; at != NULL; at = at->next)
        if (at->kind == ACCEL__SYMBOL_FUNCTION && at->body != NULL && !visit_function(&state, at))
            return false;
    return true;
}
