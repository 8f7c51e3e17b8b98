/* document.h: writes maps, lists, words and numbers as JSON or as a Python pickle, into a file. One
 * walk over a snapshot (snapshot_write.c) serves both.
 *
 * In a map a key (accel__document_word) comes before each value. Words are string constants of the
 * program: the pickle has each once. What is in a slot is written once and shared: the pickle
 * refers to it, JSON repeats its text. */
#ifndef ACCEL_MEMORY_SNAPSHOT_DOCUMENT_H
#define ACCEL_MEMORY_SNAPSHOT_DOCUMENT_H

#include <accel/status.h>

#include "base/text.h"
#include "platform/new_file.h"

typedef enum accel__document_format {
    ACCEL__DOCUMENT_PICKLE,
    ACCEL__DOCUMENT_JSON
} accel__document_format;

enum { ACCEL__DOCUMENT_DEPTH = 16, ACCEL__DOCUMENT_WORDS = 128 };

typedef struct accel__document_level {
    size_t count; /* of values and keys; the pickle's: since the last mark */
    bool is_map;
    bool is_separated; /* JSON: what separates the next value from the last is written already */
} accel__document_level;

/* Where a slot's contents are: the pickle's number in the memo; JSON's place in `kept`. */
typedef struct accel__document_slot {
    bool is_filled;
    size_t place;
    size_t size;
} accel__document_slot;

typedef struct accel__document {
    const struct accel__document_ops *ops;
    accel__new_file *file;
    accel__document_level levels[ACCEL__DOCUMENT_DEPTH];
    int depth;

    accel__document_slot *slots;
    size_t slot_count;
    int filling;      /* slots that are being filled, one inside of the other */
    accel__text kept; /* JSON: the text of slots */

    uint32_t memo_count;
    const char *words[ACCEL__DOCUMENT_WORDS]; /* the pickle's, by address */
    uint32_t word_memo[ACCEL__DOCUMENT_WORDS];
} accel__document;

typedef struct accel__document_ops {
    void (*begin)(accel__document *document);
    void (*end)(accel__document *document);
    void (*begin_group)(accel__document *document, bool is_map);
    void (*end_group)(accel__document *document, bool is_map);
    void (*word)(accel__document *document, const char *word);
    void (*string)(accel__document *document, const char *text, size_t size); /* UTF-8 */
    void (*integer)(accel__document *document, int64_t value);
    void (*number)(accel__document *document, double value);
    void (*boolean)(accel__document *document, bool value);
    void (*pair)(accel__document *document, const uint64_t values[2]);
    void (*recall)(accel__document *document, const accel__document_slot *slot);
    void (*keep)(accel__document *document, accel__document_slot *slot, bool is_begin);
} accel__document_ops;

extern const accel__document_ops accel__document_pickle;
extern const accel__document_ops accel__document_json;

/* False: no host memory. */
bool accel__document_open(accel__document *document, accel__document_format format,
                          accel__new_file *file, size_t slot_count);
/* Ends the document, not the file. False: there was too little host memory on the way. */
bool accel__document_close(accel__document *document);

static inline void accel__document_begin_map(accel__document *document)
{
    document->ops->begin_group(document, true);
}

static inline void accel__document_end_map(accel__document *document)
{
    document->ops->end_group(document, true);
}

static inline void accel__document_begin_list(accel__document *document)
{
    document->ops->begin_group(document, false);
}

static inline void accel__document_end_list(accel__document *document)
{
    document->ops->end_group(document, false);
}

static inline void accel__document_word(accel__document *document, const char *word)
{
    document->ops->word(document, word);
}

/* Any bytes; what is no UTF-8 becomes U+FFFD. */
void accel__document_string(accel__document *document, const char *text);

static inline void accel__document_integer(accel__document *document, int64_t value)
{
    document->ops->integer(document, value);
}

static inline void accel__document_boolean(accel__document *document, bool value)
{
    document->ops->boolean(document, value);
}

/* A finite one. */
static inline void accel__document_number(accel__document *document, double value)
{
    document->ops->number(document, value);
}

static inline void accel__document_pair(accel__document *document, const uint64_t values[2])
{
    document->ops->pair(document, values);
}

/* True: the slot's contents were written. False: the caller writes them and calls
 * accel__document_fill_end. */
bool accel__document_recall(accel__document *document, size_t slot);
void accel__document_fill_end(accel__document *document, size_t slot);

/* For the formats: bytes to the file, or to where slots are kept while one is filled. */
void accel__document_put(accel__document *document, const void *bytes, size_t size);

#endif
