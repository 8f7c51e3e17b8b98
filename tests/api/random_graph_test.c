/* random_graph_test.c: random numbers in graphs: fresh ones at each replay, the same as without a graph;
 * what may be done to a generator while it is captured; offsets that advance by what was drawn (B94,
 * B96). */
#include <time.h>

#include "support/check.h"

enum { COUNT = 500 };

static accel_stream *stream;
static accel_generator *generator;
static uint32_t *memory; /* on the device: 2 * COUNT */

static int set_up(void **state)
{
    (void)state;
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    OK(accel_generator_create(test_cpu_device(0), &generator));
    OK(accel_memory_alloc(stream, 2 * COUNT * sizeof *memory, NULL, (void **)&memory));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    OK(accel_memory_free(memory));
    accel_generator_release(generator);
    accel_stream_release(stream);
    return 0;
}

static uint64_t offset_now(void)
{
    uint64_t offset = 0;
    OK(accel_generator_get_offset(generator, &offset));
    return offset;
}

static void draw(uint32_t *data)
{
    OK(accel_random_raw(data, ACCEL_DATA_TYPE_U32, COUNT, generator, stream));
}

static void fetch(uint32_t *words, const uint32_t *data)
{
    OK(accel_copy(words, data, COUNT * sizeof *words, stream));
    OK(accel_stream_synchronize(stream));
}

/* A capture whose stream is the thread's current one, as the scope makes it. */
static accel_graph *begin(accel_graph_scope *scope)
{
    accel_graph *graph = NULL;
    OK(accel_graph_create(test_cpu_device(0), NULL, &graph));
    OK(accel_graph_scope_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT, scope));
    return graph;
}

/* B94: seed 1, capture; replay twice; seed 2, replay; seed 1, replay: as the eager sequence. */
static void reseeding_restarts(void **state)
{
    static const uint64_t seeds[] = {1, 0, 2, 1}; /* 0: goes on */
    static uint32_t wanted[4][COUNT];
    static uint32_t words[COUNT];
    uint64_t offsets[4];
    accel_graph_scope scope;
    (void)state;
    for (int i = 0; i < 4; i++) {
        if (seeds[i] != 0)
            OK(accel_generator_manual_seed(generator, seeds[i]));
        draw(memory);
        fetch(wanted[i], memory);
        offsets[i] = offset_now();
    }
    assert_memory_not_equal(wanted[0], wanted[1], sizeof wanted[0]);
    OK(accel_generator_manual_seed(generator, 1));
    accel_graph *graph = begin(&scope);
    draw(memory);
    OK(accel_graph_scope_end(&scope));
    for (int i = 0; i < 4; i++) {
        if (seeds[i] != 0)
            OK(accel_generator_manual_seed(generator, seeds[i]));
        OK(accel_graph_replay(graph, stream));
        fetch(words, memory);
        assert_memory_equal(words, wanted[i], sizeof words);
        assert_true(offset_now() == offsets[i]);
    }
    accel_graph_release(graph);
}

/* B96, 1: the state is read, numbers are drawn, the state is set back: the same numbers again. */
static void rewinds_in_a_capture(void **state)
{
    static uint32_t words[2][COUNT];
    uint64_t cells[2] = {0};
    accel_graph_scope scope;
    (void)state;
    OK(accel_generator_manual_seed(generator, 3));
    OK(accel_generator_set_offset(generator, 400));
    accel_graph *graph = begin(&scope);
    OK(accel_generator_get_state(generator, cells, sizeof cells, NULL));
    assert_true(cells[0] == 3 && cells[1] == 0); /* counts from the graph's begin */
    draw(memory);
    assert_true(offset_now() == COUNT);
    OK(accel_generator_set_state(generator, cells, sizeof cells));
    draw(memory + COUNT);
    assert_true(offset_now() == COUNT);
    OK(accel_graph_scope_end(&scope));
    assert_true(offset_now() == 400);
    for (uint64_t i = 0; i < 3; i++) {
        OK(accel_graph_replay(graph, stream));
        fetch(words[0], memory);
        fetch(words[1], memory + COUNT);
        assert_memory_equal(words[0], words[1], sizeof words[0]);
        assert_true(offset_now() == 400 + (i + 1) * COUNT);
    }
    OK(accel_generator_set_offset(generator, 400 + 2 * COUNT));
    draw(memory);
    fetch(words[0], memory);
    assert_memory_equal(words[0], words[1], sizeof words[0]);
    accel_graph_release(graph);
}

/* B96, 2: another seed is an error, and the capture goes on. */
static void seeds_stay_in_a_capture(void **state)
{
    uint64_t cells[2] = {5, 0};
    uint64_t seed = 0;
    accel_generator *other = NULL;
    accel_graph_scope scope;
    uint32_t node_count = 0;
    (void)state;
    OK(accel_generator_manual_seed(generator, 4));
    accel_graph *graph = begin(&scope);
    draw(memory);
    FAILS(accel_generator_manual_seed(generator, 5), ACCEL_ERROR_CAPTURE,
          "accel_generator_manual_seed");
    FAILS(accel_generator_set_state(generator, cells, sizeof cells), ACCEL_ERROR_CAPTURE,
          "accel_generator_set_state");
    FAILS(accel_generator_seed(generator, &seed), ACCEL_ERROR_CAPTURE, "accel_generator_seed");
    FAILS(accel_generator_clone(generator, &other), ACCEL_ERROR_CAPTURE, "accel_generator_clone");
    FAILS(accel_manual_seed_all(99), ACCEL_ERROR_CAPTURE, "accel_manual_seed_all");
    OK(accel_generator_manual_seed(generator, 4)); /* the same: nothing happens */
    assert_true(offset_now() == COUNT);
    draw(memory);
    OK(accel_graph_scope_end(&scope));
    OK(accel_graph_get_node_count(graph, &node_count));
    assert_int_equal(node_count, 2);
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
    assert_true(offset_now() == 2 * COUNT);
    OK(accel_generator_initial_seed(generator, &seed));
    assert_true(seed == 4);
    accel_graph_release(graph);
}

/* Two generators, one of them the default one; the graph keeps what its callers let go of. */
static void several_generators(void **state)
{
    static uint32_t words[2][COUNT];
    static uint32_t wanted[2][COUNT];
    accel_generator *second = NULL;
    accel_graph_scope scope;
    (void)state;
    OK(accel_generator_create(test_cpu_device(0), &second));
    OK(accel_generator_manual_seed(second, 21));
    OK(accel_manual_seed(22));
    accel_graph *graph = begin(&scope);
    OK(accel_random_raw(memory, ACCEL_DATA_TYPE_U32, COUNT, second, stream));
    OK(accel_random_raw(memory + COUNT, ACCEL_DATA_TYPE_U32, COUNT, NULL, stream));
    OK(accel_graph_scope_end(&scope));
    accel_generator_release(second);
    for (int i = 0; i < 2; i++)
        OK(accel_graph_replay(graph, stream));
    fetch(words[0], memory);
    fetch(words[1], memory + COUNT);
    accel_graph_release(graph);
    for (int i = 0; i < 2; i++) {
        OK(accel_generator_manual_seed(generator, 21 + (uint64_t)i));
        OK(accel_generator_set_offset(generator, COUNT));
        draw(memory);
        fetch(wanted[i], memory);
        assert_memory_equal(words[i], wanted[i], sizeof words[i]);
    }
}

/* At the end of the offsets a replay fails as a draw does, and draws nothing. */
static void replays_at_the_end(void **state)
{
    const uint64_t last = UINT64_MAX - 4 * COUNT + 1;
    accel_graph_scope scope;
    (void)state;
    accel_graph *graph = begin(&scope);
    draw(memory);
    OK(accel_graph_scope_end(&scope));
    OK(accel_generator_set_offset(generator, last));
    for (int i = 0; i < 3; i++)
        OK(accel_graph_replay(graph, stream));
    FAILS(accel_graph_replay(graph, stream), ACCEL_ERROR_OUT_OF_RANGE, "accel_graph_replay");
    assert_true(offset_now() == last + 3 * COUNT);
    OK(accel_generator_set_offset(generator, 0));
    OK(accel_graph_replay(graph, stream));
    OK(accel_stream_synchronize(stream));
    accel_graph_release(graph);
}

/* A child that draws, behind other work of its parent: a replay that cannot have its words queues nothing
 * of the parent either, and takes no words. */
static void child_at_the_end(void **state)
{
    const uint32_t untouched = 0x11111111;
    const uint32_t filled = 0x22222222;
    uint32_t words[COUNT];
    accel_graph_node first = 0;
    accel_graph *parent = NULL;
    accel_graph_scope scope;
    (void)state;
    accel_graph *child = begin(&scope);
    draw(memory);
    OK(accel_graph_scope_end(&scope));
    OK(accel_graph_create(test_cpu_device(0), NULL, &parent));
    OK(accel_graph_add_fill(parent, NULL, 0, memory + COUNT, &filled, 4, 4 * (size_t)COUNT,
                            &first));
    OK(accel_graph_add_child(parent, &first, 1, child, &first));
    OK(accel_graph_add_child(parent, &first, 1, child, NULL));
    OK(accel_fill(memory + COUNT, &untouched, 4, 4 * (size_t)COUNT, stream));
    OK(accel_generator_set_offset(generator, UINT64_MAX - 2 * COUNT + 1));
    FAILS(accel_graph_replay(parent, stream), ACCEL_ERROR_OUT_OF_RANGE, "accel_graph_replay");
    fetch(words, memory + COUNT);
    assert_int_equal(words[0], untouched);
    assert_true(offset_now() == UINT64_MAX - 2 * COUNT + 1);
    OK(accel_generator_set_offset(generator, 0));
    OK(accel_graph_replay(parent, stream));
    fetch(words, memory + COUNT);
    assert_int_equal(words[0], filled);
    assert_true(offset_now() == 2 * COUNT);
    accel_graph_release(parent);
    accel_graph_release(child);
}

/* A capture that is given up leaves the generator as it was, usable at once. */
static void abandoned_captures(void **state)
{
    accel_graph *graph = NULL;
    (void)state;
    OK(accel_generator_manual_seed(generator, 6));
    for (int i = 0; i < 20; i++) {
        OK(accel_graph_create(test_cpu_device(0), NULL, &graph));
        OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT));
        draw(memory);
        OK(accel_graph_reset(graph));
        accel_graph_release(graph);
    }
    assert_true(offset_now() == 0);
    draw(memory);
    OK(accel_stream_synchronize(stream));
    assert_true(offset_now() == COUNT);
}

/* A replay on another stream, without waiting in between, draws the next numbers all the same. */
static void replays_on_two_streams(void **state)
{
    enum { REPLAYS = 50 };
    static uint32_t words[COUNT];
    static uint32_t wanted[COUNT];
    accel_stream *other = NULL;
    accel_graph_scope scope;
    (void)state;
    OK(accel_stream_create(test_cpu_device(0), NULL, &other));
    OK(accel_generator_manual_seed(generator, 7));
    accel_graph *graph = begin(&scope);
    draw(memory);
    OK(accel_graph_scope_end(&scope));
    for (int i = 0; i < REPLAYS; i++)
        OK(accel_graph_replay(graph, i % 2 == 0 ? stream : other));
    OK(accel_stream_synchronize(other));
    fetch(words, memory);
    OK(accel_generator_set_offset(generator, (REPLAYS - 1) * COUNT));
    draw(memory);
    fetch(wanted, memory);
    assert_memory_equal(words, wanted, sizeof words);
    accel_graph_release(graph);
    accel_stream_release(other);
}

/* ---- a graph and one that has it as a child, at the same time ---- */

typedef struct draws {
    uint32_t words[COUNT]; /* of the draw that came last */
    uint32_t firsts[8];    /* of each draw */
    uint32_t count;
} draws;

static void pause_a_little(accel_stream *on, accel_status status, void *user)
{
    const struct timespec span = {.tv_nsec = 10000000};
    (void)on;
    (void)status;
    (void)user;
    nanosleep(&span, NULL);
}

static void note_draw(accel_stream *on, accel_status status, void *user)
{
    draws *all = user;
    (void)on;
    (void)status;
    all->firsts[all->count++] = all->words[0];
}

/* Draws only a while after its replay began. */
static accel_graph *capture_slow_draw(draws *all)
{
    accel_graph_scope scope;
    accel_graph *graph = begin(&scope);
    OK(accel_stream_add_callback(stream, pause_a_little, NULL));
    draw(memory);
    OK(accel_copy(all->words, memory, sizeof all->words, stream));
    OK(accel_stream_add_callback(stream, note_draw, all));
    OK(accel_graph_scope_end(&scope));
    return graph;
}

/* Both read the same two cells: each replay draws with what it has set there, not with what the other
 * graph's has. */
static void child_and_parent_on_two_streams(void **state)
{
    enum { TURNS = 3 };
    static draws all;
    static uint32_t wanted[COUNT];
    accel_graph *parent = NULL;
    accel_stream *other = NULL;
    (void)state;
    OK(accel_stream_create(test_cpu_device(0), NULL, &other));
    OK(accel_generator_manual_seed(generator, 8));
    accel_graph *child = capture_slow_draw(&all);
    OK(accel_graph_create(test_cpu_device(0), NULL, &parent));
    OK(accel_graph_add_child(parent, NULL, 0, child, NULL));
    for (int i = 0; i < TURNS; i++) {
        OK(accel_graph_replay(child, stream));
        OK(accel_graph_replay(parent, other));
    }
    OK(accel_stream_synchronize(stream));
    OK(accel_stream_synchronize(other));
    assert_int_equal(all.count, 2 * TURNS);
    for (uint32_t i = 0; i < all.count; i++) {
        OK(accel_generator_set_offset(generator, (uint64_t)i * COUNT));
        draw(memory);
        fetch(wanted, memory);
        assert_int_equal(all.firsts[i], wanted[0]);
    }
    accel_graph_release(parent);
    accel_graph_release(child);
    accel_stream_release(other);
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reseeding_restarts),
        cmocka_unit_test(rewinds_in_a_capture),
        cmocka_unit_test(several_generators),
        cmocka_unit_test(seeds_stay_in_a_capture),
        cmocka_unit_test(replays_at_the_end),
        cmocka_unit_test(child_at_the_end),
        cmocka_unit_test(abandoned_captures),
        cmocka_unit_test(replays_on_two_streams),
        cmocka_unit_test(child_and_parent_on_two_streams),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
