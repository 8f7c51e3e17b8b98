/* directive.c: what stands behind a # at the beginning of a line. In skipped groups only
 * the conditionals are looked at, so that anything may stand there. */
#include <string.h>

#include "kernel/preprocess/internal.h"

bool accel__directive_is_skipping(const accel__preprocessor *pp)
{
    return pp->conditional_count > 0 && !pp->conditionals[pp->conditional_count - 1].active;
}

/* Complains about what stands behind a directive that takes `count` tokens. */
static void expect_end(accel__preprocessor *pp, const accel__token *name, size_t count)
{
    if (pp->line.count > count)
        accel__pp_warning(pp, name, "something stands behind #%.*s", (int)name->size, name->text);
}

/* ---- conditionals ---- */

/* The value of #ifdef's operand. */
static bool operand_is_defined(accel__preprocessor *pp, const accel__token *name)
{
    if (pp->line.count == 0 || pp->line.tokens[0].kind != ACCEL__TOKEN_IDENTIFIER) {
        accel__pp_error(pp, name, "#%.*s needs a macro's name", (int)name->size, name->text);
        return false;
    }
    expect_end(pp, name, 1);
    return accel__macro_find(pp, &pp->line.tokens[0]) != NULL;
}

static void begin_conditional(accel__preprocessor *pp, const accel__token *name)
{
    void *conditionals = pp->conditionals;
    if (!accel__pp_reserve(pp, &conditionals, &pp->conditional_capacity, pp->conditional_count,
                           sizeof *pp->conditionals))
        return;
    pp->conditionals = conditionals;
    accel__conditional made = {.file = name->file, .line = name->line};
    made.enclosing_active = !accel__directive_is_skipping(pp);
    if (made.enclosing_active) {
        if (accel__token_is(name, "if"))
            made.active = accel__condition_evaluate(pp, name);
        else
            made.active = operand_is_defined(pp, name) == accel__token_is(name, "ifdef");
    }
    made.taken = made.active;
    pp->conditionals[pp->conditional_count++] = made;
}

/* #elif, #else and #endif. */
static void change_conditional(accel__preprocessor *pp, const accel__token *name)
{
    const accel__source *source = &pp->sources[pp->source_count - 1];
    if (pp->conditional_count == source->conditional_base) {
        accel__pp_error(pp, name, "#%.*s without #if", (int)name->size, name->text);
        return;
    }
    accel__conditional *open = &pp->conditionals[pp->conditional_count - 1];
    if (accel__token_is(name, "endif")) {
        if (open->enclosing_active)
            expect_end(pp, name, 0);
        pp->conditional_count--;
        return;
    }
    if (open->seen_else)
        accel__pp_error(pp, name, "#%.*s behind #else", (int)name->size, name->text);
    open->seen_else |= accel__token_is(name, "else");
    const bool may_begin = open->enclosing_active && !open->taken;
    if (accel__token_is(name, "else"))
        open->active = may_begin;
    else
        open->active = may_begin && accel__condition_evaluate(pp, name);
    open->taken |= open->active;
}

static bool obey_conditional(accel__preprocessor *pp, const accel__token *name)
{
    if (accel__token_is(name, "if") || accel__token_is(name, "ifdef") ||
        accel__token_is(name, "ifndef"))
        begin_conditional(pp, name);
    else if (accel__token_is(name, "elif") || accel__token_is(name, "else") ||
             accel__token_is(name, "endif"))
        change_conditional(pp, name);
    else
        return false;
    return true;
}

/* ---- #line ---- */

/* A plain decimal number up to 2147483647. */
static bool read_line_number(const accel__token *token, uint32_t *out_number)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < token->size; i++) {
        if (token->text[i] < '0' || token->text[i] > '9' || number > INT32_MAX)
            return false;
        number = number * 10 + (uint64_t)(token->text[i] - '0');
    }
    *out_number = (uint32_t)number;
    return token->kind == ACCEL__TOKEN_NUMBER && number <= INT32_MAX;
}

/* The content of a string constant: \x stands for x, \n for a line end. */
static void unquote(const accel__token *token, accel__text *out_text)
{
    for (uint32_t i = 1; i + 1 < token->size; i++) {
        char c = token->text[i];
        if (c == '\\' && i + 2 < token->size)
            c = token->text[++i] == 'n' ? '\n' : token->text[i];
        accel__text_append_char(out_text, c);
    }
}

/* `line` is NUMBER ["FILE" …], already expanded. The line behind the directive gets the number. */
static void set_line(accel__preprocessor *pp, const accel__token *name,
                     const accel__token_list *line)
{
    uint32_t number = 0;
    if (line->count == 0 || !read_line_number(&line->tokens[0], &number)) {
        accel__pp_error(pp, name, "#line needs a number from 0 to 2147483647");
        return;
    }
    if (line->count > 1 && line->tokens[1].kind != ACCEL__TOKEN_STRING) {
        accel__pp_error(pp, name, "behind the number of #line only a file name may stand");
        return;
    }
    accel__source *source = &pp->sources[pp->source_count - 1];
    if (line->count > 1) {
        accel__text file = {0};
        unquote(&line->tokens[1], &file);
        if (file.failed)
            accel__pp_out_of_memory(pp);
        else
            accel__pp_file_index(pp, accel__text_string(&file), &source->file);
        accel__text_release(&file);
    }
    source->line_offset = number - source->lexer.line;
}

static void obey_line(accel__preprocessor *pp, const accel__token *name)
{
    accel__token_list expanded = {0};
    if (accel__expand_isolated(pp, pp->line.tokens, pp->line.count, &expanded))
        set_line(pp, name, &expanded);
    accel__pp_release_tokens(pp, &expanded);
}

/* ---- the others ---- */

/* True: out_token is what the parser gets. */
static bool obey_pragma(accel__preprocessor *pp, const accel__token *name, accel__token *out_token)
{
    if (pp->line.count == 1 && accel__token_is(&pp->line.tokens[0], "once")) {
        accel__include_once(pp);
        return false;
    }
    accel__text text = {0};
    accel__pp_spell(pp, pp->line.tokens, pp->line.count, &text);
    *out_token = *name;
    out_token->kind = ACCEL__TOKEN_PRAGMA;
    out_token->space_before = ACCEL__TOKEN_SPACE;
    out_token->text = accel__pp_keep_text(pp, &text);
    out_token->size = (uint32_t)text.size;
    accel__text_release(&text);
    return out_token->text != NULL;
}

static void obey_message(accel__preprocessor *pp, const accel__token *name)
{
    accel__text text = {0};
    if (accel__pp_spell(pp, pp->line.tokens, pp->line.count, &text)) {
        if (accel__token_is(name, "error"))
            accel__pp_error(pp, name, "#error %s", accel__text_string(&text));
        else
            accel__pp_warning(pp, name, "#warning %s", accel__text_string(&text));
    }
    accel__text_release(&text);
}

/* A directive outside skipped groups that is no conditional; its line is in pp->line. */
static bool obey_active(accel__preprocessor *pp, const accel__token *name, accel__token *out_token)
{
    if (accel__token_is(name, "pragma"))
        return obey_pragma(pp, name, out_token);
    if (accel__token_is(name, "define"))
        accel__macro_define(pp, name, false);
    else if (accel__token_is(name, "undef"))
        accel__macro_undefine(pp, name);
    else if (accel__token_is(name, "error") || accel__token_is(name, "warning"))
        obey_message(pp, name);
    else if (accel__token_is(name, "line"))
        obey_line(pp, name);
    else
        accel__pp_error(pp, name, "unknown directive #%.*s", (int)name->size, name->text);
    return false;
}

bool accel__directive_obey(accel__preprocessor *pp, const accel__token *hash,
                           accel__token *out_token)
{
    accel__token name;
    accel__source_lex(pp, &name);
    if (name.kind == ACCEL__TOKEN_NEWLINE || name.kind == ACCEL__TOKEN_END)
        return false; /* the null directive */
    const bool skipping = accel__directive_is_skipping(pp);
    if (!skipping && accel__token_is(&name, "include")) {
        accel__include_obey(pp, &name);
        return false;
    }
    accel__source_read_line(pp);
    if (pp->fatal || obey_conditional(pp, &name) || skipping)
        return false;
    if (name.kind == ACCEL__TOKEN_NUMBER) { /* # 7 "file": #line as other preprocessors print it */
        accel__token_list line = {0};
        if (accel__pp_add_token(pp, &line, &name) &&
            (pp->line.count == 0 || accel__pp_add_token(pp, &line, &pp->line.tokens[0])))
            set_line(pp, hash, &line);
        accel__pp_release_tokens(pp, &line);
        return false;
    }
    return obey_active(pp, &name, out_token);
}
