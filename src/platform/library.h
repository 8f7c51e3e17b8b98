/* library.h: loads a shared object from memory. */
#ifndef ACCEL_PLATFORM_LIBRARY_H
#define ACCEL_PLATFORM_LIBRARY_H

#include <accel/status.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether the bytes are a whole shared object for this machine: its tables and segments lie inside.
 * What is cut off would otherwise raise SIGBUS in the loader. *out_reason says what is wrong. */
bool accel__library_check(const void *object, size_t size, const char **out_reason);

/* Loads it with its symbols private to itself; runs its constructors. The bytes are not needed
 * afterwards, and each call gives a library of its own, also for equal bytes. On failure nothing is
 * recorded; `reason` says why. INVALID_ARGUMENT: the object is at fault; OUT_OF_HOST_MEMORY, SYSTEM. */
accel_status accel__library_load(const void *object, size_t size, void **out_library, char *reason,
                                 size_t reason_capacity);

void *accel__library_symbol(void *library, const char *name); /* NULL: none */
void accel__library_unload(void *library);

#endif
