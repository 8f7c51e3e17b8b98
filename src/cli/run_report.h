/* run_report.h: what `accel run` prints with --time and --json. Called by run only. */
#ifndef ACCEL_CLI_RUN_REPORT_H
#define ACCEL_CLI_RUN_REPORT_H

#include "cli/job.h"

typedef struct accel__run_report {
    accel_device device;
    const char *file;
    const accel__job *job;
    const uint64_t *items; /* work-items in three dimensions */
} accel__run_report;

accel__exit accel__run_report_text(const accel__run_report *report);
accel__exit accel__run_report_json(const accel__run_report *report);

#endif
