/* fault_sweep.h: makes the n-th of all allocations and system calls of the library fail, for n = 1, 2 …
 * until an attempt meets no failure, and counts what such attempts leave behind. */
#ifndef TESTS_UNIT_FAULT_SWEEP_H
#define TESTS_UNIT_FAULT_SWEEP_H

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/allocate.h"
#include "platform/calls.h"

static _Atomic(unsigned) fault_left; /* 0: no fault is due; threads of the library count too */
static _Atomic(bool) fault_happened;
static accel__calls fault_real;

static inline bool fault_due(void)
{
    unsigned left = fault_left;
    while (left != 0 && !atomic_compare_exchange_weak(&fault_left, &left, left - 1))
        continue;
    if (left != 1)
        return false;
    fault_happened = true;
    return true;
}

static inline void *fault_map(void *address, size_t size, int protection, int flags, int descriptor,
                              off_t offset)
{
    errno = ENOMEM;
    return fault_due() ? MAP_FAILED
                       : fault_real.map(address, size, protection, flags, descriptor, offset);
}

static inline int fault_protect(void *address, size_t size, int protection)
{
    errno = ENOMEM;
    return fault_due() ? -1 : fault_real.protect(address, size, protection);
}

static inline int fault_thread(pthread_t *thread, const pthread_attr_t *attributes,
                               void *(*body)(void *), void *user)
{
    return fault_due() ? EAGAIN : fault_real.thread_create(thread, attributes, body, user);
}

static inline int fault_spawn(const struct accel__spawn *wanted, pid_t *out_process)
{
    return fault_due() ? EAGAIN : fault_real.spawn(wanted, out_process);
}

static inline int fault_open(const char *path, int flags, mode_t mode)
{
    errno = EMFILE;
    return fault_due() ? -1 : fault_real.open(path, flags, mode);
}

static inline int fault_memory_file(const char *name, unsigned flags)
{
    errno = EPERM;
    return fault_due() ? -1 : fault_real.memory_file(name, flags);
}

static inline ssize_t fault_write(int descriptor, const void *bytes, size_t size)
{
    errno = ENOSPC;
    return fault_due() ? -1 : fault_real.write(descriptor, bytes, size);
}

/* The other entries are not written: threads of accel may be reading them. */
static inline void fault_install(const accel__calls *calls)
{
    accel__platform.map = calls->map;
    accel__platform.protect = calls->protect;
    accel__platform.thread_create = calls->thread_create;
    accel__platform.spawn = calls->spawn;
    accel__platform.open = calls->open;
    accel__platform.memory_file = calls->memory_file;
    accel__platform.write = calls->write;
}

static inline void fault_begin(unsigned number)
{
    static const accel__calls faulty = {.map = fault_map,
                                        .protect = fault_protect,
                                        .thread_create = fault_thread,
                                        .spawn = fault_spawn,
                                        .open = fault_open,
                                        .memory_file = fault_memory_file,
                                        .write = fault_write};
    fault_real = accel__platform;
    fault_install(&faulty);
    accel__allocate_fault = fault_due;
    fault_happened = false;
    fault_left = number;
}

/* True where a fault happened since fault_begin. */
static inline bool fault_end(void)
{
    fault_left = 0;
    accel__allocate_fault = NULL;
    fault_install(&fault_real);
    return fault_happened;
}

static inline unsigned count_entries(const char *path, const char *prefix)
{
    unsigned count = 0;
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (directory != NULL)
        closedir(directory);
    return count;
}

/* A directory of the test's own as TMPDIR: what is left in it is the test's. */
static char own_directory[] = "/tmp/accel_test-XXXXXX";

static inline bool own_directory_begin(void)
{
    return mkdtemp(own_directory) != NULL && setenv("TMPDIR", own_directory, 1) == 0;
}

/* False where something is left in it. */
static inline bool own_directory_end(void)
{
    unsetenv("TMPDIR");
    return rmdir(own_directory) == 0;
}

static inline unsigned count_left(void)
{
    return count_entries(own_directory, "") - 2; /* . and .. */
}

static inline unsigned count_descriptors(void)
{
    return count_entries("/proc/self/fd", "");
}

#endif
