/* type.c: type names, specifiers, attributes and declarators. */
#include <string.h>

#include "kernel/parse/parse.h"

enum { MOST_TYPE_DEPTH = 100 };

static const struct {
    const char *name;
    uint8_t kind;
    bool by_size_t;
} simple_types[] = {
    {"void", ACCEL__TYPE_VOID, false},     {"bool", ACCEL__TYPE_BOOL, false},
    {"_Bool", ACCEL__TYPE_BOOL, false},    {"char", ACCEL__TYPE_CHAR, false},
    {"uchar", ACCEL__TYPE_UCHAR, false},   {"short", ACCEL__TYPE_SHORT, false},
    {"ushort", ACCEL__TYPE_USHORT, false}, {"int", ACCEL__TYPE_INT, false},
    {"uint", ACCEL__TYPE_UINT, false},     {"long", ACCEL__TYPE_LONG, false},
    {"ulong", ACCEL__TYPE_ULONG, false},   {"half", ACCEL__TYPE_HALF, false},
    {"float", ACCEL__TYPE_FLOAT, false},   {"double", ACCEL__TYPE_DOUBLE, false},
    {"size_t", ACCEL__TYPE_ULONG, true},   {"ptrdiff_t", ACCEL__TYPE_LONG, true},
    {"intptr_t", ACCEL__TYPE_LONG, true},  {"uintptr_t", ACCEL__TYPE_ULONG, true},
};

static const char *const other_keywords[] = {
    "const",       "volatile",  "restrict",     "__restrict",    "static",       "inline",
    "__inline",    "extern",    "register",     "auto",          "typedef",      "struct",
    "union",       "enum",      "unsigned",     "signed",        "if",           "else",
    "for",         "while",     "do",           "switch",        "case",         "default",
    "break",       "continue",  "return",       "goto",          "sizeof",       "__kernel",
    "kernel",      "__global",  "global",       "__constant",    "constant",     "__local",
    "local",       "__private", "private",      "__attribute__", "__generic",    "generic",
    "__read_only", "read_only", "__write_only", "write_only",    "__read_write", "read_write",
    "pipe",
};

static const char *const refused_types[] = {
    "image1d_t",       "image1d_buffer_t", "image1d_array_t", "image2d_t",     "image2d_array_t",
    "image2d_depth_t", "image3d_t",        "sampler_t",       "event_t",       "queue_t",
    "ndrange_t",       "clk_event_t",      "reserve_id_t",    "pipe",          "quad",
    "complex",         "_Complex",         "imaginary",       "atomic_int",    "atomic_uint",
    "atomic_long",     "atomic_ulong",     "atomic_float",    "atomic_double", "atomic_flag",
    "__generic",       "generic",          "__read_only",     "read_only",     "__write_only",
    "write_only",      "__read_write",     "read_write",      "__int128",
};

static bool is_in(const char *const *names, size_t count, const accel__token *token)
{
    for (size_t i = 0; i < count; i++)
        if (accel__token_has(token, names[i]))
            return true;
    return false;
}

static const char *refused_type(const accel__token *token)
{
    for (size_t i = 0; i < sizeof refused_types / sizeof refused_types[0]; i++)
        if (accel__token_has(token, refused_types[i]))
            return refused_types[i];
    return NULL;
}

static int find_simple(const char *name, size_t size)
{
    for (int i = 0; i < (int)(sizeof simple_types / sizeof simple_types[0]); i++)
        if (strncmp(simple_types[i].name, name, size) == 0 && simple_types[i].name[size] == '\0')
            return i;
    return -1;
}

/* "float4": the scalar and the lanes; 0 where the name is not of that form. */
static unsigned split_vector_name(const char *name, size_t size, accel__type_kind *out_kind)
{
    unsigned lanes = 0;
    size_t letters = size;
    while (letters > 0 && name[letters - 1] >= '0' && name[letters - 1] <= '9' &&
           size - letters < 2)
        letters--;
    for (size_t i = letters; i < size; i++)
        lanes = lanes * 10 + (unsigned)(name[i] - '0');
    if (lanes != 2 && lanes != 3 && lanes != 4 && lanes != 8 && lanes != 16)
        return 0;
    const int found = find_simple(name, letters);
    if (found < 0 || simple_types[found].kind < ACCEL__TYPE_CHAR || simple_types[found].by_size_t)
        return 0;
    *out_kind = (accel__type_kind)simple_types[found].kind;
    return lanes;
}

accel__type *accel__parse_type(accel__parser *parser, accel__type_kind kind,
                               const accel__type *base)
{
    const unsigned depth = base != NULL ? base->depth + 1u : 0;
    if (depth > MOST_TYPE_DEPTH) /* types are walked by recursion */
        accel__parse_fail_at(parser, accel__parse_peek(parser),
                             "a type of more than %d pointers and arrays", MOST_TYPE_DEPTH);
    accel__type *type = accel__parse_take(parser, sizeof *type);
    type->kind = (uint8_t)kind;
    type->depth = (uint8_t)depth;
    type->base = base;
    return type;
}

const accel__type *accel__parse_named_type(accel__parser *parser, const char *name, size_t size)
{
    const int found = find_simple(name, size);
    if (found >= 0)
        return accel__type_scalar((accel__type_kind)simple_types[found].kind);
    accel__type_kind kind = ACCEL__TYPE_VOID;
    const unsigned lanes = split_vector_name(name, size, &kind);
    if (lanes == 0)
        return NULL;
    accel__type *type = accel__parse_type(parser, ACCEL__TYPE_VECTOR, accel__type_scalar(kind));
    type->count = lanes;
    return type;
}

bool accel__parse_is_reserved(const accel__token *token)
{
    accel__type_kind kind;
    return token->kind == ACCEL__TOKEN_IDENTIFIER &&
           (find_simple(token->text, token->size) >= 0 ||
            split_vector_name(token->text, token->size, &kind) != 0 ||
            is_in(other_keywords, sizeof other_keywords / sizeof other_keywords[0], token) ||
            refused_type(token) != NULL);
}

bool accel__parse_starts_type(accel__parser *parser, const accel__token *token)
{
    static const char *const starts[] = {
        "const",    "volatile", "restrict",  "static",   "inline",        "__inline",   "extern",
        "register", "auto",     "typedef",   "struct",   "union",         "enum",       "unsigned",
        "signed",   "__kernel", "kernel",    "__global", "global",        "__constant", "constant",
        "__local",  "local",    "__private", "private",  "__attribute__",
    };
    if (token->kind != ACCEL__TOKEN_IDENTIFIER)
        return false;
    const accel__symbol *symbol = accel__parse_find(parser, token);
    if (symbol != NULL)
        return symbol->kind == ACCEL__SYMBOL_TYPEDEF;
    accel__type_kind kind;
    return is_in(starts, sizeof starts / sizeof starts[0], token) ||
           find_simple(token->text, token->size) >= 0 ||
           split_vector_name(token->text, token->size, &kind) != 0 || refused_type(token) != NULL;
}

const accel__type *accel__parse_qualified(accel__parser *parser, const accel__type *type,
                                          uint8_t qualifiers, accel__space space)
{
    if (type->kind == ACCEL__TYPE_ARRAY) {
        accel__type *array = accel__parse_type(
            parser, ACCEL__TYPE_ARRAY,
            accel__parse_qualified(parser, type->base, qualifiers, space));
        array->count = type->count;
        array->space = (uint8_t)space;
        array->qualifiers = type->qualifiers | qualifiers;
        return array;
    }
    if ((type->qualifiers | qualifiers) == type->qualifiers && type->space == space)
        return type;
    accel__type *copy = accel__parse_take(parser, sizeof *copy);
    *copy = *type;
    copy->qualifiers |= qualifiers;
    copy->space = (uint8_t)space;
    return copy;
}

const accel__type *accel__parse_pointer_to(accel__parser *parser, const accel__type *base)
{
    return accel__parse_type(parser, ACCEL__TYPE_POINTER, base);
}

static uint32_t parse_block_extent(accel__parser *parser)
{
    const accel__token *token = accel__parse_peek(parser);
    const int64_t value = accel__parse_integer_constant(parser, "a work-group size");
    if (value < 1 || value > UINT32_MAX)
        accel__parse_fail_at(parser, token, "a work-group size must be at least 1");
    return (uint32_t)value;
}

static void skip_parentheses(accel__parser *parser)
{
    if (!accel__parse_accept(parser, "("))
        return;
    for (int depth = 1; depth > 0;) {
        const accel__token *token = accel__parse_next(parser);
        if (token->kind == ACCEL__TOKEN_END)
            accel__parse_fail_at(parser, token, "expected ')' before the end of the source");
        depth += accel__token_has(token, "(") ? 1 : accel__token_has(token, ")") ? -1 : 0;
    }
}

static void parse_attribute(accel__parser *parser, accel__specifiers *specifiers)
{
    static const char *const harmless[] = {
        "work_group_size_hint",
        "vec_type_hint",
        "always_inline",
        "noinline",
        "unused",
        "pure",
        "const",
        "__always_inline__",
        "opencl_unroll_hint",
        "nosvm",
    };
    const accel__token *name = accel__parse_next(parser);
    if (accel__token_has(name, "reqd_work_group_size")) {
        accel__parse_expect(parser, "(");
        for (int i = 0; i < 3; i++) {
            if (i > 0)
                accel__parse_expect(parser, ",");
            specifiers->required_block[i] = parse_block_extent(parser);
        }
        accel__parse_expect(parser, ")");
        return;
    }
    if (name->kind != ACCEL__TOKEN_IDENTIFIER ||
        !is_in(harmless, sizeof harmless / sizeof harmless[0], name))
        accel__parse_fail_at(parser, name,
                             "the attribute '%.*s' is not part of the kernel language",
                             (int)name->size, name->text);
    skip_parentheses(parser);
}

void accel__parse_attributes(accel__parser *parser, accel__specifiers *specifiers)
{
    while (accel__parse_accept(parser, "__attribute__")) {
        accel__parse_expect(parser, "(");
        accel__parse_expect(parser, "(");
        while (!accel__parse_at(parser, ")")) {
            parse_attribute(parser, specifiers);
            if (!accel__parse_accept(parser, ","))
                break;
        }
        accel__parse_expect(parser, ")");
        accel__parse_expect(parser, ")");
    }
}

static bool accept_qualifier(accel__parser *parser, uint8_t *qualifiers)
{
    if (accel__parse_accept(parser, "const"))
        *qualifiers |= ACCEL__QUALIFIER_CONST;
    else if (accel__parse_accept(parser, "volatile"))
        *qualifiers |= ACCEL__QUALIFIER_VOLATILE;
    else if (accel__parse_accept(parser, "restrict") || accel__parse_accept(parser, "__restrict"))
        *qualifiers |= ACCEL__QUALIFIER_RESTRICT;
    else
        return false;
    return true;
}

static bool accept_space(accel__parser *parser, accel__specifiers *out, accel__space *space)
{
    static const struct {
        const char *name;
        uint8_t space;
    } spaces[] = {
        {"__global", ACCEL__SPACE_GLOBAL},     {"global", ACCEL__SPACE_GLOBAL},
        {"__constant", ACCEL__SPACE_CONSTANT}, {"constant", ACCEL__SPACE_CONSTANT},
        {"__local", ACCEL__SPACE_LOCAL},       {"local", ACCEL__SPACE_LOCAL},
        {"__private", ACCEL__SPACE_PRIVATE},   {"private", ACCEL__SPACE_PRIVATE},
    };
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++)
        if (accel__parse_at(parser, spaces[i].name)) {
            const accel__token *token = accel__parse_next(parser);
            if (out->has_space && *space != spaces[i].space)
                accel__parse_fail_at(parser, token, "two address spaces for one type");
            *space = (accel__space)spaces[i].space;
            out->has_space = true;
            return true;
        }
    return false;
}

static bool accept_storage(accel__parser *parser, accel__specifiers *out)
{
    if (accel__parse_accept(parser, "__kernel") || accel__parse_accept(parser, "kernel"))
        out->is_kernel = true;
    else if (accel__parse_accept(parser, "static"))
        out->is_static = true;
    else if (accel__parse_accept(parser, "inline") || accel__parse_accept(parser, "__inline"))
        out->is_inline = true;
    else if (accel__parse_accept(parser, "typedef"))
        out->is_typedef = true;
    else if (accel__parse_at(parser, "__attribute__"))
        accel__parse_attributes(parser, out);
    else
        return false;
    return true;
}

/* The signed and unsigned spellings: counts of each word seen. */
typedef struct words {
    int is_unsigned, is_signed, is_short, is_long, is_int, is_char;
} words;

static bool accept_word(accel__parser *parser, words *seen)
{
    const accel__token *token = accel__parse_peek(parser);
    if (accel__token_has(token, "unsigned"))
        seen->is_unsigned++;
    else if (accel__token_has(token, "signed"))
        seen->is_signed++;
    else if (accel__token_has(token, "short"))
        seen->is_short++;
    else if (accel__token_has(token, "long"))
        seen->is_long++;
    else if (accel__token_has(token, "int"))
        seen->is_int++;
    else if (accel__token_has(token, "char"))
        seen->is_char++;
    else
        return false;
    accel__parse_next(parser);
    return true;
}

static const accel__type *type_of_words(accel__parser *parser, const accel__token *token,
                                        const words *seen)
{
    if (seen->is_long > 1)
        accel__parse_fail_at(parser, token,
                             "'long long' is not part of the kernel language; long "
                             "has 64 bits");
    const int sizes = seen->is_short + seen->is_long + seen->is_char;
    if (sizes > 1 || seen->is_unsigned + seen->is_signed > 1 || seen->is_int > 1 ||
        (seen->is_char && seen->is_int))
        accel__parse_fail_at(parser, token, "the words of this type do not go together");
    const int base = seen->is_char    ? ACCEL__TYPE_CHAR
                     : seen->is_short ? ACCEL__TYPE_SHORT
                     : seen->is_long  ? ACCEL__TYPE_LONG
                                      : ACCEL__TYPE_INT;
    return accel__type_scalar((accel__type_kind)(base + (seen->is_unsigned ? 1 : 0)));
}

/* One type specifier that is no word of an integer type; NULL: none stands here. */
static const accel__type *accept_type(accel__parser *parser, accel__specifiers *out)
{
    const accel__token *token = accel__parse_peek(parser);
    if (token->kind != ACCEL__TOKEN_IDENTIFIER)
        return NULL;
    if (accel__parse_accept(parser, "struct"))
        return accel__parse_record(parser, false);
    if (accel__parse_accept(parser, "union"))
        return accel__parse_record(parser, true);
    if (accel__parse_accept(parser, "enum"))
        return accel__parse_enum(parser);
    const accel__symbol *symbol = accel__parse_find(parser, token);
    if (symbol != NULL) {
        if (symbol->kind != ACCEL__SYMBOL_TYPEDEF)
            return NULL;
        accel__parse_next(parser);
        out->by_size_t |= symbol->value != 0;
        return symbol->type;
    }
    const char *refused = refused_type(token);
    if (refused != NULL)
        accel__parse_fail_at(parser, token, "'%s' is not part of the kernel language", refused);
    const accel__type *type = accel__parse_named_type(parser, token->text, token->size);
    if (type == NULL)
        return NULL;
    const int simple = find_simple(token->text, token->size);
    out->by_size_t |= simple >= 0 && simple_types[simple].by_size_t;
    accel__parse_next(parser);
    return type;
}

static void finish_specifiers(accel__parser *parser, accel__specifiers *out,
                              const accel__type *type, uint8_t qualifiers, accel__space space)
{
    const accel__token *token = accel__parse_peek(parser);
    if (type == NULL)
        accel__parse_fail_at(parser, token, "expected a type before '%.*s'", (int)token->size,
                             token->text);
    if (space == ACCEL__SPACE_CONSTANT)
        qualifiers |= ACCEL__QUALIFIER_CONST;
    const accel__type *scalar = type->kind == ACCEL__TYPE_VECTOR ? type->base : type;
    if (scalar->kind == ACCEL__TYPE_DOUBLE)
        parser->program->uses_double = true;
    if (!out->has_space)
        space = (accel__space)type->space;
    out->type = accel__parse_qualified(parser, type, qualifiers, space);
}

void accel__parse_specifiers(accel__parser *parser, accel__specifiers *out)
{
    *out = (accel__specifiers){.token = accel__parse_peek(parser)};
    const accel__type *type = NULL;
    words seen = {0};
    bool any_word = false;
    uint8_t qualifiers = 0;
    accel__space space = ACCEL__SPACE_PRIVATE;
    for (;;) {
        const accel__token *token = accel__parse_peek(parser);
        if (accel__token_has(token, "extern") || accel__token_has(token, "register") ||
            accel__token_has(token, "auto"))
            accel__parse_fail_at(parser, token, "'%.*s' is not part of the kernel language",
                                 (int)token->size, token->text);
        if (accept_qualifier(parser, &qualifiers) || accept_space(parser, out, &space) ||
            accept_storage(parser, out))
            continue;
        if (type == NULL && accept_word(parser, &seen)) {
            any_word = true;
            continue;
        }
        if (type != NULL || any_word)
            break;
        type = accept_type(parser, out);
        if (type == NULL)
            break;
    }
    if (any_word)
        type = type_of_words(parser, out->token, &seen);
    finish_specifiers(parser, out, type, qualifiers, space);
}

static const accel__type *parse_pointers(accel__parser *parser, const accel__type *base)
{
    while (accel__parse_accept(parser, "*")) {
        const accel__type *pointer = accel__parse_pointer_to(parser, base);
        uint8_t qualifiers = 0;
        accel__space space = ACCEL__SPACE_PRIVATE;
        accel__specifiers ignored = {0};
        const accel__token *token = accel__parse_peek(parser);
        while (accept_qualifier(parser, &qualifiers) || accept_space(parser, &ignored, &space))
            ;
        if (space != ACCEL__SPACE_PRIVATE)
            accel__parse_fail_at(parser, token,
                                 "a pointer that lives outside of private memory is not part of "
                                 "the kernel language");
        base = accel__parse_qualified(parser, pointer, qualifiers, ACCEL__SPACE_PRIVATE);
    }
    return base;
}

static const accel__type *parse_array_suffix(accel__parser *parser, const accel__type *element)
{
    if (!accel__parse_at(parser, "["))
        return element;
    const accel__token *token = accel__parse_next(parser);
    int64_t count = 0;
    if (!accel__parse_at(parser, "]")) {
        count = accel__parse_integer_constant(parser, "the size of an array");
        if (count < 1 || count > INT32_MAX)
            accel__parse_fail_at(parser, token, "the size of an array must be 1 to 2147483647");
    }
    accel__parse_expect(parser, "]");
    accel__parse_enter(parser);
    element = parse_array_suffix(parser, element);
    accel__parse_leave(parser);
    if (element->kind == ACCEL__TYPE_ARRAY && element->count == 0)
        accel__parse_fail_at(parser, token, "only the first size of an array may be left out");
    if (element->kind == ACCEL__TYPE_VOID)
        accel__parse_fail_at(parser, token, "an array of void");
    accel__type *array = accel__parse_type(parser, ACCEL__TYPE_ARRAY, element);
    array->count = (uint64_t)count;
    array->space = element->space;
    array->qualifiers = element->qualifiers & ACCEL__QUALIFIER_CONST;
    if (accel__type_size(array) > INT32_MAX ||
        (element->kind == ACCEL__TYPE_ARRAY && (uint64_t)count * element->count > INT32_MAX))
        accel__parse_fail_at(parser, token, "this array is too large");
    return array;
}

/* "(*name)[4]": what is inside the parentheses applies to what follows them. */
static void parse_nested(accel__parser *parser, const accel__type *base, accel__declarator *out)
{
    const accel__token *open = accel__parse_expect(parser, "(");
    if (accel__parse_at(parser, "("))
        accel__parse_fail_at(parser, open, "this declarator is too involved");
    accel__type *placeholder = accel__parse_take(parser, sizeof *placeholder);
    placeholder->kind = ACCEL__TYPE_INT;
    accel__declarator inner;
    accel__parse_enter(parser);
    accel__parse_declarator(parser, placeholder, &inner);
    accel__parse_leave(parser);
    accel__parse_expect(parser, ")");
    if (accel__parse_at(parser, "("))
        accel__parse_fail_at(parser, open, "function pointers are not part of the kernel language");
    for (const accel__type *at = inner.type; at != placeholder; at = at->base)
        if (at->kind == ACCEL__TYPE_ARRAY)
            accel__parse_fail_at(parser, open, "this declarator is too involved");
    *placeholder = *parse_array_suffix(parser, base);
    *out = inner;
}

void accel__parse_declarator(accel__parser *parser, const accel__type *base, accel__declarator *out)
{
    base = parse_pointers(parser, base);
    *out = (accel__declarator){base, NULL};
    if (accel__parse_at(parser, "(")) {
        const accel__token *second = accel__parse_peek_second(parser);
        if (accel__token_has(second, "*") || accel__token_has(second, "(") ||
            (second->kind == ACCEL__TOKEN_IDENTIFIER &&
             !accel__parse_starts_type(parser, second))) {
            parse_nested(parser, base, out);
            return;
        }
    }
    const accel__token *token = accel__parse_peek(parser);
    if (token->kind == ACCEL__TOKEN_IDENTIFIER && !accel__parse_is_reserved(token))
        out->name = accel__parse_next(parser);
    out->type = parse_array_suffix(parser, base);
}

const accel__type *accel__parse_type_name(accel__parser *parser)
{
    accel__specifiers specifiers;
    accel__parse_specifiers(parser, &specifiers);
    if (specifiers.is_typedef || specifiers.is_kernel || specifiers.is_static)
        accel__parse_fail_at(parser, specifiers.token, "expected a type");
    accel__declarator declarator;
    accel__parse_declarator(parser, specifiers.type, &declarator);
    if (declarator.name != NULL)
        accel__parse_fail_at(parser, declarator.name, "unexpected name '%.*s' in a type",
                             (int)declarator.name->size, declarator.name->text);
    return declarator.type;
}
