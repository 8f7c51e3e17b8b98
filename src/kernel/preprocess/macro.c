/* macro.c: the table of macros, #define and #undef. */
#include <string.h>

#include "base/allocate.h"
#include "kernel/preprocess/internal.h"

/* ---- the table ---- */

static uint32_t hash_name(const char *name, uint32_t size)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (uint32_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash;
}

/* The slot of the name, or the free one where it belongs. The table is never full. */
static accel__macro_slot *find_slot(const accel__macro_table *table, const char *name,
                                    uint32_t size)
{
    size_t at = hash_name(name, size) & (table->capacity - 1);
    for (;;) {
        accel__macro_slot *slot = &table->slots[at];
        if (slot->name == NULL || (slot->size == size && memcmp(slot->name, name, size) == 0))
            return slot;
        at = (at + 1) & (table->capacity - 1);
    }
}

static bool grow_table(accel__preprocessor *pp)
{
    accel__macro_table larger = {.capacity = pp->macros.capacity != 0 ? pp->macros.capacity * 2
                                                                      : 64,
                                 .count = pp->macros.count};
    larger.slots = accel__allocate_array(larger.capacity, sizeof *larger.slots);
    if (larger.slots == NULL)
        return accel__pp_out_of_memory(pp);
    for (size_t i = 0; i < pp->macros.capacity; i++) {
        const accel__macro_slot *slot = &pp->macros.slots[i];
        if (slot->name != NULL)
            *find_slot(&larger, slot->name, slot->size) = *slot;
    }
    accel__deallocate(pp->macros.slots);
    pp->macros = larger;
    return true;
}

/* The slot of a name that is there afterwards; NULL: no memory. */
static accel__macro_slot *take_slot(accel__preprocessor *pp, const char *name, uint32_t size)
{
    if (pp->macros.count * 2 >= pp->macros.capacity && !grow_table(pp))
        return NULL;
    accel__macro_slot *slot = find_slot(&pp->macros, name, size);
    if (slot->name == NULL) {
        *slot = (accel__macro_slot){.name = name, .size = size};
        pp->macros.count++;
    }
    return slot;
}

accel__macro *accel__macro_find(const accel__preprocessor *pp, const accel__token *name)
{
    return pp->macros.capacity != 0 ? find_slot(&pp->macros, name->text, name->size)->macro : NULL;
}

bool accel__macro_add_specials(accel__preprocessor *pp)
{
    static const char *const names[] = {"__FILE__", "__LINE__"};
    for (size_t i = 0; i < 2; i++) {
        accel__macro_slot *slot = take_slot(pp, names[i], (uint32_t)strlen(names[i]));
        accel__macro *macro = slot != NULL ? accel__arena_take(pp->arena, sizeof *macro) : NULL;
        if (macro == NULL)
            return accel__pp_out_of_memory(pp);
        macro->special = i == 0 ? ACCEL__MACRO_FILE : ACCEL__MACRO_LINE;
        slot->macro = macro;
    }
    return true;
}

/* ---- #define ---- */

/* Where reading of the directive's line stands. */
typedef struct line_reader {
    accel__preprocessor *pp;
    const accel__token *name;
    size_t at;
} line_reader;

static const accel__token *take(line_reader *reader)
{
    accel__token_list *line = &reader->pp->line;
    return reader->at < line->count ? &line->tokens[reader->at++] : NULL;
}

static bool fail(line_reader *reader, const char *message)
{
    accel__pp_error(reader->pp, reader->name, "macro %.*s: %s", (int)reader->name->size,
                    reader->name->text, message);
    return false;
}

static bool same_name(const accel__token *a, const accel__token *b)
{
    return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

static bool add_param(line_reader *reader, const accel__token *name, accel__token_list *params)
{
    for (size_t i = 0; i < params->count; i++)
        if (same_name(&params->tokens[i], name))
            return fail(reader, "two parameters have the same name");
    return accel__pp_add_token(reader->pp, params, name);
}

static const accel__token rest_name = {
    .text = "__VA_ARGS__", .size = 11, .kind = ACCEL__TOKEN_IDENTIFIER};

/* What may stand where a parameter is expected: NAME, NAME... or ... */
static bool read_param(line_reader *reader, const accel__token *first, accel__macro *macro,
                       accel__token_list *params)
{
    if (first == NULL)
        return fail(reader, "\")\" is missing behind the parameters");
    macro->variadic = accel__token_is(first, "...");
    if (macro->variadic)
        return add_param(reader, &rest_name, params);
    if (first->kind != ACCEL__TOKEN_IDENTIFIER)
        return fail(reader, "a parameter must be a name");
    if (same_name(first, &rest_name))
        return fail(reader, "__VA_ARGS__ cannot be a parameter");
    const accel__token_list *line = &reader->pp->line;
    if (reader->at < line->count && accel__token_is(&line->tokens[reader->at], "...")) {
        reader->at++;
        macro->variadic = true; /* GNU: the rest under its own name */
    }
    return add_param(reader, first, params);
}

/* Behind the "(". */
static bool read_params(line_reader *reader, accel__macro *macro, accel__token_list *params)
{
    const accel__token *token = take(reader);
    if (token != NULL && accel__token_is(token, ")"))
        return true;
    for (;;) {
        if (!read_param(reader, token, macro, params))
            return false;
        token = take(reader);
        if (token != NULL && accel__token_is(token, ")"))
            return true;
        if (token == NULL || !accel__token_is(token, ",") || macro->variadic)
            return fail(reader, "\",\" or \")\" is missing in the parameters");
        token = take(reader);
    }
}

/* Turns a parameter's name into its index. */
static bool mark_param(const accel__token_list *params, accel__token *token)
{
    for (size_t i = 0; token->kind == ACCEL__TOKEN_IDENTIFIER && i < params->count; i++)
        if (same_name(&params->tokens[i], token)) {
            token->space_before |= ACCEL__TOKEN_PARAM;
            token->line = (uint32_t)i;
            return true;
        }
    return false;
}

/* One token of the body into `body`, with the operators # and ## folded into bits. */
static bool add_body_token(line_reader *reader, const accel__macro *macro,
                           const accel__token_list *params, accel__token token,
                           accel__token_list *body)
{
    if (accel__token_is(&token, "##")) {
        if (body->count == 0 || reader->at == reader->pp->line.count)
            return fail(reader, "\"##\" at an end of the replacement");
        body->tokens[body->count - 1].space_before |= ACCEL__TOKEN_PASTE_NEXT;
        return true;
    }
    if (macro->function_like && accel__token_is(&token, "#")) {
        const accel__token *operand = take(reader);
        const uint16_t space = token.space_before;
        if (operand != NULL)
            token = *operand;
        if (operand == NULL || !mark_param(params, &token))
            return fail(reader, "\"#\" must stand before a parameter");
        token.space_before = (uint16_t)(space | ACCEL__TOKEN_PARAM | ACCEL__TOKEN_STRINGIZE);
    } else if (!mark_param(params, &token) && same_name(&token, &rest_name)) {
        return fail(reader, "__VA_ARGS__ outside the replacement of a macro with \"...\"");
    }
    return accel__pp_add_token(reader->pp, body, &token);
}

/* Moves a list to the arena, where the macro keeps it; it stays counted. */
static const accel__token *keep(accel__preprocessor *pp, const accel__token_list *list)
{
    accel__token *kept = accel__arena_take(pp->arena, list->count * sizeof *kept);
    if (kept == NULL) {
        accel__pp_out_of_memory(pp);
        return NULL;
    }
    if (list->count != 0)
        memcpy(kept, list->tokens, list->count * sizeof *kept);
    pp->held += list->count;
    return kept;
}

static bool read_definition(line_reader *reader, accel__macro *macro, accel__token_list *params,
                            accel__token_list *body)
{
    accel__preprocessor *pp = reader->pp;
    const accel__token_list *line = &pp->line;
    if (reader->at < line->count && accel__token_is(&line->tokens[reader->at], "(") &&
        line->tokens[reader->at].space_before == 0) {
        reader->at++;
        macro->function_like = true;
        if (!read_params(reader, macro, params))
            return false;
    }
    for (const accel__token *token = take(reader); token != NULL; token = take(reader))
        if (!add_body_token(reader, macro, params, *token, body))
            return false;
    macro->param_count = (uint32_t)params->count;
    macro->body_count = (uint32_t)body->count;
    macro->params = keep(pp, params);
    macro->body = keep(pp, body);
    return macro->params != NULL && macro->body != NULL;
}

static bool same_tokens(const accel__token *a, const accel__token *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t differing = (uint32_t)(a[i].space_before ^ b[i].space_before);
        if (a[i].kind != b[i].kind || !same_name(&a[i], &b[i]) ||
            (differing & (i == 0 ? ~(uint32_t)ACCEL__TOKEN_SPACE : ~(uint32_t)0)) != 0)
            return false;
    }
    return true;
}

static bool same_macro(const accel__macro *a, const accel__macro *b)
{
    return a->function_like == b->function_like && a->variadic == b->variadic &&
           a->param_count == b->param_count && a->body_count == b->body_count &&
           same_tokens(a->params, b->params, a->param_count) &&
           same_tokens(a->body, b->body, a->body_count);
}

/* The name that #define or #undef is about, or NULL after an error. */
static const accel__token *directive_name(accel__preprocessor *pp, const accel__token *directive)
{
    if (pp->line.count == 0 || pp->line.tokens[0].kind != ACCEL__TOKEN_IDENTIFIER) {
        accel__pp_error(pp, directive, "a macro's name is missing");
        return NULL;
    }
    const accel__token *name = &pp->line.tokens[0];
    const accel__macro *macro = accel__macro_find(pp, name);
    if (accel__token_is(name, "defined") || same_name(name, &rest_name) ||
        (macro != NULL && macro->special != ACCEL__MACRO_ORDINARY)) {
        accel__pp_error(pp, directive, "%.*s cannot be defined or undefined", (int)name->size,
                        name->text);
        return NULL;
    }
    return name;
}

void accel__macro_define(accel__preprocessor *pp, const accel__token *directive, bool replace)
{
    const accel__token *name = directive_name(pp, directive);
    if (name == NULL)
        return;
    line_reader reader = {.pp = pp, .name = name, .at = 1};
    accel__token_list params = {0};
    accel__token_list body = {0};
    accel__macro *macro = accel__arena_take(pp->arena, sizeof *macro);
    if (macro == NULL)
        accel__pp_out_of_memory(pp);
    if (macro != NULL && read_definition(&reader, macro, &params, &body)) {
        macro->file = name->file;
        macro->line = name->line;
        accel__macro_slot *slot = take_slot(pp, name->text, name->size);
        if (slot != NULL && slot->macro != NULL && !replace && !same_macro(slot->macro, macro))
            accel__pp_warning(pp, name, "macro %.*s is redefined; it was defined at %s:%u",
                              (int)name->size, name->text, pp->files[slot->macro->file],
                              (unsigned)slot->macro->line);
        if (slot != NULL)
            slot->macro = macro;
    }
    accel__pp_release_tokens(pp, &params);
    accel__pp_release_tokens(pp, &body);
}

void accel__macro_undefine(accel__preprocessor *pp, const accel__token *directive)
{
    const accel__token *name = directive_name(pp, directive);
    if (name == NULL)
        return;
    if (pp->line.count > 1)
        accel__pp_warning(pp, directive, "something stands behind the name of #undef");
    if (pp->macros.capacity != 0)
        find_slot(&pp->macros, name->text, name->size)->macro = NULL;
}
