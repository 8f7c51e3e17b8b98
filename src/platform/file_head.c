/* file_head.c: see file_head.h. */
#include "platform/file_head.h"

#include <fcntl.h>
#include <unistd.h>

#include "platform/calls.h"

bool accel__read_head(const char *path, char *buffer, size_t capacity)
{
    const int descriptor = accel__platform.open(path, O_RDONLY, 0);
    size_t size = 0;
    buffer[0] = '\0';
    if (descriptor < 0)
        return false;
    while (size + 1 < capacity) {
        const ssize_t got = read(descriptor, buffer + size, capacity - 1 - size);
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    buffer[size] = '\0';
    close(descriptor);
    return size != 0;
}
