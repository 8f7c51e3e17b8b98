/* scratch.h: a private directory (0700) for files that live as long as one call. */
#ifndef ACCEL_PLATFORM_SCRATCH_H
#define ACCEL_PLATFORM_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/text.h"

typedef struct accel__scratch {
    char path[1024]; /* "": none */
} accel__scratch;

/* Makes one under `parent`; NULL: under TMPDIR (which set-user-id programs ignore), or where that
 * cannot be used under /tmp. Returns 0, or errno's value: EPERM where another user could rename it
 * (platform/trust.h), which the log tells. */
int accel__scratch_create(accel__scratch *scratch, const char *parent);

/* The path of file `name` in it. False where it does not fit. */
bool accel__scratch_path(const accel__scratch *scratch, const char *name, char *buffer,
                         size_t capacity);

/* Removes it with all that is in it. Keeps errno. */
void accel__scratch_remove(accel__scratch *scratch);

/* Writes all of it to a descriptor. 0, or errno's value. */
int accel__write_all(int descriptor, const void *bytes, size_t size);

/* Makes the file, which must not exist, with these bytes. 0, or errno's value. */
int accel__write_file(const char *path, mode_t mode, const void *bytes, size_t size);

/* Appends the regular file's bytes. 0, or errno's value (EFBIG: more than `limit`). */
int accel__read_file(const char *path, size_t limit, accel__text *out_bytes);

#endif
