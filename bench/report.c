/* SPDX-License-Identifier: MIT
 * report.c: the table and the JSON file.
 */
#include "report.h"

#include <jansson.h>
#include <libsmartcols.h>
#include <math.h>
#include <stdlib.h>

static const struct {
    const char *name;
    double nanoseconds;
} units[] = {
    [BENCH_UNIT_NS] = {"ns", 1.0}, [BENCH_UNIT_US] = {"us", 1e3}, [BENCH_UNIT_MS] = {"ms", 1e6}};

static double in_unit(const bench_result *result, double nanoseconds)
{
    return nanoseconds / units[result->row->unit].nanoseconds;
}

/* How many times as fast as the opponent. */
static double ratio_of(const bench_result *result)
{
    return result->theirs_ns / result->ours_ns;
}

typedef enum verdict { VERDICT_UNKNOWN, VERDICT_MET, VERDICT_MISSED } verdict;

static verdict judge(const bench_result *result)
{
    const bench_bar *bar = &result->row->bar;
    double value = bar->kind == BENCH_BAR_RATIO   ? ratio_of(result)
                   : bar->kind == BENCH_BAR_ABOVE ? result->ours_ns - result->theirs_ns
                                                  : result->ours_ns;
    if (bar->kind == BENCH_BAR_NONE || isnan(value))
        return VERDICT_UNKNOWN;
    bool met = bar->kind == BENCH_BAR_RATIO ? value >= bar->value : value <= bar->value;
    return met ? VERDICT_MET : VERDICT_MISSED;
}

static void format_bar(const bench_result *result, char *text, size_t size)
{
    const bench_bar *bar = &result->row->bar;
    if (bar->kind == BENCH_BAR_TIME) {
        snprintf(text, size, "<= %g %s", in_unit(result, bar->value),
                 units[result->row->unit].name);
    } else if (bar->kind == BENCH_BAR_RATIO) {
        snprintf(text, size, ">= %g x", bar->value);
    } else if (bar->kind == BENCH_BAR_ABOVE) {
        snprintf(text, size, "<= + %g %s", in_unit(result, bar->value),
                 units[result->row->unit].name);
    } else {
        snprintf(text, size, "-");
    }
}

/* Three significant digits, without an exponent. */
static void format_figure(double value, char *text, size_t size)
{
    if (isnan(value)) {
        snprintf(text, size, "-");
        return;
    }
    int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
    snprintf(text, size, "%.*f", decimals, value);
}

/* ---- the table ---- */

enum column { NAME, UNIT, OURS, OPPONENT, THEIRS, RATIO, BAR, MET, NOTE };

static bool add_columns(struct libscols_table *table)
{
    static const struct {
        const char *title;
        int flags;
    } columns[] = {{"row", 0},
                   {"unit", 0},
                   {"ours", SCOLS_FL_RIGHT},
                   {"opponent", 0},
                   {"theirs", SCOLS_FL_RIGHT},
                   {"ratio", SCOLS_FL_RIGHT},
                   {"bar", 0},
                   {"met", 0},
                   {"note", 0}};
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        if (scols_table_new_column(table, columns[i].title, 0, columns[i].flags) == NULL)
            return false;
    return true;
}

static bool add_line(struct libscols_table *table, const bench_result *result)
{
    static const char *const verdicts[] = {
        [VERDICT_UNKNOWN] = "-", [VERDICT_MET] = "yes", [VERDICT_MISSED] = "NO"};
    struct libscols_line *line = scols_table_new_line(table, NULL);
    if (line == NULL)
        return false;
    char ours[32];
    char theirs[32];
    char ratio[32];
    char bar[48];
    format_figure(in_unit(result, result->ours_ns), ours, sizeof(ours));
    format_figure(in_unit(result, result->theirs_ns), theirs, sizeof(theirs));
    format_figure(ratio_of(result), ratio, sizeof(ratio));
    format_bar(result, bar, sizeof(bar));
    const char *const cells[] = {[NAME] = result->row->name,
                                 [UNIT] = units[result->row->unit].name,
                                 [OURS] = ours,
                                 [OPPONENT] = result->opponent,
                                 [THEIRS] = theirs,
                                 [RATIO] = ratio,
                                 [BAR] = bar,
                                 [MET] = verdicts[judge(result)],
                                 [NOTE] = result->note};
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
        if (scols_line_set_data(line, i, cells[i]) != 0)
            return false;
    return true;
}

bool bench_report_table(const bench_results *results, FILE *stream)
{
    scols_init_debug(0);
    struct libscols_table *table = scols_new_table();
    if (table == NULL)
        return false;
    scols_table_set_stream(table, stream);
    scols_table_enable_nowrap(table, 1);
    bool written = add_columns(table);
    for (size_t i = 0; written && i < results->count; i++)
        written = add_line(table, &results->items[i]);
    written = written && scols_print_table(table) == 0;
    scols_unref_table(table);
    return written;
}

/* ---- JSON ---- */

static json_t *figure(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

static json_t *row_object(const bench_result *result)
{
    char bar[48];
    format_bar(result, bar, sizeof(bar));
    verdict met = judge(result);
    json_t *object = json_pack("{s:s, s:s, s:o}", "name", result->row->name, "unit",
                               units[result->row->unit].name, "ours",
                               figure(in_unit(result, result->ours_ns)));
    json_object_set_new(object, "opponent", json_string(result->opponent));
    json_object_set_new(object, "theirs", figure(in_unit(result, result->theirs_ns)));
    json_object_set_new(object, "ratio", figure(ratio_of(result)));
    json_object_set_new(object, "bar", json_string(bar));
    json_object_set_new(object, "met",
                        met == VERDICT_UNKNOWN ? json_null() : json_boolean(met == VERDICT_MET));
    json_object_set_new(object, "note", json_string(result->note));
    return object;
}

bool bench_report_json(const bench_results *results, const char *path)
{
    json_t *rows = json_array();
    bool built = rows != NULL;
    for (size_t i = 0; built && i < results->count; i++)
        built = json_array_append_new(rows, row_object(&results->items[i])) == 0;
    bool written = built &&
                   json_dump_file(rows, path, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) == 0;
    json_decref(rows);
    return written;
}
