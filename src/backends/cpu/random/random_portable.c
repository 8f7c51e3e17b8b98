/* random_portable.c: <accel/philox.h> as it is, but for words on x86-64, for processors without a vector path, and what the
 * others are tested against. Where the compiler may not use an fma of the processor it is made of other
 * operations here, correctly rounded: the C library's would need libm. */
#include "backends/cpu/random/random.h"

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Whether fma is one instruction: on x86-64 only where the whole library is compiled for that. */
#if defined(__x86_64__) && !defined(__FMA__)
#define HAS_FMA 0
#else
#define HAS_FMA 1
#endif

#if !HAS_FMA

/* a + b = sum + error, exactly. */
static inline double two_sum(double a, double b, double *out_error)
{
    const double sum = a + b;
    const double part = sum - a;
    *out_error = (a - (sum - part)) + (b - part);
    return sum;
}

/* a + b, and where that is not exact the neighbour whose last bit is odd: rounding it once more, to
 * fewer bits, then gives what rounding the exact sum would. */
static inline double add_to_odd(double a, double b)
{
    double error;
    int64_t bits;
    double sum = two_sum(a, b, &error);
    memcpy(&bits, &sum, sizeof bits);
    if (error != 0.0 && (bits & 1) == 0) {
        bits += (error > 0.0) == (sum > 0.0) ? 1 : -1;
        memcpy(&sum, &bits, sizeof sum);
    }
    return sum;
}

/* The product of two floats is exact in double. */
static inline float fma_f32(float a, float b, float c)
{
    return (float)add_to_odd((double)a * (double)b, (double)c);
}

/* value = high + low, each of at most 26 bits (Veltkamp). */
static inline double split(double value, double *out_low)
{
    const double scaled = value * 134217729.0; /* 2^27 + 1 */
    const double high = scaled - (scaled - value);
    *out_low = value - high;
    return high;
}

/* a * b = product + error, exactly (Dekker). */
static inline double two_product(double a, double b, double *out_error)
{
    double a_low;
    double b_low;
    const double product = a * b;
    const double a_high = split(a, &a_low);
    const double b_high = split(b, &b_low);
    *out_error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low);
    return product;
}

/* Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding
 * to odd" (2008). Holds where nothing overflows or is denormal, as in philox.h. */
static double fma_f64(double a, double b, double c)
{
    double product_low;
    double low;
    double sum_low;
    const double product_high = two_product(a, b, &product_low);
    const double high = two_sum(c, product_low, &low);
    const double sum_high = two_sum(product_high, high, &sum_low);
    return sum_high + add_to_odd(low, sum_low);
}

#define ACCEL_PHILOX_FMAF(a, b, c) fma_f32(a, b, c)
#define ACCEL_PHILOX_FMA(a, b, c) fma_f64(a, b, c)
#endif

#include <accel/philox.h>

/* Writes the `count` blocks of a draw: BODY makes `made`, an array of 16 bytes, of the words x. */
#define DEFINE_DRAW(name, type, body)                                                              \
    static void draw_##name(void *out, uint64_t seed, uint64_t block, uint64_t count)              \
    {                                                                                              \
        unsigned char *target = out;                                                               \
        for (uint64_t i = 0; i < count; i++, target += 16) {                                       \
            const accel_philox_words x = accel_philox_block(seed, block + i, 0);                   \
            const type made[16 / sizeof(type)] = body;                                             \
            memcpy(target, made, sizeof made);                                                     \
        }                                                                                          \
    }

#define IN_32(map)                                                                                 \
    {                                                                                              \
        map(x.w0), map(x.w1), map(x.w2), map(x.w3)                                                 \
    }
#define IN_64(map)                                                                                 \
    {                                                                                              \
        map(accel_philox_join(x.w0, x.w1)), map(accel_philox_join(x.w2, x.w3))                     \
    }
#define AS_IT_IS(word) (word)

/* clang-format off: the arrays are arguments */
#if !defined(__SSE2__)
DEFINE_DRAW(raw, uint32_t, IN_32(AS_IT_IS))
DEFINE_DRAW(uniform_f32, float, IN_32(accel_philox_to_uniform_f32))
#endif
DEFINE_DRAW(exponential_f32, float, IN_32(accel_philox_to_exponential_f32))
DEFINE_DRAW(uniform_f64, double, IN_64(accel_philox_to_uniform_f64))
DEFINE_DRAW(exponential_f64, double, IN_64(accel_philox_to_exponential_f64))
/* clang-format on */

#if defined(__SSE2__)

/* Every x86-64 has SSE2: two blocks to a vector, and two vectors side by side, since one waits for its own
 * products. Twice as fast as one block after the other. */
enum { SIDE_BY_SIDE = 2, STEP_BLOCKS = 2 * SIDE_BY_SIDE };

static inline void draw_step(uint64_t seed, uint64_t block, __m128i words[STEP_BLOCKS])
{
    const __m128i multiplier0 = _mm_set1_epi64x(0xD2511F53u);
    const __m128i multiplier1 = _mm_set1_epi64x(0xCD9E8D57u);
    uint32_t key0 = (uint32_t)seed;
    uint32_t key1 = (uint32_t)(seed >> 32);
    __m128i x[SIDE_BY_SIDE]
             [4]; /* a word in the low half of each lane; the high halves hold anything */
    for (size_t j = 0; j < SIDE_BY_SIDE; j++) {
        const uint64_t first = block + 2 * j;
        x[j][0] = _mm_add_epi64(_mm_set1_epi64x((long long)first), _mm_set_epi64x(1, 0));
        x[j][1] = _mm_srli_epi64(x[j][0], 32);
        x[j][2] = x[j][3] = _mm_setzero_si128();
    }
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
        const __m128i k0 = _mm_set1_epi64x(key0);
        const __m128i k1 = _mm_set1_epi64x(key1);
#pragma GCC unroll 2
        for (size_t j = 0; j < SIDE_BY_SIDE; j++) {
            const __m128i a = _mm_mul_epu32(multiplier0, x[j][0]);
            const __m128i b = _mm_mul_epu32(multiplier1, x[j][2]);
            x[j][0] = _mm_xor_si128(_mm_xor_si128(_mm_srli_epi64(b, 32), k0), x[j][1]);
            x[j][1] = b;
            x[j][2] = _mm_xor_si128(_mm_xor_si128(_mm_srli_epi64(a, 32), k1), x[j][3]);
            x[j][3] = a;
        }
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    const __m128i low = _mm_set1_epi64x(0xffffffffu);
    for (size_t j = 0; j < SIDE_BY_SIDE; j++) {
        const __m128i front = _mm_or_si128(_mm_and_si128(x[j][0], low),
                                           _mm_slli_epi64(x[j][1], 32));
        const __m128i back = _mm_or_si128(_mm_and_si128(x[j][2], low), _mm_slli_epi64(x[j][3], 32));
        words[2 * j] = _mm_unpacklo_epi64(front, back);
        words[2 * j + 1] = _mm_unpackhi_epi64(front, back);
    }
}

static inline __m128i as_it_is(__m128i words)
{
    return words;
}

static inline __m128i uniform_f32(__m128i words)
{
    return _mm_castps_si128(
        _mm_mul_ps(_mm_cvtepi32_ps(_mm_srli_epi32(words, 8)), _mm_set1_ps(0x1p-24f)));
}

#define DEFINE_DRAW_BY_STEPS(name, map)                                                            \
    static void draw_##name(void *out, uint64_t seed, uint64_t block, uint64_t count)              \
    {                                                                                              \
        __m128i words[STEP_BLOCKS];                                                                \
        unsigned char *target = out;                                                               \
        for (uint64_t i = 0; i < count; i += STEP_BLOCKS) {                                        \
            const uint64_t left = count - i < STEP_BLOCKS ? count - i : STEP_BLOCKS;               \
            draw_step(seed, block + i, words);                                                     \
            for (uint64_t j = 0; j < left; j++, target += 16)                                      \
                _mm_storeu_si128((__m128i *)(void *)target, map(words[j]));                        \
        }                                                                                          \
    }

DEFINE_DRAW_BY_STEPS(raw, as_it_is)
DEFINE_DRAW_BY_STEPS(uniform_f32, uniform_f32)

#endif

static void draw_normal_f32(void *out, uint64_t seed, uint64_t block, uint64_t count)
{
    unsigned char *target = out;
    for (uint64_t i = 0; i < count; i++, target += 16) {
        const accel_philox_words x = accel_philox_block(seed, block + i, 0);
        const accel_philox_pair_f32 made[] = {accel_philox_to_normal_f32(x.w0, x.w1),
                                              accel_philox_to_normal_f32(x.w2, x.w3)};
        memcpy(target, made, sizeof made);
    }
}

static void draw_normal_f64(void *out, uint64_t seed, uint64_t block, uint64_t count)
{
    unsigned char *target = out;
    for (uint64_t i = 0; i < count; i++, target += 16) {
        const accel_philox_words x = accel_philox_block(seed, block + i, 0);
        const accel_philox_pair_f64 made = accel_philox_to_normal_f64(
            accel_philox_join(x.w0, x.w1), accel_philox_join(x.w2, x.w3));
        memcpy(target, &made, sizeof made);
    }
}

static void philox(const uint32_t counter[4], uint64_t seed, uint32_t out_words[4])
{
    const accel_philox_words start = {counter[0], counter[1], counter[2], counter[3]};
    const accel_philox_words x = accel_philox_4x32(start, (uint32_t)seed, (uint32_t)(seed >> 32));
    memcpy(out_words, &x, sizeof x);
}

static bool is_supported(void)
{
    return true;
}

const accel__cpu_random_path accel__cpu_random_portable = {
    .name = "portable",
    .is_supported = is_supported,
    .philox = philox,
    .raw = draw_raw,
    .uniform_f32 = draw_uniform_f32,
    .uniform_f64 = draw_uniform_f64,
    .normal_f32 = draw_normal_f32,
    .normal_f64 = draw_normal_f64,
    .exponential_f32 = draw_exponential_f32,
    .exponential_f64 = draw_exponential_f64,
};
