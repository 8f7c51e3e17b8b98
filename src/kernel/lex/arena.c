/* arena.c: chunks of at least CHUNK_SIZE bytes; a larger request gets a chunk of its own size. */
#include "kernel/lex/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/allocate.h"

enum { CHUNK_SIZE = 16 * 1024 };

struct accel__arena_chunk {
    accel__arena_chunk *next;
    size_t size;
    alignas(max_align_t) char bytes[];
};

void *accel__arena_take(accel__arena *arena, size_t size)
{
    const size_t unit = alignof(max_align_t);
    if (size > SIZE_MAX / 2)
        return NULL;
    const size_t rounded = (size + unit - 1) / unit * unit;
    if (arena->chunks == NULL || arena->room < rounded) {
        const size_t capacity = rounded > CHUNK_SIZE ? rounded : CHUNK_SIZE;
        accel__arena_chunk *chunk = accel__allocate(sizeof *chunk + capacity);
        if (chunk == NULL)
            return NULL;
        chunk->next = arena->chunks;
        chunk->size = capacity;
        arena->chunks = chunk;
        arena->room = capacity;
    }
    void *taken = arena->chunks->bytes + (arena->chunks->size - arena->room);
    arena->room -= rounded;
    return taken;
}

char *accel__arena_copy(accel__arena *arena, const char *bytes, size_t size)
{
    char *copy = accel__arena_take(arena, size + 1);
    if (copy != NULL && size != 0)
        memcpy(copy, bytes, size);
    return copy;
}

void accel__arena_release(accel__arena *arena)
{
    while (arena->chunks != NULL) {
        accel__arena_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        accel__deallocate(chunk);
    }
    arena->room = 0;
}
