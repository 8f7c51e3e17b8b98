/* graph.c: graphs: what was captured or built is replayed in its order, with the memory it had, and a
 * capture that failed leaves nothing behind. Masking `schedules` runs all of it node by node. */
#include <stdatomic.h>

#include "conformance.h"

enum { COUNT = 1000, SIZE = COUNT * 4 };

static uint32_t host[COUNT];

static accel_status make(cf_run *run, accel_graph **out_graph)
{
    return accel_graph_create(run->device, NULL, out_graph);
}

static accel_status begin(cf_run *run, accel_graph *graph)
{
    return accel_graph_capture_begin(graph, run->stream, ACCEL_CAPTURE_MODE_DEFAULT);
}

static bool all_are(uint32_t value)
{
    for (int i = 0; i < COUNT; i++)
        if (host[i] != value)
            return false;
    return true;
}

static accel_status replay(cf_run *run, accel_graph *graph)
{
    memset(host, 0xff, sizeof host);
    accel_status status = accel_graph_replay(graph, run->stream);
    if (status == ACCEL_OK)
        status = accel_stream_synchronize(run->stream);
    return status;
}

/* data = value; data += add, where there are kernels; host = data */
static accel_status queue_work(cf_run *run, uint32_t *data, uint32_t value, uint32_t add)
{
    accel_status status = accel_fill(data, &value, 4, SIZE, run->stream);
    if (status == ACCEL_OK && cf_has_kernels(run))
        status = cf_launch_add(run, run->stream, data, add, COUNT);
    return status == ACCEL_OK ? accel_copy(host, data, SIZE, run->stream) : status;
}

static uint32_t sum(cf_run *run, uint32_t value, uint32_t add)
{
    return cf_has_kernels(run) ? value + add : value;
}

/* ---- capture ---- */

static void captured_work_is_replayed(cf_run *run)
{
    accel_graph *graph = NULL;
    void *data = NULL;
    uint32_t count = 0;
    OK(make(run, &graph));
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &data));
    OK(begin(run, graph));
    memset(host, 0xff, sizeof host);
    OK(queue_work(run, data, 7, 5));
    OK(accel_graph_capture_end(graph, run->stream));
    OK(accel_stream_synchronize(run->stream));
    CHECK(all_are(UINT32_MAX)); /* nothing has run */
    OK(accel_graph_get_node_count(graph, &count));
    CHECK(count == (cf_has_kernels(run) ? 3 : 2));
    for (int i = 0; i < 5; i++) {
        OK(replay(run, graph));
        CHECK(all_are(sum(run, 7, 5)));
    }
    accel_graph_release(graph);
    OK(accel_memory_free(data));
}

static void two_dimensions(cf_run *run)
{
    enum { WIDTH = 24, HEIGHT = 7, PITCH = 64 };
    unsigned char from[HEIGHT * WIDTH];
    unsigned char to[HEIGHT * WIDTH] = {0};
    accel_graph *graph = NULL;
    void *data = NULL;
    cf_pattern(from, sizeof from, 3);
    OK(make(run, &graph));
    OK(accel_memory_alloc(run->stream, HEIGHT * PITCH, NULL, &data));
    OK(begin(run, graph));
    OK(accel_copy_2d(data, PITCH, from, WIDTH, WIDTH, HEIGHT, run->stream));
    OK(accel_copy_2d(to, WIDTH, data, PITCH, WIDTH, HEIGHT, run->stream));
    OK(accel_graph_capture_end(graph, run->stream));
    for (unsigned seed = 4; seed < 6; seed++) { /* host memory is read by each replay */
        cf_pattern(from, sizeof from, seed);
        OK(replay(run, graph));
        CHECK(memcmp(from, to, sizeof from) == 0);
    }
    accel_graph_release(graph);
    OK(accel_memory_free(data));
}

static void streams_join(cf_run *run)
{
    accel_stream *side = NULL;
    accel_graph *graph = NULL;
    void *data = NULL;
    const uint32_t one = 1;
    const uint32_t two = 2;
    OK(make(run, &graph));
    OK(accel_stream_create(run->device, NULL, &side));
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &data));
    OK(begin(run, graph));
    OK(accel_fill(data, &one, 4, SIZE, run->stream));
    OK(accel_stream_wait_stream(side, run->stream));
    OK(accel_fill(data, &two, 4, SIZE / 2, side));
    OK(accel_stream_wait_stream(run->stream, side));
    OK(accel_copy(host, data, SIZE, run->stream));
    OK(accel_graph_capture_end(graph, run->stream));
    for (int i = 0; i < 3; i++) {
        memset(host, 0xff, sizeof host);
        OK(accel_graph_replay(graph, i == 1 ? side : run->stream));
        OK(accel_stream_synchronize(i == 1 ? side : run->stream));
        CHECK(host[0] == 2 && host[COUNT / 2 - 1] == 2 && host[COUNT / 2] == 1);
    }
    accel_graph_release(graph);
    accel_stream_release(side);
    OK(accel_memory_free(data));
}

static void replays_on_two_streams_keep_their_order(cf_run *run)
{
    enum { REPLAYS = 20 };
    accel_stream *side = NULL;
    accel_graph *graph = NULL;
    void *data = NULL;
    const uint32_t zero = 0;
    if (!cf_has_kernels(run))
        SKIP("the device has no kernels to count replays with");
    OK(make(run, &graph));
    OK(accel_stream_create(run->device, NULL, &side));
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &data));
    OK(accel_fill(data, &zero, 4, SIZE, run->stream));
    OK(begin(run, graph));
    OK(cf_launch_add(run, run->stream, data, 1, COUNT));
    OK(accel_graph_capture_end(graph, run->stream));
    for (int i = 0; i < REPLAYS; i++)
        OK(accel_graph_replay(graph, i % 2 != 0 ? side : run->stream));
    OK(accel_copy(host, data, SIZE, side)); /* the last replay was there */
    OK(accel_stream_synchronize(side));
    CHECK(all_are(REPLAYS));
    OK(accel_stream_synchronize(run->stream));
    accel_graph_release(graph);
    accel_stream_release(side);
    OK(accel_memory_free(data));
}

static void count_call(accel_stream *stream, accel_status status, void *user)
{
    (void)stream;
    atomic_fetch_add((_Atomic(uint32_t) *)user, status == ACCEL_OK ? 1 : 1000);
}

static void callbacks(cf_run *run)
{
    static _Atomic(uint32_t) calls;
    accel_graph *graph = NULL;
    calls = 0;
    OK(make(run, &graph));
    OK(begin(run, graph));
    OK(accel_stream_add_callback(run->stream, count_call, &calls));
    OK(accel_graph_capture_end(graph, run->stream));
    CHECK(calls == 0);
    for (uint32_t i = 1; i <= 3; i++) {
        OK(replay(run, graph));
        CHECK(calls == i);
    }
    accel_graph_release(graph);
}

/* ---- memory ---- */

/* Memory of a capture stays where it is, replay for replay, also what is freed in it. */
static void memory_of_a_capture(cf_run *run)
{
    accel_graph *graph = NULL;
    void *first = NULL;
    void *second = NULL;
    const uint32_t three = 3;
    OK(make(run, &graph));
    OK(begin(run, graph));
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &first));
    OK(accel_fill(first, &three, 4, SIZE, run->stream));
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &second));
    CHECK(first != second);
    OK(accel_copy(second, first, SIZE, run->stream));
    OK(accel_memory_free(first));
    OK(accel_copy(host, second, SIZE, run->stream));
    OK(accel_graph_capture_end(graph, run->stream));
    for (int i = 0; i < 3; i++) {
        OK(replay(run, graph));
        CHECK(all_are(3));
    }
    accel_memory_pool *pool = NULL;
    OK(accel_graph_pool(graph, &pool));
    CHECK(pool != NULL);
    OK(accel_memory_free(second));
    for (int i = 0; i < 3; i++) { /* freed, and still the graph's */
        void *other = NULL;
        OK(accel_memory_alloc(run->stream, SIZE, NULL, &other));
        CHECK(other != first && other != second);
        OK(replay(run, graph));
        CHECK(all_are(3));
        OK(accel_memory_free(other));
    }
    accel_graph_release(graph);
    OK(accel_synchronize(run->device));
}

/* Two graphs of one pool, replayed in the order of their captures. */
static void a_shared_pool(cf_run *run)
{
    accel_graph *first = NULL;
    accel_graph *second = NULL;
    void *data = NULL;
    const uint32_t nine = 9;
    accel_graph_options options = {.struct_size = sizeof options};
    OK(make(run, &first));
    OK(begin(run, first));
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &data));
    OK(accel_fill(data, &nine, 4, SIZE, run->stream));
    OK(accel_graph_capture_end(first, run->stream));
    OK(accel_graph_pool(first, &options.pool));
    OK(accel_graph_create(run->device, &options, &second));
    OK(begin(run, second));
    OK(accel_copy(host, data, SIZE, run->stream));
    OK(accel_memory_free(data));
    OK(accel_graph_capture_end(second, run->stream));
    accel_memory_pool *pool = NULL;
    OK(accel_graph_pool(second, &pool));
    CHECK(pool == options.pool);
    accel_graph *held = first;
    for (int i = 0; i < 2; i++) {
        OK(accel_graph_replay(held, run->stream));
        OK(replay(run, second));
        CHECK(all_are(9));
    }
    accel_graph_release(first);
    OK(replay(run, second)); /* the pool lives on */
    CHECK(all_are(9));
    accel_graph_release(second);
    OK(accel_synchronize(run->device));
}

/* ---- building ---- */

static void built_by_nodes(cf_run *run)
{
    accel_graph *graph = NULL;
    accel_graph_node nodes[3] = {0, 0, 0};
    void *data = NULL;
    const uint32_t one = 1;
    const uint32_t two = 2;
    OK(make(run, &graph));
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &data));
    OK(accel_graph_add_fill(graph, NULL, 0, data, &one, 4, SIZE, &nodes[0]));
    OK(accel_graph_add_fill(graph, &nodes[0], 1, data, &two, 4, SIZE / 2, &nodes[1]));
    OK(accel_graph_add_empty(graph, nodes, 2, &nodes[2]));
    OK(accel_graph_add_copy(graph, &nodes[2], 1, host, data, SIZE, &nodes[2]));
    OK(replay(run, graph));
    CHECK(host[0] == 2 && host[COUNT / 2] == 1);
    OK(accel_graph_update_fill(graph, nodes[1], data, &one, 4, SIZE));
    OK(replay(run, graph));
    CHECK(all_are(1));
    GIVES(accel_graph_update_fill(graph, nodes[2], data, &one, 4, SIZE),
          ACCEL_ERROR_INVALID_ARGUMENT);
    accel_graph_release(graph);
    OK(accel_memory_free(data));
}

static void updated_kernels(cf_run *run)
{
    accel_graph *graph = NULL;
    accel_graph_node node = 0;
    void *data = NULL;
    const uint32_t zero = 0;
    const uint32_t count = COUNT;
    if (!cf_has_kernels(run))
        SKIP("the device has no kernels");
    const accel_launch_shape shape = {{COUNT, 1, 1}, {1, 1, 1}};
    OK(make(run, &graph));
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &data));
    OK(accel_graph_add_fill(graph, NULL, 0, data, &zero, 4, SIZE, &node));
    uint32_t value = 1;
    accel_kernel_arg args[] = {ACCEL_ARG_POINTER(data), ACCEL_ARG_VALUE(value),
                               ACCEL_ARG_VALUE(count)};
    OK(accel_graph_add_kernel(graph, &node, 1, run->add, &shape, args, 3, &node));
    OK(accel_graph_add_copy(graph, &node, 1, host, data, SIZE, NULL));
    for (value = 2; value < 6; value++) { /* with replays pending, too */
        OK(accel_graph_replay(graph, run->stream));
        OK(accel_graph_update_kernel(graph, node, NULL, args, 3));
        OK(replay(run, graph));
        CHECK(all_are(value));
    }
    accel_graph_release(graph);
    OK(accel_memory_free(data));
}

static void children(cf_run *run)
{
    accel_graph *child = NULL;
    accel_graph *parent = NULL;
    void *data = NULL;
    OK(make(run, &child));
    OK(make(run, &parent));
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &data));
    OK(begin(run, child));
    OK(queue_work(run, data, 4, 2));
    OK(accel_graph_capture_end(child, run->stream));
    OK(begin(run, parent));
    OK(accel_graph_replay(child, run->stream));
    OK(accel_graph_capture_end(parent, run->stream));
    accel_graph_release(child);
    OK(replay(run, parent));
    CHECK(all_are(sum(run, 4, 2)));
    accel_graph_release(parent);
    OK(accel_memory_free(data));
}

/* ---- failures ---- */

static void refused_calls_spoil_and_leave_nothing(cf_run *run)
{
    accel_graph *graph = NULL;
    void *data = NULL;
    bool is = true;
    OK(make(run, &graph));
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &data));
    for (int how = 0; how < 3; how++) {
        OK(begin(run, graph));
        OK(queue_work(run, data, 1, 1));
        if (how == 0)
            GIVES(accel_stream_query(run->stream, &is), ACCEL_ERROR_CAPTURE);
        else
            GIVES(accel_stream_synchronize(run->stream), ACCEL_ERROR_CAPTURE);
        GIVES(queue_work(run, data, 1, 1), ACCEL_ERROR_CAPTURE);
        if (how == 2)
            OK(accel_graph_reset(graph));
        else
            GIVES(accel_graph_capture_end(graph, run->stream), ACCEL_ERROR_CAPTURE);
        OK(accel_stream_is_capturing(run->stream, &is));
        CHECK(!is);
        OK(queue_work(run, data, 6, 1));
        OK(accel_stream_synchronize(run->stream));
        CHECK(all_are(sum(run, 6, 1)));
    }
    OK(begin(run, graph));
    OK(queue_work(run, data, 8, 1));
    OK(accel_graph_capture_end(graph, run->stream));
    OK(replay(run, graph));
    CHECK(all_are(sum(run, 8, 1)));
    accel_graph_release(graph);
    OK(accel_memory_free(data));
}

static void states(cf_run *run)
{
    accel_graph *graph = NULL;
    accel_stream *standard = NULL;
    OK(make(run, &graph));
    OK(accel_stream_default(run->device, &standard));
    GIVES(accel_graph_replay(graph, run->stream), ACCEL_ERROR_INVALID_STATE);
    GIVES(accel_graph_capture_end(graph, run->stream), ACCEL_ERROR_INVALID_STATE);
    GIVES(accel_graph_capture_begin(graph, standard, ACCEL_CAPTURE_MODE_DEFAULT),
          ACCEL_ERROR_INVALID_STATE);
    OK(begin(run, graph));
    GIVES(begin(run, graph), ACCEL_ERROR_INVALID_STATE);
    OK(accel_graph_capture_end(graph, run->stream)); /* empty: that is allowed */
    OK(replay(run, graph));
    OK(accel_graph_reset(graph));
    OK(accel_graph_reset(graph));
    GIVES(accel_graph_replay(graph, run->stream), ACCEL_ERROR_INVALID_STATE);
    accel_graph_release(graph);
}

static void released_with_replays_pending(cf_run *run)
{
    accel_graph *graph = NULL;
    void *data = NULL;
    OK(make(run, &graph));
    OK(accel_memory_alloc(run->stream, SIZE, NULL, &data));
    OK(begin(run, graph));
    OK(queue_work(run, data, 2, 3));
    OK(accel_graph_capture_end(graph, run->stream));
    memset(host, 0xff, sizeof host);
    OK(cf_hold(run, run->stream));
    OK(accel_graph_replay(graph, run->stream));
    accel_graph_release(graph);
    cf_let_go(run);
    OK(accel_stream_synchronize(run->stream));
    CHECK(all_are(sum(run, 2, 3)));
    OK(accel_memory_free(data));
    OK(accel_synchronize(run->device));
}

const cf_test cf_graph_tests[] = {
    {"graph/captured-work-is-replayed", captured_work_is_replayed},
    {"graph/two-dimensions", two_dimensions},
    {"graph/streams-join", streams_join},
    {"graph/replays-on-two-streams-keep-their-order", replays_on_two_streams_keep_their_order},
    {"graph/callbacks", callbacks},
    {"graph/memory-of-a-capture", memory_of_a_capture},
    {"graph/a-shared-pool", a_shared_pool},
    {"graph/built-by-nodes", built_by_nodes},
    {"graph/updated-kernels", updated_kernels},
    {"graph/children", children},
    {"graph/refused-calls-spoil-and-leave-nothing", refused_calls_spoil_and_leave_nothing},
    {"graph/states", states},
    {"graph/released-with-replays-pending", released_with_replays_pending},
    {NULL, NULL},
};
