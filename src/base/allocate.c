/* allocate.c: see allocate.h. Thin over the C library; the fault hook is the only addition. */
#include "base/allocate.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool (*accel__allocate_fault)(void);

static bool fails(void)
{
    return accel__allocate_fault != NULL && accel__allocate_fault();
}

void *accel__allocate(size_t size)
{
    return fails() ? NULL : calloc(1, size != 0 ? size : 1);
}

void *accel__reallocate(void *block, size_t size)
{
    return fails() ? NULL : realloc(block, size != 0 ? size : 1);
}

void *accel__allocate_array(size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size)
        return NULL;
    return accel__allocate(count * size);
}

void *accel__allocate_aligned(size_t size, size_t alignment)
{
    void *block = NULL;
    if (fails() || posix_memalign(&block, alignment, size != 0 ? size : 1) != 0)
        return NULL;
    memset(block, 0, size);
    return block;
}

char *accel__duplicate_string(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = accel__allocate(size);
    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

void accel__deallocate(void *block)
{
    const int saved = errno;
    free(block);
    errno = saved;
}
