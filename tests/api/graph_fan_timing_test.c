/* graph_fan_timing_test.c: kernels of a graph that do not depend on each other run side by side where they
 * take long. They sleep, so that a busy machine does not matter much, and the same kernels in a chain are
 * measured beside them. */
#include <stdlib.h>

#include "support/graphs.h"
#include "support/process.h"

enum { WIDTH = 8, NAP_MS = 20, TURNS = 5 };

static accel_graph *make_naps(bool in_a_chain)
{
    static const accel_launch_shape one_item = {{1, 1, 1}, {1, 1, 1}};
    const uint32_t milliseconds = NAP_MS;
    const accel_kernel_arg args[] = {ACCEL_ARG_VALUE(milliseconds)};
    accel_graph_node node = 0;
    accel_graph *graph = test_graph_make(false);
    for (int i = 0; i < WIDTH; i++)
        OK(accel_graph_add_kernel(graph, &node, in_a_chain && i != 0, kernels.sleep, &one_item,
                                  args, 1, &node));
    return graph;
}

static uint64_t replay(accel_graph *graph)
{
    const uint64_t begin = test_now_ns();
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
    return test_now_ns() - begin;
}

static void test_long_kernels_run_side_by_side(void **state)
{
    (void)state;
    uint64_t fan_ns = UINT64_MAX;
    uint64_t chain_ns = UINT64_MAX;
    accel_graph *fan = make_naps(false);
    accel_graph *chain = make_naps(true);
    for (int i = 0; i < TURNS && fan_ns > chain_ns / 4 * 3; i++) {
        const uint64_t in_a_fan = replay(fan);
        const uint64_t in_a_chain = replay(chain);
        fan_ns = in_a_fan < fan_ns ? in_a_fan : fan_ns;
        chain_ns = in_a_chain < chain_ns ? in_a_chain : chain_ns;
    }
    accel_graph_release(fan);
    accel_graph_release(chain);
    if (fan_ns > chain_ns / 4 * 3)
        fail_msg("side by side %.1f ms, in a chain %.1f ms", (double)fan_ns / 1e6,
                 (double)chain_ns / 1e6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_long_kernels_run_side_by_side)};
    setenv("TEST_THREADS", "4", 1);
    return cmocka_run_group_tests_name("graph_fan_timing", tests, test_graphs_set_up,
                                       test_graphs_tear_down);
}
