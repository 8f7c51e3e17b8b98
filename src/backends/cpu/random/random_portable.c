/* random_portable.c: the path for processors without one of the others. On x86-64 that is SSE2, which each of
 * them has; elsewhere <accel/philox.h> as it is.
 *
 * SSE2 has no fma, and the C library's would need libm: it is made of other operations here, with the same
 * bits. The numbers of philox.h neither overflow nor are they denormal, which this relies on. */
#include "backends/cpu/random/random.h"

#include <accel/philox.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>

#define ALWAYS_INLINE __attribute__((always_inline)) static inline

typedef __m128i V;
typedef __m128 F;
typedef __m128d D;
enum { LANES = 2 };

#define v_set32(value) _mm_set1_epi32((int)(value))
#define v_set64(value) _mm_set1_epi64x((long long)(value))
#define v_store(address, value) _mm_storeu_si128((__m128i *)(void *)(address), value)
#define v_add32(a, b) _mm_add_epi32(a, b)
#define v_add64(a, b) _mm_add_epi64(a, b)
#define v_sub32(a, b) _mm_sub_epi32(a, b)
#define v_sub64(a, b) _mm_sub_epi64(a, b)
#define v_mul32(a, b) _mm_mul_epu32(a, b)
#define v_and(a, b) _mm_and_si128(a, b)
#define v_or(a, b) _mm_or_si128(a, b)
#define v_xor3(a, b, c) _mm_xor_si128(_mm_xor_si128(b, c), a)
#define v_xor_masked(a, b, mask) _mm_xor_si128(a, _mm_and_si128(b, mask))
#define v_sll32(a, count) _mm_slli_epi32(a, count)
#define v_srl32(a, count) _mm_srli_epi32(a, count)
#define v_sra32(a, count) _mm_srai_epi32(a, count)
#define v_sll64(a, count) _mm_slli_epi64(a, count)
#define v_srl64(a, count) _mm_srli_epi64(a, count)
#define v_odd_from(a, b) v_select(v_set64(0xffffffff00000000u), a, b)
#define v_low32(a, b) _mm_unpacklo_epi32(a, b)
#define v_high32(a, b) _mm_unpackhi_epi32(a, b)
#define v_low64(a, b) _mm_unpacklo_epi64(a, b)
#define v_high64(a, b) _mm_unpackhi_epi64(a, b)

#define f_set(value) _mm_set1_ps(value)
#define f_convert(integers) _mm_cvtepi32_ps(integers)
#define f_bits(a) _mm_castps_si128(a)
#define f_of(bits) _mm_castsi128_ps(bits)
#define f_add(a, b) _mm_add_ps(a, b)
#define f_sub(a, b) _mm_sub_ps(a, b)
#define f_mul(a, b) _mm_mul_ps(a, b)
#define f_fma_exact(a, b, c) f_add(f_mul(a, b), c)
#define f_fnma(a, b, c) f_fma(_mm_xor_ps(a, f_set(-0.0f)), b, c)
#define f_select(a, b, sign) f_of(v_select(_mm_srai_epi32(sign, 31), f_bits(a), f_bits(b)))

#define d_set(value) _mm_set1_pd(value)
#define d_bits(a) _mm_castpd_si128(a)
#define d_of(bits) _mm_castsi128_pd(bits)
#define d_add(a, b) _mm_add_pd(a, b)
#define d_sub(a, b) _mm_sub_pd(a, b)
#define d_mul(a, b) _mm_mul_pd(a, b)
#define d_fma_exact(a, b, c) d_add(d_mul(a, b), c)
#define d_fnma(a, b, c) d_fma(_mm_xor_pd(a, d_set(-0.0)), b, c)
#define d_select(a, b, sign) d_of(v_select(v_spread_sign(sign), d_bits(a), d_bits(b)))

/* The bits of b where the mask has them, else those of a. */
ALWAYS_INLINE V v_select(V mask, V a, V b)
{
    return _mm_or_si128(_mm_andnot_si128(mask, a), _mm_and_si128(mask, b));
}

/* All bits of each lane of 64 bits are its sign. */
ALWAYS_INLINE V v_spread_sign(V a)
{
    return _mm_shuffle_epi32(_mm_srai_epi32(a, 31), _MM_SHUFFLE(3, 3, 1, 1));
}

ALWAYS_INLINE V lane_blocks(void)
{
    return _mm_set_epi64x(1, 0);
}

/* ---- fma ---- */

/* a + b = sum + error, exactly. */
ALWAYS_INLINE D two_sum(D a, D b, D *out_error)
{
    const D sum = d_add(a, b);
    const D part = d_sub(sum, a);
    *out_error = d_add(d_sub(a, d_sub(sum, part)), d_sub(b, part));
    return sum;
}

/* a + b, and where that is not exact the neighbour whose last bit is odd: rounding it once more, to
 * fewer bits, then gives what rounding the exact sum would. */
ALWAYS_INLINE D add_to_odd(D a, D b)
{
    D error;
    const D sum = two_sum(a, b, &error);
    const V bits = d_bits(sum);
    const V is_inexact = d_bits(_mm_cmpneq_pd(error, _mm_setzero_pd()));
    const V is_even = v_sub64(v_and(bits, v_set64(1)), v_set64(1));
    const V is_below = v_spread_sign(_mm_xor_si128(bits, d_bits(error))); /* it lies nearer to 0 */
    const V step = v_or(is_below, v_set64(1));                            /* -1, or 1 */
    return d_of(v_add64(bits, v_and(step, v_and(is_inexact, is_even))));
}

/* value = high + low, each of at most 26 bits (Veltkamp). */
ALWAYS_INLINE D split(D value, D *out_low)
{
    const D scaled = d_mul(value, d_set(134217729.0)); /* 2^27 + 1 */
    const D high = d_sub(scaled, d_sub(scaled, value));
    *out_low = d_sub(value, high);
    return high;
}

/* a * b = product + error, exactly (Dekker). */
ALWAYS_INLINE D two_product(D a, D b, D *out_error)
{
    D a_low;
    D b_low;
    const D product = d_mul(a, b);
    const D a_high = split(a, &a_low);
    const D b_high = split(b, &b_low);
    const D rest = d_sub(d_sub(d_sub(product, d_mul(a_high, b_high)), d_mul(a_low, b_high)),
                         d_mul(a_high, b_low));
    *out_error = d_sub(d_mul(a_low, b_low), rest);
    return product;
}

/* Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding
 * to odd" (2008). The odd rounding matters only where the last sum ends right between two doubles: what it
 * adds is a power of two then. */
ALWAYS_INLINE D d_fma(D a, D b, D c)
{
    const V fraction = v_set64(0xfffffffffffff);
    D product_low;
    D low;
    D sum_low;
    const D product_high = two_product(a, b, &product_low);
    const D high = two_sum(c, product_low, &low);
    const D sum_high = two_sum(product_high, high, &sum_low);
    D rest = d_add(low, sum_low);
    const V is_zero = _mm_cmpeq_epi32(v_and(d_bits(rest), fraction), _mm_setzero_si128());
    const int lanes = _mm_movemask_epi8(is_zero);
    if (__builtin_expect((lanes & 0xff) == 0xff || (lanes & 0xff00) == 0xff00, 0))
        rest = add_to_odd(low, sum_low);
    return d_add(sum_high, rest);
}

__attribute__((noinline)) static F fma_of_ties(F a, F b, F c)
{
    const D low = add_to_odd(d_mul(_mm_cvtps_pd(a), _mm_cvtps_pd(b)), _mm_cvtps_pd(c));
    const D high = add_to_odd(
        d_mul(_mm_cvtps_pd(_mm_movehl_ps(a, a)), _mm_cvtps_pd(_mm_movehl_ps(b, b))),
        _mm_cvtps_pd(_mm_movehl_ps(c, c)));
    return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
}

/* The product of two floats is exact in double. Its sum is rounded twice: that is what one rounding gives
 * unless the first one ends right between two floats, where what it left out would have decided. */
ALWAYS_INLINE F f_fma(F a, F b, F c)
{
    const D low = d_add(d_mul(_mm_cvtps_pd(a), _mm_cvtps_pd(b)), _mm_cvtps_pd(c));
    const D high = d_add(
        d_mul(_mm_cvtps_pd(_mm_movehl_ps(a, a)), _mm_cvtps_pd(_mm_movehl_ps(b, b))),
        _mm_cvtps_pd(_mm_movehl_ps(c, c)));
    const V ends = f_bits(
        _mm_shuffle_ps(_mm_castpd_ps(low), _mm_castpd_ps(high), _MM_SHUFFLE(2, 0, 2, 0)));
    const V below_a_float = v_and(ends, v_set32(0x1fffffff));
    const V is_between = _mm_cmpeq_epi32(below_a_float, v_set32(0x10000000));
    if (__builtin_expect(_mm_movemask_epi8(is_between) != 0, 0))
        return fma_of_ties(a, b, c);
    return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
}

#define RAW_AND_UNIFORM_F32_BY_STEPS
#include "backends/cpu/random/random_vector.h"

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

static inline __m128i uniform_of(__m128i words)
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
DEFINE_DRAW_BY_STEPS(uniform_f32, uniform_of)

#else

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
DEFINE_DRAW(raw, uint32_t, IN_32(AS_IT_IS))
DEFINE_DRAW(uniform_f32, float, IN_32(accel_philox_to_uniform_f32))
DEFINE_DRAW(exponential_f32, float, IN_32(accel_philox_to_exponential_f32))
DEFINE_DRAW(uniform_f64, double, IN_64(accel_philox_to_uniform_f64))
DEFINE_DRAW(exponential_f64, double, IN_64(accel_philox_to_exponential_f64))
/* clang-format on */

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

#endif

static bool is_supported(void)
{
    return true;
}

const accel__cpu_random_path accel__cpu_random_portable = ACCEL__CPU_RANDOM_PATH("portable");
