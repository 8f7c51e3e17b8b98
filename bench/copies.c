/* SPDX-License-Identifier: MIT
 * copies.c: copies from the host to the device beside memcpy between the same two places: many queued
 * behind each other with one wait, and single ones.
 */
#include "device.h"
#include "topics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define LARGEST (64 * MIB)

/* Bytes that one sample copies. */
#define SAMPLE_SIZE (256 * MIB)

/* A row's argument is the size, with this bit for single copies. */
#define SINGLE (UINT64_C(1) << 40)

static accel_stream *stream;
static void *source;
static void *destination;

static bool setup(void)
{
    source = malloc(LARGEST);
    if (source == NULL) {
        bench_failed("no memory");
        return false;
    }
    memset(source, 1, LARGEST);
    if (!bench_stream(&stream) || !bench_alloc(LARGEST, &destination))
        return false;
    bool copied = bench_ok(accel_copy(destination, source, LARGEST, stream)) &&
                  bench_ok(accel_stream_synchronize(stream));
    if (copied && memcmp(destination, source, LARGEST) != 0) {
        bench_failed("the copy differs");
        return false;
    }
    return copied;
}

static void teardown(void)
{
    bench_ok(accel_memory_free(destination));
    free(source);
}

static size_t size_of(const bench_row *row)
{
    return row->argument & ~SINGLE;
}

/* Copies in a batch that one wait follows. */
static size_t batch_of(const bench_row *row)
{
    size_t queued = LARGEST / size_of(row);
    return (row->argument & SINGLE) != 0 ? 1 : queued < 256 ? queued : 256;
}

static bool copy_batch(size_t size, size_t batch)
{
    accel_status status = ACCEL_OK;
    for (size_t i = 0; i < batch && status == ACCEL_OK; i++)
        status = accel_copy(destination, source, size, stream);
    return bench_ok(status) && bench_ok(accel_stream_synchronize(stream));
}

/* The compiler must not see that the same bytes are copied again and again. */
static bool memcpy_batch(size_t size, size_t batch)
{
    for (size_t i = 0; i < batch; i++) {
        memcpy(destination, source, size);
        __asm__ volatile("" ::"r"(destination) : "memory");
    }
    return true;
}

static double time_copies(const bench_row *row, bool (*copy)(size_t size, size_t batch))
{
    size_t size = size_of(row);
    size_t batch = batch_of(row);
    size_t batches = SAMPLE_SIZE / size / batch;
    uint64_t begin = 0;
    for (size_t i = 0; i <= batches; i++) {
        begin = i == 1 ? bench_now() : begin;
        if (!copy(size, batch))
            return (double)NAN;
    }
    return bench_since(begin, batch * batches);
}

static double ours(const bench_row *row)
{
    return time_copies(row, copy_batch);
}

static double theirs(const bench_row *row)
{
    return time_copies(row, memcpy_batch);
}

#define ROW(text, size)                                                                            \
    {                                                                                              \
        .name = "copies/" text, .unit = BENCH_UNIT_US, .bar = {BENCH_BAR_RATIO, 0.98},             \
        .argument = (size), .ours = {"accel", ours, NULL}, .opponents = {                          \
            {"memcpy", theirs, NULL}                                                               \
        }                                                                                          \
    }

static const bench_row rows[] = {
    ROW("queued, 64 KiB", 64 * KIB),
    ROW("queued, 1 MiB", MIB),
    ROW("queued, 16 MiB", 16 * MIB),
    ROW("single, 4 MiB", SINGLE | (4 * MIB)),
    ROW("single, 16 MiB", SINGLE | (16 * MIB)),
    ROW("single, 64 MiB", SINGLE | (64 * MIB)),
};

const bench_topic bench_topic_copies = {"copies", rows, sizeof(rows) / sizeof(rows[0]), setup,
                                        teardown};
