/* output_file.h: files that appear whole or not at all. A file is written under a temporary name in
 * its own directory and renamed at the end; several files are all written first, then all renamed. A
 * failure, and a signal that ends the program, leave no trace. Main thread only. */
#ifndef ACCEL_CLI_OUTPUT_FILE_H
#define ACCEL_CLI_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/report.h"

/* Open ones are linked in a list that the signal handler walks: they must not move in memory. */
typedef struct accel__output_file {
    char *target;    /* what `path` names, links followed */
    char *temporary; /* NULL: nothing to remove */
    int descriptor;  /* -1: not open */
    struct accel__output_file *next;
} accel__output_file;

/* Makes the temporary file, and so finds out early whether the directory can be written. What
 * stands at `path` must be missing or a regular file, whose rights are kept. */
accel__exit accel__output_file_open(accel__output_file *file, const char *path);

/* Appends; may be called several times. */
accel__exit accel__output_file_write(accel__output_file *file, const void *bytes, size_t size);

/* Brings what was written to the disk and closes; the target is still untouched. */
accel__exit accel__output_file_finish(accel__output_file *file);

/* Renames a finished file to its target. */
accel__exit accel__output_file_commit(accel__output_file *file);

/* Whether both name the same target. */
bool accel__output_file_same(const accel__output_file *a, const accel__output_file *b);

/* Removes what was not committed and frees. A zeroed struct is allowed. */
void accel__output_file_release(accel__output_file *file);

#endif
