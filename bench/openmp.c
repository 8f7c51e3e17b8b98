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

void bench_openmp_task_chain(int count)
{
    char cell = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < count; i++) {
#pragma omp task depend(inout : cell)
        __asm__ volatile("" ::: "memory"); /* keeps the task */
    }
    (void)cell;
}

void bench_openmp_task_fan(int count)
{
    char root = 0;
    char all = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task depend(out : root)
        __asm__ volatile("" ::: "memory");
        for (int i = 0; i < count - 2; i++) {
#pragma omp task depend(in : root, all)
            __asm__ volatile("" ::: "memory");
        }
#pragma omp task depend(inout : root, all)
        __asm__ volatile("" ::: "memory");
    }
    (void)root, (void)all;
}

void bench_openmp_saxpy(float *y, const float *x, float a, int n)
{
#pragma omp parallel for simd
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

void bench_openmp_stencil(float *out, const float *in, int width, int height, float k)
{
#pragma omp parallel for
    for (int y = 1; y < height - 1; y++) {
#pragma omp simd
        for (int x = 1; x < width - 1; x++) {
            const int at = y * width + x;
            out[at] = in[at] + k * (in[at - 1] + in[at + 1] + in[at - width] + in[at + width] -
                                    4.0f * in[at]);
        }
    }
}

void bench_openmp_nbody(const bench_bodies *bodies)
{
    const float *x = bodies->x, *y = bodies->y, *z = bodies->z, *mass = bodies->mass;
    float *ax = bodies->ax, *ay = bodies->ay, *az = bodies->az;
    const int n = bodies->count;
#pragma omp parallel for simd
    for (int i = 0; i < n; i++) {
        /* gcc 12 forgets this in a parallel region, and then takes four times as long. The opponent
         * shall be as good as it can be. */
        if (n < 1)
            __builtin_unreachable();
        float sx = 0.0f, sy = 0.0f, sz = 0.0f;
        for (int j = 0; j < n; j++) {
            const float dx = x[j] - x[i];
            const float dy = y[j] - y[i];
            const float dz = z[j] - z[i];
            const float r2 = dx * dx + dy * dy + dz * dz + 1e-6f;
            const float r = 1.0f / sqrtf(r2);
            const float s = mass[j] * r * r * r;
            sx += dx * s;
            sy += dy * s;
            sz += dz * s;
        }
        ax[i] = sx;
        ay[i] = sy;
        az[i] = sz;
    }
}
