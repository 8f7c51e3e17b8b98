/* npy_header.c: reads the Python dictionary in a .npy header: the three keys, each once, in any
 * order, and nothing else. See npy_header.h.
 *
 * Invariant: the cursor never passes its end; there is no NUL to rely on. */
#include "cli/npy_header.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct cursor {
    const char *at;
    const char *end;
    accel__npy_problem *problem;
} cursor;

/* A piece of the header, not NUL-terminated. */
typedef struct piece {
    const char *text;
    size_t size;
} piece;

enum { KEY_DESCR = 1, KEY_ORDER = 2, KEY_SHAPE = 4, KEY_ALL = 7 };

static void print_problem(accel__npy_problem *problem, const char *format, va_list list)
{
    vsnprintf(problem->text, sizeof problem->text, format, list);
}

bool accel__npy_refuse(accel__npy_problem *problem, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_problem(problem, format, list);
    va_end(list);
    return false;
}

static bool refuse_damaged(cursor *c, const char *what)
{
    return accel__npy_refuse(c->problem, "damaged .npy header: %s; save the array again", what);
}

static void skip_space(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || (*c->at >= '\t' && *c->at <= '\r')))
        c->at++;
}

static bool take(cursor *c, char wanted)
{
    skip_space(c);
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static bool peek(cursor *c, char wanted)
{
    skip_space(c);
    return c->at < c->end && *c->at == wanted;
}

static bool take_word(cursor *c, const char *word)
{
    size_t size = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < size || memcmp(c->at, word, size) != 0)
        return false;
    c->at += size;
    return true;
}

static bool take_string(cursor *c, piece *out_piece)
{
    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return false;
    const char *close = memchr(c->at + 1, *c->at, (size_t)(c->end - c->at - 1));
    if (close == NULL)
        return false;
    *out_piece = (piece){c->at + 1, (size_t)(close - c->at - 1)};
    c->at = close + 1;
    return true;
}

static bool piece_is(piece p, const char *text)
{
    return p.size == strlen(text) && memcmp(p.text, text, p.size) == 0;
}

/* The number that follows the kind in a descr; -1 where it is none of up to four digits. */
static int item_size(piece digits)
{
    int value = 0;
    if (digits.size == 0 || digits.size > 4)
        return -1;
    for (size_t i = 0; i < digits.size; i++) {
        if (digits.text[i] < '0' || digits.text[i] > '9')
            return -1;
        value = value * 10 + (digits.text[i] - '0');
    }
    return value;
}

static accel_data_type find_type(char kind, int size)
{
    static const struct {
        char kind;
        int size;
        accel_data_type type;
    } rows[] = {
        {'b', 1, ACCEL_DATA_TYPE_BOOL}, {'i', 1, ACCEL_DATA_TYPE_I8},
        {'i', 2, ACCEL_DATA_TYPE_I16},  {'i', 4, ACCEL_DATA_TYPE_I32},
        {'i', 8, ACCEL_DATA_TYPE_I64},  {'u', 1, ACCEL_DATA_TYPE_U8},
        {'u', 2, ACCEL_DATA_TYPE_U16},  {'u', 4, ACCEL_DATA_TYPE_U32},
        {'u', 8, ACCEL_DATA_TYPE_U64},  {'f', 2, ACCEL_DATA_TYPE_F16},
        {'f', 4, ACCEL_DATA_TYPE_F32},  {'f', 8, ACCEL_DATA_TYPE_F64},
        {'c', 8, ACCEL_DATA_TYPE_C64},  {'c', 16, ACCEL_DATA_TYPE_C128},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].kind == kind && rows[i].size == size)
            return rows[i].type;
    return ACCEL_DATA_TYPE_NONE;
}

/* What a kind letter means that no kernel can take; NULL for the numeric ones and for rubbish. */
static const char *foreign_kind(char kind)
{
    switch (kind) {
    case 'O':
        return "Python objects";
    case 'M':
    case 'm':
        return "dates or time spans (datetime)";
    case 'U':
    case 'S':
    case 'a':
        return "text";
    case 'V':
        return "structured or raw records";
    default:
        return NULL;
    }
}

static bool parse_descr(cursor *c, accel_data_type *out_type)
{
    piece descr;
    if (peek(c, '[') || peek(c, '('))
        return accel__npy_refuse(c->problem, "holds structured records; save one field of it as an "
                                             "array of its own");
    if (!take_string(c, &descr))
        return refuse_damaged(c, "'descr' is not a string");
    int shown = descr.size < 40 ? (int)descr.size : 40;
    piece rest = descr;
    char order = '=';
    if (rest.size > 0 && strchr("<>=|", rest.text[0]) != NULL && rest.text[0] != '\0') {
        order = rest.text[0];
        rest = (piece){rest.text + 1, rest.size - 1};
    }
    char kind = rest.size > 0 ? rest.text[0] : '\0';
    if (foreign_kind(kind) != NULL)
        return accel__npy_refuse(c->problem, "holds %s (%.*s); only numbers can be used",
                                 foreign_kind(kind), shown, descr.text);
    int size = rest.size > 0 ? item_size((piece){rest.text + 1, rest.size - 1}) : -1;
    *out_type = find_type(kind, size);
    if (*out_type == ACCEL_DATA_TYPE_NONE)
        return accel__npy_refuse(c->problem,
                                 "holds elements of a type that accel does not know "
                                 "(%.*s); convert it with astype() first",
                                 shown, descr.text);
    if (order == '>' && size > 1)
        return accel__npy_refuse(c->problem,
                                 "holds big-endian numbers (%.*s); convert it with "
                                 "astype('<%c%d') first",
                                 shown, descr.text, kind, size);
    return true;
}

static bool parse_order(cursor *c, bool *out_fortran)
{
    *out_fortran = take_word(c, "True");
    if (!*out_fortran && !take_word(c, "False"))
        return refuse_damaged(c, "'fortran_order' is neither True nor False");
    return true;
}

static bool parse_dimension(cursor *c, uint64_t *out_value)
{
    skip_space(c);
    if (c->at < c->end && *c->at == '-')
        return refuse_damaged(c, "a negative dimension");
    const char *first = c->at;
    uint64_t value = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        uint64_t digit = (uint64_t)(*c->at - '0');
        if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, digit, &value) || value > INT64_MAX)
            return refuse_damaged(c, "a dimension overflows 63 bits");
    }
    if (c->at == first)
        return refuse_damaged(c, "'shape' is not a tuple of whole numbers");
    if (c->at < c->end && *c->at == 'L') /* written by Python 2 */
        c->at++;
    *out_value = value;
    return true;
}

static bool parse_shape(cursor *c, accel__npy_layout *layout)
{
    bool comma = true;
    if (!take(c, '('))
        return refuse_damaged(c, "'shape' is not a tuple of whole numbers");
    while (!take(c, ')')) {
        if (!comma)
            return refuse_damaged(c, "'shape' is not a tuple of whole numbers");
        if (layout->dimension_count == ACCEL__NPY_DIMENSION_MAX)
            return accel__npy_refuse(c->problem, "has more than %d dimensions; reshape it",
                                     ACCEL__NPY_DIMENSION_MAX);
        if (!parse_dimension(c, &layout->shape[layout->dimension_count]))
            return false;
        layout->dimension_count++;
        comma = take(c, ',');
    }
    /* "(3)" is a number in Python, not a tuple. */
    if (layout->dimension_count == 1 && !comma)
        return refuse_damaged(c, "'shape' is not a tuple of whole numbers");
    return true;
}

static bool parse_entry(cursor *c, unsigned *seen, accel__npy_layout *layout)
{
    piece key;
    if (!take_string(c, &key) || !take(c, ':'))
        return refuse_damaged(c, "a key is missing");
    unsigned which = piece_is(key, "descr")           ? KEY_DESCR
                     : piece_is(key, "fortran_order") ? KEY_ORDER
                     : piece_is(key, "shape")         ? KEY_SHAPE
                                                      : 0;
    if (which == 0)
        return refuse_damaged(c, "an unknown key");
    if ((*seen & which) != 0)
        return refuse_damaged(c, "a key stands in it twice");
    *seen |= which;
    if (which == KEY_DESCR)
        return parse_descr(c, &layout->type);
    if (which == KEY_ORDER)
        return parse_order(c, &layout->fortran_order);
    return parse_shape(c, layout);
}

bool accel__npy_parse_dictionary(const char *text, size_t size, accel__npy_layout *out_layout,
                                 accel__npy_problem *problem)
{
    cursor c = {text, text + size, problem};
    unsigned seen = 0;
    bool comma = true;
    if (!take(&c, '{'))
        return refuse_damaged(&c, "it is no dictionary");
    while (!take(&c, '}')) {
        if (!comma)
            return refuse_damaged(&c, "a comma is missing");
        if (!parse_entry(&c, &seen, out_layout))
            return false;
        comma = take(&c, ',');
    }
    if (seen != KEY_ALL)
        return refuse_damaged(&c, "'descr', 'fortran_order' or 'shape' is missing");
    skip_space(&c);
    if (c.at != c.end)
        return refuse_damaged(&c, "something follows the dictionary");
    return true;
}
