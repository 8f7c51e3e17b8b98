/* array.h: growth of a plain array held as (items, count, capacity). */
#ifndef ACCEL_BASE_ARRAY_H
#define ACCEL_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for `extra` more items of `item_size` bytes. False: no memory, nothing changed. */
bool accel__array_reserve(void **items, size_t *capacity, size_t count, size_t extra,
                          size_t item_size);

#endif
