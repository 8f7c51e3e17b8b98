/* random.c: random numbers: the known answers of docs/random.md, offsets, refusals, the header in a
 * kernel, and draws in graphs. */
#include <stdlib.h>

#include <accel/philox.h>

#include "conformance.h"

enum { SMALL = 100003, LARGE = 1 << 24 };

/* Near the counter's first carry: word 2^34 is the first of block 2^32. */
static const uint64_t carry_offset = (UINT64_C(1) << 34) - 512;

typedef enum draw_kind { RAW, UNIFORM, NORMAL, EXPONENTIAL, BERNOULLI, INTEGERS } draw_kind;

typedef struct answer {
    draw_kind kind;
    accel_data_type type;
    uint64_t least; /* of integers */
    uint64_t most;
    uint64_t large; /* FNV-1a of 2^24 elements of the default seed from offset 0 */
    uint64_t small; /* the same of 100003 elements from carry_offset on */
} answer;

static const answer answers[] = {
    {RAW, ACCEL_DATA_TYPE_U32, 0, 0, 0x31ef2230409e4b80, 0x37d26138edc85178},
    {RAW, ACCEL_DATA_TYPE_U64, 0, 0, 0x4969639e8030205d, 0xa6db12ed8d9968d2},
    {UNIFORM, ACCEL_DATA_TYPE_F16, 0, 0, 0x903df3a831378813, 0xba751851c60477ba},
    {UNIFORM, ACCEL_DATA_TYPE_BF16, 0, 0, 0xfdafd97ab9dd1ce7, 0x1b0d7b0bc8d49d4c},
    {UNIFORM, ACCEL_DATA_TYPE_F32, 0, 0, 0xd3cebfacc7276ffa, 0xd45fcc91e9dd43ad},
    {UNIFORM, ACCEL_DATA_TYPE_F64, 0, 0, 0x857a1b5489c3ee13, 0x1107cb5d7fb6f0c7},
    {NORMAL, ACCEL_DATA_TYPE_F16, 0, 0, 0x5c0fc0098b5175a6, 0xd09fd96bbda1c84d},
    {NORMAL, ACCEL_DATA_TYPE_BF16, 0, 0, 0x7d942022ee803e85, 0x70e3ca24c75ca73b},
    {NORMAL, ACCEL_DATA_TYPE_F32, 0, 0, 0xe6b9b4d3ed3e569b, 0xd3f8639c6fddf7f7},
    {NORMAL, ACCEL_DATA_TYPE_F64, 0, 0, 0x98cc6498269b865c, 0x6b2d42abe9c4d95f},
    {EXPONENTIAL, ACCEL_DATA_TYPE_F16, 0, 0, 0xd612c29c9b4ee262, 0x2d614bfe4885b61d},
    {EXPONENTIAL, ACCEL_DATA_TYPE_BF16, 0, 0, 0x6f55c12fa67aa13d, 0x91189a3caf92fae3},
    {EXPONENTIAL, ACCEL_DATA_TYPE_F32, 0, 0, 0xa8733aa9679317a1, 0x13b73fc2d9a112cd},
    {EXPONENTIAL, ACCEL_DATA_TYPE_F64, 0, 0, 0xe100e81bd4394354, 0x4b959d9f1766eaed},
    {BERNOULLI, ACCEL_DATA_TYPE_BOOL, 0, 0, 0x3c1d09757337613c, 0xcecf91f4ac018adf},
    {BERNOULLI, ACCEL_DATA_TYPE_F32, 0, 0, 0x1a63e61473c7fb58, 0xb313a9e0050c1fb5},
    {INTEGERS, ACCEL_DATA_TYPE_U8, 0, 9, 0x30314c28283cd203, 0xc9f2d0797b573995},
    {INTEGERS, ACCEL_DATA_TYPE_I32, (uint64_t)-100, 100, 0xd8490db4eab0bc9e, 0x5e8802d84dc23de8},
    {INTEGERS, ACCEL_DATA_TYPE_U32, 0, UINT64_C(1) << 31, 0x2f93b44cee8c28cf, 0xa353a9363552ee7a},
    {INTEGERS, ACCEL_DATA_TYPE_I64, (uint64_t)-INT64_MAX, 1, 0xcba60568cb2f4c2c,
     0x6b57cfec174ec175},
};

enum { ANSWERS = sizeof answers / sizeof answers[0] };

static bool is_lacking(const cf_run *run, const answer *one)
{
    return one->type == ACCEL_DATA_TYPE_F64 && !run->capability.fp64;
}

static accel_status draw(const answer *what, void *data, size_t count, accel_generator *generator,
                         accel_stream *stream)
{
    switch (what->kind) {
    case RAW:
        return accel_random_raw(data, what->type, count, generator, stream);
    case UNIFORM:
        return accel_random_uniform(data, what->type, count, generator, stream);
    case NORMAL:
        return accel_random_normal(data, what->type, count, generator, stream);
    case EXPONENTIAL:
        return accel_random_exponential(data, what->type, count, generator, stream);
    case BERNOULLI:
        return accel_random_bernoulli(data, what->type, count, 0.25, generator, stream);
    case INTEGERS:
        break;
    }
    return accel_random_integers(data, what->type, count, what->least, what->most, generator,
                                 stream);
}

static uint64_t hash_of(const unsigned char *bytes, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* A test without kernels (no compiler, no fills of its own) is none. */
static bool can_draw(cf_run *run)
{
    return run->capability.kernels_from_source || run->is_cpu;
}

/* Memory of both sides, and a generator with the default seed. */
typedef struct bench {
    void *memory;
    unsigned char *back;
    accel_generator *generator;
} bench;

static accel_status set_up(cf_run *run, bench *b, size_t size)
{
    *b = (bench){.back = malloc(size)};
    accel_status status = b->back != NULL ? ACCEL_OK : ACCEL_ERROR_OUT_OF_HOST_MEMORY;
    if (status == ACCEL_OK)
        status = accel_memory_alloc(run->stream, size, NULL, &b->memory);
    return status == ACCEL_OK ? accel_generator_create(run->device, &b->generator) : status;
}

static accel_status fetch(cf_run *run, const bench *b, size_t size)
{
    const accel_status status = accel_copy(b->back, b->memory, size, run->stream);
    return status == ACCEL_OK ? accel_stream_synchronize(run->stream) : status;
}

static void tear_down(bench *b)
{
    accel_memory_free(b->memory);
    accel_generator_release(b->generator);
    free(b->back);
}

/* ---- known answers ---- */

static void check_answer(cf_run *run, bench *b, const answer *one, size_t count, uint64_t offset,
                         uint64_t wanted)
{
    const size_t size = count * accel_data_type_size(one->type);
    OK(accel_generator_set_offset(b->generator, offset));
    OK(draw(one, b->memory, count, b->generator, run->stream));
    OK(fetch(run, b, size));
    const uint64_t got = hash_of(b->back, size);
    if (got != wanted) {
        char what[120];
        snprintf(what, sizeof what, "kind %d of %s, %zu elements: hash %016llx, not %016llx",
                 (int)one->kind, accel_data_type_name(one->type), count, (unsigned long long)got,
                 (unsigned long long)wanted);
        cf_fail(run, __FILE__, __LINE__, what);
    }
}

static void known_answers(cf_run *run)
{
    bench b;
    if (!can_draw(run))
        SKIP("no kernels");
    OK(set_up(run, &b, (size_t)LARGE * 4));
    for (size_t i = 0; i < ANSWERS && run->result == CF_PASS; i++)
        if (accel_data_type_size(answers[i].type) == 4 && answers[i].kind <= NORMAL)
            check_answer(run, &b, &answers[i], LARGE, 0, answers[i].large);
    tear_down(&b);
}

static void known_answers_of(cf_run *run, draw_kind kind)
{
    bench b;
    if (!can_draw(run))
        SKIP("no kernels");
    OK(set_up(run, &b, (size_t)SMALL * 8));
    for (size_t i = 0; i < ANSWERS && run->result == CF_PASS; i++)
        if (answers[i].kind == kind && !is_lacking(run, &answers[i]))
            check_answer(run, &b, &answers[i], SMALL, carry_offset, answers[i].small);
    tear_down(&b);
}

static void raw_near_a_carry(cf_run *run)
{
    known_answers_of(run, RAW);
}

static void uniform_near_a_carry(cf_run *run)
{
    known_answers_of(run, UNIFORM);
}

static void normal_near_a_carry(cf_run *run)
{
    known_answers_of(run, NORMAL);
}

static void exponential_near_a_carry(cf_run *run)
{
    known_answers_of(run, EXPONENTIAL);
}

static void bernoulli_near_a_carry(cf_run *run)
{
    known_answers_of(run, BERNOULLI);
}

static void integers_near_a_carry(cf_run *run)
{
    known_answers_of(run, INTEGERS);
}

static void float64_or_not(cf_run *run)
{
    bench b;
    if (!can_draw(run))
        SKIP("no kernels");
    if (run->capability.fp64)
        SKIP("this device has float64");
    OK(set_up(run, &b, 64));
    GIVES(accel_random_uniform(b.memory, ACCEL_DATA_TYPE_F64, 8, b.generator, run->stream),
          ACCEL_ERROR_UNSUPPORTED);
    GIVES(accel_random_normal(b.memory, ACCEL_DATA_TYPE_F64, 8, b.generator, run->stream),
          ACCEL_ERROR_UNSUPPORTED);
    OK(accel_random_bernoulli(b.memory, ACCEL_DATA_TYPE_F64, 8, 0.5, b.generator, run->stream));
    OK(accel_stream_synchronize(run->stream));
    tear_down(&b);
}

/* ---- offsets ---- */

/* Two draws in a row: the second begins where the first may have ended, rounded up to 4 words. */
static void draws_in_a_row(cf_run *run)
{
    static const size_t counts[] = {1, 2, 3, 4, 5, 63, 64, 255, 256, 257, 8191, 8192, 8193};
    bench b;
    if (!can_draw(run))
        SKIP("no kernels");
    OK(set_up(run, &b, 8193 * 8 + 32));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (int wide = 0; wide < 2; wide++) {
            const accel_data_type type = wide != 0 ? ACCEL_DATA_TYPE_U64 : ACCEL_DATA_TYPE_U32;
            const uint64_t words = (counts[i] * (wide != 0 ? 2u : 1u) + 3) & ~UINT64_C(3);
            uint64_t offset = 0;
            uint32_t word;
            OK(accel_generator_manual_seed(b.generator, 77));
            OK(accel_random_raw(b.memory, type, counts[i], b.generator, run->stream));
            OK(accel_generator_get_offset(b.generator, &offset));
            CHECK(offset == words);
            OK(accel_random_raw(b.memory, ACCEL_DATA_TYPE_U32, 8, b.generator, run->stream));
            OK(fetch(run, &b, 32));
            for (uint64_t j = 0; j < 8; j++) {
                const accel_philox_state state = {77, words};
                memcpy(&word, b.back + 4 * j, 4);
                CHECK(word == accel_philox_u32_at(state, j));
            }
        }
    }
    tear_down(&b);
}

static void ends_of_offsets(cf_run *run)
{
    const uint64_t last = UINT64_MAX - 7; /* 2^64 - 8 */
    uint64_t offset = 0;
    bench b;
    if (!can_draw(run))
        SKIP("no kernels");
    OK(set_up(run, &b, 64));
    for (uint64_t i = 0; i < 10; i++)
        GIVES(accel_generator_set_offset(b.generator, i),
              i % 4 == 0 ? ACCEL_OK : ACCEL_ERROR_INVALID_ARGUMENT);
    OK(accel_generator_set_offset(b.generator, last));
    GIVES(accel_random_raw(b.memory, ACCEL_DATA_TYPE_U32, 16, b.generator, run->stream),
          ACCEL_ERROR_OUT_OF_RANGE);
    GIVES(accel_random_raw(b.memory, ACCEL_DATA_TYPE_U32, 5, b.generator, run->stream),
          ACCEL_ERROR_OUT_OF_RANGE);
    GIVES(accel_random_raw(b.memory, ACCEL_DATA_TYPE_U64, 4, b.generator, run->stream),
          ACCEL_ERROR_OUT_OF_RANGE);
    OK(accel_generator_get_offset(b.generator, &offset));
    CHECK(offset == last);
    OK(accel_random_raw(b.memory, ACCEL_DATA_TYPE_U32, 4, b.generator, run->stream));
    OK(fetch(run, &b, 16));
    for (uint64_t j = 0; j < 4; j++) {
        const accel_philox_state state = {ACCEL_GENERATOR_DEFAULT_SEED, last};
        uint32_t word;
        memcpy(&word, b.back + 4 * j, 4);
        CHECK(word == accel_philox_u32_at(state, j));
    }
    tear_down(&b);
}

/* A fill from the middle of an allocation, of an odd number of elements, touches nothing else. */
static void from_the_middle(cf_run *run)
{
    enum { SIZE = 4096 };
    bench b;
    if (!can_draw(run))
        SKIP("no kernels");
    OK(set_up(run, &b, SIZE));
    for (size_t i = 0; i < ANSWERS; i++) {
        const size_t item = accel_data_type_size(answers[i].type);
        if (is_lacking(run, &answers[i]))
            continue;
        OK(accel_fill(b.memory, "\xa5", 1, SIZE, run->stream));
        OK(draw(&answers[i], (char *)b.memory + 8 * item, 77, b.generator, run->stream));
        OK(fetch(run, &b, SIZE));
        for (size_t j = 0; j < SIZE; j++)
            CHECK((j >= 8 * item && j < 85 * item) || b.back[j] == 0xa5);
    }
    tear_down(&b);
}

static void refusals(cf_run *run)
{
    uint32_t host[4] = {0};
    uint64_t offset = 1;
    accel_generator *foreign = NULL;
    bench b;
    if (!can_draw(run))
        SKIP("no kernels");
    OK(set_up(run, &b, 64));
    char *memory = b.memory;
    GIVES(accel_random_raw(memory, ACCEL_DATA_TYPE_F32, 4, b.generator, run->stream),
          ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_random_uniform(memory, ACCEL_DATA_TYPE_U32, 4, b.generator, run->stream),
          ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_random_integers(memory, ACCEL_DATA_TYPE_F32, 4, 0, 1, b.generator, run->stream),
          ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_random_integers(memory, ACCEL_DATA_TYPE_U8, 4, 0, 256, b.generator, run->stream),
          ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_random_integers(memory, ACCEL_DATA_TYPE_I8, 4, 1, 0, b.generator, run->stream),
          ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_random_bernoulli(memory, ACCEL_DATA_TYPE_U8, 4, 1.5, b.generator, run->stream),
          ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_random_raw(host, ACCEL_DATA_TYPE_U32, 4, b.generator, run->stream),
          ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_random_raw(NULL, ACCEL_DATA_TYPE_U32, 4, b.generator, run->stream),
          ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_random_raw(memory + 2, ACCEL_DATA_TYPE_U32, 4, b.generator, run->stream),
          ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_random_raw(memory, ACCEL_DATA_TYPE_U32, 17, b.generator, run->stream),
          ACCEL_ERROR_OUT_OF_RANGE);
    OK(accel_random_raw(memory, ACCEL_DATA_TYPE_U32, 0, b.generator, run->stream));
    if (run->has_other) {
        OK(accel_generator_create(run->other, &foreign));
        GIVES(accel_random_raw(memory, ACCEL_DATA_TYPE_U32, 4, foreign, run->stream),
              ACCEL_ERROR_MISMATCH);
        accel_generator_release(foreign);
    }
    OK(accel_generator_get_offset(b.generator, &offset));
    CHECK(offset == 0);
    tear_down(&b);
}

/* ---- the header in a kernel ---- */

static const char source[] =
    "#include <accel/philox.h>\n"
    "__kernel void draw(ulong seed, ulong offset, uint from_cells, __global const ulong *cells,\n"
    "                   uint count, __global float *normal, __global uint *below)\n"
    "{\n"
    "    const uint i = get_global_id(0);\n"
    "    if (i >= count)\n"
    "        return;\n"
    "    const accel_philox_state state = accel_philox_open(seed, offset, from_cells, cells);\n"
    "    normal[i] = accel_philox_normal_f32(state, i);\n"
    "    below[i] = accel_philox_below_u32(state, i, 1000);\n"
    "}\n";

static accel_status launch_draw(cf_run *run, accel_kernel *kernel, accel_generator *generator,
                                float *normal, uint32_t *below, uint32_t count)
{
    accel_random_reservation words = {.struct_size = sizeof words};
    const accel_launch_shape shape = {{(count + 31u) / 32, 1, 1}, {32, 1, 1}};
    const accel_status status = accel_random_reserve(generator, run->stream, count, &words);
    const accel_kernel_arg args[] = {ACCEL_ARG_VALUE(words.seed),
                                     ACCEL_ARG_VALUE(words.offset),
                                     ACCEL_ARG_VALUE(words.from_cells),
                                     ACCEL_ARG_POINTER(words.cells),
                                     ACCEL_ARG_VALUE(count),
                                     ACCEL_ARG_POINTER(normal),
                                     ACCEL_ARG_POINTER(below)};
    return status == ACCEL_OK ? accel_kernel_launch(kernel, run->stream, &shape, args, 7) : status;
}

/* What the kernel above has written, from that offset of the default seed. */
static void check_drawn(cf_run *run, const bench *b, uint64_t offset, uint32_t count)
{
    const accel_philox_state state = {ACCEL_GENERATOR_DEFAULT_SEED, offset};
    for (uint32_t i = 0; i < count; i++) {
        const float normal = accel_philox_normal_f32(state, i);
        uint32_t below;
        memcpy(&below, b->back + 4 * (size_t)(count + i), 4);
        CHECK(memcmp(b->back + 4 * (size_t)i, &normal, 4) == 0);
        CHECK(below == accel_philox_below_u32(state, i, 1000));
    }
}

/* Two launches, eager or captured once and replayed. */
static void header_in_a_kernel(cf_run *run)
{
    enum { COUNT = 1001 };
    accel_module *module = NULL;
    accel_kernel *kernel = NULL;
    accel_graph *graph = NULL;
    bench b;
    if (!run->capability.kernels_from_source)
        SKIP("no compiler");
    OK(set_up(run, &b, COUNT * 8));
    float *normal = b.memory;
    uint32_t *below = (uint32_t *)b.memory + COUNT;
    OK(accel_module_create_from_source(run->device, source, sizeof source - 1, NULL, &module));
    OK(accel_module_get_kernel(module, "draw", &kernel));
    for (uint64_t i = 0; i < 2; i++) {
        OK(launch_draw(run, kernel, b.generator, normal, below, COUNT));
        OK(fetch(run, &b, COUNT * 8));
        check_drawn(run, &b, i * 1004, COUNT);
    }
    OK(accel_graph_create(run->device, NULL, &graph));
    OK(accel_graph_capture_begin(graph, run->stream, ACCEL_CAPTURE_MODE_DEFAULT));
    OK(launch_draw(run, kernel, b.generator, normal, below, COUNT));
    OK(accel_graph_capture_end(graph, run->stream));
    for (uint64_t i = 2; i < 5 && run->result == CF_PASS; i++) {
        OK(accel_graph_replay(graph, run->stream));
        OK(fetch(run, &b, COUNT * 8));
        check_drawn(run, &b, i * 1004, COUNT);
    }
    accel_graph_release(graph);
    accel_module_release(module);
    tear_down(&b);
}

/* ---- graphs ---- */

/* Two fills in a graph: replayed, they give what the same fills give without it. */
static void draws_in_a_graph(cf_run *run)
{
    enum { COUNT = 1000, SIZE = COUNT * 4 };
    unsigned char wanted[2 * SIZE];
    accel_graph *graph = NULL;
    uint64_t offset = 0;
    bench b;
    if (!can_draw(run))
        SKIP("no kernels");
    OK(set_up(run, &b, 2 * SIZE));
    char *second = (char *)b.memory + SIZE;
    OK(accel_graph_create(run->device, NULL, &graph));
    OK(accel_graph_capture_begin(graph, run->stream, ACCEL_CAPTURE_MODE_DEFAULT));
    OK(accel_random_normal(b.memory, ACCEL_DATA_TYPE_F32, COUNT - 1, b.generator, run->stream));
    OK(accel_random_raw(second, ACCEL_DATA_TYPE_U32, COUNT, b.generator, run->stream));
    OK(accel_graph_capture_end(graph, run->stream));
    OK(accel_generator_get_offset(b.generator, &offset));
    CHECK(offset == 0); /* capturing draws nothing */
    for (uint64_t seed = 1; seed < 3; seed++) {
        for (uint64_t i = 0; i < 3; i++) {
            OK(accel_generator_manual_seed(b.generator, seed));
            OK(accel_generator_set_offset(b.generator, i * 2 * COUNT));
            OK(accel_fill(b.memory, "", 1, 2 * SIZE, run->stream));
            OK(accel_random_normal(b.memory, ACCEL_DATA_TYPE_F32, COUNT - 1, b.generator,
                                   run->stream));
            OK(accel_random_raw(second, ACCEL_DATA_TYPE_U32, COUNT, b.generator, run->stream));
            OK(fetch(run, &b, 2 * SIZE));
            memcpy(wanted, b.back, 2 * SIZE);
            OK(accel_generator_set_offset(b.generator, i * 2 * COUNT));
            OK(accel_fill(b.memory, "", 1, 2 * SIZE, run->stream));
            OK(accel_graph_replay(graph, run->stream));
            OK(fetch(run, &b, 2 * SIZE));
            CHECK(memcmp(wanted, b.back, 2 * SIZE) == 0);
            OK(accel_generator_get_offset(b.generator, &offset));
            CHECK(offset == (i + 1) * 2 * COUNT);
        }
    }
    accel_graph_release(graph);
    tear_down(&b);
}

/* ---- the names of torch.accelerator ---- */

/* Eight words of the default generator. */
static accel_status draw_default(cf_run *run, void *memory, uint32_t words[8])
{
    accel_status status = accel_random_raw(memory, ACCEL_DATA_TYPE_U32, 8, NULL, run->stream);
    if (status == ACCEL_OK)
        status = accel_copy(words, memory, 32, run->stream);
    return status == ACCEL_OK ? accel_stream_synchronize(run->stream) : status;
}

static void on_the_current_device(cf_run *run, void *memory)
{
    uint32_t words[3][8];
    uint64_t cells[2] = {0};
    uint64_t seed = 0;
    OK(accel_manual_seed(31));
    OK(accel_initial_seed(&seed));
    CHECK(seed == 31);
    OK(draw_default(run, memory, words[0]));
    OK(accel_get_rng_state(run->device, cells, sizeof cells, NULL));
    CHECK(cells[0] == 31 && cells[1] == 8);
    OK(draw_default(run, memory, words[1]));
    CHECK(memcmp(words[0], words[1], 32) != 0);
    OK(accel_set_rng_state(run->device, cells, sizeof cells));
    OK(draw_default(run, memory, words[2]));
    CHECK(memcmp(words[1], words[2], 32) == 0);
    OK(accel_manual_seed_all(31));
    OK(draw_default(run, memory, words[2]));
    CHECK(memcmp(words[0], words[2], 32) == 0);
    OK(accel_seed(&seed));
    OK(accel_get_rng_state(run->device, cells, sizeof cells, NULL));
    CHECK(cells[0] == seed && cells[1] == 0);
}

static void on_all_devices(cf_run *run)
{
    uint64_t cells[2 * 256];
    int32_t count = 0;
    size_t size = 0;
    uint64_t seed = 0;
    OK(accel_device_count(run->device.backend, &count));
    OK(accel_seed_all(&seed));
    OK(accel_get_rng_state_all(cells, sizeof cells, &size));
    CHECK(size == (size_t)count * 16);
    for (int32_t i = 0; i < count; i++)
        CHECK(cells[2 * i] == seed && cells[2 * i + 1] == 0);
    cells[2 * run->device.index] = 32;
    OK(accel_set_rng_state_all(cells, size));
    OK(accel_initial_seed(&seed));
    CHECK(seed == 32);
}

static void default_generators(cf_run *run)
{
    accel_device_scope scope;
    void *memory = NULL;
    if (!can_draw(run))
        SKIP("no kernels");
    OK(accel_memory_alloc(run->stream, 32, NULL, &memory));
    OK(accel_device_index_begin(run->device, &scope));
    on_the_current_device(run, memory);
    if (run->result == CF_PASS)
        on_all_devices(run);
    accel_device_index_end(&scope);
    accel_memory_free(memory);
}

const cf_test cf_random_tests[] = {
    {"random/known-answers", known_answers},
    {"random/raw-near-a-carry", raw_near_a_carry},
    {"random/uniform-near-a-carry", uniform_near_a_carry},
    {"random/normal-near-a-carry", normal_near_a_carry},
    {"random/exponential-near-a-carry", exponential_near_a_carry},
    {"random/bernoulli-near-a-carry", bernoulli_near_a_carry},
    {"random/integers-near-a-carry", integers_near_a_carry},
    {"random/no-float64", float64_or_not},
    {"random/draws-in-a-row", draws_in_a_row},
    {"random/ends-of-offsets", ends_of_offsets},
    {"random/from-the-middle", from_the_middle},
    {"random/refusals", refusals},
    {"random/header-in-a-kernel", header_in_a_kernel},
    {"random/draws-in-a-graph", draws_in_a_graph},
    {"random/default-generators", default_generators},
    {NULL, NULL},
};
