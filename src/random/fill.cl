/* SPDX-License-Identifier: MIT
 * fill.cl: random fills in portable source: what a backend without a `random` group is given, built
 * once for each kind of fill and device with one of the FILL_… macros. Block b of a launch writes the
 * elements of Philox blocks 64 b to 64 b + 63. */
#include <accel/philox.h>

#if defined(FILL_INTEGER_8) || defined(FILL_BERNOULLI_8)
#define TYPE uchar
#elif defined(FILL_INTEGER_16) || defined(FILL_BERNOULLI_16) || defined(FILL_UNIFORM_F16) ||      \
    defined(FILL_UNIFORM_BF16) || defined(FILL_NORMAL_F16) || defined(FILL_NORMAL_BF16) ||         \
    defined(FILL_EXPONENTIAL_F16) || defined(FILL_EXPONENTIAL_BF16)
#define TYPE ushort
#elif defined(FILL_RAW) || defined(FILL_INTEGER_32) || defined(FILL_BERNOULLI_32)
#define TYPE uint
#elif defined(FILL_INTEGER_64) || defined(FILL_BERNOULLI_64)
#define TYPE ulong
#elif defined(FILL_UNIFORM_F32) || defined(FILL_NORMAL_F32) || defined(FILL_EXPONENTIAL_F32)
#define TYPE float
#elif defined(FILL_UNIFORM_F64) || defined(FILL_NORMAL_F64) || defined(FILL_EXPONENTIAL_F64)
#define TYPE double
#else
#error "one of the FILL_... macros is wanted"
#endif

/* MAP(word): the element of a word. */
#if defined(FILL_RAW)
#define MAP(word) (word)
#elif defined(FILL_UNIFORM_F16)
#define MAP(word) (ushort)accel_philox_round_f16(accel_philox_to_uniform_f16(word))
#elif defined(FILL_UNIFORM_BF16)
#define MAP(word) (ushort)accel_philox_round_bf16(accel_philox_to_uniform_bf16(word))
#elif defined(FILL_UNIFORM_F32)
#define MAP(word) accel_philox_to_uniform_f32(word)
#elif defined(FILL_EXPONENTIAL_F16)
#define MAP(word) (ushort)accel_philox_round_f16(accel_philox_to_exponential_f32(word))
#elif defined(FILL_EXPONENTIAL_BF16)
#define MAP(word) (ushort)accel_philox_round_bf16(accel_philox_to_exponential_f32(word))
#elif defined(FILL_EXPONENTIAL_F32)
#define MAP(word) accel_philox_to_exponential_f32(word)
#elif defined(FILL_BERNOULLI_8) || defined(FILL_BERNOULLI_16) || defined(FILL_BERNOULLI_32) ||    \
    defined(FILL_BERNOULLI_64)
#define MAP(word) (TYPE)((word) < low ? range : 0)
#elif defined(FILL_UNIFORM_F64)
#define MAP64(word) accel_philox_to_uniform_f64(word)
#elif defined(FILL_EXPONENTIAL_F64)
#define MAP64(word) accel_philox_to_exponential_f64(word)
#endif

/* NARROW(value): the element of a normal float. */
#if defined(FILL_NORMAL_F16)
#define NARROW(value) (ushort)accel_philox_round_f16(value)
#elif defined(FILL_NORMAL_BF16)
#define NARROW(value) (ushort)accel_philox_round_bf16(value)
#elif defined(FILL_NORMAL_F32)
#define NARROW(value) (value)
#endif

#if defined(FILL_INTEGER_64) || defined(FILL_UNIFORM_F64) || defined(FILL_NORMAL_F64) ||          \
    defined(FILL_EXPONENTIAL_F64)
#define PER_BLOCK 2
#else
#define PER_BLOCK 4
#endif

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
accel_fill(const ulong seed, const ulong offset, const ulong count, const ulong low,
           const ulong range, const uint from_cells, __global const ulong *cells,
           __global TYPE *data)
{
    const ulong block = get_global_id(0);
    const ulong first = block * PER_BLOCK;
    if (first >= count)
        return;
    const accel_philox_state state = accel_philox_open(seed, offset, from_cells, cells);
#if PER_BLOCK == 4
    TYPE made0, made1, made2, made3;
#if defined(FILL_INTEGER_8) || defined(FILL_INTEGER_16) || defined(FILL_INTEGER_32)
    made0 = (TYPE)(low + accel_philox_below_u32(state, first, range));
    made1 = (TYPE)(low + accel_philox_below_u32(state, first + 1, range));
    made2 = (TYPE)(low + accel_philox_below_u32(state, first + 2, range));
    made3 = (TYPE)(low + accel_philox_below_u32(state, first + 3, range));
#else
    const accel_philox_words x = accel_philox_block(state.seed, state.offset / 4 + block, 0);
#ifdef NARROW
    const accel_philox_pair_f32 front = accel_philox_to_normal_f32(x.w0, x.w1);
    const accel_philox_pair_f32 back = accel_philox_to_normal_f32(x.w2, x.w3);
    made0 = NARROW(front.first);
    made1 = NARROW(front.second);
    made2 = NARROW(back.first);
    made3 = NARROW(back.second);
#else
    made0 = MAP(x.w0);
    made1 = MAP(x.w1);
    made2 = MAP(x.w2);
    made3 = MAP(x.w3);
#endif
#endif
    data[first] = made0;
    if (first + 1 < count)
        data[first + 1] = made1;
    if (first + 2 < count)
        data[first + 2] = made2;
    if (first + 3 < count)
        data[first + 3] = made3;
#else
    TYPE made0, made1;
#if defined(FILL_INTEGER_64)
    made0 = low + accel_philox_below_u64(state, first, range);
    made1 = low + accel_philox_below_u64(state, first + 1, range);
#else
    const accel_philox_words x = accel_philox_block(state.seed, state.offset / 4 + block, 0);
    const ulong word0 = accel_philox_join(x.w0, x.w1);
    const ulong word1 = accel_philox_join(x.w2, x.w3);
#ifdef FILL_NORMAL_F64
    const accel_philox_pair_f64 pair = accel_philox_to_normal_f64(word0, word1);
    made0 = pair.first;
    made1 = pair.second;
#else
    made0 = MAP64(word0);
    made1 = MAP64(word1);
#endif
#endif
    data[first] = made0;
    if (first + 1 < count)
        data[first + 1] = made1;
#endif
}
