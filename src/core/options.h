/* options.h: the rules for what a caller lends: structs that begin with struct_size, in both directions, and
 * buffers. Writing out structs is
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

/* For an answer of `needed` bytes, or things, that goes into a buffer of the caller's: says in *out_needed (may
 * be NULL) what it takes. OUT_OF_RANGE: it does not fit, and nothing of it is written. With capacity 0 only the
 * size is asked: OK, and the caller of this writes nothing either. */
accel_status accel__buffer_check(const void *buffer, size_t capacity, size_t needed,
                                 size_t *out_needed, const char *function);

#endif
