/* visible.h: ACCEL_VISIBLE_DEVICES: which devices the program may see, and in which order.
 *
 * A comma-separated list; blanks around entries are ignored. An entry is "NAME:INDEX" (as `accel list`
 * prints it without this variable), "NAME" (all of a backend's devices), a UUID, a prefix of one that
 * fits one device only, or a bus address. Unset: all. Empty or blank: none. Order is kept within a
 * backend; indices are given anew from 0. What fits nothing or several devices, or repeats, is left out
 * and reported. */
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

/* What is wrong with the list, as far as one backend can tell. */
typedef struct accel__visible_problem {
    char text[256]; /* the first thing that certainly is wrong; "" for none */
    /* Bit i: entry i (of the first 64) names no backend and fits none of these devices. It is wrong
     * where that holds for every backend. */
    uint64_t strangers;
} accel__visible_problem;

/* Applies `list` (NULL: unset) to the `count` devices of backend `name`: writes the chosen ones, in
 * order, as positions into `out_chosen` (room for `count`), returns how many. `identify` is asked only
 * where an entry is no name. `is_backend` tells names of backends. */
int32_t accel__visible_apply(const char *list, const char *name, int32_t count,
                             accel__identity (*identify)(int32_t position, void *user), void *user,
                             bool (*is_backend)(const char *name, size_t size), int32_t *out_chosen,
                             accel__visible_problem *out_problem);

/* Writes what is wrong with the first of the `strangers` in `list`, or "". */
void accel__visible_blame(const char *list, uint64_t strangers, char *text, size_t capacity);

#endif
