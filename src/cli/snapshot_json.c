/* snapshot_json.c: a JSON text as values, by jansson. See snapshot.h.
 *
 * Invariant: as deep as jansson lets a document be (2048), so deep may `convert` call itself. */
#include <jansson.h>
#include <string.h>

#include "cli/snapshot.h"

enum { CACHE_SLOTS = 256, CACHE_TEXT_MAX = 24 };

/* Keys and words that come again and again become one value each. */
typedef struct conversion {
    accel__value_store *store;
    accel__value *cache[CACHE_SLOTS];
} conversion;

static accel__value *convert(conversion *c, const json_t *json);

static accel__value *convert_text(conversion *c, const char *text, size_t size)
{
    size_t hash = size;
    if (size > CACHE_TEXT_MAX)
        return accel__value_new_text(c->store, text, size);
    for (size_t i = 0; i < size; i++)
        hash = hash * 31 + (unsigned char)text[i];
    accel__value **slot = &c->cache[hash % CACHE_SLOTS];
    if (*slot == NULL || (*slot)->count != size || memcmp((*slot)->as.text, text, size) != 0)
        *slot = accel__value_new_text(c->store, text, size);
    return *slot;
}

static accel__value *convert_list(conversion *c, const json_t *json)
{
    accel__value *list = accel__value_new(c->store, ACCEL__VALUE_LIST);
    for (size_t i = 0; list != NULL && i < json_array_size(json); i++) {
        accel__value *item = convert(c, json_array_get(json, i));
        if (item == NULL || !accel__value_append(c->store, list, &item, 1))
            return NULL;
    }
    return list;
}

static accel__value *convert_dictionary(conversion *c, json_t *json)
{
    accel__value *dictionary = accel__value_new(c->store, ACCEL__VALUE_DICTIONARY);
    const char *key;
    json_t *member;
    if (dictionary == NULL)
        return NULL;
    json_object_foreach(json, key, member)
    {
        accel__value *pair[2] = {convert_text(c, key, strlen(key)), convert(c, member)};
        if (pair[0] == NULL || pair[1] == NULL ||
            !accel__value_append(c->store, dictionary, pair, 2))
            return NULL;
    }
    return dictionary;
}

/* NULL: memory ran out. */
static accel__value *convert(conversion *c, const json_t *json)
{
    accel__value *value = NULL;
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return convert_dictionary(c, (json_t *)json);
    case JSON_ARRAY:
        return convert_list(c, json);
    case JSON_STRING:
        return convert_text(c, json_string_value(json), json_string_length(json));
    case JSON_INTEGER:
        return accel__value_new_integer(c->store, json_integer_value(json));
    case JSON_REAL:
        value = accel__value_new(c->store, ACCEL__VALUE_REAL);
        if (value != NULL)
            value->as.real = json_real_value(json);
        return value;
    case JSON_TRUE:
    case JSON_FALSE:
        value = accel__value_new(c->store, ACCEL__VALUE_BOOLEAN);
        if (value != NULL)
            value->as.boolean = json_is_true(json);
        return value;
    default:
        return accel__value_new(c->store, ACCEL__VALUE_NONE);
    }
}

bool accel__snapshot_read_json(const uint8_t *bytes, size_t size, accel__value_store *store,
                               accel__value **out_value, accel__snapshot_problem *problem)
{
    json_error_t error;
    conversion c = {.store = store};
    json_t *json = json_loadb((const char *)bytes, size, JSON_ALLOW_NUL, &error);
    if (json == NULL && json_error_code(&error) == json_error_out_of_memory)
        return accel__snapshot_refuse_memory(problem);
    if (json == NULL)
        return accel__snapshot_refuse(
            problem, "line %d, column %d is no JSON: %s; the file is cut off or damaged",
            error.line, error.column, error.text);
    *out_value = convert(&c, json);
    json_decref(json);
    return *out_value != NULL || accel__snapshot_refuse_memory(problem);
}
