/* visible.h: ACCEL_VISIBLE_DEVICES: which devices the program may see, and in which order.
 *
 * A comma-separated list; blanks around entries are ignored. An entry is "NAME:INDEX" (as `accel list`
 * prints it without this variable), "NAME" (all of a backend's devices), a UUID, a prefix of one that
 * fits one device only, or a bus address. Unset: all. Empty or blank: none. Order is kept within a
 * backend; indices are given anew from 0. What fits nothing, or repeats, is left out and reported. */
#ifndef ACCEL_CORE_VISIBLE_H
#define ACCEL_CORE_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What identifies a candidate. */
typedef struct accel__identity {
    const char *uuid;
    const char *bus_address;
} accel__identity;

/* Applies `list` (NULL: unset) to the `count` devices of backend `name`: writes the chosen ones, in
 * order, as positions into `out_chosen` (room for `count`), returns how many. `identify` is asked only
 * where an entry is no name. `is_backend` tells names of backends. Problems that concern this backend
 * go to `problem` ("" for none). */
int32_t accel__visible_apply(const char *list, const char *name, int32_t count,
                             accel__identity (*identify)(int32_t position, void *user), void *user,
                             bool (*is_backend)(const char *name, size_t size), int32_t *out_chosen,
                             char *problem, size_t problem_size);

#endif
