/* source.c: the stack of open files: tokens in the order of the text, with directives
 * obeyed and skipped groups left out on the way. */
#include <string.h>

#include "kernel/preprocess/internal.h"

bool accel__source_push(accel__preprocessor *pp, const char *bytes, size_t size, const char *name,
                        const char *directory)
{
    accel__source source = {.directory = directory, .conditional_base = pp->conditional_count};
    void *sources = pp->sources;
    if (!accel__pp_count_text(pp, size) || !accel__pp_file_index(pp, name, &source.file) ||
        !accel__pp_reserve(pp, &sources, &pp->source_capacity, pp->source_count, sizeof source))
        return false;
    pp->sources = sources;
    const accel__lex_opened opened = accel__lexer_open(&source.lexer, pp->arena, bytes, size);
    if (opened == ACCEL__LEX_OPENED_NO_MEMORY)
        return accel__pp_out_of_memory(pp);
    if (opened == ACCEL__LEX_OPENED_NUL) {
        const accel__token here = {.file = source.file, .line = source.lexer.line};
        accel__pp_error(pp, &here, "a NUL byte in the source");
        return false;
    }
    pp->sources[pp->source_count++] = source;
    return true;
}

void accel__source_pop(accel__preprocessor *pp)
{
    const accel__source *source = &pp->sources[pp->source_count - 1];
    while (pp->conditional_count > source->conditional_base) {
        const accel__conditional *open = &pp->conditionals[--pp->conditional_count];
        const accel__token where = {.file = open->file, .line = open->line};
        accel__pp_error(pp, &where, "#if without #endif");
    }
    pp->source_count--;
}

void accel__source_lex(accel__preprocessor *pp, accel__token *out_token)
{
    accel__source *source = &pp->sources[pp->source_count - 1];
    accel__lexer_next(&source->lexer, out_token);
    out_token->file = source->file;
    out_token->line += source->line_offset;
    if (++pp->steps > accel__preprocess_limit.steps)
        accel__pp_limit(pp, out_token, "the source is too large or its macros expand without end");
    if (out_token->kind == ACCEL__TOKEN_OPEN_COMMENT) {
        accel__pp_error(pp, out_token, "comment without end");
        accel__lexer_next(&source->lexer, out_token);
        out_token->file = source->file;
        out_token->line += source->line_offset;
    }
}

void accel__source_read_line(accel__preprocessor *pp)
{
    pp->held -= pp->line.count;
    pp->line.count = 0;
    for (;;) {
        accel__token token;
        accel__source_lex(pp, &token);
        if (token.kind == ACCEL__TOKEN_NEWLINE || token.kind == ACCEL__TOKEN_END ||
            !accel__pp_add_token(pp, &pp->line, &token))
            return;
    }
}

/* At a file's end. True: reading goes on in the file that included it. */
static bool leave_file(accel__preprocessor *pp)
{
    if (pp->call_state != ACCEL__CALL_NONE || pp->source_count == 1)
        return false;
    accel__source_pop(pp);
    return true;
}

void accel__source_read(accel__preprocessor *pp, accel__token *out_token)
{
    uint16_t space = 0;
    while (!pp->fatal) {
        accel__source_lex(pp, out_token);
        accel__source *source = &pp->sources[pp->source_count - 1];
        const bool line_begins = !source->inside_line;
        source->inside_line = out_token->kind != ACCEL__TOKEN_NEWLINE;
        if (out_token->kind == ACCEL__TOKEN_END) {
            if (!leave_file(pp))
                return;
            space = ACCEL__TOKEN_SPACE;
        } else if (out_token->kind == ACCEL__TOKEN_NEWLINE) {
            space = ACCEL__TOKEN_SPACE;
        } else if (line_begins && accel__token_is(out_token, "#")) {
            source->inside_line = false; /* the directive takes its whole line */
            const accel__token hash = *out_token;
            if (accel__directive_obey(pp, &hash, out_token))
                return;
            space = ACCEL__TOKEN_SPACE;
        } else if (!accel__directive_is_skipping(pp)) {
            out_token->space_before |= space;
            return;
        }
    }
    out_token->kind = ACCEL__TOKEN_END;
    out_token->size = 0;
}
