/* neighbours.h: what the heap asks of the parts of the allocator that hold blocks of it: the magazines of
 * threads, and what waits for streams. Without locks. */
#ifndef ACCEL_MEMORY_HEAP_NEIGHBOURS_H
#define ACCEL_MEMORY_HEAP_NEIGHBOURS_H

#include "core/device.h"

/* All threads' magazines of the device into its heaps. True: something was in them. */
bool accel__neighbours_flush(accel__device *device);

/* The calling thread's alone, and of that blocks larger than `above`. */
void accel__neighbours_flush_mine(accel__device *device, size_t above);

/* Blocks whose streams have passed by now go to their heaps. True: some did. */
bool accel__neighbours_collect(accel__device *device);

/* The same after waiting for those streams. True: some did. */
bool accel__neighbours_wait(accel__device *device);

#endif
