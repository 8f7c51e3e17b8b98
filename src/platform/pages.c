/* pages.c: see pages.h. What comes before each block says how to give it back. */
#include "platform/pages.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/allocate.h"
#include "platform/calls.h"

enum { MAPPED_SIZE = 128 * 1024, HUGE_PAGE = 2 * 1024 * 1024 };

typedef struct header {
    void *base;
    size_t mapped_size; /* 0: from accel__allocate_aligned */
} header;

static header *header_of(void *pointer)
{
    return (header *)pointer - 1;
}

void *accel__pages_allocate(size_t size, size_t alignment)
{
    const bool is_mapped = size >= MAPPED_SIZE;
    const size_t least = size >= HUGE_PAGE ? HUGE_PAGE : 64;
    const size_t aligned = alignment < least ? least : alignment;
    size_t whole = 0;
    if (__builtin_add_overflow(size, aligned + sizeof(header), &whole) || whole > PTRDIFF_MAX)
        return NULL;
    void *base = is_mapped ? accel__platform.map(NULL, whole, PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                           : accel__allocate_aligned(whole, 64);
    if (base == NULL || base == MAP_FAILED)
        return NULL;
    const uintptr_t start = (uintptr_t)base + sizeof(header) + aligned - 1;
    void *pointer = (char *)base + ((start & ~(uintptr_t)(aligned - 1)) - (uintptr_t)base);
    if (size >= HUGE_PAGE)
        madvise(pointer, size, MADV_HUGEPAGE);
    *header_of(pointer) = (header){.base = base, .mapped_size = is_mapped ? whole : 0};
    return pointer;
}

void accel__pages_free(void *block)
{
    const header found = *header_of(block);
    if (found.mapped_size != 0)
        accel__platform.unmap(found.base, found.mapped_size);
    else
        accel__deallocate(found.base);
}
