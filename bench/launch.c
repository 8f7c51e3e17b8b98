/* SPDX-License-Identifier: MIT
 * launch.c: what launching costs, with a kernel that does nothing.
 */
#include "device.h"
#include "handoff.h"
#include "opencl.h"
#include "openmp.h"
#include "topics.h"

#include <math.h>

/* Launches between two waits: fewer than any queue holds, so that no call waits for room. */
#define BURST 64
#define BURSTS 60

/* Long enough for every worker to have gone to sleep. */
#define PARK_NS UINT64_C(1000000)

static accel_module *module;
static accel_kernel *kernel;
static accel_stream *stream;
static bench_opencl_kernel *opencl_kernel;
static const accel_launch_shape one_item = {{1, 1, 1}, {1, 1, 1}};
static const size_t one[1] = {1};

static bool setup(void)
{
    if (bench_opencl_missing() == NULL) {
        opencl_kernel = bench_opencl_kernel_create("__kernel void empty(void) {}", "empty");
        if (opencl_kernel == NULL)
            return false;
    }
    return bench_stream(&stream) && bench_kernel_empty(&module, &kernel) && bench_handoff_start();
}

static void teardown(void)
{
    bench_handoff_stop();
    accel_module_release(module);
}

static bool launch(void)
{
    accel_status status = accel_kernel_launch(kernel, stream, &one_item, NULL, 0);
    return status == ACCEL_OK || bench_ok(status);
}

static bool synchronize(void)
{
    return bench_ok(accel_stream_synchronize(stream));
}

static bool opencl_launch(void)
{
    return bench_opencl_launch(opencl_kernel, 1, one, one);
}

/* ---- ways to time a pair of (queue one, wait for all) ---- */

typedef bool (*step)(void); /* false after bench_failed() */

/* Only the queueing, while the other side is awake because it has just worked. */
static double time_enqueue(step enqueue, step wait)
{
    double queueing = 0;
    for (int burst = 0; burst <= BURSTS; burst++) {
        uint64_t begin = bench_now();
        for (int i = 0; i < BURST; i++)
            if (!enqueue())
                return (double)NAN;
        queueing += burst == 0 ? 0 : bench_since(begin, BURST);
        if (!wait())
            return (double)NAN;
    }
    return queueing / BURSTS;
}

/* `batch` launches and one wait, again and again. */
static double time_batches(step enqueue, step wait, size_t batch, size_t batches)
{
    uint64_t begin = 0;
    for (size_t i = 0; i <= batches; i++) {
        begin = i == 1 ? bench_now() : begin;
        for (size_t k = 0; k < batch; k++)
            if (!enqueue())
                return (double)NAN;
        if (!wait())
            return (double)NAN;
    }
    return bench_since(begin, batch * batches);
}

/* One launch and one wait, each time after everybody has gone to sleep. */
static double time_parked(step enqueue, step wait)
{
    enum { TIMES = 20 };
    double total = 0;
    for (int i = 0; i < TIMES; i++) {
        bench_spin(PARK_NS);
        uint64_t begin = bench_now();
        if (!enqueue() || !wait())
            return (double)NAN;
        total += bench_since(begin, 1);
    }
    return total / TIMES;
}

/* ---- samples ---- */

static double ours_enqueue(const bench_row *row)
{
    (void)row;
    return time_enqueue(launch, synchronize);
}

static double opencl_enqueue(const bench_row *row)
{
    (void)row;
    return time_enqueue(opencl_launch, bench_opencl_finish);
}

static double ours_batch(const bench_row *row)
{
    return time_batches(launch, synchronize, row->argument, 20000 / row->argument);
}

static double opencl_batch(const bench_row *row)
{
    return time_batches(opencl_launch, bench_opencl_finish, row->argument, 3000 / row->argument);
}

static double ours_parked(const bench_row *row)
{
    (void)row;
    return time_parked(launch, synchronize);
}

static double opencl_parked(const bench_row *row)
{
    (void)row;
    return time_parked(opencl_launch, bench_opencl_finish);
}

static bool handoff(void)
{
    bench_handoff();
    return true;
}

static bool nothing(void)
{
    return true;
}

static double handoff_parked(const bench_row *row)
{
    (void)row;
    return time_parked(handoff, nothing);
}

static bool region(void)
{
    bench_openmp_empty();
    return true;
}

static double openmp_region(const bench_row *row)
{
    (void)row;
    return time_batches(region, nothing, 1, 2000);
}

static const bench_row rows[] = {
    {.name = "launch/enqueue",
     .unit = BENCH_UNIT_NS,
     .bar = {BENCH_BAR_TIME, 50},
     .ours = {"accel", ours_enqueue, NULL},
     .opponents = {{"PoCL enqueue", opencl_enqueue, bench_opencl_missing}}},
    {.name = "launch/synchronize, spinning",
     .unit = BENCH_UNIT_NS,
     .bar = {BENCH_BAR_TIME, 200},
     .argument = 1,
     .ours = {"accel", ours_batch, NULL},
     .opponents = {{"libgomp empty region", openmp_region, bench_openmp_missing},
                   {"PoCL enqueue + finish", opencl_batch, bench_opencl_missing}}},
    {.name = "launch/synchronize, parked",
     .unit = BENCH_UNIT_US,
     .bar = {BENCH_BAR_TIME, 3000},
     .ours = {"accel", ours_parked, NULL},
     .opponents = {{"futex hand-off", handoff_parked, NULL},
                   {"PoCL enqueue + finish", opencl_parked, bench_opencl_missing}}},
    {.name = "launch/batch of 1000, per kernel",
     .unit = BENCH_UNIT_NS,
     .bar = {BENCH_BAR_TIME, 40},
     .argument = 1000,
     .ours = {"accel", ours_batch, NULL},
     .opponents = {{"PoCL enqueue + finish", opencl_batch, bench_opencl_missing}}},
};

const bench_topic bench_topic_launch = {"launch", rows, sizeof(rows) / sizeof(rows[0]), setup,
                                        teardown};
