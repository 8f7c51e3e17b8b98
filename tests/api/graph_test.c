/* graph_test.c: the life of a graph: capture, instantiate, replay, reset, and every misuse of each
 * (graph.h). Cases B87 and B88 (failed captures, reset), B97 (empty captures). TEST_MASK=cpu:schedules
 * replays node by node. */
#include <pthread.h>

#include "support/check.h"
#include "support/kernels.h"
#include "support/process.h"

static test_kernels kernels;
static test_kernels other_kernels; /* of the second device */
static accel_stream *stream;
static accel_stream *side;
static accel_stream *other_device_stream;

static accel_graph *make(bool keep_graph)
{
    const accel_graph_options options = {.struct_size = sizeof options, .keep_graph = keep_graph};
    accel_graph *graph = NULL;
    OK(accel_graph_create(test_cpu_device(0), &options, &graph));
    return graph;
}

static accel_graph_state state_of(accel_graph *graph)
{
    accel_graph_state state = ACCEL_GRAPH_STATE_EMPTY;
    OK(accel_graph_get_state(graph, &state));
    return state;
}

static uint32_t count_of(accel_graph *graph)
{
    uint32_t count = UINT32_MAX;
    OK(accel_graph_get_node_count(graph, &count));
    return count;
}

static bool is_capturing(accel_stream *which)
{
    bool is = false;
    OK(accel_stream_is_capturing(which, &is));
    return is;
}

/* The stream takes work again, and the work runs. */
static void is_usable(accel_stream *which)
{
    static test_log log;
    atomic_store(&log.count, 0);
    assert_false(is_capturing(which));
    OK(test_launch_append(&kernels, which, &log, 1));
    OK(accel_stream_synchronize(which));
    assert_int_equal(log.count, 1);
}

static void begin(accel_graph *graph)
{
    OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT));
}

static void expect_values(const test_log *log, const uint32_t *values, uint32_t count)
{
    assert_int_equal(log->count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(log->values[i], values[i]);
}

/* ---- what works ---- */

static void test_capture_runs_nothing_and_replays(void **state)
{
    (void)state;
    static test_log log;
    accel_graph *graph = make(false);
    assert_int_equal(state_of(graph), ACCEL_GRAPH_STATE_EMPTY);
    begin(graph);
    assert_int_equal(state_of(graph), ACCEL_GRAPH_STATE_CAPTURING);
    assert_true(is_capturing(stream));
    OK(test_launch_append(&kernels, stream, &log, 1));
    OK(test_launch_append(&kernels, stream, &log, 2));
    assert_int_equal(count_of(graph), 2);
    OK(accel_graph_capture_end(graph, stream));
    assert_int_equal(state_of(graph), ACCEL_GRAPH_STATE_INSTANTIATED);
    assert_false(is_capturing(stream));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(log.count, 0);
    for (int i = 0; i < 3; i++)
        OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
    expect_values(&log, (const uint32_t[]){1, 2, 1, 2, 1, 2}, 6);
    accel_graph_release(graph);
    is_usable(stream);
}

static void test_copies_fills_and_kernels(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    uint32_t *data = NULL;
    static uint32_t out[COUNT];
    const uint32_t seven = 7;
    accel_graph *graph = make(false);
    OK(accel_memory_alloc(stream, COUNT * sizeof *data, NULL, (void **)&data));
    begin(graph);
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
    accel_graph *graph = make(false);
    OK(accel_event_create(test_cpu_device(0), NULL, &event));
    begin(graph);
    OK(test_launch_append(&kernels, stream, &log, 1));
    OK(accel_event_record(event, stream));
    assert_false(is_capturing(side));
    OK(accel_stream_wait_event(side, event));
    assert_true(is_capturing(side));
    OK(test_launch_append(&kernels, side, &log, 2));
    OK(accel_stream_wait_stream(stream, side));
    OK(test_launch_append(&kernels, stream, &log, 3));
    OK(accel_graph_capture_end(graph, stream));
    assert_false(is_capturing(side));
    accel_graph_node_info info = {.struct_size = sizeof info};
    OK(accel_graph_get_node_info(graph, 2, &info));
    assert_int_equal(info.level, 2);
    assert_int_equal(info.dependency_count, 2); /* its own stream's last node, and the other's */
    OK(accel_graph_replay(graph, side));
    OK(accel_stream_synchronize(side));
    expect_values(&log, (const uint32_t[]){1, 2, 3}, 3);
    bool done = false;
    OK(accel_event_query(event, &done)); /* as before the capture: never recorded */
    assert_true(done);
    accel_event_release(event);
    accel_graph_release(graph);
    is_usable(side);
}

static void test_an_event_is_after_the_capture_what_it_was_before(void **state)
{
    (void)state;
    accel_event *event = NULL;
    test_gate gate = {0};
    accel_graph *graph = make(false);
    OK(accel_event_create(test_cpu_device(0), NULL, &event));
    OK(test_launch_gate(&kernels, side, &gate));
    OK(accel_event_record(event, side));
    begin(graph);
    OK(accel_event_record(event, stream));
    OK(accel_graph_capture_end(graph, stream));
    bool done = true;
    OK(accel_event_query(event, &done));
    assert_false(done);
    test_gate_open(&gate);
    OK(accel_event_synchronize(event));
    /* Recorded elsewhere during a capture: that is what holds. */
    OK(accel_graph_reset(graph));
    begin(graph);
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
    accel_graph *graph = make(false);
    begin(graph);
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
    expect_values(&log, (const uint32_t[]){1, 1, 2}, 3);
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
    accel_graph *graph = make(false);
    begin(graph);
    OK(test_launch_nothing(&kernels, stream));
    OK(accel_stream_add_callback(stream, count_calls, &calls));
    OK(test_launch_nothing(&kernels, stream));
    OK(accel_graph_capture_end(graph, stream));
    assert_int_equal(count_of(graph), 3);
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
    accel_graph *graph = make(true);
    begin(graph);
    OK(test_launch_append(&kernels, stream, &log, 1));
    OK(accel_graph_capture_end(graph, stream));
    assert_int_equal(state_of(graph), ACCEL_GRAPH_STATE_CAPTURED);
    OK(accel_graph_instantiate(graph));
    assert_int_equal(state_of(graph), ACCEL_GRAPH_STATE_INSTANTIATED);
    OK(accel_graph_replay(graph, stream));
    OK(accel_graph_instantiate(graph)); /* again, with a replay pending */
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(log.count, 2);
    OK(accel_graph_reset(graph));
    begin(graph); /* on demand */
    OK(test_launch_append(&kernels, stream, &log, 1));
    OK(accel_graph_capture_end(graph, stream));
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(log.count, 3);
    accel_graph_release(graph);
}

/* Case B88: reset leads back to the start, from everywhere, as often as one likes. */
static void test_reset(void **state)
{
    (void)state;
    static test_log log;
    accel_graph *graph = make(false);
    for (uint32_t round = 1; round <= 3; round++) {
        begin(graph);
        OK(test_launch_append(&kernels, stream, &log, round));
        OK(accel_graph_capture_end(graph, stream));
        OK(accel_graph_replay(graph, stream));
        OK(accel_graph_reset(graph)); /* with a replay pending */
        OK(accel_graph_reset(graph));
        assert_int_equal(state_of(graph), ACCEL_GRAPH_STATE_EMPTY);
        assert_int_equal(count_of(graph), 0);
    }
    OK(accel_stream_synchronize(stream));
    expect_values(&log, (const uint32_t[]){1, 2, 3}, 3);
    begin(graph);
    OK(test_launch_append(&kernels, stream, &log, 9));
    OK(accel_graph_reset(graph)); /* during a capture */
    is_usable(stream);
    begin(graph);
    accel_graph_release(graph);
    is_usable(stream);
}

static void test_release_with_replays_pending(void **state)
{
    (void)state;
    static test_log log;
    test_gate gate = {0};
    accel_graph *graph = make(false);
    test_kernels own = {0};
    OK(test_kernels_load(test_cpu_device(0), &own));
    begin(graph);
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
    accel_graph *graph = make(false);
    OK(accel_current_stream(test_cpu_device(0), &before));
    OK(accel_graph_scope_begin(graph, NULL, ACCEL_CAPTURE_MODE_GLOBAL, &scope));
    OK(accel_current_stream(test_cpu_device(0), &inside));
    assert_ptr_not_equal(inside, before);
    assert_true(is_capturing(NULL));
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
    is_usable(stream);
    accel_graph_release(graph);
}

/* ---- misuse ---- */

static bool says(const char *part)
{
    return strstr(accel_last_error_message(), part) != NULL;
}

static void test_states(void **state)
{
    (void)state;
    accel_memory_pool *pool = NULL;
    accel_graph *graph = make(false);
    FAILS(accel_graph_capture_end(graph, stream), ACCEL_ERROR_INVALID_STATE,
          "accel_graph_capture_end");
    assert_true(says("accel_graph_capture_begin comes first"));
    FAILS(accel_graph_instantiate(graph), ACCEL_ERROR_INVALID_STATE, "accel_graph_instantiate");
    FAILS(accel_graph_replay(graph, stream), ACCEL_ERROR_INVALID_STATE, "accel_graph_replay");
    FAILS(accel_graph_pool(graph, &pool), ACCEL_ERROR_INVALID_STATE, "accel_graph_pool");
    begin(graph);
    FAILS(accel_graph_capture_begin(graph, side, ACCEL_CAPTURE_MODE_DEFAULT),
          ACCEL_ERROR_INVALID_STATE, "accel_graph_capture_begin");
    FAILS(accel_graph_replay(graph, side), ACCEL_ERROR_INVALID_STATE, "accel_graph_replay");
    FAILS(accel_graph_instantiate(graph), ACCEL_ERROR_INVALID_STATE, "accel_graph_instantiate");
    FAILS(accel_graph_add_empty(graph, NULL, 0, NULL), ACCEL_ERROR_INVALID_STATE,
          "accel_graph_add_empty");
    OK(test_launch_nothing(&kernels, stream));
    OK(accel_graph_capture_end(graph, stream)); /* none of that has harmed it */
    FAILS(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT),
          ACCEL_ERROR_INVALID_STATE, "accel_graph_capture_begin");
    assert_true(says("reset it"));
    FAILS(accel_graph_instantiate(graph), ACCEL_ERROR_INVALID_STATE, "accel_graph_instantiate");
    assert_true(says("keep_graph"));
    FAILS(accel_graph_capture_end(graph, stream), ACCEL_ERROR_INVALID_STATE,
          "accel_graph_capture_end");
    OK(accel_graph_reset(graph));
    FAILS(accel_graph_replay(graph, stream), ACCEL_ERROR_INVALID_STATE, "accel_graph_replay");
    accel_graph_release(graph);
}

static void test_arguments(void **state)
{
    (void)state;
    accel_graph *graph = NULL;
    accel_graph_scope scope;
    bool is = true;
    FAILS(accel_graph_create(test_cpu_device(0), NULL, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_graph_create");
    FAILS(accel_graph_create(test_cpu_device(77), NULL, &graph), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_graph_create");
    FAILS(accel_graph_capture_begin(NULL, stream, ACCEL_CAPTURE_MODE_DEFAULT),
          ACCEL_ERROR_INVALID_ARGUMENT, "accel_graph_capture_begin");
    FAILS(accel_graph_capture_end(NULL, stream), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_graph_capture_end");
    FAILS(accel_graph_replay(NULL, stream), ACCEL_ERROR_INVALID_ARGUMENT, "accel_graph_replay");
    FAILS(accel_graph_reset(NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_graph_reset");
    FAILS(accel_stream_is_capturing(stream, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_stream_is_capturing");
    graph = make(false);
    FAILS(accel_graph_capture_begin(graph, stream, (accel_capture_mode)4),
          ACCEL_ERROR_INVALID_ARGUMENT, "accel_graph_capture_begin");
    FAILS(accel_graph_scope_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT, NULL),
          ACCEL_ERROR_INVALID_ARGUMENT, "accel_graph_scope_begin");
    FAILS(accel_graph_scope_begin(NULL, stream, ACCEL_CAPTURE_MODE_DEFAULT, &scope),
          ACCEL_ERROR_INVALID_ARGUMENT, "accel_graph_scope_begin");
    assert_false(scope.active);
    FAILS(accel_graph_capture_begin(graph, other_device_stream, ACCEL_CAPTURE_MODE_DEFAULT),
          ACCEL_ERROR_MISMATCH, "accel_graph_capture_begin");
    OK(accel_stream_is_capturing(stream, &is));
    assert_false(is);
    accel_graph_retain(NULL);
    accel_graph_release(NULL);
    accel_graph_release(graph);
}

static void test_the_default_stream_is_refused(void **state)
{
    (void)state;
    accel_graph *graph = make(false);
    FAILS(accel_graph_capture_begin(graph, NULL, ACCEL_CAPTURE_MODE_DEFAULT),
          ACCEL_ERROR_INVALID_STATE, "accel_graph_capture_begin");
    assert_true(says("accel_stream_create"));
    accel_graph_release(graph);
}

static void test_one_capture_a_stream(void **state)
{
    (void)state;
    static test_log log;
    accel_graph *first = make(false);
    accel_graph *second = make(false);
    begin(first);
    FAILS(accel_graph_capture_begin(second, stream, ACCEL_CAPTURE_MODE_DEFAULT),
          ACCEL_ERROR_INVALID_STATE, "accel_graph_capture_begin");
    OK(accel_graph_capture_begin(second, side, ACCEL_CAPTURE_MODE_DEFAULT)); /* beside it */
    OK(test_launch_append(&kernels, stream, &log, 1));
    OK(test_launch_append(&kernels, side, &log, 2));
    OK(accel_graph_capture_end(first, stream));
    OK(accel_graph_capture_end(second, side));
    OK(accel_graph_replay(second, stream));
    OK(accel_graph_replay(first, stream));
    OK(accel_stream_synchronize(stream));
    expect_values(&log, (const uint32_t[]){2, 1}, 2);
    accel_graph_release(first);
    accel_graph_release(second);
}

static void test_end_on_another_stream(void **state)
{
    (void)state;
    accel_graph *graph = make(false);
    begin(graph);
    FAILS(accel_graph_capture_end(graph, side), ACCEL_ERROR_INVALID_STATE,
          "accel_graph_capture_end");
    assert_true(says("on the stream on which it began"));
    FAILS(accel_graph_capture_end(graph, NULL), ACCEL_ERROR_INVALID_STATE,
          "accel_graph_capture_end");
    OK(test_launch_nothing(&kernels, stream));
    OK(accel_graph_capture_end(graph, stream)); /* it went on */
    assert_int_equal(count_of(graph), 1);
    accel_graph_release(graph);
}

/* ---- calls that cannot be captured ---- */

typedef accel_status (*refused_call)(void);

static accel_event *marked; /* recorded in the capture */
static accel_event *eager;  /* recorded outside */

static accel_status call_synchronize_stream(void)
{
    return accel_stream_synchronize(stream);
}

static accel_status call_query_stream(void)
{
    bool done = false;
    return accel_stream_query(stream, &done);
}

static accel_status call_synchronize_device(void)
{
    return accel_synchronize(test_cpu_device(0));
}

static accel_status call_query_event(void)
{
    bool done = false;
    return accel_event_query(marked, &done);
}

static accel_status call_synchronize_event(void)
{
    return accel_event_synchronize(marked);
}

static accel_status call_wait_outside(void)
{
    return accel_stream_wait_event(stream, eager);
}

static accel_status call_wait_stream_outside(void)
{
    return accel_stream_wait_stream(stream, side);
}

static accel_status call_native_handle(void)
{
    void *handle = NULL;
    return accel_stream_get_native_handle(stream, &handle);
}

static accel_status call_wait_on_another_device(void)
{
    return accel_stream_wait_event(other_device_stream, marked);
}

static accel_status call_wait_on_the_default_stream(void)
{
    accel_stream *standard = NULL;
    OK(accel_stream_default(test_cpu_device(0), &standard));
    return accel_stream_wait_event(standard, marked);
}

static const struct {
    refused_call call;
    const char *function;
} refused[] = {
    {call_synchronize_stream, "accel_stream_synchronize"},
    {call_query_stream, "accel_stream_query"},
    {call_synchronize_device, "accel_synchronize"},
    {call_query_event, "accel_event_query"},
    {call_synchronize_event, "accel_event_synchronize"},
    {call_wait_outside, "accel_stream_wait_event"},
    {call_wait_stream_outside, "accel_stream_wait_stream"},
    {call_native_handle, "accel_stream_get_native_handle"},
    {call_wait_on_another_device, "accel_stream_wait_event"},
    {call_wait_on_the_default_stream, "accel_stream_wait_event"},
};

/* Each fails with its name, spoils the capture, and its end says so again; case B87. */
static void test_calls_that_are_refused(void **state)
{
    (void)state;
    OK(accel_event_create(test_cpu_device(0), NULL, &marked));
    OK(accel_event_create(test_cpu_device(0), NULL, &eager));
    OK(accel_event_record(eager, side));
    accel_graph *graph = make(false);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        begin(graph);
        OK(test_launch_nothing(&kernels, stream));
        OK(accel_event_record(marked, stream));
        FAILS(refused[i].call(), ACCEL_ERROR_CAPTURE, refused[i].function);
        FAILS(test_launch_nothing(&kernels, stream), ACCEL_ERROR_CAPTURE, "accel_kernel_launch");
        assert_true(says(refused[i].function));
        FAILS(accel_graph_capture_end(graph, stream), ACCEL_ERROR_CAPTURE,
              "accel_graph_capture_end");
        assert_true(says(refused[i].function));
        assert_int_equal(state_of(graph), ACCEL_GRAPH_STATE_EMPTY);
        is_usable(stream);
        is_usable(side);
        begin(graph);
        OK(test_launch_nothing(&kernels, stream));
        OK(accel_graph_capture_end(graph, stream));
        OK(accel_graph_replay(graph, stream));
        OK(accel_graph_reset(graph));
    }
    accel_graph_release(graph);
    accel_event_release(marked);
    accel_event_release(eager);
}

static void test_unjoined_streams(void **state)
{
    (void)state;
    accel_graph *graph = make(false);
    begin(graph);
    OK(test_launch_nothing(&kernels, stream));
    OK(accel_stream_wait_stream(side, stream));
    OK(test_launch_nothing(&kernels, side));
    FAILS(accel_graph_capture_end(graph, stream), ACCEL_ERROR_CAPTURE, "accel_graph_capture_end");
    assert_true(says("was not joined"));
    is_usable(stream);
    is_usable(side);
    begin(graph); /* without work of its own it needs not be joined */
    OK(test_launch_nothing(&kernels, stream));
    OK(accel_stream_wait_stream(side, stream));
    OK(accel_graph_capture_end(graph, stream));
    is_usable(side);
    accel_graph_release(graph);
}

static void test_two_captures_cannot_wait_for_each_other(void **state)
{
    (void)state;
    accel_event *event = NULL;
    accel_graph *first = make(false);
    accel_graph *second = make(false);
    OK(accel_event_create(test_cpu_device(0), NULL, &event));
    begin(first);
    OK(accel_graph_capture_begin(second, side, ACCEL_CAPTURE_MODE_DEFAULT));
    OK(accel_event_record(event, stream));
    FAILS(accel_stream_wait_event(side, event), ACCEL_ERROR_CAPTURE, "accel_stream_wait_event");
    FAILS(accel_graph_capture_end(first, stream), ACCEL_ERROR_CAPTURE, "accel_graph_capture_end");
    FAILS(accel_graph_capture_end(second, side), ACCEL_ERROR_CAPTURE, "accel_graph_capture_end");
    is_usable(stream);
    is_usable(side);
    accel_event_release(event);
    accel_graph_release(first);
    accel_graph_release(second);
}

/* Bad arguments are no reason to spoil a capture: nothing was asked of it. */
static void test_bad_arguments_do_not_spoil(void **state)
{
    (void)state;
    const accel_launch_shape shape = {{1, 1, 1}, {0, 1, 1}};
    accel_graph *graph = make(false);
    begin(graph);
    FAILS(accel_kernel_launch(kernels.nothing, stream, &shape, NULL, 0),
          ACCEL_ERROR_INVALID_ARGUMENT, "accel_kernel_launch");
    FAILS(accel_copy(NULL, NULL, 8, stream), ACCEL_ERROR_INVALID_ARGUMENT, "accel_copy");
    OK(accel_graph_capture_end(graph, stream));
    accel_graph_release(graph);
}

/* ---- modes and threads ---- */

static accel_status synchronized_by_thread;

static void *synchronize_device(void *user)
{
    (void)user;
    synchronized_by_thread = accel_synchronize(test_cpu_device(0));
    return NULL;
}

static accel_status synchronize_on_a_thread(void)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, synchronize_device, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return synchronized_by_thread;
}

static void test_modes(void **state)
{
    (void)state;
    static const struct {
        accel_capture_mode mode;
        accel_status own;
        accel_status other;
    } modes[] = {
        {ACCEL_CAPTURE_MODE_DEFAULT, ACCEL_ERROR_CAPTURE, ACCEL_OK},
        {ACCEL_CAPTURE_MODE_GLOBAL, ACCEL_ERROR_CAPTURE, ACCEL_ERROR_CAPTURE},
        {ACCEL_CAPTURE_MODE_THREAD_LOCAL, ACCEL_ERROR_CAPTURE, ACCEL_OK},
        {ACCEL_CAPTURE_MODE_RELAXED, ACCEL_OK, ACCEL_OK},
    };
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        accel_graph *graph = make(false);
        OK(accel_graph_capture_begin(graph, stream, modes[i].mode));
        assert_int_equal(synchronize_on_a_thread(), modes[i].other);
        EXPECT(accel_graph_capture_end(graph, stream), modes[i].other);
        OK(accel_graph_reset(graph));
        OK(accel_graph_capture_begin(graph, stream, modes[i].mode));
        EXPECT(accel_synchronize(test_cpu_device(0)), modes[i].own);
        EXPECT(accel_graph_capture_end(graph, stream), modes[i].own);
        accel_graph_release(graph);
        OK(accel_synchronize(test_cpu_device(0)));
    }
}

static void *end_here(void *user)
{
    synchronized_by_thread = accel_graph_capture_end(user, stream);
    return NULL;
}

static accel_status end_on_a_thread(accel_graph *graph)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, end_here, graph), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return synchronized_by_thread;
}

static void test_end_on_another_thread(void **state)
{
    (void)state;
    accel_graph *graph = make(false);
    begin(graph);
    assert_int_equal(end_on_a_thread(graph), ACCEL_ERROR_INVALID_STATE);
    OK(accel_graph_capture_end(graph, stream)); /* it went on */
    OK(accel_graph_reset(graph));
    OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_RELAXED));
    assert_int_equal(end_on_a_thread(graph), ACCEL_OK);
    OK(accel_graph_reset(graph));
    begin(graph);
    assert_int_equal(end_on_a_thread(graph), ACCEL_ERROR_INVALID_STATE);
    OK(accel_graph_reset(graph));
    is_usable(stream);
    accel_graph_release(graph);
}

/* ---- callbacks ---- */

static accel_status in_callback[6];

static void use_graph(accel_stream *on, accel_status status, void *user)
{
    (void)status;
    accel_graph *graph = user;
    in_callback[0] = accel_graph_replay(graph, on);
    in_callback[1] = accel_graph_reset(graph);
    in_callback[2] = accel_graph_capture_begin(graph, on, ACCEL_CAPTURE_MODE_DEFAULT);
    in_callback[3] = accel_graph_capture_end(graph, on);
    in_callback[4] = accel_graph_instantiate(graph);
    in_callback[5] = accel_graph_add_empty(graph, NULL, 0, NULL);
    accel_graph_release(graph);
}

static void test_refused_in_callbacks(void **state)
{
    (void)state;
    accel_graph *graph = make(false);
    begin(graph);
    OK(test_launch_nothing(&kernels, stream));
    OK(accel_graph_capture_end(graph, stream));
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_add_callback(stream, use_graph, graph)); /* also its last release */
    OK(accel_stream_synchronize(stream));
    for (size_t i = 0; i < sizeof in_callback / sizeof in_callback[0]; i++)
        assert_int_equal(in_callback[i], ACCEL_ERROR_IN_CALLBACK);
    OK(accel_synchronize(test_cpu_device(0)));
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
    accel_graph *graph = make(false);
    begin(graph);
    OK(test_launch_nothing(&kernels, side)); /* not part of it */
    OK(accel_graph_capture_end(graph, stream));
    assert_int_equal(warnings, 1);
    assert_int_equal(count_of(graph), 0);
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
    accel_stream *doomed = NULL;
    accel_graph *graph = make(false);
    OK(accel_stream_create(test_cpu_device(0), NULL, &doomed));
    begin(graph);
    OK(test_launch_append(&kernels, stream, &log, 1));
    OK(test_launch_fail(&kernels, stream));
    OK(test_launch_append(&kernels, stream, &log, 2));
    OK(accel_graph_capture_end(graph, stream));
    OK(accel_graph_replay(graph, doomed));
    EXPECT(accel_stream_synchronize(doomed), ACCEL_ERROR_DEVICE_FAILED);
    assert_true(says(TEST_FAIL_TEXT));
    expect_values(&log, (const uint32_t[]){1}, 1);
    EXPECT(accel_graph_replay(graph, doomed), ACCEL_ERROR_DEVICE_FAILED);
    accel_stream_release(doomed);
    is_usable(stream);
    accel_graph_release(graph);
}

static int set_up(void **state)
{
    (void)state;
    test_environment(2);
    OK(test_kernels_load(test_cpu_device(0), &kernels));
    OK(test_kernels_load(test_cpu_device(1), &other_kernels));
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    OK(accel_stream_create(test_cpu_device(0), NULL, &side));
    OK(accel_stream_create(test_cpu_device(1), NULL, &other_device_stream));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_kernels_unload(&kernels);
    test_kernels_unload(&other_kernels);
    accel_stream_release(stream);
    accel_stream_release(side);
    accel_stream_release(other_device_stream);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capture_runs_nothing_and_replays),
        cmocka_unit_test(test_copies_fills_and_kernels),
        cmocka_unit_test(test_streams_join_by_events),
        cmocka_unit_test(test_an_event_is_after_the_capture_what_it_was_before),
        cmocka_unit_test(test_replays_on_other_streams_keep_their_order),
        cmocka_unit_test(test_callbacks_are_captured),
        cmocka_unit_test(test_keep_graph),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_release_with_replays_pending),
        cmocka_unit_test(test_scope),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_the_default_stream_is_refused),
        cmocka_unit_test(test_one_capture_a_stream),
        cmocka_unit_test(test_end_on_another_stream),
        cmocka_unit_test(test_calls_that_are_refused),
        cmocka_unit_test(test_unjoined_streams),
        cmocka_unit_test(test_two_captures_cannot_wait_for_each_other),
        cmocka_unit_test(test_bad_arguments_do_not_spoil),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_end_on_another_thread),
        cmocka_unit_test(test_refused_in_callbacks),
        cmocka_unit_test(test_empty_captures),
        cmocka_unit_test(test_a_failing_node),
    };
    return cmocka_run_group_tests_name("graph", tests, set_up, tear_down);
}
