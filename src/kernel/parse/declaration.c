/* declaration.c: variables, functions, kernels and what else stands at program scope. */
#include <string.h>

#include "kernel/parse/parse.h"

static accel__node *parse_braces(accel__parser *parser, const accel__type *type)
{
    accel__node *list = accel__parse_node(parser, ACCEL__NODE_LIST,
                                          accel__parse_expect(parser, "{"));
    list->type = type;
    const accel__field *field = type->kind == ACCEL__TYPE_RECORD ? type->record->fields : NULL;
    accel__node **end = &list->a;
    accel__parse_enter(parser);
    while (!accel__parse_at(parser, "}")) {
        const accel__token *token = accel__parse_peek(parser);
        if (accel__token_has(token, ".") || accel__token_has(token, "["))
            accel__parse_fail_at(parser, token,
                                 "designated initialisers are not part of the kernel language");
        const accel__type *element = type->kind == ACCEL__TYPE_ARRAY ? type->base
                                     : field != NULL                 ? field->type
                                     : accel__type_is_scalar(type)   ? type
                                                                     : NULL;
        if (element == NULL || (list->value > 0 && accel__type_is_scalar(type)) ||
            (type->kind == ACCEL__TYPE_ARRAY && type->count != 0 && list->value >= type->count))
            accel__parse_fail_at(parser, token, "more values than %s holds",
                                 accel__check_describe(parser, type));
        if (accel__token_has(token, "{")) {
            *end = parse_braces(parser, element);
        } else {
            *end = accel__parse_assignment(parser);
            accel__check_convertible(parser, element, *end, "an element");
        }
        end = &(*end)->next;
        list->value++;
        field = field == NULL || type->record->is_union ? NULL : field->next;
        if (!accel__parse_accept(parser, ","))
            break;
    }
    accel__parse_expect(parser, "}");
    accel__parse_leave(parser);
    return list;
}

static accel__node *parse_initializer(accel__parser *parser, accel__symbol *symbol)
{
    const accel__type *type = symbol->type;
    if (accel__parse_at(parser, "{")) {
        accel__node *list = parse_braces(parser, type);
        if (type->kind == ACCEL__TYPE_ARRAY && type->count == 0) {
            if (list->value == 0)
                accel__parse_fail(parser, list->file, list->line, "an array without elements");
            accel__type *array = accel__parse_take(parser, sizeof *array);
            *array = *type;
            array->count = list->value;
            symbol->type = array;
            list->type = array;
        }
        return list;
    }
    accel__node *value = accel__parse_assignment(parser);
    if (type->kind == ACCEL__TYPE_ARRAY)
        accel__parse_fail(parser, value->file, value->line, "an array needs '{' after '='");
    accel__check_convertible(parser, type, value, "what is initialised");
    return value;
}

static _Noreturn void fail_name(accel__parser *parser, const accel__token *name, const char *text)
{
    accel__parse_fail_at(parser, name, text, (int)name->size, name->text);
}

static _Noreturn void fail_missing_name(accel__parser *parser)
{
    const accel__token *token = accel__parse_peek(parser);
    if (accel__parse_is_reserved(token))
        fail_name(parser, token, "'%.*s' is a word of the kernel language and cannot be a name");
    accel__parse_fail_at(parser, token, "expected a name");
}

static void check_variable_type(accel__parser *parser, const accel__token *name,
                                const accel__type *type)
{
    const accel__type *element = type;
    while (element->kind == ACCEL__TYPE_ARRAY)
        element = element->base;
    if (element->kind == ACCEL__TYPE_HALF)
        accel__parse_fail_at(parser, name,
                             "half arithmetic is not part of the kernel language; use pointers to "
                             "half with vload_half and vstore_half");
    if (accel__type_size(element) == 0)
        fail_name(parser, name, "'%.*s' has a type without size");
    if (type->kind == ACCEL__TYPE_ARRAY && type->count != 0 && accel__type_size(type) > INT32_MAX)
        fail_name(parser, name, "'%.*s' is too large");
}

/* Constants live at program scope also where a function declares them. */
static accel__node *finish_constant(accel__parser *parser, accel__symbol *symbol)
{
    if (symbol->init == NULL)
        accel__parse_fail(parser, symbol->file, symbol->line, "the constant '%s' has no value",
                          symbol->name);
    if (!accel__constant_is(symbol->init))
        accel__parse_fail(parser, symbol->init->file, symbol->init->line,
                          "the value of '%s' must be constant", symbol->name);
    if (symbol->type->kind == ACCEL__TYPE_POINTER)
        accel__parse_fail(parser, symbol->file, symbol->line,
                          "pointers at program scope are not part of the kernel language");
    symbol->is_program_scope = true;
    accel__parse_append(parser->program, symbol);
    return NULL;
}

static void check_place(accel__parser *parser, const accel__symbol *symbol, bool has_init)
{
    const accel__type *type = symbol->type;
    if (type->kind == ACCEL__TYPE_POINTER)
        return;
    if (type->space == ACCEL__SPACE_GLOBAL)
        accel__parse_fail(parser, symbol->file, symbol->line,
                          "the variable '%s' in global memory is not part of the kernel language",
                          symbol->name);
    if (type->space != ACCEL__SPACE_LOCAL)
        return;
    if (parser->function == NULL || !parser->function->is_kernel)
        accel__parse_fail(parser, symbol->file, symbol->line,
                          "local memory ('%s') can only be declared in a kernel", symbol->name);
    if (has_init)
        accel__parse_fail(parser, symbol->file, symbol->line,
                          "local memory ('%s') cannot be initialised", symbol->name);
}

/* Where it is among the blocks of a function: 1 holds the parameters, 2 is the body. */
static bool is_inner(const accel__parser *parser, const accel__symbol *symbol)
{
    return parser->function != NULL &&
           (symbol->type->space == ACCEL__SPACE_CONSTANT ||
            (symbol->type->space == ACCEL__SPACE_LOCAL && parser->level > 2));
}

void accel__parse_note_name(accel__parser *parser, const accel__symbol *symbol,
                            const accel__token *token)
{
    if (!symbol->is_inner)
        return;
    accel__inner_name *noted = accel__parse_take(parser, sizeof *noted);
    noted->token = (size_t)(token - parser->unit->tokens);
    noted->id = symbol->id;
    noted->next = parser->program->inner_names;
    parser->program->inner_names = noted;
}

static void note_inner(accel__parser *parser, size_t begin, bool is_local)
{
    accel__inner *noted = accel__parse_take(parser, sizeof *noted);
    noted->begin = begin;
    noted->end = parser->at;
    noted->is_local = is_local;
    noted->place = is_local ? parser->body : parser->start;
    noted->next = parser->program->inner;
    parser->program->inner = noted;
}

/* One declarator of a variable; NULL where it needs no statement. */
static accel__node *parse_variable(accel__parser *parser, const accel__declarator *declarator)
{
    const accel__token *name = declarator->name;
    accel__symbol *symbol = accel__parse_symbol(parser, ACCEL__SYMBOL_VARIABLE, name,
                                                declarator->type);
    check_variable_type(parser, name, symbol->type);
    const bool has_init = accel__parse_accept(parser, "=");
    check_place(parser, symbol, has_init);
    if (has_init)
        symbol->init = parse_initializer(parser, symbol);
    if (parser->barrier != NULL)
        accel__parse_fail_at(parser, name, "a barrier must be a statement of its own");
    if (symbol->type->kind == ACCEL__TYPE_ARRAY && symbol->type->count == 0)
        fail_name(parser, name, "the array '%.*s' has no size");
    accel__parse_bind(parser, symbol);
    symbol->is_inner = is_inner(parser, symbol);
    parser->declares_inner = parser->declares_inner || symbol->is_inner;
    accel__parse_note_name(parser, symbol, name);
    if (symbol->type->space == ACCEL__SPACE_CONSTANT)
        return finish_constant(parser, symbol);
    accel__node *node = accel__parse_node(parser, ACCEL__NODE_DECLARE, name);
    node->symbol = symbol;
    return node;
}

static void parse_typedef(accel__parser *parser, const accel__specifiers *specifiers)
{
    do {
        accel__declarator declarator;
        accel__parse_declarator(parser, specifiers->type, &declarator);
        if (declarator.name == NULL || accel__parse_at(parser, "("))
            accel__parse_fail_at(parser, specifiers->token, "expected 'typedef TYPE NAME;'");
        accel__symbol *symbol = accel__parse_symbol(parser, ACCEL__SYMBOL_TYPEDEF, declarator.name,
                                                    declarator.type);
        symbol->value = specifiers->by_size_t;
        accel__parse_bind(parser, symbol);
    } while (accel__parse_accept(parser, ","));
    accel__parse_expect(parser, ";");
}

accel__node *accel__parse_declaration(accel__parser *parser)
{
    const size_t begin = parser->at;
    accel__specifiers specifiers;
    parser->declares_inner = false;
    accel__parse_specifiers(parser, &specifiers);
    if (specifiers.is_typedef) {
        parse_typedef(parser, &specifiers);
        return NULL;
    }
    if (specifiers.is_kernel || specifiers.is_static || specifiers.is_inline)
        accel__parse_fail_at(parser, specifiers.token,
                             "'static', 'inline' or '__kernel' inside of a function");
    accel__node *first = NULL;
    accel__node **end = &first;
    if (accel__parse_accept(parser, ";"))
        return NULL;
    do {
        accel__declarator declarator;
        accel__parse_declarator(parser, specifiers.type, &declarator);
        if (declarator.name == NULL)
            fail_missing_name(parser);
        if (accel__parse_at(parser, "("))
            fail_name(parser, declarator.name, "the function '%.*s' inside of another");
        accel__parse_attributes(parser, &specifiers);
        *end = parse_variable(parser, &declarator);
        if (*end != NULL)
            end = &(*end)->next;
    } while (accel__parse_accept(parser, ","));
    accel__parse_expect(parser, ";");
    if (parser->declares_inner)
        note_inner(parser, begin, specifiers.type->space == ACCEL__SPACE_LOCAL);
    return first;
}

/* ---- functions ---- */

static const accel__type *kernel_param_type(accel__parser *parser, const accel__token *name,
                                            const accel__type *type, bool by_size_t)
{
    if (type->kind == ACCEL__TYPE_RECORD)
        fail_name(parser, name,
                  "the parameter '%.*s' is a struct: kernels take scalars and "
                  "pointers");
    if (type->kind != ACCEL__TYPE_POINTER) {
        if (by_size_t || type->kind == ACCEL__TYPE_BOOL)
            fail_name(parser, name,
                      "the parameter '%.*s' of a kernel cannot be of type bool or "
                      "size_t, whose size differs between devices");
        return type;
    }
    if (type->base->kind == ACCEL__TYPE_POINTER)
        fail_name(parser, name,
                  "the parameter '%.*s' is a pointer to pointers, which is not part "
                  "of the kernel language");
    if (type->base->space == ACCEL__SPACE_PRIVATE)
        fail_name(parser, name,
                  "the pointer '%.*s' of a kernel needs __global, __constant or "
                  "__local");
    return type;
}

static void parse_param(accel__parser *parser, accel__symbol *function, bool is_kernel)
{
    accel__specifiers specifiers;
    accel__parse_specifiers(parser, &specifiers);
    accel__declarator declarator;
    accel__parse_declarator(parser, specifiers.type, &declarator);
    if (specifiers.is_typedef || specifiers.is_kernel || specifiers.is_static)
        accel__parse_fail_at(parser, specifiers.token, "expected the type of a parameter");
    if (accel__parse_at(parser, "("))
        accel__parse_fail_at(parser, specifiers.token,
                             "function pointers are not part of the kernel language");
    const accel__type *type = accel__check_decay(parser, declarator.type);
    const accel__token *name = declarator.name != NULL ? declarator.name : specifiers.token;
    if (type->kind == ACCEL__TYPE_HALF || accel__type_size(type) == 0)
        check_variable_type(parser, name, type);
    if (type->kind != ACCEL__TYPE_POINTER && type->space != ACCEL__SPACE_PRIVATE)
        fail_name(parser, name, "only a pointer can point to memory other than private ('%.*s')");
    if (is_kernel)
        type = kernel_param_type(parser, name, type, specifiers.by_size_t);
    accel__parse_attributes(parser, &specifiers);
    accel__symbol *param = accel__parse_symbol(parser, ACCEL__SYMBOL_PARAM, declarator.name, type);
    for (const accel__symbol *at = function->params; at != NULL; at = at->next_param)
        if (declarator.name != NULL && strcmp(at->name, param->name) == 0)
            fail_name(parser, name, "two parameters named '%.*s'");
    accel__symbol **end = &function->params;
    while (*end != NULL)
        end = &(*end)->next_param;
    *end = param;
    function->param_count++;
}

static void parse_params(accel__parser *parser, accel__symbol *function, bool is_kernel)
{
    accel__parse_expect(parser, "(");
    if (accel__parse_at(parser, "void") && accel__token_has(accel__parse_peek_second(parser), ")"))
        accel__parse_next(parser);
    if (accel__parse_accept(parser, ")"))
        return;
    do {
        const accel__token *token = accel__parse_peek(parser);
        if (accel__token_has(token, "...") || accel__token_has(token, "."))
            accel__parse_fail_at(parser, token,
                                 "variadic functions are not part of the kernel language");
        if (function->param_count >= 256)
            accel__parse_fail_at(parser, token, "more than 256 parameters");
        parse_param(parser, function, is_kernel);
    } while (accel__parse_accept(parser, ","));
    accel__parse_expect(parser, ")");
}

static void check_same_function(accel__parser *parser, const accel__token *name,
                                const accel__symbol *before, const accel__symbol *now)
{
    bool same = accel__type_same(before->type, now->type) && before->is_kernel == now->is_kernel &&
                before->param_count == now->param_count;
    const accel__symbol *a = before->params;
    for (const accel__symbol *b = now->params; same && b != NULL; b = b->next_param) {
        same = accel__type_same(a->type, b->type);
        a = a->next_param;
    }
    if (!same)
        fail_name(parser, name, "'%.*s' was declared differently before");
}

static void parse_body(accel__parser *parser, accel__symbol *function)
{
    accel__binding *scope = accel__parse_open_scope(parser);
    parser->function = function;
    for (accel__symbol *param = function->params; param != NULL; param = param->next_param)
        if (param->name[0] != '\0')
            accel__parse_bind(parser, param);
    function->is_defined = true;
    parser->body = parser->at;
    function->body = accel__parse_block(parser);
    parser->function = NULL;
    accel__parse_close_scope(parser, scope);
}

static void parse_function(accel__parser *parser, accel__specifiers *specifiers,
                           const accel__declarator *declarator)
{
    const accel__token *name = declarator->name;
    accel__symbol *before = accel__parse_find(parser, name);
    if (before != NULL && before->kind != ACCEL__SYMBOL_FUNCTION)
        fail_name(parser, name, "'%.*s' is declared twice");
    if (accel__builtin_find(name->text, name->size) != NULL)
        fail_name(parser, name,
                  "'%.*s' is a function of the kernel language and cannot be "
                  "defined again");
    const accel__type *type = declarator->type;
    if (type->kind == ACCEL__TYPE_ARRAY || type->kind == ACCEL__TYPE_HALF)
        fail_name(parser, name, "'%.*s' cannot return that type");
    if (specifiers->is_kernel && type->kind != ACCEL__TYPE_VOID)
        fail_name(parser, name, "the kernel '%.*s' must return void");
    accel__symbol *function = accel__parse_symbol(parser, ACCEL__SYMBOL_FUNCTION, name, type);
    function->is_kernel = specifiers->is_kernel;
    parse_params(parser, function, specifiers->is_kernel);
    accel__parse_attributes(parser, specifiers);
    memcpy(function->required_block, specifiers->required_block, sizeof function->required_block);
    if (before != NULL) {
        check_same_function(parser, name, before, function);
        if (before->is_defined && accel__parse_at(parser, "{"))
            fail_name(parser, name, "'%.*s' is defined twice");
        before->params = function->params;
        if (function->required_block[0] != 0)
            memcpy(before->required_block, function->required_block, sizeof before->required_block);
        function = before;
    } else {
        accel__parse_bind(parser, function);
    }
    /* should the body fail, the function stays known: its callers give no false errors */
    parser->names_before = parser->names;
    if (accel__parse_accept(parser, ";"))
        return;
    if (!accel__parse_at(parser, "{"))
        accel__parse_expect(parser, "{");
    accel__parse_append(parser->program, function);
    parse_body(parser, function);
}

static void parse_program_variable(accel__parser *parser, const accel__declarator *declarator)
{
    const accel__type *type = declarator->type;
    if (type->space != ACCEL__SPACE_CONSTANT)
        fail_name(parser, declarator->name,
                  type->space == ACCEL__SPACE_PRIVATE
                      ? "the variable '%.*s' at program scope must be __constant"
                      : "'%.*s': only __constant variables may stand at program scope");
    parse_variable(parser, declarator);
}

void accel__parse_external(accel__parser *parser)
{
    if (accel__parse_accept(parser, ";"))
        return;
    accel__specifiers specifiers;
    accel__parse_specifiers(parser, &specifiers);
    if (specifiers.is_typedef) {
        parse_typedef(parser, &specifiers);
        return;
    }
    if (accel__parse_accept(parser, ";"))
        return;
    do {
        accel__declarator declarator;
        accel__parse_declarator(parser, specifiers.type, &declarator);
        if (declarator.name == NULL)
            fail_missing_name(parser);
        if (accel__parse_at(parser, "(")) {
            parse_function(parser, &specifiers, &declarator);
            return;
        }
        if (specifiers.is_kernel)
            fail_name(parser, declarator.name, "the kernel '%.*s' is no function");
        parse_program_variable(parser, &declarator);
    } while (accel__parse_accept(parser, ","));
    accel__parse_expect(parser, ";");
}
