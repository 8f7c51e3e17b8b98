/* allocate.h: the one place where accel takes host memory for its own structures.
 * Tests make the n-th request fail here; nobody else calls malloc. */
#ifndef ACCEL_BASE_ALLOCATE_H
#define ACCEL_BASE_ALLOCATE_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed memory of `size` bytes, or NULL (nothing recorded: the caller knows what it was for). */
void *accel__allocate(size_t size);

/* As realloc over memory of accel__allocate; new bytes are not zeroed. On failure `block` stays. */
void *accel__reallocate(void *block, size_t size);

/* count * size zeroed bytes, NULL also where the product overflows. */
void *accel__allocate_array(size_t count, size_t size);

/* Zeroed, aligned to `alignment` (a power of two, at least sizeof(void *)). */
void *accel__allocate_aligned(size_t size, size_t alignment);

char *accel__duplicate_string(const char *text);

/* NULL is allowed. Never fails, keeps errno. */
void accel__deallocate(void *block);

/* Tests only: asked before each request; true makes it fail. NULL (the default) asks nobody. */
extern bool (*accel__allocate_fault)(void);

#endif
