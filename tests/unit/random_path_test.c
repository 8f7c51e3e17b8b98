/* random_path_test.c: the cpu backend's ways of drawing random numbers, each against the published
 * vectors of Philox, and against <accel/philox.h> with the C library's fma, for each kind of fill. */
#include <math.h>
#include <stdlib.h>

/* Independent of what the portable path takes. */
#define ACCEL_PHILOX_FMAF(a, b, c) fmaf(a, b, c)
#define ACCEL_PHILOX_FMA(a, b, c) fma(a, b, c)
#include <accel/philox.h>

#include "backends/cpu/random/random.h"
#include "support/check.h"

static const uint64_t default_seed = ACCEL_GENERATOR_DEFAULT_SEED;

/* Every path that this processor has; the caller's loop variable is `path`. */
#define FOR_EACH_PATH                                                                              \
    for (uint32_t path_index = 0; accel__cpu_random_path_at(path_index) != NULL; path_index++)     \
        for (const accel__cpu_random_path *path = accel__cpu_random_path_at(path_index);           \
             path != NULL && path->is_supported(); path = NULL)

/* ---- Philox itself ---- */

typedef struct vector {
    uint32_t counter[4];
    uint32_t key[2];
    uint32_t words[4];
} vector;

/* The first three are those of Random123 (kat_vectors, philox4x32 10); the others were computed by an
 * independent implementation for the default seed. */
static const vector vectors[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    {{0, 0, 0, 0}, {0xf19cd101, 0x3d30}, {0x64a3e0f6, 0xd72e25ab, 0x0be1367b, 0x53eccf2d}},
    {{0, 0, 1, 0}, {0xf19cd101, 0x3d30}, {0x82f62f5b, 0x3ac29c27, 0xde1c0b42, 0x50da8e40}},
    {{1, 0, 0, 0}, {0xf19cd101, 0x3d30}, {0x252d372a, 0xd70d580d, 0x15614e1c, 0x0dfa50b9}},
};

static void published_vectors(void **state)
{
    (void)state;
    assert_true(default_seed == (UINT64_C(0x3d30) << 32 | 0xf19cd101));
    FOR_EACH_PATH
    {
        for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
            const vector *wanted = &vectors[i];
            const uint64_t seed = wanted->key[0] | (uint64_t)wanted->key[1] << 32;
            uint32_t words[4];
            path->philox(wanted->counter, seed, words);
            assert_memory_equal(words, wanted->words, sizeof words);
        }
    }
}

/* The counter's carries, as a number of 128 bits of which the low 64 count blocks. */
static void carries(void **state)
{
    static const uint64_t offsets[] = {
        0,
        (UINT64_C(1) << 32) - 16,
        (UINT64_C(1) << 34) - 16, /* word 0 of the counter is full */
        (UINT64_C(1) << 62) - 16,
        UINT64_MAX - 63, /* the last that 64 words can be taken at */
    };
    (void)state;
    FOR_EACH_PATH
    {
        for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
            uint32_t drawn[64];
            path->raw(drawn, 12345, offsets[i] / 4, 16);
            for (uint64_t j = 0; j < 64; j++) {
                const uint64_t block = (offsets[i] + j) / 4;
                const accel_philox_words counter = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
                const accel_philox_words x = accel_philox_4x32(counter, 12345, 0);
                assert_int_equal(drawn[j], accel_philox_pick(x, (uint32_t)j));
            }
        }
    }
}

/* ---- each kind of fill ---- */

typedef union element {
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    float f32;
    double f64;
} element;

static size_t size_of(accel_backend_fill kind)
{
    switch (kind) {
    case ACCEL_BACKEND_FILL_INTEGER_8:
    case ACCEL_BACKEND_FILL_BERNOULLI_8:
        return 1;
    case ACCEL_BACKEND_FILL_RAW:
    case ACCEL_BACKEND_FILL_INTEGER_32:
    case ACCEL_BACKEND_FILL_BERNOULLI_32:
    case ACCEL_BACKEND_FILL_UNIFORM_F32:
    case ACCEL_BACKEND_FILL_NORMAL_F32:
    case ACCEL_BACKEND_FILL_EXPONENTIAL_F32:
        return 4;
    case ACCEL_BACKEND_FILL_INTEGER_64:
    case ACCEL_BACKEND_FILL_BERNOULLI_64:
    case ACCEL_BACKEND_FILL_UNIFORM_F64:
    case ACCEL_BACKEND_FILL_NORMAL_F64:
    case ACCEL_BACKEND_FILL_EXPONENTIAL_F64:
        return 8;
    default:
        return 2;
    }
}

/* Element i by the header's functions of one number. */
static element wanted_of(const accel__cpu_random_fill *fill, uint64_t i)
{
    const accel_philox_state state = {fill->seed, fill->offset};
    const uint32_t word = accel_philox_u32_at(state, i);
    switch (fill->kind) {
    case ACCEL_BACKEND_FILL_RAW:
        return (element){.u32 = word};
    case ACCEL_BACKEND_FILL_INTEGER_8:
    case ACCEL_BACKEND_FILL_INTEGER_16:
    case ACCEL_BACKEND_FILL_INTEGER_32:
        return (element){.u64 = fill->low + accel_philox_below_u32(state, i, fill->range)};
    case ACCEL_BACKEND_FILL_INTEGER_64:
        return (element){.u64 = fill->low + accel_philox_below_u64(state, i, fill->range)};
    case ACCEL_BACKEND_FILL_UNIFORM_F16:
        return (element){.u32 = accel_philox_round_f16(accel_philox_to_uniform_f16(word))};
    case ACCEL_BACKEND_FILL_UNIFORM_BF16:
        return (element){.u32 = accel_philox_round_bf16(accel_philox_to_uniform_bf16(word))};
    case ACCEL_BACKEND_FILL_UNIFORM_F32:
        return (element){.f32 = accel_philox_uniform_f32(state, i)};
    case ACCEL_BACKEND_FILL_UNIFORM_F64:
        return (element){.f64 = accel_philox_uniform_f64(state, i)};
    case ACCEL_BACKEND_FILL_NORMAL_F16:
        return (element){.u32 = accel_philox_round_f16(accel_philox_normal_f32(state, i))};
    case ACCEL_BACKEND_FILL_NORMAL_BF16:
        return (element){.u32 = accel_philox_round_bf16(accel_philox_normal_f32(state, i))};
    case ACCEL_BACKEND_FILL_NORMAL_F32:
        return (element){.f32 = accel_philox_normal_f32(state, i)};
    case ACCEL_BACKEND_FILL_NORMAL_F64:
        return (element){.f64 = accel_philox_normal_f64(state, i)};
    case ACCEL_BACKEND_FILL_EXPONENTIAL_F16:
        return (element){.u32 = accel_philox_round_f16(accel_philox_exponential_f32(state, i))};
    case ACCEL_BACKEND_FILL_EXPONENTIAL_BF16:
        return (element){.u32 = accel_philox_round_bf16(accel_philox_exponential_f32(state, i))};
    case ACCEL_BACKEND_FILL_EXPONENTIAL_F32:
        return (element){.f32 = accel_philox_exponential_f32(state, i)};
    case ACCEL_BACKEND_FILL_EXPONENTIAL_F64:
        return (element){.f64 = accel_philox_exponential_f64(state, i)};
    default:
        return (element){.u64 = word < fill->low ? fill->range : 0};
    }
}

enum { MOST = 3000, GUARD = 16 };

/* Elements first to first + count - 1 by a path; the bytes around them stay. */
static void check_fill(const accel__cpu_random_path *path, accel__cpu_random_fill fill,
                       uint64_t first, uint64_t count)
{
    static unsigned char bytes[MOST * 8 + 2 * GUARD];
    const size_t size = size_of(fill.kind);
    unsigned char *data = bytes + GUARD;
    assert_true(first + count <= MOST);
    memset(bytes, 0xa5, sizeof bytes);
    fill.data = data;
    accel__cpu_random_run(path, &fill, first, count);
    for (uint64_t i = first; i < first + count; i++) {
        const element wanted = wanted_of(&fill, i);
        if (memcmp(data + i * size, &wanted, size) != 0)
            fail_msg("%s, kind %d: element %llu of %llu + %llu is not the header's", path->name,
                     (int)fill.kind, (unsigned long long)i, (unsigned long long)first,
                     (unsigned long long)count);
    }
    assert_int_equal(data[first * size - 1], 0xa5);
    assert_int_equal(data[(first + count) * size], 0xa5);
}

static void every_kind(void **state)
{
    static const uint64_t spans[][2] = {{0, 1},    {0, 2},      {0, 3},    {0, 4},    {0, 5},
                                        {4, 31},   {8, 32},     {12, 33},  {0, 63},   {0, 64},
                                        {4, 127},  {8, 129},    {16, 255}, {0, 1024}, {20, 1023},
                                        {0, 2999}, {1024, 1025}};
    (void)state;
    FOR_EACH_PATH
    {
        for (int kind = 0; kind < ACCEL_BACKEND_FILL_COUNT; kind++) {
            accel__cpu_random_fill fill = {.kind = (accel_backend_fill)kind,
                                           .seed = 0x0123456789abcdefu,
                                           .offset = (UINT64_C(1) << 34) - 400};
            if (kind >= ACCEL_BACKEND_FILL_BERNOULLI_8) {
                fill.low = 0x40000000;
                fill.range = 0x3ff0000000000001u;
            } else {
                fill.low = (uint64_t)-5;
                fill.range = 11;
            }
            for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++)
                check_fill(path, fill, spans[i][0], spans[i][1]);
        }
    }
}

/* Half of all words are rejected with these ranges, some of them again and again. */
static void rejected_integers(void **state)
{
    (void)state;
    FOR_EACH_PATH
    {
        accel__cpu_random_fill fill = {.kind = ACCEL_BACKEND_FILL_INTEGER_32,
                                       .seed = 99,
                                       .low = 7,
                                       .range = (UINT64_C(1) << 31) + 1};
        check_fill(path, fill, 0, MOST - 2);
        fill.range = UINT64_C(1) << 32;
        check_fill(path, fill, 4, 100);
        fill.kind = ACCEL_BACKEND_FILL_INTEGER_64;
        fill.range = (UINT64_C(1) << 63) + 1;
        check_fill(path, fill, 0, MOST - 2);
        fill.range = 0;
        check_fill(path, fill, 4, 100);
        fill.range = 1;
        check_fill(path, fill, 4, 100);
    }
}

/* Millions of numbers, path against path. */
static void paths_agree(void **state)
{
    enum { COUNT = 1 << 18 };
    uint32_t *wanted = malloc(COUNT * sizeof *wanted);
    uint32_t *drawn = malloc(COUNT * sizeof *drawn);
    (void)state;
    assert_true(wanted != NULL && drawn != NULL);
    for (int kind = 0; kind < 7; kind++) {
        FOR_EACH_PATH
        {
            const accel__cpu_draw draws[] = {
                path->raw,        path->uniform_f32,     path->uniform_f64,    path->normal_f32,
                path->normal_f64, path->exponential_f32, path->exponential_f64};
            draws[kind](drawn, 2024, 1000000007, COUNT / 4);
            if (path_index == 0)
                memcpy(wanted, drawn, COUNT * sizeof *wanted);
            assert_memory_equal(drawn, wanted, COUNT * sizeof *wanted);
        }
    }
    free(wanted);
    free(drawn);
}

/* ---- the ends of the mappings ---- */

static void ends_of_mappings(void **state)
{
    (void)state;
    assert_true(accel_philox_to_uniform_f32(0) == 0.0f);
    assert_true(accel_philox_to_uniform_f32(UINT32_MAX) == 0x1.fffffep-1f);
    assert_true(accel_philox_to_uniform_f64(UINT64_MAX) == 0x1.fffffffffffffp-1);
    assert_true(accel_philox_round_f16(accel_philox_to_uniform_f16(UINT32_MAX)) == 0x3bff);
    assert_true(accel_philox_round_bf16(accel_philox_to_uniform_bf16(UINT32_MAX)) == 0x3f7f);
    assert_true(accel_philox_bits_of(accel_philox_to_exponential_f32(UINT32_MAX)) == 0);
    assert_true(fabsf(accel_philox_to_exponential_f32(0) - 22.873857f) < 1e-5f);
    assert_true(accel_philox_long_bits_of(accel_philox_to_exponential_f64(UINT64_MAX)) == 0);
    assert_true(fabs(accel_philox_to_exponential_f64(0) - 37.42994775023704) < 1e-13);
    const accel_philox_pair_f32 far = accel_philox_to_normal_f32(0, 0);
    assert_true(far.first > 6.7f && far.first < 6.8f && far.second > 0.0f);
    /* A denormal of float16, its least one, and what rounds to zero. */
    assert_int_equal(accel_philox_round_f16(0x1.8p-15f), 0x0300);
    assert_int_equal(accel_philox_round_f16(-0x1p-24f), 0x8001);
    assert_int_equal(accel_philox_round_f16(0x1p-26f), 0);
    assert_int_equal(accel_philox_round_f16(0x1.002p0f), 0x3c00); /* a tie: to even */
    assert_int_equal(accel_philox_round_f16(0x1.006p0f), 0x3c02);
    assert_int_equal(accel_philox_round_bf16(0x1.01p0f), 0x3f80);
    assert_int_equal(accel_philox_round_bf16(-0x1.03p0f), 0xbf82);
}

/* Every float16 comes back from its value. */
static void all_halves(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 0x7800; half++) {
        const int exponent = (int)(half >> 10);
        const float value = exponent == 0 ? ldexpf((float)half, -24)
                                          : ldexpf((float)(1024 + (half & 1023)), exponent - 25);
        assert_int_equal(accel_philox_round_f16(value), half);
        assert_int_equal(accel_philox_round_f16(-value), half | 0x8000);
    }
}

/* The error of the series against the C library's functions. */
static void close_to_libm(void **state)
{
    double worst_normal = 0;
    double worst_exponential = 0;
    double worst_f64 = 0;
    (void)state;
    for (uint64_t i = 0; i < 200000; i++) {
        const accel_philox_words x = accel_philox_block(5, i, 0);
        const double u = (double)(float)(((double)x.w0 + 0.5) * 0x1p-32);
        const double angle = 2 * 3.14159265358979323846 * ((x.w1 >> 6) + 0.5) * 0x1p-26;
        const accel_philox_pair_f32 z = accel_philox_to_normal_f32(x.w0, x.w1);
        const double r = sqrt(-2 * log(u));
        worst_normal = fmax(worst_normal, fabs((double)z.first - r * cos(angle)));
        worst_normal = fmax(worst_normal, fabs((double)z.second - r * sin(angle)));
        const double e = (double)accel_philox_to_exponential_f32(x.w0);
        worst_exponential = fmax(worst_exponential, fabs(e + log(u)) / (1e-30 - log(u)));
        const uint64_t v = accel_philox_join(x.w2, x.w3);
        const double e64 = accel_philox_to_exponential_f64(v);
        const double exact = -log(((double)(v >> 11) + 0.5) * 0x1p-53);
        worst_f64 = fmax(worst_f64, fabs(e64 - exact) / exact);
    }
    print_message("normal %.2g, exponential %.2g, float64 %.2g\n", worst_normal, worst_exponential,
                  worst_f64);
    assert_true(worst_normal < 1.2e-6 && worst_exponential < 3e-7 && worst_f64 < 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors), cmocka_unit_test(carries),
        cmocka_unit_test(every_kind),        cmocka_unit_test(rejected_integers),
        cmocka_unit_test(paths_agree),       cmocka_unit_test(ends_of_mappings),
        cmocka_unit_test(all_halves),        cmocka_unit_test(close_to_libm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
