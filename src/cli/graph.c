/* graph.c: `accel graph`: what a dumped graph looks like: its nodes by levels, and its critical path, the
 * longest way through it. */
#include <libsmartcols.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/graph_file.h"
#include "cli/json.h"

static const char help[] =
    "Usage: accel graph [--json] FILE.json\n"
    "Show a graph that accel_graph_debug_dump wrote: its nodes by levels (a level waits for the\n"
    "one before it), and its critical path, the longest way through it, counted in nodes.\n"
    "The nodes of a child graph follow its own: 3.0 is node 0 of the child at node 3.\n\n"
    "Options:\n"
    "  --json   print one JSON document; after a failure it is {\"error\": MESSAGE}\n"
    "  --help   print this text\n";

/* ---- the table ---- */

enum { COLUMN_LEVEL, COLUMN_NODE, COLUMN_KIND, COLUMN_WHAT, COLUMN_AFTER, COLUMN_COUNT };

static const struct {
    const char *title;
    int flags;
} columns[COLUMN_COUNT] = {[COLUMN_LEVEL] = {"LEVEL", SCOLS_FL_RIGHT},
                           [COLUMN_NODE] = {"NODE", SCOLS_FL_RIGHT},
                           [COLUMN_KIND] = {"KIND", 0},
                           [COLUMN_WHAT] = {"WHAT", 0},
                           [COLUMN_AFTER] = {"AFTER", SCOLS_FL_WRAP}};

/* "0, 3, 4"; NULL: memory ran out. */
static char *list_after(const accel__graph_node *node)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return NULL;
    for (size_t i = 0; i < node->after_count; i++)
        fprintf(stream, "%s%zu", i != 0 ? ", " : "", node->after[i]);
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

static bool add_row(struct libscols_table *table, const accel__graph_node *node, const char *name)
{
    char level[24];
    struct libscols_line *line = scols_table_new_line(table, NULL);
    char *after = list_after(node);
    snprintf(level, sizeof level, "%zu", node->level);
    const bool good = line != NULL && after != NULL &&
                      scols_line_set_data(line, COLUMN_LEVEL, level) == 0 &&
                      scols_line_set_data(line, COLUMN_NODE, name) == 0 &&
                      scols_line_set_data(line, COLUMN_KIND, node->kind) == 0 &&
                      scols_line_set_data(line, COLUMN_WHAT, node->what) == 0 &&
                      scols_line_set_data(line, COLUMN_AFTER, after) == 0;
    free(after);
    return good;
}

static bool add_rows(struct libscols_table *table, const accel__graph_nodes *nodes,
                     const char *prefix);

/* NOLINTNEXTLINE(misc-no-recursion): the reader limits the depth */
static bool add_node(struct libscols_table *table, const accel__graph_nodes *nodes, size_t index,
                     const char *prefix)
{
    const accel__graph_node *node = &nodes->items[index];
    char *name = NULL;
    char *inner = NULL;
    if (asprintf(&name, "%s%zu", prefix, index) < 0)
        return false;
    bool good = add_row(table, node, name);
    if (good && node->child != NULL && asprintf(&inner, "%s.", name) >= 0) {
        good = add_rows(table, node->child, inner);
        free(inner);
    } else if (node->child != NULL)
        good = false;
    free(name);
    return good;
}

/* The numbers of the nodes by levels, and in a level as they are: a counting sort. NULL: memory ran out. */
static size_t *order_of(const accel__graph_nodes *nodes)
{
    size_t *order = calloc(nodes->count + 1, sizeof *order);
    size_t *next = calloc(nodes->levels + 1, sizeof *next);
    if (order == NULL || next == NULL) {
        free(order);
        free(next);
        return NULL;
    }
    for (size_t i = 0; i < nodes->count; i++)
        next[nodes->items[i].level + 1]++;
    for (size_t level = 1; level <= nodes->levels; level++)
        next[level] += next[level - 1];
    for (size_t i = 0; i < nodes->count; i++)
        order[next[nodes->items[i].level]++] = i;
    free(next);
    return order;
}

/* NOLINTNEXTLINE(misc-no-recursion): as above */
static bool add_rows(struct libscols_table *table, const accel__graph_nodes *nodes,
                     const char *prefix)
{
    size_t *order = order_of(nodes);
    bool good = order != NULL;
    for (size_t i = 0; good && i < nodes->count; i++)
        good = add_node(table, nodes, order[i], prefix);
    free(order);
    return good;
}

/* The nodes of the longest path in their order; NULL: memory ran out. */
static size_t *path_of(const accel__graph_nodes *nodes, size_t *out_count)
{
    size_t *path = calloc(nodes->count + 1, sizeof *path);
    size_t count = 0;
    if (path == NULL)
        return NULL;
    for (size_t at = nodes->last; at != SIZE_MAX; at = nodes->items[at].before)
        path[count++] = at;
    for (size_t i = 0; i < count / 2; i++) {
        const size_t other = path[count - 1 - i];
        path[count - 1 - i] = path[i];
        path[i] = other;
    }
    *out_count = count;
    return path;
}

static bool print_path(const accel__graph_nodes *nodes)
{
    size_t count = 0;
    size_t *path = path_of(nodes, &count);
    if (path == NULL)
        return false;
    printf("\nCritical path, %zu of %zu nodes:", accel__graph_nodes_length(nodes),
           accel__graph_nodes_total(nodes));
    for (size_t i = 0; i < count; i++)
        printf("%s %zu", i != 0 ? " ->" : "", path[i]);
    putchar('\n');
    free(path);
    return true;
}

static accel__exit print_text(const accel__graph_file *file)
{
    const accel__graph_nodes *nodes = &file->nodes;
    struct libscols_table *table = scols_new_table();
    bool good = table != NULL;
    printf("A graph of %s: %zu nodes in %zu levels\n\n", file->device, nodes->count, nodes->levels);
    for (int i = 0; good && i < COLUMN_COUNT; i++)
        good = scols_table_new_column(table, columns[i].title, 0, columns[i].flags) != NULL;
    good = good && add_rows(table, nodes, "");
    if (good && nodes->count == 0)
        puts("LEVEL NODE KIND WHAT AFTER");
    else if (good)
        good = scols_print_table(table) == 0 || ferror(stdout) != 0;
    scols_unref_table(table);
    good = good && print_path(nodes);
    return good ? accel__cli_finish_output() : accel__cli_fail_memory();
}

/* ---- JSON ---- */

static json_t *path_array(const accel__graph_nodes *nodes)
{
    size_t count = 0;
    size_t *path = path_of(nodes, &count);
    json_t *array = path != NULL ? json_array() : NULL;
    for (size_t i = 0; array != NULL && i < count; i++)
        json_array_append_new(array, accel__json_size(path[i]));
    free(path);
    return array;
}

static json_t *level_arrays(const accel__graph_nodes *nodes)
{
    json_t *levels = json_array();
    for (size_t level = 0; level < nodes->levels; level++)
        json_array_append_new(levels, json_array());
    for (size_t i = 0; i < nodes->count; i++)
        json_array_append_new(json_array_get(levels, nodes->items[i].level), accel__json_size(i));
    return levels;
}

static accel__exit print_json(const accel__graph_file *file)
{
    json_t *document = json_object();
    if (document != NULL) {
        accel__json_set(document, "device", accel__json_text(file->device));
        accel__json_set(document, "nodes", accel__json_size(file->nodes.count));
        accel__json_set(document, "nodes_with_children",
                        accel__json_size(accel__graph_nodes_total(&file->nodes)));
        accel__json_set(document, "levels", level_arrays(&file->nodes));
        accel__json_set(document, "critical_path", path_array(&file->nodes));
        accel__json_set(document, "critical_path_length",
                        accel__json_size(accel__graph_nodes_length(&file->nodes)));
    }
    return accel__json_print(document);
}

/* ---- the command ---- */

accel__exit accel__command_graph(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, ACCEL__OPTION_JSON},
                                            {"help", no_argument, NULL, ACCEL__OPTION_HELP},
                                            {NULL, 0, NULL, 0}};
    static const accel__options taken = {":h", options, help, accel__take_json};
    bool json = false;
    accel__exit result;
    if (!accel__take_options(argc, argv, &taken, &json, &result))
        return result;
    if (optind >= argc)
        return accel__cli_misuse("no file is given; see accel graph --help");
    if (optind + 1 < argc)
        return accel__cli_misuse("\"%s\" is not expected; see accel graph --help",
                                 argv[optind + 1]);
    accel__graph_file file;
    result = accel__graph_file_read(argv[optind], &file);
    if (result == ACCEL__EXIT_OK)
        result = json ? print_json(&file) : print_text(&file);
    accel__graph_file_release(&file);
    return result;
}
