/* SPDX-License-Identifier: MIT
 * main.c: the bench program: measures every row, or those asked for, and prints the table.
 * Exit status: 0; 1 where a row failed or a report could not be written; 2 for wrong usage. A bar that
 * is missed is no failure: on a busy machine it says nothing.
 */
#include "report.h"
#include "topics.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_REPEAT 15
#define MAX_REPEAT 10000

/* The first one needs a process in which nothing has started. */
static const bench_topic *const topics[] = {
    &bench_topic_start,    &bench_topic_launch,         &bench_topic_events, &bench_topic_memory,
    &bench_topic_graphs,   &bench_topic_copies,         &bench_topic_random, &bench_topic_loops,
    &bench_topic_barriers, &bench_topic_opencl_overhead};
#define TOPIC_COUNT (sizeof(topics) / sizeof(topics[0]))

static const char usage[] =
    "usage: accel-bench [--filter TEXT] [--repeat N] [--json FILE] [--list]\n"
    "  --filter TEXT  only rows whose name contains TEXT\n"
    "  --repeat N     samples of each side (default 15)\n"
    "  --json FILE    also write the rows to FILE\n"
    "  --list         print the names of the rows and measure nothing\n"
    "Ratio: how many times as fast as the opponent accel is.\n";

typedef struct options {
    bench_settings settings;
    const char *json_path;
    bool list;
} options;

static bool parse_repeat(const char *text, unsigned *out_repeat)
{
    char *end = NULL;
    unsigned long value = strtoul(text, &end, 10);
    *out_repeat = (unsigned)value;
    return end != text && *end == '\0' && value >= 1 && value <= MAX_REPEAT;
}

static bool parse_options(int argc, char **argv, options *out_options)
{
    static const struct option known[] = {
        {"filter", required_argument, NULL, 'f'}, {"repeat", required_argument, NULL, 'r'},
        {"json", required_argument, NULL, 'j'},   {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0}};
    int option = 0;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'f':
            out_options->settings.filter = optarg;
            break;
        case 'j':
            out_options->json_path = optarg;
            break;
        case 'l':
            out_options->list = true;
            break;
        case 'h':
            fputs(usage, stdout);
            exit(0);
        case 'r':
            if (!parse_repeat(optarg, &out_options->settings.repeat)) {
                fprintf(stderr, "--repeat takes a number from 1 to %d\n", MAX_REPEAT);
                return false;
            }
            break;
        default:
            return false;
        }
    }
    return optind == argc;
}

static void list_rows(void)
{
    for (size_t i = 0; i < TOPIC_COUNT; i++)
        for (size_t k = 0; k < topics[i]->row_count; k++)
            puts(topics[i]->rows[k].name);
}

static bool any_failed(const bench_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (strncmp(results->items[i].note, "failed", 6) == 0)
            return true;
    return false;
}

static bool report(const bench_results *results, const char *json_path)
{
    bool written = bench_report_table(results, stdout);
    if (json_path != NULL && !bench_report_json(results, json_path)) {
        fprintf(stderr, "cannot write %s\n", json_path);
        written = false;
    }
    return written;
}

int main(int argc, char **argv)
{
    options chosen = {.settings = {.repeat = DEFAULT_REPEAT}};
    chosen.settings.show_progress = isatty(STDERR_FILENO) != 0;
    if (!parse_options(argc, argv, &chosen)) {
        fputs(usage, stderr);
        return 2;
    }
    if (chosen.list) {
        list_rows();
        return 0;
    }
    bench_results results = {0};
    for (size_t i = 0; i < TOPIC_COUNT; i++)
        bench_run_topic(topics[i], &chosen.settings, &results);
    if (results.count == 0) {
        fprintf(stderr, "no row has \"%s\" in its name\n", chosen.settings.filter);
        return 2;
    }
    bool written = report(&results, chosen.json_path);
    bool failed = any_failed(&results);
    bench_results_free(&results);
    return written && !failed ? 0 : 1;
}
