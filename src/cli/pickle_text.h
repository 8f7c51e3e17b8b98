/* pickle_text.h: the operands of pickle opcodes that are written as text, mostly of protocol 0. Called
 * by pickle.c. Each is given without its line's end. */
#ifndef ACCEL_CLI_PICKLE_TEXT_H
#define ACCEL_CLI_PICKLE_TEXT_H

#include "cli/snapshot_value.h"

typedef enum accel__pickle_text {
    ACCEL__PICKLE_TEXT_GOOD,
    ACCEL__PICKLE_TEXT_BAD,
    ACCEL__PICKLE_TEXT_NO_MEMORY
} accel__pickle_text;

/* "-17", "17L", and 00 and 01, which are booleans where `booleans` says so. */
accel__pickle_text accel__pickle_text_integer(accel__value_store *store, const char *line,
                                              size_t size, bool booleans, accel__value **out_value);

/* "1.5e-7" */
accel__pickle_text accel__pickle_text_real(accel__value_store *store, const char *line, size_t size,
                                           accel__value **out_value);

/* A quoted text of Python 2: 'it\'s\x20so' */
accel__pickle_text accel__pickle_text_quoted(accel__value_store *store, const char *line,
                                             size_t size, accel__value **out_value);

/* Latin-1 with \uXXXX and \UXXXXXXXX */
accel__pickle_text accel__pickle_text_unicode(accel__value_store *store, const char *line,
                                              size_t size, accel__value **out_value);

/* An index of the memo: digits alone. */
bool accel__pickle_text_index(const char *line, size_t size, uint64_t *out_index);

#endif
