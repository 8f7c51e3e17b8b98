/* random.h: the cpu backend's own way of filling memory with random numbers: the group `random` of its
 * table. The numbers are those of <accel/philox.h>, which the portable path calls; the others do the
 * same operations on vectors. random.c makes kernels of them and picks the path. */
#ifndef ACCEL_BACKENDS_CPU_RANDOM_RANDOM_H
#define ACCEL_BACKENDS_CPU_RANDOM_RANDOM_H

#include <accel/backend.h>

/* Writes what Philox blocks `block` to `block + count - 1` of the seed give: 4 numbers of 32 bits each,
 * or 2 of 64. `out` need only be aligned to a number. */
typedef void (*accel__cpu_draw)(void *out, uint64_t seed, uint64_t block, uint64_t count);

typedef struct accel__cpu_random_path {
    const char *name;
    bool (*is_supported)(void); /* by this processor */
    /* One block of any counter, for the published vectors. */
    void (*philox)(const uint32_t counter[4], uint64_t seed, uint32_t out_words[4]);
    accel__cpu_draw raw;
    accel__cpu_draw uniform_f32;
    accel__cpu_draw uniform_f64;
    accel__cpu_draw normal_f32;
    accel__cpu_draw normal_f64;
    accel__cpu_draw exponential_f32;
    accel__cpu_draw exponential_f64;
} accel__cpu_random_path;

/* A path of the functions that each path's file has under these names. */
#define ACCEL__CPU_RANDOM_PATH(called)                                                             \
    {                                                                                              \
        .name = (called), .is_supported = is_supported, .philox = philox, .raw = draw_raw,         \
        .uniform_f32 = draw_uniform_f32, .uniform_f64 = draw_uniform_f64,                          \
        .normal_f32 = draw_normal_f32, .normal_f64 = draw_normal_f64,                              \
        .exponential_f32 = draw_exponential_f32, .exponential_f64 = draw_exponential_f64,          \
    }

extern const accel__cpu_random_path accel__cpu_random_portable;
#if defined(__x86_64__)
extern const accel__cpu_random_path accel__cpu_random_avx2;
extern const accel__cpu_random_path accel__cpu_random_avx512;
#endif

/* The i-th path, the best first; NULL behind the last one, which works everywhere. */
const accel__cpu_random_path *accel__cpu_random_path_at(uint32_t index);

/* One fill by a path: `count` elements from element `first` on, a multiple of 4. */
typedef struct accel__cpu_random_fill {
    accel_backend_fill kind;
    uint64_t seed;
    uint64_t offset; /* of element 0 */
    uint64_t low;
    uint64_t range;
    void *data; /* of element 0 */
} accel__cpu_random_fill;

void accel__cpu_random_run(const accel__cpu_random_path *path, const accel__cpu_random_fill *fill,
                           uint64_t first, uint64_t count);

/* The group. */
accel_status accel__cpu_random_load(accel_native_device *device, accel_native_module **out_module,
                                    uint64_t *out_block_elements);

#endif
