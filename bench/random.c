/* SPDX-License-Identifier: MIT
 * random.c: random numbers into a buffer of 256 KiB on one core: each of the cpu backend's paths, in a
 * process of its own (random_fill.c), beside Random123's Philox, the C library's functions over the same
 * words, and NumPy.
 */
#include "random_others.h"
#include "topics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 3 };

static const char *const kinds[KINDS] = {"raw", "uniform", "normal"};
static const char *const paths[] = {"avx512", "avx2", "portable"};

static uint32_t buffer[BENCH_RANDOM_COUNT];

/* ---- ours ---- */

/* A command that prints one number. */
static double ask(const char *command)
{
    char line[64] = "";
    char *end = line;
    FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): text of our own */
    const bool answered = pipe != NULL && fgets(line, sizeof line, pipe) != NULL;
    const int status = pipe != NULL ? pclose(pipe) : -1;
    const double value = strtod(line, &end);
    return answered && status == 0 && end != line ? value : (double)NAN;
}

/* `argument` is KINDS * path + kind. */
static double ours(const bench_row *row)
{
    char command[512];
    snprintf(command, sizeof command, "ACCEL_CPU_THREADS=1 ACCEL_CPU_SIMD=%s '%s' %s",
             paths[row->argument / KINDS], BENCH_RANDOM_FILL, kinds[row->argument % KINDS]);
    const double value = ask(command);
    return isnan(value) ? bench_failed("'%s' failed or has not this path", command) : value;
}

/* ---- others ---- */

/* Enough fills that the clock does not matter. */
static double time_fills(void (*fill)(uint32_t *out, size_t count, uint64_t block))
{
    enum { FILLS = 20 };
    uint64_t begin = 0;
    for (int i = -2; i < FILLS; i++) {
        begin = i == 0 ? bench_now() : begin;
        fill(buffer, BENCH_RANDOM_COUNT, (uint64_t)(i + 2) * BENCH_RANDOM_COUNT);
    }
    return bench_since(begin, FILLS);
}

static double random123(const bench_row *row)
{
    return time_fills(row->argument % KINDS == 0 ? bench_random123_raw : bench_random123_uniform);
}

static const char *random123_missing(void)
{
    return bench_random123_is_there() ? NULL : "not installed (Debian: librandom123-dev)";
}

static double libm(const bench_row *row)
{
    (void)row;
    return time_fills(bench_libm_normal);
}

static const char *numpy_missing(void)
{
    return system("python3 -c 'import numpy' > /dev/null 2>&1") == 0 /* NOLINT(cert-env33-c) */
               ? NULL
               : "not installed";
}

static double numpy(const bench_row *row)
{
    static const char *const calls[KINDS] = {
        "g.integers(0, 2**32 - 1, 65536, dtype=numpy.uint32, endpoint=True)",
        "g.random(dtype=numpy.float32, out=b)", "g.standard_normal(dtype=numpy.float32, out=b)"};
    char command[512];
    snprintf(
        command, sizeof command,
        "python3 -c 'import numpy, timeit; g = numpy.random.Generator(numpy.random.Philox(1)); "
        "b = numpy.empty(65536, numpy.float32); "
        "print(min(timeit.repeat(lambda: %s, number=20, repeat=5)) / 20 * 1e9)'",
        calls[row->argument % KINDS]);
    const double value = ask(command);
    return isnan(value) ? bench_failed("python3 failed") : value;
}

/* The bar: nanoseconds for 65536 numbers at so many thousand millions a second. */
#define RATE(per_ns)                                                                               \
    {                                                                                              \
        BENCH_BAR_TIME, BENCH_RANDOM_COUNT / (per_ns)                                              \
    }
#define WORDS_ROW(path, kind, text, bar_of)                                                        \
    {                                                                                              \
        .name = "random/" text ", 256 KiB, one core", .unit = BENCH_UNIT_US, .bar = bar_of,        \
        .argument = KINDS * (path) + (kind), .ours = {"accel", ours, NULL},                        \
        .opponents = {{"Random123", random123, random123_missing},                                 \
                      {"NumPy", numpy, numpy_missing}},                                            \
    }
#define NORMAL_ROW(path, text, bar_of)                                                             \
    {                                                                                              \
        .name = "random/" text ", 256 KiB, one core", .unit = BENCH_UNIT_US, .bar = bar_of,        \
        .argument = KINDS * (path) + 2, .ours = {"accel", ours, NULL},                             \
        .opponents = {{"libm", libm, NULL}, {"NumPy", numpy, numpy_missing}},                      \
    }
#define NO_BAR                                                                                     \
    {                                                                                              \
        BENCH_BAR_NONE, 0                                                                          \
    }

static const bench_row rows[] = {
    WORDS_ROW(0, 0, "raw u32, AVX-512", RATE(1.6)),
    WORDS_ROW(0, 1, "uniform f32, AVX-512", RATE(1.6)),
    WORDS_ROW(1, 0, "raw u32, AVX2", RATE(1.0)),
    WORDS_ROW(1, 1, "uniform f32, AVX2", RATE(1.0)),
    WORDS_ROW(2, 0, "raw u32, portable", RATE(0.4)),
    WORDS_ROW(2, 1, "uniform f32, portable", RATE(0.4)),
    NORMAL_ROW(0, "normal f32, AVX-512", RATE(0.7)),
    NORMAL_ROW(1, "normal f32, AVX2", RATE(0.4)),
    NORMAL_ROW(2, "normal f32, portable", NO_BAR),
};

const bench_topic bench_topic_random = {"random", rows, sizeof(rows) / sizeof(rows[0]), NULL, NULL};
