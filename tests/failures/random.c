/* random.c: scenarios of generators, fills, and random numbers in graphs. */
#include "scenario.h"

static accel_status generators(world *w)
{
    accel_generator *made = NULL;
    accel_generator *clone = NULL;
    uint64_t state[2] = {0, 0};
    uint64_t seed = 0;
    accel_status status = ACCEL_OK;
    MAKES(accel_generator_create(w->device, &made), made);
    THEN(accel_generator_manual_seed(made, 42));
    THEN(accel_generator_set_offset(made, 8));
    MAKES(accel_generator_clone(made, &clone), clone);
    THEN(accel_generator_get_state(clone, state, sizeof state, NULL));
    RIGHT(state[0] == 42 && state[1] == 8);
    THEN(accel_generator_set_state(made, state, sizeof state));
    THEN(accel_generator_seed(made, &seed));
    accel_generator_release(made);
    accel_generator_release(clone);
    return status;
}

static accel_status defaults(world *w)
{
    uint64_t states[16] = {0};
    uint64_t seed = 0;
    size_t size = 0;
    accel_status status = ACCEL_OK;
    THEN(accel_manual_seed_all(5));
    THEN(accel_initial_seed(&seed));
    RIGHT(seed == 5);
    THEN(accel_get_rng_state_all(states, sizeof states, &size));
    THEN(accel_set_rng_state_all(states, size));
    THEN(accel_manual_seed(6));
    THEN(accel_get_rng_state(w->device, states, sizeof states, NULL));
    THEN(accel_set_rng_state(w->device, states, 16));
    return status;
}

static accel_status fill_all(world *w, accel_stream *stream, accel_generator *generator, void *data)
{
    accel_status status = ACCEL_OK;
    THEN(accel_random_raw(data, ACCEL_DATA_TYPE_U32, 1000, generator, stream));
    THEN(accel_random_integers(data, ACCEL_DATA_TYPE_I32, 1000, 1, 6, generator, stream));
    THEN(accel_random_uniform(data, ACCEL_DATA_TYPE_F32, 1000, generator, stream));
    THEN(accel_random_normal(data, ACCEL_DATA_TYPE_F32, 1000, generator, stream));
    THEN(accel_random_exponential(data, ACCEL_DATA_TYPE_F32, 1000, generator, stream));
    THEN(accel_random_bernoulli(data, ACCEL_DATA_TYPE_U8, 1000, 0.5, generator, stream));
    return status;
}

/* The same numbers from the same seed and offset. */
static accel_status fills(world *w)
{
    accel_stream *stream = NULL;
    accel_generator *generator = NULL;
    accel_generator *again = NULL;
    void *data = NULL;
    accel_status status = ACCEL_OK;
    begin_words(w);
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &data), data);
    MAKES(accel_generator_create(w->device, &generator), generator);
    MAKES(accel_generator_clone(generator, &again), again);
    THEN(fill_all(w, stream, generator, data));
    THEN(accel_random_raw(data, ACCEL_DATA_TYPE_U32, 1000, again, stream));
    THEN(accel_copy(w->to, data, 4000, stream));
    THEN(accel_stream_synchronize(stream));
    THEN(accel_generator_set_offset(generator, 0));
    THEN(accel_random_raw(data, ACCEL_DATA_TYPE_U32, 1000, generator, stream));
    THEN(accel_copy(w->from, data, 4000, stream));
    THEN(accel_stream_synchronize(stream));
    RIGHT(memcmp(w->from, w->to, 4000) == 0);
    FREES(data);
    accel_generator_release(generator);
    accel_generator_release(again);
    return end_stream(w, stream, status);
}

/* Nothing is drawn by a fill that failed. */
static accel_status offsets(world *w)
{
    accel_stream *stream = NULL;
    accel_generator *generator = NULL;
    void *data = NULL;
    uint64_t offset = 1;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &data), data);
    MAKES(accel_generator_create(w->device, &generator), generator);
    if (status == ACCEL_OK) {
        THEN(accel_random_raw(data, ACCEL_DATA_TYPE_U32, 1000, generator, stream));
        MUST(accel_generator_get_offset(generator, &offset) == ACCEL_OK);
        MUST(offset == (status == ACCEL_OK ? 1000 : 0));
    }
    accel_random_reservation reserved = {.struct_size = sizeof reserved};
    THEN(accel_random_reserve(generator, stream, 10, &reserved));
    RIGHT(reserved.offset == 1000);
    FREES(data);
    accel_generator_release(generator);
    return end_stream(w, stream, status);
}

static accel_status in_graphs(world *w)
{
    accel_stream *stream = NULL;
    accel_generator *generator = NULL;
    accel_graph *graph = NULL;
    void *data = NULL;
    uint64_t offset = 1;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &data), data);
    MAKES(accel_generator_create(w->device, &generator), generator);
    MAKES(accel_graph_create(w->device, NULL, &graph), graph);
    THEN(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT));
    if (status == ACCEL_OK) {
        THEN(accel_random_normal(data, ACCEL_DATA_TYPE_F32, 1000, generator, stream));
        THEN(accel_random_raw(data, ACCEL_DATA_TYPE_U32, 1000, generator, stream));
        ALWAYS(accel_graph_capture_end(graph, stream));
    }
    THEN(accel_graph_replay(graph, stream));
    THEN(accel_graph_replay(graph, stream));
    THEN(accel_stream_synchronize(stream));
    THEN(accel_generator_get_offset(generator, &offset));
    RIGHT(offset == 4000);
    accel_graph_release(graph);
    FREES(data);
    accel_generator_release(generator);
    return end_stream(w, stream, status);
}

const scenario random_scenarios[] = {
    {.name = "random/generators", .run = generators}, {.name = "random/defaults", .run = defaults},
    {.name = "random/fills", .run = fills},           {.name = "random/offsets", .run = offsets},
    {.name = "random/in-graphs", .run = in_graphs},   {.name = NULL},
};
