/* out_struct.c: see out_struct.h. */
#include "base/out_struct.h"

#include <string.h>

/* Larger ones are taken for garbage rather than for a struct of the far future. */
enum { SIZE_LEAST = 8, SIZE_MOST = 4096 };

uint32_t accel__struct_size(const void *given)
{
    uint32_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

bool accel__struct_size_is_plausible(uint32_t size)
{
    return size >= SIZE_LEAST && size <= SIZE_MOST;
}

void accel__out_clear(void *out)
{
    const uint32_t size = accel__struct_size(out);
    memset((char *)out + sizeof size, 0, size - sizeof size);
}

void accel__out_write(void *out, const void *known, size_t known_size)
{
    const uint32_t size = accel__struct_size(out);
    accel__out_clear(out);
    const size_t common = size < known_size ? size : known_size;
    memcpy((char *)out + sizeof size, (const char *)known + sizeof size, common - sizeof size);
}
