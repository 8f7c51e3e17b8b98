/* options.h: the rules for structs that begin with struct_size, in both directions. Writing out structs is
 * base/out_struct.h. */
#ifndef ACCEL_CORE_OPTIONS_H
#define ACCEL_CORE_OPTIONS_H

#include <accel/status.h>

#include "base/out_struct.h"

/* Copies the caller's options over *known (zeroed by the caller; `known_size` bytes): NULL leaves the
 * defaults; a shorter struct leaves the rest; a longer one must have a zero tail. */
accel_status accel__options_read(const void *given, void *known, size_t known_size,
                                 const char *function);

/* For out structs: checks that `out` is there and its struct_size plausible (at least 8). */
accel_status accel__out_check(const void *out, const char *function);

#endif
