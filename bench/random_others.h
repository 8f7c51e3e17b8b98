/* SPDX-License-Identifier: MIT
 * random_others.h: how others fill a buffer with random numbers. Compiled with the flags that Random123
 * was measured with: -O3 -march=native.
 */
#ifndef BENCH_RANDOM_OTHERS_H
#define BENCH_RANDOM_OTHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_RANDOM_COUNT 65536 /* numbers of 4 bytes: 256 KiB */

/* Whether Random123's headers were there when this was built. */
bool bench_random123_is_there(void);

/* `count` words, or floats as their bits, from `block` on. */
void bench_random123_raw(uint32_t *out, size_t count, uint64_t block);
void bench_random123_uniform(uint32_t *out, size_t count, uint64_t block);

/* Box and Muller by logf, sqrtf, sinf and cosf, over the words of <accel/philox.h>. */
void bench_libm_normal(uint32_t *out, size_t count, uint64_t block);

#endif
