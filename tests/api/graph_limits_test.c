/* graph_limits_test.c: how large and how deep a graph may be (graph.h): what walks it needs stack for each
 * depth and memory for each node, and says so before it runs out of either. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depth_has_a_limit),
        cmocka_unit_test(test_size_has_a_limit),
    };
    test_environment(1);
    return cmocka_run_group_tests(tests, test_graphs_set_up, test_graphs_tear_down);
}
