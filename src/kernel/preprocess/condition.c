/* condition.c: the expression of #if: 64-bit integers, signed or unsigned, with C's
 * operators, precedence and conversions. What is not evaluated (the other side of ||, && and ?:) is
 * still parsed, but may divide by zero. */
#include <string.h>

#include "kernel/preprocess/internal.h"

typedef struct value {
    uint64_t bits;
    bool is_unsigned;
} value;

typedef struct evaluation {
    accel__preprocessor *pp;
    const accel__token *directive;
    accel__token_list list;
    size_t at;
    uint32_t depth;       /* of nesting, bounded for the stack's sake */
    uint32_t unevaluated; /* > 0: the value does not matter */
    bool failed;
} evaluation;

static value fail(evaluation *now, const char *message)
{
    if (!now->failed)
        accel__pp_error(now->pp, now->directive, "#%.*s: %s", (int)now->directive->size,
                        now->directive->text, message);
    now->failed = true;
    now->at = now->list.count;
    return (value){0};
}

static const accel__token *peek(const evaluation *now)
{
    return now->at < now->list.count ? &now->list.tokens[now->at] : NULL;
}

static bool accept(evaluation *now, const char *punctuator)
{
    const accel__token *token = peek(now);
    if (token == NULL || !accel__token_is(token, punctuator))
        return false;
    now->at++;
    return true;
}

static value truth(bool is_true)
{
    return (value){.bits = is_true};
}

/* ---- constants ---- */

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* u, l and ll in any order and case: the suffix of an integer. */
static bool read_suffix(const char *text, uint32_t size, bool *out_unsigned)
{
    static const char *const suffixes[] = {"", "u", "l", "ul", "lu", "ll", "ull", "llu"};
    char lower[4] = {0};
    if (size > 3)
        return false;
    for (uint32_t i = 0; i < size; i++)
        lower[i] = (char)(text[i] | 0x20);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (strcmp(lower, suffixes[i]) == 0) {
            *out_unsigned = strchr(lower, 'u') != NULL;
            return true;
        }
    return false;
}

static value read_number(evaluation *now, const accel__token *token)
{
    const char *text = token->text;
    uint32_t at = 0;
    uint64_t base = 10;
    if (token->size > 1 && text[0] == '0') {
        const char mark = (char)(text[1] | 0x20);
        base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
        at = base == 8 ? 1 : 2;
    }
    const uint32_t first = at;
    value result = {0};
    for (; at < token->size && (uint64_t)digit_value(text[at]) < base; at++) {
        const uint64_t digit = (uint64_t)digit_value(text[at]);
        if (result.bits > (UINT64_MAX - digit) / base)
            return fail(now, "a number is too large");
        result.bits = result.bits * base + digit;
    }
    if ((at == first && base != 8) ||
        !read_suffix(text + at, token->size - at, &result.is_unsigned))
        return fail(now, "a number is no integer");
    result.is_unsigned |= result.bits > INT64_MAX;
    return result;
}

/* The character behind a backslash, or -1. */
static int simple_escape(char c)
{
    static const char names[] = "abfnrtv\\'\"?";
    static const char values[] = "\a\b\f\n\r\t\v\\'\"?";
    const char *found = c != '\0' ? strchr(names, c) : NULL;
    return found != NULL ? values[found - names] : -1;
}

/* \123 and \x7f, up to a byte. -1: something else. */
static int numeric_escape(const char *text, uint32_t size)
{
    const bool is_hex = text[0] == 'x';
    const int base = is_hex ? 16 : 8;
    int number = 0;
    uint32_t at = is_hex ? 1 : 0;
    if (size == at || (!is_hex && size > 3))
        return -1;
    for (; at < size; at++) {
        if (digit_value(text[at]) >= base || number > 255)
            return -1;
        number = number * base + digit_value(text[at]);
    }
    return number <= 255 ? number : -1;
}

static value read_character(evaluation *now, const accel__token *token)
{
    const char *text = token->text + 1;
    const uint32_t size = token->size - 2;
    int c = -1;
    if (size == 1)
        c = (unsigned char)text[0];
    else if (size == 2 && text[0] == '\\' && simple_escape(text[1]) >= 0)
        c = simple_escape(text[1]);
    else if (size > 1 && text[0] == '\\')
        c = numeric_escape(text + 1, size - 1);
    if (c < 0)
        return fail(now, "a character constant must be one character");
    return (value){.bits = (uint64_t)(int64_t)(signed char)c};
}

/* ---- operators ---- */

static value parse_conditional(evaluation *now);

static value parse_primary(evaluation *now)
{
    const accel__token *token = peek(now);
    if (token == NULL)
        return fail(now, "an operand is missing at the end");
    now->at++;
    switch (token->kind) {
    case ACCEL__TOKEN_NUMBER:
        return read_number(now, token);
    case ACCEL__TOKEN_CHARACTER:
        return read_character(now, token);
    case ACCEL__TOKEN_IDENTIFIER:
        return truth(false);
    default:
        break;
    }
    if (!accel__token_is(token, "("))
        return fail(now, "this is no integer expression");
    const value inner = parse_conditional(now);
    if (!now->failed && !accept(now, ")"))
        return fail(now, "\")\" is missing");
    return inner;
}

static value parse_unary(evaluation *now)
{
    if (++now->depth > ACCEL__LIMIT_CALL_DEPTH)
        return fail(now, "the expression is nested too deeply");
    value result;
    if (accept(now, "-")) {
        result = parse_unary(now);
        result.bits = 0 - result.bits;
    } else if (accept(now, "+")) {
        result = parse_unary(now);
    } else if (accept(now, "~")) {
        result = parse_unary(now);
        result.bits = ~result.bits;
    } else if (accept(now, "!")) {
        result = truth(parse_unary(now).bits == 0);
    } else {
        result = parse_primary(now);
    }
    now->depth--;
    return result;
}

typedef struct binary_operator {
    const char *text;
    int precedence; /* higher binds tighter */
} binary_operator;

static const binary_operator operations[] = {
    {"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6},
    {"!=", 6}, {"<", 7},  {">", 7}, {"<=", 7}, {">=", 7}, {"<<", 8},
    {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10},
};

static const binary_operator *peek_operation(const evaluation *now)
{
    const accel__token *token = peek(now);
    for (size_t i = 0; token != NULL && i < sizeof operations / sizeof operations[0]; i++)
        if (accel__token_is(token, operations[i].text))
            return &operations[i];
    return NULL;
}

static value divide(evaluation *now, value left, value right, bool want_rest)
{
    const bool is_unsigned = left.is_unsigned || right.is_unsigned;
    value result = {.is_unsigned = is_unsigned};
    if (right.bits == 0)
        return now->unevaluated > 0 ? result : fail(now, "division by zero");
    const int64_t a = (int64_t)left.bits;
    const int64_t b = (int64_t)right.bits;
    if (is_unsigned)
        result.bits = want_rest ? left.bits % right.bits : left.bits / right.bits;
    else if (b == -1) /* INT64_MIN / -1 would trap */
        result.bits = want_rest ? 0 : 0 - left.bits;
    else
        result.bits = (uint64_t)(want_rest ? a % b : a / b);
    return result;
}

static value shift(evaluation *now, value left, value right, bool to_left)
{
    value result = {.is_unsigned = left.is_unsigned};
    if (right.bits > 63)
        return now->unevaluated > 0 ? result : fail(now, "a shift is not in 0 to 63");
    if (to_left)
        result.bits = left.bits << right.bits;
    else if (left.is_unsigned || (left.bits >> 63) == 0)
        result.bits = left.bits >> right.bits;
    else
        result.bits = ~(~left.bits >> right.bits); /* the sign comes in from the left */
    return result;
}

static value compare(const char *text, value left, value right)
{
    const bool is_unsigned = left.is_unsigned || right.is_unsigned;
    const bool less = is_unsigned ? left.bits < right.bits
                                  : (int64_t)left.bits < (int64_t)right.bits;
    const bool equal = left.bits == right.bits;
    if (text[0] == '=')
        return truth(equal);
    if (text[0] == '!')
        return truth(!equal);
    if (text[0] == '<')
        return truth(less || (text[1] == '=' && equal));
    return truth(!less && (text[1] == '=' || !equal));
}

static value apply(evaluation *now, const binary_operator *found, value left, value right)
{
    value result = {.is_unsigned = left.is_unsigned || right.is_unsigned};
    switch (found->precedence) {
    case 3:
        result.bits = left.bits | right.bits;
        return result;
    case 4:
        result.bits = left.bits ^ right.bits;
        return result;
    case 5:
        result.bits = left.bits & right.bits;
        return result;
    case 6:
    case 7:
        return compare(found->text, left, right);
    case 8:
        return shift(now, left, right, found->text[0] == '<');
    case 9:
        result.bits = found->text[0] == '+' ? left.bits + right.bits : left.bits - right.bits;
        return result;
    default:
        break;
    }
    if (found->text[0] != '*')
        return divide(now, left, right, found->text[0] == '%');
    result.bits = left.bits * right.bits;
    return result;
}

/* Operators of at least this precedence; each level recurses at most ten deep. */
static value parse_binary(evaluation *now, int precedence)
{
    value left = parse_unary(now);
    for (;;) {
        const binary_operator *found = peek_operation(now);
        if (found == NULL || found->precedence < precedence)
            return left;
        now->at++;
        const bool is_or = found->precedence == 1;
        const bool is_logical = found->precedence <= 2;
        const bool decided = is_logical && (left.bits != 0) == is_or;
        now->unevaluated += decided;
        const value right = parse_binary(now, found->precedence + 1);
        now->unevaluated -= decided;
        if (now->failed)
            return left;
        left = is_logical ? truth(decided ? is_or : right.bits != 0)
                          : apply(now, found, left, right);
    }
}

static value parse_conditional(evaluation *now)
{
    if (++now->depth > ACCEL__LIMIT_CALL_DEPTH)
        return fail(now, "the expression is nested too deeply");
    const value condition = parse_binary(now, 1);
    value result = condition;
    if (!now->failed && accept(now, "?")) {
        now->unevaluated += condition.bits == 0;
        const value first = parse_conditional(now);
        now->unevaluated -= condition.bits == 0;
        if (!now->failed && !accept(now, ":"))
            return fail(now, "\"?\" without \":\"");
        now->unevaluated += condition.bits != 0;
        const value second = parse_conditional(now);
        now->unevaluated -= condition.bits != 0;
        result = condition.bits != 0 ? first : second;
        result.is_unsigned = first.is_unsigned || second.is_unsigned;
    }
    now->depth--;
    return result;
}

/* ---- the line ---- */

/* Behind "defined": NAME or (NAME), unexpanded. */
static bool read_defined(evaluation *now, accel__token *out_token)
{
    accel__preprocessor *pp = now->pp;
    accel__token name;
    accel__token close = {0};
    accel__expand_read(pp, &name);
    const bool enclosed = accel__token_is(&name, "(");
    if (enclosed) {
        accel__expand_read(pp, &name);
        accel__expand_read(pp, &close);
    }
    if (name.kind != ACCEL__TOKEN_IDENTIFIER || (enclosed && !accel__token_is(&close, ")"))) {
        fail(now, "\"defined\" needs a name");
        return false;
    }
    out_token->kind = ACCEL__TOKEN_NUMBER;
    out_token->text = accel__macro_find(pp, &name) != NULL ? "1" : "0";
    out_token->size = 1;
    return true;
}

/* The line with macros replaced and `defined` answered into now->list. */
static bool expand_line(evaluation *now)
{
    accel__preprocessor *pp = now->pp;
    if (!accel__expand_begin_isolated(pp, pp->line.tokens, pp->line.count))
        return false;
    bool good = true;
    while (good) {
        accel__token token;
        accel__expand_next(pp, &token);
        if (token.kind == ACCEL__TOKEN_END)
            break;
        if (accel__token_is(&token, "defined"))
            good = read_defined(now, &token);
        good = good && accel__pp_add_token(pp, &now->list, &token);
    }
    accel__expand_end_isolated(pp);
    return good && !pp->fatal;
}

bool accel__condition_evaluate(accel__preprocessor *pp, const accel__token *directive)
{
    evaluation now = {.pp = pp, .directive = directive};
    const accel__call_state outer = pp->call_state;
    pp->call_state = ACCEL__CALL_NONE;
    value result = {0};
    if (expand_line(&now))
        result = parse_conditional(&now);
    if (!now.failed && !pp->fatal && now.at < now.list.count)
        fail(&now, "something stands behind the expression");
    pp->call_state = outer;
    accel__pp_release_tokens(pp, &now.list);
    return !now.failed && !pp->fatal && result.bits != 0;
}
