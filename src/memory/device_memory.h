/* device_memory.h: what the memory layer keeps for each device. Made at the first need, never freed. The
 * limits are settings and outlive a fork; heaps and the count of what is reserved do not. */
#ifndef ACCEL_MEMORY_DEVICE_MEMORY_H
#define ACCEL_MEMORY_DEVICE_MEMORY_H

#include "memory/heap/segment.h"

typedef struct accel__device_memory {
    accel__device *device;
    /* Guards what follows and the making of heaps. Order: before heaps' mutexes. */
    accel__mutex mutex;
    _Atomic(accel__heap *) default_heap; /* of the latest generation that made one */
    _Atomic(accel__heap *) heaps;        /* all but that; the list only grows */

    uint32_t generation; /* that `reserved` is of */

    /* limit.c; read and written without the mutex. */
    _Atomic(size_t) limit;      /* bytes, of accel_allocator_set_memory_limit; 0: not set */
    _Atomic(uint64_t) fraction; /* of accel_allocator_set_memory_fraction; 0: not set */
    _Atomic(size_t) total;      /* bytes of the device; 0: not asked yet */
    _Atomic(size_t) reserved;   /* bytes, with those that are being asked for */
    _Atomic(size_t) asked;      /* bytes of those that are being asked for */
} accel__device_memory;

/* NULL: no host memory. */
accel__device_memory *accel__device_memory_of(accel__device *device);

/* NULL: there is none yet. Makes nothing. */
accel__device_memory *accel__device_memory_peek(const accel__device *device);

/* Calls `visit` for each that there is. */
void accel__device_memory_visit(void (*visit)(accel__device_memory *memory, void *user),
                                void *user);

#endif
