/* SPDX-License-Identifier: MIT
 * loops.c: kernels from source without barriers, beside the same loop under OpenMP, in four settings:
 * one after the other or with gaps in which the host sleeps, on an idle machine or with one core busy.
 * Both sides work on the same memory.
 */
#include "busy.h"
#include "device.h"
#include "openmp.h"
#include "topics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAXPY_COUNT (1 << 20)
#define STENCIL_SIDE 1024
#define BODY_COUNT 2048
#define BLOCK 256

#define GAP_NS UINT64_C(300000)

/* A row's argument: which loop, and its setting. */
enum { SAXPY, STENCIL, NBODY, LOOP_COUNT };
#define LOOP_MASK 3u
#define WITH_GAPS 4u
#define CORE_BUSY 8u

typedef struct loop {
    const char *name;
    size_t repeat; /* runs in a sample: enough for several turns of the scheduler */
    accel_launch_shape shape;
    void (*theirs)(void);
    float *result; /* what both sides must agree on */
    size_t result_count;
    accel_kernel_arg args[9];
    uint32_t arg_count;
    accel_module *module;
    accel_kernel *kernel;
} loop;

static accel_stream *stream;
static float *left; /* SAXPY_COUNT floats each; the stencil uses them too */
static float *right;
static bench_bodies bodies = {.count = BODY_COUNT};
static const float factor = 0.2f; /* for saxpy and the stencil */
static const int saxpy_count = SAXPY_COUNT;
static const int side = STENCIL_SIDE;

static void saxpy_theirs(void)
{
    bench_openmp_saxpy(left, right, factor, SAXPY_COUNT);
}

static void stencil_theirs(void)
{
    bench_openmp_stencil(left, right, STENCIL_SIDE, STENCIL_SIDE, factor);
}

static void nbody_theirs(void)
{
    bench_openmp_nbody(&bodies);
}

static loop loops[LOOP_COUNT] = {
    [SAXPY] = {"saxpy", 200, {{SAXPY_COUNT / BLOCK, 1, 1}, {BLOCK, 1, 1}}, .theirs = saxpy_theirs},
    [STENCIL] = {"stencil",
                 200,
                 {{STENCIL_SIDE / BLOCK, STENCIL_SIDE, 1}, {BLOCK, 1, 1}},
                 .theirs = stencil_theirs},
    [NBODY] = {"nbody", 40, {{BODY_COUNT / BLOCK, 1, 1}, {BLOCK, 1, 1}}, .theirs = nbody_theirs},
};

/* ---- memory and arguments ---- */

static void fill(float *values, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) / (float)(1u << 24);
    }
}

static bool allocate(float **out_values, size_t count, unsigned seed)
{
    void *pointer = NULL;
    if (!bench_alloc(count * sizeof(float), &pointer))
        return false;
    *out_values = pointer;
    fill(*out_values, count, seed);
    return true;
}

static void add_pointer(loop *target, void *pointer)
{
    target->args[target->arg_count++] = (accel_kernel_arg)ACCEL_ARG_POINTER(pointer);
}

static void add_value(loop *target, const void *value)
{
    target->args[target->arg_count++] = (accel_kernel_arg){ACCEL_KERNEL_ARG_KIND_VALUE, 4,
                                                           value}; /* int and float alike */
}

static bool allocate_arrays(void)
{
    float **body_arrays[] = {&bodies.ax, &bodies.ay, &bodies.az,  &bodies.x,
                             &bodies.y,  &bodies.z,  &bodies.mass};
    bool done = allocate(&left, SAXPY_COUNT, 1) && allocate(&right, SAXPY_COUNT, 2);
    for (size_t i = 0; done && i < sizeof(body_arrays) / sizeof(body_arrays[0]); i++)
        done = allocate(body_arrays[i], BODY_COUNT, (unsigned)i);
    return done;
}

static void set_arguments(void)
{
    add_pointer(&loops[SAXPY], left);
    add_pointer(&loops[SAXPY], right);
    add_value(&loops[SAXPY], &factor);
    add_value(&loops[SAXPY], &saxpy_count);

    add_pointer(&loops[STENCIL], left);
    add_pointer(&loops[STENCIL], right);
    add_value(&loops[STENCIL], &side);
    add_value(&loops[STENCIL], &side);
    add_value(&loops[STENCIL], &factor);

    float *body_arrays[] = {bodies.ax, bodies.ay, bodies.az,  bodies.x,
                            bodies.y,  bodies.z,  bodies.mass};
    for (size_t i = 0; i < sizeof(body_arrays) / sizeof(body_arrays[0]); i++)
        add_pointer(&loops[NBODY], body_arrays[i]);
    add_value(&loops[NBODY], &bodies.count);

    loops[SAXPY].result = left;
    loops[SAXPY].result_count = SAXPY_COUNT;
    loops[STENCIL].result = left;
    loops[STENCIL].result_count = SAXPY_COUNT;
    loops[NBODY].result = bodies.ax;
    loops[NBODY].result_count = BODY_COUNT;
}

/* ---- runs ---- */

static bool run_ours(loop *target)
{
    return bench_ok(accel_kernel_launch(target->kernel, stream, &target->shape, target->args,
                                        target->arg_count));
}

static bool synchronize(void)
{
    return bench_ok(accel_stream_synchronize(stream));
}

static bool agree(const float *ours, const float *theirs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fabsf(ours[i] - theirs[i]) > 1e-3f * (1.0f + fabsf(theirs[i])))
            return false;
    return true;
}

/* A figure of a wrong answer is worth nothing: both sides run once from the same start. */
static bool check(loop *target)
{
    size_t size = target->result_count * sizeof(float);
    float *ours = malloc(size);
    if (ours == NULL) {
        bench_failed("no memory");
        return false;
    }
    fill(target->result, target->result_count, 7);
    bool same = run_ours(target) && synchronize();
    if (same) {
        memcpy(ours, target->result, size);
        fill(target->result, target->result_count, 7);
        target->theirs();
        same = agree(ours, target->result, target->result_count);
        if (!same)
            bench_failed("%s: the two sides disagree", target->name);
    }
    free(ours);
    return same;
}

static bool setup(void)
{
    bool ready = bench_stream(&stream) && allocate_arrays();
    if (ready)
        set_arguments();
    for (size_t i = 0; ready && i < LOOP_COUNT; i++) {
        ready = bench_kernel_load(loops[i].name, &loops[i].module, &loops[i].kernel) &&
                check(&loops[i]);
    }
    return ready;
}

static void teardown(void)
{
    float *const arrays[] = {left,     right,    bodies.ax, bodies.ay,  bodies.az,
                             bodies.x, bodies.y, bodies.z,  bodies.mass};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        bench_ok(accel_memory_free(arrays[i]));
    for (size_t i = 0; i < LOOP_COUNT; i++)
        accel_module_release(loops[i].module);
}

/* ---- samples ---- */

static loop *loop_of(const bench_row *row)
{
    return &loops[row->argument & LOOP_MASK];
}

static double ours_back_to_back(loop *target)
{
    if (!run_ours(target) || !synchronize())
        return (double)NAN;
    uint64_t begin = bench_now();
    for (size_t i = 0; i < target->repeat; i++)
        if (!run_ours(target))
            return (double)NAN;
    return synchronize() ? bench_since(begin, target->repeat) : (double)NAN;
}

static double ours_with_gaps(loop *target)
{
    double total = 0;
    for (size_t i = 0; i < target->repeat; i++) {
        bench_sleep(GAP_NS);
        uint64_t begin = bench_now();
        if (!run_ours(target) || !synchronize())
            return (double)NAN;
        total += bench_since(begin, target->repeat);
    }
    return total;
}

static double theirs_back_to_back(loop *target)
{
    target->theirs();
    uint64_t begin = bench_now();
    for (size_t i = 0; i < target->repeat; i++)
        target->theirs();
    return bench_since(begin, target->repeat);
}

static double theirs_with_gaps(loop *target)
{
    double total = 0;
    for (size_t i = 0; i < target->repeat; i++) {
        bench_sleep(GAP_NS);
        uint64_t begin = bench_now();
        target->theirs();
        total += bench_since(begin, target->repeat);
    }
    return total;
}

static double in_setting(const bench_row *row, double (*back_to_back)(loop *),
                         double (*with_gaps)(loop *))
{
    if ((row->argument & CORE_BUSY) != 0 && !bench_busy_start())
        return (double)NAN;
    bool gaps = (row->argument & WITH_GAPS) != 0;
    double value = (gaps ? with_gaps : back_to_back)(loop_of(row));
    bench_busy_stop();
    return value;
}

static double ours(const bench_row *row)
{
    return in_setting(row, ours_back_to_back, ours_with_gaps);
}

static double theirs(const bench_row *row)
{
    return in_setting(row, theirs_back_to_back, theirs_with_gaps);
}

#define ROW(text, which)                                                                           \
    {                                                                                              \
        .name = "loops/" text, .unit = BENCH_UNIT_US, .bar = {BENCH_BAR_RATIO, 0.95},              \
        .argument = (which), .ours = {"accel", ours, NULL}, .opponents = {                         \
            {"omp parallel for simd", theirs, NULL}                                                \
        }                                                                                          \
    }
#define SETTINGS(text, which)                                                                      \
    ROW(text ", back to back", which), ROW(text ", gaps", (which) | WITH_GAPS),                    \
        ROW(text ", back to back, core busy", (which) | CORE_BUSY),                                \
        ROW(text ", gaps, core busy", (which) | WITH_GAPS | CORE_BUSY)

static const bench_row rows[] = {
    SETTINGS("saxpy 1 M", SAXPY),
    SETTINGS("stencil 1024 x 1024", STENCIL),
    SETTINGS("n-body 2048", NBODY),
};

const bench_topic bench_topic_loops = {"loops", rows, sizeof(rows) / sizeof(rows[0]), setup,
                                       teardown};
