/* SPDX-License-Identifier: MIT
 * opencl_overhead.c: what accel costs over the OpenCL calls that it makes: the same kernel on the same
 * driver, through both. Each launch sets all arguments, as programs do.
 */
#include "device.h"
#include "opencl.h"
#include "topics.h"

#include <math.h>
#include <string.h>

enum { ITEMS = 1024, BLOCK = 64, BURST = 32 };

static const char source[] =
    "__kernel void saxpy(__global float *y, __global const float *x, const float a, const uint n)\n"
    "{\n"
    "    const uint i = get_global_id(0);\n"
    "    if (i < n)\n"
    "        y[i] = a * x[i] + y[i];\n"
    "}\n";

static accel_device device;
static accel_module *module;
static accel_kernel *kernel;
static accel_stream *stream;
static void *memory[2];
static bench_opencl_kernel *raw_kernel;
static bench_opencl_buffer *raw_memory[2];
static const float scale = 0.5f;
static const uint32_t count = ITEMS;

/* The first device of PoCL, which the raw calls use too. */
static const char *find_device(void)
{
    accel_backend backend = 0;
    int32_t devices = 0;
    if (accel_backend_find("opencl", &backend) != ACCEL_OK)
        return "accel was built without its OpenCL backend";
    accel_device_count(backend, &devices);
    for (int32_t i = 0; i < devices; i++) {
        accel_device_info info = {.struct_size = sizeof(info)};
        device = (accel_device){backend, i};
        if (accel_device_describe(device, &info) == ACCEL_OK &&
            strstr(info.driver, "Portable Computing Language") != NULL)
            return NULL;
    }
    return "accel finds no PoCL";
}

static const char *missing(void)
{
    const char *reason = bench_opencl_missing();
    return reason != NULL ? reason : find_device();
}

static bool setup_raw(void)
{
    raw_kernel = bench_opencl_kernel_create(source, "saxpy");
    for (int i = 0; i < 2; i++)
        raw_memory[i] = bench_opencl_buffer_create(ITEMS * sizeof(float), NULL);
    return raw_kernel != NULL && raw_memory[0] != NULL && raw_memory[1] != NULL;
}

static bool setup(void)
{
    if (missing() != NULL)
        return true; /* the rows say why they are skipped */
    if (!setup_raw() || !bench_ok(accel_stream_create(device, NULL, &stream)) ||
        !bench_ok(
            accel_module_create_from_source(device, source, sizeof(source) - 1, NULL, &module)))
        return false;
    for (int i = 0; i < 2; i++)
        if (!bench_ok(accel_memory_alloc(stream, ITEMS * sizeof(float), NULL, &memory[i])))
            return false;
    return bench_ok(accel_module_get_kernel(module, "saxpy", &kernel));
}

static void teardown(void)
{
    for (int i = 0; i < 2; i++) {
        accel_memory_free(memory[i]);
        bench_opencl_buffer_release(raw_memory[i]);
    }
    accel_module_release(module);
    accel_stream_release(stream);
}

static bool launch(void)
{
    static const accel_launch_shape shape = {{ITEMS / BLOCK, 1, 1}, {BLOCK, 1, 1}};
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(memory[0]), ACCEL_ARG_POINTER(memory[1]),
                                     ACCEL_ARG_VALUE(scale), ACCEL_ARG_VALUE(count)};
    return bench_ok(accel_kernel_launch(kernel, stream, &shape, args, 4));
}

static bool raw_launch(void)
{
    static const size_t global[1] = {ITEMS};
    static const size_t local[1] = {BLOCK};
    return bench_opencl_set_arg(raw_kernel, 0, sizeof(raw_memory[0]), &raw_memory[0]) &&
           bench_opencl_set_arg(raw_kernel, 1, sizeof(raw_memory[1]), &raw_memory[1]) &&
           bench_opencl_set_arg(raw_kernel, 2, sizeof(scale), &scale) &&
           bench_opencl_set_arg(raw_kernel, 3, sizeof(count), &count) &&
           bench_opencl_launch(raw_kernel, 1, global, local);
}

static bool synchronize(void)
{
    return bench_ok(accel_stream_synchronize(stream));
}

/* Launches and a wait behind every `batch` of them. */
static double sample(bool (*enqueue)(void), bool (*wait)(void), size_t batch)
{
    enum { LAUNCHES = 2048 };
    uint64_t begin = 0;
    for (size_t i = 0; i <= LAUNCHES / batch; i++) {
        begin = i == 1 ? bench_now() : begin;
        for (size_t k = 0; k < batch; k++)
            if (!enqueue())
                return (double)NAN;
        if (!wait())
            return (double)NAN;
    }
    return bench_since(begin, LAUNCHES);
}

static double ours(const bench_row *row)
{
    return sample(launch, synchronize, row->argument);
}

static double raw(const bench_row *row)
{
    return sample(raw_launch, bench_opencl_finish, row->argument);
}

static const bench_row rows[] = {
    {.name = "opencl_overhead/launch + synchronize",
     .unit = BENCH_UNIT_NS,
     .bar = {BENCH_BAR_RATIO, 0.97},
     .argument = 1,
     .ours = {"accel", ours, missing},
     .opponents = {{"raw OpenCL calls", raw, missing}}},
    {.name = "opencl_overhead/launch, in batches",
     .unit = BENCH_UNIT_NS,
     .bar = {BENCH_BAR_RATIO, 0.97},
     .argument = BURST,
     .ours = {"accel", ours, missing},
     .opponents = {{"raw OpenCL calls", raw, missing}}},
};

const bench_topic bench_topic_opencl_overhead = {"opencl_overhead", rows,
                                                 sizeof(rows) / sizeof(rows[0]), setup, teardown};
