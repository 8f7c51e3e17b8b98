/* build.h: payloads from what a caller gives, checked: for accel_graph_add_… and accel_graph_update_…. */
#ifndef ACCEL_GRAPH_BUILD_H
#define ACCEL_GRAPH_BUILD_H

#include "graph/graph.h"

typedef struct accel__fill_given {
    void *destination;
    const void *pattern;
    size_t pattern_size;
    size_t size;
} accel__fill_given;

/* Each gives a payload with one reference, or fails; the graph is not locked. What would do nothing (a
 * grid or size of 0) becomes an empty node. */
accel_status accel__build_kernel(const accel_graph *graph, accel_kernel *kernel,
                                 const accel_launch_shape *shape, const accel_kernel_arg *args,
                                 uint32_t arg_count, const char *function,
                                 accel__payload **out_payload);
accel_status accel__build_copy(const accel_graph *graph, const accel_backend_copy *copy,
                               const char *function, accel__payload **out_payload);
accel_status accel__build_fill(const accel_graph *graph, const accel__fill_given *given,
                               const char *function, accel__payload **out_payload);
accel_status accel__build_callback(const accel_graph *graph, accel_stream_callback callback,
                                   void *user, const char *function, accel__payload **out_payload);
accel_status accel__build_child(const accel_graph *graph, const accel_graph *given,
                                const char *function, accel__payload **out_payload);

#endif
