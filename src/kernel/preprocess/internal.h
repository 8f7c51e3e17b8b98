/* internal.h: what the files of the preprocessor share.
 *
 * How tokens flow: accel__source_read takes them from the stack of open files, obeying directives;
 * accel__expand_next takes them from the stack of running expansions, or else from the files, and
 * replaces macros; preprocess/preprocess.c puts what comes out into the unit.
 *
 * A macro is `expanding` exactly while one of its expansions is on the stack; its name met then is
 * marked NO_EXPAND for good ("painted blue"), so expansion ends. What remains is size: every token
 * held or read is counted, and a limit passed is an error of the source (accel__preprocessor.fatal),
 * never exhausted memory.
 *
 * Any failure that makes going on senseless sets `fatal`; from then on only END tokens are read. */
#ifndef ACCEL_KERNEL_PREPROCESS_INTERNAL_H
#define ACCEL_KERNEL_PREPROCESS_INTERNAL_H

#include <accel/kernel.h>
#include <stdarg.h>
#include <sys/types.h>

#include "kernel/lex/arena.h"
#include "kernel/lex/diagnostic.h"
#include "kernel/lex/lex.h"
#include "kernel/lex/token.h"

enum {
    ACCEL__LIMIT_INCLUDE_DEPTH = 64,
    ACCEL__LIMIT_INCLUSIONS = 16 * 1024,
    ACCEL__LIMIT_CALL_DEPTH = 200, /* macro calls in arguments of macro calls, and #if nesting */
    ACCEL__LIMIT_ERRORS = 100
};

/* Variable only because reaching them takes a test under a sanitizer half a minute. */
typedef struct accel__preprocess_limits {
    size_t tokens; /* held at once: unit, macros, running expansions */
    size_t steps;  /* tokens read from files and expansions */
    size_t text;   /* bytes of files, # and ## results */
} accel__preprocess_limits;

extern accel__preprocess_limits accel__preprocess_limit;

typedef struct accel__token_list {
    accel__token *tokens;
    size_t count;
    size_t capacity;
} accel__token_list;

typedef enum accel__macro_special {
    ACCEL__MACRO_ORDINARY = 0,
    ACCEL__MACRO_FILE,
    ACCEL__MACRO_LINE
} accel__macro_special;

/* In the arena, never freed before the end: #undef only takes it off its name. */
typedef struct accel__macro {
    accel__macro_special special;
    bool function_like;
    bool variadic; /* the last parameter takes the rest */
    bool expanding;
    uint32_t param_count;
    uint32_t body_count;
    const accel__token *params;
    const accel__token *body; /* the bits of lex/lex.h; # and ## themselves are gone */
    uint32_t file;            /* where it was defined */
    uint32_t line;
} accel__macro;

typedef struct accel__macro_slot {
    const char *name; /* NULL: free */
    uint32_t size;
    accel__macro *macro; /* NULL: undefined again */
} accel__macro_slot;

typedef struct accel__macro_table {
    accel__macro_slot *slots; /* open addressing; capacity is a power of two, at most half full */
    size_t capacity;
    size_t count;
} accel__macro_table;

/* One running expansion: tokens still to be read. */
typedef struct accel__expansion {
    accel__token_list list;
    size_t at;
    accel__macro *macro; /* may be NULL */
    bool barrier;        /* END is read at its end, until accel__expand_isolated takes it off */
} accel__expansion;

/* One #if … #endif. */
typedef struct accel__conditional {
    uint32_t file;
    uint32_t line;
    bool enclosing_active;
    bool active;
    bool taken; /* some group was active: #elif and #else are not */
    bool seen_else;
} accel__conditional;

typedef struct accel__file_identity {
    dev_t device;
    ino_t inode;
} accel__file_identity;

/* One open file. */
typedef struct accel__source {
    accel__lexer lexer;
    uint32_t file;                 /* index of the name to report; #line may change it */
    uint32_t line_offset;          /* added to the physical line (modulo 2^32); #line changes it */
    const char *directory;         /* where #include "…" looks first; NULL: nowhere */
    accel__file_identity identity; /* of what was included */
    bool has_identity;
    size_t conditional_base;
    bool inside_line; /* a token was read since the line began: # is no directive */
} accel__source;

/* A macro's call does not reach beyond the end of the file where it begins. */
typedef enum accel__call_state {
    ACCEL__CALL_NONE = 0,
    ACCEL__CALL_LOOKING,   /* for the "(" behind the name */
    ACCEL__CALL_COLLECTING /* arguments */
} accel__call_state;

typedef struct accel__preprocessor {
    const accel_module_options *options; /* may be NULL */
    accel__diagnostics *diagnostics;
    bool fatal;

    accel__arena *arena; /* becomes unit->storage */
    accel__token_list unit;
    char **files; /* names, in the arena */
    uint32_t file_count;
    size_t file_capacity;

    accel__macro_table macros;
    accel__expansion *expansions; /* a stack */
    size_t expansion_count;
    size_t expansion_capacity;
    accel__source *sources; /* a stack; [0] is the main file */
    size_t source_count;
    size_t source_capacity;
    accel__conditional *conditionals; /* a stack */
    size_t conditional_count;
    size_t conditional_capacity;
    accel__file_identity *once; /* files that said #pragma once */
    size_t once_count;
    size_t once_capacity;
    accel__token_list line; /* the directive's line, END not included */

    accel__call_state call_state;
    uint32_t call_depth;
    size_t held;  /* tokens in all lists and bodies */
    size_t steps; /* tokens read */
    size_t text;  /* bytes */
    size_t inclusions;
} accel__preprocessor;

/* preprocess/store.c: lists, limits, messages. Each bool is false once `fatal` is set. */
bool accel__pp_out_of_memory(accel__preprocessor *pp);
bool accel__pp_add_token(accel__preprocessor *pp, accel__token_list *list,
                         const accel__token *token);
void accel__pp_release_tokens(accel__preprocessor *pp, accel__token_list *list);
bool accel__pp_count_text(accel__preprocessor *pp, size_t size);
bool accel__pp_file_index(accel__preprocessor *pp, const char *name, uint32_t *out_index);
/* Tokens as text: a blank where white space stood. False: no memory, `fatal` is set. */
bool accel__pp_spell(accel__preprocessor *pp, const accel__token *tokens, size_t count,
                     accel__text *out_text);
/* A counted copy that lives as long as the unit; NULL: `fatal` is set. */
const char *accel__pp_keep_text(accel__preprocessor *pp, const accel__text *text);
/* Room for one more item at the end of a stack. */
bool accel__pp_reserve(accel__preprocessor *pp, void **items, size_t *capacity, size_t count,
                       size_t item_size);
void accel__pp_error(accel__preprocessor *pp, const accel__token *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void accel__pp_warning(accel__preprocessor *pp, const accel__token *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A limit was passed: an error, and fatal. False, for `return`. */
bool accel__pp_limit(accel__preprocessor *pp, const accel__token *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* preprocess/macro.c */
accel__macro *accel__macro_find(const accel__preprocessor *pp, const accel__token *name);
bool accel__macro_add_specials(accel__preprocessor *pp);
/* pp->line is what stands behind "#define" / "#undef"; `directive` is where. */
void accel__macro_define(accel__preprocessor *pp, const accel__token *directive, bool replace);
void accel__macro_undefine(accel__preprocessor *pp, const accel__token *directive);

/* preprocess/expand.c */
void accel__expand_next(accel__preprocessor *pp, accel__token *out_token);
/* Without replacing macros. */
void accel__expand_read(accel__preprocessor *pp, accel__token *out_token);
/* From here to the matching end only `tokens` (copied) are read, then END. */
bool accel__expand_begin_isolated(accel__preprocessor *pp, const accel__token *tokens,
                                  size_t count);
void accel__expand_end_isolated(accel__preprocessor *pp);
/* `tokens` fully expanded, appended to out_list. */
bool accel__expand_isolated(accel__preprocessor *pp, const accel__token *tokens, size_t count,
                            accel__token_list *out_list);
void accel__expand_release(accel__preprocessor *pp);

/* preprocess/call.c: arguments and bodies. */
/* Replaces `name`, whose call's "(" was read already where the macro is function-like. False: an
 * error was diagnosed, there is nothing to read. */
bool accel__macro_substitute(accel__preprocessor *pp, const accel__macro *macro,
                             const accel__token *name, accel__token_list *out_list);

/* preprocess/paste.c: the operators # and ##. */
bool accel__macro_stringize(accel__preprocessor *pp, const accel__token *tokens, size_t count,
                            accel__token *out_token);
/* A string constant with that content. */
bool accel__macro_quote(accel__preprocessor *pp, const char *string, accel__token *out_token);
bool accel__macro_paste(accel__preprocessor *pp, const accel__token *where,
                        const accel__token *left, const accel__token *right,
                        accel__token *out_token);

/* preprocess/source.c: the stack of files. */
bool accel__source_push(accel__preprocessor *pp, const char *bytes, size_t size, const char *name,
                        const char *directory);
void accel__source_pop(accel__preprocessor *pp);
/* The next token of the open files outside directives and skipped groups. */
void accel__source_read(accel__preprocessor *pp, accel__token *out_token);
/* One token, stamped with file and line as they are reported. */
void accel__source_lex(accel__preprocessor *pp, accel__token *out_token);
/* The rest of the line into pp->line. */
void accel__source_read_line(accel__preprocessor *pp);

/* preprocess/directive.c: obeys the directive behind `hash`. True: out_token is a PRAGMA token. */
bool accel__directive_obey(accel__preprocessor *pp, const accel__token *hash,
                           accel__token *out_token);
bool accel__directive_is_skipping(const accel__preprocessor *pp);

/* preprocess/condition.c: the value of pp->line as the expression of #if; false after an error. */
bool accel__condition_evaluate(accel__preprocessor *pp, const accel__token *directive);

/* preprocess/include.c: opens what the directive's line names. */
void accel__include_obey(accel__preprocessor *pp, const accel__token *directive);
void accel__include_once(accel__preprocessor *pp);

#endif
