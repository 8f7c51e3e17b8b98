/* dump.h: a graph as text. */
#ifndef ACCEL_GRAPH_DUMP_H
#define ACCEL_GRAPH_DUMP_H

#include "base/text.h"
#include "graph/graph.h"

/* Both with the graph locked; a want of memory is in the text. */
void accel__dump_dot(const accel_graph *graph, accel__text *text);
void accel__dump_json(const accel_graph *graph, accel__text *text);

/* "kernel", "event_record": as JSON has it. */
const char *accel__dump_kind(accel_graph_node_kind kind);

/* "host to device". */
const char *accel__dump_direction(accel_copy_direction direction);

/* Appends a string without its quotes, for both forms: quotes, backslashes and control characters are
 * escaped, bytes that are no UTF-8 become U+FFFD. */
void accel__dump_escaped(accel__text *text, const char *string);

#endif
