/* random_avx2.c: the operations of random_vector.h in AVX2 and FMA. Compiled for a processor that has
 * them; called only where it does. */
#include "backends/cpu/random/random.h"

#if defined(__x86_64__)
#include <accel/philox.h>
#include <immintrin.h>
#include <string.h>

#define ALWAYS_INLINE __attribute__((always_inline)) static inline

typedef __m256i V;
typedef __m256 F;
typedef __m256d D;
enum { LANES = 4 };

#define v_set32(value) _mm256_set1_epi32((int)(value))
#define v_set64(value) _mm256_set1_epi64x((long long)(value))
#define v_store(address, value) _mm256_storeu_si256((__m256i *)(void *)(address), value)
#define v_add32(a, b) _mm256_add_epi32(a, b)
#define v_add64(a, b) _mm256_add_epi64(a, b)
#define v_sub32(a, b) _mm256_sub_epi32(a, b)
#define v_sub64(a, b) _mm256_sub_epi64(a, b)
#define v_mul32(a, b) _mm256_mul_epu32(a, b)
#define v_and(a, b) _mm256_and_si256(a, b)
#define v_or(a, b) _mm256_or_si256(a, b)
#define v_xor3(a, b, c) _mm256_xor_si256(_mm256_xor_si256(b, c), a)
#define v_xor_masked(a, b, mask) _mm256_xor_si256(a, _mm256_and_si256(b, mask))
#define v_sll32(a, count) _mm256_slli_epi32(a, count)
#define v_srl32(a, count) _mm256_srli_epi32(a, count)
#define v_sra32(a, count) _mm256_srai_epi32(a, count)
#define v_sll64(a, count) _mm256_slli_epi64(a, count)
#define v_srl64(a, count) _mm256_srli_epi64(a, count)
#define v_odd_from(a, b) _mm256_blend_epi32(a, b, 0xaa)
#define v_low32(a, b) _mm256_unpacklo_epi32(a, b)
#define v_high32(a, b) _mm256_unpackhi_epi32(a, b)
#define v_low64(a, b) _mm256_unpacklo_epi64(a, b)
#define v_high64(a, b) _mm256_unpackhi_epi64(a, b)

#define f_set(value) _mm256_set1_ps(value)
#define f_convert(integers) _mm256_cvtepi32_ps(integers)
#define f_bits(a) _mm256_castps_si256(a)
#define f_of(bits) _mm256_castsi256_ps(bits)
#define f_add(a, b) _mm256_add_ps(a, b)
#define f_sub(a, b) _mm256_sub_ps(a, b)
#define f_mul(a, b) _mm256_mul_ps(a, b)
#define f_fma(a, b, c) _mm256_fmadd_ps(a, b, c)
#define f_fma_exact(a, b, c) f_fma(a, b, c)
#define f_fnma(a, b, c) _mm256_fnmadd_ps(a, b, c)
#define f_select(a, b, sign) _mm256_blendv_ps(a, b, f_of(sign))

#define d_set(value) _mm256_set1_pd(value)
#define d_bits(a) _mm256_castpd_si256(a)
#define d_of(bits) _mm256_castsi256_pd(bits)
#define d_add(a, b) _mm256_add_pd(a, b)
#define d_sub(a, b) _mm256_sub_pd(a, b)
#define d_mul(a, b) _mm256_mul_pd(a, b)
#define d_fma(a, b, c) _mm256_fmadd_pd(a, b, c)
#define d_fma_exact(a, b, c) d_fma(a, b, c)
#define d_fnma(a, b, c) _mm256_fnmadd_pd(a, b, c)
#define d_select(a, b, sign) _mm256_blendv_pd(a, b, d_of(sign))

/* The even lanes make the first half of a step's output, the odd ones the second. */
ALWAYS_INLINE V lane_blocks(void)
{
    return _mm256_setr_epi64x(0, 2, 1, 3);
}

#include "backends/cpu/random/random_vector.h"

static bool is_supported(void)
{
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
}

const accel__cpu_random_path accel__cpu_random_avx2 = ACCEL__CPU_RANDOM_PATH("avx2");
#endif
