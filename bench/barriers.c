/* SPDX-License-Identifier: MIT
 * barriers.c: kernels from source whose work-items wait for each other, beside the same source under
 * PoCL: a reduction in blocks of 256, and a matrix product with tiles in local memory.
 */
#include "device.h"
#include "opencl.h"
#include "topics.h"

#include <math.h>
#include <stdlib.h>

#define REDUCE_COUNT (4u << 20)
#define REDUCE_BLOCK 256u
#define REDUCE_GROUPS (REDUCE_COUNT / REDUCE_BLOCK)
#define MATRIX_SIDE 512
#define MATRIX_COUNT ((size_t)MATRIX_SIDE * MATRIX_SIDE)
#define TILE 16

enum { REDUCTION, MATMUL, JOB_COUNT };

enum { MAX_ARGS = 4, MAX_ARRAYS = 3 };

typedef struct job {
    const char *name;
    size_t repeat; /* runs in a sample */
    accel_launch_shape shape;
    size_t opencl_dimensions;
    size_t opencl_global[2];
    size_t opencl_local[2];
    size_t counts[MAX_ARRAYS]; /* floats in each array; the first one is the output */
    size_t array_count;
    uint32_t arg_count;
    int arrays[MAX_ARGS]; /* which array an argument is; NO_ARRAY: it is in `args` */
    accel_kernel_arg args[MAX_ARGS];

    accel_module *module;
    accel_kernel *kernel;
    float *memory[MAX_ARRAYS];
    bench_opencl_kernel *opencl_kernel;
    bench_opencl_buffer *buffers[MAX_ARRAYS];
} job;

#define NO_ARRAY (-1)

static const unsigned reduce_count = REDUCE_COUNT;
static const int matrix_side = MATRIX_SIDE;
static accel_stream *stream;

static job jobs[JOB_COUNT] = {
    [REDUCTION] = {.name = "reduction",
                   .repeat = 10,
                   .shape = {{REDUCE_GROUPS, 1, 1}, {REDUCE_BLOCK, 1, 1}},
                   .opencl_dimensions = 1,
                   .opencl_global = {REDUCE_COUNT},
                   .opencl_local = {REDUCE_BLOCK},
                   .counts = {REDUCE_GROUPS, REDUCE_COUNT},
                   .array_count = 2,
                   .arg_count = 4,
                   .arrays = {1, 0, NO_ARRAY, NO_ARRAY},
                   .args = {[2] = ACCEL_ARG_LOCAL(REDUCE_BLOCK * sizeof(float)),
                            [3] = ACCEL_ARG_VALUE(reduce_count)}},
    [MATMUL] = {.name = "matmul",
                .repeat = 4,
                .shape = {{MATRIX_SIDE / TILE, MATRIX_SIDE / TILE, 1}, {TILE, TILE, 1}},
                .opencl_dimensions = 2,
                .opencl_global = {MATRIX_SIDE, MATRIX_SIDE},
                .opencl_local = {TILE, TILE},
                .counts = {MATRIX_COUNT, MATRIX_COUNT, MATRIX_COUNT},
                .array_count = 3,
                .arg_count = 4,
                .arrays = {0, 1, 2, NO_ARRAY},
                .args = {[3] = ACCEL_ARG_VALUE(matrix_side)}},
};

/* ---- runs ---- */

static bool run_ours(const job *target)
{
    return bench_ok(accel_kernel_launch(target->kernel, stream, &target->shape, target->args,
                                        target->arg_count)) &&
           bench_ok(accel_stream_synchronize(stream));
}

static bool run_theirs(const job *target)
{
    return bench_opencl_launch(target->opencl_kernel, (unsigned)target->opencl_dimensions,
                               target->opencl_global, target->opencl_local) &&
           bench_opencl_finish();
}

/* ---- setup ---- */

static bool prepare_ours(job *target)
{
    for (size_t i = 0; i < target->array_count; i++) {
        void *pointer = NULL;
        if (!bench_alloc(target->counts[i] * sizeof(float), &pointer))
            return false;
        target->memory[i] = pointer;
        for (size_t k = 0; k < target->counts[i]; k++)
            target->memory[i][k] = (float)((k * (i + 3)) % 17) / 16.0f;
    }
    for (uint32_t i = 0; i < target->arg_count; i++)
        if (target->arrays[i] != NO_ARRAY)
            target->args[i] = (accel_kernel_arg)ACCEL_ARG_POINTER(
                target->memory[target->arrays[i]]);
    return bench_kernel_load(target->name, &target->module, &target->kernel);
}

static bool set_opencl_arg(const job *target, unsigned index)
{
    const int array = target->arrays[index];
    const accel_kernel_arg *arg = &target->args[index];
    return array == NO_ARRAY
               ? bench_opencl_set_arg(target->opencl_kernel, index, arg->size, arg->data)
               : bench_opencl_set_arg(target->opencl_kernel, index, sizeof(void *),
                                      &target->buffers[array]);
}

static bool prepare_theirs(job *target)
{
    target->opencl_kernel = bench_opencl_kernel_load(target->name);
    bool ready = target->opencl_kernel != NULL;
    for (size_t i = 0; ready && i < target->array_count; i++) {
        target->buffers[i] = bench_opencl_buffer_create(target->counts[i] * sizeof(float),
                                                        target->memory[i]);
        ready = target->buffers[i] != NULL;
    }
    for (unsigned i = 0; ready && i < target->arg_count; i++)
        ready = set_opencl_arg(target, i);
    return ready;
}

/* What element `index` of the output must be. */
static double expected(const job *target, size_t index)
{
    const float *a = target->memory[1];
    const float *b = target->memory[2];
    double sum = 0;
    if (target == &jobs[REDUCTION]) {
        for (size_t i = 0; i < REDUCE_BLOCK; i++)
            sum += (double)a[index * REDUCE_BLOCK + i];
        return sum;
    }
    size_t row = index / MATRIX_SIDE;
    size_t column = index % MATRIX_SIDE;
    for (size_t k = 0; k < MATRIX_SIDE; k++)
        sum += (double)a[row * MATRIX_SIDE + k] * (double)b[k * MATRIX_SIDE + column];
    return sum;
}

static bool right(const job *target, const float *output)
{
    for (size_t i = 0; i < target->counts[0]; i += 61) {
        double value = expected(target, i);
        if (fabs((double)output[i] - value) > 1e-3 * (1.0 + fabs(value))) {
            bench_failed("%s: element %zu is %g, not %g", target->name, i, (double)output[i],
                         value);
            return false;
        }
    }
    return true;
}

static bool check_theirs(const job *target)
{
    size_t size = target->counts[0] * sizeof(float);
    float *output = malloc(size);
    bool good = output != NULL && run_theirs(target) &&
                bench_opencl_read(target->buffers[0], size, output) && right(target, output);
    free(output);
    return good;
}

static bool setup(void)
{
    bool ready = bench_stream(&stream);
    for (size_t i = 0; ready && i < JOB_COUNT; i++) {
        job *target = &jobs[i];
        ready = prepare_ours(target) && run_ours(target) && right(target, target->memory[0]);
        if (ready && bench_opencl_missing() == NULL)
            ready = prepare_theirs(target) && check_theirs(target);
    }
    return ready;
}

static void teardown(void)
{
    for (size_t i = 0; i < JOB_COUNT; i++) {
        for (size_t k = 0; k < MAX_ARRAYS; k++) {
            bench_ok(accel_memory_free(jobs[i].memory[k]));
            bench_opencl_buffer_release(jobs[i].buffers[k]);
        }
        accel_module_release(jobs[i].module);
    }
}

/* ---- samples ---- */

static double time_runs(const job *target, bool (*run)(const job *))
{
    if (!run(target))
        return (double)NAN;
    uint64_t begin = bench_now();
    for (size_t i = 0; i < target->repeat; i++)
        if (!run(target))
            return (double)NAN;
    return bench_since(begin, target->repeat);
}

static double ours(const bench_row *row)
{
    return time_runs(&jobs[row->argument], run_ours);
}

static double theirs(const bench_row *row)
{
    return time_runs(&jobs[row->argument], run_theirs);
}

static const bench_row rows[] = {
    {.name = "barriers/reduction 4 M, blocks of 256",
     .unit = BENCH_UNIT_MS,
     .bar = {BENCH_BAR_RATIO, 5},
     .argument = REDUCTION,
     .ours = {"accel", ours, NULL},
     .opponents = {{"PoCL", theirs, bench_opencl_missing}}},
    {.name = "barriers/matrix product 512, tiles of 16 x 16",
     .unit = BENCH_UNIT_MS,
     .bar = {BENCH_BAR_RATIO, 5},
     .argument = MATMUL,
     .ours = {"accel", ours, NULL},
     .opponents = {{"PoCL", theirs, bench_opencl_missing}}},
};

const bench_topic bench_topic_barriers = {"barriers", rows, sizeof(rows) / sizeof(rows[0]), setup,
                                          teardown};
