/* graph_limits_test.c: how large and how deep a graph may be (graph.h): what walks it needs stack for each
 * depth and memory for each node, and says so before it runs out of either. */
#include <time.h>

#include "support/graphs.h"

/* Children in children as deep as they can be are replayed and written down; one more is refused, by each
 * way in, and nothing has changed. */
static void test_depth_has_a_limit(void **state)
{
    (void)state;
    accel_graph *inner = test_graph_make(false);
    accel_graph *outer = test_graph_make(false);
    uint32_t depth = 0;
    OK(accel_graph_add_empty(inner, NULL, 0, NULL));
    while (depth < 1000 && accel_graph_add_child(outer, NULL, 0, inner, NULL) == ACCEL_OK) {
        accel_graph *before = inner;
        inner = outer;
        outer = before;
        OK(accel_graph_reset(outer));
        depth++;
    }
    assert_int_equal(depth, 64);
    FAILS(accel_graph_add_child(outer, NULL, 0, inner, NULL), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_graph_add_child");
    assert_int_equal(test_graph_count(outer), 0);
    OK(accel_graph_add_empty(outer, NULL, 0, NULL));
    OK(accel_graph_add_child(outer, NULL, 0, outer, NULL)); /* as it is now */
    FAILS(accel_graph_update_child(outer, 1, inner), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_graph_update_child");
    OK(accel_graph_replay(inner, stream));
    OK(accel_graph_debug_dump(inner, "/dev/null"));
    OK(accel_graph_reset(outer));
    test_graph_begin(outer);
    FAILS(accel_graph_replay(inner, stream), ACCEL_ERROR_OUT_OF_RANGE, "accel_graph_replay");
    FAILS(accel_graph_capture_end(outer, stream), ACCEL_ERROR_CAPTURE, "accel_graph_capture_end");
    OK(accel_stream_synchronize(stream));
    accel_graph_release(outer);
    accel_graph_release(inner);
}

/* A graph that becomes its own child again and again doubles each time. */
static void test_size_has_a_limit(void **state)
{
    (void)state;
    accel_graph_node_info info = {.struct_size = sizeof info};
    accel_graph *graph = test_graph_make(false);
    uint32_t doublings = 0;
    OK(accel_graph_add_empty(graph, NULL, 0, NULL));
    while (doublings < 60 && accel_graph_add_child(graph, NULL, 0, graph, NULL) == ACCEL_OK)
        doublings++;
    assert_int_equal(doublings, 26);
    FAILS(accel_graph_add_empty(graph, NULL, 0, NULL), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_graph_add_empty");
    OK(accel_graph_get_node_info(graph, 26, &info));
    assert_int_equal(info.child_count, 1u << 25);
    accel_graph *small = test_graph_make(false);
    OK(accel_graph_add_empty(small, NULL, 0, NULL));
    OK(accel_graph_update_child(graph, 26, small)); /* there is room again */
    OK(accel_graph_add_empty(graph, NULL, 0, NULL));
    accel_graph_release(small);
    accel_graph_release(graph);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Each wait for a stream is a record of an event of its own: what one costs does not grow with those
 * before it. When it did, 20000 of them took 0.8 s; they take 2 ms. */
static void test_many_waits_for_streams(void **state)
{
    (void)state;
    enum { FEW = 2000, MANY = 20 * FEW };
    double spent[2] = {0};
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
    OK(accel_stream_wait_stream(side, stream));
    for (int round = 0; round < 2; round++) {
        const double before = seconds();
        for (int i = 0; i < (round == 0 ? FEW : MANY) / 2; i++) {
            OK(accel_stream_wait_stream(stream, side));
            OK(accel_stream_wait_stream(side, stream));
        }
        spent[round] = seconds() - before;
    }
    OK(accel_graph_capture_end(graph, stream));
    assert_true(spent[1] < 100 * spent[0] + 0.2);
    accel_graph_release(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depth_has_a_limit),
        cmocka_unit_test(test_size_has_a_limit),
        cmocka_unit_test(test_many_waits_for_streams),
    };
    test_environment(1);
    return cmocka_run_group_tests(tests, test_graphs_set_up, test_graphs_tear_down);
}
