/* paste.c: the operators # and ##, which make new tokens; their text lies in the arena. */
#include <string.h>

#include "kernel/preprocess/internal.h"

/* Inside string and character constants quotes and backslashes need a backslash. */
static void append_escaped(accel__text *text, const accel__token *token)
{
    const bool quoted = token->kind == ACCEL__TOKEN_STRING || token->kind == ACCEL__TOKEN_CHARACTER;
    for (uint32_t i = 0; i < token->size; i++) {
        const char c = token->text[i];
        if ((quoted && c == '\\') || c == '"')
            accel__text_append_char(text, '\\');
        accel__text_append_char(text, c);
    }
}

/* Ends a string constant that `text` begins, and makes it the token's; releases `text`. */
static bool keep_string(accel__preprocessor *pp, accel__text *text, accel__token *out_token)
{
    accel__text_append_char(text, '"');
    out_token->kind = ACCEL__TOKEN_STRING;
    out_token->text = accel__pp_keep_text(pp, text);
    out_token->size = (uint32_t)text->size;
    accel__text_release(text);
    return out_token->text != NULL;
}

bool accel__macro_stringize(accel__preprocessor *pp, const accel__token *tokens, size_t count,
                            accel__token *out_token)
{
    accel__text text = {0};
    accel__text_append_char(&text, '"');
    for (size_t i = 0; i < count; i++) {
        if (i != 0 && (tokens[i].space_before & ACCEL__TOKEN_SPACE) != 0)
            accel__text_append_char(&text, ' ');
        append_escaped(&text, &tokens[i]);
    }
    return keep_string(pp, &text, out_token);
}

bool accel__macro_quote(accel__preprocessor *pp, const char *string, accel__token *out_token)
{
    accel__text text = {0};
    accel__text_append_char(&text, '"');
    for (const char *c = string; *c != '\0'; c++) {
        if (*c == '\\' || *c == '"')
            accel__text_append_char(&text, '\\');
        if (*c == '\n')
            accel__text_append_string(&text, "\\n");
        else
            accel__text_append_char(&text, *c);
    }
    return keep_string(pp, &text, out_token);
}

/* Reads `text` as one token; false where it is none, or more than one. */
static bool lex_whole(const char *text, size_t size, accel__token *out_token)
{
    accel__lexer lexer = {.text = text, .size = size, .line = 1};
    accel__token rest;
    accel__lexer_next(&lexer, out_token);
    accel__lexer_next(&lexer, &rest);
    return rest.kind == ACCEL__TOKEN_NEWLINE && out_token->space_before == 0 &&
           out_token->kind != ACCEL__TOKEN_NEWLINE && out_token->kind != ACCEL__TOKEN_OTHER;
}

bool accel__macro_paste(accel__preprocessor *pp, const accel__token *where,
                        const accel__token *left, const accel__token *right,
                        accel__token *out_token)
{
    if (left->kind == ACCEL__TOKEN_PLACEMARKER || right->kind == ACCEL__TOKEN_PLACEMARKER) {
        *out_token = left->kind == ACCEL__TOKEN_PLACEMARKER ? *right : *left;
        out_token->space_before = left->space_before;
        return true;
    }
    accel__text text = {0};
    accel__text_append(&text, left->text, left->size);
    accel__text_append(&text, right->text, right->size);
    accel__text_append_char(&text, '\n'); /* where the lexer stops */
    const char *kept = accel__pp_keep_text(pp, &text);
    accel__token made = {0};
    const bool whole = kept != NULL && lex_whole(kept, text.size, &made);
    accel__text_release(&text);
    if (kept != NULL && !whole)
        accel__pp_error(pp, where, "pasting \"%.*s\" and \"%.*s\" does not give a token",
                        (int)left->size, left->text, (int)right->size, right->text);
    made.space_before = left->space_before & ACCEL__TOKEN_SPACE;
    *out_token = made;
    return whole;
}
