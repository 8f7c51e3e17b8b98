/* diagnostic.h: messages about the user's source, in the form of compilers:
 * "FILE:LINE: error: TEXT". They become the build log; the first error goes into the record. */
#ifndef ACCEL_KERNEL_DIAGNOSTIC_H
#define ACCEL_KERNEL_DIAGNOSTIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

typedef struct accel__diagnostics {
    accel__text log;
    uint32_t error_count;
    uint32_t warning_count;
    bool out_of_memory; /* the log may lack lines */
} accel__diagnostics;

void accel__diagnose_error(accel__diagnostics *diagnostics, const char *file, uint32_t line,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));
void accel__diagnose_warning(accel__diagnostics *diagnostics, const char *file, uint32_t line,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));
void accel__diagnostics_release(accel__diagnostics *diagnostics);

#endif
