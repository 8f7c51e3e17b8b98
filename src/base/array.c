/* array.c: doubling growth, checked for overflow. */
#include "base/array.h"

#include <stdint.h>

#include "base/allocate.h"

bool accel__array_reserve(void **items, size_t *capacity, size_t count, size_t extra,
                          size_t item_size)
{
    if (extra > SIZE_MAX - count)
        return false;
    const size_t wanted = count + extra;
    if (wanted <= *capacity)
        return true;
    size_t grown = *capacity < 8 ? 8 : *capacity;
    while (grown < wanted)
        grown = grown > SIZE_MAX / 2 ? wanted : grown * 2;
    if (grown > SIZE_MAX / item_size)
        return false;
    void *larger = accel__reallocate(*items, grown * item_size);
    if (larger == NULL)
        return false;
    *items = larger;
    *capacity = grown;
    return true;
}
