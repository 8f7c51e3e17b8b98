/* SPDX-License-Identifier: MIT
 * random_others.c: see random_others.h.
 */
#include "random_others.h"

#include <accel/philox.h>
#include <math.h>
#include <string.h>

#if __has_include(<Random123/philox.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-function"
#include <Random123/philox.h>
#pragma GCC diagnostic pop

bool bench_random123_is_there(void)
{
    return true;
}

void bench_random123_raw(uint32_t *out, size_t count, uint64_t block)
{
    const philox4x32_key_t key = {{0xf19cd101u, 0x3d30u}};
    for (size_t i = 0; i < count / 4; i++) {
        const uint64_t b = block + i;
        const philox4x32_ctr_t counter = {{(uint32_t)b, (uint32_t)(b >> 32), 0, 0}};
        const philox4x32_ctr_t words = philox4x32(counter, key);
        memcpy(out + 4 * i, words.v, sizeof words.v);
    }
}

void bench_random123_uniform(uint32_t *out, size_t count, uint64_t block)
{
    const philox4x32_key_t key = {{0xf19cd101u, 0x3d30u}};
    for (size_t i = 0; i < count / 4; i++) {
        const uint64_t b = block + i;
        const philox4x32_ctr_t counter = {{(uint32_t)b, (uint32_t)(b >> 32), 0, 0}};
        const philox4x32_ctr_t words = philox4x32(counter, key);
        float floats[4];
        for (int j = 0; j < 4; j++)
            floats[j] = (float)(words.v[j] >> 8) * 0x1p-24f;
        memcpy(out + 4 * i, floats, sizeof floats);
    }
}

#else

bool bench_random123_is_there(void)
{
    return false;
}

void bench_random123_raw(uint32_t *out, size_t count, uint64_t block)
{
    (void)out, (void)count, (void)block;
}

void bench_random123_uniform(uint32_t *out, size_t count, uint64_t block)
{
    (void)out, (void)count, (void)block;
}

#endif

static void pair(float *out, uint32_t even, uint32_t odd)
{
    const float u = ((float)even + 0.5f) * 0x1p-32f;
    const float angle = ((float)odd + 0.5f) * (float)(2.0 * M_PI / 0x1p32);
    const float r = sqrtf(-2.0f * logf(u));
    out[0] = r * cosf(angle);
    out[1] = r * sinf(angle);
}

void bench_libm_normal(uint32_t *out, size_t count, uint64_t block)
{
    for (size_t i = 0; i < count / 4; i++) {
        const accel_philox_words x = accel_philox_block(1, block + i, 0);
        float made[4];
        pair(made, x.w0, x.w1);
        pair(made + 2, x.w2, x.w3);
        memcpy(out + 4 * i, made, sizeof made);
    }
}
