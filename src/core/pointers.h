/* pointers.h: from any address to the allocation that it lies in. Allocators enter what they hand out;
 * copies and accel_pointer_info ask. */
#ifndef ACCEL_CORE_POINTERS_H
#define ACCEL_CORE_POINTERS_H

#include <accel/memory.h>

#include "core/device.h"

enum { ACCEL__RANGE_LEVELS = 16 };

/* One allocation, embedded in its allocator's own structure. All but the links is set by the
 * allocator before the range is entered, and constant while it is. */
typedef struct accel__range {
    uintptr_t begin;
    size_t size; /* as asked for; at least 1 */
    accel_memory_kind kind;
    accel__device *device;
    accel_stream *home;
    int levels;
    _Atomic(struct accel__range *) next[ACCEL__RANGE_LEVELS];
} accel__range;

void accel__pointers_enter(accel__range *range);

/* Takes the range that begins at `begin` out; NULL where there is none: of two that free the same
 * pointer one gets it. */
accel__range *accel__pointers_take(const void *begin);

/* What is known of the allocation around `pointer`. False: nothing. The copy's links mean nothing, and
 * the allocation may be freed by another thread at any moment. */
bool accel__pointers_find(const void *pointer, accel__range *out_copy);

/* Calls `visit` on the range around `pointer` while it cannot be taken out. False: there is none.
 * `visit` must not call back into this file. */
bool accel__pointers_visit(const void *pointer, void (*visit)(accel__range *range, void *user),
                           void *user);

#endif
