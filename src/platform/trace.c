/* trace.c: see trace.h. fork_state.c is the only caller.
 *
 * The process goes on while it is looked at: threads come and go, stacks change, libraries are unmapped.
 * So nothing is read through a pointer: stacks and code are copied by the kernel, which says where
 * something is not there. A thread that cannot be looked at counts as standing nowhere. */
#include "platform/trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/allocate.h"
#include "base/array.h"
#include "base/text.h"
#include "platform/calls.h"
#include "platform/scratch.h"

enum { STACK_SIZE = 32768, CHUNK_SIZE = 4096, CALL_SIZE = 7, ATTEMPTS = 3 };

/* A file that is mapped; the path lies in the text of the maps. */
typedef struct library {
    const char *path;
    size_t size;
    uint32_t thread_count;
} library;

/* A part of a library's code. */
typedef struct range {
    uintptr_t begin;
    uintptr_t end;
    size_t library;
} range;

typedef struct look {
    const char *const *library_prefixes;
    const char *const *device_prefixes;
    accel__trace *trace;
    accel__text maps;
    library *libraries;
    size_t library_count;
    size_t library_capacity;
    range *ranges;
    size_t range_count;
    size_t range_capacity;
} look;

static bool begins_with_one(const char *text, const char *const *prefixes)
{
    for (; prefixes != NULL && *prefixes != NULL; prefixes++)
        if (strncmp(text, *prefixes, strlen(*prefixes)) == 0)
            return true;
    return false;
}

/* The path where it fits, else the end of it. */
static void keep_path(char *buffer, size_t capacity, const char *path, size_t size)
{
    const size_t kept = size < capacity ? size : capacity - 1;
    memcpy(buffer, path + size - kept, kept);
    buffer[kept] = '\0';
}

/* ---- what is mapped ---- */

static size_t find_library(look *now, const char *path, size_t size)
{
    for (size_t i = 0; i < now->library_count; i++)
        if (now->libraries[i].size == size && memcmp(now->libraries[i].path, path, size) == 0)
            return i;
    return now->library_count;
}

/* False: no memory. */
static bool add_range(look *now, const char *path, size_t size, const range *code)
{
    void *libraries = now->libraries;
    void *ranges = now->ranges;
    const bool ok = accel__array_reserve(&libraries, &now->library_capacity, now->library_count, 1,
                                         sizeof *now->libraries) &&
                    accel__array_reserve(&ranges, &now->range_capacity, now->range_count, 1,
                                         sizeof *now->ranges);
    now->libraries = libraries;
    now->ranges = ranges;
    if (!ok)
        return false;
    const size_t place = find_library(now, path, size);
    if (place == now->library_count)
        now->libraries[now->library_count++] = (library){path, size, 0};
    if (code != NULL) {
        now->ranges[now->range_count] = *code;
        now->ranges[now->range_count++].library = place;
    }
    return true;
}

/* BEGIN-END PERMISSIONS OFFSET DEVICE INODE PATH; a newline within a path is written as \012. */
static bool read_mapping(look *now, const char *line, size_t line_size)
{
    static const char deleted[] = " (deleted)";
    char *rest = NULL;
    const char *path = memchr(line, '/', line_size);
    if (path == NULL)
        return true;
    size_t size = line_size - (size_t)(path - line);
    range code = {.begin = strtoull(line, &rest, 16)};
    if (*rest != '-')
        return true;
    code.end = strtoull(rest + 1, &rest, 16);
    const bool is_code = rest + 3 < path && rest[3] == 'x';
    const size_t mark = sizeof deleted - 1;
    if (size > mark && memcmp(path + size - mark, deleted, mark) == 0)
        size -= mark;
    const char *name = memrchr(path, '/', size);
    if (begins_with_one(path, now->device_prefixes) && now->trace->device_file[0] == '\0')
        keep_path(now->trace->device_file, sizeof now->trace->device_file, path, size);
    return !begins_with_one(name + 1, now->library_prefixes) ||
           add_range(now, path, size, is_code ? &code : NULL);
}

static int read_maps(look *now)
{
    const int code = accel__read_file("/proc/self/maps", SIZE_MAX, &now->maps);
    if (code != 0)
        return code;
    for (const char *line = accel__text_string(&now->maps); *line != '\0';) {
        const size_t size = strcspn(line, "\n");
        if (!read_mapping(now, line, size))
            return ENOMEM;
        line += size + (line[size] != '\0');
    }
    return 0;
}

/* ---- what is open ---- */

static void read_descriptor(look *now, int directory, const char *name)
{
    char path[PATH_MAX];
    const ssize_t size = readlinkat(directory, name, path, sizeof path - 1);
    if (size <= 0)
        return;
    path[size] = '\0';
    if (!begins_with_one(path, now->device_prefixes))
        return;
    keep_path(now->trace->device_file, sizeof now->trace->device_file, path, (size_t)size);
    now->trace->device_is_open = true;
}

static int read_descriptors(look *now)
{
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return errno;
    const struct dirent *entry;
    while (!now->trace->device_is_open && (entry = readdir(folder)) != NULL)
        read_descriptor(now, dirfd(folder), entry->d_name);
    closedir(folder);
    return 0;
}

/* ---- where threads stand ---- */

/* Copies memory of this process; false where (part of) it is not there. */
static bool copy_memory(uintptr_t address, void *bytes, size_t size)
{
    const struct iovec to = {bytes, size};
    const struct iovec from = {(void *)address, size};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size;
}

/* Whether a call ends right before the address. It tells return addresses from pointers to functions,
 * which whoever has merely looked up a library's functions also keeps on its stack. */
static bool follows_call(uintptr_t address)
{
    unsigned char code[CALL_SIZE];
    if (!copy_memory(address - sizeof code, code, sizeof code))
        return false;
#if defined(__x86_64__) || defined(__i386__)
    static const size_t sizes[] = {2, 3, 4, 6, 7}; /* of a call through a register or memory */
    bool found = code[CALL_SIZE - 5] == 0xe8;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        found |= code[CALL_SIZE - sizes[i]] == 0xff &&
                 (code[CALL_SIZE - sizes[i] + 1] & 0x38) == 0x10;
    return found;
#elif defined(__aarch64__)
    uint32_t word;
    memcpy(&word, code + CALL_SIZE - sizeof word, sizeof word);
    return (word & 0xfc000000u) == 0x94000000u || (word & 0xfefff800u) == 0xd63f0800u ||
           (word & 0xfffffc1fu) == 0xd63f0000u;
#else
    return true;
#endif
}

/* What is left of a stored return address without its signature. */
static uintptr_t plain(uintptr_t address)
{
#if defined(__aarch64__)
    return address & UINT64_C(0x0000ffffffffffff);
#else
    return address;
#endif
}

static const range *find_range(const look *now, uintptr_t address)
{
    for (size_t i = 0; i < now->range_count; i++)
        if (address >= now->ranges[i].begin && address < now->ranges[i].end)
            return &now->ranges[i];
    return NULL;
}

/* The code that the innermost caller in a library stands in; NULL: none. */
static const range *search_stack(const look *now, uintptr_t stack)
{
    uintptr_t words[CHUNK_SIZE / sizeof(uintptr_t)];
    uintptr_t at = stack & ~(uintptr_t)(sizeof words[0] - 1);
    for (const uintptr_t end = at + STACK_SIZE; at < end;) {
        size_t size = CHUNK_SIZE - at % CHUNK_SIZE;
        size = size < end - at ? size : end - at;
        if (!copy_memory(at, words, size))
            return NULL;
        for (size_t i = 0; i < size / sizeof words[0]; i++) {
            const range *found = find_range(now, plain(words[i]));
            if (found != NULL && follows_call(plain(words[i])))
                return found;
        }
        at += size;
    }
    return NULL;
}

/* Where a thread sleeps: /proc/self/task/ID/syscall ends with its stack pointer and its program counter.
 * False: it runs, or is gone, or the kernel does not tell. */
static bool find_place(const char *thread, uintptr_t *out_stack, uintptr_t *out_code)
{
    char path[64];
    char line[512];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/syscall", thread);
    const int descriptor = accel__platform.open(path, O_RDONLY, 0);
    const ssize_t size = descriptor >= 0 ? read(descriptor, line, sizeof line - 1) : -1;
    if (descriptor >= 0)
        close(descriptor);
    if (size <= 0)
        return false;
    line[size] = '\0';
    char *last = strrchr(line, ' ');
    if (last == NULL)
        return false;
    *last = '\0';
    const char *before = strrchr(line, ' ');
    if (before == NULL)
        return false;
    *out_stack = strtoull(before, NULL, 16);
    *out_code = strtoull(last + 1, NULL, 16);
    return true;
}

static void look_at_thread(look *now, const char *thread)
{
    uintptr_t stack = 0;
    uintptr_t code = 0;
    bool placed = find_place(thread, &stack, &code);
    for (int i = 1; i < ATTEMPTS && !placed; i++) {
        sched_yield();
        placed = find_place(thread, &stack, &code);
    }
    const range *found = placed ? find_range(now, code) : NULL;
    if (placed && found == NULL)
        found = search_stack(now, stack);
    if (found != NULL)
        now->libraries[found->library].thread_count++;
}

static int look_at_threads(look *now)
{
    char own[24];
    snprintf(own, sizeof own, "%ld", syscall(SYS_gettid));
    DIR *folder = opendir("/proc/self/task");
    if (folder == NULL)
        return errno;
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, own) != 0)
            look_at_thread(now, entry->d_name);
    closedir(folder);
    return 0;
}

/* ---- all together ---- */

static void choose_library(look *now)
{
    const library *best = NULL;
    for (size_t i = 0; i < now->library_count; i++)
        if (best == NULL || now->libraries[i].thread_count > best->thread_count)
            best = &now->libraries[i];
    if (best == NULL)
        return;
    keep_path(now->trace->library, sizeof now->trace->library, best->path, best->size);
    now->trace->thread_count = best->thread_count;
}

int accel__trace_look(const char *const *library_prefixes, const char *const *device_prefixes,
                      accel__trace *out_trace)
{
    *out_trace = (accel__trace){0};
    look now = {.library_prefixes = library_prefixes,
                .device_prefixes = device_prefixes,
                .trace = out_trace};
    int code = read_maps(&now);
    if (code == 0)
        code = read_descriptors(&now);
    if (code == 0 && now.range_count != 0)
        code = look_at_threads(&now);
    choose_library(&now);
    accel__text_release(&now.maps);
    accel__deallocate(now.libraries);
    accel__deallocate(now.ranges);
    return code;
}
