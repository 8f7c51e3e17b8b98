/* expression.c: operators, from the comma down to the unary ones. */
#include <string.h>

#include "kernel/parse/parse.h"

static const struct {
    const char *op;
    int level; /* binds tighter with a greater one */
} levels[] = {
    {"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6},
    {"!=", 6}, {"<", 7},  {">", 7}, {"<=", 7}, {">=", 7}, {"<<", 8},
    {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10},
};

static int level_of(const accel__token *token)
{
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (token->kind == ACCEL__TOKEN_PUNCTUATOR && accel__token_has(token, levels[i].op))
            return levels[i].level;
    return 0;
}

/* Notes that `node` divides integers: it begins at token `begin` and ends before the parser's place. */
static void note_division(accel__parser *parser, const accel__node *node, const accel__token *op,
                          size_t begin)
{
    const accel__type *type = node->type->kind == ACCEL__TYPE_VECTOR ? node->type->base
                                                                     : node->type;
    if ((node->op[0] != '/' && node->op[0] != '%') || !accel__type_is_integer(type) ||
        accel__type_is_floating(node->b->type))
        return;
    accel__program *program = parser->program;
    accel__division *noted = accel__parse_take(parser, sizeof *noted);
    *noted = (accel__division){.node = node,
                               .begin = begin,
                               .op = (size_t)(op - parser->unit->tokens),
                               .end = parser->at - 1};
    if (program->last_division != NULL)
        program->last_division->next = noted;
    else
        program->first_division = noted;
    program->last_division = noted;
}

static accel__node *parse_unary(accel__parser *parser);

static accel__node *parse_binary(accel__parser *parser, int lowest)
{
    const size_t begin = parser->at;
    accel__parse_enter(parser);
    accel__node *left = parse_unary(parser);
    for (;;) {
        const accel__token *op = accel__parse_peek(parser);
        const int level = level_of(op);
        if (level == 0 || level < lowest)
            break;
        accel__parse_next(parser);
        left = accel__check_binary(parser, op, left, parse_binary(parser, level + 1));
        note_division(parser, left, op, begin);
    }
    accel__parse_leave(parser);
    return left;
}

static accel__node *parse_conditional(accel__parser *parser)
{
    accel__node *condition = parse_binary(parser, 1);
    if (!accel__parse_at(parser, "?"))
        return condition;
    accel__parse_enter(parser);
    const accel__token *op = accel__parse_next(parser);
    accel__node *yes = accel__parse_expression(parser);
    accel__parse_expect(parser, ":");
    accel__node *no = parse_conditional(parser);
    accel__parse_leave(parser);
    return accel__check_condition(parser, op, condition, yes, no);
}

static bool is_assignment(const accel__token *token)
{
    static const char *const ops[] = {
        "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (accel__token_has(token, ops[i]))
            return true;
    return false;
}

accel__node *accel__parse_assignment(accel__parser *parser)
{
    const size_t begin = parser->at;
    accel__parse_enter(parser);
    accel__node *left = parse_conditional(parser);
    const accel__token *op = accel__parse_peek(parser);
    if (is_assignment(op)) {
        accel__parse_next(parser);
        left = accel__check_assign(parser, op, left, accel__parse_assignment(parser));
        note_division(parser, left, op, begin);
    }
    accel__parse_leave(parser);
    return left;
}

accel__node *accel__parse_expression(accel__parser *parser)
{
    accel__node *left = accel__parse_assignment(parser);
    while (accel__parse_at(parser, ",")) {
        const accel__token *op = accel__parse_next(parser);
        accel__node *comma = accel__parse_node(parser, ACCEL__NODE_COMMA, op);
        comma->a = left;
        comma->b = accel__parse_assignment(parser);
        comma->type = comma->b->type;
        comma->depth = (uint16_t)(1 +
                                  (left->depth > comma->b->depth ? left->depth : comma->b->depth));
        if (comma->depth > 1000)
            accel__parse_fail_at(parser, op, "this expression is too long");
        left = comma;
    }
    return left;
}

int64_t accel__parse_integer_constant(accel__parser *parser, const char *what)
{
    const accel__token *token = accel__parse_peek(parser);
    int64_t value = 0;
    if (!accel__constant_integer(parse_conditional(parser), &value))
        accel__parse_fail_at(parser, token, "%s must be an integer constant", what);
    return value;
}

static bool is_unary(const accel__token *token)
{
    static const char *const ops[] = {"+", "-", "!", "~", "*", "&"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (token->kind == ACCEL__TOKEN_PUNCTUATOR && accel__token_has(token, ops[i]))
            return true;
    return false;
}

static accel__node *parse_sizeof(accel__parser *parser)
{
    const accel__token *token = accel__parse_next(parser);
    const accel__type *type = NULL;
    if (accel__parse_at(parser, "(") &&
        accel__parse_starts_type(parser, accel__parse_peek_second(parser))) {
        accel__parse_next(parser);
        type = accel__parse_type_name(parser);
        accel__parse_expect(parser, ")");
    } else {
        type = parse_unary(parser)->type;
    }
    const size_t size = accel__type_size(type);
    if (size == 0)
        accel__parse_fail_at(parser, token, "sizeof a type without size");
    accel__node *node = accel__parse_node(parser, ACCEL__NODE_INTEGER, token);
    node->type = accel__type_scalar(ACCEL__TYPE_ULONG);
    node->value = size;
    return node;
}

/* "(float4)(a, b, …)": the elements between the parentheses. */
static accel__node *parse_vector_literal(accel__parser *parser, const accel__token *token,
                                         const accel__type *type)
{
    accel__node *node = accel__parse_node(parser, ACCEL__NODE_VECTOR, token);
    node->type = type;
    accel__parse_expect(parser, "(");
    uint64_t lanes = 0;
    uint16_t depth = 0;
    accel__node **end = &node->a;
    do {
        accel__node *element = accel__parse_assignment(parser);
        if (!accel__type_is_arithmetic(element->type) && element->type->kind != ACCEL__TYPE_VECTOR)
            accel__parse_fail_at(parser, token, "an element of this vector is no number");
        if (element->type->kind == ACCEL__TYPE_VECTOR &&
            element->type->base->kind != type->base->kind)
            accel__parse_fail_at(parser, token, "a vector of another type inside of this one");
        lanes += element->type->kind == ACCEL__TYPE_VECTOR ? element->type->count : 1;
        depth = element->depth > depth ? element->depth : depth;
        *end = element;
        end = &element->next;
    } while (accel__parse_accept(parser, ","));
    accel__parse_expect(parser, ")");
    node->depth = (uint16_t)(depth + 1);
    if (lanes != type->count && !(lanes == 1 && node->a->type->kind != ACCEL__TYPE_VECTOR))
        accel__parse_fail_at(parser, token, "%u lanes for a vector of %u", (unsigned)lanes,
                             (unsigned)type->count);
    return node;
}

static accel__node *parse_cast(accel__parser *parser)
{
    const accel__token *open = accel__parse_expect(parser, "(");
    const accel__type *type = accel__parse_type_name(parser);
    accel__parse_expect(parser, ")");
    if (accel__parse_at(parser, "{"))
        accel__parse_fail_at(parser, open, "compound literals are not part of the kernel language");
    if (type->kind == ACCEL__TYPE_VECTOR && accel__parse_at(parser, "("))
        return parse_vector_literal(parser, open, type);
    return accel__check_cast(parser, open, type, parse_unary(parser));
}

static accel__node *parse_unary(accel__parser *parser)
{
    const accel__token *token = accel__parse_peek(parser);
    accel__node *node = NULL;
    accel__parse_enter(parser);
    if (accel__token_has(token, "++") || accel__token_has(token, "--")) {
        accel__parse_next(parser);
        node = accel__check_step(parser, token, parse_unary(parser), false);
    } else if (is_unary(token)) {
        accel__parse_next(parser);
        node = accel__check_unary(parser, token, parse_unary(parser));
    } else if (accel__token_has(token, "sizeof")) {
        node = parse_sizeof(parser);
    } else if (accel__token_has(token, "(") &&
               accel__parse_starts_type(parser, accel__parse_peek_second(parser))) {
        node = parse_cast(parser);
    } else {
        node = accel__parse_postfix(parser);
    }
    accel__parse_leave(parser);
    return node;
}
