/* graph_test.c: the life of a graph: capture, instantiate, replay, reset (graph.h). Cases B88 (reset),
 * B97 (empty captures). TEST_MASK=cpu:schedules replays node by node. */
#include "support/graphs.h"
#include "support/process.h"

static void test_capture_runs_nothing_and_replays(void **state)
{
    (void)state;
    static test_log log;
    accel_graph *graph = test_graph_make(false);
    assert_int_equal(test_graph_state(graph), ACCEL_GRAPH_STATE_EMPTY);
    test_graph_begin(graph);
    assert_int_equal(test_graph_state(graph), ACCEL_GRAPH_STATE_CAPTURING);
    assert_true(test_is_capturing(stream));
    OK(test_launch_append(&kernels, stream, &log, 1));
    OK(test_launch_append(&kernels, stream, &log, 2));
    assert_int_equal(test_graph_count(graph), 2);
    OK(accel_graph_capture_end(graph, stream));
    assert_int_equal(test_graph_state(graph), ACCEL_GRAPH_STATE_INSTANTIATED);
    assert_false(test_is_capturing(stream));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(log.count, 0);
    for (int i = 0; i < 3; i++)
        OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
    test_log_is(&log, (const uint32_t[]){1, 2, 1, 2, 1, 2}, 6);
    accel_graph_release(graph);
    test_is_usable(stream);
}

static void ask_device(accel_stream *on, accel_status status, void *graph)
{
    accel_device device = ACCEL_DEVICE_CURRENT;
    (void)on;
    assert_int_equal(status, ACCEL_OK);
    assert_int_equal(accel_graph_get_device(graph, &device), ACCEL_ERROR_IN_CALLBACK);
    assert_int_equal(device.backend, ACCEL_BACKEND_NONE);
}

static void test_device(void **state)
{
    (void)state;
    accel_graph *graph = NULL;
    accel_device device = ACCEL_DEVICE_CURRENT;
    OK(accel_graph_create(test_cpu_device(1), NULL, &graph));
    OK(accel_graph_get_device(graph, &device));
    assert_int_equal(device.backend, test_cpu_device(1).backend);
    assert_int_equal(device.index, 1);
    FAILS(accel_graph_get_device(graph, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_graph_get_device");
    FAILS(accel_graph_get_device(NULL, &device), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_graph_get_device");
    assert_int_equal(device.backend, ACCEL_BACKEND_NONE);
    assert_int_equal(device.index, ACCEL_INDEX_NONE);
    OK(accel_stream_add_callback(stream, ask_device, graph));
    OK(accel_stream_synchronize(stream));
    accel_graph_release(graph);
}

static void test_copies_fills_and_kernels(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    uint32_t *data = NULL;
    static uint32_t out[COUNT];
    const uint32_t seven = 7;
    accel_graph *graph = test_graph_make(false);
    OK(accel_memory_alloc(stream, COUNT * sizeof *data, NULL, (void **)&data));
    test_graph_begin(graph);
    OK(accel_fill(data, &seven, sizeof seven, COUNT * sizeof *data, stream));
    OK(test_launch_add(&kernels, stream, data, COUNT, 5));
    OK(accel_copy(out, data, sizeof out, stream));
    OK(accel_graph_capture_end(graph, stream));
    for (int round = 0; round < 2; round++) {
        memset(out, 0, sizeof out);
        OK(accel_graph_replay(graph, stream));
        OK(accel_stream_synchronize(stream));
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(out[i], 12);
    }
    accel_graph_release(graph);
    OK(accel_memory_free(data));
}

/* A fork and a join by events, also by accel_stream_wait_stream. */
static void test_streams_join_by_events(void **state)
{
    (void)state;
    static test_log log;
    accel_event *event = NULL;
    accel_graph *graph = test_graph_make(false);
    OK(accel_event_create(test_cpu_device(0), NULL, &event));
    test_graph_begin(graph);
    OK(test_launch_append(&kernels, stream, &log, 1));
    OK(accel_event_record(event, stream));
    assert_false(test_is_capturing(side));
    OK(accel_stream_wait_event(side, event));
    assert_true(test_is_capturing(side));
    OK(test_launch_append(&kernels, side, &log, 2));
    OK(accel_stream_wait_stream(stream, side));
    OK(test_launch_append(&kernels, stream, &log, 3));
    OK(accel_graph_capture_end(graph, stream));
    assert_false(test_is_capturing(side));
    accel_graph_node_info info = {.struct_size = sizeof info};
    OK(accel_graph_get_node_info(graph, 2, &info));
    assert_int_equal(info.level, 2);
    assert_int_equal(info.dependency_count, 2); /* its own stream's last node, and the other's */
    OK(accel_graph_replay(graph, side));
    OK(accel_stream_synchronize(side));
    test_log_is(&log, (const uint32_t[]){1, 2, 3}, 3);
    bool done = false;
    OK(accel_event_query(event, &done)); /* as before the capture: never recorded */
    assert_true(done);
    accel_event_release(event);
    accel_graph_release(graph);
    test_is_usable(side);
}

static void test_an_event_is_after_the_capture_what_it_was_before(void **state)
{
    (void)state;
    accel_event *event = NULL;
    test_gate gate = {0};
    accel_graph *graph = test_graph_make(false);
    OK(accel_event_create(test_cpu_device(0), NULL, &event));
    OK(test_launch_gate(&kernels, side, &gate));
    OK(accel_event_record(event, side));
    test_graph_begin(graph);
    OK(accel_event_record(event, stream));
    OK(accel_graph_capture_end(graph, stream));
    bool done = true;
    OK(accel_event_query(event, &done));
    assert_false(done);
    test_gate_open(&gate);
    OK(accel_event_synchronize(event));
    /* Recorded elsewhere during a capture: that is what holds. */
    OK(accel_graph_reset(graph));
    test_graph_begin(graph);
    OK(accel_event_record(event, stream));
    OK(accel_event_record(event, side));
    OK(accel_event_query(event, &done));
    OK(accel_graph_capture_end(graph, stream));
    OK(accel_event_synchronize(event));
    accel_event_release(event);
    accel_graph_release(graph);
}

static void test_replays_on_other_streams_keep_their_order(void **state)
{
    (void)state;
    static test_log log;
    test_gate gate = {0};
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
    OK(test_launch_append(&kernels, stream, &log, 1));
    OK(accel_graph_capture_end(graph, stream));
    OK(test_launch_gate(&kernels, stream, &gate));
    OK(accel_graph_replay(graph, stream));
    OK(accel_graph_replay(graph, side));
    OK(test_launch_append(&kernels, side, &log, 2));
    test_nap_ms(5);
    assert_int_equal(log.count, 0);
    test_gate_open(&gate);
    OK(accel_stream_synchronize(side));
    test_log_is(&log, (const uint32_t[]){1, 1, 2}, 3);
    accel_graph_release(graph);
}

static void count_calls(accel_stream *on, accel_status status, void *user)
{
    (void)on;
    atomic_fetch_add((_Atomic(uint32_t) *)user, status == ACCEL_OK ? 1 : 1000);
}

static void test_callbacks_are_captured(void **state)
{
    (void)state;
    _Atomic(uint32_t) calls = 0;
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
    OK(test_launch_nothing(&kernels, stream));
    OK(accel_stream_add_callback(stream, count_calls, &calls));
    OK(test_launch_nothing(&kernels, stream));
    OK(accel_graph_capture_end(graph, stream));
    assert_int_equal(test_graph_count(graph), 3);
    OK(accel_graph_replay(graph, stream));
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(calls, 2);
    accel_graph_release(graph);
}

static void test_keep_graph(void **state)
{
    (void)state;
    static test_log log;
    accel_graph *graph = test_graph_make(true);
    test_graph_begin(graph);
    OK(test_launch_append(&kernels, stream, &log, 1));
    OK(accel_graph_capture_end(graph, stream));
    assert_int_equal(test_graph_state(graph), ACCEL_GRAPH_STATE_CAPTURED);
    OK(accel_graph_instantiate(graph));
    assert_int_equal(test_graph_state(graph), ACCEL_GRAPH_STATE_INSTANTIATED);
    OK(accel_graph_replay(graph, stream));
    OK(accel_graph_instantiate(graph)); /* again, with a replay pending */
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(log.count, 2);
    OK(accel_graph_reset(graph));
    test_graph_begin(graph); /* on demand */
    OK(test_launch_append(&kernels, stream, &log, 1));
    OK(accel_graph_capture_end(graph, stream));
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(log.count, 3);
    accel_graph_release(graph);
}

/* Case B116 in a capture: an empty grid is a success and does nothing, an empty block an error that spoils
 * nothing, and neither sticks. */
static void test_empty_shapes(void **state)
{
    (void)state;
    static test_log log;
    const uint32_t value = 7;
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(&log), ACCEL_ARG_VALUE(value)};
    const accel_launch_shape no_block = {{1, 1, 1}, {1, 0, 1}};
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
    for (int i = 0; i < 3; i++) {
        accel_launch_shape none = {{1, 1, 1}, {1, 1, 1}};
        none.grid[i] = 0;
        OK(accel_kernel_launch(kernels.append, stream, &none, args, 2));
    }
    EXPECT(accel_kernel_launch(kernels.append, stream, &no_block, args, 2),
           ACCEL_ERROR_INVALID_ARGUMENT);
    OK(test_launch_append(&kernels, stream, &log, value));
    OK(accel_graph_capture_end(graph, stream));
    assert_int_equal(test_graph_count(graph), 1);
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
    test_log_is(&log, (const uint32_t[]){value}, 1);
    accel_graph_release(graph);
}

/* Case B88: reset leads back to the start, from everywhere, as often as one likes. */
static void test_reset(void **state)
{
    (void)state;
    static test_log log;
    accel_graph *graph = test_graph_make(false);
    for (uint32_t round = 1; round <= 3; round++) {
        test_graph_begin(graph);
        OK(test_launch_append(&kernels, stream, &log, round));
        OK(accel_graph_capture_end(graph, stream));
        OK(accel_graph_replay(graph, stream));
        OK(accel_graph_reset(graph)); /* with a replay pending */
        OK(accel_graph_reset(graph));
        assert_int_equal(test_graph_state(graph), ACCEL_GRAPH_STATE_EMPTY);
        assert_int_equal(test_graph_count(graph), 0);
    }
    OK(accel_stream_synchronize(stream));
    test_log_is(&log, (const uint32_t[]){1, 2, 3}, 3);
    test_graph_begin(graph);
    OK(test_launch_append(&kernels, stream, &log, 9));
    OK(accel_graph_reset(graph)); /* during a capture */
    test_is_usable(stream);
    test_graph_begin(graph);
    accel_graph_release(graph);
    test_is_usable(stream);
}

static void test_release_with_replays_pending(void **state)
{
    (void)state;
    static test_log log;
    test_gate gate = {0};
    accel_graph *graph = test_graph_make(false);
    test_kernels own = {0};
    OK(test_kernels_load(test_cpu_device(0), &own));
    test_graph_begin(graph);
    OK(test_launch_append(&own, stream, &log, 1));
    OK(accel_graph_capture_end(graph, stream));
    test_kernels_unload(&own); /* the graph keeps the module */
    OK(test_launch_gate(&kernels, stream, &gate));
    OK(accel_graph_replay(graph, stream));
    OK(accel_graph_replay(graph, stream));
    accel_graph_release(graph);
    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream));
    assert_int_equal(log.count, 2);
    OK(accel_synchronize(test_cpu_device(0)));
}

static void test_scope(void **state)
{
    (void)state;
    static test_log log;
    accel_graph_scope scope;
    accel_stream *before = NULL;
    accel_stream *inside = NULL;
    accel_stream *after = NULL;
    accel_graph *graph = test_graph_make(false);
    OK(accel_current_stream(test_cpu_device(0), &before));
    OK(accel_graph_scope_begin(graph, NULL, ACCEL_CAPTURE_MODE_GLOBAL, &scope));
    OK(accel_current_stream(test_cpu_device(0), &inside));
    assert_ptr_not_equal(inside, before);
    assert_true(test_is_capturing(NULL));
    OK(test_launch_append(&kernels, NULL, &log, 1));
    OK(accel_graph_scope_end(&scope));
    OK(accel_graph_scope_end(&scope)); /* inactive */
    OK(accel_current_stream(test_cpu_device(0), &after));
    assert_ptr_equal(after, before);
    OK(accel_graph_replay(graph, NULL));
    OK(accel_stream_synchronize(NULL));
    assert_int_equal(log.count, 1);
    OK(accel_graph_reset(graph));
    /* What was current is current again, also where the end fails. */
    OK(accel_graph_scope_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT, &scope));
    FAILS(accel_stream_synchronize(NULL), ACCEL_ERROR_CAPTURE, "accel_stream_synchronize");
    FAILS(accel_graph_scope_end(&scope), ACCEL_ERROR_CAPTURE, "accel_graph_scope_end");
    OK(accel_current_stream(test_cpu_device(0), &after));
    assert_ptr_equal(after, before);
    test_is_usable(stream);
    accel_graph_release(graph);
}

/* ---- empty captures: case B97 ---- */

static uint32_t warnings;

static void count_warnings(accel_log_level level, const char *backend, const char *text, void *user)
{
    (void)backend, (void)user;
    warnings += level == ACCEL_LOG_LEVEL_WARNING && strstr(text, "without any work") != NULL;
}

static void test_empty_captures(void **state)
{
    (void)state;
    OK(accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, count_warnings, NULL));
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
    OK(test_launch_nothing(&kernels, side)); /* not part of it */
    OK(accel_graph_capture_end(graph, stream));
    assert_int_equal(warnings, 1);
    assert_int_equal(test_graph_count(graph), 0);
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(warnings, 1);
    OK(accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, NULL, NULL));
    accel_graph_release(graph);
}

/* ---- failures on the device ---- */

static void test_a_failing_node(void **state)
{
    (void)state;
    static test_log log;
    test_gate gate = {0};
    accel_stream *doomed = NULL;
    accel_graph *graph = test_graph_make(false);
    OK(accel_stream_create(test_cpu_device(0), NULL, &doomed));
    test_graph_begin(graph);
    OK(test_launch_append(&kernels, stream, &log, 1));
    OK(test_launch_fail(&kernels, stream));
    OK(test_launch_append(&kernels, stream, &log, 2));
    OK(accel_graph_capture_end(graph, stream));
    OK(test_launch_gate(&kernels, doomed, &gate)); /* queued as a whole before it fails */
    OK(accel_graph_replay(graph, doomed));
    test_gate_open(&gate);
    EXPECT(accel_stream_synchronize(doomed), ACCEL_ERROR_DEVICE_FAILED);
    assert_true(test_error_says(TEST_FAIL_TEXT));
    test_log_is(&log, (const uint32_t[]){1}, 1);
    EXPECT(accel_graph_replay(graph, doomed), ACCEL_ERROR_DEVICE_FAILED);
    accel_stream_release(doomed);
    test_is_usable(stream);
    accel_graph_release(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capture_runs_nothing_and_replays),
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_copies_fills_and_kernels),
        cmocka_unit_test(test_streams_join_by_events),
        cmocka_unit_test(test_an_event_is_after_the_capture_what_it_was_before),
        cmocka_unit_test(test_replays_on_other_streams_keep_their_order),
        cmocka_unit_test(test_callbacks_are_captured),
        cmocka_unit_test(test_keep_graph),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_release_with_replays_pending),
        cmocka_unit_test(test_scope),
        cmocka_unit_test(test_empty_captures),
        cmocka_unit_test(test_empty_shapes),
        cmocka_unit_test(test_a_failing_node),
    };
    return cmocka_run_group_tests_name("graph", tests, test_graphs_set_up, test_graphs_tear_down);
}
