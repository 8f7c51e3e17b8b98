/* snapshot.c: from a file to a snapshot: reads it whole, tells JSON from pickle by its first
 * characters, and lets the readers do the rest. See snapshot.h. */
#include "cli/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/pickle.h"

/* The largest file that is read; a snapshot of a million entries has some 200 MB. */
#define FILE_SIZE_MAX ((size_t)4 << 30)

/* Steps that readers may take for each byte of the file; real snapshots need less than three. */
enum { STEPS_PER_BYTE = 16, STEPS_AT_LEAST = 100000 };

const char *accel__event_action_name(accel__event_action action)
{
    static const char *const names[] = {
        [ACCEL__EVENT_ALLOC] = "alloc",
        [ACCEL__EVENT_FREE_REQUESTED] = "free_requested",
        [ACCEL__EVENT_FREE_COMPLETED] = "free_completed",
        [ACCEL__EVENT_SEGMENT_ALLOC] = "segment_alloc",
        [ACCEL__EVENT_SEGMENT_FREE] = "segment_free",
        [ACCEL__EVENT_SEGMENT_MAP] = "segment_map",
        [ACCEL__EVENT_SEGMENT_UNMAP] = "segment_unmap",
        [ACCEL__EVENT_OOM] = "oom",
        [ACCEL__EVENT_SNAPSHOT] = "snapshot",
        [ACCEL__EVENT_OTHER] = "other",
    };
    return names[action];
}

/* Neither '{' nor '[' is a pickle opcode. */
static bool looks_like_json(const uint8_t *bytes, size_t size)
{
    size_t at = 0;
    while (at < size && memchr(" \t\r\n", bytes[at], 4) != NULL)
        at++;
    return at < size && (bytes[at] == '{' || bytes[at] == '[');
}

bool accel__snapshot_parse(const uint8_t *bytes, size_t size, accel__snapshot *out_snapshot,
                           accel__snapshot_problem *problem)
{
    accel__value *value = NULL;
    memset(out_snapshot, 0, sizeof *out_snapshot);
    if (size == 0)
        return accel__snapshot_refuse(problem, "the file is empty; save the snapshot again");
    const bool is_json = looks_like_json(bytes, size);
    bool (*read)(const uint8_t *, size_t, accel__value_store *, accel__value **,
                 accel__snapshot_problem *) = is_json ? accel__snapshot_read_json
                                                      : accel__pickle_read;
    if (!read(bytes, size, &out_snapshot->store, &value, problem))
        return false;
    out_snapshot->store.budget = (uint64_t)size * STEPS_PER_BYTE + STEPS_AT_LEAST;
    return accel__snapshot_read(value, out_snapshot, problem);
}

/* ---- files ---- */

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
    size_t capacity = 64 * 1024;
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

void accel__snapshot_release(accel__snapshot *snapshot)
{
    free(snapshot->segments);
    free(snapshot->blocks);
    free(snapshot->traces);
    free(snapshot->events);
    free(snapshot->settings);
    accel__stacks_release(&snapshot->stacks);
    accel__value_store_release(&snapshot->store);
    memset(snapshot, 0, sizeof *snapshot);
}
