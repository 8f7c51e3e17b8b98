/* ranges.c: the allocations of a device in an array ordered by address: looked up at each translated
 * pointer, changed only by allocations. See memory.h. */
#include <string.h>

#include "backends/opencl/memory/memory.h"
#include "base/array.h"

/* How many ranges begin at or before `address`. With the mutex held. */
static size_t count_up_to(const accel__opencl_memory *memory, uintptr_t address)
{
    size_t low = 0;
    size_t high = memory->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (memory->ranges[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool accel__opencl_range_enter(accel__opencl_memory *memory, const accel__opencl_range *range)
{
    accel__mutex_lock(&memory->mutex);
    void *ranges = memory->ranges;
    const bool ok = accel__array_reserve(&ranges, &memory->capacity, memory->count, 1,
                                         sizeof *memory->ranges);
    memory->ranges = ranges;
    if (ok) {
        const size_t at = count_up_to(memory, range->begin);
        memmove(&memory->ranges[at + 1], &memory->ranges[at],
                (memory->count - at) * sizeof *memory->ranges);
        memory->ranges[at] = *range;
        memory->count++;
        memory->taken += range->size;
    }
    accel__mutex_unlock(&memory->mutex);
    return ok;
}

bool accel__opencl_range_find(accel__opencl_memory *memory, const void *pointer,
                              accel__opencl_range *out_range)
{
    const uintptr_t address = (uintptr_t)pointer;
    accel__mutex_lock(&memory->mutex);
    const size_t count = count_up_to(memory, address);
    const accel__opencl_range *range = count != 0 ? &memory->ranges[count - 1] : NULL;
    const bool found = range != NULL && address - range->begin <= range->size;
    if (found)
        *out_range = *range;
    accel__mutex_unlock(&memory->mutex);
    return found;
}

bool accel__opencl_range_take(accel__opencl_memory *memory, const void *begin,
                              accel__opencl_range *out_range)
{
    accel__mutex_lock(&memory->mutex);
    const size_t count = count_up_to(memory, (uintptr_t)begin);
    const bool found = count != 0 && memory->ranges[count - 1].begin == (uintptr_t)begin;
    if (found) {
        *out_range = memory->ranges[count - 1];
        memmove(&memory->ranges[count - 1], &memory->ranges[count],
                (memory->count - count) * sizeof *memory->ranges);
        memory->count--;
        memory->taken -= out_range->size;
    }
    accel__mutex_unlock(&memory->mutex);
    return found;
}

size_t accel__opencl_memory_taken(accel__opencl_memory *memory)
{
    accel__mutex_lock(&memory->mutex);
    const size_t taken = memory->taken;
    accel__mutex_unlock(&memory->mutex);
    return taken;
}
