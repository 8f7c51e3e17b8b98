/* machine.h: what the system says of the machine: memory and processors. Files of /proc and /sys only. */
#ifndef ACCEL_PLATFORM_MACHINE_H
#define ACCEL_PLATFORM_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that new work can have without swapping, and bytes in all; the limits of control groups
 * count. False: unknown. */
bool accel__machine_memory(uint64_t *out_free, uint64_t *out_total);

/* Name and vendor of the first processor; the name is never empty. */
void accel__machine_processor(char *name, size_t name_size, char *vendor, size_t vendor_size);

#endif
