/* snapshot_value.h: plain data as it came out of a snapshot's file, before its meaning is known: a tree
 * of numbers, texts, lists and dictionaries, made by the pickle reader and by the JSON reader, read by
 * snapshot_read.c.
 *
 * What a hostile file makes may be anything: a value may stand in many places, even within itself.
 * Nothing here follows such links by itself, everything lies in one store, and readers pay for each
 * step from the store's budget, so that a small file cannot keep one busy for ever. */
#ifndef ACCEL_CLI_SNAPSHOT_VALUE_H
#define ACCEL_CLI_SNAPSHOT_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum accel__value_kind {
    ACCEL__VALUE_NONE,
    ACCEL__VALUE_BOOLEAN,
    ACCEL__VALUE_INTEGER,
    ACCEL__VALUE_BIG, /* an integer beyond 64 bits: no key of a snapshot has one */
    ACCEL__VALUE_REAL,
    ACCEL__VALUE_TEXT,
    ACCEL__VALUE_BYTES,
    ACCEL__VALUE_LIST, /* tuples too */
    ACCEL__VALUE_DICTIONARY
} accel__value_kind;

typedef struct accel__value accel__value;

struct accel__value {
    accel__value_kind kind;
    uint32_t mark; /* 0, or what the reader of this kind of part remembers of it */
    size_t count; /* bytes of a text; items of a list; keys and values, together, of a dictionary */
    size_t capacity;
    union {
        bool boolean;
        int64_t integer;
        double real;
        const char *text; /* ends with a NUL that is not counted; may have others inside */
        accel__value **items;
    } as;
};

/* Why a file was refused: "what; what to do". */
typedef struct accel__snapshot_problem {
    char text[320];
} accel__snapshot_problem;

/* Writes the text; false, for the caller to return. */
bool accel__snapshot_refuse(accel__snapshot_problem *problem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As above, for want of memory. */
bool accel__snapshot_refuse_memory(accel__snapshot_problem *problem);

/* A hash of a number, with a seed that no file can know: one that is made of collisions is slow nowhere. */
uint64_t accel__snapshot_hash(uint64_t value);

typedef struct accel__value_chunk accel__value_chunk;

/* Where values live; a zeroed one is empty. */
typedef struct accel__value_store {
    accel__value_chunk *chunks; /* the newest first */
    size_t used;                /* bytes taken from the newest */
    size_t total;               /* bytes of all chunks */
    uint64_t budget;            /* steps that readers may still take */
} accel__value_store;

void accel__value_store_release(accel__value_store *store);

/* Zeroed memory, aligned for any value; NULL where memory ran out. */
void *accel__value_store_take(accel__value_store *store, size_t size);

/* New values; NULL where memory ran out. The text is copied. */
accel__value *accel__value_new(accel__value_store *store, accel__value_kind kind);
accel__value *accel__value_new_integer(accel__value_store *store, int64_t integer);
accel__value *accel__value_new_text(accel__value_store *store, const char *text, size_t size);

/* Appends items to a list, or keys and values to a dictionary. False: memory ran out. */
bool accel__value_append(accel__value_store *store, accel__value *value, accel__value *const *items,
                         size_t count);

/* Pays `steps` from the budget; false where it is used up. */
bool accel__value_store_pay(accel__value_store *store, size_t steps);

/* The value of a text key, the last one where several are the same, as in Python; NULL where there is
 * none, and where the budget is used up. */
accel__value *accel__value_get(accel__value_store *store, const accel__value *dictionary,
                               const char *key);

/* "a list", "a number", … for messages. */
const char *accel__value_kind_text(const accel__value *value);

#endif
