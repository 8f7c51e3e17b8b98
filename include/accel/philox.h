/* SPDX-License-Identifier: MIT
 * philox.h: the generator of accel's random numbers, for kernels in portable source and for C and C++
 * programs: one text, so that both give the same bits.
 *
 * In a kernel: `#include <accel/philox.h>`; the library brings its own copy, no include path is needed.
 * Every number is a pure function of (seed, offset, i). Hand over what accel_random_reserve gives as
 * four parameters, the last of which is NULL outside of a graph:
 *
 *     __kernel void walk(ulong seed, ulong offset, uint from_cells, __global const ulong *cells, …)
 *     {
 *         const accel_philox_state state = accel_philox_open(seed, offset, from_cells, cells);
 *         const float z = accel_philox_normal_f32(state, get_global_id(0));
 *
 * A word is 32 bits. Word e of the stream of a seed is word e mod 4 of Philox4x32-10 with counter
 * (e / 4 low, e / 4 high, 0, 0) and key (seed low, seed high). `offset` counts words and is a multiple
 * of 4. Element i of a draw takes word offset + i; one of 64 bits takes words offset + 2 i and
 * offset + 2 i + 1, the first one as its low half.
 *
 * Arithmetic: additions, subtractions, products and fma of IEEE 754 in round to nearest, and integers;
 * no division, no library function but fma. No product is added to anything but by fma, so that no
 * compiler has anything to contract. No result and no intermediate is a denormal. docs/random.md has
 * the formulas; tools/random-coefficients makes the polynomials. In C `fma` is the compiler's: define
 * ACCEL_PHILOX_FMAF and ACCEL_PHILOX_FMA before the include to put others in its place.
 */
#ifndef ACCEL_PHILOX_H
#define ACCEL_PHILOX_H

#ifdef __OPENCL_C_VERSION__

typedef uint accel_philox_u32;
typedef ulong accel_philox_u64;
typedef int accel_philox_i32;
typedef long accel_philox_i64;
#define ACCEL_PHILOX_CALL static
#define ACCEL_PHILOX_GLOBAL __global
#define ACCEL_PHILOX_FMAF(a, b, c) fma(a, b, c)
#define ACCEL_PHILOX_FMA(a, b, c) fma(a, b, c)
#define ACCEL_PHILOX_HIGH64(a, b) mul_hi(a, b)
#ifdef cl_khr_fp64
#define ACCEL_PHILOX_DOUBLE 1
#endif

ACCEL_PHILOX_CALL float accel_philox_float_of(accel_philox_u32 bits)
{
    return as_float(bits);
}

ACCEL_PHILOX_CALL accel_philox_u32 accel_philox_bits_of(float value)
{
    return as_uint(value);
}

#ifdef ACCEL_PHILOX_DOUBLE
ACCEL_PHILOX_CALL double accel_philox_double_of(accel_philox_u64 bits)
{
    return as_double(bits);
}

ACCEL_PHILOX_CALL accel_philox_u64 accel_philox_long_bits_of(double value)
{
    return as_ulong(value);
}
#endif

#else

#include <stdint.h>
#include <string.h>

typedef uint32_t accel_philox_u32;
typedef uint64_t accel_philox_u64;
typedef int32_t accel_philox_i32;
typedef int64_t accel_philox_i64;
#define ACCEL_PHILOX_CALL static inline
#define ACCEL_PHILOX_GLOBAL
#define ACCEL_PHILOX_DOUBLE 1
#ifndef ACCEL_PHILOX_FMAF
#define ACCEL_PHILOX_FMAF(a, b, c) __builtin_fmaf(a, b, c)
#endif
#ifndef ACCEL_PHILOX_FMA
#define ACCEL_PHILOX_FMA(a, b, c) __builtin_fma(a, b, c)
#endif
#define ACCEL_PHILOX_HIGH64(a, b) accel_philox_high64(a, b)

ACCEL_PHILOX_CALL float accel_philox_float_of(accel_philox_u32 bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

ACCEL_PHILOX_CALL accel_philox_u32 accel_philox_bits_of(float value)
{
    accel_philox_u32 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

ACCEL_PHILOX_CALL double accel_philox_double_of(accel_philox_u64 bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

ACCEL_PHILOX_CALL accel_philox_u64 accel_philox_long_bits_of(double value)
{
    accel_philox_u64 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The high half of a product of 128 bits. */
ACCEL_PHILOX_CALL accel_philox_u64 accel_philox_high64(accel_philox_u64 a, accel_philox_u64 b)
{
    const accel_philox_u64 a0 = a & 0xffffffffu;
    const accel_philox_u64 a1 = a >> 32;
    const accel_philox_u64 b0 = b & 0xffffffffu;
    const accel_philox_u64 b1 = b >> 32;
    const accel_philox_u64 middle = a1 * b0 + (a0 * b0 >> 32);
    const accel_philox_u64 other = a0 * b1 + (middle & 0xffffffffu);
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

#endif

/* ---- Philox4x32-10 ---- */

/* A counter, or what comes out of it. */
typedef struct accel_philox_words {
    accel_philox_u32 w0, w1, w2, w3;
} accel_philox_words;

ACCEL_PHILOX_CALL accel_philox_words accel_philox_round(accel_philox_words x, accel_philox_u32 key0,
                                                        accel_philox_u32 key1)
{
    const accel_philox_u64 a = (accel_philox_u64)0xD2511F53u * x.w0;
    const accel_philox_u64 b = (accel_philox_u64)0xCD9E8D57u * x.w2;
    accel_philox_words y;
    y.w0 = (accel_philox_u32)(b >> 32) ^ x.w1 ^ key0;
    y.w1 = (accel_philox_u32)b;
    y.w2 = (accel_philox_u32)(a >> 32) ^ x.w3 ^ key1;
    y.w3 = (accel_philox_u32)a;
    return y;
}

/* Written out: compilers that are not asked for more leave a loop as it is. */
ACCEL_PHILOX_CALL accel_philox_words accel_philox_4x32(accel_philox_words counter,
                                                       accel_philox_u32 key0, accel_philox_u32 key1)
{
    const accel_philox_u32 step0 = 0x9E3779B9u;
    const accel_philox_u32 step1 = 0xBB67AE85u;
    accel_philox_words x = accel_philox_round(counter, key0, key1);
    x = accel_philox_round(x, key0 + step0, key1 + step1);
    x = accel_philox_round(x, key0 + 2 * step0, key1 + 2 * step1);
    x = accel_philox_round(x, key0 + 3 * step0, key1 + 3 * step1);
    x = accel_philox_round(x, key0 + 4 * step0, key1 + 4 * step1);
    x = accel_philox_round(x, key0 + 5 * step0, key1 + 5 * step1);
    x = accel_philox_round(x, key0 + 6 * step0, key1 + 6 * step1);
    x = accel_philox_round(x, key0 + 7 * step0, key1 + 7 * step1);
    x = accel_philox_round(x, key0 + 8 * step0, key1 + 8 * step1);
    return accel_philox_round(x, key0 + 9 * step0, key1 + 9 * step1);
}

/* Words 4 block … 4 block + 3 of a seed. `attempt` is 0; bounded integers that were rejected take the
 * next one. */
ACCEL_PHILOX_CALL accel_philox_words accel_philox_block(accel_philox_u64 seed,
                                                        accel_philox_u64 block,
                                                        accel_philox_u32 attempt)
{
    accel_philox_words counter;
    counter.w0 = (accel_philox_u32)block;
    counter.w1 = (accel_philox_u32)(block >> 32);
    counter.w2 = attempt;
    counter.w3 = 0;
    return accel_philox_4x32(counter, (accel_philox_u32)seed, (accel_philox_u32)(seed >> 32));
}

/* ---- from words to numbers: 32 bits ---- */

/* Multiples of 2^-24 in [0, 1). */
ACCEL_PHILOX_CALL float accel_philox_to_uniform_f32(accel_philox_u32 word)
{
    return (float)(accel_philox_i32)(word >> 8) * 0x1p-24f;
}

/* Multiples of 2^-11 and of 2^-8 in [0, 1), as their values in float: both types hold them exactly. */
ACCEL_PHILOX_CALL float accel_philox_to_uniform_f16(accel_philox_u32 word)
{
    return (float)(accel_philox_i32)(word >> 21) * 0x1p-11f;
}

ACCEL_PHILOX_CALL float accel_philox_to_uniform_bf16(accel_philox_u32 word)
{
    return (float)(accel_philox_i32)(word >> 24) * 0x1p-8f;
}

/* P(g) = -ln(1 - g) / g on [-1/3, 1/3], within 3.1e-8. */
#define ACCEL_PHILOX_LOG_F0 0x1.000000p+0f
#define ACCEL_PHILOX_LOG_F1 0x1.ffffd4p-2f
#define ACCEL_PHILOX_LOG_F2 0x1.55552cp-2f
#define ACCEL_PHILOX_LOG_F3 0x1.0014cap-2f
#define ACCEL_PHILOX_LOG_F4 0x1.99bf86p-3f
#define ACCEL_PHILOX_LOG_F5 0x1.502b5cp-3f
#define ACCEL_PHILOX_LOG_F6 0x1.1fdcf0p-3f
#define ACCEL_PHILOX_LOG_F7 0x1.3b4652p-3f
#define ACCEL_PHILOX_LOG_F8 0x1.1990bcp-3f
#define ACCEL_PHILOX_LN2_F 0x1.62e430p-1f

/* -ln u with u = (word + 1/2) / 2^32 rounded to a float: in [0, 22.9]. 0 where that is 1. */
ACCEL_PHILOX_CALL float accel_philox_to_exponential_f32(accel_philox_u32 word)
{
    const float low = ACCEL_PHILOX_FMAF((float)(accel_philox_i32)(word & 255), 0x1p-32f, 0x1p-33f);
    const float u = ACCEL_PHILOX_FMAF((float)(accel_philox_i32)(word >> 8), 0x1p-24f, low);
    /* u = m 2^k with m in [2/3, 4/3) */
    const accel_philox_u32 bits = accel_philox_bits_of(u);
    const accel_philox_u32 above = bits - 0x3f2aaaabu;
    const float k = (float)((accel_philox_i32)above >> 23);
    const float g = 1.0f - accel_philox_float_of(bits - (above & 0xff800000u));
    float p = ACCEL_PHILOX_FMAF(ACCEL_PHILOX_LOG_F8, g, ACCEL_PHILOX_LOG_F7);
    p = ACCEL_PHILOX_FMAF(p, g, ACCEL_PHILOX_LOG_F6);
    p = ACCEL_PHILOX_FMAF(p, g, ACCEL_PHILOX_LOG_F5);
    p = ACCEL_PHILOX_FMAF(p, g, ACCEL_PHILOX_LOG_F4);
    p = ACCEL_PHILOX_FMAF(p, g, ACCEL_PHILOX_LOG_F3);
    p = ACCEL_PHILOX_FMAF(p, g, ACCEL_PHILOX_LOG_F2);
    p = ACCEL_PHILOX_FMAF(p, g, ACCEL_PHILOX_LOG_F1);
    p = ACCEL_PHILOX_FMAF(p, g, ACCEL_PHILOX_LOG_F0);
    return ACCEL_PHILOX_FMAF(k, -ACCEL_PHILOX_LN2_F, g * p);
}

/* The square root of s in [0, 2^7], s = 0 or s >= 2^-126: a first guess of 1 / sqrt(s) from the bits,
 * then two steps of third order. */
ACCEL_PHILOX_CALL float accel_philox_sqrt_f32(float s)
{
    float y = accel_philox_float_of(0x5f375a86u - (accel_philox_bits_of(s) >> 1));
    float h = ACCEL_PHILOX_FMAF(-(s * y), y, 1.0f);
    y = ACCEL_PHILOX_FMAF(y * h, ACCEL_PHILOX_FMAF(h, 0.375f, 0.5f), y);
    const float t = s * y;
    h = ACCEL_PHILOX_FMAF(-t, y, 1.0f);
    return ACCEL_PHILOX_FMAF(t * h, ACCEL_PHILOX_FMAF(h, 0.375f, 0.5f), t);
}

/* sin x = x + x^3 S(x^2) and cos x = 1 + x^2 C(x^2) on [-pi/4, pi/4], within 2e-8. */
#define ACCEL_PHILOX_SIN_F0 -0x1.555552p-3f
#define ACCEL_PHILOX_SIN_F1 0x1.110c28p-7f
#define ACCEL_PHILOX_SIN_F2 -0x1.9ac9b0p-13f
#define ACCEL_PHILOX_COS_F0 -0x1.000000p-1f
#define ACCEL_PHILOX_COS_F1 0x1.55554cp-5f
#define ACCEL_PHILOX_COS_F2 -0x1.6c0e08p-10f
#define ACCEL_PHILOX_COS_F3 0x1.9a6f2cp-16f
#define ACCEL_PHILOX_ANGLE_F 0x1.921fb6p-24f /* pi / 2^25 */

typedef struct accel_philox_pair_f32 {
    float first, second;
} accel_philox_pair_f32;

/* Cosine and sine of 2 pi (floor(word / 2^6) + 1/2) / 2^26. */
ACCEL_PHILOX_CALL accel_philox_pair_f32 accel_philox_circle_f32(accel_philox_u32 word)
{
    const accel_philox_u32 quarter = (word + 0x20000000u) >> 30;
    const float a = (float)((accel_philox_i32)(word - (quarter << 30)) >> 6);
    const float x = ACCEL_PHILOX_FMAF(a, ACCEL_PHILOX_ANGLE_F, 0.5f * ACCEL_PHILOX_ANGLE_F);
    const float z = x * x;
    float s = ACCEL_PHILOX_FMAF(ACCEL_PHILOX_SIN_F2, z, ACCEL_PHILOX_SIN_F1);
    s = ACCEL_PHILOX_FMAF(s, z, ACCEL_PHILOX_SIN_F0);
    s = ACCEL_PHILOX_FMAF(x * z, s, x);
    float c = ACCEL_PHILOX_FMAF(ACCEL_PHILOX_COS_F3, z, ACCEL_PHILOX_COS_F2);
    c = ACCEL_PHILOX_FMAF(c, z, ACCEL_PHILOX_COS_F1);
    c = ACCEL_PHILOX_FMAF(c, z, ACCEL_PHILOX_COS_F0);
    c = ACCEL_PHILOX_FMAF(c, z, 1.0f);
    const accel_philox_u32 cosine = accel_philox_bits_of((quarter & 1) != 0 ? s : c);
    const accel_philox_u32 sine = accel_philox_bits_of((quarter & 1) != 0 ? c : s);
    accel_philox_pair_f32 result;
    result.first = accel_philox_float_of(cosine ^ ((quarter + 1) & 2) << 30);
    result.second = accel_philox_float_of(sine ^ (quarter & 2) << 30);
    return result;
}

/* Box and Muller: two normal numbers of two neighbouring words, the first of which is even. */
ACCEL_PHILOX_CALL accel_philox_pair_f32 accel_philox_to_normal_f32(accel_philox_u32 even,
                                                                   accel_philox_u32 odd)
{
    const float e = accel_philox_to_exponential_f32(even);
    const float r = accel_philox_sqrt_f32(e + e);
    accel_philox_pair_f32 result = accel_philox_circle_f32(odd);
    result.first = r * result.first;
    result.second = r * result.second;
    return result;
}

/* Rounds to nearest, ties to even. |value| < 2^15, no NaN. */
ACCEL_PHILOX_CALL accel_philox_u32 accel_philox_round_f16(float value)
{
    const accel_philox_u32 bits = accel_philox_bits_of(value);
    const accel_philox_u32 size = bits & 0x7fffffffu;
    const accel_philox_u32 normal = (size + 0xfffu + (size >> 13 & 1) - 0x38000000u) >> 13;
    const float small = accel_philox_float_of(size) + 0.5f; /* its last bit is worth 2^-24 */
    const accel_philox_u32 denormal = accel_philox_bits_of(small) - 0x3f000000u;
    return (size < 0x38800000u ? denormal : normal) | (bits >> 16 & 0x8000u);
}

ACCEL_PHILOX_CALL accel_philox_u32 accel_philox_round_bf16(float value)
{
    const accel_philox_u32 bits = accel_philox_bits_of(value);
    return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

/* ---- from words to numbers: 64 bits ---- */

ACCEL_PHILOX_CALL accel_philox_u64 accel_philox_join(accel_philox_u32 low, accel_philox_u32 high)
{
    return low | (accel_philox_u64)high << 32;
}

#ifdef ACCEL_PHILOX_DOUBLE

/* Multiples of 2^-53 in [0, 1). */
ACCEL_PHILOX_CALL double accel_philox_to_uniform_f64(accel_philox_u64 word)
{
    return (double)(accel_philox_i64)(word >> 11) * 0x1p-53;
}

/* As above, within 1.4e-17. */
#define ACCEL_PHILOX_LOG_D0 0x1.0000000000000p+0
#define ACCEL_PHILOX_LOG_D1 0x1.ffffffffffff8p-2
#define ACCEL_PHILOX_LOG_D2 0x1.555555555554dp-2
#define ACCEL_PHILOX_LOG_D3 0x1.0000000001526p-2
#define ACCEL_PHILOX_LOG_D4 0x1.999999999c224p-3
#define ACCEL_PHILOX_LOG_D5 0x1.555555535520bp-3
#define ACCEL_PHILOX_LOG_D6 0x1.24924922a75eap-3
#define ACCEL_PHILOX_LOG_D7 0x1.000000b15d011p-3
#define ACCEL_PHILOX_LOG_D8 0x1.c71c731b165e1p-4
#define ACCEL_PHILOX_LOG_D9 0x1.99995645f9091p-4
#define ACCEL_PHILOX_LOG_D10 0x1.745cd6bf5a870p-4
#define ACCEL_PHILOX_LOG_D11 0x1.555cfc044c160p-4
#define ACCEL_PHILOX_LOG_D12 0x1.3b1b06564f0b4p-4
#define ACCEL_PHILOX_LOG_D13 0x1.24079b3e8a37ap-4
#define ACCEL_PHILOX_LOG_D14 0x1.108c2bddfe376p-4
#define ACCEL_PHILOX_LOG_D15 0x1.0623164b768fcp-4
#define ACCEL_PHILOX_LOG_D16 0x1.eda4b7d8fa704p-5
#define ACCEL_PHILOX_LOG_D17 0x1.738d9f94cbe6ep-5
#define ACCEL_PHILOX_LOG_D18 0x1.5f1b05a15a198p-5
#define ACCEL_PHILOX_LOG_D19 0x1.64145b0b901aap-4
#define ACCEL_PHILOX_LOG_D20 0x1.53ee84f37149cp-4
#define ACCEL_PHILOX_LN2_D 0x1.62e42fefa39efp-1

ACCEL_PHILOX_CALL double accel_philox_log_series_f64(double g)
{
    double p = ACCEL_PHILOX_FMA(ACCEL_PHILOX_LOG_D20, g, ACCEL_PHILOX_LOG_D19);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D18);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D17);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D16);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D15);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D14);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D13);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D12);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D11);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D10);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D9);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D8);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D7);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D6);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D5);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D4);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D3);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D2);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D1);
    p = ACCEL_PHILOX_FMA(p, g, ACCEL_PHILOX_LOG_D0);
    return p;
}

/* -ln u with u = (floor(word / 2^11) + 1/2) / 2^53 rounded to a double: in [0, 37.5]. */
ACCEL_PHILOX_CALL double accel_philox_to_exponential_f64(accel_philox_u64 word)
{
    const double lower = (double)(accel_philox_i32)(word >> 11 & 0x3ffffffu);
    const double upper = (double)(accel_philox_i32)(word >> 37);
    const double low = ACCEL_PHILOX_FMA(lower, 0x1p-53, 0x1p-54);
    const double u = ACCEL_PHILOX_FMA(upper, 0x1p-27, low);
    const accel_philox_u64 bits = accel_philox_long_bits_of(u);
    const accel_philox_u64 above = bits - 0x3fe5555555555555u;
    const double k = (double)((accel_philox_i32)(above >> 32) >> 20);
    const double g = 1.0 - accel_philox_double_of(bits - (above & 0xfff0000000000000u));
    const double p = accel_philox_log_series_f64(g);
    return ACCEL_PHILOX_FMA(k, -ACCEL_PHILOX_LN2_D, g * p);
}

ACCEL_PHILOX_CALL double accel_philox_sqrt_f64(double s)
{
    double y = accel_philox_double_of(0x5fe6eb50c7b537a9u - (accel_philox_long_bits_of(s) >> 1));
    double h = ACCEL_PHILOX_FMA(-(s * y), y, 1.0);
    y = ACCEL_PHILOX_FMA(y * h, ACCEL_PHILOX_FMA(h, 0.375, 0.5), y);
    h = ACCEL_PHILOX_FMA(-(s * y), y, 1.0);
    y = ACCEL_PHILOX_FMA(y * h, ACCEL_PHILOX_FMA(h, 0.375, 0.5), y);
    const double t = s * y;
    h = ACCEL_PHILOX_FMA(-t, y, 1.0);
    return ACCEL_PHILOX_FMA(t * h, ACCEL_PHILOX_FMA(h, 0.375, 0.5), t);
}

#define ACCEL_PHILOX_SIN_D0 -0x1.5555555555555p-3
#define ACCEL_PHILOX_SIN_D1 0x1.1111111111110p-7
#define ACCEL_PHILOX_SIN_D2 -0x1.a01a01a019938p-13
#define ACCEL_PHILOX_SIN_D3 0x1.71de3a5460956p-19
#define ACCEL_PHILOX_SIN_D4 -0x1.ae645412c4e6fp-26
#define ACCEL_PHILOX_SIN_D5 0x1.61217f0b1f8aep-33
#define ACCEL_PHILOX_SIN_D6 -0x1.ab17d3cbfa665p-41
#define ACCEL_PHILOX_COS_D0 -0x1.0000000000000p-1
#define ACCEL_PHILOX_COS_D1 0x1.5555555555551p-5
#define ACCEL_PHILOX_COS_D2 -0x1.6c16c16c15d79p-10
#define ACCEL_PHILOX_COS_D3 0x1.a01a019de1315p-16
#define ACCEL_PHILOX_COS_D4 -0x1.27e4f8e4a2660p-22
#define ACCEL_PHILOX_COS_D5 0x1.1eea7f2534c14p-29
#define ACCEL_PHILOX_COS_D6 -0x1.8ff9d3fd3dc5fp-37
#define ACCEL_PHILOX_ANGLE_D 0x1.921fb54442d18p-51 /* pi / 2^52 */

typedef struct accel_philox_pair_f64 {
    double first, second;
} accel_philox_pair_f64;

/* Cosine and sine of 2 pi (floor(word / 2^11) + 1/2) / 2^53. */
ACCEL_PHILOX_CALL accel_philox_pair_f64 accel_philox_circle_f64(accel_philox_u64 word)
{
    const accel_philox_u32 quarter = (accel_philox_u32)((word + 0x2000000000000000u) >> 62);
    const accel_philox_u64 turned = word - ((accel_philox_u64)quarter << 62);
    const double a = (double)((accel_philox_i64)turned >> 11);
    const double x = ACCEL_PHILOX_FMA(a, ACCEL_PHILOX_ANGLE_D, 0.5 * ACCEL_PHILOX_ANGLE_D);
    const double z = x * x;
    double s = ACCEL_PHILOX_FMA(ACCEL_PHILOX_SIN_D6, z, ACCEL_PHILOX_SIN_D5);
    s = ACCEL_PHILOX_FMA(s, z, ACCEL_PHILOX_SIN_D4);
    s = ACCEL_PHILOX_FMA(s, z, ACCEL_PHILOX_SIN_D3);
    s = ACCEL_PHILOX_FMA(s, z, ACCEL_PHILOX_SIN_D2);
    s = ACCEL_PHILOX_FMA(s, z, ACCEL_PHILOX_SIN_D1);
    s = ACCEL_PHILOX_FMA(s, z, ACCEL_PHILOX_SIN_D0);
    s = ACCEL_PHILOX_FMA(x * z, s, x);
    double c = ACCEL_PHILOX_FMA(ACCEL_PHILOX_COS_D6, z, ACCEL_PHILOX_COS_D5);
    c = ACCEL_PHILOX_FMA(c, z, ACCEL_PHILOX_COS_D4);
    c = ACCEL_PHILOX_FMA(c, z, ACCEL_PHILOX_COS_D3);
    c = ACCEL_PHILOX_FMA(c, z, ACCEL_PHILOX_COS_D2);
    c = ACCEL_PHILOX_FMA(c, z, ACCEL_PHILOX_COS_D1);
    c = ACCEL_PHILOX_FMA(c, z, ACCEL_PHILOX_COS_D0);
    c = ACCEL_PHILOX_FMA(c, z, 1.0);
    const accel_philox_u64 cosine = accel_philox_long_bits_of((quarter & 1) != 0 ? s : c);
    const accel_philox_u64 sine = accel_philox_long_bits_of((quarter & 1) != 0 ? c : s);
    accel_philox_pair_f64 result;
    result.first = accel_philox_double_of(cosine ^ (accel_philox_u64)((quarter + 1) & 2) << 62);
    result.second = accel_philox_double_of(sine ^ (accel_philox_u64)(quarter & 2) << 62);
    return result;
}

/* Two normal numbers of the four words of a block: the first two give the radius. */
ACCEL_PHILOX_CALL accel_philox_pair_f64 accel_philox_to_normal_f64(accel_philox_u64 even,
                                                                   accel_philox_u64 odd)
{
    const double e = accel_philox_to_exponential_f64(even);
    const double r = accel_philox_sqrt_f64(e + e);
    accel_philox_pair_f64 result = accel_philox_circle_f64(odd);
    result.first = r * result.first;
    result.second = r * result.second;
    return result;
}

#endif

/* ---- element i of a draw ---- */

typedef struct accel_philox_state {
    accel_philox_u64 seed;
    accel_philox_u64 offset; /* in words; a multiple of 4 */
} accel_philox_state;

/* What accel_random_reserve gave. In a graph the seed and the offset lie in device memory, where each
 * replay puts new ones, and `offset` is what the graph has drawn before. */
ACCEL_PHILOX_CALL accel_philox_state
accel_philox_open(accel_philox_u64 seed, accel_philox_u64 offset, accel_philox_u32 from_cells,
                  ACCEL_PHILOX_GLOBAL const accel_philox_u64 *cells)
{
    accel_philox_state state;
    state.seed = seed;
    state.offset = offset;
    if (from_cells != 0) {
        state.seed = cells[0];
        state.offset = cells[1] + offset;
    }
    return state;
}

ACCEL_PHILOX_CALL accel_philox_words accel_philox_words_at(accel_philox_state state,
                                                           accel_philox_u64 word,
                                                           accel_philox_u32 attempt)
{
    return accel_philox_block(state.seed, state.offset / 4 + word / 4, attempt);
}

ACCEL_PHILOX_CALL accel_philox_u32 accel_philox_pick(accel_philox_words words,
                                                     accel_philox_u32 index)
{
    const accel_philox_u32 even = (index & 2) != 0 ? words.w2 : words.w0;
    const accel_philox_u32 odd = (index & 2) != 0 ? words.w3 : words.w1;
    return (index & 1) != 0 ? odd : even;
}

ACCEL_PHILOX_CALL accel_philox_u32 accel_philox_u32_at(accel_philox_state state, accel_philox_u64 i)
{
    return accel_philox_pick(accel_philox_words_at(state, i, 0), (accel_philox_u32)i);
}

ACCEL_PHILOX_CALL accel_philox_u64 accel_philox_u64_at(accel_philox_state state, accel_philox_u64 i)
{
    const accel_philox_words words = accel_philox_words_at(state, 2 * i, 0);
    return (i & 1) != 0 ? accel_philox_join(words.w2, words.w3)
                        : accel_philox_join(words.w0, words.w1);
}

ACCEL_PHILOX_CALL float accel_philox_uniform_f32(accel_philox_state state, accel_philox_u64 i)
{
    return accel_philox_to_uniform_f32(accel_philox_u32_at(state, i));
}

ACCEL_PHILOX_CALL float accel_philox_exponential_f32(accel_philox_state state, accel_philox_u64 i)
{
    return accel_philox_to_exponential_f32(accel_philox_u32_at(state, i));
}

ACCEL_PHILOX_CALL float accel_philox_normal_f32(accel_philox_state state, accel_philox_u64 i)
{
    const accel_philox_words words = accel_philox_words_at(state, i, 0);
    const accel_philox_pair_f32 pair = (i & 2) != 0
                                           ? accel_philox_to_normal_f32(words.w2, words.w3)
                                           : accel_philox_to_normal_f32(words.w0, words.w1);
    return (i & 1) != 0 ? pair.second : pair.first;
}

/* Equally likely among `range` integers from 0, range 1 to 2^32: the high half of word * range, where a
 * low half below 2^32 mod range would favour some, so that the next attempt's word is taken instead. */
ACCEL_PHILOX_CALL accel_philox_u32 accel_philox_below_u32(accel_philox_state state,
                                                          accel_philox_u64 i,
                                                          accel_philox_u64 range)
{
    accel_philox_u64 product = accel_philox_u32_at(state, i) * range;
    if ((accel_philox_u32)product < range) {
        const accel_philox_u32 least = (accel_philox_u32)((0x100000000u - range) % range);
        for (accel_philox_u32 attempt = 1; (accel_philox_u32)product < least; attempt++)
            product = accel_philox_pick(accel_philox_words_at(state, i, attempt),
                                        (accel_philox_u32)i) *
                      range;
    }
    return (accel_philox_u32)(product >> 32);
}

/* The same with 64 bits; range 0 stands for 2^64. */
ACCEL_PHILOX_CALL accel_philox_u64 accel_philox_below_u64(accel_philox_state state,
                                                          accel_philox_u64 i,
                                                          accel_philox_u64 range)
{
    accel_philox_u64 word = accel_philox_u64_at(state, i);
    if (range == 0)
        return word;
    if (word * range < range) {
        const accel_philox_u64 least = (0 - range) % range;
        for (accel_philox_u32 attempt = 1; word * range < least; attempt++) {
            const accel_philox_words words = accel_philox_words_at(state, 2 * i, attempt);
            word = (i & 1) != 0 ? accel_philox_join(words.w2, words.w3)
                                : accel_philox_join(words.w0, words.w1);
        }
    }
    return ACCEL_PHILOX_HIGH64(word, range);
}

#ifdef ACCEL_PHILOX_DOUBLE

ACCEL_PHILOX_CALL double accel_philox_uniform_f64(accel_philox_state state, accel_philox_u64 i)
{
    return accel_philox_to_uniform_f64(accel_philox_u64_at(state, i));
}

ACCEL_PHILOX_CALL double accel_philox_exponential_f64(accel_philox_state state, accel_philox_u64 i)
{
    return accel_philox_to_exponential_f64(accel_philox_u64_at(state, i));
}

ACCEL_PHILOX_CALL double accel_philox_normal_f64(accel_philox_state state, accel_philox_u64 i)
{
    const accel_philox_words words = accel_philox_words_at(state, 2 * i, 0);
    const accel_philox_pair_f64 pair = accel_philox_to_normal_f64(
        accel_philox_join(words.w0, words.w1), accel_philox_join(words.w2, words.w3));
    return (i & 1) != 0 ? pair.second : pair.first;
}

#endif

#endif /* ACCEL_PHILOX_H */
