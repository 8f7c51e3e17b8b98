/* pressure.h: the program's functions for when memory is short. */
#ifndef ACCEL_MEMORY_SHORTAGE_PRESSURE_H
#define ACCEL_MEMORY_SHORTAGE_PRESSURE_H

#include <accel/allocator.h>

#include "core/device.h"

/* Calls the hooks, not those that this thread is in already. True: one gave something free. No lock may be
 * held. */
bool accel__pressure_call(accel__device *device, size_t size);

/* Calls the observers; the same rules. */
void accel__pressure_tell(const accel_out_of_memory_report *report);

#endif
