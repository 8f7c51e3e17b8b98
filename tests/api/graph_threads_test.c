/* graph_threads_test.c: graphs on several threads: captures side by side, one capture fed by several
 * threads, one graph replayed by several, updates and resets meanwhile. Ask 17: other threads' work and
 * allocations go on while a capture is open. For ThreadSanitizer above all. */
#include <pthread.h>
#include <time.h>

#include "support/check.h"
#include "support/kernels.h"

enum { THREADS = 4, ROUNDS = 30 };

static test_kernels kernels;
static accel_stream *stream;
static const accel_launch_shape one_item = {{1, 1, 1}, {1, 1, 1}};

/* Runs body(index) on THREADS threads; each returns 0. */
static void on_threads(void *(*body)(void *index))
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_null(result);
    }
}

#define THREAD_CHECK(condition)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition,                     \
                    accel_last_error_message());                                                   \
            return (void *)1;                                                                      \
        }                                                                                          \
    } while (0)

/* ---- captures side by side ---- */

static void *capture_alone(void *index)
{
    accel_stream *own = NULL;
    uint32_t *data = NULL;
    uint32_t out = 0;
    const uint32_t start = (uint32_t)(uintptr_t)index;
    THREAD_CHECK(accel_stream_create(test_cpu_device(0), NULL, &own) == ACCEL_OK);
    THREAD_CHECK(accel_memory_alloc(own, 4, NULL, (void **)&data) == ACCEL_OK);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        accel_graph *graph = NULL;
        void *other = NULL;
        THREAD_CHECK(accel_graph_create(test_cpu_device(0), NULL, &graph) == ACCEL_OK);
        THREAD_CHECK(accel_graph_capture_begin(graph, own, ACCEL_CAPTURE_MODE_DEFAULT) == ACCEL_OK);
        THREAD_CHECK(accel_fill(data, &start, 4, 4, own) == ACCEL_OK);
        THREAD_CHECK(test_launch_add(&kernels, own, data, 1, round) == ACCEL_OK);
        THREAD_CHECK(accel_copy(&out, data, 4, own) == ACCEL_OK);
        /* Elsewhere all goes on. */
        THREAD_CHECK(accel_memory_alloc(stream, 1000, NULL, &other) == ACCEL_OK);
        THREAD_CHECK(test_launch_nothing(&kernels, stream) == ACCEL_OK);
        THREAD_CHECK(accel_memory_free(other) == ACCEL_OK);
        THREAD_CHECK(accel_graph_capture_end(graph, own) == ACCEL_OK);
        THREAD_CHECK(accel_graph_replay(graph, own) == ACCEL_OK);
        THREAD_CHECK(accel_stream_synchronize(own) == ACCEL_OK);
        THREAD_CHECK(out == start + round);
        accel_graph_release(graph);
    }
    THREAD_CHECK(accel_memory_free(data) == ACCEL_OK);
    accel_stream_release(own);
    return NULL;
}

static void test_captures_side_by_side(void **state)
{
    (void)state;
    on_threads(capture_alone);
    OK(accel_synchronize(test_cpu_device(0)));
}

/* ---- one capture, several threads ---- */

static test_log shared_log;

static void *feed(void *index)
{
    for (uint32_t i = 0; i < ROUNDS; i++)
        THREAD_CHECK(test_launch_append(&kernels, stream, &shared_log,
                                        (uint32_t)(uintptr_t)index * 1000 + i) == ACCEL_OK);
    return NULL;
}

static void test_one_capture_of_several_threads(void **state)
{
    (void)state;
    uint32_t next[THREADS] = {0};
    accel_graph *graph = NULL;
    uint32_t count = 0;
    OK(accel_graph_create(test_cpu_device(0), NULL, &graph));
    OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT));
    on_threads(feed);
    OK(accel_graph_capture_end(graph, stream));
    OK(accel_graph_get_node_count(graph, &count));
    assert_int_equal(count, THREADS * ROUNDS);
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(shared_log.count, THREADS * ROUNDS);
    for (uint32_t i = 0; i < shared_log.count; i++) { /* each thread's in its order */
        const uint32_t value = shared_log.values[i];
        assert_int_equal(value % 1000, next[value / 1000]++);
    }
    accel_graph_release(graph);
}

/* ---- one graph, several threads ---- */

static accel_graph *shared_graph;
static uint32_t *counter;

static void *replay(void *index)
{
    (void)index;
    accel_stream *own = NULL;
    THREAD_CHECK(accel_stream_create(test_cpu_device(0), NULL, &own) == ACCEL_OK);
    for (int i = 0; i < ROUNDS; i++)
        THREAD_CHECK(accel_graph_replay(shared_graph, own) == ACCEL_OK);
    THREAD_CHECK(accel_stream_synchronize(own) == ACCEL_OK);
    accel_stream_release(own);
    return NULL;
}

/* Not atomic: the sum is right because replays of one graph never overlap. */
static void test_one_graph_replayed_by_several_threads(void **state)
{
    (void)state;
    uint32_t out = 0;
    const uint32_t zero = 0;
    const uint32_t one = 1;
    OK(accel_memory_alloc(stream, 4, NULL, (void **)&counter));
    OK(accel_fill(counter, &zero, 4, 4, stream));
    OK(accel_stream_synchronize(stream));
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(counter), ACCEL_ARG_VALUE(one)};
    OK(accel_graph_create(test_cpu_device(0), NULL, &shared_graph));
    OK(accel_graph_add_kernel(shared_graph, NULL, 0, kernels.add, &one_item, args, 2, NULL));
    on_threads(replay);
    OK(accel_copy(&out, counter, 4, stream));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(out, THREADS * ROUNDS);
    accel_graph_release(shared_graph);
    OK(accel_memory_free(counter));
}

/* Everything at once on one graph: any outcome that the header allows, and nothing else. */
static void *interfere(void *index)
{
    accel_stream *own = NULL;
    uint32_t count = 0;
    THREAD_CHECK(accel_stream_create(test_cpu_device(0), NULL, &own) == ACCEL_OK);
    for (int i = 0; i < ROUNDS; i++) {
        accel_status status = ACCEL_OK;
        switch ((uintptr_t)index) {
        case 0:
            status = accel_graph_replay(shared_graph, own);
            break;
        case 1:
            status = accel_graph_reset(shared_graph);
            break;
        case 2:
            status = accel_graph_add_kernel(shared_graph, NULL, 0, kernels.nothing, &one_item, NULL,
                                            0, NULL);
            break;
        default:
            status = accel_graph_update_kernel(shared_graph, 0, NULL, NULL, 0);
            break;
        }
        THREAD_CHECK(status == ACCEL_OK || status == ACCEL_ERROR_INVALID_STATE ||
                     status == ACCEL_ERROR_OUT_OF_RANGE);
        THREAD_CHECK(accel_graph_get_node_count(shared_graph, &count) == ACCEL_OK);
    }
    THREAD_CHECK(accel_stream_synchronize(own) == ACCEL_OK);
    accel_stream_release(own);
    return NULL;
}

static void test_everything_at_once(void **state)
{
    (void)state;
    OK(accel_graph_create(test_cpu_device(0), NULL, &shared_graph));
    on_threads(interfere);
    accel_graph_release(shared_graph);
    OK(accel_synchronize(test_cpu_device(0)));
}

/* Threads launch on a stream while another captures on it, ends, and captures again: each launch either
 * runs or is captured or says that it was between the two. */
static _Atomic(bool) stop;

static void *launch_anyway(void *index)
{
    (void)index;
    while (!stop) {
        const accel_status status = test_launch_nothing(&kernels, stream);
        THREAD_CHECK(status == ACCEL_OK || status == ACCEL_ERROR_CAPTURE);
    }
    return NULL;
}

static void test_captures_come_and_go(void **state)
{
    (void)state;
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, launch_anyway, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        accel_graph *graph = NULL;
        OK(accel_graph_create(test_cpu_device(0), NULL, &graph));
        OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT));
        if (i % 2 == 0)
            OK(accel_graph_capture_end(graph, stream));
        accel_graph_release(graph);
    }
    stop = true;
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
    OK(accel_stream_synchronize(stream));
}

/* The pool of a capture does not end under an allocation from it by another thread. A call that meets the begin
 * in its middle came before it, and one that meets the end says so: the capture is none the worse. */
static void *allocate_anyway(void *index)
{
    (void)index;
    while (!stop) {
        const uint32_t zero = 0;
        void *memory = NULL;
        accel_status status = accel_memory_alloc(stream, 4096, NULL, &memory);
        THREAD_CHECK(status == ACCEL_OK || status == ACCEL_ERROR_CAPTURE);
        if (status == ACCEL_OK)
            status = accel_fill(memory, &zero, sizeof zero, 4096, stream);
        THREAD_CHECK(status == ACCEL_OK || status == ACCEL_ERROR_CAPTURE);
        THREAD_CHECK(accel_memory_free(memory) == ACCEL_OK);
    }
    return NULL;
}

static void ignore(accel_stream *on, accel_status status, void *user)
{
    (void)on, (void)status, (void)user;
}

/* Every other call that can be captured. */
static void *queue_anyway(void *index)
{
    (void)index;
    static uint32_t from[4]; /* not on the stack: some copies run after the thread has ended */
    static uint32_t to[4];
    accel_event *event = NULL;
    THREAD_CHECK(accel_event_create(test_cpu_device(0), NULL, &event) == ACCEL_OK);
    while (!stop) {
        const accel_status statuses[] = {
            test_launch_nothing(&kernels, stream),
            accel_copy(to, from, sizeof to, stream),
            accel_event_record(event, stream),
            accel_stream_add_callback(stream, ignore, NULL),
            accel_graph_replay(shared_graph, stream),
        };
        for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
            THREAD_CHECK(statuses[i] == ACCEL_OK || statuses[i] == ACCEL_ERROR_CAPTURE);
    }
    accel_event_release(event);
    return NULL;
}

static void capture_and_drop(int round)
{
    const struct timespec pause = {.tv_nsec = 1000 * (round % 100)};
    accel_graph *graph = NULL;
    OK(accel_graph_create(test_cpu_device(0), NULL, &graph));
    OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT));
    nanosleep(&pause, NULL);
    if (round % 2 == 0)
        OK(accel_graph_capture_end(graph, stream));
    accel_graph_release(graph);
}

/* Three threads of `body` while captures come and go. */
static void capture_amid(void *(*body)(void *index))
{
    pthread_t threads[3];
    void *results[3] = {0};
    stop = false;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, NULL), 0);
    for (int i = 0; i < 1000; i++)
        capture_and_drop(i);
    stop = true;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(threads[i], &results[i]), 0);
        assert_null(results[i]);
    }
    OK(accel_stream_synchronize(stream));
}

static void test_memory_while_captures_end(void **state)
{
    (void)state;
    capture_amid(allocate_anyway);
}

static void test_work_while_captures_begin(void **state)
{
    (void)state;
    OK(accel_graph_create(test_cpu_device(0), NULL, &shared_graph));
    OK(accel_graph_add_callback(shared_graph, NULL, 0, ignore, NULL, NULL));
    capture_amid(queue_anyway);
    accel_graph_release(shared_graph);
}

static int set_up(void **state)
{
    (void)state;
    test_environment(1);
    OK(test_kernels_load(test_cpu_device(0), &kernels));
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    accel_stream_release(stream);
    test_kernels_unload(&kernels);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_captures_side_by_side),
        cmocka_unit_test(test_one_capture_of_several_threads),
        cmocka_unit_test(test_one_graph_replayed_by_several_threads),
        cmocka_unit_test(test_everything_at_once),
        cmocka_unit_test(test_captures_come_and_go),
        cmocka_unit_test(test_memory_while_captures_end),
        cmocka_unit_test(test_work_while_captures_begin),
    };
    return cmocka_run_group_tests_name("graph_threads", tests, set_up, tear_down);
}
