/* arena.h: memory that lives as long as a token unit: texts of files, macros, names. Nothing is
 * given back before accel__arena_release, so tokens may point into it without counting. */
#ifndef ACCEL_KERNEL_LEX_ARENA_H
#define ACCEL_KERNEL_LEX_ARENA_H

#include <stddef.h>

typedef struct accel__arena_chunk accel__arena_chunk;

typedef struct accel__arena {
    accel__arena_chunk *chunks; /* the newest first */
    size_t room;                /* bytes left in the newest */
} accel__arena;

/* `size` zeroed bytes, aligned for any type; NULL: no memory. */
void *accel__arena_take(accel__arena *arena, size_t size);

/* A copy of `size` bytes with a NUL behind it; NULL: no memory. */
char *accel__arena_copy(accel__arena *arena, const char *bytes, size_t size);

void accel__arena_release(accel__arena *arena);

#endif
