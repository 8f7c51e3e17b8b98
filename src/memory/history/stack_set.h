/* stack_set.h: numbers of stacks, each once, in the order in which they came: what a snapshot or a
 * leak report refers to, with the names of all their frames. */
#ifndef ACCEL_MEMORY_HISTORY_STACK_SET_H
#define ACCEL_MEMORY_HISTORY_STACK_SET_H

#include "memory/history/symbols.h"

typedef struct accel__stack_set {
    uint32_t *numbers; /* none is 0 */
    size_t count;
    size_t capacity;
    uint32_t *cells; /* places + 1, found by hash; 0: empty */
    size_t cell_count;
    accel__symbols symbols;
} accel__stack_set;

/* Adds the number, if it is not 0 and not there. False: no host memory. */
bool accel__stack_set_add(accel__stack_set *set, uint32_t number);

/* The place in `numbers` of one that was added. */
size_t accel__stack_set_place(const accel__stack_set *set, uint32_t number);

/* Names all frames of the stacks that were added. False: no host memory. */
bool accel__stack_set_name(accel__stack_set *set);

void accel__stack_set_release(accel__stack_set *set);

#endif
