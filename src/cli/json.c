/* json.c: see json.h. Called by every sub-command that has --json. */
#include "cli/json.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The length of the UTF-8 sequence at `text`, 0 where there is none. jansson refuses overlong forms
 * and surrogates by itself; this only finds how far to step. */
static size_t sequence_size(const char *text)
{
    for (size_t size = 1; size <= 4 && text[size - 1] != '\0'; size++) {
        json_t *probe = json_stringn(text, size);
        if (probe != NULL) {
            json_decref(probe);
            return size;
        }
    }
    return 0;
}

static json_t *repaired_text(const char *text)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    char *copy = malloc(strlen(text) * 3 + 1);
    if (copy == NULL)
        return NULL;
    size_t used = 0;
    while (*text != '\0') {
        size_t size = sequence_size(text);
        const char *from = size > 0 ? text : replacement;
        size_t count = size > 0 ? size : sizeof replacement - 1;
        memcpy(copy + used, from, count);
        used += count;
        text += size > 0 ? size : 1;
    }
    json_t *result = json_stringn(copy, used);
    free(copy);
    return result;
}

json_t *accel__json_text(const char *text)
{
    if (text == NULL || text[0] == '\0')
        return json_null();
    json_t *result = json_string(text);
    return result != NULL ? result : repaired_text(text);
}

json_t *accel__json_size(uint64_t value)
{
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_null();
}

void accel__json_set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value != NULL ? value : json_null());
}

accel__exit accel__json_print(json_t *document)
{
    if (document == NULL)
        return accel__cli_fail_memory();
    int failed = json_dumpf(document, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    json_decref(document);
    if (failed != 0 && ferror(stdout) == 0)
        return accel__cli_fail_memory();
    putchar('\n');
    return accel__cli_finish_output();
}

void accel__json_print_failure(void)
{
    const char *message = accel__report_unprinted_failure();
    accel__cli_take_output();
    if (message != NULL)
        (void)accel__json_print(json_pack("{s:o}", "error", accel__json_text(message)));
}
