/* calls.h: the one table of system calls that can fail for want of something. Tests replace entries
 * to make the n-th one fail; nobody else does. */
#ifndef ACCEL_PLATFORM_CALLS_H
#define ACCEL_PLATFORM_CALLS_H

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

struct accel__spawn;

typedef struct accel__calls {
    void *(*map)(void *address, size_t size, int protection, int flags, int descriptor,
                 off_t offset);
    int (*unmap)(void *address, size_t size);
    int (*protect)(void *address, size_t size, int protection);
    int (*advise)(void *address, size_t size, int advice);
    int (*thread_create)(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                         void *user);
    int (*spawn)(const struct accel__spawn *wanted, pid_t *out_process); /* spawn.h */
    int (*open)(const char *path, int flags, mode_t mode);
    int (*memory_file)(const char *name, unsigned flags); /* memfd_create */
    ssize_t (*write)(int descriptor, const void *bytes, size_t size);
    void *(*library_open)(const char *path, int flags);
    ssize_t (*random)(void *buffer, size_t size, unsigned flags); /* getrandom */
} accel__calls;

extern accel__calls accel__platform;

#endif
