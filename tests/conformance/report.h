/* report.h: what accel-conformance says: a line or a JSON object for each result, and the exceptions
 * that a backend declares. The program must run where nothing is installed, hence its own small JSON. */
#ifndef TESTS_CONFORMANCE_REPORT_H
#define TESTS_CONFORMANCE_REPORT_H

#include "conformance.h"

/* Lines of "BACKEND TEST REASON"; empty ones and those that begin with # are passed over. False: errno
 * says why, or is 0 where a line is not of that form. */
bool report_read_exceptions(const char *path);

void report_begin(bool json);

/* A failure that is an exception counts as skipped, with its reason; an exception that passes is
 * stale, and a failure. */
void report_result(const char *device, const char *backend, const char *test, cf_result result,
                   const char *reason);

/* Prints the closing line; the program's exit status. */
int report_end(void);

#endif
