/* out_struct.h: the rules for structs that a caller lends to be filled, and that begin with struct_size:
 * they are written up to the caller's size. For the error record itself and, through core/options.h, for all
 * the others. */
#ifndef ACCEL_BASE_OUT_STRUCT_H
#define ACCEL_BASE_OUT_STRUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The size that the struct at `given` says it has. */
uint32_t accel__struct_size(const void *given);

/* False for sizes that no struct of ours has had or will have: such a struct was not set up. */
bool accel__struct_size_is_plausible(uint32_t size);

/* Zeroes all but struct_size. */
void accel__out_clear(void *out);

/* Writes *known (all but its struct_size) into the caller's struct, up to the caller's size; bytes of the
 * caller's that are not known here become zero. */
void accel__out_write(void *out, const void *known, size_t known_size);

#endif
