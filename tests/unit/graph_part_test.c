/* graph_part_test.c: how another layer takes part in graphs (core/capture.h): its prologue is called before
 * each replay, on the stream that replays, in order; in a child before the child's nodes, each time that the
 * child occurs; what it takes beforehand it takes for all occurrences before anything is queued, and a failure
 * keeps all of the graph from being queued; release comes once, when the last graph that has
 * the part is gone and its replays have passed. */
#include <accel/random.h>
#include <pthread.h>
#include <time.h>

#include "base/error.h"
#include "core/capture.h"
#include "random/generator.h"

#include "support/graphs.h"

typedef struct part {
    accel__capture_part base; /* first */
    uint32_t value;           /* appended to the log by each prologue */
    test_log *log;
    uint32_t prologues;
    uint32_t releases;
    uint32_t taken;      /* what was taken and not given back */
    uint32_t takes_left; /* then taking fails */
    accel_status fails;  /* what the prologue returns instead */
} part;

static accel_status take_one(accel__capture_part *base, accel__part_taken *out_taken)
{
    part *own = (part *)base;
    if (own->takes_left == 0)
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, NULL, "test", "there is no more to take");
    own->takes_left--;
    out_taken->offset = own->taken++;
    return ACCEL_OK;
}

/* The last one that was taken comes first. */
static void give_one_back(accel__capture_part *base, const accel__part_taken *taken)
{
    part *own = (part *)base;
    assert_int_equal(taken->offset, --own->taken);
}

static accel_status append_value(accel__capture_part *base, const accel__part_taken *taken,
                                 accel_stream *on, accel_native_stream *native)
{
    part *own = (part *)base;
    (void)taken, (void)native;
    own->prologues++;
    if (own->fails != ACCEL_OK)
        return accel__fail(own->fails, NULL, "test", "the prologue fails on purpose");
    return test_launch_append(&kernels, on, own->log, own->value);
}

static void count_release(accel__capture_part *base)
{
    ((part *)base)->releases++;
}

static part make_part(uint32_t value, test_log *log)
{
    return (part){
        .base = {.prologue = append_value, .release = count_release}, .value = value, .log = log};
}

/* A graph that appends `value`, and has the part. */
static accel_graph *capture_with(part *taking, uint32_t value)
{
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
    accel__capture *capture = accel__capture_of(stream);
    assert_non_null(capture);
    taking->base.key = taking;
    assert_null(accel__capture_find_part(capture, taking));
    OK(accel__capture_attach(capture, &taking->base));
    assert_ptr_equal(accel__capture_find_part(capture, taking), &taking->base);
    accel__capture_release(capture);
    OK(test_launch_append(&kernels, stream, taking->log, value));
    OK(accel_graph_capture_end(graph, stream));
    return graph;
}

static void replay(accel_graph *graph)
{
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
}

static void test_before_each_replay(void **state)
{
    (void)state;
    static test_log log;
    part taking = make_part(7, &log);
    accel_graph *graph = capture_with(&taking, 1);
    assert_int_equal(taking.prologues, 0);
    replay(graph);
    replay(graph);
    test_log_is(&log, (const uint32_t[]){7, 1, 7, 1}, 4);
    accel_graph_release(graph);
    assert_int_equal(taking.prologues, 2);
    assert_int_equal(taking.releases, 1);
}

static void test_a_failing_prologue(void **state)
{
    (void)state;
    static test_log log;
    part taking = make_part(7, &log);
    accel_graph *graph = capture_with(&taking, 1);
    taking.fails = ACCEL_ERROR_OUT_OF_RANGE;
    FAILS(accel_graph_replay(graph, stream), ACCEL_ERROR_OUT_OF_RANGE, "accel_graph_replay");
    OK(accel_stream_synchronize(stream));
    assert_int_equal(log.count, 0);
    taking.fails = ACCEL_OK;
    replay(graph);
    test_log_is(&log, (const uint32_t[]){7, 1}, 2);
    OK(accel_graph_reset(graph));
    assert_int_equal(taking.releases, 1);
    accel_graph_release(graph);
    assert_int_equal(taking.releases, 1);
}

static void test_in_children(void **state)
{
    (void)state;
    static test_log log;
    part taking = make_part(7, &log);
    accel_graph *child = capture_with(&taking, 1);
    accel_graph *parent = test_graph_make(false);
    accel_graph_node node = 0;
    OK(accel_graph_add_child(parent, NULL, 0, child, &node));
    OK(accel_graph_add_child(parent, &node, 1, child, &node));
    accel_graph_release(child);
    assert_int_equal(taking.releases, 0);
    replay(parent);
    test_log_is(&log, (const uint32_t[]){7, 1, 7, 1}, 4);
    accel_graph_release(parent);
    assert_int_equal(taking.releases, 1);
}

/* A child in the middle that cannot have what it needs, and one whose prologue fails. */
static void test_a_child_that_fails(void **state)
{
    (void)state;
    static test_log log;
    part taking = make_part(7, &log);
    taking.base.take = take_one;
    taking.base.give_back = give_one_back;
    taking.takes_left = 1;
    accel_graph *child = capture_with(&taking, 1);
    accel_graph *parent = test_graph_make(false);
    accel_graph_node node = 0;
    OK(accel_graph_add_child(parent, NULL, 0, child, &node));
    OK(accel_graph_add_child(parent, &node, 1, child, &node));
    FAILS(accel_graph_replay(parent, stream), ACCEL_ERROR_OUT_OF_RANGE, "accel_graph_replay");
    OK(accel_stream_synchronize(stream));
    assert_int_equal(log.count, 0);
    assert_int_equal(taking.prologues, 0);
    assert_int_equal(taking.taken, 0);
    taking.takes_left = 4;
    taking.fails = ACCEL_ERROR_OUT_OF_MEMORY;
    FAILS(accel_graph_replay(parent, stream), ACCEL_ERROR_OUT_OF_MEMORY, "accel_graph_replay");
    assert_int_equal(taking.taken, 0);
    taking.fails = ACCEL_OK;
    replay(parent);
    assert_int_equal(taking.taken, 2);
    test_log_is(&log, (const uint32_t[]){7, 1, 7, 1}, 4);
    accel_graph_release(parent);
    accel_graph_release(child);
    assert_int_equal(taking.releases, 1);
}

static void test_release_waits_for_replays(void **state)
{
    (void)state;
    static test_log log;
    test_gate gate = {0};
    part taking = make_part(7, &log);
    accel_graph *graph = capture_with(&taking, 1);
    OK(test_launch_gate(&kernels, stream, &gate));
    OK(accel_graph_replay(graph, stream));
    accel_graph_release(graph);
    assert_int_equal(taking.releases, 0);
    test_gate_open(&gate);
    OK(accel_synchronize(test_cpu_device(0)));
    assert_int_equal(taking.releases, 1);
    test_log_is(&log, (const uint32_t[]){7, 1}, 2);
}

static void test_captures_that_fail(void **state)
{
    (void)state;
    static test_log log;
    part taking = make_part(7, &log);
    part late = make_part(8, &log);
    bool done = false;
    accel_graph *graph = test_graph_make(false);
    test_graph_begin(graph);
    accel__capture *capture = accel__capture_of(stream);
    OK(accel__capture_attach(capture, &taking.base));
    EXPECT(accel_stream_query(stream, &done), ACCEL_ERROR_CAPTURE);
    EXPECT(accel__capture_attach(capture, &late.base), ACCEL_ERROR_CAPTURE); /* not taken over */
    EXPECT(accel_graph_capture_end(graph, stream), ACCEL_ERROR_CAPTURE);
    assert_int_equal(taking.releases, 1);
    EXPECT(accel__capture_attach(capture, &late.base), ACCEL_ERROR_CAPTURE); /* it is over */
    assert_int_equal(late.releases, 0);
    accel__capture_release(capture);
    accel_graph_release(graph);
    assert_null(accel__capture_of(stream));
}

/* ---- the random layer's part ---- */

enum { WORDS = 16 };

static uint32_t *words;

static void *fill(void *generator)
{
    OK(accel_random_raw(words, ACCEL_DATA_TYPE_U32, WORDS, generator, stream));
    return NULL;
}

static void replay_words(accel_graph *graph, uint32_t out[WORDS])
{
    OK(accel_graph_replay(graph, stream));
    OK(accel_copy(out, words, WORDS * sizeof *out, stream));
    OK(accel_stream_synchronize(stream));
}

/* A fill that a capture meets while it takes words came before the capture, or draws anew at each replay: the
 * words never come from elsewhere than where the kernel goes. */
static void test_a_capture_begins_amid_a_fill(void **state)
{
    (void)state;
    const struct timespec until_it_waits = {.tv_nsec = 20000000};
    accel_generator *generator = NULL;
    accel_graph *graph = test_graph_make(false);
    pthread_t thread;
    uint32_t first[WORDS];
    uint32_t second[WORDS];
    OK(accel_generator_create(test_cpu_device(0), &generator));
    OK(accel_memory_alloc(stream, WORDS * sizeof *words, NULL, (void **)&words));
    fill(generator); /* all is loaded */
    accel__mutex_lock(&generator->mutex);
    assert_int_equal(pthread_create(&thread, NULL, fill, generator), 0);
    nanosleep(&until_it_waits, NULL);
    test_graph_begin(graph);
    accel__mutex_unlock(&generator->mutex);
    assert_int_equal(pthread_join(thread, NULL), 0);
    OK(accel_graph_capture_end(graph, stream));
    if (test_graph_count(graph) != 0) {
        replay_words(graph, first);
        replay_words(graph, second);
        assert_memory_not_equal(first, second, sizeof first);
    }
    accel_graph_release(graph);
    OK(accel_memory_free(words));
    accel_generator_release(generator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_each_replay),
        cmocka_unit_test(test_a_failing_prologue),
        cmocka_unit_test(test_in_children),
        cmocka_unit_test(test_release_waits_for_replays),
        cmocka_unit_test(test_captures_that_fail),
        cmocka_unit_test(test_a_child_that_fails),
        cmocka_unit_test(test_a_capture_begins_amid_a_fill),
    };
    return cmocka_run_group_tests_name("graph_part", tests, test_graphs_set_up,
                                       test_graphs_tear_down);
}
