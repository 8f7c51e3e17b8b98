/* graph_fork_test.c: graphs in children of a process that used them: on the cpu backend an inherited graph
 * can be replayed, updated, reset and released; a capture that was open at the fork is not the child's:
 * its streams and events are as before it, and the graph is to be reset. Nothing hangs, whatever other
 * threads did at the fork. */
#include <pthread.h>

#include "support/check.h"
#include "support/kernels.h"
#include "support/process.h"

enum { CHILDREN = 20 };

static test_kernels kernels;
static accel_stream *stream;
static accel_event *event;
static uint32_t *data;
static accel_graph *graph; /* data = 1, then + 2 */
static const accel_launch_shape one_item = {{1, 1, 1}, {1, 1, 1}};

static accel_status build(accel_graph **out_graph)
{
    accel_graph_node node = 0;
    const uint32_t one = 1;
    const uint32_t two = 2;
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(data), ACCEL_ARG_VALUE(two)};
    accel_status status = accel_graph_create(test_cpu_device(0), NULL, out_graph);
    if (status == ACCEL_OK)
        status = accel_graph_add_fill(*out_graph, NULL, 0, data, &one, 4, 4, &node);
    if (status == ACCEL_OK)
        status = accel_graph_add_kernel(*out_graph, &node, 1, kernels.add, &one_item, args, 2,
                                        NULL);
    return status == ACCEL_OK ? accel_graph_instantiate(*out_graph) : status;
}

static int replay_gives(accel_graph *replayed, accel_stream *on, uint32_t wanted)
{
    uint32_t out = 0;
    CHECK_QUIET(accel_graph_replay(replayed, on) == ACCEL_OK);
    CHECK_QUIET(accel_copy(&out, data, 4, on) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(on) == ACCEL_OK);
    CHECK_QUIET(out == wanted);
    return 0;
}

/* ---- inherited graphs ---- */

static int use_inherited(void *user)
{
    (void)user;
    const uint32_t nine = 9;
    accel_stream *made = NULL;
    accel_graph *own = NULL;
    accel_graph_state state = ACCEL_GRAPH_STATE_EMPTY;
    CHECK_QUIET(accel_graph_get_state(graph, &state) == ACCEL_OK);
    CHECK_QUIET(state == ACCEL_GRAPH_STATE_INSTANTIATED);
    CHECK_QUIET(accel_stream_create(test_cpu_device(0), NULL, &made) == ACCEL_OK);
    if (replay_gives(graph, stream, 3) != 0 || replay_gives(graph, made, 3) != 0)
        return 1;
    CHECK_QUIET(accel_graph_update_fill(graph, 0, data, &nine, 4, 4) == ACCEL_OK);
    if (replay_gives(graph, stream, 11) != 0)
        return 1;
    CHECK_QUIET(build(&own) == ACCEL_OK);
    if (replay_gives(own, stream, 3) != 0)
        return 1;
    CHECK_QUIET(accel_graph_reset(graph) == ACCEL_OK);
    accel_graph_release(graph);
    accel_graph_release(own);
    accel_stream_release(made);
    CHECK_QUIET(accel_synchronize(test_cpu_device(0)) == ACCEL_OK);
    return 0;
}

static void test_a_child_replays(void **state)
{
    (void)state;
    assert_int_equal(replay_gives(graph, stream, 3), 0);
    assert_int_equal(test_in_child(use_inherited, NULL, 30), 0);
    assert_int_equal(replay_gives(graph, stream, 3), 0); /* untouched by what the child did */
}

/* What is pending at the fork is not the child's. */
static void test_a_child_of_pending_replays(void **state)
{
    (void)state;
    test_gate gate = {0};
    OK(test_launch_gate(&kernels, stream, &gate));
    OK(accel_graph_replay(graph, stream));
    const int result = test_in_child(use_inherited, NULL, 30);
    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream));
    assert_int_equal(result, 0);
}

static int release_only(void *user)
{
    accel_graph_release(user);
    return 0;
}

static void test_a_child_of_a_graph_that_waits_to_be_given_back(void **state)
{
    (void)state;
    test_gate gate = {0};
    accel_graph *made = NULL;
    OK(build(&made));
    OK(test_launch_gate(&kernels, stream, &gate));
    OK(accel_graph_replay(made, stream));
    accel_graph_release(made);
    const int result = test_in_child(use_inherited, NULL, 30);
    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream));
    assert_int_equal(result, 0);
    OK(build(&made));
    assert_int_equal(test_in_child(release_only, made, 30), 0);
    accel_graph_release(made);
}

/* ---- open captures ---- */

static int use_captured(void *user)
{
    accel_graph *captured = user;
    bool is = true;
    CHECK_QUIET(accel_stream_is_capturing(stream, &is) == ACCEL_OK && !is);
    CHECK_QUIET(accel_event_query(event, &is) == ACCEL_OK && is);
    if (replay_gives(graph, stream, 3) != 0)
        return 1;
    CHECK_QUIET(accel_graph_capture_end(captured, stream) == ACCEL_ERROR_FORKED);
    CHECK_QUIET(strstr(accel_last_error_message(), "reset") != NULL);
    CHECK_QUIET(accel_graph_reset(captured) == ACCEL_OK);
    CHECK_QUIET(accel_graph_capture_begin(captured, stream, ACCEL_CAPTURE_MODE_GLOBAL) == ACCEL_OK);
    CHECK_QUIET(test_launch_nothing(&kernels, stream) == ACCEL_OK);
    CHECK_QUIET(accel_event_record(event, stream) == ACCEL_OK);
    CHECK_QUIET(accel_graph_capture_end(captured, stream) == ACCEL_OK);
    CHECK_QUIET(accel_graph_replay(captured, stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    accel_graph_release(captured);
    CHECK_QUIET(accel_synchronize(test_cpu_device(0)) == ACCEL_OK);
    return 0;
}

static void test_a_fork_in_a_capture(void **state)
{
    (void)state;
    accel_graph *captured = NULL;
    uint32_t count = 0;
    OK(accel_graph_create(test_cpu_device(0), NULL, &captured));
    OK(accel_graph_capture_begin(captured, stream, ACCEL_CAPTURE_MODE_GLOBAL));
    OK(test_launch_nothing(&kernels, stream));
    OK(accel_event_record(event, stream));
    assert_int_equal(test_in_child(use_captured, captured, 30), 0);
    OK(test_launch_nothing(&kernels, stream)); /* in the parent it goes on */
    OK(accel_graph_capture_end(captured, stream));
    OK(accel_graph_get_node_count(captured, &count));
    assert_int_equal(count, 2);
    accel_graph_release(captured);
}

/* ---- other threads ---- */

static _Atomic(bool) stop;

static void *capture_and_replay(void *user)
{
    (void)user;
    accel_stream *own = NULL;
    accel_graph *made = NULL;
    accel_status status = accel_stream_create(test_cpu_device(0), NULL, &own);
    while (status == ACCEL_OK && !stop) {
        status = accel_graph_create(test_cpu_device(0), NULL, &made);
        if (status == ACCEL_OK)
            status = accel_graph_capture_begin(made, own, ACCEL_CAPTURE_MODE_DEFAULT);
        for (int i = 0; status == ACCEL_OK && i < 5; i++)
            status = test_launch_nothing(&kernels, own);
        if (status == ACCEL_OK)
            status = accel_graph_capture_end(made, own);
        if (status == ACCEL_OK)
            status = accel_graph_replay(made, own);
        accel_graph_release(made);
        accel_stream_synchronize(own);
    }
    accel_stream_release(own);
    return (void *)(uintptr_t)status;
}

static void test_forks_beside_captures(void **state)
{
    (void)state;
    pthread_t threads[2];
    int worst = 0;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, capture_and_replay, NULL), 0);
    for (int i = 0; i < CHILDREN && worst == 0; i++)
        worst = test_in_child(use_inherited, NULL, 30);
    stop = true;
    for (int i = 0; i < 2; i++) {
        void *status = NULL;
        assert_int_equal(pthread_join(threads[i], &status), 0);
        assert_int_equal((accel_status)(uintptr_t)status, ACCEL_OK);
    }
    assert_int_equal(worst, 0);
}

static int set_up(void **state)
{
    (void)state;
    test_environment(1);
    OK(test_kernels_load(test_cpu_device(0), &kernels));
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    OK(accel_event_create(test_cpu_device(0), NULL, &event));
    OK(accel_memory_alloc(stream, 64, NULL, (void **)&data));
    OK(build(&graph));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    accel_graph_release(graph);
    accel_event_release(event);
    OK(accel_memory_free(data));
    accel_stream_release(stream);
    test_kernels_unload(&kernels);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_child_replays),
        cmocka_unit_test(test_a_child_of_pending_replays),
        cmocka_unit_test(test_a_child_of_a_graph_that_waits_to_be_given_back),
        cmocka_unit_test(test_a_fork_in_a_capture),
        cmocka_unit_test(test_forks_beside_captures),
    };
    return cmocka_run_group_tests_name("graph_fork", tests, set_up, tear_down);
}
