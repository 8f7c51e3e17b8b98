/* document_pickle.c: the form that Python's pickle module reads, protocol 4, unframed. Only opcodes
 * that the unpickler inside PyTorch's viewer knows are used, and lists are extended by 1000 values
 * at once at most, as that one puts them on a stack. */
#include <string.h>

#include "memory/snapshot/document.h"

enum {
    OP_PROTO = 0x80,
    OP_STOP = '.',
    OP_MARK = '(',
    OP_EMPTY_LIST = ']',
    OP_EMPTY_DICT = '}',
    OP_APPENDS = 'e',
    OP_SETITEMS = 'u',
    OP_BININT = 'J',
    OP_BININT1 = 'K',
    OP_BININT2 = 'M',
    OP_LONG1 = 0x8a,
    OP_BINFLOAT = 'G',
    OP_NEWTRUE = 0x88,
    OP_NEWFALSE = 0x89,
    OP_TUPLE2 = 0x86,
    OP_SHORT_BINUNICODE = 0x8c,
    OP_BINUNICODE = 'X',
    OP_MEMOIZE = 0x94,
    OP_BINGET = 'h',
    OP_LONG_BINGET = 'j'
};

enum { BATCH = 1000 };

static void put_op(accel__document *document, int op)
{
    const unsigned char byte = (unsigned char)op;
    accel__document_put(document, &byte, 1);
}

/* An opcode and the `size` lowest bytes of a number, lowest first. */
static void put_op_number(accel__document *document, int op, uint64_t value, size_t size)
{
    unsigned char bytes[9] = {(unsigned char)op};
    for (size_t i = 0; i < size; i++)
        bytes[1 + i] = (unsigned char)(value >> 8 * i);
    accel__document_put(document, bytes, 1 + size);
}

static void end_batch(accel__document *document, accel__document_level *level)
{
    if (level->count != 0)
        put_op(document, level->is_map ? OP_SETITEMS : OP_APPENDS);
    level->count = 0;
}

/* Before each value of a group, and each key. */
static void precede(accel__document *document)
{
    accel__document_level *level = &document->levels[document->depth];
    if (document->depth == 0)
        return;
    if (level->count == BATCH)
        end_batch(document, level);
    if (level->count++ == 0)
        put_op(document, OP_MARK);
}

static void begin(accel__document *document)
{
    put_op_number(document, OP_PROTO, 4, 1);
}

static void end(accel__document *document)
{
    put_op(document, OP_STOP);
}

static void begin_group(accel__document *document, bool is_map)
{
    precede(document);
    put_op(document, is_map ? OP_EMPTY_DICT : OP_EMPTY_LIST);
    document->levels[++document->depth] = (accel__document_level){.is_map = is_map};
}

static void end_group(accel__document *document, bool is_map)
{
    (void)is_map;
    end_batch(document, &document->levels[document->depth]);
    document->depth--;
}

/* What is on the top gets the next number of the memo. */
static uint32_t memoize(accel__document *document)
{
    put_op(document, OP_MEMOIZE);
    return document->memo_count++;
}

static void get(accel__document *document, uint32_t memo)
{
    if (memo <= 0xff)
        put_op_number(document, OP_BINGET, memo, 1);
    else
        put_op_number(document, OP_LONG_BINGET, memo, 4);
}

static void put_text(accel__document *document, const char *text, size_t size)
{
    if (size <= 0xff)
        put_op_number(document, OP_SHORT_BINUNICODE, size, 1);
    else
        put_op_number(document, OP_BINUNICODE, size, 4);
    accel__document_put(document, text, size);
}

/* Longer ones than the format's own limit for this opcode do not occur: paths, names and settings. */
static void string(accel__document *document, const char *text, size_t size)
{
    precede(document);
    put_text(document, text, size);
}

static void word(accel__document *document, const char *text)
{
    size_t place = (size_t)((uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15) >> 32) %
                   ACCEL__DOCUMENT_WORDS;
    precede(document);
    for (int tries = 0; tries < ACCEL__DOCUMENT_WORDS; tries++) {
        if (document->words[place] == text) {
            get(document, document->word_memo[place]);
            return;
        }
        if (document->words[place] == NULL) {
            put_text(document, text, strlen(text));
            document->words[place] = text;
            document->word_memo[place] = memoize(document);
            return;
        }
        place = (place + 1) % ACCEL__DOCUMENT_WORDS;
    }
    put_text(document, text, strlen(text)); /* more words than expected: in full */
}

static void integer(accel__document *document, int64_t value)
{
    size_t size = 1;
    precede(document);
    if (value >= 0 && value <= 0xff) {
        put_op_number(document, OP_BININT1, (uint64_t)value, 1);
    } else if (value >= 0 && value <= 0xffff) {
        put_op_number(document, OP_BININT2, (uint64_t)value, 2);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
        put_op_number(document, OP_BININT, (uint64_t)value, 4);
    } else { /* as many bytes as leave the sign in the highest bit */
        while (size < 8 && (value >> (8 * size - 1)) != 0 && (value >> (8 * size - 1)) != -1)
            size++;
        put_op_number(document, OP_LONG1, size | (uint64_t)value << 8, size < 8 ? size + 1 : 8);
        if (size == 8)
            put_op(document, (int)((uint64_t)value >> 56));
    }
}

static void number(accel__document *document, double value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    precede(document);
    put_op_number(document, OP_BINFLOAT, __builtin_bswap64(bits), 8);
}

static void boolean(accel__document *document, bool value)
{
    precede(document);
    put_op(document, value ? OP_NEWTRUE : OP_NEWFALSE);
}

static void pair(accel__document *document, const uint64_t values[2])
{
    accel__document_level *level = &document->levels[document->depth];
    integer(document, (int64_t)values[0]);
    const size_t count = level->count;
    level->count = 1; /* the second one belongs to the same value: no batch may end between */
    integer(document, (int64_t)values[1]);
    level->count = count;
    put_op(document, OP_TUPLE2);
}

static void recall(accel__document *document, const accel__document_slot *slot)
{
    precede(document);
    get(document, (uint32_t)slot->place);
}

/* Nothing is kept here but the number. */
static void keep(accel__document *document, accel__document_slot *slot, bool is_begin)
{
    if (!is_begin)
        slot->place = memoize(document);
}

const accel__document_ops accel__document_pickle = {
    .begin = begin,
    .end = end,
    .begin_group = begin_group,
    .end_group = end_group,
    .word = word,
    .string = string,
    .integer = integer,
    .number = number,
    .boolean = boolean,
    .pair = pair,
    .recall = recall,
    .keep = keep,
};
