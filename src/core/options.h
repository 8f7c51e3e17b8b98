/* options.h: the rules for structs that begin with struct_size, in both directions. */
#ifndef ACCEL_CORE_OPTIONS_H
#define ACCEL_CORE_OPTIONS_H

#include <accel/status.h>

/* Copies the caller's options over *known (zeroed by the caller; `known_size` bytes): NULL leaves the
 * defaults; a shorter struct leaves the rest; a longer one must have a zero tail. */
accel_status accel__options_read(const void *given, void *known, size_t known_size,
                                 const char *function);

/* For out structs: checks that `out` is there and its struct_size plausible (at least 8). */
accel_status accel__out_check(const void *out, const char *function);

/* Writes *known (its struct_size set by this call) into the caller's struct, up to the caller's size;
 * bytes of the caller's that are not known here become zero. */
void accel__out_write(void *out, const void *known, size_t known_size);

/* Zeroes all but struct_size. */
void accel__out_clear(void *out);

#endif
