/* graph_file.c: see graph_file.h. */
#include "cli/graph_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MOST = 64 }; /* of children */

static const char *const kinds[] = {"empty",    "kernel",       "copy",       "fill",
                                    "callback", "event_record", "event_wait", "child"};

static accel__exit refuse(const char *path, const char *what)
{
    return accel__cli_fail(
        "%s: is no dump of a graph: %s; dump it with accel_graph_debug_dump to a "
        "name that ends in .json",
        path, what);
}

/* ---- one node ---- */

static const char *text_of(const json_t *node, const char *key)
{
    const char *text = json_string_value(json_object_get(node, key));
    return text != NULL ? text : "?";
}

static long long number_of(const json_t *node, const char *key)
{
    return (long long)json_integer_value(json_object_get(node, key));
}

static long long number_at(const json_t *node, const char *key, size_t index)
{
    return (long long)json_integer_value(json_array_get(json_object_get(node, key), index));
}

/* NULL: memory ran out. */
static char *describe(const json_t *node, const char *kind)
{
    char *text = NULL;
    int wrote;
    if (strcmp(kind, "kernel") == 0)
        wrote = asprintf(
            &text, "%s, %lld x %lld x %lld blocks of %lld x %lld x %lld", text_of(node, "name"),
            number_at(node, "grid", 0), number_at(node, "grid", 1), number_at(node, "grid", 2),
            number_at(node, "block", 0), number_at(node, "block", 1), number_at(node, "block", 2));
    else if (strcmp(kind, "copy") == 0)
        wrote = asprintf(&text, "%s, %lld bytes", text_of(node, "direction"),
                         number_of(node, "size"));
    else if (strcmp(kind, "fill") == 0)
        wrote = asprintf(&text, "%lld bytes with %s", number_of(node, "size"),
                         text_of(node, "pattern"));
    else
        wrote = asprintf(&text, "%s", "");
    return wrote >= 0 ? text : NULL;
}

static const char *find_kind(const char *given)
{
    for (size_t i = 0; given != NULL && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(given, kinds[i]) == 0)
            return kinds[i];
    return NULL;
}

/* The longest path to the node, over those before it. */
static void place(const accel__graph_nodes *nodes, accel__graph_node *node)
{
    node->before = SIZE_MAX;
    for (size_t i = 0; i < node->after_count; i++) {
        const accel__graph_node *other = &nodes->items[node->after[i]];
        if (other->level >= node->level)
            node->level = other->level + 1;
        if (node->before == SIZE_MAX || other->length > nodes->items[node->before].length)
            node->before = node->after[i];
    }
    node->length = node->before != SIZE_MAX ? nodes->items[node->before].length : 0;
    node->length += node->child != NULL ? accel__graph_nodes_length(node->child) : 1;
}

static accel__exit read_dependencies(const char *path, const json_t *given, size_t index,
                                     accel__graph_node *node)
{
    const json_t *after = json_object_get(given, "dependencies");
    if (!json_is_array(after))
        return refuse(path, "a node has no list of dependencies");
    node->after = calloc(json_array_size(after) + 1, sizeof *node->after);
    if (node->after == NULL)
        return accel__cli_fail_memory();
    for (size_t i = 0; i < json_array_size(after); i++) {
        const json_t *item = json_array_get(after, i);
        const json_int_t number = json_integer_value(item);
        if (!json_is_integer(item) || number < 0 || (uint64_t)number >= index)
            return refuse(path, "a node depends on one that does not come before it");
        node->after[node->after_count++] = (size_t)number;
    }
    return ACCEL__EXIT_OK;
}

/* ---- rows of nodes ---- */

static accel__exit read_nodes(const char *path, const json_t *given, int depth,
                              accel__graph_nodes *nodes);

/* NOLINTNEXTLINE(misc-no-recursion): the depth is limited */
static accel__exit read_child(const char *path, const json_t *given, int depth,
                              accel__graph_node *node)
{
    if (depth == DEPTH_MOST)
        return refuse(path, "graphs are in one another more than 64 deep");
    node->child = calloc(1, sizeof *node->child);
    return node->child != NULL ? read_nodes(path, given, depth + 1, node->child)
                               : accel__cli_fail_memory();
}

/* NOLINTNEXTLINE(misc-no-recursion): as above */
static accel__exit read_node(const char *path, const json_t *given, int depth,
                             accel__graph_nodes *nodes)
{
    const size_t index = nodes->count;
    accel__graph_node *node = &nodes->items[nodes->count++];
    node->kind = find_kind(json_string_value(json_object_get(given, "kind")));
    if (node->kind == NULL)
        return refuse(path, "a node is of no known kind");
    if (number_of(given, "node") != (long long)index)
        return refuse(path, "the nodes are not numbered in their order");
    node->what = describe(given, node->kind);
    if (node->what == NULL)
        return accel__cli_fail_memory();
    accel__exit result = read_dependencies(path, given, index, node);
    if (result == ACCEL__EXIT_OK && strcmp(node->kind, "child") == 0)
        result = read_child(path, given, depth, node);
    if (result == ACCEL__EXIT_OK)
        place(nodes, node);
    return result;
}

/* NOLINTNEXTLINE(misc-no-recursion): as above */
static accel__exit read_nodes(const char *path, const json_t *given, int depth,
                              accel__graph_nodes *nodes)
{
    const json_t *list = json_object_get(given, "nodes");
    accel__exit result = ACCEL__EXIT_OK;
    nodes->last = SIZE_MAX;
    if (!json_is_array(list))
        return refuse(path, "there is no list of nodes");
    nodes->items = calloc(json_array_size(list) + 1, sizeof *nodes->items);
    if (nodes->items == NULL)
        return accel__cli_fail_memory();
    for (size_t i = 0; result == ACCEL__EXIT_OK && i < json_array_size(list); i++) {
        result = read_node(path, json_array_get(list, i), depth, nodes);
        const accel__graph_node *node = &nodes->items[i];
        if (node->level >= nodes->levels)
            nodes->levels = node->level + 1;
        if (nodes->last == SIZE_MAX || node->length > nodes->items[nodes->last].length)
            nodes->last = i;
    }
    return result;
}

/* ---- files ---- */

accel__exit accel__graph_file_read(const char *path, accel__graph_file *out_file)
{
    json_error_t error;
    *out_file = (accel__graph_file){0};
    FILE *stream = fopen(path, "re");
    if (stream == NULL)
        return accel__cli_fail("%s: cannot be opened: %s; name a file that can", path,
                               strerror(errno));
    json_t *document = json_loadf(stream, 0, &error);
    fclose(stream);
    out_file->document = document;
    if (document == NULL)
        return accel__cli_fail("%s: line %d is no JSON: %s; dump the graph again", path, error.line,
                               error.text);
    const char *format = json_string_value(json_object_get(document, "format"));
    if (format == NULL || strcmp(format, "accel-graph") != 0)
        return refuse(path, "it does not say \"format\": \"accel-graph\"");
    if (number_of(document, "version") != 1)
        return refuse(path, "it is of another version than 1");
    out_file->device = text_of(document, "device");
    return read_nodes(path, document, 0, &out_file->nodes);
}

/* NOLINTNEXTLINE(misc-no-recursion): as above */
static void release_nodes(accel__graph_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++) {
        accel__graph_node *node = &nodes->items[i];
        if (node->child != NULL)
            release_nodes(node->child);
        free(node->child);
        free(node->what);
        free(node->after);
    }
    free(nodes->items);
}

void accel__graph_file_release(accel__graph_file *file)
{
    release_nodes(&file->nodes);
    json_decref(file->document);
    *file = (accel__graph_file){0};
}

/* NOLINTNEXTLINE(misc-no-recursion): as above */
size_t accel__graph_nodes_total(const accel__graph_nodes *nodes)
{
    size_t total = 0;
    for (size_t i = 0; i < nodes->count; i++)
        total += nodes->items[i].child != NULL ? accel__graph_nodes_total(nodes->items[i].child)
                                               : 1;
    return total;
}

size_t accel__graph_nodes_length(const accel__graph_nodes *nodes)
{
    return nodes->last != SIZE_MAX ? nodes->items[nodes->last].length : 0;
}
