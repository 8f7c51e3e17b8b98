/* statement.c: statements. A barrier is one of its own; case labels stand directly in the
 * block of their switch. */
#include <string.h>

#include "kernel/parse/parse.h"

static accel__node *parse_statement(accel__parser *parser);

/* A barrier that was seen but did not become a statement is in the wrong place. */
static void check_barrier_placed(accel__parser *parser)
{
    if (parser->barrier != NULL)
        accel__parse_fail_at(parser, parser->barrier, "a barrier must be a statement of its own");
}

static accel__node *parse_expression_statement(accel__parser *parser)
{
    const accel__token *token = accel__parse_peek(parser);
    accel__node *statement = accel__parse_node(parser, ACCEL__NODE_EXPRESSION, token);
    if (accel__parse_accept(parser, ";")) {
        statement->kind = ACCEL__NODE_BLOCK;
        return statement;
    }
    statement->a = accel__parse_expression(parser);
    if (statement->a->kind == ACCEL__NODE_BUILTIN &&
        statement->a->builtin->rule == ACCEL__RULE_BARRIER) {
        statement->kind = ACCEL__NODE_BARRIER;
        parser->barrier = NULL;
        parser->function->has_barrier = true;
    }
    check_barrier_placed(parser);
    accel__parse_expect(parser, ";");
    return statement;
}

static accel__node *parse_condition(accel__parser *parser)
{
    accel__node *condition = accel__parse_expression(parser);
    check_barrier_placed(parser);
    accel__check_truth(parser, condition);
    return condition;
}

static accel__node *parse_in_parentheses(accel__parser *parser)
{
    accel__parse_expect(parser, "(");
    accel__node *condition = parse_condition(parser);
    accel__parse_expect(parser, ")");
    return condition;
}

/* A statement with a scope of its own. */
static accel__node *parse_body(accel__parser *parser)
{
    accel__binding *scope = accel__parse_open_scope(parser);
    const accel__token *token = accel__parse_peek(parser);
    if (accel__parse_starts_type(parser, token))
        accel__parse_fail_at(parser, token, "a declaration in place of a statement");
    accel__node *body = parse_statement(parser);
    accel__parse_close_scope(parser, scope);
    return body;
}

static accel__node *parse_loop_body(accel__parser *parser)
{
    parser->loops++;
    const uint32_t switches = parser->switches;
    parser->switches = 0;
    accel__node *body = parse_body(parser);
    parser->switches = switches;
    parser->loops--;
    return body;
}

static accel__node *parse_if(accel__parser *parser)
{
    accel__node *node = accel__parse_node(parser, ACCEL__NODE_IF, accel__parse_next(parser));
    node->a = parse_in_parentheses(parser);
    node->b = parse_body(parser);
    if (accel__parse_accept(parser, "else"))
        node->c = parse_body(parser);
    return node;
}

static accel__node *parse_for(accel__parser *parser)
{
    accel__node *node = accel__parse_node(parser, ACCEL__NODE_FOR, accel__parse_next(parser));
    accel__binding *scope = accel__parse_open_scope(parser);
    accel__parse_expect(parser, "(");
    if (accel__parse_starts_type(parser, accel__parse_peek(parser))) {
        node->a = accel__parse_declaration(parser);
        for (const accel__node *at = node->a; at != NULL; at = at->next)
            if (at->symbol->type->space == ACCEL__SPACE_LOCAL)
                accel__parse_fail(parser, at->file, at->line, "local memory declared in a loop");
    } else {
        node->a = parse_expression_statement(parser);
    }
    if (!accel__parse_at(parser, ";"))
        node->b = parse_condition(parser);
    accel__parse_expect(parser, ";");
    if (!accel__parse_at(parser, ")"))
        node->c = accel__parse_expression(parser);
    check_barrier_placed(parser);
    accel__parse_expect(parser, ")");
    node->d = parse_loop_body(parser);
    accel__parse_close_scope(parser, scope);
    if (node->a != NULL && node->a->kind == ACCEL__NODE_BLOCK)
        node->a = NULL;
    if (node->a != NULL && node->a->kind == ACCEL__NODE_BARRIER)
        accel__parse_fail(parser, node->file, node->line, "a barrier in the head of a loop");
    return node;
}

static accel__node *parse_while(accel__parser *parser)
{
    accel__node *node = accel__parse_node(parser, ACCEL__NODE_WHILE, accel__parse_next(parser));
    node->b = parse_in_parentheses(parser);
    node->d = parse_loop_body(parser);
    return node;
}

static accel__node *parse_do(accel__parser *parser)
{
    accel__node *node = accel__parse_node(parser, ACCEL__NODE_DO, accel__parse_next(parser));
    node->d = parse_loop_body(parser);
    accel__parse_expect(parser, "while");
    node->b = parse_in_parentheses(parser);
    accel__parse_expect(parser, ";");
    return node;
}

static accel__node *parse_case(accel__parser *parser)
{
    const accel__token *token = accel__parse_next(parser);
    const bool is_case = accel__token_has(token, "case");
    accel__node *node = accel__parse_node(parser, is_case ? ACCEL__NODE_CASE : ACCEL__NODE_DEFAULT,
                                          token);
    if (is_case)
        node->value = (uint64_t)accel__parse_integer_constant(parser, "a case label");
    accel__parse_expect(parser, ":");
    return node;
}

static bool is_case(accel__parser *parser)
{
    return accel__parse_at(parser, "case") || accel__parse_at(parser, "default");
}

static void check_cases(accel__parser *parser, const accel__node *block)
{
    for (const accel__node *at = block->a; at != NULL; at = at->next) {
        if (at->kind != ACCEL__NODE_CASE && at->kind != ACCEL__NODE_DEFAULT)
            continue;
        for (const accel__node *before = block->a; before != at; before = before->next)
            if (before->kind == at->kind && before->value == at->value)
                accel__parse_fail(parser, at->file, at->line, "this case stands twice");
    }
}

/* What a block consists of: declarations and statements. */
static accel__node *parse_item(accel__parser *parser)
{
    accel__specifiers ignored = {0};
    accel__parse_attributes(parser, &ignored); /* opencl_unroll_hint */
    return accel__parse_starts_type(parser, accel__parse_peek(parser))
               ? accel__parse_declaration(parser)
               : parse_statement(parser);
}

static accel__node *parse_switch(accel__parser *parser)
{
    accel__node *node = accel__parse_node(parser, ACCEL__NODE_SWITCH, accel__parse_next(parser));
    node->b = parse_in_parentheses(parser);
    if (!accel__type_is_integer(node->b->type))
        accel__parse_fail(parser, node->file, node->line, "a switch needs an integer");
    accel__binding *scope = accel__parse_open_scope(parser);
    accel__node *block = accel__parse_node(parser, ACCEL__NODE_BLOCK,
                                           accel__parse_expect(parser, "{"));
    accel__node **end = &block->a;
    parser->switches++;
    while (!accel__parse_at(parser, "}")) {
        const accel__token *token = accel__parse_peek(parser);
        const bool label = is_case(parser);
        if (!label && block->a == NULL)
            accel__parse_fail_at(parser, token, "a statement before the first case");
        *end = label ? parse_case(parser) : parse_item(parser);
        while (*end != NULL)
            end = &(*end)->next;
    }
    parser->switches--;
    accel__parse_expect(parser, "}");
    accel__parse_close_scope(parser, scope);
    check_cases(parser, block);
    node->d = block;
    return node;
}

static accel__node *parse_jump(accel__parser *parser)
{
    const accel__token *token = accel__parse_next(parser);
    const bool breaks = accel__token_has(token, "break");
    if (parser->loops == 0 && (!breaks || parser->switches == 0))
        accel__parse_fail_at(parser, token, "'%.*s' outside of a loop", (int)token->size,
                             token->text);
    accel__parse_expect(parser, ";");
    return accel__parse_node(parser, breaks ? ACCEL__NODE_BREAK : ACCEL__NODE_CONTINUE, token);
}

static accel__node *parse_return(accel__parser *parser)
{
    accel__node *node = accel__parse_node(parser, ACCEL__NODE_RETURN, accel__parse_next(parser));
    const accel__type *type = parser->function->type;
    if (!accel__parse_at(parser, ";")) {
        node->a = accel__parse_expression(parser);
        check_barrier_placed(parser);
        if (type->kind == ACCEL__TYPE_VOID)
            accel__parse_fail(parser, node->file, node->line,
                              "'%s' returns nothing but is given a value", parser->function->name);
        accel__check_convertible(parser, type, node->a, "what is returned");
    } else if (type->kind != ACCEL__TYPE_VOID) {
        accel__parse_fail(parser, node->file, node->line, "'%s' must return a value",
                          parser->function->name);
    }
    accel__parse_expect(parser, ";");
    return node;
}

accel__node *accel__parse_block(accel__parser *parser)
{
    accel__node *block = accel__parse_node(parser, ACCEL__NODE_BLOCK,
                                           accel__parse_expect(parser, "{"));
    accel__binding *scope = accel__parse_open_scope(parser);
    accel__node **end = &block->a;
    while (!accel__parse_at(parser, "}")) {
        const accel__token *token = accel__parse_peek(parser);
        if (token->kind == ACCEL__TOKEN_END)
            accel__parse_expect(parser, "}");
        *end = parse_item(parser);
        while (*end != NULL)
            end = &(*end)->next;
    }
    accel__parse_expect(parser, "}");
    accel__parse_close_scope(parser, scope);
    return block;
}

static accel__node *parse_other(accel__parser *parser)
{
    const accel__token *token = accel__parse_peek(parser);
    if (accel__token_has(token, "goto"))
        accel__parse_fail_at(parser, token, "'goto' is not part of the kernel language");
    if (is_case(parser))
        accel__parse_fail_at(parser, token, "'%.*s' must stand directly in the block of a switch",
                             (int)token->size, token->text);
    if (token->kind == ACCEL__TOKEN_IDENTIFIER &&
        accel__token_has(accel__parse_peek_second(parser), ":"))
        accel__parse_fail_at(parser, token, "labels are not part of the kernel language");
    return parse_expression_statement(parser);
}

static accel__node *parse_statement(accel__parser *parser)
{
    static const struct {
        const char *word;
        accel__node *(*parse)(accel__parser *parser);
    } statements[] = {
        {"{", accel__parse_block}, {"if", parse_if},         {"for", parse_for},
        {"while", parse_while},    {"do", parse_do},         {"switch", parse_switch},
        {"break", parse_jump},     {"continue", parse_jump}, {"return", parse_return},
    };
    accel__parse_enter(parser);
    accel__node *node = NULL;
    for (size_t i = 0; i < sizeof statements / sizeof statements[0] && node == NULL; i++)
        if (accel__parse_at(parser, statements[i].word))
            node = statements[i].parse(parser);
    if (node == NULL)
        node = parse_other(parser);
    accel__parse_leave(parser);
    return node;
}
