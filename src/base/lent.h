/* lent.h: the rules for what a caller lends to a call: structs that begin with their size (`uint32_t
 * struct_size`), in both directions, and buffers. */
#ifndef ACCEL_BASE_LENT_H
#define ACCEL_BASE_LENT_H

#include <accel/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- structs ---- */

/* The size that the struct at `given` says it has. */
uint32_t accel__struct_size(const void *given);

/* False for sizes that no struct of ours has had or will have: such a struct was not set up. */
bool accel__struct_size_is_plausible(uint32_t size);

/* Copies the caller's options over *known (zeroed by the caller; `known_size` bytes): NULL leaves the
 * defaults; a shorter struct leaves the rest; a longer one must have a zero tail. */
accel_status accel__options_read(const void *given, void *known, size_t known_size,
                                 const char *function);

/* For out structs: checks that `out` is there and its struct_size plausible (at least 8). */
accel_status accel__out_check(const void *out, const char *function);

/* Zeroes all but struct_size. */
void accel__out_clear(void *out);

/* Writes *known (all but its struct_size) into the caller's struct, up to the caller's size; bytes of the
 * caller's that are not known here become zero. */
void accel__out_write(void *out, const void *known, size_t known_size);

/* ---- buffers ---- */

/* For an answer of `needed` bytes, or things, that goes into a buffer of the caller's: says in *out_needed (may
 * be NULL) what it takes. OUT_OF_RANGE: it does not fit, and nothing of it is written. With capacity 0 only the
 * size is asked: OK, and the caller of this writes nothing either. */
accel_status accel__buffer_check(const void *buffer, size_t capacity, size_t needed,
                                 size_t *out_needed, const char *function);

#endif
