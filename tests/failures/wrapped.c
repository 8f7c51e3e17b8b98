/* wrapped.c: what the linker puts in the place of the C library's functions (CMakeLists.txt has the list).
 * Each may fail as the real one does; what gives back (free, munmap, close, unlink) never does. */
#include "failures.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic(int64_t) live_blocks;
static _Atomic(int64_t) mapped_size;

int64_t failures_live_blocks(void)
{
    return live_blocks;
}

int64_t failures_mapped_size(void)
{
    return mapped_size;
}

/* Defines the function that passes on to the real one, unless it fails with `code` in errno and gives
 * `failed`. */
#define FAILS(result, name, parameters, arguments, kind, code, failed)                             \
    result __real_##name parameters;                                                               \
    result __wrap_##name parameters;                                                               \
    result __wrap_##name parameters                                                                \
    {                                                                                              \
        if (!failures_due(kind, #name))                                                            \
            return __real_##name arguments;                                                        \
        errno = (code);                                                                            \
        return (failed);                                                                           \
    }

/* The same for functions that return the code. */
#define GIVES(name, parameters, arguments, kind, code)                                             \
    int __real_##name parameters;                                                                  \
    int __wrap_##name parameters;                                                                  \
    int __wrap_##name parameters                                                                   \
    {                                                                                              \
        return failures_due(kind, #name) ? (code) : __real_##name arguments;                       \
    }

/* ---- host memory ---- */

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
int __real_posix_memalign(void **out_block, size_t alignment, size_t size);
int __wrap_posix_memalign(void **out_block, size_t alignment, size_t size);
void __real_free(void *block);
void __wrap_free(void *block);

static void *counted(void *block)
{
    live_blocks += block != NULL;
    return block;
}

void *__wrap_calloc(size_t count, size_t size)
{
    errno = ENOMEM;
    return failures_due(FAILURE_ALLOCATION, "calloc") ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *block, size_t size)
{
    errno = ENOMEM;
    if (failures_due(FAILURE_ALLOCATION, "realloc"))
        return NULL;
    return block == NULL ? counted(__real_realloc(NULL, size)) : __real_realloc(block, size);
}

int __wrap_posix_memalign(void **out_block, size_t alignment, size_t size)
{
    if (failures_due(FAILURE_ALLOCATION, "posix_memalign"))
        return ENOMEM;
    const int code = __real_posix_memalign(out_block, alignment, size);
    live_blocks += code == 0;
    return code;
}

void __wrap_free(void *block)
{
    live_blocks -= block != NULL;
    __real_free(block);
}

/* ---- mappings ---- */

void *__real_mmap(void *address, size_t size, int protection, int flags, int descriptor,
                  off_t offset);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int descriptor,
                  off_t offset);
int __real_munmap(void *address, size_t size);
int __wrap_munmap(void *address, size_t size);

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int descriptor,
                  off_t offset)
{
    errno = ENOMEM;
    if (failures_due(FAILURE_MAPPING, "mmap"))
        return MAP_FAILED;
    void *mapped = __real_mmap(address, size, protection, flags, descriptor, offset);
    if (mapped != MAP_FAILED)
        mapped_size += (int64_t)size;
    return mapped;
}

int __wrap_munmap(void *address, size_t size)
{
    const int result = __real_munmap(address, size);
    if (result == 0)
        mapped_size -= (int64_t)size;
    return result;
}

FAILS(int, mprotect, (void *address, size_t size, int protection), (address, size, protection),
      FAILURE_MAPPING, ENOMEM, -1)
FAILS(int, madvise, (void *address, size_t size, int advice), (address, size, advice),
      FAILURE_MAPPING, EAGAIN, -1)
FAILS(int, memfd_create, (const char *name, unsigned flags), (name, flags), FAILURE_MAPPING, EMFILE,
      -1)

/* ---- threads ---- */

GIVES(pthread_create,
      (pthread_t * thread, const pthread_attr_t *attributes, void *(*body)(void *), void *user),
      (thread, attributes, body, user), FAILURE_THREAD, EAGAIN)
GIVES(pthread_key_create, (pthread_key_t * key, void (*destructor)(void *)), (key, destructor),
      FAILURE_THREAD, EAGAIN)
GIVES(pthread_setspecific, (pthread_key_t key, const void *value), (key, value), FAILURE_THREAD,
      ENOMEM)
GIVES(pthread_getattr_np, (pthread_t thread, pthread_attr_t *attributes), (thread, attributes),
      FAILURE_THREAD, ENOMEM)
GIVES(pthread_getaffinity_np, (pthread_t thread, size_t size, cpu_set_t *set), (thread, size, set),
      FAILURE_THREAD, EINVAL)
GIVES(pthread_setaffinity_np, (pthread_t thread, size_t size, const cpu_set_t *set),
      (thread, size, set), FAILURE_THREAD, EINVAL)

/* ---- processes ---- */

FAILS(int, pipe2, (int descriptors[2], int flags), (descriptors, flags), FAILURE_PROCESS, EMFILE,
      -1)
FAILS(int, dup2, (int descriptor, int other), (descriptor, other), FAILURE_PROCESS, EMFILE, -1)
FAILS(int, execve, (const char *path, char *const arguments[], char *const environment[]),
      (path, arguments, environment), FAILURE_PROCESS, EACCES, -1)

int __real_clone(int (*body)(void *), void *stack, int flags, void *user, ...);
int __wrap_clone(int (*body)(void *), void *stack, int flags, void *user, ...);

int __wrap_clone(int (*body)(void *), void *stack, int flags, void *user, ...)
{
    errno = EAGAIN;
    return failures_due(FAILURE_PROCESS, "clone") ? -1 : __real_clone(body, stack, flags, user);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static const char *failing_system_call(long number)
{
    switch (number) {
    case SYS_clone:
        return "syscall(clone)";
    case SYS_pidfd_open:
        return "syscall(pidfd_open)";
#ifdef SYS_close_range
    case SYS_close_range:
        return "syscall(close_range)";
#endif
    case SYS_membarrier:
        return "syscall(membarrier)";
    case SYS_sched_setattr:
        return "syscall(sched_setattr)";
    default: /* of a futex, say, the library needs no answer but that it was asked */
        return NULL;
    }
}

long __wrap_syscall(long number, ...)
{
    long argument[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(list, long);
    va_end(list);
    const char *name = failing_system_call(number);
    errno = EAGAIN;
    if (name != NULL && failures_due(FAILURE_PROCESS, name))
        return -1;
    return __real_syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                          argument[5]);
}

/* ---- files ---- */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __real_fcntl(int descriptor, int command, ...);
int __wrap_fcntl(int descriptor, int command, ...);

int __wrap_open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(list, unsigned) : 0;
    va_end(list);
    errno = EMFILE;
    return failures_due(FAILURE_FILE, "open") ? -1 : __real_open(path, flags, mode);
}

int __wrap_openat(int folder, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(list, unsigned) : 0;
    va_end(list);
    errno = EMFILE;
    return failures_due(FAILURE_FILE, "openat") ? -1 : __real_openat(folder, path, flags, mode);
}

int __wrap_fcntl(int descriptor, int command, ...)
{
    va_list list;
    va_start(list, command);
    const long argument = va_arg(list, long);
    va_end(list);
    errno = EPERM;
    return failures_due(FAILURE_FILE, "fcntl") ? -1 : __real_fcntl(descriptor, command, argument);
}

FAILS(ssize_t, read, (int descriptor, void *bytes, size_t size), (descriptor, bytes, size),
      FAILURE_FILE, EIO, -1)
FAILS(ssize_t, pread, (int descriptor, void *bytes, size_t size, off_t offset),
      (descriptor, bytes, size, offset), FAILURE_FILE, EIO, -1)
FAILS(ssize_t, write, (int descriptor, const void *bytes, size_t size), (descriptor, bytes, size),
      FAILURE_FILE, ENOSPC, -1)
FAILS(int, fstat, (int descriptor, struct stat *about), (descriptor, about), FAILURE_FILE, EIO, -1)
FAILS(int, stat, (const char *path, struct stat *about), (path, about), FAILURE_FILE, EACCES, -1)
FAILS(int, fstatat, (int folder, const char *path, struct stat *about, int flags),
      (folder, path, about, flags), FAILURE_FILE, EACCES, -1)
FAILS(int, access, (const char *path, int mode), (path, mode), FAILURE_FILE, EACCES, -1)
FAILS(int, faccessat, (int folder, const char *path, int mode, int flags),
      (folder, path, mode, flags), FAILURE_FILE, EACCES, -1)
FAILS(DIR *, opendir, (const char *path), (path), FAILURE_FILE, EMFILE, NULL)
FAILS(DIR *, fdopendir, (int descriptor), (descriptor), FAILURE_FILE, ENOMEM, NULL)
FAILS(struct dirent *, readdir, (DIR * folder), (folder), FAILURE_FILE, EIO, NULL)
FAILS(FILE *, fopen, (const char *path, const char *mode), (path, mode), FAILURE_FILE, EMFILE, NULL)
FAILS(char *, fgets, (char *text, int size, FILE *file), (text, size, file), FAILURE_FILE, EIO,
      NULL)
FAILS(int, mkdir, (const char *path, mode_t mode), (path, mode), FAILURE_FILE, ENOSPC, -1)
FAILS(char *, mkdtemp, (char *path), (path), FAILURE_FILE, ENOSPC, NULL)
FAILS(int, rename, (const char *from, const char *to), (from, to), FAILURE_FILE, EIO, -1)
FAILS(int, renameat, (int folder, const char *from, int other, const char *to),
      (folder, from, other, to), FAILURE_FILE, EIO, -1)
FAILS(int, fsync, (int descriptor), (descriptor), FAILURE_FILE, EIO, -1)
FAILS(int, fchmod, (int descriptor, mode_t mode), (descriptor, mode), FAILURE_FILE, EPERM, -1)
FAILS(int, futimens, (int descriptor, const struct timespec times[2]), (descriptor, times),
      FAILURE_FILE, EPERM, -1)
FAILS(ssize_t, readlink, (const char *path, char *target, size_t size), (path, target, size),
      FAILURE_FILE, EIO, -1)
FAILS(ssize_t, readlinkat, (int folder, const char *path, char *target, size_t size),
      (folder, path, target, size), FAILURE_FILE, EIO, -1)
FAILS(char *, realpath, (const char *path, char *resolved), (path, resolved), FAILURE_FILE, EIO,
      NULL)
FAILS(int, poll, (struct pollfd * waits, nfds_t wait_count, int limit), (waits, wait_count, limit),
      FAILURE_FILE, ENOMEM, -1)

/* ---- libraries ---- */

/* The text of dlerror comes from a real failure. */
void *__real_dlopen(const char *path, int flags);
void *__wrap_dlopen(const char *path, int flags);
void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);

void *__wrap_dlopen(const char *path, int flags)
{
    return failures_due(FAILURE_LIBRARY, "dlopen")
               ? __real_dlopen("/nonexistent/accel-failure.so", RTLD_NOW)
               : __real_dlopen(path, flags);
}

void *__wrap_dlsym(void *handle, const char *name)
{
    return failures_due(FAILURE_LIBRARY, "dlsym") ? __real_dlsym(handle, "accel_failure_nothing")
                                                  : __real_dlsym(handle, name);
}

/* ---- what the system says ---- */

FAILS(ssize_t, getrandom, (void *bytes, size_t size, unsigned flags), (bytes, size, flags),
      FAILURE_SYSTEM, ENOSYS, -1)
FAILS(long, sysconf, (int name), (name), FAILURE_SYSTEM, EINVAL, -1)
FAILS(int, sched_getaffinity, (pid_t process, size_t size, cpu_set_t *set), (process, size, set),
      FAILURE_SYSTEM, EINVAL, -1)
FAILS(int, sched_getcpu, (void), (), FAILURE_SYSTEM, ENOSYS, -1)
