/* pickle.c: the machine that a pickle is a program for, with the opcodes that make data and without
 * those that make anything happen. See pickle.h.
 *
 * Invariant: an opcode takes memory in proportion to the bytes it has, so that a small file cannot ask
 * for much: the memo's indices, too, are held below the size of the file. The stack never goes below
 * the innermost mark, except by an opcode that takes the mark itself. */
#include "cli/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "cli/pickle_text.h"

typedef struct opcode opcode;

typedef struct machine {
    const uint8_t *bytes;
    size_t size;
    size_t at;        /* of the next byte */
    size_t opcode_at; /* of the opcode that is being run */
    const opcode *op; /* it */
    accel__value_store *store;
    accel__snapshot_problem *problem;
    accel__value **stack;
    size_t count;
    size_t capacity;
    size_t *marks; /* heights of the stack */
    size_t mark_count;
    size_t mark_capacity;
    accel__value **memo; /* NULL: nothing there */
    size_t memo_count;   /* entries that hold something */
    size_t memo_capacity;
    accel__value *result; /* set by STOP */
} machine;

struct opcode {
    const char *name; /* NULL: there is no such opcode */
    bool (*run)(machine *m);
    uint8_t size;           /* of the operand, or how many values it takes */
    accel__value_kind kind; /* of what it makes, or adds to */
    const char *would;      /* what a refused one would do; it has no `run` */
};

static bool no_memory(machine *m)
{
    return accel__snapshot_refuse_memory(m->problem);
}

static bool damaged(machine *m, const char *what)
{
    return accel__snapshot_refuse(m->problem,
                                  "opcode %s at byte %zu %s; the file is damaged or no pickle",
                                  m->op->name, m->opcode_at, what);
}

/* ---- operands ---- */

/* The next `size` bytes; NULL, with the message, where the file ends before. */
static const uint8_t *take(machine *m, uint64_t size)
{
    if (size > m->size - m->at) {
        accel__snapshot_refuse(
            m->problem, "the file ends inside opcode %s at byte %zu; it is cut off or damaged",
            m->op->name, m->opcode_at);
        return NULL;
    }
    const uint8_t *bytes = m->bytes + m->at;
    m->at += (size_t)size;
    return bytes;
}

/* An unsigned number of `size` bytes, the lowest first. */
static bool take_number(machine *m, size_t size, uint64_t *out_number)
{
    const uint8_t *bytes = take(m, size);
    *out_number = 0;
    for (size_t i = 0; bytes != NULL && i < size; i++)
        *out_number |= (uint64_t)bytes[i] << (8 * i);
    return bytes != NULL;
}

/* A line without its end. */
static const char *take_line(machine *m, size_t *out_size)
{
    const uint8_t *start = m->bytes + m->at;
    const uint8_t *end = m->at < m->size ? memchr(start, '\n', m->size - m->at) : NULL;
    *out_size = end != NULL ? (size_t)(end - start) : m->size - m->at;
    return (const char *)take(m, (uint64_t)*out_size + 1);
}

/* ---- the stack ---- */

/* Doubles an array of elements of `size` bytes. NULL where memory ran out; the old one is untouched. */
static void *grow(void *array, size_t *capacity, size_t size)
{
    const size_t wanted = *capacity > 0 ? *capacity * 2 : 64;
    void *grown = reallocarray(array, wanted, size);
    if (grown != NULL)
        *capacity = wanted;
    return grown;
}

/* Pushes a value just made; NULL: memory ran out. */
static bool push(machine *m, accel__value *value)
{
    if (value == NULL)
        return no_memory(m);
    if (m->count == m->capacity) {
        accel__value **grown = grow(m->stack, &m->capacity, sizeof *grown);
        if (grown == NULL)
            return no_memory(m);
        m->stack = grown;
    }
    m->stack[m->count++] = value;
    return true;
}

/* How many values stand above the innermost mark. */
static size_t height(const machine *m)
{
    return m->count - (m->mark_count > 0 ? m->marks[m->mark_count - 1] : 0);
}

static bool needs(machine *m, size_t count)
{
    return height(m) >= count || damaged(m, "finds too few values on the stack");
}

/* Takes the innermost mark away; what stood above it are the `*out_count` values from `*out_items`,
 * which stay readable until the next push. */
static bool pop_mark(machine *m, accel__value ***out_items, size_t *out_count)
{
    if (m->mark_count == 0)
        return damaged(m, "finds no mark on the stack");
    const size_t mark = m->marks[--m->mark_count];
    *out_items = m->stack + mark;
    *out_count = m->count - mark;
    m->count = mark;
    return true;
}

static bool run_mark(machine *m)
{
    if (m->mark_count == m->mark_capacity) {
        size_t *grown = grow(m->marks, &m->mark_capacity, sizeof *grown);
        if (grown == NULL)
            return no_memory(m);
        m->marks = grown;
    }
    m->marks[m->mark_count++] = m->count;
    return true;
}

static bool run_pop(machine *m)
{
    if (height(m) == 0 && m->mark_count > 0) { /* Python lets POP take a mark, too */
        m->mark_count--;
        return true;
    }
    if (!needs(m, 1))
        return false;
    m->count--;
    return true;
}

static bool run_pop_mark(machine *m)
{
    accel__value **items;
    size_t count;
    return pop_mark(m, &items, &count);
}

static bool run_dup(machine *m)
{
    return needs(m, 1) && push(m, m->stack[m->count - 1]);
}

static bool run_stop(machine *m)
{
    if (!needs(m, 1))
        return false;
    m->result = m->stack[m->count - 1];
    return true;
}

/* ---- the header ---- */

static bool run_proto(machine *m)
{
    uint64_t version;
    if (!take_number(m, 1, &version))
        return false;
    if (version > 5)
        return accel__snapshot_refuse(
            m->problem, "pickle protocol %u is unknown; save the snapshot with protocol 5 or lower",
            (unsigned)version);
    return true;
}

/* Frames help readers that stream; all is here. A frame longer than the file is one that was cut off. */
static bool run_frame(machine *m)
{
    uint64_t size;
    if (!take_number(m, 8, &size))
        return false;
    return size <= m->size - m->at || damaged(m, "has a frame that is longer than the file");
}

/* ---- the memo ---- */

static bool memo_set(machine *m, uint64_t index)
{
    if (!needs(m, 1))
        return false;
    if (index > m->size)
        return damaged(m, "uses a memo index that no file of this size needs");
    while (index >= m->memo_capacity) {
        const size_t old = m->memo_capacity;
        accel__value **grown = grow(m->memo, &m->memo_capacity, sizeof *grown);
        if (grown == NULL)
            return no_memory(m);
        memset(grown + old, 0, (m->memo_capacity - old) * sizeof *grown);
        m->memo = grown;
    }
    m->memo_count += m->memo[index] == NULL;
    m->memo[index] = m->stack[m->count - 1];
    return true;
}

static bool memo_get(machine *m, uint64_t index)
{
    if (index >= m->memo_capacity || m->memo[index] == NULL)
        return damaged(m, "asks for a memo entry that was never made");
    return push(m, m->memo[index]);
}

/* The index that the opcode names: a line where the operand has no size. */
static bool take_index(machine *m, uint64_t *out_index)
{
    size_t size;
    if (m->op->size > 0)
        return take_number(m, m->op->size, out_index);
    const char *line = take_line(m, &size);
    if (line == NULL)
        return false;
    return accel__pickle_text_index(line, size, out_index) || damaged(m, "has no number");
}

static bool run_put(machine *m)
{
    uint64_t index;
    return take_index(m, &index) && memo_set(m, index);
}

static bool run_memoize(machine *m)
{
    return memo_set(m, m->memo_count);
}

static bool run_get(machine *m)
{
    uint64_t index;
    return take_index(m, &index) && memo_get(m, index);
}

/* ---- numbers ---- */

/* None, and empty lists, tuples and dictionaries. */
static bool run_empty(machine *m)
{
    return push(m, accel__value_new(m->store, m->op->kind));
}

static bool run_boolean(machine *m)
{
    accel__value *value = accel__value_new(m->store, ACCEL__VALUE_BOOLEAN);
    if (value != NULL)
        value->as.boolean = m->op->size != 0;
    return push(m, value);
}

/* Four bytes have a sign, fewer have none. */
static bool run_binint(machine *m)
{
    uint64_t number;
    if (!take_number(m, m->op->size, &number))
        return false;
    const int64_t integer = m->op->size == 4 ? (int32_t)(uint32_t)number : (int64_t)number;
    return push(m, accel__value_new_integer(m->store, integer));
}

/* Two's complement of any size, the lowest byte first. */
static bool run_binlong(machine *m)
{
    uint64_t size;
    const uint8_t *bytes = take_number(m, m->op->size, &size) ? take(m, size) : NULL;
    if (bytes == NULL)
        return false;
    const uint8_t sign = size > 0 && bytes[size - 1] >= 0x80 ? 0xFF : 0;
    uint64_t number = sign != 0 ? UINT64_MAX : 0;
    for (size_t i = 0; i < size; i++) {
        if (i >= 8 && bytes[i] != sign)
            return push(m, accel__value_new(m->store, ACCEL__VALUE_BIG));
        if (i < 8)
            number = (number & ~((uint64_t)0xFF << (8 * i))) | (uint64_t)bytes[i] << (8 * i);
    }
    if ((number >> 63 != 0) != (sign != 0)) /* the ninth byte only carries the sign */
        return push(m, accel__value_new(m->store, ACCEL__VALUE_BIG));
    return push(m, accel__value_new_integer(m->store, (int64_t)number));
}

static bool run_binfloat(machine *m)
{
    const uint8_t *bytes = take(m, 8);
    accel__value *value = bytes != NULL ? accel__value_new(m->store, ACCEL__VALUE_REAL) : NULL;
    uint64_t bits = 0;
    if (bytes == NULL)
        return false;
    for (size_t i = 0; i < 8; i++)
        bits = bits << 8 | bytes[i];
    if (value != NULL)
        memcpy(&value->as.real, &bits, sizeof bits);
    return push(m, value);
}

/* ---- numbers and texts that are written as lines ---- */

static bool run_line(machine *m)
{
    accel__value *value = NULL;
    accel__pickle_text outcome;
    size_t size;
    const char *line = take_line(m, &size);
    if (line == NULL)
        return false;
    if (m->op->kind == ACCEL__VALUE_INTEGER)
        outcome = accel__pickle_text_integer(m->store, line, size, m->op->size != 0, &value);
    else if (m->op->kind == ACCEL__VALUE_REAL)
        outcome = accel__pickle_text_real(m->store, line, size, &value);
    else if (m->op->size != 0)
        outcome = accel__pickle_text_quoted(m->store, line, size, &value);
    else
        outcome = accel__pickle_text_unicode(m->store, line, size, &value);
    if (outcome == ACCEL__PICKLE_TEXT_BAD)
        return damaged(m, "has an operand that is none");
    return push(m, value);
}

/* ---- texts and bytes with their size before them ---- */

static bool run_counted(machine *m)
{
    uint64_t size;
    const uint8_t *bytes = take_number(m, m->op->size, &size) ? take(m, size) : NULL;
    if (bytes == NULL)
        return false;
    accel__value *value = accel__value_new_text(m->store, (const char *)bytes, (size_t)size);
    if (value != NULL)
        value->kind = m->op->kind;
    return push(m, value);
}

/* ---- lists, tuples and dictionaries ---- */

/* Values that lie, taken off, above the stack's top go into a new list or dictionary, or into the one
 * that is on top. */
static bool add(machine *m, bool is_new, accel__value *const *items, size_t count)
{
    const accel__value_kind kind = m->op->kind;
    if (kind == ACCEL__VALUE_DICTIONARY && count % 2 != 0)
        return damaged(m, "has a key without a value");
    if (!is_new && !needs(m, 1))
        return false;
    accel__value *to = is_new ? accel__value_new(m->store, kind) : m->stack[m->count - 1];
    if (to != NULL && to->kind != kind)
        return damaged(m, kind == ACCEL__VALUE_LIST ? "finds no list" : "finds no dictionary");
    if (to == NULL || !accel__value_append(m->store, to, items, count))
        return no_memory(m);
    return !is_new || push(m, to);
}

/* All values down to the mark. */
static bool add_marked(machine *m, bool is_new)
{
    accel__value **items = NULL;
    size_t count = 0;
    return pop_mark(m, &items, &count) && add(m, is_new, items, count);
}

static bool run_make(machine *m)
{
    return add_marked(m, true);
}

static bool run_extend(machine *m)
{
    return add_marked(m, false);
}

/* A known number of values. */
static bool add_few(machine *m, bool is_new)
{
    const size_t count = m->op->size;
    if (!needs(m, count))
        return false;
    m->count -= count;
    return add(m, is_new, m->stack + m->count, count);
}

static bool run_tuple(machine *m)
{
    return add_few(m, true);
}

static bool run_append(machine *m)
{
    return add_few(m, false);
}

/* ---- the table ---- */

#define IMPORT "would import a name from a Python module"
#define CALL "would call a Python function"
#define CHANGE "would set the state of a Python object"
#define FETCH "would fetch an object from outside the file"
#define UNUSED "makes a kind of object that no snapshot has"

/* Makes: size and kind are what the function takes them for. Refused ones: what they would do. */
#define DOES(name, run, size, kind)                                                                \
    {                                                                                              \
        name, run, size, ACCEL__VALUE_##kind, NULL                                                 \
    }
#define REFUSED(name, would)                                                                       \
    {                                                                                              \
        name, NULL, 0, ACCEL__VALUE_NONE, would                                                    \
    }

static const opcode opcodes[256] = {
    ['('] = DOES("MARK", run_mark, 0, NONE),
    ['.'] = DOES("STOP", run_stop, 0, NONE),
    ['0'] = DOES("POP", run_pop, 0, NONE),
    ['1'] = DOES("POP_MARK", run_pop_mark, 0, NONE),
    ['2'] = DOES("DUP", run_dup, 0, NONE),
    [0x80] = DOES("PROTO", run_proto, 0, NONE),
    [0x95] = DOES("FRAME", run_frame, 0, NONE),
    ['p'] = DOES("PUT", run_put, 0, NONE),
    ['q'] = DOES("BINPUT", run_put, 1, NONE),
    ['r'] = DOES("LONG_BINPUT", run_put, 4, NONE),
    [0x94] = DOES("MEMOIZE", run_memoize, 0, NONE),
    ['g'] = DOES("GET", run_get, 0, NONE),
    ['h'] = DOES("BINGET", run_get, 1, NONE),
    ['j'] = DOES("LONG_BINGET", run_get, 4, NONE),
    ['N'] = DOES("NONE", run_empty, 0, NONE),
    [0x88] = DOES("NEWTRUE", run_boolean, 1, NONE),
    [0x89] = DOES("NEWFALSE", run_boolean, 0, NONE),
    ['J'] = DOES("BININT", run_binint, 4, NONE),
    ['K'] = DOES("BININT1", run_binint, 1, NONE),
    ['M'] = DOES("BININT2", run_binint, 2, NONE),
    [0x8a] = DOES("LONG1", run_binlong, 1, NONE),
    [0x8b] = DOES("LONG4", run_binlong, 4, NONE),
    ['G'] = DOES("BINFLOAT", run_binfloat, 0, NONE),
    ['I'] = DOES("INT", run_line, 1, INTEGER),
    ['L'] = DOES("LONG", run_line, 0, INTEGER),
    ['F'] = DOES("FLOAT", run_line, 0, REAL),
    ['S'] = DOES("STRING", run_line, 1, TEXT),
    ['V'] = DOES("UNICODE", run_line, 0, TEXT),
    ['U'] = DOES("SHORT_BINSTRING", run_counted, 1, TEXT),
    ['T'] = DOES("BINSTRING", run_counted, 4, TEXT),
    [0x8c] = DOES("SHORT_BINUNICODE", run_counted, 1, TEXT),
    ['X'] = DOES("BINUNICODE", run_counted, 4, TEXT),
    [0x8d] = DOES("BINUNICODE8", run_counted, 8, TEXT),
    ['C'] = DOES("SHORT_BINBYTES", run_counted, 1, BYTES),
    ['B'] = DOES("BINBYTES", run_counted, 4, BYTES),
    [0x8e] = DOES("BINBYTES8", run_counted, 8, BYTES),
    [0x96] = DOES("BYTEARRAY8", run_counted, 8, BYTES),
    [']'] = DOES("EMPTY_LIST", run_empty, 0, LIST),
    [')'] = DOES("EMPTY_TUPLE", run_empty, 0, LIST),
    ['}'] = DOES("EMPTY_DICT", run_empty, 0, DICTIONARY),
    ['l'] = DOES("LIST", run_make, 0, LIST),
    ['t'] = DOES("TUPLE", run_make, 0, LIST),
    ['d'] = DOES("DICT", run_make, 0, DICTIONARY),
    [0x85] = DOES("TUPLE1", run_tuple, 1, LIST),
    [0x86] = DOES("TUPLE2", run_tuple, 2, LIST),
    [0x87] = DOES("TUPLE3", run_tuple, 3, LIST),
    ['a'] = DOES("APPEND", run_append, 1, LIST),
    ['s'] = DOES("SETITEM", run_append, 2, DICTIONARY),
    ['e'] = DOES("APPENDS", run_extend, 0, LIST),
    ['u'] = DOES("SETITEMS", run_extend, 0, DICTIONARY),
    ['c'] = REFUSED("GLOBAL", IMPORT),
    [0x93] = REFUSED("STACK_GLOBAL", IMPORT),
    [0x82] = REFUSED("EXT1", IMPORT),
    [0x83] = REFUSED("EXT2", IMPORT),
    [0x84] = REFUSED("EXT4", IMPORT),
    ['i'] = REFUSED("INST", CALL),
    ['o'] = REFUSED("OBJ", CALL),
    ['R'] = REFUSED("REDUCE", CALL),
    [0x81] = REFUSED("NEWOBJ", CALL),
    [0x92] = REFUSED("NEWOBJ_EX", CALL),
    ['b'] = REFUSED("BUILD", CHANGE),
    ['P'] = REFUSED("PERSID", FETCH),
    ['Q'] = REFUSED("BINPERSID", FETCH),
    [0x97] = REFUSED("NEXT_BUFFER", FETCH),
    [0x98] = REFUSED("READONLY_BUFFER", FETCH),
    [0x8f] = REFUSED("EMPTY_SET", UNUSED),
    [0x91] = REFUSED("FROZENSET", UNUSED),
    [0x90] = REFUSED("ADDITEMS", UNUSED),
};

static bool step(machine *m)
{
    m->opcode_at = m->at;
    if (m->at == m->size)
        return accel__snapshot_refuse(
            m->problem, "the file ends at byte %zu without STOP; it is cut off or damaged",
            m->size);
    const uint8_t code = m->bytes[m->at++];
    const opcode *found = &opcodes[code];
    m->op = found;
    if (found->name == NULL)
        return accel__snapshot_refuse(
            m->problem, "byte %zu (0x%02x) is no pickle opcode; the file is damaged or no pickle",
            m->opcode_at, (unsigned)code);
    if (found->run == NULL)
        return accel__snapshot_refuse(
            m->problem, "opcode %s at byte %zu %s: refused; a memory snapshot is plain data only",
            found->name, m->opcode_at, found->would);
    return found->run(m);
}

bool accel__pickle_read(const uint8_t *bytes, size_t size, accel__value_store *store,
                        accel__value **out_value, accel__snapshot_problem *problem)
{
    machine m = {.bytes = bytes, .size = size, .store = store, .problem = problem};
    m.stack = grow(NULL, &m.capacity, sizeof(accel__value *));
    bool good = m.stack != NULL || no_memory(&m);
    while (good && m.result == NULL)
        good = step(&m);
    *out_value = good ? m.result : NULL;
    free(m.stack);
    free(m.marks);
    free(m.memo);
    return good;
}
