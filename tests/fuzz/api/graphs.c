/* graphs.c: steps that capture, replay and ask graphs. Captured streams see scratch memory alone. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

static accel_stream *take_any(fuzz_thread *thread)
{
    return draw_chance(&thread->draw, 80) ? fuzz_take(thread, FUZZ_CAPTURE_STREAM)
                                          : fuzz_take(thread, FUZZ_STREAM);
}

static accel_capture_mode draw_mode(fuzz_thread *thread)
{
    return (accel_capture_mode)(draw_chance(&thread->draw, 97) ? draw_below(&thread->draw, 4) : 9);
}

/* ---- life ---- */

static void make_graph(fuzz_thread *thread)
{
    accel_graph *graph = NULL;
    accel_memory_pool *pool = draw_chance(&thread->draw, 30) ? fuzz_take(thread, FUZZ_GRAPH_POOL)
                                                             : NULL;
    const accel_graph_options options = {
        .struct_size = draw_chance(&thread->draw, 97) ? sizeof options : 1,
        .keep_graph = draw_chance(&thread->draw, 50),
        .pool = pool};
    atomic_fetch_add(&world.pools_made, 1);
    if (MAKE(thread, accel_graph_create, &graph, fuzz_device(thread),
             draw_chance(&thread->draw, 70) ? &options : NULL) == ACCEL_OK)
        fuzz_put(thread, FUZZ_GRAPH, graph);
    CALL(thread, accel_graph_create, fuzz_device(thread), NULL, NULL);
    fuzz_drop(thread, FUZZ_GRAPH_POOL, pool);
}

static void reset_graph(fuzz_thread *thread)
{
    accel_graph *graph = fuzz_take(thread, FUZZ_GRAPH);
    if (draw_chance(&thread->draw, 50))
        CALL(thread, accel_graph_reset, graph);
    else
        fuzz_put(thread, FUZZ_GRAPH, NULL);
    fuzz_drop(thread, FUZZ_GRAPH, graph);
}

/* ---- work that may be captured ---- */

static void queue_copy(fuzz_thread *thread, accel_stream *stream, const fuzz_device_state *device)
{
    size_t size = 1 + draw_below(&thread->draw, 4096);
    void *destination = fuzz_scratch(thread, device, &size);
    const void *source = fuzz_scratch(thread, device, &size);
    const uint32_t height = 1 + draw_below(&thread->draw, 3);
    if (size > FUZZ_SCRATCH_SIZE || draw_chance(&thread->draw, 60))
        CALL(thread, accel_copy, destination, source, size, stream);
    else
        CALL(thread, accel_copy_2d, destination, size / height, source, size / height,
             size / height, height, stream);
}

/* Memory of a capture is the graph's; it is freed at once. */
static void queue_memory(fuzz_thread *thread, accel_stream *stream)
{
    fuzz_block *block = fuzz_make_block(thread, stream, fuzz_small_size(thread),
                                        ACCEL_MEMORY_KIND_DEVICE);
    if (block != NULL) {
        fuzz_ignore_races(block->pointer, block->size);
        CALL(thread, accel_fill, block->pointer, "x", 1, block->size, stream);
    }
    fuzz_free_block(thread, block);
}

static void queue_launch(fuzz_thread *thread, accel_stream *stream, const fuzz_device_state *device)
{
    fuzz_launch drawn;
    accel_module *module = fuzz_take(thread, FUZZ_MODULE);
    if (fuzz_draw_launch(thread, module, device, &drawn))
        CALL(thread, accel_kernel_launch, drawn.kernel, stream, &drawn.shape, drawn.args,
             drawn.arg_count == UINT32_MAX ? 0 : drawn.arg_count);
    fuzz_drop(thread, FUZZ_MODULE, module);
}

static void queue_event(fuzz_thread *thread, accel_stream *stream)
{
    accel_event *event = draw_chance(&thread->draw, 85) ? fuzz_take(thread, FUZZ_CAPTURE_EVENT)
                                                        : NULL;
    accel_stream *other = fuzz_take(thread, FUZZ_CAPTURE_STREAM);
    switch (draw_below(&thread->draw, 4)) {
    case 0:
        CALL(thread, accel_event_record, event, stream);
        break;
    case 1:
        CALL(thread, accel_stream_wait_event, stream, event);
        break;
    case 2: /* out and back: another stream joins */
        if (other != NULL && CALL(thread, accel_event_record, event, stream) == ACCEL_OK &&
            CALL(thread, accel_stream_wait_event, other, event) == ACCEL_OK &&
            CALL(thread, accel_event_record, event, other) == ACCEL_OK)
            CALL(thread, accel_stream_wait_event, stream, event);
        break;
    default:
        if (other != NULL) /* NULL is a stream of work */
            CALL(thread, accel_stream_wait_stream, stream, other);
        break;
    }
    fuzz_drop(thread, FUZZ_CAPTURE_STREAM, other);
    fuzz_drop(thread, FUZZ_CAPTURE_EVENT, event);
}

static void queue_numbers(fuzz_thread *thread, accel_stream *stream,
                          const fuzz_device_state *device)
{
    accel_generator *generator = fuzz_take(thread, FUZZ_GENERATOR);
    accel_random_reservation reservation = {.struct_size = sizeof reservation};
    if (draw_chance(&thread->draw, 60))
        CALL(thread, accel_random_uniform, device->scratch, ACCEL_DATA_TYPE_F32,
             draw_below(&thread->draw, 1000), generator, stream);
    else
        CALL(thread, accel_random_reserve, generator, stream, draw_below(&thread->draw, 100),
             &reservation);
    fuzz_drop(thread, FUZZ_GENERATOR, generator);
}

/* One piece of work, which is kept, runs, or is refused: as the stream is at this moment. */
static void queue_something(fuzz_thread *thread, accel_stream *stream)
{
    accel_device device = {0, 0};
    accel_graph *graph;
    bool flag = false;
    const uint32_t pattern = 7;
    if (stream == NULL || CALL(thread, accel_stream_get_device, stream, &device) != ACCEL_OK)
        return;
    const fuzz_device_state *state = fuzz_state_of(device);
    switch (draw_below(&thread->draw, 11)) {
    case 0:
    case 1:
        queue_copy(thread, stream, state);
        break;
    case 2:
        CALL(thread, accel_fill, state->scratch, &pattern, 4,
             4 * (size_t)draw_below(&thread->draw, 999), stream);
        break;
    case 3:
        queue_memory(thread, stream);
        break;
    case 4:
    case 5:
        queue_launch(thread, stream, state);
        break;
    case 6:
        queue_event(thread, stream);
        break;
    case 7:
        queue_numbers(thread, stream, state);
        break;
    case 8:
        CALL(thread, accel_stream_add_callback, stream, fuzz_graph_callback, NULL);
        break;
    case 9:
        graph = fuzz_take(thread, FUZZ_GRAPH);
        CALL(thread, accel_graph_replay, graph, stream);
        fuzz_drop(thread, FUZZ_GRAPH, graph);
        break;
    default:
        CALL(thread, accel_stream_is_capturing, stream, &flag);
        if (draw_chance(&thread->draw, 20))
            CALL(thread, accel_stream_synchronize, stream);
        break;
    }
}

static void queue_on_captured(fuzz_thread *thread)
{
    accel_stream *stream = fuzz_take(thread, FUZZ_CAPTURE_STREAM);
    queue_something(thread, stream);
    fuzz_drop(thread, FUZZ_CAPTURE_STREAM, stream);
}

/* ---- captures ---- */

static void begin_capture(fuzz_thread *thread)
{
    accel_graph *graph = fuzz_take(thread, FUZZ_GRAPH);
    accel_stream *stream = fuzz_take(thread, FUZZ_CAPTURE_STREAM);
    /* The current stream is one of work, which must not be captured. */
    if (stream != NULL)
        CALL(thread, accel_graph_capture_begin, graph, stream, draw_mode(thread));
    fuzz_drop(thread, FUZZ_CAPTURE_STREAM, stream);
    fuzz_drop(thread, FUZZ_GRAPH, graph);
}

static void end_capture(fuzz_thread *thread)
{
    accel_graph *graph = fuzz_take(thread, FUZZ_GRAPH);
    accel_stream *stream = take_any(thread);
    CALL(thread, accel_graph_capture_end, graph, stream);
    fuzz_drop(thread, FUZZ_STREAM, stream);
    fuzz_drop(thread, FUZZ_GRAPH, graph);
}

/* From begin to end in one step: unless others disturb it, a capture that succeeds. */
static void capture_whole(fuzz_thread *thread)
{
    accel_graph *graph = NULL;
    accel_stream *stream = NULL;
    const accel_device device = fuzz_good_device(thread)->device;
    const accel_graph_options options = {.struct_size = sizeof options,
                                         .keep_graph = draw_chance(&thread->draw, 50)};
    atomic_fetch_add(&world.pools_made, 1);
    if (MAKE(thread, accel_graph_create, &graph, device, &options) != ACCEL_OK)
        return;
    if (MAKE(thread, accel_stream_create, &stream, device, NULL) == ACCEL_OK &&
        CALL(thread, accel_graph_capture_begin, graph, stream, draw_mode(thread)) == ACCEL_OK) {
        for (uint32_t times = draw_below(&thread->draw, 9); times > 0; times--)
            queue_something(thread, stream);
        if (CALL(thread, accel_graph_capture_end, graph, stream) == ACCEL_OK) {
            if (options.keep_graph)
                CALL(thread, accel_graph_instantiate, graph);
            CALL(thread, accel_graph_replay, graph, stream);
        }
    }
    fuzz_put(thread, FUZZ_GRAPH, graph);
    fuzz_put(thread, FUZZ_CAPTURE_STREAM, stream);
}

static void scope(fuzz_thread *thread)
{
    accel_graph *graph = fuzz_take(thread, FUZZ_GRAPH);
    accel_stream *stream = draw_chance(&thread->draw, 50) ? fuzz_take(thread, FUZZ_CAPTURE_STREAM)
                                                          : NULL;
    accel_graph_scope open;
    uint64_t seed = 0;
    if (CALL(thread, accel_graph_scope_begin, graph, stream, draw_mode(thread), &open) ==
        ACCEL_OK) {
        for (uint32_t times = draw_below(&thread->draw, 5); times > 0; times--)
            queue_something(thread, open.stream);
        CALL(thread, accel_generator_initial_seed, NULL, &seed);
        CALL(thread, accel_manual_seed, draw_bits(&thread->draw)); /* refused in a capture */
        CALL(thread, accel_graph_capture_begin, graph, NULL, ACCEL_CAPTURE_MODE_RELAXED);
        CALL(thread, accel_graph_scope_end, &open);
        while (open.active) { /* another thread gave the capture up, and began one of its own */
            CALL(thread, accel_graph_reset, graph);
            CALL(thread, accel_graph_scope_end, &open);
        }
    }
    REQUIRE(thread, CALL(thread, accel_graph_scope_end, &open) == ACCEL_OK,
            "a closed scope fails to end");
    CALL(thread, accel_graph_scope_end, NULL);
    fuzz_drop(thread, FUZZ_CAPTURE_STREAM, stream);
    fuzz_drop(thread, FUZZ_GRAPH, graph);
}

/* ---- replays ---- */

static void replay(fuzz_thread *thread)
{
    accel_graph *graph = fuzz_take(thread, FUZZ_GRAPH);
    accel_stream *stream = take_any(thread);
    if (draw_chance(&thread->draw, 30))
        CALL(thread, accel_graph_instantiate, graph);
    for (uint32_t times = 1 + draw_below(&thread->draw, 3); times > 0; times--)
        CALL(thread, accel_graph_replay, graph, stream);
    fuzz_drop(thread, FUZZ_STREAM, stream);
    fuzz_drop(thread, FUZZ_GRAPH, graph);
}

/* ---- questions ---- */

static void ask_node(fuzz_thread *thread, accel_graph *graph, accel_graph_node node)
{
    accel_graph_node nodes[4];
    uint32_t needed = 77;
    OUT_STRUCT(accel_graph_node_info, info);
    CALL(thread, accel_graph_get_node_info, graph, node, &info.as);
    const uint32_t capacity = draw_below(&thread->draw, 5);
    const accel_status status = CALL(thread, accel_graph_get_dependencies, graph, node, nodes,
                                     capacity, &needed);
    if (status == ACCEL_OK) {
        for (uint32_t i = 0; i < needed && i < capacity; i++)
            REQUIRE(thread, nodes[i] < node, "a node depends on a later one");
    } else {
        REQUIRE(thread, needed == 0 || (status == ACCEL_ERROR_OUT_OF_RANGE && needed > capacity),
                "a count is left after a failure");
    }
    CALL(thread, accel_graph_get_dependencies, graph, node, NULL, 0, NULL);
}

static void ask_graph(fuzz_thread *thread)
{
    accel_graph *graph = fuzz_take(thread, FUZZ_GRAPH);
    accel_graph_state state = (accel_graph_state)77;
    accel_device device = {77, 77};
    accel_memory_pool *pool = NULL;
    uint32_t count = 77;
    if (CALL(thread, accel_graph_get_state, graph, &state) != ACCEL_OK)
        REQUIRE(thread, state == ACCEL_GRAPH_STATE_EMPTY, "a state is left after a failure");
    if (CALL(thread, accel_graph_get_device, graph, &device) != ACCEL_OK)
        REQUIRE(thread, device.backend == ACCEL_BACKEND_NONE, "a device is left after a failure");
    if (CALL(thread, accel_graph_get_node_count, graph, &count) != ACCEL_OK)
        REQUIRE(thread, count == 0, "a count is left after a failure");
    if (count != 0)
        ask_node(thread, graph, draw_below(&thread->draw, count));
    ask_node(thread, graph, draw_chance(&thread->draw, 50) ? count : UINT32_MAX);
    if (fuzz_is_alone())
        CALL(thread, accel_graph_pool, graph, &pool); /* lent: elsewhere a reset may end it */
    if (draw_chance(&thread->draw, 20)) {
        CALL(thread, accel_graph_enable_debug_mode, graph);
        CALL(thread, accel_graph_get_state, graph, NULL);
        CALL(thread, accel_graph_get_device, graph, NULL);
        CALL(thread, accel_graph_get_node_count, graph, NULL);
        CALL(thread, accel_graph_get_node_info, graph, 0, NULL);
        CALL(thread, accel_graph_pool, graph, NULL);
    }
    fuzz_drop(thread, FUZZ_GRAPH, graph);
}

static void dump(fuzz_thread *thread)
{
    static const char *const endings[] = {"json", "dot", ""};
    char path[512];
    accel_graph *graph = fuzz_take(thread, FUZZ_GRAPH);
    snprintf(path, sizeof path, "%s/graph-%u.%s", world.directory, thread->index,
             endings[draw_below(&thread->draw, 3)]);
    if (CALL(thread, accel_graph_debug_dump, graph, path) == ACCEL_OK)
        REQUIRE(thread, unlink(path) == 0, "a dump is not where it was written");
    CALL(thread, accel_graph_debug_dump, graph, "/nonexistent/dump.json");
    CALL(thread, accel_graph_debug_dump, graph, NULL);
    fuzz_drop(thread, FUZZ_GRAPH, graph);
}

const fuzz_step fuzz_steps_graphs[] = {
    {"make graph", 4, make_graph},
    {"reset graph", 3, reset_graph},
    {"queue on captured", 12, queue_on_captured},
    {"begin capture", 6, begin_capture},
    {"end capture", 6, end_capture},
    {"capture whole", 6, capture_whole},
    {"graph scope", 3, scope},
    {"replay", 8, replay},
    {"ask graph", 4, ask_graph},
    {"dump graph", 1, dump},
    {NULL, 0, NULL},
};
