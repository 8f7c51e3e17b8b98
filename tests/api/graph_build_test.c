/* graph_build_test.c: graphs built node by node, updated, and put into one another (graph.h). Ask 20:
 * one graph object for all of that. TEST_MASK=cpu:schedules replays node by node. */
#include "support/check.h"
#include "support/kernels.h"
#include "support/process.h"

static test_kernels kernels;
static test_kernels other_kernels; /* of the second device */
static accel_stream *stream;
static const accel_launch_shape one_item = {{1, 1, 1}, {1, 1, 1}};

static accel_graph *make(bool keep_graph)
{
    const accel_graph_options options = {.struct_size = sizeof options, .keep_graph = keep_graph};
    accel_graph *graph = NULL;
    OK(accel_graph_create(test_cpu_device(0), &options, &graph));
    return graph;
}

/* A node that appends `value`, behind one other (UINT32_MAX: behind none). */
static accel_graph_node append(accel_graph *graph, accel_graph_node behind, test_log *log,
                               uint32_t value)
{
    accel_graph_node node = 0;
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(log), ACCEL_ARG_VALUE(value)};
    OK(accel_graph_add_kernel(graph, &behind, behind != UINT32_MAX, kernels.append, &one_item, args,
                              2, &node));
    return node;
}

static void replay(accel_graph *graph)
{
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
}

static void expect_values(test_log *log, const uint32_t *values, uint32_t count)
{
    assert_int_equal(log->count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(log->values[i], values[i]);
    atomic_store(&log->count, 0);
}

static bool says(const char *part)
{
    return strstr(accel_last_error_message(), part) != NULL;
}

static accel_graph_node_info info_of(accel_graph *graph, accel_graph_node node)
{
    accel_graph_node_info info = {.struct_size = sizeof info};
    OK(accel_graph_get_node_info(graph, node, &info));
    return info;
}

/* ---- building ---- */

static void test_a_diamond(void **state)
{
    (void)state;
    static test_log log;
    accel_graph *graph = make(false);
    const accel_graph_node root = append(graph, UINT32_MAX, &log, 1);
    const accel_graph_node sides[2] = {append(graph, root, &log, 2), append(graph, root, &log, 2)};
    accel_graph_node join = 0;
    OK(accel_graph_add_empty(graph, sides, 2, &join));
    append(graph, join, &log, 3);
    replay(graph);
    expect_values(&log, (const uint32_t[]){1, 2, 2, 3}, 4);
    assert_int_equal(info_of(graph, root).level, 0);
    assert_int_equal(info_of(graph, sides[1]).level, 1);
    assert_int_equal(info_of(graph, join).level, 2);
    assert_int_equal(info_of(graph, join).kind, ACCEL_GRAPH_NODE_KIND_EMPTY);
    assert_int_equal(info_of(graph, join).dependency_count, 2);
    accel_graph_node found[2] = {9, 9};
    uint32_t needed = 0;
    FAILS(accel_graph_get_dependencies(graph, join, found, 1, &needed), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_graph_get_dependencies");
    assert_int_equal(needed, 2);
    assert_int_equal(found[0], 9);
    needed = 0;
    OK(accel_graph_get_dependencies(graph, join, NULL, 0, &needed));
    assert_int_equal(needed, 2);
    OK(accel_graph_get_dependencies(graph, join, found, 2, NULL));
    assert_int_equal(found[0], sides[0]);
    assert_int_equal(found[1], sides[1]);
    FAILS(accel_graph_get_dependencies(graph, 5, found, 2, NULL), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_graph_get_dependencies");
    accel_graph_release(graph);
}

/* The number of the new node may be written over the dependency. */
static void test_a_chain_in_one_variable(void **state)
{
    (void)state;
    static test_log log;
    accel_graph *graph = make(false);
    accel_graph_node node = append(graph, UINT32_MAX, &log, 1);
    for (uint32_t i = 0; i < 3; i++)
        OK(accel_graph_add_empty(graph, &node, 1, &node));
    assert_int_equal(node, 3);
    assert_int_equal(info_of(graph, node).level, 3);
    accel_graph_release(graph);
}

static void count_calls(accel_stream *on, accel_status status, void *user)
{
    (void)on;
    atomic_fetch_add((_Atomic(uint32_t) *)user, status == ACCEL_OK ? 1 : 1000);
}

static void test_every_kind(void **state)
{
    (void)state;
    enum { WIDTH = 12, HEIGHT = 5, PITCH = 32 };
    static unsigned char out[HEIGHT][WIDTH];
    _Atomic(uint32_t) calls = 0;
    unsigned char *data = NULL;
    const unsigned char pattern = 0x5a;
    accel_event *event = NULL;
    accel_graph *graph = make(false);
    accel_graph_node node = 0;
    OK(accel_event_create(test_cpu_device(0), NULL, &event));
    OK(accel_memory_alloc(stream, HEIGHT * PITCH, NULL, (void **)&data));
    OK(accel_graph_add_event_wait(graph, NULL, 0, event, &node)); /* never recorded: passes */
    OK(accel_graph_add_fill(graph, &node, 1, data, &pattern, 1, HEIGHT * PITCH, &node));
    assert_int_equal(info_of(graph, node).size, HEIGHT * PITCH);
    OK(accel_graph_add_copy_2d(graph, &node, 1, out, WIDTH, data, PITCH, WIDTH, HEIGHT, &node));
    assert_int_equal(info_of(graph, node).size, HEIGHT * WIDTH);
    OK(accel_graph_add_callback(graph, &node, 1, count_calls, &calls, &node));
    OK(accel_graph_add_event_record(graph, &node, 1, event, &node));
    OK(accel_graph_add_copy(graph, &node, 1, data + 1, data, 0, &node)); /* nothing */
    assert_int_equal(info_of(graph, node).kind, ACCEL_GRAPH_NODE_KIND_EMPTY);
    OK(accel_graph_add_kernel(graph, &node, 1, kernels.nothing, &one_item, NULL, 0, &node));
    assert_ptr_equal(info_of(graph, node).kernel, kernels.nothing);
    assert_int_equal(info_of(graph, node).shape.block[0], 1);
    OK(accel_graph_replay(graph, stream));
    OK(accel_event_synchronize(event));   /* which the replay has recorded */
    OK(accel_stream_synchronize(stream)); /* callbacks may come later, where they are a stand-in */
    assert_int_equal(calls, 1);
    for (size_t i = 0; i < sizeof out; i++)
        assert_int_equal(out[i / WIDTH][i % WIDTH], 0x5a);
    accel_graph_release(graph);
    accel_event_release(event);
    OK(accel_memory_free(data));
}

static void test_times_inside_of_a_graph(void **state)
{
    (void)state;
    const accel_event_options options = {.struct_size = sizeof options, .enable_timing = true};
    accel_event *begin = NULL;
    accel_event *end = NULL;
    double took = 0;
    const uint32_t milliseconds = 5;
    const accel_kernel_arg args[] = {ACCEL_ARG_VALUE(milliseconds)};
    accel_graph_node node = 0;
    accel_graph *graph = make(false);
    OK(accel_event_create(test_cpu_device(0), &options, &begin));
    OK(accel_event_create(test_cpu_device(0), &options, &end));
    OK(accel_graph_add_event_record(graph, NULL, 0, begin, &node));
    OK(accel_graph_add_kernel(graph, &node, 1, kernels.sleep, &one_item, args, 1, &node));
    OK(accel_graph_add_event_record(graph, &node, 1, end, &node));
    replay(graph);
    OK(accel_event_elapsed_time(begin, end, &took));
    assert_true(took >= 4.5);
    accel_graph_release(graph);
    accel_event_release(begin);
    accel_event_release(end);
}

/* A captured graph takes more nodes. */
static void test_adding_to_a_capture(void **state)
{
    (void)state;
    static test_log log;
    accel_graph *graph = make(false);
    accel_graph_state in = ACCEL_GRAPH_STATE_EMPTY;
    OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT));
    OK(test_launch_append(&kernels, stream, &log, 1));
    OK(accel_graph_capture_end(graph, stream));
    append(graph, 0, &log, 2);
    OK(accel_graph_get_state(graph, &in));
    assert_int_equal(in, ACCEL_GRAPH_STATE_CAPTURED);
    replay(graph);
    expect_values(&log, (const uint32_t[]){1, 2}, 2);
    append(graph, 1, &log, 3);
    OK(accel_graph_instantiate(graph)); /* anew, because of the change */
    replay(graph);
    expect_values(&log, (const uint32_t[]){1, 2, 3}, 3);
    accel_graph_release(graph);
}

static void test_refused_nodes(void **state)
{
    (void)state;
    accel_graph *graph = make(false);
    accel_graph *empty = make(false);
    accel_graph_node node = 5;
    const accel_graph_node missing = 0;
    accel_event *event = NULL;
    void *memory = NULL;
    const uint32_t value = 1;
    const accel_kernel_arg args[] = {ACCEL_ARG_VALUE(value), ACCEL_ARG_VALUE(value)};
    FAILS(accel_graph_add_empty(graph, &missing, 1, &node), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_graph_add_empty");
    assert_int_equal(node, UINT32_MAX);
    FAILS(accel_graph_add_empty(graph, NULL, 1, &node), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_graph_add_empty");
    FAILS(accel_graph_add_kernel(graph, NULL, 0, NULL, &one_item, NULL, 0, &node),
          ACCEL_ERROR_INVALID_ARGUMENT, "accel_graph_add_kernel");
    FAILS(accel_graph_add_kernel(graph, NULL, 0, kernels.append, &one_item, args, 2, &node),
          ACCEL_ERROR_INVALID_ARGUMENT, "accel_graph_add_kernel");
    FAILS(accel_graph_add_kernel(graph, NULL, 0, other_kernels.nothing, &one_item, NULL, 0, &node),
          ACCEL_ERROR_MISMATCH, "accel_graph_add_kernel");
    FAILS(accel_graph_add_callback(graph, NULL, 0, NULL, NULL, &node), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_graph_add_callback");
    FAILS(accel_graph_add_event_record(graph, NULL, 0, NULL, &node), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_graph_add_event_record");
    OK(accel_event_create(test_cpu_device(1), NULL, &event));
    FAILS(accel_graph_add_event_record(graph, NULL, 0, event, &node), ACCEL_ERROR_MISMATCH,
          "accel_graph_add_event_record");
    OK(accel_graph_add_event_wait(graph, NULL, 0, event, &node));
    OK(accel_memory_alloc(stream, 64, NULL, &memory));
    FAILS(accel_graph_add_fill(graph, NULL, 0, memory, &value, 3, 63, &node),
          ACCEL_ERROR_INVALID_ARGUMENT, "accel_graph_add_fill");
    FAILS(accel_graph_add_copy(graph, NULL, 0, memory, (char *)memory + 8, 16, &node),
          ACCEL_ERROR_INVALID_ARGUMENT, "accel_graph_add_copy");
    FAILS(accel_graph_add_copy(graph, NULL, 0, memory, &value, 65, &node), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_graph_add_copy");
    FAILS(accel_graph_add_child(graph, NULL, 0, empty, &node), ACCEL_ERROR_INVALID_STATE,
          "accel_graph_add_child");
    FAILS(accel_graph_add_child(graph, NULL, 0, NULL, &node), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_graph_add_child");
    uint32_t count = 0;
    OK(accel_graph_get_node_count(graph, &count));
    assert_int_equal(count, 1);
    OK(accel_memory_free(memory));
    accel_event_release(event);
    accel_graph_release(empty);
    accel_graph_release(graph);
}

/* ---- updates ---- */

static void test_update_a_kernel(void **state)
{
    (void)state;
    static test_log log;
    accel_graph *graph = make(false);
    const accel_graph_node first = append(graph, UINT32_MAX, &log, 1);
    append(graph, first, &log, 2);
    replay(graph);
    expect_values(&log, (const uint32_t[]){1, 2}, 2);
    const uint32_t seven = 7;
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(&log), ACCEL_ARG_VALUE(seven)};
    OK(accel_graph_update_kernel(graph, first, NULL, args, 2));
    replay(graph);
    expect_values(&log, (const uint32_t[]){7, 2}, 2);
    const accel_launch_shape two_blocks = {{2, 1, 1}, {1, 1, 1}};
    OK(accel_graph_update_kernel(graph, first, &two_blocks, args, 2));
    replay(graph);
    expect_values(&log, (const uint32_t[]){7, 7, 2}, 3);
    accel_graph_release(graph);
}

/* Replays that are queued keep what they were queued with. */
static void test_update_with_replays_pending(void **state)
{
    (void)state;
    static test_log log;
    test_gate gate = {0};
    accel_graph *graph = make(false);
    const accel_graph_node node = append(graph, UINT32_MAX, &log, 0);
    OK(accel_graph_instantiate(graph));
    OK(test_launch_gate(&kernels, stream, &gate));
    for (uint32_t i = 1; i <= 5; i++) {
        const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(&log), ACCEL_ARG_VALUE(i)};
        OK(accel_graph_update_kernel(graph, node, NULL, args, 2));
        OK(accel_graph_replay(graph, stream));
    }
    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream));
    expect_values(&log, (const uint32_t[]){1, 2, 3, 4, 5}, 5);
    accel_graph_release(graph);
}

static void test_update_copies_fills_and_callbacks(void **state)
{
    (void)state;
    uint32_t *data = NULL;
    uint32_t out[2] = {0, 0};
    _Atomic(uint32_t) calls[2] = {0, 0};
    const uint32_t first = 11;
    const uint32_t second = 22;
    accel_graph *graph = make(true);
    accel_graph_node fill = 0;
    accel_graph_node copy = 0;
    accel_graph_node callback = 0;
    OK(accel_memory_alloc(stream, 64, NULL, (void **)&data));
    OK(accel_graph_add_fill(graph, NULL, 0, data, &first, 4, 64, &fill));
    OK(accel_graph_add_copy(graph, &fill, 1, &out[0], data, 4, &copy));
    OK(accel_graph_add_callback(graph, &copy, 1, count_calls, &calls[0], &callback));
    replay(graph);
    assert_int_equal(out[0], 11);
    assert_int_equal(calls[0], 1);
    OK(accel_graph_update_fill(graph, fill, data, &second, 4, 32));
    OK(accel_graph_update_copy(graph, copy, &out[1], data, 4));
    OK(accel_graph_update_callback(graph, callback, count_calls, &calls[1]));
    replay(graph);
    assert_int_equal(out[0], 11);
    assert_int_equal(out[1], 22);
    assert_int_equal(calls[0], 1);
    assert_int_equal(calls[1], 1);
    OK(accel_graph_update_copy_2d(graph, copy, &out[0], 4, data + 8, 4, 4, 1));
    replay(graph);
    assert_int_equal(out[0], 11); /* of the half that the second fill leaves alone */
    accel_graph_release(graph);
    OK(accel_memory_free(data));
}

static void test_refused_updates(void **state)
{
    (void)state;
    static test_log log;
    accel_graph *graph = make(false);
    const accel_graph_node node = append(graph, UINT32_MAX, &log, 1);
    const accel_launch_shape none = {{0, 1, 1}, {1, 1, 1}};
    const uint32_t value = 2;
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(&log), ACCEL_ARG_VALUE(value)};
    FAILS(accel_graph_update_kernel(graph, 1, NULL, args, 2), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_graph_update_kernel");
    FAILS(accel_graph_update_kernel(graph, node, NULL, args, 1), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_graph_update_kernel");
    FAILS(accel_graph_update_kernel(graph, node, &none, args, 2), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_graph_update_kernel");
    FAILS(accel_graph_update_callback(graph, node, count_calls, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_graph_update_callback");
    assert_true(says("is a kernel, not a callback"));
    FAILS(accel_graph_update_child(graph, node, graph), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_graph_update_child");
    FAILS(accel_graph_update_fill(graph, node, NULL, &value, 4, 0), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_graph_update_fill");
    replay(graph);
    expect_values(&log, (const uint32_t[]){1}, 1);
    accel_graph_release(graph);
}

/* ---- children ---- */

static void test_children(void **state)
{
    (void)state;
    static test_log log;
    accel_graph *child = make(false);
    accel_graph *parent = make(false);
    append(child, append(child, UINT32_MAX, &log, 2), &log, 3);
    const accel_graph_node first = append(parent, UINT32_MAX, &log, 1);
    accel_graph_node inner = 0;
    OK(accel_graph_add_child(parent, &first, 1, child, &inner));
    append(parent, inner, &log, 4);
    assert_int_equal(info_of(parent, inner).kind, ACCEL_GRAPH_NODE_KIND_CHILD);
    assert_int_equal(info_of(parent, inner).child_count, 2);
    append(child, 1, &log, 9); /* later changes of the child are not followed */
    replay(parent);
    expect_values(&log, (const uint32_t[]){1, 2, 3, 4}, 4);
    OK(accel_graph_update_child(parent, inner, child));
    accel_graph_release(child);
    replay(parent);
    expect_values(&log, (const uint32_t[]){1, 2, 3, 9, 4}, 5);
    OK(accel_graph_add_child(parent, &inner, 1, parent, &inner)); /* itself, as it is now */
    assert_int_equal(info_of(parent, inner).child_count, 5);
    replay(parent);
    expect_values(&log, (const uint32_t[]){1, 2, 3, 9, 4, 1, 2, 3, 9, 4}, 10);
    accel_graph_release(parent);
}

/* A replay on a stream that captures is a child there. */
static void test_a_replay_in_a_capture(void **state)
{
    (void)state;
    static test_log log;
    accel_graph *child = make(false);
    accel_graph *parent = make(false);
    append(child, UINT32_MAX, &log, 2);
    OK(accel_graph_capture_begin(parent, stream, ACCEL_CAPTURE_MODE_DEFAULT));
    OK(test_launch_append(&kernels, stream, &log, 1));
    OK(accel_graph_replay(child, stream));
    OK(test_launch_append(&kernels, stream, &log, 3));
    OK(accel_graph_capture_end(parent, stream));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(log.count, 0);
    accel_graph_release(child);
    replay(parent);
    expect_values(&log, (const uint32_t[]){1, 2, 3}, 3);
    assert_int_equal(info_of(parent, 1).kind, ACCEL_GRAPH_NODE_KIND_CHILD);
    accel_graph_release(parent);
}

/* ---- size ---- */

/* Large kernels in a graph are shared by threads as ever, and every block runs once. */
static void test_large_kernels(void **state)
{
    (void)state;
    enum { COUNT = 1 << 20, REPLAYS = 20 };
    uint32_t *data = NULL;
    const uint32_t zero = 0;
    const uint32_t value = 3;
    static uint32_t out[COUNT];
    accel_graph *graph = make(false);
    OK(accel_memory_alloc(stream, sizeof out, NULL, (void **)&data));
    OK(accel_fill(data, &zero, 4, sizeof out, stream));
    const accel_launch_shape shape = {{COUNT / 64, 1, 1}, {64, 1, 1}};
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(data), ACCEL_ARG_VALUE(value)};
    OK(accel_graph_add_kernel(graph, NULL, 0, kernels.add, &shape, args, 2, NULL));
    for (int i = 0; i < REPLAYS; i++)
        OK(accel_graph_replay(graph, stream));
    OK(accel_copy(out, data, sizeof out, stream));
    OK(accel_stream_synchronize(stream));
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(out[i], 3 * REPLAYS);
    accel_graph_release(graph);
    OK(accel_memory_free(data));
}

/* Kernels that do not depend on each other, and take long, may run side by side: each once, between what
 * comes before and after. */
static void test_wide_levels(void **state)
{
    (void)state;
    enum { WIDTH = 24, LEVELS = 5, REPLAYS = 40 };
    static test_log log;
    const uint32_t none = 0;
    accel_graph *graph = make(false);
    accel_graph_node join = 0;
    OK(accel_graph_add_empty(graph, NULL, 0, &join));
    for (uint32_t level = 0; level < LEVELS; level++) {
        accel_graph_node nodes[WIDTH];
        const accel_kernel_arg nap[] = {ACCEL_ARG_VALUE(none)};
        for (uint32_t i = 0; i < WIDTH; i++) {
            nodes[i] = append(graph, join, &log, level);
            if (level == 2) /* takes some time */
                OK(accel_graph_add_kernel(graph, &join, 1, kernels.sleep, &one_item, nap, 1, NULL));
        }
        OK(accel_graph_add_empty(graph, nodes, WIDTH, &join));
    }
    for (int replays = 0; replays < REPLAYS; replays++) {
        atomic_store(&log.count, 0);
        replay(graph);
        assert_int_equal(log.count, WIDTH * LEVELS);
        for (uint32_t i = 0; i < WIDTH * LEVELS; i++)
            assert_int_equal(log.values[i], i / WIDTH);
    }
    atomic_store(&log.count, 0);
    accel_graph_release(graph);
}

static void test_a_failure_in_a_wide_level(void **state)
{
    (void)state;
    enum { WIDTH = 24 };
    static test_log log;
    test_gate gate = {0};
    accel_stream *doomed = NULL;
    accel_graph *graph = make(false);
    accel_graph_node nodes[WIDTH];
    OK(accel_stream_create(test_cpu_device(0), NULL, &doomed));
    for (uint32_t i = 0; i < WIDTH; i++)
        OK(accel_graph_add_kernel(graph, NULL, 0, i == 11 ? kernels.fail : kernels.nothing,
                                  &one_item, NULL, 0, &nodes[i]));
    const uint32_t value = 1;
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(&log), ACCEL_ARG_VALUE(value)};
    OK(accel_graph_add_kernel(graph, nodes, WIDTH, kernels.append, &one_item, args, 2, NULL));
    OK(test_launch_gate(&kernels, doomed, &gate)); /* queued as a whole before it fails */
    OK(accel_graph_replay(graph, doomed));
    test_gate_open(&gate);
    EXPECT(accel_stream_synchronize(doomed), ACCEL_ERROR_DEVICE_FAILED);
    assert_true(says(TEST_FAIL_TEXT));
    assert_int_equal(log.count, 0);
    accel_graph_release(graph);
    accel_stream_release(doomed);
}

/* Updates of a kernel that runs beside others: also to more blocks than one. */
static void test_update_in_a_wide_level(void **state)
{
    (void)state;
    enum { WIDTH = 8 };
    uint32_t *data = NULL;
    uint32_t out[WIDTH] = {0};
    const uint32_t zero = 0;
    const uint32_t two = 2;
    accel_graph *graph = make(false);
    accel_graph_node nodes[WIDTH];
    OK(accel_memory_alloc(stream, sizeof out, NULL, (void **)&data));
    for (uint32_t i = 0; i < WIDTH; i++) {
        const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(data + i), ACCEL_ARG_VALUE(two)};
        OK(accel_graph_add_kernel(graph, NULL, 0, kernels.add, &one_item, args, 2, &nodes[i]));
    }
    const accel_launch_shape all = {{2, 1, 1}, {WIDTH / 2, 1, 1}};
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(data), ACCEL_ARG_VALUE(two)};
    for (int i = 0; i < 2; i++) {
        OK(accel_fill(data, &zero, 4, sizeof out, stream));
        OK(accel_graph_replay(graph, stream));
        OK(accel_copy(out, data, sizeof out, stream));
        OK(accel_stream_synchronize(stream));
        assert_int_equal(out[0], 2); /* its own kernel's, or that of the one over all */
        assert_int_equal(out[WIDTH - 1], i == 0 ? 2 : 4);
        OK(accel_graph_update_kernel(graph, nodes[0], &all, args, 2));
    }
    accel_graph_release(graph);
    OK(accel_memory_free(data));
}

/* More nodes than a queue has places, and more replays. */
static void test_many_nodes_and_replays(void **state)
{
    (void)state;
    enum { NODES = 3000, REPLAYS = 1500 };
    uint32_t *data = NULL;
    uint32_t out = 0;
    const uint32_t value = 1;
    const uint32_t zero = 0;
    accel_graph *large = make(false);
    accel_graph *small = make(false);
    OK(accel_memory_alloc(stream, 4, NULL, (void **)&data));
    OK(accel_fill(data, &zero, 4, 4, stream));
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(data), ACCEL_ARG_VALUE(value)};
    accel_graph_node node = 0;
    for (int i = 0; i < NODES; i++)
        OK(accel_graph_add_kernel(large, &node, i != 0, kernels.add, &one_item, args, 2, &node));
    OK(accel_graph_add_kernel(small, NULL, 0, kernels.add, &one_item, args, 2, NULL));
    OK(accel_graph_replay(large, stream));
    for (int i = 0; i < REPLAYS; i++)
        OK(accel_graph_replay(small, stream));
    OK(accel_copy(&out, data, 4, stream));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(out, NODES + REPLAYS);
    accel_graph_release(large);
    accel_graph_release(small);
    OK(accel_memory_free(data));
}

static int set_up(void **state)
{
    (void)state;
    test_environment(2);
    OK(test_kernels_load(test_cpu_device(0), &kernels));
    OK(test_kernels_load(test_cpu_device(1), &other_kernels));
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_kernels_unload(&kernels);
    test_kernels_unload(&other_kernels);
    accel_stream_release(stream);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_diamond),
        cmocka_unit_test(test_a_chain_in_one_variable),
        cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_times_inside_of_a_graph),
        cmocka_unit_test(test_adding_to_a_capture),
        cmocka_unit_test(test_refused_nodes),
        cmocka_unit_test(test_update_a_kernel),
        cmocka_unit_test(test_update_with_replays_pending),
        cmocka_unit_test(test_update_copies_fills_and_callbacks),
        cmocka_unit_test(test_refused_updates),
        cmocka_unit_test(test_children),
        cmocka_unit_test(test_a_replay_in_a_capture),
        cmocka_unit_test(test_large_kernels),
        cmocka_unit_test(test_wide_levels),
        cmocka_unit_test(test_a_failure_in_a_wide_level),
        cmocka_unit_test(test_update_in_a_wide_level),
        cmocka_unit_test(test_many_nodes_and_replays),
    };
    return cmocka_run_group_tests_name("graph_build", tests, set_up, tear_down);
}
