/* neighbours.c: see neighbours.h. */
#include "memory/heap/neighbours.h"

#include "memory/cache.h"
#if __has_include("memory/heap/uses.h")
#include "memory/heap/uses.h"
#else
#define accel__uses_collect(device) ((void)(device), false)
#endif

bool accel__neighbours_flush(accel__device *device)
{
    if (accel__cache_bytes(device) == 0)
        return false;
    accel__cache_flush_all(device);
    return true;
}

void accel__neighbours_flush_mine(accel__device *device, size_t above)
{
    accel__cache_flush_mine(device, above);
}

bool accel__neighbours_collect(accel__device *device)
{
    return accel__uses_collect(device);
}

bool accel__neighbours_wait(accel__device *device)
{
    (void)accel__device_wait(device, "accel_memory_alloc");
    return accel__uses_collect(device);
}
