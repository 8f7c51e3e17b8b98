/* print.c: a unit as text. Reading the text again gives the same tokens at the same
 * places: a blank stands wherever two tokens would run together, and #line wherever the place
 * jumps. Emitters that keep the source's own text print it with edits. */
#include <string.h>

#include "kernel/preprocess/preprocess.h"

/* A jump ahead of at most so many lines is printed as empty lines, which reads better. */
enum { MOST_EMPTY_LINES = 8 };

typedef struct printing {
    const accel__unit *unit;
    accel__text *text;
    uint32_t file; /* of the line being printed */
    uint32_t line;
    bool is_begun;            /* something stands on this line */
    const accel__token *last; /* on this line */
} printing;

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Could the two be read as other tokens when nothing stands between them? May say yes too often. */
static bool would_join(const accel__token *left, const accel__token *right)
{
    if (left->size == 0 || right->size == 0)
        return false;
    const char end = left->text[left->size - 1];
    const char begin = right->text[0];
    if (left->kind == ACCEL__TOKEN_NUMBER)
        return is_word_byte(begin) || begin == '.' || begin == '+' || begin == '-';
    if (is_word_byte(end))
        return is_word_byte(begin) || begin == '"' || begin == '\'';
    if (left->kind != ACCEL__TOKEN_PUNCTUATOR || strchr("()[]{};,?~", end) != NULL)
        return false;
    return (right->kind == ACCEL__TOKEN_PUNCTUATOR && strchr("()[]{};,?~", begin) == NULL) ||
           (end == '.' && is_word_byte(begin));
}

static void print_line_directive(printing *now, const accel__token *token)
{
    accel__text *text = now->text;
    accel__text_format(text, "#line %u \"", (unsigned)token->line);
    for (const char *c = now->unit->files[token->file]; *c != '\0'; c++) {
        if (*c == '\\' || *c == '"')
            accel__text_append_char(text, '\\');
        if (*c == '\n')
            accel__text_append_string(text, "\\n");
        else
            accel__text_append_char(text, *c);
    }
    accel__text_append_string(text, "\"\n");
}

static void end_line(printing *now)
{
    if (now->is_begun) {
        accel__text_append_char(now->text, '\n');
        now->line++;
    }
    now->is_begun = false;
    now->last = NULL;
}

/* Brings the output to the token's file and line. */
static void move_to(printing *now, const accel__token *token)
{
    const bool same_file = now->file == token->file;
    if (same_file && now->line == token->line)
        return;
    end_line(now);
    if (!same_file || token->line < now->line || token->line - now->line > MOST_EMPTY_LINES)
        print_line_directive(now, token);
    else
        for (uint32_t line = now->line; line < token->line; line++)
            accel__text_append_char(now->text, '\n');
    now->file = token->file;
    now->line = token->line;
}

static void print_token(printing *now, const accel__token *token)
{
    const bool is_pragma = token->kind == ACCEL__TOKEN_PRAGMA;
    move_to(now, token);
    if (is_pragma && now->is_begun) { /* its own line, which bears the same number */
        end_line(now);
        move_to(now, token);
    }
    if (is_pragma)
        accel__text_append_string(now->text, "#pragma ");
    else if (now->last != NULL && (token->space_before != 0 || would_join(now->last, token)))
        accel__text_append_char(now->text, ' ');
    accel__text_append(now->text, token->text, token->size);
    now->is_begun = true;
    now->last = token;
    if (is_pragma)
        end_line(now);
}

/* Text of an edit, with blanks around it: it joins with no token. */
static void print_inserted(printing *now, const accel__token *token, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    move_to(now, token);
    if (now->is_begun)
        accel__text_append_char(now->text, ' ');
    accel__text_append_string(now->text, text);
    accel__text_append_char(now->text, ' ');
    now->is_begun = true;
    now->last = NULL;
}

static void print_edited(printing *now, const accel__token *token, const accel__unit_edit *edit)
{
    print_inserted(now, token, edit->before);
    if (edit->instead == NULL)
        print_token(now, token);
    else
        print_inserted(now, token, edit->instead);
    print_inserted(now, token, edit->after);
}

void accel__unit_print(const accel__unit *unit, const accel__unit_edit *edits,
                       accel__text *out_text)
{
    static const accel__unit_edit none;
    printing now = {.unit = unit, .text = out_text, .file = UINT32_MAX};
    for (size_t i = 0; i + 1 < unit->token_count; i++)
        print_edited(&now, &unit->tokens[i], edits != NULL ? &edits[i] : &none);
    end_line(&now);
}
