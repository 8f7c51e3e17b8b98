/* SPDX-License-Identifier: MIT
 * openmp.h: the same loops as in bench/kernels/, under `omp parallel for simd`, compiled with the flags
 * of the cpu backend that decide what arithmetic gives.
 */
#ifndef BENCH_OPENMP_H
#define BENCH_OPENMP_H

/* NULL, or why these functions run on one thread only. */
const char *bench_openmp_missing(void);

/* An empty parallel region. */
void bench_openmp_empty(void);

/* `count` empty tasks, each of which depends on the one before; or one, then all but two that depend on
 * it, then one that depends on those. */
void bench_openmp_task_chain(int count);
void bench_openmp_task_fan(int count);

void bench_openmp_saxpy(float *y, const float *x, float a, int n);

void bench_openmp_stencil(float *out, const float *in, int width, int height, float k);

/* Arrays of `count` floats, as in nbody.cl. */
typedef struct bench_bodies {
    float *x, *y, *z, *mass;
    float *ax, *ay, *az;
    int count;
} bench_bodies;

void bench_openmp_nbody(const bench_bodies *bodies);

#endif
