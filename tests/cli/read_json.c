/* read_json.c: reads exactly one JSON document from standard input, strictly, and prints the value at
 * a path like "devices.0.name": text as it is, null as "null", the number of elements of a list or
 * an object. "" is the document. Exit status 1 where there is no such document or value. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const json_t *step(const json_t *value, const char *name)
{
    if (json_is_array(value))
        return json_array_get(value, (size_t)strtoul(name, NULL, 10));
    return json_object_get(value, name);
}

static void print(const json_t *value)
{
    if (json_is_string(value))
        puts(json_string_value(value));
    else if (json_is_integer(value))
        printf("%lld\n", (long long)json_integer_value(value));
    else if (json_is_real(value))
        printf("%g\n", json_real_value(value));
    else if (json_is_boolean(value))
        puts(json_is_true(value) ? "true" : "false");
    else if (json_is_null(value))
        puts("null");
    else
        printf("%zu\n", json_is_array(value) ? json_array_size(value) : json_object_size(value));
}

int main(int argc, char **argv)
{
    json_error_t error;
    json_t *document = json_loadf(stdin, JSON_REJECT_DUPLICATES, &error);
    const json_t *value = document;
    if (document == NULL) {
        fprintf(stderr, "read_json: line %d: %s\n", error.line, error.text);
        return 1;
    }
    char *path = strdup(argc > 1 ? argv[1] : "");
    char *rest = path;
    for (char *name = strsep(&rest, "."); name != NULL && name[0] != '\0' && value != NULL;
         name = strsep(&rest, "."))
        value = step(value, name);
    if (value != NULL)
        print(value);
    else
        fprintf(stderr, "read_json: nothing at %s\n", argc > 1 ? argv[1] : "");
    free(path);
    json_decref(document);
    return value != NULL ? 0 : 1;
}
