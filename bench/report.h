/* SPDX-License-Identifier: MIT
 * report.h: writes what was measured, as a table for people and as JSON for programs.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "harness.h"

#include <stdio.h>

/* The table: ours, theirs, their ratio (above 1: ours is faster), the bar and whether it is met. */
bool bench_report_table(const bench_results *results, FILE *stream);

/* An array of one object a row. Figures that could not be had are null. */
bool bench_report_json(const bench_results *results, const char *path);

#endif
