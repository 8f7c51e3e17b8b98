/* file_head.h: the beginning of a short file of /proc or /sys. */
#ifndef ACCEL_PLATFORM_FILE_HEAD_H
#define ACCEL_PLATFORM_FILE_HEAD_H

#include <stdbool.h>
#include <stddef.h>

/* Up to `capacity` - 1 bytes, as a string. False: it cannot be read, or is empty. */
bool accel__read_head(const char *path, char *buffer, size_t capacity);

#endif
