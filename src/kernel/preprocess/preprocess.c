/* preprocess.c: the entry: sets up macros and the main file, and turns what the expander gives into
 * the unit. Whatever happens, everything but the finished unit is released here. */
#include "kernel/preprocess/preprocess.h"

#include <string.h>

#include "base/allocate.h"
#include "kernel/preprocess/internal.h"

/* ---- the set-up ---- */

/* One {name, value}: read as the line "NAME VALUE" behind a #define. */
static bool add_define(accel__preprocessor *pp, const accel_define *define)
{
    const accel__token where = {.file = 0, .line = 0};
    const char *value = define->value != NULL ? define->value : "1";
    if (define->name == NULL || strpbrk(define->name, "\r\n") != NULL ||
        strpbrk(value, "\r\n") != NULL) {
        accel__pp_error(pp, &where, "a predefined macro's name is missing or has a line end in it");
        return !pp->fatal;
    }
    accel__text line = {0};
    accel__text_format(&line, "%s %s\n", define->name, value);
    const bool opened = line.failed
                            ? accel__pp_out_of_memory(pp)
                            : accel__source_push(pp, line.data, line.size, "<defines>", NULL);
    if (opened) {
        accel__source_read_line(pp);
        accel__macro_define(pp, &where, true);
        accel__source_pop(pp);
    }
    accel__text_release(&line);
    return !pp->fatal;
}

static bool add_defines(accel__preprocessor *pp, const accel_define *defines, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!add_define(pp, &defines[i]))
            return false;
    return true;
}

/* Where the main file's #include "…" looks first: beside file_name, or nowhere for unnamed text. */
static bool main_directory(accel__preprocessor *pp, const char **out_directory)
{
    *out_directory = NULL;
    if (pp->options == NULL || pp->options->file_name == NULL)
        return true;
    const char *name = pp->options->file_name;
    const char *slash = strrchr(name, '/');
    *out_directory = accel__arena_copy(pp->arena, name,
                                       slash != NULL ? (size_t)(slash - name) + 1 : 0);
    return *out_directory != NULL || accel__pp_out_of_memory(pp);
}

static bool set_up(accel__preprocessor *pp, const char *source, size_t size,
                   const accel_define *predefined, uint32_t predefined_count)
{
    const accel_module_options *options = pp->options;
    const bool named = options != NULL && options->file_name != NULL;
    const char *name = named ? options->file_name : "source";
    const char *directory = NULL;
    uint32_t index = 0;
    pp->arena = accel__allocate(sizeof *pp->arena);
    if (pp->arena == NULL)
        return accel__pp_out_of_memory(pp);
    return accel__pp_file_index(pp, name, &index) && accel__macro_add_specials(pp) &&
           add_defines(pp, predefined, predefined_count) &&
           (options == NULL || add_defines(pp, options->defines, options->define_count)) &&
           main_directory(pp, &directory) && accel__source_push(pp, source, size, name, directory);
}

/* ---- the output ---- */

/* Undoes the quoting of _Pragma's operand. */
static void append_unquoted(accel__text *text, const accel__token *string)
{
    for (uint32_t i = 1; i + 1 < string->size; i++) {
        const char next = string->text[i + 1];
        if (string->text[i] == '\\' && (next == '"' || next == '\\'))
            i++;
        accel__text_append_char(text, string->text[i]);
    }
}

/* Reads `content` as the line behind #pragma would be read, so that printing the token is safe. */
static bool lex_pragma(accel__preprocessor *pp, const accel__text *content, accel__token *token)
{
    accel__token_list list = {0};
    accel__text text = {0};
    const char *kept = accel__pp_keep_text(pp, content);
    accel__lexer lexer = {.text = kept, .size = content->size, .line = 1};
    accel__token piece = {0};
    bool good = kept != NULL;
    while (good && piece.kind != ACCEL__TOKEN_NEWLINE) {
        accel__lexer_next(&lexer, &piece);
        good = piece.kind != ACCEL__TOKEN_OTHER && piece.kind != ACCEL__TOKEN_OPEN_COMMENT;
        if (good && piece.kind != ACCEL__TOKEN_NEWLINE)
            good = accel__pp_add_token(pp, &list, &piece);
    }
    if (!good)
        accel__pp_error(pp, token, "what stands in _Pragma is no text of a #pragma");
    else if (accel__pp_spell(pp, list.tokens, list.count, &text))
        token->text = accel__pp_keep_text(pp, &text);
    token->kind = ACCEL__TOKEN_PRAGMA;
    token->size = (uint32_t)text.size;
    accel__text_release(&text);
    accel__pp_release_tokens(pp, &list);
    return good && !pp->fatal;
}

/* _Pragma("text") becomes the token of #pragma text. */
static bool read_pragma_operator(accel__preprocessor *pp, accel__token *token)
{
    accel__token open;
    accel__token string = {0};
    accel__token close = {0};
    accel__expand_next(pp, &open);
    if (accel__token_is(&open, "("))
        accel__expand_next(pp, &string);
    if (string.kind == ACCEL__TOKEN_STRING)
        accel__expand_next(pp, &close);
    if (!accel__token_is(&close, ")")) {
        accel__pp_error(pp, token, "_Pragma needs a string in parentheses");
        return false;
    }
    accel__text content = {0};
    append_unquoted(&content, &string);
    accel__text_append_char(&content, '\n'); /* where the lexer stops */
    const bool good = lex_pragma(pp, &content, token);
    accel__text_release(&content);
    return good;
}

/* True: the token may stand in a program. */
static bool check_token(accel__preprocessor *pp, const accel__token *token)
{
    const unsigned char first = token->size != 0 ? (unsigned char)token->text[0] : 0;
    if (accel__token_is(token, "#") || accel__token_is(token, "##"))
        accel__pp_error(pp, token, "stray \"%.*s\"", (int)token->size, token->text);
    else if (token->kind != ACCEL__TOKEN_OTHER)
        return true;
    else if (first == '"' || first == '\'')
        accel__pp_error(pp, token, "the closing %c is missing", first);
    else if (first >= 0x80)
        accel__pp_error(pp, token, "\"%.*s\": only ASCII may stand outside comments and strings",
                        (int)token->size, token->text);
    else
        accel__pp_error(pp, token, "stray byte 0x%02x%s%.*s", first, first > ' ' ? ": " : "",
                        first > ' ' && first < 0x7f ? 1 : 0, token->text);
    return false;
}

static void write_unit(accel__preprocessor *pp)
{
    accel__token token;
    do {
        accel__expand_next(pp, &token);
        if (accel__token_is(&token, "_Pragma") && !read_pragma_operator(pp, &token))
            continue;
        token.space_before &= ACCEL__TOKEN_SPACE;
        if (check_token(pp, &token))
            accel__pp_add_token(pp, &pp->unit, &token);
    } while (token.kind != ACCEL__TOKEN_END);
}

static void release(accel__preprocessor *pp)
{
    accel__expand_release(pp);
    accel__pp_release_tokens(pp, &pp->line);
    accel__deallocate(pp->macros.slots);
    accel__deallocate(pp->sources);
    accel__deallocate(pp->conditionals);
    accel__deallocate(pp->once);
}

bool accel__preprocess(const char *source, size_t size, const accel_module_options *options,
                       const accel_define *predefined, uint32_t predefined_count,
                       accel__diagnostics *diagnostics, accel__unit *out_unit)
{
    *out_unit = (accel__unit){0};
    accel__preprocessor pp = {.options = options, .diagnostics = diagnostics};
    const uint32_t errors_before = diagnostics->error_count;
    if (set_up(&pp, source, size, predefined, predefined_count)) {
        write_unit(&pp);
        while (!pp.fatal && pp.source_count > 0)
            accel__source_pop(&pp);
    }
    release(&pp);
    *out_unit = (accel__unit){.tokens = pp.unit.tokens,
                              .token_count = pp.unit.count,
                              .files = pp.files,
                              .file_count = pp.file_count,
                              .storage = pp.arena};
    if (!pp.fatal && diagnostics->error_count == errors_before)
        return true;
    accel__unit_release(out_unit);
    return false;
}

void accel__unit_release(accel__unit *unit)
{
    accel__deallocate(unit->tokens);
    accel__deallocate(unit->files);
    if (unit->storage != NULL)
        accel__arena_release(unit->storage);
    accel__deallocate(unit->storage);
    *unit = (accel__unit){0};
}
