/* snapshot_value.c: see snapshot_value.h.
 *
 * Invariant: chunks are linked, never moved, and freed together, so that values may point to each other
 * in any way. */
#include "cli/snapshot_value.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { CHUNK_MIN = 4 * 1024, CHUNK_MAX = 256 * 1024, FIRST_CAPACITY = 4 };

struct accel__value_chunk {
    accel__value_chunk *older;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
};

bool accel__snapshot_refuse(accel__snapshot_problem *problem, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(problem->text, sizeof problem->text, format, list);
    va_end(list);
    return false;
}

bool accel__snapshot_refuse_memory(accel__snapshot_problem *problem)
{
    snprintf(problem->text, sizeof problem->text, "out of memory; free some and try again");
    return false;
}

uint64_t accel__snapshot_hash(uint64_t value)
{
    static uint64_t seed;
    if (seed == 0 && (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed || seed == 0))
        seed = (uint64_t)(uintptr_t)&value | 1;
    value = (value ^ seed) * UINT64_C(0xFF51AFD7ED558CCD); /* MurmurHash3's finaliser (Appleby) */
    value = (value ^ value >> 33) * UINT64_C(0xC4CEB9FE1A85EC53);
    return value ^ value >> 33;
}

void accel__value_store_release(accel__value_store *store)
{
    while (store->chunks != NULL) {
        accel__value_chunk *older = store->chunks->older;
        free(store->chunks);
        store->chunks = older;
    }
    memset(store, 0, sizeof *store);
}

/* Each chunk is as large as all before it, within limits. */
static bool add_chunk(accel__value_store *store, size_t least)
{
    size_t size = store->total > CHUNK_MAX   ? CHUNK_MAX
                  : store->total < CHUNK_MIN ? CHUNK_MIN
                                             : store->total;
    if (size < least)
        size = least;
    if (size > SIZE_MAX - sizeof(accel__value_chunk))
        return false;
    accel__value_chunk *chunk = calloc(1, sizeof *chunk + size);
    if (chunk == NULL)
        return false;
    chunk->older = store->chunks;
    chunk->size = size;
    store->chunks = chunk;
    store->used = 0;
    store->total += size;
    return true;
}

void *accel__value_store_take(accel__value_store *store, size_t size)
{
    const size_t unit = alignof(max_align_t);
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + unit - 1) / unit * unit;
    if (store->chunks == NULL || store->chunks->size - store->used < size)
        if (!add_chunk(store, size))
            return NULL;
    void *memory = store->chunks->bytes + store->used;
    store->used += size;
    return memory;
}

accel__value *accel__value_new(accel__value_store *store, accel__value_kind kind)
{
    accel__value *value = accel__value_store_take(store, sizeof *value);
    if (value != NULL)
        value->kind = kind;
    return value;
}

accel__value *accel__value_new_integer(accel__value_store *store, int64_t integer)
{
    accel__value *value = accel__value_new(store, ACCEL__VALUE_INTEGER);
    if (value != NULL)
        value->as.integer = integer;
    return value;
}

accel__value *accel__value_new_text(accel__value_store *store, const char *text, size_t size)
{
    if (size == SIZE_MAX)
        return NULL;
    accel__value *value = accel__value_new(store, ACCEL__VALUE_TEXT);
    char *copy = value != NULL ? accel__value_store_take(store, size + 1) : NULL;
    if (copy == NULL)
        return NULL;
    if (size > 0)
        memcpy(copy, text, size);
    value->as.text = copy;
    value->count = size;
    return value;
}

bool accel__value_append(accel__value_store *store, accel__value *value, accel__value *const *items,
                         size_t count)
{
    if (count == 0)
        return true;
    size_t needed = value->count + count;
    if (needed > value->capacity) {
        size_t capacity = value->capacity > 0 ? value->capacity * 2 : FIRST_CAPACITY;
        if (capacity < needed)
            capacity = needed;
        accel__value **grown = accel__value_store_take(store, capacity * sizeof(accel__value *));
        if (grown == NULL)
            return false;
        if (value->count > 0)
            memcpy(grown, value->as.items, value->count * sizeof(accel__value *));
        value->as.items = grown;
        value->capacity = capacity;
    }
    memcpy(value->as.items + value->count, items, count * sizeof(accel__value *));
    value->count = needed;
    return true;
}

bool accel__value_store_pay(accel__value_store *store, size_t steps)
{
    bool enough = store->budget >= steps;
    store->budget = enough ? store->budget - steps : 0;
    return enough;
}

accel__value *accel__value_get(accel__value_store *store, const accel__value *dictionary,
                               const char *key)
{
    const size_t size = strlen(key);
    if (!accel__value_store_pay(store, 1 + dictionary->count / 2))
        return NULL;
    for (size_t i = dictionary->count; i >= 2; i -= 2) {
        const accel__value *name = dictionary->as.items[i - 2];
        if (name->kind == ACCEL__VALUE_TEXT && name->count == size &&
            memcmp(name->as.text, key, size) == 0)
            return dictionary->as.items[i - 1];
    }
    return NULL;
}

const char *accel__value_kind_text(const accel__value *value)
{
    static const char *const texts[] = {
        [ACCEL__VALUE_NONE] = "None",
        [ACCEL__VALUE_BOOLEAN] = "a boolean",
        [ACCEL__VALUE_INTEGER] = "an integer",
        [ACCEL__VALUE_BIG] = "an integer beyond 64 bits",
        [ACCEL__VALUE_REAL] = "a real number",
        [ACCEL__VALUE_TEXT] = "a text",
        [ACCEL__VALUE_BYTES] = "bytes",
        [ACCEL__VALUE_LIST] = "a list",
        [ACCEL__VALUE_DICTIONARY] = "a dictionary",
    };
    return value != NULL ? texts[value->kind] : "missing";
}
