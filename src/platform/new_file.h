/* new_file.h: a file that appears at its path whole, or not at all: written beside it and renamed.
 * Called by the writers of snapshots. One thread at a time. */
#ifndef ACCEL_PLATFORM_NEW_FILE_H
#define ACCEL_PLATFORM_NEW_FILE_H

#include <accel/status.h>

typedef struct accel__new_file accel__new_file;

/* `path` may be there: it is replaced at the commit and keeps its rights, where it is this user's; of a
 * chain of symbolic links the last is followed. A device or a pipe is written to as it is. `function` is
 * the public function that failures are recorded for, with the path. INVALID_ARGUMENT: a directory, or "".
 * PERMISSION also where a link or pipe of another user is on the way (platform/trust.h). */
accel_status accel__new_file_create(const char *path, const char *function,
                                    accel__new_file **out_file);

/* Through a buffer. A failure is kept and told by the commit. */
void accel__new_file_write(accel__new_file *file, const void *bytes, size_t size);

/* Puts the file in its place. Either way `file` is gone then. */
accel_status accel__new_file_commit(accel__new_file *file);

/* Nothing was written. NULL is allowed. Keeps errno. */
void accel__new_file_abandon(accel__new_file *file);

#endif
