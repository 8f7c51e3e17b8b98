/* scratch.c: see scratch.h. */
#include "platform/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/log.h"
#include "platform/calls.h"
#include "platform/trust.h"

static int create_under(accel__scratch *scratch, const char *parent)
{
    const int size = snprintf(scratch->path, sizeof scratch->path, "%s/accel-XXXXXX", parent);
    char reason[256];
    int code = 0;
    if (parent[0] != '/')
        code = EINVAL; /* a relative one would move with the working directory */
    else if (access(parent, F_OK) != 0)
        code = errno;
    else if (!accel__trust_path(parent, reason, sizeof reason)) {
        code = EPERM; /* they could put another folder in place of ours, and code into it */
        accel__log(ACCEL_LOG_LEVEL_WARNING, NULL, "%s is not used for temporary files: %s", parent,
                   reason);
    } else if (size < 0 || (size_t)size >= sizeof scratch->path)
        code = ENAMETOOLONG;
    else if (mkdtemp(scratch->path) == NULL)
        code = errno;
    if (code != 0)
        scratch->path[0] = '\0';
    return code;
}

int accel__scratch_create(accel__scratch *scratch, const char *parent)
{
    if (parent != NULL)
        return create_under(scratch, parent);
    const char *wanted = accel__environment_path("TMPDIR");
    if (wanted != NULL && create_under(scratch, wanted) == 0)
        return 0;
    return create_under(scratch, "/tmp");
}

bool accel__scratch_path(const accel__scratch *scratch, const char *name, char *buffer,
                         size_t capacity)
{
    const int size = snprintf(buffer, capacity, "%s/%s", scratch->path, name);
    return size >= 0 && (size_t)size < capacity;
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    remove(path);
    return 0;
}

void accel__scratch_remove(accel__scratch *scratch)
{
    const int saved = errno;
    enum { OPEN_DIRECTORIES = 4 };
    if (scratch->path[0] != '\0')
        nftw(scratch->path, remove_entry, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
    scratch->path[0] = '\0';
    errno = saved;
}

static int write_bytes(int descriptor, const char *next, size_t size)
{
    while (size != 0) {
        const ssize_t written = accel__platform.write(descriptor, next, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? errno : EIO;
        next += written;
        size -= (size_t)written;
    }
    return 0;
}

/* A limit on file sizes shall be an error of ours and not the end of the program: its signal goes to
 * the writing thread, so it is held back here, and taken away unless it was pending before. */
int accel__write_all(int descriptor, const void *bytes, size_t size)
{
    const struct timespec at_once = {0};
    sigset_t limit;
    sigset_t before;
    sigset_t pending;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    const int code = write_bytes(descriptor, bytes, size);
    if (code == EFBIG && sigismember(&pending, SIGXFSZ) == 0)
        sigtimedwait(&limit, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

int accel__write_file(const char *path, mode_t mode, const void *bytes, size_t size)
{
    const int descriptor = accel__platform.open(path, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (descriptor < 0)
        return errno;
    int code = accel__write_all(descriptor, bytes, size);
    if (close(descriptor) != 0 && code == 0)
        code = errno; /* where a quota or a network file system says so */
    return code;
}

static int read_descriptor(int descriptor, size_t limit, accel__text *out_bytes)
{
    struct stat about;
    if (fstat(descriptor, &about) != 0)
        return errno;
    if (!S_ISREG(about.st_mode))
        return EINVAL;
    char bytes[4096];
    for (size_t total = 0;;) {
        const ssize_t size = read(descriptor, bytes, sizeof bytes);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return errno;
        if (size == 0)
            return 0;
        total += (size_t)size;
        if (total > limit)
            return EFBIG;
        accel__text_append(out_bytes, bytes, (size_t)size);
        if (out_bytes->failed)
            return ENOMEM;
    }
}

int accel__read_file(const char *path, size_t limit, accel__text *out_bytes)
{
    /* O_NONBLOCK: a FIFO of that name must not hold us up. */
    const int descriptor = accel__platform.open(path, O_RDONLY | O_NONBLOCK, 0);
    if (descriptor < 0)
        return errno;
    const int code = read_descriptor(descriptor, limit, out_bytes);
    close(descriptor);
    return code;
}
