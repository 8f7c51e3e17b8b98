/* graphs.h: what tests of graphs share: one cpu device, kernels on it, and two streams. */
#ifndef TESTS_SUPPORT_GRAPHS_H
#define TESTS_SUPPORT_GRAPHS_H

#include "support/check.h"
#include "support/kernels.h"

extern test_kernels kernels;
extern accel_stream *stream;
extern accel_stream *side;

/* Make and release them: for cmocka's groups. */
int test_graphs_set_up(void **state);
int test_graphs_tear_down(void **state);

accel_graph *test_graph_make(bool keep_graph);
accel_graph_state test_graph_state(accel_graph *graph);
uint32_t test_graph_count(accel_graph *graph);
bool test_is_capturing(accel_stream *which);

/* Begins a capture on `stream`. */
void test_graph_begin(accel_graph *graph);

/* The stream takes work again, and the work runs. */
void test_is_usable(accel_stream *which);

/* What was appended, in this order. */
void test_log_is(const test_log *log, const uint32_t *values, uint32_t count);

/* Whether the last error's message has this in it. */
bool test_error_says(const char *part);

#endif
