/* random_vector.h: the body that the vector paths share. Included once by each of random_avx2.c,
 * random_avx512.c and random_portable.c, behind its definitions of the types and operations below; each
 * function does to vectors what its namesake in <accel/philox.h> does to one number, operation by operation,
 * so that the bits agree. Where two ways give the same bits (a conversion that is exact) the faster one is
 * taken: ..._exact marks those of an fma that nothing rounds.
 *
 * Types: V integers of 32 or 64 bits, F floats, D doubles; LANES lanes of 64 bits. A step takes LANES
 * blocks, one in each lane of 64 bits. Lanes are given blocks in the order that makes the two halves
 * come out in the order of memory: `lane_blocks`. */

/* The words of a step: each in the low half of a lane; the high halves hold anything. */
typedef struct step_words {
    V w0, w1, w2, w3;
} step_words;

typedef struct key_schedule {
    V key0[10];
    V key1[10];
} key_schedule;

static void make_keys(key_schedule *keys, uint64_t seed)
{
    uint32_t key0 = (uint32_t)seed;
    uint32_t key1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        keys->key0[round] = v_set64(key0);
        keys->key1[round] = v_set64(key1);
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

ALWAYS_INLINE step_words run_rounds(const key_schedule *keys, step_words x)
{
    const V multiplier0 = v_set64(0xD2511F53u);
    const V multiplier1 = v_set64(0xCD9E8D57u);
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
        const V a = v_mul32(multiplier0, x.w0);
        const V b = v_mul32(multiplier1, x.w2);
        x.w0 = v_xor3(v_srl64(b, 32), x.w1, keys->key0[round]);
        x.w1 = b;
        x.w2 = v_xor3(v_srl64(a, 32), x.w3, keys->key1[round]);
        x.w3 = a;
    }
    return x;
}

ALWAYS_INLINE step_words draw_words(const key_schedule *keys, V block)
{
    return run_rounds(keys, (step_words){block, v_srl64(block, 32), v_set64(0), v_set64(0)});
}

/* Both halves of a lane: (low, high). */
ALWAYS_INLINE V join(V low, V high)
{
    return v_odd_from(low, v_sll64(high, 32));
}

/* Writes what each block has given: a lane of `first` before the same lane of `second`. */
ALWAYS_INLINE void store_lanes(unsigned char *out, V first, V second)
{
    v_store(out, v_low64(first, second));
    v_store(out + sizeof(V), v_high64(first, second));
}

/* ---- floats ---- */

ALWAYS_INLINE F uniform_f32(V word)
{
    return f_mul(f_convert(v_srl32(word, 8)), f_set(0x1p-24f));
}

ALWAYS_INLINE F exponential_f32(V word)
{
    const F lower = f_convert(v_and(word, v_set32(255)));
    const F low = f_fma_exact(lower, f_set(0x1p-32f), f_set(0x1p-33f));
    const F u = f_fma(f_convert(v_srl32(word, 8)), f_set(0x1p-24f), low);
    const V bits = f_bits(u);
    const V above = v_sub32(bits, v_set32(0x3f2aaaabu));
    const F k = f_convert(v_sra32(above, 23));
    const V mantissa = v_sub32(bits, v_and(above, v_set32(0xff800000u)));
    const F g = f_sub(f_set(1.0f), f_of(mantissa));
    F p = f_fma(f_set(ACCEL_PHILOX_LOG_F8), g, f_set(ACCEL_PHILOX_LOG_F7));
    p = f_fma(p, g, f_set(ACCEL_PHILOX_LOG_F6));
    p = f_fma(p, g, f_set(ACCEL_PHILOX_LOG_F5));
    p = f_fma(p, g, f_set(ACCEL_PHILOX_LOG_F4));
    p = f_fma(p, g, f_set(ACCEL_PHILOX_LOG_F3));
    p = f_fma(p, g, f_set(ACCEL_PHILOX_LOG_F2));
    p = f_fma(p, g, f_set(ACCEL_PHILOX_LOG_F1));
    p = f_fma(p, g, f_set(ACCEL_PHILOX_LOG_F0));
    return f_fma(k, f_set(-ACCEL_PHILOX_LN2_F), f_mul(g, p));
}

ALWAYS_INLINE F sqrt_f32(F s)
{
    const F half = f_set(0.5f);
    const F three_eighths = f_set(0.375f);
    F y = f_of(v_sub32(v_set32(0x5f375a86u), v_srl32(f_bits(s), 1)));
    F h = f_fnma(f_mul(s, y), y, f_set(1.0f));
    y = f_fma(f_mul(y, h), f_fma(h, three_eighths, half), y);
    const F t = f_mul(s, y);
    h = f_fnma(t, y, f_set(1.0f));
    return f_fma(f_mul(t, h), f_fma(h, three_eighths, half), t);
}

/* Cosine and sine, times r. */
ALWAYS_INLINE void circle_f32(V word, F r, F *out_first, F *out_second)
{
    const V sign = v_set32(0x80000000u);
    const V turned = v_add32(word, v_set32(0x20000000u));
    const V a = v_sub32(v_srl32(v_sll32(turned, 2), 8), v_set32(0x800000u));
    const F x = f_fma(f_convert(a), f_set(ACCEL_PHILOX_ANGLE_F),
                      f_set(0.5f * ACCEL_PHILOX_ANGLE_F));
    const F z = f_mul(x, x);
    F s = f_fma(f_set(ACCEL_PHILOX_SIN_F2), z, f_set(ACCEL_PHILOX_SIN_F1));
    s = f_fma(s, z, f_set(ACCEL_PHILOX_SIN_F0));
    s = f_fma(f_mul(x, z), s, x);
    F c = f_fma(f_set(ACCEL_PHILOX_COS_F3), z, f_set(ACCEL_PHILOX_COS_F2));
    c = f_fma(c, z, f_set(ACCEL_PHILOX_COS_F1));
    c = f_fma(c, z, f_set(ACCEL_PHILOX_COS_F0));
    c = f_fma(c, z, f_set(1.0f));
    const V is_odd = v_sll32(turned, 1); /* in its sign: the quarter is odd */
    const V cosine = f_bits(f_mul(r, f_select(c, s, is_odd)));
    const V sine = f_bits(f_mul(r, f_select(s, c, is_odd)));
    const V next = v_add32(turned, v_set32(0x40000000u));
    *out_first = f_of(v_xor_masked(cosine, next, sign));
    *out_second = f_of(v_xor_masked(sine, turned, sign));
}

/* ---- doubles ---- */

/* An integer of less than 2^52 in each lane, as a double. */
ALWAYS_INLINE D d_convert(V value)
{
    const V magic = v_set64(0x4330000000000000u);
    return d_sub(d_of(v_or(value, magic)), d_of(magic));
}

ALWAYS_INLINE D uniform_f64(V word)
{
    const D lower = d_convert(v_and(v_srl64(word, 11), v_set64(0x3ffffffu)));
    const D upper = d_convert(v_srl64(word, 37));
    return d_fma_exact(upper, d_set(0x1p-27), d_mul(lower, d_set(0x1p-53)));
}

ALWAYS_INLINE D log_series_f64(D g)
{
    D p = d_fma(d_set(ACCEL_PHILOX_LOG_D20), g, d_set(ACCEL_PHILOX_LOG_D19));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D18));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D17));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D16));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D15));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D14));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D13));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D12));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D11));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D10));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D9));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D8));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D7));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D6));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D5));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D4));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D3));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D2));
    p = d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D1));
    return d_fma(p, g, d_set(ACCEL_PHILOX_LOG_D0));
}

ALWAYS_INLINE D exponential_f64(V word)
{
    const D lower = d_convert(v_and(v_srl64(word, 11), v_set64(0x3ffffffu)));
    const D low = d_fma_exact(lower, d_set(0x1p-53), d_set(0x1p-54));
    const D u = d_fma(d_convert(v_srl64(word, 37)), d_set(0x1p-27), low);
    const V bits = d_bits(u);
    const V above = v_sub64(bits, v_set64(0x3fe5555555555555u));
    /* Shifted up by 1024, so that it is not negative. */
    const V shifted = v_srl64(v_add64(above, v_set64(UINT64_C(1024) << 52)), 52);
    const D k = d_sub(d_convert(shifted), d_set(1024.0));
    const V mantissa = v_sub64(bits, v_and(above, v_set64(0xfff0000000000000u)));
    const D g = d_sub(d_set(1.0), d_of(mantissa));
    return d_fma(k, d_set(-ACCEL_PHILOX_LN2_D), d_mul(g, log_series_f64(g)));
}

ALWAYS_INLINE D sqrt_f64(D s)
{
    const D half = d_set(0.5);
    const D three_eighths = d_set(0.375);
    D y = d_of(v_sub64(v_set64(0x5fe6eb50c7b537a9u), v_srl64(d_bits(s), 1)));
    D h = d_fnma(d_mul(s, y), y, d_set(1.0));
    y = d_fma(d_mul(y, h), d_fma(h, three_eighths, half), y);
    h = d_fnma(d_mul(s, y), y, d_set(1.0));
    y = d_fma(d_mul(y, h), d_fma(h, three_eighths, half), y);
    const D t = d_mul(s, y);
    h = d_fnma(t, y, d_set(1.0));
    return d_fma(d_mul(t, h), d_fma(h, three_eighths, half), t);
}

ALWAYS_INLINE void circle_f64(V word, D r, D *out_first, D *out_second)
{
    const V sign = v_set64(0x8000000000000000u);
    const V turned = v_add64(word, v_set64(0x2000000000000000u));
    const D a = d_sub(d_convert(v_srl64(v_sll64(turned, 2), 13)), d_set(0x1p50));
    const D x = d_fma(a, d_set(ACCEL_PHILOX_ANGLE_D), d_set(0.5 * ACCEL_PHILOX_ANGLE_D));
    const D z = d_mul(x, x);
    D s = d_fma(d_set(ACCEL_PHILOX_SIN_D6), z, d_set(ACCEL_PHILOX_SIN_D5));
    s = d_fma(s, z, d_set(ACCEL_PHILOX_SIN_D4));
    s = d_fma(s, z, d_set(ACCEL_PHILOX_SIN_D3));
    s = d_fma(s, z, d_set(ACCEL_PHILOX_SIN_D2));
    s = d_fma(s, z, d_set(ACCEL_PHILOX_SIN_D1));
    s = d_fma(s, z, d_set(ACCEL_PHILOX_SIN_D0));
    s = d_fma(d_mul(x, z), s, x);
    D c = d_fma(d_set(ACCEL_PHILOX_COS_D6), z, d_set(ACCEL_PHILOX_COS_D5));
    c = d_fma(c, z, d_set(ACCEL_PHILOX_COS_D4));
    c = d_fma(c, z, d_set(ACCEL_PHILOX_COS_D3));
    c = d_fma(c, z, d_set(ACCEL_PHILOX_COS_D2));
    c = d_fma(c, z, d_set(ACCEL_PHILOX_COS_D1));
    c = d_fma(c, z, d_set(ACCEL_PHILOX_COS_D0));
    c = d_fma(c, z, d_set(1.0));
    const V is_odd = v_sll64(turned, 1);
    const V cosine = d_bits(d_mul(r, d_select(c, s, is_odd)));
    const V sine = d_bits(d_mul(r, d_select(s, c, is_odd)));
    const V next = v_add64(turned, v_set64(0x4000000000000000u));
    *out_first = d_of(v_xor_masked(cosine, next, sign));
    *out_second = d_of(v_xor_masked(sine, turned, sign));
}

/* ---- what a step becomes ---- */

ALWAYS_INLINE void put_raw(unsigned char *out, const step_words *x)
{
    store_lanes(out, join(x->w0, x->w1), join(x->w2, x->w3));
}

ALWAYS_INLINE void put_uniform_f32(unsigned char *out, const step_words *x)
{
    const V first = f_bits(uniform_f32(join(x->w0, x->w1)));
    const V second = f_bits(uniform_f32(join(x->w2, x->w3)));
    store_lanes(out, first, second);
}

ALWAYS_INLINE void put_exponential_f32(unsigned char *out, const step_words *x)
{
    const V first = f_bits(exponential_f32(join(x->w0, x->w1)));
    const V second = f_bits(exponential_f32(join(x->w2, x->w3)));
    store_lanes(out, first, second);
}

ALWAYS_INLINE void put_normal_f32(unsigned char *out, const step_words *x)
{
    F first;
    F second;
    const F e = exponential_f32(join(x->w0, x->w2));
    circle_f32(join(x->w1, x->w3), sqrt_f32(f_add(e, e)), &first, &second);
    v_store(out, v_low32(f_bits(first), f_bits(second)));
    v_store(out + sizeof(V), v_high32(f_bits(first), f_bits(second)));
}

ALWAYS_INLINE void put_uniform_f64(unsigned char *out, const step_words *x)
{
    const V first = d_bits(uniform_f64(join(x->w0, x->w1)));
    const V second = d_bits(uniform_f64(join(x->w2, x->w3)));
    store_lanes(out, first, second);
}

ALWAYS_INLINE void put_exponential_f64(unsigned char *out, const step_words *x)
{
    const V first = d_bits(exponential_f64(join(x->w0, x->w1)));
    const V second = d_bits(exponential_f64(join(x->w2, x->w3)));
    store_lanes(out, first, second);
}

ALWAYS_INLINE void put_normal_f64(unsigned char *out, const step_words *x)
{
    D first;
    D second;
    const D e = exponential_f64(join(x->w0, x->w1));
    circle_f64(join(x->w2, x->w3), sqrt_f64(d_add(e, e)), &first, &second);
    store_lanes(out, d_bits(first), d_bits(second));
}

/* Whole steps go to `out`; what is left over of the last one goes by way of a buffer. */
#define DEFINE_DRAW(name)                                                                          \
    static void draw_##name(void *out, uint64_t seed, uint64_t block, uint64_t count)              \
    {                                                                                              \
        key_schedule keys;                                                                         \
        unsigned char *target = out;                                                               \
        unsigned char rest[2 * sizeof(V)];                                                         \
        make_keys(&keys, seed);                                                                    \
        V blocks = v_add64(v_set64(block), lane_blocks());                                         \
        for (; count >= LANES; count -= LANES) {                                                   \
            const step_words x = draw_words(&keys, blocks);                                        \
            put_##name(target, &x);                                                                \
            blocks = v_add64(blocks, v_set64(LANES));                                              \
            target += 2 * sizeof(V);                                                               \
        }                                                                                          \
        if (count != 0) {                                                                          \
            const step_words x = draw_words(&keys, blocks);                                        \
            put_##name(rest, &x);                                                                  \
            memcpy(target, rest, (size_t)count * 16);                                              \
        }                                                                                          \
    }

#if !defined(RAW_AND_UNIFORM_F32_BY_STEPS)
DEFINE_DRAW(raw)
DEFINE_DRAW(uniform_f32)
#endif
DEFINE_DRAW(uniform_f64)
DEFINE_DRAW(normal_f32)
DEFINE_DRAW(normal_f64)
DEFINE_DRAW(exponential_f32)
DEFINE_DRAW(exponential_f64)

static void philox(const uint32_t counter[4], uint64_t seed, uint32_t out_words[4])
{
    key_schedule keys;
    unsigned char made[2 * sizeof(V)];
    make_keys(&keys, seed);
    const step_words x = run_rounds(&keys, (step_words){v_set64(counter[0]), v_set64(counter[1]),
                                                        v_set64(counter[2]), v_set64(counter[3])});
    put_raw(made, &x);
    memcpy(out_words, made, 16); /* all lanes are alike */
}
