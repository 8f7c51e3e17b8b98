/* graphs.c: see graphs.h. */
#include "support/graphs.h"

test_kernels kernels;
accel_stream *stream;
accel_stream *side;

int test_graphs_set_up(void **state)
{
    (void)state;
    test_environment(2);
    OK(test_kernels_load(test_cpu_device(0), &kernels));
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    OK(accel_stream_create(test_cpu_device(0), NULL, &side));
    return 0;
}

int test_graphs_tear_down(void **state)
{
    (void)state;
    test_kernels_unload(&kernels);
    accel_stream_release(stream);
    accel_stream_release(side);
    return 0;
}

accel_graph *test_graph_make(bool keep_graph)
{
    const accel_graph_options options = {.struct_size = sizeof options, .keep_graph = keep_graph};
    accel_graph *graph = NULL;
    OK(accel_graph_create(test_cpu_device(0), &options, &graph));
    return graph;
}

accel_graph_state test_graph_state(accel_graph *graph)
{
    accel_graph_state state = ACCEL_GRAPH_STATE_EMPTY;
    OK(accel_graph_get_state(graph, &state));
    return state;
}

uint32_t test_graph_count(accel_graph *graph)
{
    uint32_t count = UINT32_MAX;
    OK(accel_graph_get_node_count(graph, &count));
    return count;
}

bool test_is_capturing(accel_stream *which)
{
    bool is = false;
    OK(accel_stream_is_capturing(which, &is));
    return is;
}

void test_is_usable(accel_stream *which)
{
    static test_log log;
    atomic_store(&log.count, 0);
    assert_false(test_is_capturing(which));
    OK(test_launch_append(&kernels, which, &log, 1));
    OK(accel_stream_synchronize(which));
    assert_int_equal(log.count, 1);
}

void test_graph_begin(accel_graph *graph)
{
    OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT));
}

void test_log_is(const test_log *log, const uint32_t *values, uint32_t count)
{
    assert_int_equal(log->count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(log->values[i], values[i]);
}

bool test_error_says(const char *part)
{
    return strstr(accel_last_error_message(), part) != NULL;
}
