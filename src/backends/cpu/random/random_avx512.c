/* random_avx512.c: the operations of random_vector.h in AVX-512 (F, DQ, BW, VL). Compiled for a
 * processor that has them; called only where it does. */
#include "backends/cpu/random/random.h"

#if defined(__x86_64__)
#include <accel/philox.h>
#include <immintrin.h>
#include <string.h>

#define ALWAYS_INLINE __attribute__((always_inline)) static inline

typedef __m512i V;
typedef __m512 F;
typedef __m512d D;
enum { LANES = 8 };

#define v_set32(value) _mm512_set1_epi32((int)(value))
#define v_set64(value) _mm512_set1_epi64((long long)(value))
#define v_store(address, value) _mm512_storeu_si512(address, value)
#define v_add32(a, b) _mm512_add_epi32(a, b)
#define v_add64(a, b) _mm512_add_epi64(a, b)
#define v_sub32(a, b) _mm512_sub_epi32(a, b)
#define v_sub64(a, b) _mm512_sub_epi64(a, b)
#define v_mul32(a, b) _mm512_mul_epu32(a, b)
#define v_and(a, b) _mm512_and_si512(a, b)
#define v_or(a, b) _mm512_or_si512(a, b)
#define v_xor3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)
#define v_xor_masked(a, b, mask) _mm512_ternarylogic_epi64(a, b, mask, 0x78) /* a ^ (b & mask) */
#define v_sll32(a, count) _mm512_slli_epi32(a, count)
#define v_srl32(a, count) _mm512_srli_epi32(a, count)
#define v_sra32(a, count) _mm512_srai_epi32(a, count)
#define v_sll64(a, count) _mm512_slli_epi64(a, count)
#define v_srl64(a, count) _mm512_srli_epi64(a, count)
#define v_odd_from(a, b) _mm512_mask_blend_epi32(0xaaaa, a, b)
#define v_low32(a, b) _mm512_unpacklo_epi32(a, b)
#define v_high32(a, b) _mm512_unpackhi_epi32(a, b)
#define v_low64(a, b) _mm512_unpacklo_epi64(a, b)
#define v_high64(a, b) _mm512_unpackhi_epi64(a, b)

#define f_set(value) _mm512_set1_ps(value)
#define f_convert(integers) _mm512_cvtepi32_ps(integers)
#define f_bits(a) _mm512_castps_si512(a)
#define f_of(bits) _mm512_castsi512_ps(bits)
#define f_add(a, b) _mm512_add_ps(a, b)
#define f_sub(a, b) _mm512_sub_ps(a, b)
#define f_mul(a, b) _mm512_mul_ps(a, b)
#define f_fma(a, b, c) _mm512_fmadd_ps(a, b, c)
#define f_fma_exact(a, b, c) f_fma(a, b, c)
#define f_fnma(a, b, c) _mm512_fnmadd_ps(a, b, c)
#define f_select(a, b, sign) _mm512_mask_blend_ps(_mm512_movepi32_mask(sign), a, b)

#define d_set(value) _mm512_set1_pd(value)
#define d_bits(a) _mm512_castpd_si512(a)
#define d_of(bits) _mm512_castsi512_pd(bits)
#define d_add(a, b) _mm512_add_pd(a, b)
#define d_sub(a, b) _mm512_sub_pd(a, b)
#define d_mul(a, b) _mm512_mul_pd(a, b)
#define d_fma(a, b, c) _mm512_fmadd_pd(a, b, c)
#define d_fma_exact(a, b, c) d_fma(a, b, c)
#define d_fnma(a, b, c) _mm512_fnmadd_pd(a, b, c)
#define d_select(a, b, sign) _mm512_mask_blend_pd(_mm512_movepi64_mask(sign), a, b)

/* The even lanes make the first half of a step's output, the odd ones the second. */
ALWAYS_INLINE V lane_blocks(void)
{
    return _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
}

#include "backends/cpu/random/random_vector.h"

static bool is_supported(void)
{
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
           __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
           __builtin_cpu_supports("fma") != 0;
}

const accel__cpu_random_path accel__cpu_random_avx512 = ACCEL__CPU_RANDOM_PATH("avx512");
#endif
