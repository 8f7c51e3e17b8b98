/* parse.c: the parser's cursor, errors, memory and names. */
#include "kernel/parse/parse.h"

#include <stdio.h>
#include <string.h>

#define MOST_RECURSION 600

struct accel__binding {
    accel__binding *older;
    accel__symbol *symbol;
    accel__record *record;
    const char *name;
    size_t size;
    uint32_t level;
};

const accel__token *accel__parse_peek(accel__parser *parser)
{
    while (parser->unit->tokens[parser->at].kind == ACCEL__TOKEN_PRAGMA)
        parser->at++;
    return &parser->unit->tokens[parser->at];
}

const accel__token *accel__parse_peek_second(accel__parser *parser)
{
    const accel__token *token = accel__parse_peek(parser);
    if (token->kind == ACCEL__TOKEN_END)
        return token;
    do
        token++;
    while (token->kind == ACCEL__TOKEN_PRAGMA);
    return token;
}

const accel__token *accel__parse_next(accel__parser *parser)
{
    const accel__token *token = accel__parse_peek(parser);
    if (token->kind != ACCEL__TOKEN_END)
        parser->at++;
    return token;
}

bool accel__token_has(const accel__token *token, const char *text)
{
    if (token->kind != ACCEL__TOKEN_IDENTIFIER && token->kind != ACCEL__TOKEN_PUNCTUATOR)
        return false;
    return strncmp(text, token->text, token->size) == 0 && text[token->size] == '\0';
}

bool accel__parse_at(accel__parser *parser, const char *text)
{
    return accel__token_has(accel__parse_peek(parser), text);
}

bool accel__parse_accept(accel__parser *parser, const char *text)
{
    if (!accel__parse_at(parser, text))
        return false;
    parser->at++;
    return true;
}

const accel__token *accel__parse_expect(accel__parser *parser, const char *text)
{
    const accel__token *token = accel__parse_peek(parser);
    if (token->kind == ACCEL__TOKEN_END)
        accel__parse_fail_at(parser, token, "expected '%s' before the end of the source", text);
    if (!accel__token_has(token, text))
        accel__parse_fail_at(parser, token, "expected '%s' before '%.*s'", text, (int)token->size,
                             token->text);
    return accel__parse_next(parser);
}

const accel__token *accel__parse_identifier(accel__parser *parser, const char *what)
{
    const accel__token *token = accel__parse_peek(parser);
    if (token->kind == ACCEL__TOKEN_END)
        accel__parse_fail_at(parser, token, "expected %s before the end of the source", what);
    if (token->kind != ACCEL__TOKEN_IDENTIFIER || accel__parse_is_reserved(token))
        accel__parse_fail_at(parser, token, "expected %s before '%.*s'", what, (int)token->size,
                             token->text);
    return accel__parse_next(parser);
}

static void report(accel__parser *parser, uint32_t file, uint32_t line, const char *format,
                   va_list list, bool is_error)
{
    char text[512];
    vsnprintf(text, sizeof text, format, list);
    const char *name = file < parser->unit->file_count ? parser->unit->files[file] : "source";
    if (is_error)
        accel__diagnose_error(parser->diagnostics, name, line, "%s", text);
    else
        accel__diagnose_warning(parser->diagnostics, name, line, "%s", text);
}

void accel__parse_fail(accel__parser *parser, uint32_t file, uint32_t line, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    report(parser, file, line, format, list, true);
    va_end(list);
    longjmp(parser->bail, 1);
}

void accel__parse_fail_at(accel__parser *parser, const accel__token *token, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    report(parser, token->file, token->line, format, list, true);
    va_end(list);
    longjmp(parser->bail, 1);
}

void accel__parse_warn(accel__parser *parser, uint32_t file, uint32_t line, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    report(parser, file, line, format, list, false);
    va_end(list);
}

void *accel__parse_take(accel__parser *parser, size_t size)
{
    void *memory = accel__arena_take(&parser->program->arena, size);
    if (memory == NULL) {
        parser->diagnostics->out_of_memory = true;
        longjmp(parser->bail, 1);
    }
    return memory;
}

const char *accel__parse_copy(accel__parser *parser, const char *text, size_t size)
{
    char *copy = accel__parse_take(parser, size + 1);
    memcpy(copy, text, size);
    return copy;
}

void accel__parse_enter(accel__parser *parser)
{
    if (++parser->depth > MOST_RECURSION)
        accel__parse_fail_at(parser, accel__parse_peek(parser), "nested more than %d levels deep",
                             MOST_RECURSION);
}

void accel__parse_leave(accel__parser *parser)
{
    parser->depth--;
}

accel__node *accel__parse_node(accel__parser *parser, accel__node_kind kind,
                               const accel__token *token)
{
    accel__node *node = accel__parse_take(parser, sizeof *node);
    node->kind = (uint8_t)kind;
    node->file = token->file;
    node->line = token->line;
    return node;
}

accel__symbol *accel__parse_symbol(accel__parser *parser, accel__symbol_kind kind,
                                   const accel__token *name, const accel__type *type)
{
    accel__symbol *symbol = accel__parse_take(parser, sizeof *symbol);
    symbol->kind = (uint8_t)kind;
    symbol->name = name == NULL ? "" : accel__parse_copy(parser, name->text, name->size);
    symbol->type = type;
    symbol->id = ++parser->program->next_id;
    if (name != NULL) {
        symbol->file = name->file;
        symbol->line = name->line;
    }
    return symbol;
}

static accel__binding *add_binding(accel__parser *parser, accel__binding **list, const char *name)
{
    accel__binding *binding = accel__parse_take(parser, sizeof *binding);
    binding->name = name;
    binding->size = strlen(name);
    binding->level = parser->level;
    binding->older = *list;
    *list = binding;
    return binding;
}

static accel__binding *find_binding(accel__binding *list, const accel__token *name)
{
    while (list != NULL &&
           (list->size != name->size || memcmp(list->name, name->text, name->size) != 0))
        list = list->older;
    return list;
}

void accel__parse_bind(accel__parser *parser, accel__symbol *symbol)
{
    for (const accel__binding *at = parser->names; at != NULL && at->level == parser->level;
         at = at->older)
        if (strcmp(at->name, symbol->name) == 0)
            accel__parse_fail(parser, symbol->file, symbol->line, "'%s' is declared twice",
                              symbol->name);
    add_binding(parser, &parser->names, symbol->name)->symbol = symbol;
}

accel__symbol *accel__parse_find(accel__parser *parser, const accel__token *name)
{
    const accel__binding *found = find_binding(parser->names, name);
    return found == NULL ? NULL : found->symbol;
}

accel__binding *accel__parse_open_scope(accel__parser *parser)
{
    parser->level++;
    return parser->names;
}

void accel__parse_close_scope(accel__parser *parser, accel__binding *scope)
{
    parser->level--;
    parser->names = scope;
}

accel__record *accel__parse_find_record(accel__parser *parser, const accel__token *name)
{
    const accel__binding *found = find_binding(parser->tags, name);
    return found == NULL ? NULL : found->record;
}

void accel__parse_bind_record(accel__parser *parser, const accel__token *name,
                              accel__record *record)
{
    record->tag = accel__parse_copy(parser, name->text, name->size);
    add_binding(parser, &parser->tags, record->tag)->record = record;
}

void accel__parse_append(accel__program *program, accel__symbol *symbol)
{
    if (program->last != NULL)
        program->last->next = symbol;
    else
        program->first = symbol;
    program->last = symbol;
}
