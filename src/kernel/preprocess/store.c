/* store.c: lists, limits and messages of the preprocessor. Everything it holds is counted
 * here, so that a source that explodes meets a limit and not the end of memory. */
#include <string.h>

#include "base/allocate.h"
#include "base/array.h"
#include "kernel/preprocess/internal.h"

#define MI ((size_t)1024 * 1024)
accel__preprocess_limits accel__preprocess_limit = {
    .tokens = 16 * MI, .steps = 32 * MI, .text = 64 * MI};

bool accel__pp_out_of_memory(accel__preprocessor *pp)
{
    pp->diagnostics->out_of_memory = true;
    pp->fatal = true;
    return false;
}

static const char *file_of(const accel__preprocessor *pp, const accel__token *where)
{
    return where->file < pp->file_count ? pp->files[where->file] : "source";
}

/* One line of the log; through a text, as the diagnostics take no va_list. */
static void report(accel__preprocessor *pp, const accel__token *where, bool is_error,
                   const char *format, va_list list)
{
    accel__text message = {0};
    accel__text_format_list(&message, format, list);
    if (message.failed)
        accel__pp_out_of_memory(pp);
    const char *file = file_of(pp, where);
    const char *text = accel__text_string(&message);
    if (is_error)
        accel__diagnose_error(pp->diagnostics, file, where->line, "%s", text);
    else
        accel__diagnose_warning(pp->diagnostics, file, where->line, "%s", text);
    accel__text_release(&message);
    if (pp->diagnostics->out_of_memory)
        pp->fatal = true;
}

void accel__pp_error(accel__preprocessor *pp, const accel__token *where, const char *format, ...)
{
    if (pp->fatal)
        return;
    va_list list;
    va_start(list, format);
    report(pp, where, true, format, list);
    va_end(list);
    if (pp->diagnostics->error_count >= ACCEL__LIMIT_ERRORS && !pp->fatal) {
        accel__diagnose_error(pp->diagnostics, file_of(pp, where), where->line,
                              "too many errors, the rest is not looked at");
        pp->fatal = true;
    }
}

void accel__pp_warning(accel__preprocessor *pp, const accel__token *where, const char *format, ...)
{
    if (pp->fatal)
        return;
    va_list list;
    va_start(list, format);
    report(pp, where, false, format, list);
    va_end(list);
}

bool accel__pp_limit(accel__preprocessor *pp, const accel__token *where, const char *format, ...)
{
    if (!pp->fatal) {
        va_list list;
        va_start(list, format);
        report(pp, where, true, format, list);
        va_end(list);
    }
    pp->fatal = true;
    return false;
}

bool accel__pp_add_token(accel__preprocessor *pp, accel__token_list *list,
                         const accel__token *token)
{
    if (pp->fatal)
        return false;
    if (pp->held >= accel__preprocess_limit.tokens)
        return accel__pp_limit(pp, token, "more than %zu tokens after macro expansion",
                               accel__preprocess_limit.tokens);
    void *tokens = list->tokens;
    if (!accel__array_reserve(&tokens, &list->capacity, list->count, 1, sizeof *token))
        return accel__pp_out_of_memory(pp);
    list->tokens = tokens;
    list->tokens[list->count++] = *token;
    pp->held++;
    return true;
}

void accel__pp_release_tokens(accel__preprocessor *pp, accel__token_list *list)
{
    pp->held -= list->count;
    accel__deallocate(list->tokens);
    *list = (accel__token_list){0};
}

bool accel__pp_count_text(accel__preprocessor *pp, size_t size)
{
    accel__token where = {0};
    if (pp->source_count > 0) {
        const accel__source *source = &pp->sources[pp->source_count - 1];
        where.file = source->file;
        where.line = source->lexer.line + source->line_offset;
    }
    if (size > accel__preprocess_limit.text - pp->text)
        return accel__pp_limit(pp, &where, "more than %zu bytes of source with its includes",
                               accel__preprocess_limit.text);
    pp->text += size;
    return true;
}

const char *accel__pp_keep_text(accel__preprocessor *pp, const accel__text *text)
{
    if (text->failed) {
        accel__pp_out_of_memory(pp);
        return NULL;
    }
    if (!accel__pp_count_text(pp, text->size))
        return NULL;
    const char *kept = accel__arena_copy(pp->arena, accel__text_string(text), text->size);
    if (kept == NULL)
        accel__pp_out_of_memory(pp);
    return kept;
}

bool accel__pp_reserve(accel__preprocessor *pp, void **items, size_t *capacity, size_t count,
                       size_t item_size)
{
    if (!accel__array_reserve(items, capacity, count, 1, item_size))
        return accel__pp_out_of_memory(pp);
    return true;
}

bool accel__pp_file_index(accel__preprocessor *pp, const char *name, uint32_t *out_index)
{
    for (uint32_t i = 0; i < pp->file_count; i++)
        if (strcmp(pp->files[i], name) == 0) {
            *out_index = i;
            return true;
        }
    void *files = pp->files;
    if (!accel__pp_reserve(pp, &files, &pp->file_capacity, pp->file_count, sizeof *pp->files))
        return false;
    pp->files = files;
    char *copy = accel__arena_copy(pp->arena, name, strlen(name));
    if (copy == NULL)
        return accel__pp_out_of_memory(pp);
    *out_index = pp->file_count;
    pp->files[pp->file_count++] = copy;
    return true;
}

bool accel__pp_spell(accel__preprocessor *pp, const accel__token *tokens, size_t count,
                     accel__text *out_text)
{
    for (size_t i = 0; i < count; i++) {
        if (i != 0 && (tokens[i].space_before & ACCEL__TOKEN_SPACE) != 0)
            accel__text_append_char(out_text, ' ');
        accel__text_append(out_text, tokens[i].text, tokens[i].size);
    }
    return !out_text->failed || accel__pp_out_of_memory(pp);
}
