/* SPDX-License-Identifier: MIT
 * openmp.c: the loops of bench/kernels/ under OpenMP. Keep each body the same as its kernel's.
 */
#include "openmp.h"

#include <math.h>
#include <stddef.h>

const char *bench_openmp_missing(void)
{
#ifdef _OPENMP
    return NULL;
#else
    return "built by a compiler without OpenMP";
#endif
}

void bench_openmp_empty(void)
{
#pragma omp parallel
    __asm__ volatile("" ::: "memory"); /* keeps the region */
}

void bench_openmp_saxpy(float *y, const float *x, float a, int count)
{
#pragma omp parallel for simd
    for (int i = 0; i < count; i++)
        y[i] = a * x[i] + y[i];
}

void bench_openmp_stencil(float *out, const float *in, int width, int height)
{
#pragma omp parallel for
    for (int y = 1; y < height - 1; y++) {
#pragma omp simd
        for (int x = 1; x < width - 1; x++) {
            int i = y * width + x;
            out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
        }
    }
}

void bench_openmp_nbody(const bench_bodies *bodies)
{
    const float *x = bodies->x, *y = bodies->y, *z = bodies->z, *mass = bodies->mass;
    float *ax = bodies->ax, *ay = bodies->ay, *az = bodies->az;
    int count = bodies->count;
    float softening = bodies->softening;
#pragma omp parallel for simd
    for (int i = 0; i < count; i++) {
        float sum_x = 0.0f;
        float sum_y = 0.0f;
        float sum_z = 0.0f;
        for (int j = 0; j < count; j++) {
            float dx = x[j] - x[i];
            float dy = y[j] - y[i];
            float dz = z[j] - z[i];
            float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + softening);
            float pull = mass[j] * inverse * inverse * inverse;
            sum_x += pull * dx;
            sum_y += pull * dy;
            sum_z += pull * dz;
        }
        ax[i] = sum_x;
        ay[i] = sum_y;
        az[i] = sum_z;
    }
}
