/* SPDX-License-Identifier: MIT
 * events.c: a mark on an idle stream and the question whether it has passed. Reading a clock is what
 * a mark with a time costs at least.
 */
#include "device.h"
#include "topics.h"

#include <math.h>
#include <time.h>

#define PAIRS 20000

static accel_stream *stream;
static accel_module *module;
static accel_event *untimed;
static accel_event *timed;

static bool create(bool timing, accel_event **out_event)
{
    accel_event_options options = {.struct_size = sizeof(options), .enable_timing = timing};
    return bench_ok(accel_event_create(bench_device(), &options, out_event));
}

/* The stream has done work before: its first use is not what is measured. */
static bool setup(void)
{
    accel_kernel *kernel = NULL;
    static const accel_launch_shape one_item = {{1, 1, 1}, {1, 1, 1}};
    return bench_stream(&stream) && bench_kernel_empty(&module, &kernel) &&
           bench_ok(accel_kernel_launch(kernel, stream, &one_item, NULL, 0)) &&
           bench_ok(accel_stream_synchronize(stream)) && create(false, &untimed) &&
           create(true, &timed);
}

static void teardown(void)
{
    accel_event_release(untimed);
    accel_event_release(timed);
    accel_module_release(module);
}

static bool pair(accel_event *event)
{
    bool done = false;
    accel_status status = accel_event_record(event, stream);
    if (status == ACCEL_OK)
        status = accel_event_query(event, &done);
    return status == ACCEL_OK || bench_ok(status);
}

static double ours(const bench_row *row)
{
    accel_event *event = row->argument != 0 ? timed : untimed;
    uint64_t begin = 0;
    for (int i = -PAIRS / 10; i < PAIRS; i++) {
        begin = i == 0 ? bench_now() : begin;
        if (!pair(event))
            return (double)NAN;
    }
    return bench_since(begin, PAIRS);
}

static double read_clock(const bench_row *row)
{
    (void)row;
    struct timespec now;
    uint64_t begin = 0;
    for (int i = -PAIRS / 10; i < PAIRS; i++) {
        begin = i == 0 ? bench_now() : begin;
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    return bench_since(begin, PAIRS);
}

static const bench_row rows[] = {
    {.name = "events/record + query, untimed",
     .unit = BENCH_UNIT_NS,
     .bar = {BENCH_BAR_TIME, 15},
     .argument = 0,
     .ours = {"accel", ours, NULL},
     .opponents = {{"clock_gettime", read_clock, NULL}}},
    {.name = "events/record + query, timed",
     .unit = BENCH_UNIT_NS,
     .bar = {BENCH_BAR_TIME, 60},
     .argument = 1,
     .ours = {"accel", ours, NULL},
     .opponents = {{"clock_gettime", read_clock, NULL}}},
};

const bench_topic bench_topic_events = {"events", rows, sizeof(rows) / sizeof(rows[0]), setup,
                                        teardown};
