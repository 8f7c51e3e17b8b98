/* graph_sweep_test.c: a capture in which something goes wrong at each of its calls: the n-th inner
 * allocation fails; or a call that cannot be captured comes after the n-th call, and the capture is
 * then ended, reset, or released. Each time the streams, events and memory are as before, nothing is
 * left, and the next capture works. Cases B87 and B88, ask 17. */
#include <malloc.h>

#include "support/check.h"
#include "support/kernels.h"

#include "unit/fault_sweep.h"

static test_kernels kernels;
static accel_stream *stream;
static accel_stream *side;
static uint32_t *data;
static uint32_t out[16];
static accel_graph *child;
static _Atomic(uint32_t) callbacks;

static void count_call(accel_stream *on, accel_status status, void *user)
{
    (void)on, (void)status, (void)user;
    atomic_fetch_add(&callbacks, 1);
}

/* ---- the calls of a capture, one by one ---- */

static accel_event *event;
static void *inner; /* allocated in the capture */

static accel_status call_fill(void)
{
    const uint32_t one = 1;
    return accel_fill(data, &one, 4, sizeof out, stream);
}

static accel_status call_launch(void)
{
    return test_launch_add(&kernels, stream, data, 16, 1);
}

static accel_status call_record(void)
{
    return accel_event_record(event, stream);
}

static accel_status call_fork(void)
{
    return accel_stream_wait_event(side, event);
}

static accel_status call_launch_aside(void)
{
    return test_launch_nothing(&kernels, side);
}

static accel_status call_allocate(void)
{
    return accel_memory_alloc(stream, 4096, NULL, &inner);
}

static accel_status call_free(void)
{
    const accel_status status = accel_memory_free(inner);
    inner = NULL;
    return status;
}

static accel_status call_join(void)
{
    return accel_stream_wait_stream(stream, side);
}

static accel_status call_callback(void)
{
    return accel_stream_add_callback(stream, count_call, NULL);
}

static accel_status call_child(void)
{
    return accel_graph_replay(child, stream);
}

static accel_status call_copy(void)
{
    return accel_copy(out, data, sizeof out, stream);
}

static accel_status (*const calls[])(void) = {
    call_fill, call_launch, call_record, call_fork,     call_launch_aside, call_allocate,
    call_free, call_join,   call_launch, call_callback, call_child,        call_copy,
};
enum { CALLS = sizeof calls / sizeof calls[0] };

static accel_status make_call(size_t index)
{
    return calls[index]();
}

/* ---- what is before and after ---- */

static void check_as_before(void)
{
    bool capturing = true;
    assert_int_equal(accel_stream_is_capturing(stream, &capturing), ACCEL_OK);
    assert_false(capturing);
    assert_int_equal(accel_stream_is_capturing(side, &capturing), ACCEL_OK);
    assert_false(capturing);
    bool done = false;
    assert_int_equal(accel_event_query(event, &done),
                     ACCEL_OK); /* never recorded, as far as we know */
    assert_true(done);
    assert_int_equal(test_launch_nothing(&kernels, stream), ACCEL_OK);
    assert_int_equal(test_launch_nothing(&kernels, side), ACCEL_OK);
    assert_int_equal(accel_stream_synchronize(stream), ACCEL_OK);
    assert_int_equal(accel_stream_synchronize(side), ACCEL_OK);
}

static bool is_a_shortage(accel_status status)
{
    return status == ACCEL_ERROR_OUT_OF_HOST_MEMORY || status == ACCEL_ERROR_OUT_OF_MEMORY ||
           status == ACCEL_ERROR_SYSTEM || status == ACCEL_ERROR_IO ||
           status == ACCEL_ERROR_CAPTURE;
}

/* ---- shortages ---- */

static accel_status capture_all(accel_graph *graph)
{
    accel_status status = accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT);
    if (status != ACCEL_OK)
        return status;
    for (size_t i = 0; i < CALLS && status == ACCEL_OK; i++)
        status = make_call(i);
    const accel_status ended = accel_graph_capture_end(graph, stream);
    if (inner != NULL)
        call_free();
    return status != ACCEL_OK ? status : ended;
}

static accel_status replay_and_update(accel_graph *graph)
{
    const uint32_t two = 2;
    accel_status status = accel_graph_replay(graph, stream);
    if (status == ACCEL_OK)
        status = accel_graph_update_fill(graph, 0, data, &two, 4, sizeof out);
    if (status == ACCEL_OK)
        status = accel_graph_replay(graph, side);
    if (status == ACCEL_OK)
        status = accel_graph_debug_dump(graph, "/dev/null");
    const accel_status waited = accel_stream_synchronize(side);
    accel_stream_synchronize(stream);
    return status == ACCEL_OK ? waited : status;
}

static accel_status whole_life(void)
{
    accel_graph *graph = NULL;
    accel_status status = accel_graph_create(test_cpu_device(0), NULL, &graph);
    assert_true((graph != NULL) == (status == ACCEL_OK));
    if (status == ACCEL_OK)
        status = capture_all(graph);
    if (status == ACCEL_OK)
        status = replay_and_update(graph);
    accel_graph_release(graph);
    return status;
}

static accel_status build_all(void)
{
    accel_graph *graph = NULL;
    accel_graph_node node = 0;
    const uint32_t one = 1;
    static const accel_launch_shape shape = {{1, 1, 1}, {1, 1, 1}};
    accel_status status = accel_graph_create(test_cpu_device(0), NULL, &graph);
    if (status == ACCEL_OK)
        status = accel_graph_add_fill(graph, NULL, 0, data, &one, 4, 64, &node);
    if (status == ACCEL_OK)
        status = accel_graph_add_kernel(graph, &node, 1, kernels.nothing, &shape, NULL, 0, &node);
    if (status == ACCEL_OK)
        status = accel_graph_add_event_record(graph, &node, 1, event, &node);
    if (status == ACCEL_OK)
        status = accel_graph_add_child(graph, &node, 1, child, &node);
    if (status == ACCEL_OK)
        status = accel_graph_update_child(graph, node, graph);
    if (status == ACCEL_OK)
        status = accel_graph_instantiate(graph);
    accel_graph_release(graph);
    return status;
}

static accel_status scope_of_its_own(void)
{
    accel_graph *graph = NULL;
    accel_graph_scope scope;
    accel_status status = accel_graph_create(test_cpu_device(0), NULL, &graph);
    if (status == ACCEL_OK)
        status = accel_graph_scope_begin(graph, NULL, ACCEL_CAPTURE_MODE_DEFAULT, &scope);
    if (status == ACCEL_OK) {
        status = test_launch_nothing(&kernels, NULL);
        const accel_status ended = accel_graph_scope_end(&scope);
        status = status != ACCEL_OK ? status : ended;
    }
    accel_graph_release(graph);
    return status;
}

enum { STEPS_MAX = 2000 };

static void sweep(const char *name, accel_status (*attempt)(void))
{
    for (unsigned step = 1; step < STEPS_MAX; step++) {
        fault_begin(step);
        const accel_status status = attempt();
        const bool happened = fault_end();
        if (status != ACCEL_OK && (!happened || !is_a_shortage(status)))
            print_error("%s, step %u: %s: %s\n", name, step, accel_status_name(status),
                        accel_last_error_message());
        assert_true(status == ACCEL_OK || (happened && is_a_shortage(status)));
        check_as_before();
        EXPECT(attempt(), ACCEL_OK);
        if (!happened) {
            assert_true(step > 3);
            return;
        }
    }
    fail_msg("%s never succeeds", name);
}

static size_t heap_in_use(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* The heap may grow while caches fill (of pools that are gone, of free events); a leak makes it grow every
 * time. */
static void check_no_leak(const char *name, accel_status (*attempt)(void))
{
    bool settled = false;
    for (int turn = 0; turn < 40 && !settled; turn++) {
        const size_t before = heap_in_use();
        sweep(name, attempt);
        OK(accel_synchronize(test_cpu_device(0)));
        settled = heap_in_use() <= before;
    }
    if (!settled)
        fail_msg("%s leaves memory behind", name);
}

static void test_shortages(void **state)
{
    (void)state;
    check_no_leak("life", whole_life);
    check_no_leak("scope", scope_of_its_own);
}

static void test_shortages_in_building(void **state)
{
    (void)state;
    check_no_leak("building", build_all);
}

/* ---- calls that cannot be captured, after each call ---- */

typedef enum ending { END, RESET, RELEASE, END_ELSEWHERE, ENDINGS } ending;

static void end_it(accel_graph *graph, ending how)
{
    switch (how) {
    case END:
        EXPECT(accel_graph_capture_end(graph, stream), ACCEL_ERROR_CAPTURE);
        assert_non_null(strstr(accel_last_error_message(), "accel_stream_query"));
        break;
    case END_ELSEWHERE:
        EXPECT(accel_graph_capture_end(graph, side), ACCEL_ERROR_INVALID_STATE);
        OK(accel_graph_reset(graph));
        break;
    case RESET:
        OK(accel_graph_reset(graph));
        break;
    default:
        break;
    }
    accel_graph_release(graph);
}

static void spoil_after(size_t count, ending how)
{
    bool done = false;
    accel_graph *graph = NULL;
    OK(accel_graph_create(test_cpu_device(0), NULL, &graph));
    OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT));
    for (size_t i = 0; i < count; i++)
        OK(make_call(i));
    EXPECT(accel_stream_query(stream, &done), ACCEL_ERROR_CAPTURE);
    end_it(graph, how);
    if (inner != NULL)
        call_free();
    check_as_before();
}

static void test_refused_calls_after_each_call(void **state)
{
    (void)state;
    for (size_t count = 0; count <= CALLS; count++)
        for (ending how = 0; how < ENDINGS; how++)
            spoil_after(count, how);
    OK(whole_life());
}

/* The same endings without any failure; but for a regular end. */
static void test_abandoned_after_each_call(void **state)
{
    (void)state;
    for (size_t count = 0; count <= CALLS; count++)
        for (ending how = RESET; how < ENDINGS; how++) {
            accel_graph *graph = NULL;
            OK(accel_graph_create(test_cpu_device(0), NULL, &graph));
            OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT));
            for (size_t i = 0; i < count; i++)
                OK(make_call(i));
            end_it(graph, how);
            if (inner != NULL)
                call_free();
            check_as_before();
        }
}

static int set_up(void **state)
{
    (void)state;
    test_environment(1);
    static const accel_launch_shape shape = {{1, 1, 1}, {1, 1, 1}};
    OK(test_kernels_load(test_cpu_device(0), &kernels));
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    OK(accel_stream_create(test_cpu_device(0), NULL, &side));
    OK(accel_event_create(test_cpu_device(0), NULL, &event));
    OK(accel_memory_alloc(stream, sizeof out, NULL, (void **)&data));
    OK(accel_graph_create(test_cpu_device(0), NULL, &child));
    OK(accel_graph_add_kernel(child, NULL, 0, kernels.nothing, &shape, NULL, 0, NULL));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    accel_graph_release(child);
    OK(accel_memory_free(data));
    accel_event_release(event);
    accel_stream_release(stream);
    accel_stream_release(side);
    test_kernels_unload(&kernels);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shortages),
        cmocka_unit_test(test_shortages_in_building),
        cmocka_unit_test(test_refused_calls_after_each_call),
        cmocka_unit_test(test_abandoned_after_each_call),
    };
    return cmocka_run_group_tests_name("graph_sweep", tests, set_up, tear_down);
}
