/* snapshot_file.c: reads the file of a snapshot, whole. See snapshot.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/snapshot.h"

/* The largest file that is read; a snapshot of a million entries has some 200 MB. */
#define FILE_SIZE_MAX ((size_t)4 << 30)

/* Reads on until the end; *bytes is the caller's to free in any case. */
static accel__exit read_on(const char *path, int file, uint8_t **bytes, size_t *size,
                           size_t capacity)
{
    for (;;) {
        if (*size == capacity) {
            if (capacity >= FILE_SIZE_MAX)
                return accel__cli_fail("%s: is larger than 4 GiB, which no snapshot needs; look at "
                                       "the file",
                                       path);
            uint8_t *grown = realloc(*bytes, capacity * 2);
            if (grown == NULL)
                return accel__cli_fail_memory();
            *bytes = grown;
            capacity *= 2;
        }
        const ssize_t got = read(file, *bytes + *size, capacity - *size);
        if (got == 0)
            return ACCEL__EXIT_OK;
        if (got < 0 && errno != EINTR)
            return accel__cli_fail("%s: cannot be read: %s; look at the file", path,
                                   strerror(errno));
        if (got > 0)
            *size += (size_t)got;
    }
}

static accel__exit read_file(const char *path, uint8_t **bytes, size_t *size)
{
    struct stat facts;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return accel__cli_fail("%s: cannot be opened: %s; check the name", path, strerror(errno));
    size_t capacity = (size_t)64 * 1024;
    if (fstat(file, &facts) == 0 && facts.st_size > 0 && (uint64_t)facts.st_size < FILE_SIZE_MAX)
        capacity = (size_t)facts.st_size + 1; /* the one byte more finds the end */
    *bytes = malloc(capacity);
    accel__exit result = *bytes != NULL ? read_on(path, file, bytes, size, capacity)
                                        : accel__cli_fail_memory();
    close(file);
    return result;
}

accel__exit accel__snapshot_load(const char *path, accel__snapshot *out_snapshot)
{
    accel__snapshot_problem problem = {""};
    uint8_t *bytes = NULL;
    size_t size = 0;
    memset(out_snapshot, 0, sizeof *out_snapshot);
    accel__exit result = read_file(path, &bytes, &size);
    if (result == ACCEL__EXIT_OK && !accel__snapshot_parse(bytes, size, out_snapshot, &problem))
        result = accel__cli_fail("%s: %s", path, problem.text);
    free(bytes);
    return result;
}
