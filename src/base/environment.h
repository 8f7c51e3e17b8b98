/* environment.h: ACCEL_… variables. Those that name a path or a program go through
 * accel__environment_path, which ignores them in set-user-id programs. */
#ifndef ACCEL_BASE_ENVIRONMENT_H
#define ACCEL_BASE_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

/* The value, or NULL where unset or empty. Lent until the program changes its environment. */
const char *accel__environment_get(const char *name);

/* As above, but NULL in a set-user-id or set-group-id program (secure_getenv). */
const char *accel__environment_path(const char *name);

/* Parses an unsigned decimal. Unset gives `fallback` and true. Anything that is not a plain number
 * in [minimum, maximum] gives `fallback` and false. */
bool accel__environment_number(const char *name, uint64_t minimum, uint64_t maximum,
                               uint64_t fallback, uint64_t *out_value);

#endif
