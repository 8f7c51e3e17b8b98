/* SPDX-License-Identifier: MIT
 * harness.h: what a benchmark is made of. A topic is a file with a table of rows; a row is one figure
 * of ours beside one or more opponents. All sides of a row are measured in the same run, in turns
 * (A B C A B C …), and each figure is the median of its samples: on a shared machine only the ratio of
 * two such medians means anything.
 *
 * Samples run on the main thread, one at a time, so topics keep their objects in file statics.
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_MAX_OPPONENTS 3

typedef struct bench_row bench_row;

/* One sample: nanoseconds for one operation, or what bench_failed() returns. It warms up what it
 * measures by itself: another side has run in between. */
typedef double (*bench_sample)(const bench_row *row);

/* Why a side cannot be measured here, or NULL where it can. Static text. */
typedef const char *(*bench_missing)(void);

typedef struct bench_side {
    const char *name;
    bench_sample sample;
    bench_missing missing; /* NULL: it always can */
} bench_side;

typedef enum bench_bar_kind {
    BENCH_BAR_NONE = 0,
    BENCH_BAR_TIME,  /* ours takes at most so many nanoseconds */
    BENCH_BAR_RATIO, /* ours is at least so many times as fast as the opponent */
    BENCH_BAR_ABOVE  /* ours takes at most so many nanoseconds more than the opponent */
} bench_bar_kind;

typedef struct bench_bar {
    bench_bar_kind kind;
    double value;
} bench_bar;

typedef enum bench_unit { BENCH_UNIT_NS, BENCH_UNIT_US, BENCH_UNIT_MS } bench_unit;

struct bench_row {
    const char *name;
    bench_unit unit; /* of the report only: samples are in nanoseconds */
    bench_bar bar;
    size_t argument; /* the row's own parameter, for samples that serve several rows */
    bench_side ours;
    bench_side opponents[BENCH_MAX_OPPONENTS]; /* up to the first without a sample */
};

typedef struct bench_topic {
    const char *name;
    const bench_row *rows;
    size_t row_count;
    bool (*setup)(void); /* false after bench_failed(): no row of the topic is measured */
    void (*teardown)(void);
} bench_topic;

/* One line of the report: a row against one opponent. A figure that could not be had is NAN, and
 * `note` says why. */
typedef struct bench_result {
    const bench_row *row;
    const char *opponent;
    double ours_ns;
    double theirs_ns;
    char note[192];
} bench_result;

typedef struct bench_results {
    bench_result *items;
    size_t count;
    size_t capacity;
} bench_results;

typedef struct bench_settings {
    const char *filter; /* only rows whose name contains this; NULL: all */
    unsigned repeat;    /* samples of each side */
    bool show_progress; /* name each row on stderr as it begins */
} bench_settings;

/* Measures the rows of the topic that the filter asks for, and adds them to `results`. */
void bench_run_topic(const bench_topic *topic, const bench_settings *settings,
                     bench_results *results);

void bench_results_free(bench_results *results);

/* Remembers what went wrong, for the note of the row; returns NAN. */
double bench_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Monotonic time in nanoseconds. */
uint64_t bench_now(void);

/* Keeps the CPU busy for so long: time passes, and workers that wait for work go to sleep. */
void bench_spin(uint64_t duration_ns);

void bench_sleep(uint64_t duration_ns);

/* Nanoseconds for each of `count` operations since `begin`. */
double bench_since(uint64_t begin, size_t count);

/* Sorts `values`. */
double bench_median(double *values, size_t count);

#endif
