/* graph_memory_test.c: memory of captures (graph.h, "Pools"): it comes from the graph's pool, stays where it
 * is, is shared by graphs that share a pool, and goes when the last of them goes; however a capture ends,
 * what is reserved is afterwards what it was before (case B87), and the cache can be emptied. Case B92:
 * what may be asked of the allocator in a capture. Ask 17: other threads' allocations go on. */
#include <pthread.h>

#include "support/graphs.h"
#include "support/process.h"

enum { SIZE = 3 << 20, COUNT = SIZE / 4 };

static uint32_t host[COUNT];

static size_t reserved(void)
{
    size_t size = 0;
    OK(accel_synchronize(test_cpu_device(0)));
    OK(accel_empty_cache());
    OK(accel_memory_reserved(test_cpu_device(0), &size));
    return size;
}

static void *allocate(accel_stream *on, size_t size)
{
    void *pointer = NULL;
    OK(accel_memory_alloc(on, size, NULL, &pointer));
    assert_non_null(pointer);
    return pointer;
}

static accel_memory_pool *pool_of(accel_graph *graph)
{
    accel_memory_pool *pool = NULL;
    OK(accel_graph_pool(graph, &pool));
    return pool;
}

static void expect_host(uint32_t value)
{
    for (size_t i = 0; i < COUNT; i++)
        if (host[i] != value)
            fail_msg("element %zu is %u, not %u", i, host[i], value);
}

/* scratch = value; host = scratch. The scratch memory is freed in the capture. */
static void capture_copy(accel_graph *graph, const uint32_t *value)
{
    test_graph_begin(graph);
    void *scratch = allocate(stream, SIZE);
    OK(accel_fill(scratch, value, 4, SIZE, stream));
    OK(accel_copy(host, scratch, SIZE, stream));
    OK(accel_memory_free(scratch));
    OK(accel_graph_capture_end(graph, stream));
}

static void replay(accel_graph *graph)
{
    memset(host, 0, sizeof host);
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
}

static void test_memory_lives_as_long_as_its_graph(void **state)
{
    (void)state;
    const size_t before = reserved();
    const uint32_t seven = 7;
    accel_graph *graph = test_graph_make(false);
    capture_copy(graph, &seven);
    assert_true(reserved() >=
                before + SIZE); /* emptying the cache leaves a live graph's memory alone */
    for (int i = 0; i < 3; i++) {
        void *other = allocate(stream, SIZE); /* never the graph's */
        OK(accel_fill(other, "\xff", 1, SIZE, stream));
        replay(graph);
        expect_host(7);
        OK(accel_memory_free(other));
    }
    OK(accel_graph_reset(graph));
    assert_int_equal(reserved(), before);
    capture_copy(graph, &seven);
    replay(graph);
    accel_graph_release(graph);
    assert_int_equal(reserved(), before);
}

static void test_what_is_freed_in_a_capture_is_used_again(void **state)
{
    (void)state;
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
    void *first = allocate(stream, SIZE);
    OK(accel_memory_free(first));
    void *second = allocate(stream, SIZE);
    assert_ptr_equal(second, first);
    OK(accel_memory_free(second));
    OK(accel_graph_capture_end(graph, stream));
    accel_graph_release(graph);
}

/* What the program still holds outlives the graph. */
static void test_memory_that_is_kept(void **state)
{
    (void)state;
    const size_t before = reserved();
    const uint32_t nine = 9;
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
    void *kept = allocate(stream, SIZE);
    OK(accel_fill(kept, &nine, 4, SIZE, stream));
    OK(accel_graph_capture_end(graph, stream));
    OK(accel_graph_replay(graph, stream));
    accel_graph_release(graph);
    OK(accel_copy(host, kept, SIZE, stream));
    OK(accel_stream_synchronize(stream));
    expect_host(9);
    OK(accel_memory_free(kept));
    assert_int_equal(reserved(), before);
}

static void test_release_with_a_replay_pending(void **state)
{
    (void)state;
    const size_t before = reserved();
    const uint32_t five = 5;
    test_gate gate = {0};
    accel_graph *graph = test_graph_make(false);
    capture_copy(graph, &five);
    memset(host, 0, sizeof host);
    OK(test_launch_gate(&kernels, stream, &gate));
    OK(accel_graph_replay(graph, stream));
    accel_graph_release(graph); /* the replay still needs the memory */
    void *other = allocate(side, SIZE);
    OK(accel_fill(other, "\xff", 1, SIZE, side));
    OK(accel_stream_synchronize(side));
    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream));
    expect_host(5);
    OK(accel_memory_free(other));
    assert_int_equal(reserved(), before);
}

/* ---- shared pools ---- */

static void test_a_pool_of_two_graphs(void **state)
{
    (void)state;
    const size_t before = reserved();
    const uint32_t one = 1;
    const uint32_t two = 2;
    accel_graph *first = test_graph_make(false);
    capture_copy(first, &one);
    const size_t with_one = reserved();
    accel_graph_options options = {.struct_size = sizeof options, .pool = pool_of(first)};
    accel_graph *second = NULL;
    OK(accel_graph_create(test_cpu_device(0), &options, &second));
    assert_ptr_equal(pool_of(second), options.pool);
    capture_copy(second, &two);
    assert_int_equal(reserved(), with_one); /* the second uses the first one's memory again */
    replay(first);
    expect_host(1);
    replay(second);
    expect_host(2);
    accel_graph_release(first);
    assert_int_equal(reserved(), with_one);
    replay(second);
    expect_host(2);
    accel_graph_release(second);
    assert_int_equal(reserved(), before);
}

static void test_a_pool_of_the_program(void **state)
{
    (void)state;
    accel_memory_pool *pool = NULL;
    accel_memory_pool *elsewhere = NULL;
    uint32_t uses = 0;
    const uint32_t three = 3;
    accel_graph *graph = NULL;
    OK(accel_memory_pool_create(test_cpu_device(0), NULL, &pool));
    OK(accel_memory_pool_create(test_cpu_device(1), NULL, &elsewhere));
    accel_graph_options options = {.struct_size = sizeof options, .pool = elsewhere};
    FAILS(accel_graph_create(test_cpu_device(0), &options, &graph), ACCEL_ERROR_MISMATCH,
          "accel_graph_create");
    assert_null(graph);
    options.pool = pool;
    OK(accel_graph_create(test_cpu_device(0), &options, &graph));
    assert_ptr_equal(pool_of(graph), pool); /* before the first capture, too */
    capture_copy(graph, &three);
    OK(accel_memory_pool_release(pool)); /* the graph keeps it */
    replay(graph);
    expect_host(3);
    OK(accel_memory_pool_get_use_count(pool, &uses));
    assert_true(uses >= 1);
    accel_graph_release(graph);
    OK(accel_memory_pool_get_use_count(pool, &uses));
    assert_int_equal(uses, 0);
    OK(accel_memory_pool_release(elsewhere));
}

/* A parent keeps the pools of its children. */
static void test_a_childs_pool(void **state)
{
    (void)state;
    const size_t before = reserved();
    const uint32_t six = 6;
    accel_graph *child = test_graph_make(false);
    accel_graph *parent = test_graph_make(false);
    capture_copy(child, &six);
    OK(accel_graph_add_child(parent, NULL, 0, child, NULL));
    accel_graph_release(child);
    replay(parent);
    expect_host(6);
    void *other = allocate(stream, SIZE);
    OK(accel_fill(other, "\xff", 1, SIZE, stream));
    replay(parent);
    expect_host(6);
    OK(accel_memory_free(other));
    accel_graph_release(parent);
    assert_int_equal(reserved(), before);
}

/* ---- captures that fail: case B87 ---- */

typedef enum ending { END, RESET, RELEASE, END_ELSEWHERE, ENDINGS } ending;

static void spoil(ending how)
{
    bool done = false;
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
    void *kept = allocate(stream, SIZE);
    void *freed = allocate(stream, SIZE);
    OK(accel_memory_free(freed));
    FAILS(accel_stream_query(stream, &done), ACCEL_ERROR_CAPTURE, "accel_stream_query");
    if (how == END)
        FAILS(accel_graph_capture_end(graph, stream), ACCEL_ERROR_CAPTURE,
              "accel_graph_capture_end");
    else if (how == END_ELSEWHERE)
        FAILS(accel_graph_capture_end(graph, side), ACCEL_ERROR_INVALID_STATE,
              "accel_graph_capture_end");
    if (how == RESET || how == END_ELSEWHERE)
        OK(accel_graph_reset(graph));
    OK(accel_memory_free(kept));
    accel_graph_release(graph);
}

static void test_failed_captures_leave_no_memory_behind(void **state)
{
    (void)state;
    const size_t before = reserved();
    for (ending how = 0; how < ENDINGS; how++) {
        spoil(how);
        assert_int_equal(reserved(), before);
        test_is_usable(stream);
    }
}

/* ---- what may be asked in a capture: case B92 ---- */

static void test_the_allocator_in_a_capture(void **state)
{
    (void)state;
    size_t size = 0;
    size_t total = 0;
    const size_t before = reserved();
    void *earlier = allocate(stream, 4096);
    void *cached = allocate(stream, 4096);
    OK(accel_memory_free(cached));
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
    void *small = allocate(stream, 4096);     /* such a block is cached */
    void *large = allocate(stream, 8 * SIZE); /* needs new memory */
    OK(accel_memory_free(earlier));           /* of before */
    OK(accel_get_memory_info(test_cpu_device(0), &size, &total));
    OK(accel_memory_allocated(test_cpu_device(0), &size));
    OK(accel_empty_cache());
    const accel_memory_options pinned = {.struct_size = sizeof pinned,
                                         .kind = ACCEL_MEMORY_KIND_PINNED};
    void *staging = NULL;
    OK(accel_memory_alloc(stream, 4096, &pinned, &staging));
    OK(accel_copy(staging, small, 4096, stream));
    OK(accel_memory_free(staging));
    OK(accel_memory_free(small));
    OK(accel_memory_free(large));
    OK(accel_graph_capture_end(graph, stream));
    OK(accel_graph_replay(graph, stream));
    accel_graph_release(graph);
    assert_int_equal(reserved(), before);
}

/* ---- other threads ---- */

static void *allocate_elsewhere(void *user)
{
    const uint64_t begin = test_now_ns();
    void *pointer = NULL;
    for (int i = 0; i < 200; i++)
        if (accel_memory_alloc(side, (size_t)(i + 1) << 10, NULL, &pointer) != ACCEL_OK ||
            accel_memory_free(pointer) != ACCEL_OK)
            return (void *)1;
    *(uint64_t *)user = test_now_ns() - begin;
    return NULL;
}

static void test_other_threads_allocate_meanwhile(void **state)
{
    (void)state;
    pthread_t thread;
    void *failed = NULL;
    uint64_t took = 0;
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
    void *inner = allocate(stream, 4096);
    assert_int_equal(pthread_create(&thread, NULL, allocate_elsewhere, &took), 0);
    assert_int_equal(pthread_join(thread, &failed), 0); /* while the capture is open */
    assert_null(failed);
    assert_true(took != 0);
    OK(accel_memory_free(inner));
    OK(accel_graph_capture_end(graph, stream));
    accel_graph_release(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_lives_as_long_as_its_graph),
        cmocka_unit_test(test_what_is_freed_in_a_capture_is_used_again),
        cmocka_unit_test(test_memory_that_is_kept),
        cmocka_unit_test(test_release_with_a_replay_pending),
        cmocka_unit_test(test_a_pool_of_two_graphs),
        cmocka_unit_test(test_a_pool_of_the_program),
        cmocka_unit_test(test_a_childs_pool),
        cmocka_unit_test(test_failed_captures_leave_no_memory_behind),
        cmocka_unit_test(test_the_allocator_in_a_capture),
        cmocka_unit_test(test_other_threads_allocate_meanwhile),
    };
    return cmocka_run_group_tests_name("graph_memory", tests, test_graphs_set_up,
                                       test_graphs_tear_down);
}
