/* hash.c: SHA-256 as FIPS 180-4 gives it; the names and section numbers are its own. */
#include "kernel/cache/hash.h"

#include <string.h>

/* 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate_right(uint32_t x, int count)
{
    return x >> count | x << (32 - count);
}

/* 6.2.2, step 1: the message schedule. */
static void schedule(const unsigned char *block, uint32_t w[64])
{
    for (int t = 0; t < 16; t++, block += 4)
        w[t] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 |
               block[3];
    for (int t = 16; t < 64; t++) {
        const uint32_t sigma0 = rotate_right(w[t - 15], 7) ^ rotate_right(w[t - 15], 18) ^
                                w[t - 15] >> 3;
        const uint32_t sigma1 = rotate_right(w[t - 2], 17) ^ rotate_right(w[t - 2], 19) ^
                                w[t - 2] >> 10;
        w[t] = sigma1 + w[t - 7] + sigma0 + w[t - 16];
    }
}

/* 6.2.2, step 3, for one t. Instead of moving all eight variables on, only d and h change, and the
 * next round names them one place further: moving them costs more than the round. */
static inline void round_of(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e, uint32_t f,
                            uint32_t g, uint32_t *h, uint32_t added)
{
    const uint32_t sum1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
    const uint32_t choose = (e & f) ^ (~e & g);
    const uint32_t t1 = *h + sum1 + choose + added;
    const uint32_t sum0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
    const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    *d += t1;
    *h = t1 + sum0 + majority;
}

/* 6.2.2, steps 2 to 4. */
static void compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    schedule(block, w);
    for (int t = 0; t < 64; t += 8) {
        round_of(a, b, c, &d, e, f, g, &h, k[t] + w[t]);
        round_of(h, a, b, &c, d, e, f, &g, k[t + 1] + w[t + 1]);
        round_of(g, h, a, &b, c, d, e, &f, k[t + 2] + w[t + 2]);
        round_of(f, g, h, &a, b, c, d, &e, k[t + 3] + w[t + 3]);
        round_of(e, f, g, &h, a, b, c, &d, k[t + 4] + w[t + 4]);
        round_of(d, e, f, &g, h, a, b, &c, k[t + 5] + w[t + 5]);
        round_of(c, d, e, &f, g, h, a, &b, k[t + 6] + w[t + 6]);
        round_of(b, c, d, &e, f, g, h, &a, k[t + 7] + w[t + 7]);
    }
    const uint32_t s[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

void accel__sha256_begin(accel__sha256 *hash)
{
    /* 5.3.3 */
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    *hash = (accel__sha256){0};
    memcpy(hash->state, first, sizeof first);
}

void accel__sha256_add(accel__sha256 *hash, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    while (size > 0) {
        const size_t filled = (size_t)(hash->size % ACCEL__SHA256_BLOCK);
        size_t taken = ACCEL__SHA256_BLOCK - filled;
        if (taken > size)
            taken = size;
        memcpy(hash->block + filled, from, taken);
        if (filled + taken == ACCEL__SHA256_BLOCK)
            compress(hash->state, hash->block);
        hash->size += taken;
        from += taken;
        size -= taken;
    }
}

void accel__sha256_finish(accel__sha256 *hash, unsigned char out_digest[ACCEL__SHA256_SIZE])
{
    /* 5.1.1: a one bit, zeros, and the length in bits in the last eight bytes of a block. */
    static const unsigned char padding[ACCEL__SHA256_BLOCK] = {0x80};
    const uint64_t bits = hash->size * 8;
    const size_t filled = (size_t)(hash->size % ACCEL__SHA256_BLOCK);
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    accel__sha256_add(hash, padding, (filled < 56 ? 56 : 120) - filled);
    accel__sha256_add(hash, length, sizeof length);
    for (int i = 0; i < ACCEL__SHA256_SIZE; i++)
        out_digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}
