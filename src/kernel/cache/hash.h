/* hash.h: SHA-256 (FIPS 180-4). Ours, because the library needs nothing but libc; SHA-256,
 * because a key that collides would run the wrong kernel, and somebody may choose the source. */
#ifndef ACCEL_KERNEL_CACHE_HASH_H
#define ACCEL_KERNEL_CACHE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { ACCEL__SHA256_SIZE = 32, ACCEL__SHA256_BLOCK = 64 };

typedef struct accel__sha256 {
    uint32_t state[8];
    uint64_t size; /* bytes so far */
    unsigned char block[ACCEL__SHA256_BLOCK];
} accel__sha256;

void accel__sha256_begin(accel__sha256 *hash);
void accel__sha256_add(accel__sha256 *hash, const void *bytes, size_t size);
void accel__sha256_finish(accel__sha256 *hash, unsigned char out_digest[ACCEL__SHA256_SIZE]);

#endif
