/* graph_file.h: a dumped graph (accel_graph_debug_dump to a .json file), read back and checked: a file may
 * hold anything. Called by `accel graph`. */
#ifndef ACCEL_CLI_GRAPH_FILE_H
#define ACCEL_CLI_GRAPH_FILE_H

#include <jansson.h>

#include "cli/report.h"

typedef struct accel__graph_nodes accel__graph_nodes;

typedef struct accel__graph_node {
    const char *kind; /* lent by the document, as are names */
    char *what;       /* "scale, 4 x 1 x 1 blocks of 64 x 1 x 1" */
    size_t *after;    /* nodes that it depends on: smaller numbers */
    size_t after_count;
    size_t level;  /* worked out from the dependencies */
    size_t length; /* nodes on the longest path that ends here, those of children included */
    size_t before; /* the node before it on that path; SIZE_MAX: none */
    accel__graph_nodes *child;
} accel__graph_node;

struct accel__graph_nodes {
    accel__graph_node *items;
    size_t count;
    size_t levels;
    size_t last; /* of the longest path; SIZE_MAX: there are no nodes */
};

typedef struct accel__graph_file {
    json_t *document;
    const char *device;
    accel__graph_nodes nodes;
} accel__graph_file;

/* Released in any case. */
accel__exit accel__graph_file_read(const char *path, accel__graph_file *out_file);
void accel__graph_file_release(accel__graph_file *file);

/* Nodes, those of children at any depth instead of their own. */
size_t accel__graph_nodes_total(const accel__graph_nodes *nodes);

/* Nodes on the longest path. */
size_t accel__graph_nodes_length(const accel__graph_nodes *nodes);

#endif
