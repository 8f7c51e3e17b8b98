/* lex.h: translation phases 1 to 3 of portable source: line ends and continuation lines, then
 * comments and preprocessing tokens. It never fails on what it reads: what is no token comes out as
 * ACCEL__TOKEN_OTHER, and the preprocessor refuses it where it matters (not in skipped groups).
 * Used by the preprocessor only; knows no locale. */
#ifndef ACCEL_KERNEL_LEX_H
#define ACCEL_KERNEL_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/lex/arena.h"
#include "kernel/lex/token.h"

/* Kinds that never reach a unit. */
enum {
    ACCEL__TOKEN_NEWLINE = 16,
    ACCEL__TOKEN_OTHER,        /* a stray byte, a lone quote, or a run of non-ASCII bytes */
    ACCEL__TOKEN_OPEN_COMMENT, /* a comment without its end; END comes next */
    ACCEL__TOKEN_PLACEMARKER   /* an empty macro argument beside ## */
};

/* Bits of accel__token.space_before inside the preprocessor; only the first leaves it. */
enum {
    ACCEL__TOKEN_SPACE = 1,
    ACCEL__TOKEN_NO_EXPAND = 2,  /* a macro's name found inside its own expansion: stays a name */
    ACCEL__TOKEN_STRINGIZE = 4,  /* in a macro's body: the # operator stood before this parameter */
    ACCEL__TOKEN_PASTE_NEXT = 8, /* in a macro's body: the ## operator stood behind this token */
    ACCEL__TOKEN_PARAM = 16      /* in a macro's body: `line` is the index of a parameter */
};

typedef struct accel__lexer {
    const char *text; /* phases 1 and 2 done; ends with a newline and a NUL */
    size_t size;      /* without the NUL */
    size_t at;
    const uint32_t *splices; /* places in `text` where a continuation line was joined, ascending */
    size_t splice_count;
    size_t next_splice;
    uint32_t line; /* physical line at `at`, 1-based */
} accel__lexer;

typedef enum accel__lex_opened {
    ACCEL__LEX_OPENED = 0,
    ACCEL__LEX_OPENED_NUL, /* a NUL byte in the text; lexer->line is its line */
    ACCEL__LEX_OPENED_NO_MEMORY
} accel__lex_opened;

/* Starts on a copy of `bytes` in the arena. */
accel__lex_opened accel__lexer_open(accel__lexer *lexer, accel__arena *arena, const char *bytes,
                                    size_t size);

/* The next token; `line` is the physical line and `file` is 0. END stays END. */
void accel__lexer_next(accel__lexer *lexer, accel__token *out_token);

/* Behind #include: "name" or <name> as one STRING token with its delimiters, in which a backslash
 * is an ordinary character. False (nothing consumed but blanks) where neither stands there. */
bool accel__lexer_header_name(accel__lexer *lexer, accel__token *out_token);

bool accel__token_is(const accel__token *token, const char *punctuator_or_name);

#endif
