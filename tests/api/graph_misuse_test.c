/* graph_misuse_test.c: what graphs refuse, and what is left of it: wrong states and arguments, calls that
 * cannot be captured, ends on the wrong stream and thread, modes, callbacks (graph.h). Cases B87 (failed
 * captures leave nothing), B90 (modes). */
#include <pthread.h>

#include "support/graphs.h"

static accel_stream *other_device_stream;

static void test_states(void **state)
{
    (void)state;
    accel_memory_pool *pool = NULL;
    accel_graph *graph = test_graph_make(false);
    FAILS(accel_graph_capture_end(graph, stream), ACCEL_ERROR_INVALID_STATE,
          "accel_graph_capture_end");
    assert_true(test_error_says("accel_graph_capture_begin comes first"));
    FAILS(accel_graph_instantiate(graph), ACCEL_ERROR_INVALID_STATE, "accel_graph_instantiate");
    FAILS(accel_graph_replay(graph, stream), ACCEL_ERROR_INVALID_STATE, "accel_graph_replay");
    FAILS(accel_graph_pool(graph, &pool), ACCEL_ERROR_INVALID_STATE, "accel_graph_pool");
    test_graph_begin(graph);
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
    assert_true(test_error_says("reset it"));
    FAILS(accel_graph_instantiate(graph), ACCEL_ERROR_INVALID_STATE, "accel_graph_instantiate");
    assert_true(test_error_says("keep_graph"));
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
    graph = test_graph_make(false);
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
    accel_graph *graph = test_graph_make(false);
    FAILS(accel_graph_capture_begin(graph, NULL, ACCEL_CAPTURE_MODE_DEFAULT),
          ACCEL_ERROR_INVALID_STATE, "accel_graph_capture_begin");
    assert_true(test_error_says("accel_stream_create"));
    accel_graph_release(graph);
}

static void test_one_capture_a_stream(void **state)
{
    (void)state;
    static test_log log;
    accel_graph *first = test_graph_make(false);
    accel_graph *second = test_graph_make(false);
    test_graph_begin(first);
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
    test_log_is(&log, (const uint32_t[]){2, 1}, 2);
    accel_graph_release(first);
    accel_graph_release(second);
}

static void test_end_on_another_stream(void **state)
{
    (void)state;
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
    FAILS(accel_graph_capture_end(graph, side), ACCEL_ERROR_INVALID_STATE,
          "accel_graph_capture_end");
    assert_true(test_error_says("on the stream on which it began"));
    FAILS(accel_graph_capture_end(graph, NULL), ACCEL_ERROR_INVALID_STATE,
          "accel_graph_capture_end");
    OK(test_launch_nothing(&kernels, stream));
    OK(accel_graph_capture_end(graph, stream)); /* it went on */
    assert_int_equal(test_graph_count(graph), 1);
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
    accel_graph *graph = test_graph_make(false);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        test_graph_begin(graph);
        OK(test_launch_nothing(&kernels, stream));
        OK(accel_event_record(marked, stream));
        FAILS(refused[i].call(), ACCEL_ERROR_CAPTURE, refused[i].function);
        FAILS(test_launch_nothing(&kernels, stream), ACCEL_ERROR_CAPTURE, "accel_kernel_launch");
        assert_true(test_error_says(refused[i].function));
        FAILS(accel_graph_capture_end(graph, stream), ACCEL_ERROR_CAPTURE,
              "accel_graph_capture_end");
        assert_true(test_error_says(refused[i].function));
        assert_int_equal(test_graph_state(graph), ACCEL_GRAPH_STATE_EMPTY);
        test_is_usable(stream);
        test_is_usable(side);
        test_graph_begin(graph);
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
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
    OK(test_launch_nothing(&kernels, stream));
    OK(accel_stream_wait_stream(side, stream));
    OK(test_launch_nothing(&kernels, side));
    FAILS(accel_graph_capture_end(graph, stream), ACCEL_ERROR_CAPTURE, "accel_graph_capture_end");
    assert_true(test_error_says("was not joined"));
    test_is_usable(stream);
    test_is_usable(side);
    test_graph_begin(graph); /* without work of its own it needs not be joined */
    OK(test_launch_nothing(&kernels, stream));
    OK(accel_stream_wait_stream(side, stream));
    OK(accel_graph_capture_end(graph, stream));
    test_is_usable(side);
    accel_graph_release(graph);
}

static void test_two_captures_cannot_wait_for_each_other(void **state)
{
    (void)state;
    accel_event *event = NULL;
    accel_graph *first = test_graph_make(false);
    accel_graph *second = test_graph_make(false);
    OK(accel_event_create(test_cpu_device(0), NULL, &event));
    test_graph_begin(first);
    OK(accel_graph_capture_begin(second, side, ACCEL_CAPTURE_MODE_DEFAULT));
    OK(accel_event_record(event, stream));
    FAILS(accel_stream_wait_event(side, event), ACCEL_ERROR_CAPTURE, "accel_stream_wait_event");
    FAILS(accel_graph_capture_end(first, stream), ACCEL_ERROR_CAPTURE, "accel_graph_capture_end");
    FAILS(accel_graph_capture_end(second, side), ACCEL_ERROR_CAPTURE, "accel_graph_capture_end");
    test_is_usable(stream);
    test_is_usable(side);
    accel_event_release(event);
    accel_graph_release(first);
    accel_graph_release(second);
}

/* Bad arguments are no reason to spoil a capture: nothing was asked of it. */
/* A replay waits for an event that was recorded in an open capture: it is refused as other waits are, with
 * nothing of it queued, and its stream does not become part of that capture. */
static void test_a_replay_joins_no_capture(void **state)
{
    (void)state;
    static test_log log;
    accel_event *event = NULL;
    accel_graph_node node = 0;
    accel_graph *waiting = test_graph_make(false);
    accel_graph *open = test_graph_make(false);
    OK(accel_event_create(test_cpu_device(0), NULL, &event));
    test_graph_begin(waiting);
    OK(test_launch_append(&kernels, stream, &log, 1));
    OK(accel_graph_capture_end(waiting, stream));
    OK(accel_graph_add_event_wait(waiting, &node, 1, event, NULL));
    OK(accel_graph_replay(waiting, stream)); /* not recorded yet: there is nothing to wait for */
    OK(accel_graph_capture_begin(open, side, ACCEL_CAPTURE_MODE_DEFAULT));
    OK(accel_event_record(event, side));
    FAILS(accel_graph_replay(waiting, stream), ACCEL_ERROR_CAPTURE, "accel_graph_replay");
    assert_false(test_is_capturing(stream));
    FAILS(accel_graph_capture_end(open, side), ACCEL_ERROR_CAPTURE, "accel_graph_capture_end");
    assert_true(test_error_says("accel_graph_replay"));
    OK(accel_graph_replay(waiting, stream));
    OK(accel_stream_synchronize(stream));
    test_log_is(&log, (const uint32_t[]){1, 1}, 2);
    accel_graph_release(open);
    accel_graph_release(waiting);
    accel_event_release(event);
}

static void test_bad_arguments_do_not_spoil(void **state)
{
    (void)state;
    const accel_launch_shape shape = {{1, 1, 1}, {0, 1, 1}};
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
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
        accel_graph *graph = test_graph_make(false);
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
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
    assert_int_equal(end_on_a_thread(graph), ACCEL_ERROR_INVALID_STATE);
    OK(accel_graph_capture_end(graph, stream)); /* it went on */
    OK(accel_graph_reset(graph));
    OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_RELAXED));
    assert_int_equal(end_on_a_thread(graph), ACCEL_OK);
    OK(accel_graph_reset(graph));
    test_graph_begin(graph);
    assert_int_equal(end_on_a_thread(graph), ACCEL_ERROR_INVALID_STATE);
    OK(accel_graph_reset(graph));
    test_is_usable(stream);
    accel_graph_release(graph);
}

static void *end_scope(void *user)
{
    return (void *)(intptr_t)accel_graph_scope_end(user);
}

/* The scope is as it was, and ends where it began. */
static void test_end_a_scope_on_another_thread(void **state)
{
    (void)state;
    pthread_t thread;
    void *ended = NULL;
    accel_graph_scope scope;
    accel_graph *graph = test_graph_make(false);
    OK(accel_graph_scope_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT, &scope));
    assert_int_equal(pthread_create(&thread, NULL, end_scope, &scope), 0);
    assert_int_equal(pthread_join(thread, &ended), 0);
    assert_int_equal((intptr_t)ended, ACCEL_ERROR_INVALID_STATE);
    assert_true(scope.active);
    OK(test_launch_nothing(&kernels, NULL)); /* the current stream is the scope's */
    OK(accel_graph_scope_end(&scope));
    assert_false(scope.active);
    assert_int_equal(test_graph_count(graph), 1);
    OK(accel_graph_reset(graph));
    OK(accel_graph_scope_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT, &scope));
    OK(accel_graph_reset(graph)); /* the capture is over: so is the scope, with its end */
    EXPECT(accel_graph_scope_end(&scope), ACCEL_ERROR_INVALID_STATE);
    assert_false(scope.active);
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
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
    OK(test_launch_nothing(&kernels, stream));
    OK(accel_graph_capture_end(graph, stream));
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_add_callback(stream, use_graph, graph)); /* also its last release */
    OK(accel_stream_synchronize(stream));
    for (size_t i = 0; i < sizeof in_callback / sizeof in_callback[0]; i++)
        assert_int_equal(in_callback[i], ACCEL_ERROR_IN_CALLBACK);
    OK(accel_synchronize(test_cpu_device(0)));
}

static int set_up(void **state)
{
    const int result = test_graphs_set_up(state);
    OK(accel_stream_create(test_cpu_device(1), NULL, &other_device_stream));
    return result;
}

static int tear_down(void **state)
{
    accel_stream_release(other_device_stream);
    return test_graphs_tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_the_default_stream_is_refused),
        cmocka_unit_test(test_one_capture_a_stream),
        cmocka_unit_test(test_end_on_another_stream),
        cmocka_unit_test(test_calls_that_are_refused),
        cmocka_unit_test(test_unjoined_streams),
        cmocka_unit_test(test_two_captures_cannot_wait_for_each_other),
        cmocka_unit_test(test_a_replay_joins_no_capture),
        cmocka_unit_test(test_bad_arguments_do_not_spoil),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_end_on_another_thread),
        cmocka_unit_test(test_end_a_scope_on_another_thread),
        cmocka_unit_test(test_refused_in_callbacks),
    };
    return cmocka_run_group_tests_name("graph_misuse", tests, set_up, tear_down);
}
