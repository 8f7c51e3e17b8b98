/* primary.c: literals, names, calls, subscripts, members and swizzles. */
#include <ctype.h>
#include <string.h>

#include "kernel/parse/parse.h"

static _Noreturn void fail_number(accel__parser *parser, const accel__token *token)
{
    accel__parse_fail_at(parser, token, "'%.*s' is no number of the kernel language",
                         (int)token->size, token->text);
}

static size_t skip_digits(const accel__token *token, size_t at, bool hex)
{
    while (at < token->size && (hex ? isxdigit((unsigned char)token->text[at])
                                    : isdigit((unsigned char)token->text[at])))
        at++;
    return at;
}

static bool is_hex(const accel__token *token)
{
    return token->size > 2 && token->text[0] == '0' && (token->text[1] | 32) == 'x';
}

static bool is_float(const accel__token *token)
{
    const char *exponent = is_hex(token) ? ".pP" : ".eE";
    for (size_t i = 0; i < token->size; i++)
        if (strchr(exponent, token->text[i]) != NULL)
            return true;
    return false;
}

/* Checks digits [. digits] [exponent] and returns where the suffix begins. */
static size_t float_suffix(accel__parser *parser, const accel__token *token)
{
    const bool hex = is_hex(token);
    const size_t begin = hex ? 2 : 0;
    size_t at = skip_digits(token, begin, hex);
    size_t digits = at - begin;
    if (at < token->size && token->text[at] == '.') {
        const size_t after = skip_digits(token, at + 1, hex);
        digits += after - at - 1;
        at = after;
    }
    if (digits == 0)
        fail_number(parser, token);
    const bool has_exponent = at < token->size && (token->text[at] | 32) == (hex ? 'p' : 'e');
    if (hex && !has_exponent)
        fail_number(parser, token);
    if (has_exponent) {
        at++;
        if (at < token->size && (token->text[at] == '+' || token->text[at] == '-'))
            at++;
        const size_t after = skip_digits(token, at, false);
        if (after == at)
            fail_number(parser, token);
        at = after;
    }
    return at;
}

static accel__node *float_literal(accel__parser *parser, const accel__token *token)
{
    const size_t suffix = float_suffix(parser, token);
    accel__type_kind kind = ACCEL__TYPE_DOUBLE;
    if (suffix + 1 == token->size && (token->text[suffix] | 32) == 'f')
        kind = ACCEL__TYPE_FLOAT;
    else if (suffix + 1 == token->size && (token->text[suffix] | 32) == 'h')
        accel__parse_fail_at(parser, token, "half arithmetic is not part of the kernel language");
    else if (suffix != token->size)
        fail_number(parser, token);
    accel__node *node = accel__parse_node(parser, ACCEL__NODE_FLOAT, token);
    node->text = accel__parse_copy(parser, token->text, token->size);
    node->type = accel__type_scalar(kind);
    return node;
}

static accel__type_kind integer_kind(uint64_t value, bool decimal, bool is_unsigned, bool is_long)
{
    if (!is_unsigned && !is_long && value <= INT32_MAX)
        return ACCEL__TYPE_INT;
    if ((is_unsigned || !decimal) && !is_long && value <= UINT32_MAX)
        return ACCEL__TYPE_UINT;
    if (!is_unsigned && value <= INT64_MAX)
        return ACCEL__TYPE_LONG;
    return ACCEL__TYPE_ULONG;
}

static unsigned digit_value(char c)
{
    return isdigit((unsigned char)c) ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a') + 10;
}

static accel__node *integer_literal(accel__parser *parser, const accel__token *token)
{
    const bool hex = is_hex(token);
    const unsigned radix = hex ? 16 : token->text[0] == '0' ? 8 : 10;
    const size_t begin = hex ? 2 : 0;
    const size_t end = skip_digits(token, begin, hex);
    uint64_t value = 0;
    for (size_t i = begin; i < end; i++) {
        const unsigned digit = digit_value(token->text[i]);
        if (digit >= radix)
            fail_number(parser, token);
        if (value > (UINT64_MAX - digit) / radix)
            accel__parse_fail_at(parser, token, "'%.*s' does not fit 64 bits", (int)token->size,
                                 token->text);
        value = value * radix + digit;
    }
    unsigned us = 0;
    unsigned ls = 0;
    for (size_t i = end; i < token->size; i++) {
        us += (token->text[i] | 32) == 'u';
        ls += (token->text[i] | 32) == 'l';
    }
    if (end == begin || us > 1 || ls > 1 || us + ls != token->size - end)
        fail_number(parser, token);
    accel__node *node = accel__parse_node(parser, ACCEL__NODE_INTEGER, token);
    node->value = value;
    node->type = accel__type_scalar(integer_kind(value, radix == 10, us > 0, ls > 0));
    return node;
}

static int escape_value(const accel__token *token, size_t *at)
{
    static const char names[] = "ntrabfv\\'\"?";
    static const char values[] = "\n\t\r\a\b\f\v\\'\"?";
    const char c = token->text[*at];
    const char *found = c == '\0' ? NULL : strchr(names, c);
    if (found != NULL) {
        (*at)++;
        return (unsigned char)values[found - names];
    }
    const bool hex = c == 'x';
    *at += hex ? 1 : 0;
    int value = 0;
    int digits = 0;
    while (*at + 1 < token->size && isxdigit((unsigned char)token->text[*at]) &&
           digits < (hex ? 2 : 3) && (hex || token->text[*at] < '8')) {
        value = value * (hex ? 16 : 8) + (int)digit_value(token->text[*at]);
        (*at)++;
        digits++;
    }
    return digits == 0 ? -1 : value;
}

static accel__node *character_literal(accel__parser *parser, const accel__token *token)
{
    size_t at = 1;
    int value = -1;
    if (token->size >= 3 && token->text[0] == '\'') {
        if (token->text[1] == '\\') {
            at = 2;
            value = escape_value(token, &at);
        } else {
            value = (unsigned char)token->text[at++];
        }
    }
    if (value < 0 || at + 1 != token->size)
        accel__parse_fail_at(parser, token, "a character literal must hold one character");
    accel__node *node = accel__parse_node(parser, ACCEL__NODE_INTEGER, token);
    node->value = (uint64_t)(int64_t)(int8_t)value;
    node->type = accel__type_scalar(ACCEL__TYPE_INT);
    return node;
}

static accel__node *parse_literal(accel__parser *parser, const accel__token *token)
{
    if (token->kind == ACCEL__TOKEN_CHARACTER)
        return character_literal(parser, token);
    return is_float(token) ? float_literal(parser, token) : integer_literal(parser, token);
}

static accel__node *constant_node(accel__parser *parser, const accel__token *token)
{
    const accel__constant *found = accel__constant_find(token->text, token->size);
    if (found == NULL)
        accel__parse_fail_at(parser, token, "unknown name '%.*s'", (int)token->size, token->text);
    accel__node *node = accel__parse_node(
        parser, found->spelling != NULL ? ACCEL__NODE_FLOAT : ACCEL__NODE_INTEGER, token);
    node->text = found->spelling;
    node->value = found->value;
    node->type = accel__type_scalar(
        (accel__type_kind)(found->type == ACCEL__TYPE_VOID || found->type == ACCEL__TYPE_BOOL
                               ? ACCEL__TYPE_INT
                               : found->type));
    return node;
}

static accel__node *name_node(accel__parser *parser, const accel__token *token)
{
    accel__symbol *symbol = accel__parse_find(parser, token);
    if (symbol == NULL)
        return constant_node(parser, token);
    if (symbol->kind == ACCEL__SYMBOL_FUNCTION)
        accel__parse_fail_at(parser, token,
                             "function pointers are not part of the kernel language ('%s')",
                             symbol->name);
    if (symbol->kind == ACCEL__SYMBOL_TYPEDEF)
        accel__parse_fail_at(parser, token, "the type '%s' in place of a value", symbol->name);
    accel__node *node = accel__parse_node(
        parser, symbol->kind == ACCEL__SYMBOL_ENUMERATOR ? ACCEL__NODE_INTEGER : ACCEL__NODE_NAME,
        token);
    node->value = (uint64_t)symbol->value;
    node->symbol = symbol;
    node->type = symbol->type;
    accel__parse_note_name(parser, symbol, token);
    return node;
}

static accel__node *parse_call(accel__parser *parser, const accel__token *name)
{
    accel__node *args = NULL;
    accel__node **end = &args;
    accel__parse_expect(parser, "(");
    if (!accel__parse_at(parser, ")"))
        do {
            *end = accel__parse_assignment(parser);
            end = &(*end)->next;
        } while (accel__parse_accept(parser, ","));
    accel__parse_expect(parser, ")");
    return accel__check_call(parser, name, args);
}

static accel__node *parse_primary(accel__parser *parser)
{
    const accel__token *token = accel__parse_next(parser);
    switch (token->kind) {
    case ACCEL__TOKEN_NUMBER:
    case ACCEL__TOKEN_CHARACTER:
        return parse_literal(parser, token);
    case ACCEL__TOKEN_IDENTIFIER:
        if (accel__parse_is_reserved(token))
            break;
        return accel__parse_at(parser, "(") ? parse_call(parser, token) : name_node(parser, token);
    case ACCEL__TOKEN_STRING:
        accel__parse_fail_at(parser, token, "strings are not part of the kernel language");
    case ACCEL__TOKEN_END:
        accel__parse_fail_at(parser, token, "expected an expression before the end of the source");
    default:
        break;
    }
    if (accel__token_has(token, "(")) {
        accel__node *inner = accel__parse_expression(parser);
        accel__parse_expect(parser, ")");
        return inner;
    }
    accel__parse_fail_at(parser, token, "expected an expression before '%.*s'", (int)token->size,
                         token->text);
}

/* Which lanes "xyzw", "s01af", "lo", "hi", "even" or "odd" name; 0: none. */
static unsigned swizzle_lanes(const accel__token *name, unsigned count, uint8_t lanes[16])
{
    const unsigned whole = count == 3 ? 4 : count;
    const bool lo = accel__token_has(name, "lo");
    const bool even = accel__token_has(name, "even");
    const bool odd = accel__token_has(name, "odd");
    if (lo || even || odd || accel__token_has(name, "hi")) {
        for (unsigned i = 0; i < whole / 2; i++)
            lanes[i] = (uint8_t)(lo ? i : even ? 2 * i : odd ? 2 * i + 1 : whole / 2 + i);
        return whole / 2;
    }
    static const char letters[] = "xyzw";
    const bool numbered = name->size > 1 && (name->text[0] | 32) == 's';
    const unsigned named = name->size - (numbered ? 1 : 0);
    if (named > 16)
        return 0;
    for (unsigned i = 0; i < named; i++) {
        const char c = name->text[i + (numbered ? 1 : 0)];
        const char *letter = strchr(letters, c);
        if (numbered ? !isxdigit((unsigned char)c) : letter == NULL)
            return 0;
        lanes[i] = (uint8_t)(numbered ? digit_value(c) : (unsigned)(letter - letters));
        if (lanes[i] >= count)
            return 0;
    }
    return named;
}

static accel__node *swizzle(accel__parser *parser, accel__node *vector, const accel__token *name)
{
    accel__node *node = accel__parse_node(parser, ACCEL__NODE_SWIZZLE, name);
    const unsigned count = swizzle_lanes(name, (unsigned)vector->type->count, node->lanes);
    if (count != 1 && count != 2 && count != 3 && count != 4 && count != 8 && count != 16)
        accel__parse_fail_at(parser, name, "'%.*s' names no lanes of %s", (int)name->size,
                             name->text, accel__check_describe(parser, vector->type));
    node->a = vector;
    node->value = count;
    node->depth = (uint16_t)(vector->depth + 1);
    accel__type *type = accel__parse_type(parser, ACCEL__TYPE_VECTOR, vector->type->base);
    type->count = count;
    node->type = accel__parse_qualified(parser, count == 1 ? vector->type->base : type,
                                        vector->type->qualifiers,
                                        (accel__space)vector->type->space);
    return node;
}

static accel__node *member(accel__parser *parser, accel__node *object, bool arrow)
{
    const accel__token *name = accel__parse_next(parser);
    const accel__type *type = object->type;
    if (name->kind != ACCEL__TOKEN_IDENTIFIER)
        accel__parse_fail_at(parser, name, "expected the name of a field");
    if (arrow) {
        type = accel__check_decay(parser, type);
        if (type->kind != ACCEL__TYPE_POINTER)
            accel__parse_fail_at(parser, name, "'->' behind something that is no pointer");
        type = type->base;
    } else if (type->kind == ACCEL__TYPE_VECTOR) {
        return swizzle(parser, object, name);
    }
    if (type->kind != ACCEL__TYPE_RECORD || !type->record->complete)
        accel__parse_fail_at(parser, name, "'%.*s' asked of something that is no struct",
                             (int)name->size, name->text);
    const accel__field *field = type->record->fields;
    while (field != NULL &&
           (strlen(field->name) != name->size || memcmp(field->name, name->text, name->size) != 0))
        field = field->next;
    if (field == NULL)
        accel__parse_fail_at(parser, name, "no field '%.*s' in %s", (int)name->size, name->text,
                             accel__check_describe(parser, type));
    accel__node *node = accel__parse_node(parser, ACCEL__NODE_MEMBER, name);
    node->a = object;
    node->flag = arrow;
    node->field = field;
    node->depth = (uint16_t)(object->depth + 1);
    node->type = accel__parse_qualified(parser, field->type, type->qualifiers,
                                        (accel__space)type->space);
    return node;
}

accel__node *accel__parse_postfix(accel__parser *parser)
{
    accel__node *node = parse_primary(parser);
    for (;;) {
        const accel__token *token = accel__parse_peek(parser);
        if (node->depth > 1000)
            accel__parse_fail_at(parser, token, "this expression is too long");
        if (accel__parse_accept(parser, "[")) {
            accel__node *index = accel__parse_expression(parser);
            accel__parse_expect(parser, "]");
            node = accel__check_index(parser, token, node, index);
        } else if (accel__parse_accept(parser, ".")) {
            node = member(parser, node, false);
        } else if (accel__parse_accept(parser, "->")) {
            node = member(parser, node, true);
        } else if (accel__token_has(token, "++") || accel__token_has(token, "--")) {
            accel__parse_next(parser);
            node = accel__check_step(parser, token, node, true);
        } else if (accel__token_has(token, "(")) {
            accel__parse_fail_at(parser, token, "a call of something that is no function's name");
        } else {
            return node;
        }
    }
}
