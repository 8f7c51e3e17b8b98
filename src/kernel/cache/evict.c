/* evict.c: keeps the cache's directory below its limit. Looking through it costs a stat for
 * each entry, so that is done at a process's first store and then each time it has stored a
 * sixteenth of the limit; the limit may be passed by that much for each process. Room is made down
 * to three quarters of the limit, so that the next stores need none. Only names of the cache's own
 * form are touched. */
#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/allocate.h"
#include "base/array.h"
#include "base/environment.h"
#include "kernel/cache/internal.h"

/* A file that was begun so long ago has lost its writer; so has one that the clock, set back since, says
 * is still to come. */
enum { TEMPORARY_LIFETIME_S = 3600 };

typedef struct entry {
    char name[ACCEL__CACHE_NAME_SIZE + 1];
    struct timespec used;
    uint64_t size;
} entry;

typedef struct listing {
    entry *entries;
    size_t count;
    size_t capacity;
    uint64_t size; /* of all entries */
} listing;

uint64_t accel__cache_limit(void)
{
    uint64_t limit = 0;
    if (!accel__environment_number("ACCEL_CACHE_MAX_MB", 1, UINT32_MAX, 512, &limit))
        accel__cache_warn("ACCEL_CACHE_MAX_MB is no number of MiB from 1 up; 512 is taken");
    return limit * 1024 * 1024;
}

static bool is_entry_name(const char *name)
{
    const size_t digits = ACCEL__CACHE_NAME_SIZE - 4;
    return strlen(name) == ACCEL__CACHE_NAME_SIZE && strspn(name, "0123456789abcdef") == digits &&
           strcmp(name + digits, ".bin") == 0;
}

static bool is_temporary_name(const char *name)
{
    return strncmp(name, ACCEL__CACHE_TEMPORARY, strlen(ACCEL__CACHE_TEMPORARY)) == 0;
}

/* Notes an entry; removes a file whose writer died. */
static void look_at(int directory, const char *name, listing *list)
{
    struct stat status;
    const bool is_entry = is_entry_name(name);
    if ((!is_entry && !is_temporary_name(name)) ||
        fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
        return;
    if (!is_entry) {
        const time_t age = time(NULL) - status.st_mtim.tv_sec;
        if (age > TEMPORARY_LIFETIME_S || age < -TEMPORARY_LIFETIME_S)
            unlinkat(directory, name, 0);
        return;
    }
    void *entries = list->entries;
    if (!accel__array_reserve(&entries, &list->capacity, list->count, 1, sizeof *list->entries))
        return; /* then it is left alone this time */
    list->entries = entries;
    entry *added = &list->entries[list->count++];
    memcpy(added->name, name, sizeof added->name);
    added->used = status.st_mtim;
    added->size = (uint64_t)status.st_size;
    list->size += added->size;
}

static int compare_use(const void *left, const void *right)
{
    const struct timespec *a = &((const entry *)left)->used;
    const struct timespec *b = &((const entry *)right)->used;
    if (a->tv_sec != b->tv_sec)
        return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

static void list_entries(int directory, listing *list)
{
    const int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = own >= 0 ? fdopendir(own) : NULL;
    if (stream == NULL) {
        if (own >= 0)
            close(own);
        return;
    }
    for (const struct dirent *found = readdir(stream); found != NULL; found = readdir(stream))
        look_at(directory, found->d_name, list);
    closedir(stream);
}

/* Removes the entries not used for longest until the rest has at most `wanted` bytes. Another
 * process may be removing the same ones; that is as good. */
static void shrink(int directory, listing *list, uint64_t wanted)
{
    qsort(list->entries, list->count, sizeof *list->entries, compare_use);
    for (size_t i = 0; i < list->count && list->size > wanted; i++) {
        unlinkat(directory, list->entries[i].name, 0);
        list->size -= list->entries[i].size;
    }
}

void accel__cache_evict(int directory, uint64_t size)
{
    static _Atomic uint64_t stored = UINT64_MAX / 2; /* since the last look; at first: "too much" */
    const uint64_t limit = accel__cache_limit();
    if (atomic_fetch_add(&stored, size) + size < limit / 16)
        return;
    atomic_store(&stored, 0);
    listing list = {0};
    list_entries(directory, &list);
    if (list.size > limit)
        shrink(directory, &list, limit / 4 * 3);
    accel__deallocate(list.entries);
}
