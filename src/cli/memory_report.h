/* memory_report.h: between the parts of `accel memory report`. */
#ifndef ACCEL_CLI_MEMORY_REPORT_H
#define ACCEL_CLI_MEMORY_REPORT_H

#include "cli/memory_summary.h"
#include "cli/memory_trace.h"

typedef struct accel__memory_report {
    const char *path;
    const accel__snapshot *snapshot;
    const accel__memory_summary *summary;
    const accel__trace *traces; /* one per device of the snapshot's history */
    size_t top;                 /* rows of holes and of stacks */
} accel__memory_report_content;

accel__exit accel__memory_report_print_tables(const accel__memory_report_content *report);
accel__exit accel__memory_report_print_json(const accel__memory_report_content *report);

/* "small", "large", "other"; static. */
const char *accel__segment_kind_name(accel__segment_kind kind);

#endif
