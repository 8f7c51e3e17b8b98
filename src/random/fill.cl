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

#if defined(FILL_INTEGER_64)
#define BELOW(at) accel_philox_below_u64(state, at, range)
#elif defined(FILL_INTEGER_8) || defined(FILL_INTEGER_16) || defined(FILL_INTEGER_32)
#define BELOW(at) accel_philox_below_u32(state, at, range)
#endif

/* The elements of one Philox block. */
typedef struct elements {
    TYPE e0;
    TYPE e1;
#if PER_BLOCK == 4
    TYPE e2;
    TYPE e3;
#endif
} elements;

/* One of four: numbers below a bound, normal pairs, and what a word of 32 or 64 bits is mapped to. */
static elements make(accel_philox_state state, ulong block, ulong low, ulong range)
{
    elements made;
#if defined(BELOW)
    const ulong first = block * PER_BLOCK;
    made.e0 = (TYPE)(low + BELOW(first));
    made.e1 = (TYPE)(low + BELOW(first + 1));
#if PER_BLOCK == 4
    made.e2 = (TYPE)(low + BELOW(first + 2));
    made.e3 = (TYPE)(low + BELOW(first + 3));
#endif
#else
    const accel_philox_words x = accel_philox_block(state.seed, state.offset / 4 + block, 0);
#if defined(NARROW)
    const accel_philox_pair_f32 front = accel_philox_to_normal_f32(x.w0, x.w1);
    const accel_philox_pair_f32 back = accel_philox_to_normal_f32(x.w2, x.w3);
    made.e0 = NARROW(front.first);
    made.e1 = NARROW(front.second);
    made.e2 = NARROW(back.first);
    made.e3 = NARROW(back.second);
#elif PER_BLOCK == 4
    made.e0 = MAP(x.w0);
    made.e1 = MAP(x.w1);
    made.e2 = MAP(x.w2);
    made.e3 = MAP(x.w3);
#else
    const ulong word0 = accel_philox_join(x.w0, x.w1);
    const ulong word1 = accel_philox_join(x.w2, x.w3);
#if defined(FILL_NORMAL_F64)
    const accel_philox_pair_f64 pair = accel_philox_to_normal_f64(word0, word1);
    made.e0 = pair.first;
    made.e1 = pair.second;
#else
    made.e0 = MAP64(word0);
    made.e1 = MAP64(word1);
#endif
#endif
#endif
    return made;
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
accel_fill(const ulong seed, const ulong offset, const ulong count, const ulong low,
           const ulong range, const uint from_cells, __global const ulong *cells,
           __global TYPE *data)
{
    const ulong block = get_global_id(0);
    const ulong first = block * PER_BLOCK;
    if (first >= count)
        return;
    const elements made = make(accel_philox_open(seed, offset, from_cells, cells), block, low, range);
    data[first] = made.e0;
    if (first + 1 < count)
        data[first + 1] = made.e1;
#if PER_BLOCK == 4
    if (first + 2 < count)
        data[first + 2] = made.e2;
    if (first + 3 < count)
        data[first + 3] = made.e3;
#endif
}
