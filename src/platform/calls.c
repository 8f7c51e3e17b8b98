/* calls.c: the table of the real calls. */
#include "platform/calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "platform/spawn.h"

/* open() is variadic: this gives it the table's type. Network file systems are interrupted by signals. */
static int open_file(const char *path, int flags, mode_t mode)
{
    int descriptor;
    do
        descriptor = open(path, flags | O_CLOEXEC, mode);
    while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

accel__calls accel__platform = {
    .map = mmap,
    .unmap = munmap,
    .protect = mprotect,
    .advise = madvise,
    .thread_create = pthread_create,
    .spawn = accel__spawn_start,
    .open = open_file,
    .memory_file = memfd_create,
    .write = write,
    .library_open = dlopen,
    .random = getrandom,
};
