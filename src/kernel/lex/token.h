/* token.h: what the preprocessor hands the parser: the tokens of a translation unit after macro
 * expansion and inclusion, each with the user's file and line. */
#ifndef ACCEL_KERNEL_TOKEN_H
#define ACCEL_KERNEL_TOKEN_H

#include <stddef.h>
#include <stdint.h>

typedef enum accel__token_kind {
    ACCEL__TOKEN_END = 0,    /* one, last */
    ACCEL__TOKEN_IDENTIFIER, /* keywords too: the parser knows them */
    ACCEL__TOKEN_NUMBER,     /* a preprocessing number, spelled as in the source */
    ACCEL__TOKEN_CHARACTER,  /* 'c', with its quotes */
    ACCEL__TOKEN_STRING,     /* "…", with its quotes */
    ACCEL__TOKEN_PUNCTUATOR, /* longest match: "<<=" is one token */
    ACCEL__TOKEN_PRAGMA      /* the rest of a #pragma line, without "#pragma" */
} accel__token_kind;

typedef struct accel__token {
    const char *text; /* not NUL-terminated; lent by the unit */
    uint32_t size;
    uint16_t kind;         /* accel__token_kind */
    uint16_t space_before; /* 1: white space stood before it */
    uint32_t file;         /* index into the unit's files */
    uint32_t line;         /* 1-based; of the macro's use for tokens that come from a macro */
} accel__token;

typedef struct accel__unit {
    accel__token *tokens; /* the last one is ACCEL__TOKEN_END */
    size_t token_count;   /* END included */
    char **files;         /* names as they stand in messages; [0] is the main file */
    uint32_t file_count;
    void *storage; /* owned by the preprocessor: what the tokens' text points into */
} accel__unit;

#endif
