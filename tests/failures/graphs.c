/* graphs.c: scenarios of captures, graphs built node by node, updates, replays and dumps. */
#include "scenario.h"

/* What every graph here does: data = value; data += add; to = data. */
static accel_status queue_work(world *w, accel_stream *stream, void *data, uint32_t value,
                               uint32_t add)
{
    accel_status status = ACCEL_OK;
    THEN(accel_fill(data, &value, 4, BYTES, stream));
    THEN(launch_add(w, stream, data, add));
    THEN(accel_copy(w->to, data, BYTES, stream));
    return status;
}

/* Ends the capture in any case: it must be over afterwards. */
static accel_status end_capture(world *w, accel_graph *graph, accel_stream *stream,
                                accel_status status)
{
    bool capturing = true;
    ALWAYS(accel_graph_capture_end(graph, stream));
    MUST(accel_stream_is_capturing(stream, &capturing) == ACCEL_OK && !capturing);
    return status;
}

static accel_status capture_work(world *w, accel_graph *graph, accel_stream *stream, void *data,
                                 accel_status status)
{
    THEN(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT));
    if (status != ACCEL_OK)
        return status;
    status = queue_work(w, stream, data, 7, 5);
    return end_capture(w, graph, stream, status);
}

static accel_status replay(world *w, accel_graph *graph, accel_stream *stream, uint32_t value,
                           accel_status status)
{
    begin_words(w);
    THEN(accel_graph_replay(graph, stream));
    THEN(accel_stream_synchronize(stream));
    RIGHT(words_are(w->to, WORDS, value));
    return status;
}

static accel_status captured(world *w)
{
    accel_stream *stream = NULL;
    accel_stream *side = NULL;
    accel_graph *graph = NULL;
    void *data = NULL;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_stream_create(w->device, NULL, &side), side);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &data), data);
    MAKES(accel_graph_create(w->device, NULL, &graph), graph);
    status = capture_work(w, graph, stream, data, status);
    for (int i = 0; i < 3; i++)
        status = replay(w, graph, i == 1 ? side : stream, 12, status);
    accel_graph_release(graph);
    FREES(data);
    status = end_stream(w, side, status);
    return end_stream(w, stream, status);
}

/* Two streams, an event, memory, a callback and a child in one capture. */
static accel_status capture_all(world *w, accel_graph *graph, accel_graph *child,
                                accel_stream *stream, accel_stream *side, accel_event *event)
{
    void *data = NULL;
    const uint32_t one = 1;
    accel_status status = ACCEL_OK;
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &data), data);
    THEN(accel_fill(data, &one, 4, BYTES, stream));
    THEN(accel_event_record(event, stream));
    THEN(accel_stream_wait_event(side, event));
    THEN(launch_add(w, side, data, 1));
    THEN(accel_stream_wait_stream(stream, side));
    THEN(launch_add(w, stream, data, 1));
    THEN(accel_stream_add_callback(stream, count_call, w));
    THEN(accel_graph_replay(child, stream));
    THEN(accel_copy(w->to, data, BYTES, stream));
    FREES(data);
    return end_capture(w, graph, stream, status);
}

static accel_status capture_of_everything(world *w)
{
    accel_stream *stream = NULL;
    accel_stream *side = NULL;
    accel_event *event = NULL;
    accel_graph *graph = NULL;
    accel_graph *child = NULL;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_stream_create(w->device, NULL, &side), side);
    MAKES(accel_event_create(w->device, NULL, &event), event);
    MAKES(accel_graph_create(w->device, NULL, &graph), graph);
    MAKES(accel_graph_create(w->device, NULL, &child), child);
    THEN(accel_graph_add_callback(child, NULL, 0, count_call, w, NULL));
    THEN(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT));
    if (status == ACCEL_OK)
        status = capture_all(w, graph, child, stream, side, event);
    status = replay(w, graph, stream, 3, status);
    RIGHT(w->called == 2);
    accel_graph_release(child);
    accel_graph_release(graph);
    accel_event_release(event);
    status = end_stream(w, side, status);
    return end_stream(w, stream, status);
}

static accel_status scope_of_its_own(world *w)
{
    accel_graph *graph = NULL;
    accel_graph_scope scope = {.active = false};
    accel_memory_pool *pool = NULL;
    void *data = NULL;
    accel_status status = ACCEL_OK;
    MAKES(accel_graph_create(w->device, NULL, &graph), graph);
    THEN(accel_graph_scope_begin(graph, NULL, ACCEL_CAPTURE_MODE_DEFAULT, &scope));
    if (scope.active) {
        MAKES(accel_memory_alloc(NULL, BYTES, NULL, &data), data);
        THEN(queue_work(w, NULL, data, 1, 1));
        ALWAYS(accel_graph_scope_end(&scope));
    }
    status = replay(w, graph, NULL, 2, status);
    ALWAYS(accel_synchronize(w->device));
    if (status == ACCEL_OK)
        THEN(accel_graph_pool(graph, &pool));
    FREES(data);
    THEN(accel_graph_reset(graph));
    accel_graph_release(graph);
    return status;
}

/* The calls behind one that failed are refused, and the graph can be captured again at once. */
static accel_status captured_again(world *w)
{
    accel_stream *stream = NULL;
    accel_graph *graph = NULL;
    void *data = NULL;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &data), data);
    MAKES(accel_graph_create(w->device, NULL, &graph), graph);
    if (status == ACCEL_OK) {
        const accel_status first = capture_work(w, graph, stream, data, status);
        if (first == ACCEL_OK)
            MUST(accel_graph_reset(graph) == ACCEL_OK);
        accel_graph_state state = ACCEL_GRAPH_STATE_CAPTURING;
        MUST(accel_graph_get_state(graph, &state) == ACCEL_OK && state == ACCEL_GRAPH_STATE_EMPTY);
        const accel_status second = capture_work(w, graph, stream, data, status);
        status = first != ACCEL_OK ? first : second;
        if (second == ACCEL_OK)
            status = replay(w, graph, stream, 12, status);
    }
    accel_graph_release(graph);
    FREES(data);
    return end_stream(w, stream, status);
}

/* ---- built node by node ---- */

static accel_status add_nodes(world *w, accel_graph *graph, void *data, accel_event *event,
                              accel_graph_node nodes[4])
{
    const uint32_t count = WORDS;
    const uint32_t value = 4;
    const accel_launch_shape shape = {{WORDS / 64, 1, 1}, {64, 1, 1}};
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(data), ACCEL_ARG_VALUE(value),
                                     ACCEL_ARG_VALUE(count)};
    accel_status status = ACCEL_OK;
    THEN(accel_graph_add_fill(graph, NULL, 0, data, &value, 4, BYTES, &nodes[0]));
    THEN(accel_graph_add_kernel(graph, &nodes[0], 1, w->add, &shape, args, 3, &nodes[1]));
    THEN(accel_graph_add_event_record(graph, &nodes[1], 1, event, &nodes[2]));
    THEN(accel_graph_add_event_wait(graph, &nodes[1], 1, event, &nodes[2]));
    THEN(accel_graph_add_empty(graph, nodes, 3, &nodes[2]));
    THEN(accel_graph_add_copy(graph, &nodes[2], 1, w->to, data, BYTES, &nodes[3]));
    return status;
}

static accel_status built(world *w)
{
    accel_stream *stream = NULL;
    accel_graph *graph = NULL;
    accel_event *event = NULL;
    void *data = NULL;
    accel_graph_node nodes[4] = {0, 0, 0, 0};
    const uint32_t nine = 9;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &data), data);
    MAKES(accel_event_create(w->device, NULL, &event), event);
    MAKES(accel_graph_create(w->device, NULL, &graph), graph);
    THEN(add_nodes(w, graph, data, event, nodes));
    THEN(accel_graph_instantiate(graph));
    status = replay(w, graph, stream, 8, status);
    THEN(accel_graph_update_fill(graph, nodes[0], data, &nine, 4, BYTES));
    status = replay(w, graph, stream, 13, status);
    accel_graph_release(graph);
    accel_event_release(event);
    FREES(data);
    return end_stream(w, stream, status);
}

static accel_status children(world *w)
{
    accel_stream *stream = NULL;
    accel_graph *child = NULL;
    accel_graph *parent = NULL;
    void *data = NULL;
    accel_graph_node node = 0;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &data), data);
    MAKES(accel_graph_create(w->device, NULL, &child), child);
    status = capture_work(w, child, stream, data, status);
    MAKES(accel_graph_create(w->device, NULL, &parent), parent);
    THEN(accel_graph_add_child(parent, NULL, 0, child, &node));
    THEN(accel_graph_update_child(parent, node, child));
    accel_graph_release(child);
    status = replay(w, parent, stream, 12, status);
    accel_graph_release(parent);
    FREES(data);
    return end_stream(w, stream, status);
}

static accel_status dumps(world *w)
{
    static char path[400];
    accel_stream *stream = NULL;
    accel_graph *graph = NULL;
    void *data = NULL;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &data), data);
    MAKES(accel_graph_create(w->device, NULL, &graph), graph);
    status = capture_work(w, graph, stream, data, status);
    THEN(accel_graph_enable_debug_mode(graph));
    snprintf(path, sizeof path, "%s/graph.json", w->folder);
    THEN(accel_graph_debug_dump(graph, path));
    snprintf(path, sizeof path, "%s/graph.dot", w->folder);
    THEN(accel_graph_debug_dump(graph, path));
    accel_graph_release(graph);
    FREES(data);
    return end_stream(w, stream, status);
}

/* A file that is there is whole. */
static void dumps_are_whole(world *w)
{
    static const char *const names[] = {"graph.json", "graph.dot"};
    char path[400];
    for (int i = 0; i < 2; i++) {
        char last = '\n';
        snprintf(path, sizeof path, "%s/%s", w->folder, names[i]);
        FILE *file = fopen(path, "r");
        if (file == NULL)
            continue;
        MUST(fseek(file, -1, SEEK_END) == 0);
        last = (char)fgetc(file);
        MUST(last == '\n');
        fclose(file);
        remove(path);
    }
}

const scenario graph_scenarios[] = {
    {.name = "graph/captured", .run = captured},
    {.name = "graph/everything", .run = capture_of_everything},
    {.name = "graph/scope", .run = scope_of_its_own},
    {.name = "graph/captured-again", .run = captured_again},
    {.name = "graph/built", .run = built},
    {.name = "graph/children", .run = children},
    {.name = "graph/dumps", .run = dumps, .check = dumps_are_whole},
    {.name = NULL},
};
