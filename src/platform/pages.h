/* pages.h: blocks of memory for data, in contrast to base/allocate.h: aligned, not zeroed at once, and
 * given back without their size. */
#ifndef ACCEL_PLATFORM_PAGES_H
#define ACCEL_PLATFORM_PAGES_H

#include <stddef.h>

/* `size` bytes aligned to `alignment`, a power of two. Large blocks are mapped, so that they cost nothing
 * until they are touched, and lie on huge pages where the system has them. NULL: no memory. */
void *accel__pages_allocate(size_t size, size_t alignment);
void accel__pages_free(void *block);

#endif
