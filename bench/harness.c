/* SPDX-License-Identifier: MIT
 * harness.c: takes the samples of a topic's rows, in turns, and keeps the medians.
 */
#include "harness.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BENCH_MAX_SIDES = BENCH_MAX_OPPONENTS + 1 };

/* Other sides' threads spin for some milliseconds after their last work (libgomp's do). */
#define SETTLE_NS UINT64_C(15000000)

static char failure[160];

/* The samples of one side. */
typedef struct side_samples {
    const bench_side *side;
    double *values;
    double median;
    char note[160]; /* "" while all is well */
} side_samples;

uint64_t bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void bench_spin(uint64_t duration_ns)
{
    uint64_t end = bench_now() + duration_ns;
    while (bench_now() < end) {
    }
}

void bench_sleep(uint64_t duration_ns)
{
    struct timespec duration = {(time_t)(duration_ns / UINT64_C(1000000000)),
                                (long)(duration_ns % UINT64_C(1000000000))};
    nanosleep(&duration, NULL);
}

double bench_since(uint64_t begin, size_t count)
{
    return (double)(bench_now() - begin) / (double)count;
}

double bench_failed(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(failure, sizeof(failure), format, values);
    va_end(values);
    return (double)NAN;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    size_t middle = count / 2;
    return count % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/* ---- samples of one row ---- */

static bool side_open(side_samples *samples, const bench_side *side, unsigned repeat)
{
    *samples = (side_samples){.side = side, .median = (double)NAN};
    samples->values = calloc(repeat, sizeof(double));
    if (samples->values == NULL)
        return false;
    const char *reason = side->missing != NULL ? side->missing() : NULL;
    if (reason != NULL)
        snprintf(samples->note, sizeof(samples->note), "skipped: %s", reason);
    return true;
}

static void side_take(side_samples *samples, const bench_row *row, unsigned turn)
{
    if (samples->note[0] != '\0')
        return;
    bench_sleep(SETTLE_NS);
    double value = samples->side->sample(row);
    if (isnan(value))
        snprintf(samples->note, sizeof(samples->note), "failed: %.150s", failure);
    else
        samples->values[turn] = value;
}

static void side_finish(side_samples *samples, unsigned repeat)
{
    if (samples->note[0] == '\0')
        samples->median = bench_median(samples->values, repeat);
}

static size_t collect_sides(const bench_row *row, const bench_side *sides[BENCH_MAX_SIDES])
{
    size_t count = 0;
    sides[count++] = &row->ours;
    for (size_t i = 0; i < BENCH_MAX_OPPONENTS && row->opponents[i].sample != NULL; i++)
        sides[count++] = &row->opponents[i];
    return count;
}

/* ---- results ---- */

static bench_result *results_add(bench_results *results)
{
    if (results->count == results->capacity) {
        size_t capacity = results->capacity == 0 ? 64 : results->capacity * 2;
        bench_result *items = realloc(results->items, capacity * sizeof(*items));
        if (items == NULL)
            return NULL;
        results->items = items;
        results->capacity = capacity;
    }
    bench_result *result = &results->items[results->count++];
    *result = (bench_result){.ours_ns = (double)NAN, .theirs_ns = (double)NAN};
    return result;
}

static void add_pair(bench_results *results, const bench_row *row, const side_samples *ours,
                     const side_samples *theirs)
{
    bench_result *result = results_add(results);
    if (result == NULL)
        return;
    result->row = row;
    result->opponent = theirs->side->name;
    result->ours_ns = ours->median;
    result->theirs_ns = theirs->median;
    const char *note = ours->note[0] != '\0' ? ours->note : theirs->note;
    snprintf(result->note, sizeof(result->note), "%s", note);
}

void bench_results_free(bench_results *results)
{
    free(results->items);
    *results = (bench_results){0};
}

static void measure_row(const bench_row *row, unsigned repeat, bench_results *results)
{
    const bench_side *sides[BENCH_MAX_SIDES];
    side_samples samples[BENCH_MAX_SIDES] = {{0}};
    size_t count = collect_sides(row, sides);
    bool opened = true;

    for (size_t i = 0; i < count; i++)
        opened = side_open(&samples[i], sides[i], repeat) && opened;
    for (unsigned turn = 0; opened && turn < repeat; turn++)
        for (size_t i = 0; i < count; i++)
            side_take(&samples[i], row, turn);
    for (size_t i = 0; opened && i < count; i++)
        side_finish(&samples[i], repeat);
    for (size_t i = 1; opened && i < count; i++)
        add_pair(results, row, &samples[0], &samples[i]);
    for (size_t i = 0; i < count; i++)
        free(samples[i].values);
}

/* ---- topics ---- */

static bool wanted(const bench_row *row, const bench_settings *settings)
{
    return settings->filter == NULL || strstr(row->name, settings->filter) != NULL;
}

static size_t count_wanted(const bench_topic *topic, const bench_settings *settings)
{
    size_t count = 0;
    for (size_t i = 0; i < topic->row_count; i++)
        count += wanted(&topic->rows[i], settings) ? 1 : 0;
    return count;
}

/* The rows of a topic that could not be set up are in the report all the same, with the reason. */
static void add_failed(const bench_row *row, bench_results *results)
{
    for (size_t i = 0; i < BENCH_MAX_OPPONENTS && row->opponents[i].sample != NULL; i++) {
        bench_result *result = results_add(results);
        if (result != NULL) {
            result->row = row;
            result->opponent = row->opponents[i].name;
            snprintf(result->note, sizeof(result->note), "failed: %s", failure);
        }
    }
}

void bench_run_topic(const bench_topic *topic, const bench_settings *settings,
                     bench_results *results)
{
    if (count_wanted(topic, settings) == 0)
        return;
    bool ready = topic->setup == NULL || topic->setup();
    for (size_t i = 0; i < topic->row_count; i++) {
        const bench_row *row = &topic->rows[i];
        if (!wanted(row, settings))
            continue;
        if (settings->show_progress)
            fprintf(stderr, "%s\n", row->name);
        if (ready)
            measure_row(row, settings->repeat, results);
        else
            add_failed(row, results);
    }
    if (topic->teardown != NULL)
        topic->teardown();
}
