/* number.h: numbers on the command line: no blanks, no rest, no silent cut, no locale. */
#ifndef ACCEL_CLI_NUMBER_H
#define ACCEL_CLI_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <accel/data_type.h>

/* A number of digits alone. On success *out_rest is what follows them. False: no digit, or more than
 * 64 bits. */
bool accel__parse_digits(const char *text, uint64_t *out_value, const char **out_rest);

/* The whole of `text` as such a number, from `least` to `most`; else false, and *out_value is as before. */
bool accel__parse_count(const char *text, uint64_t least, uint64_t most, uint64_t *out_value);

/* The whole of `text` as a value of `type`, written to `bytes` (of the type's size). Integers may be
 * hexadecimal (0x), floating-point numbers also inf and nan. False: not a number, or out of range. */
bool accel__parse_scalar(const char *text, accel_data_type type, void *bytes);

/* Whether accel__parse_scalar knows the type. */
bool accel__scalar_is_known(accel_data_type type);

#endif
