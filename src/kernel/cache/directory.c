/* directory.c: the cache's directory and files in it.
 *
 * What is read here becomes code of the process. So the directory must belong to us, nobody else may
 * write to it, and it is no symbolic link; then nobody else can have put an entry there, and opening
 * entries relative to its descriptor keeps it so, whatever happens to the path meanwhile.
 * Files are written under a name of their own and renamed: a reader sees an entry whole or not at
 * all, and two writers of one entry do not meet. Without fsync a power cut may leave an entry with
 * the wrong content; its checksum finds that, which is cheaper than waiting for the disk each time. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/allocate.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/text.h"
#include "kernel/cache/cache.h"
#include "kernel/cache/internal.h"
#include "platform/scratch.h"

int (*accel__cache_fault)(const char *call);

static bool call_fails(const char *call)
{
    const int code = accel__cache_fault != NULL ? accel__cache_fault(call) : 0;
    if (code != 0)
        errno = code;
    return code != 0;
}

void accel__cache_warn(const char *format, ...)
{
    static atomic_bool is_said;
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    const bool first = !atomic_exchange(&is_said, true);
    accel__log(first ? ACCEL_LOG_LEVEL_WARNING : ACCEL_LOG_LEVEL_DEBUG, NULL, "kernel cache: %s",
               text);
}

/* ---- the directory ---- */

/* False: the environment names none. Relative values of XDG_CACHE_HOME do not count (XDG Base
 * Directory Specification). In a set-user-id program none of the three is read. */
static bool find_path(accel__text *out_path)
{
    const char *own = accel__environment_path("ACCEL_CACHE_DIR");
    const char *xdg = accel__environment_path("XDG_CACHE_HOME");
    const char *home = accel__environment_path("HOME");
    if (own != NULL)
        accel__text_append_string(out_path, own);
    else if (xdg != NULL && xdg[0] == '/')
        accel__text_format(out_path, "%s/accel", xdg);
    else if (home != NULL)
        accel__text_format(out_path, "%s/.cache/accel", home);
    while (out_path->size > 1 && out_path->data[out_path->size - 1] == '/')
        out_path->data[--out_path->size] = '\0'; /* "link/" would follow the link */
    return out_path->size > 0 && !out_path->failed;
}

static int open_path(const char *path)
{
    if (call_fails("open"))
        return -1;
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The directory and those above it that are missing, for the user alone. What fails shows when the
 * path is opened. */
static void create(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (!call_fails("mkdir"))
            mkdir(path, 0700);
        *slash = '/';
    }
    if (!call_fails("mkdir"))
        mkdir(path, 0700);
}

/* Why the directory is not to be trusted; NULL where it is. */
static const char *find_fault(int directory)
{
    struct stat status;
    if (call_fails("fstat") || fstat(directory, &status) != 0)
        return strerror(errno);
    if (status.st_uid != geteuid())
        return "it belongs to another user";
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return "others may write to it";
    return NULL;
}

/* A missing directory is nothing to speak of where it is not to be created. */
static void explain(const char *path, int code, bool was_created)
{
    if (code == ENOTDIR || code == ELOOP)
        accel__cache_warn("%s is not used: no directory, or a symbolic link", path);
    else if (code != ENOENT || was_created)
        accel__cache_warn("%s is not used: %s", path, strerror(code));
}

int accel__cache_directory_open(bool may_create)
{
    const char *setting = accel__environment_get("ACCEL_CACHE");
    if (setting != NULL && strcmp(setting, "0") == 0)
        return -1;
    accel__text path = {0};
    int directory = -1;
    if (find_path(&path)) {
        directory = open_path(path.data);
        if (directory < 0 && errno == ENOENT && may_create) {
            create(path.data);
            directory = open_path(path.data);
        }
        const int code = errno;
        const char *fault = directory >= 0 ? find_fault(directory) : NULL;
        if (directory < 0)
            explain(path.data, code, may_create);
        if (fault != NULL) {
            accel__cache_warn("%s is not used: %s", path.data, fault);
            close(directory);
            directory = -1;
        }
    } else {
        accel__cache_warn("neither ACCEL_CACHE_DIR nor XDG_CACHE_HOME nor HOME names a directory");
    }
    accel__text_release(&path);
    return directory;
}

/* ---- reading ---- */

static accel__cache_found read_whole(int file, unsigned char *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t got = call_fails("read") ? -1 : read(file, data + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ACCEL__CACHE_NOT_FOUND;
        if (got == 0)
            return ACCEL__CACHE_UNFIT; /* truncated under our eyes */
        done += (size_t)got;
    }
    return ACCEL__CACHE_FOUND;
}

/* May the open file be read: regular, ours alone under this one name, and not absurdly large? Something
 * else of ours that was linked here, before the directory was closed to others, is no entry. */
static accel__cache_found check_file(int file, size_t *out_size)
{
    struct stat status;
    if (call_fails("fstat") || fstat(file, &status) != 0)
        return ACCEL__CACHE_NOT_FOUND;
    *out_size = (size_t)status.st_size;
    const bool is_fit = S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                        status.st_nlink <= 1 && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
                        (uint64_t)status.st_size <= accel__cache_limit();
    return is_fit ? ACCEL__CACHE_FOUND : ACCEL__CACHE_UNFIT;
}

/* The time of the last use is the file's time of change: what accel__cache_evict goes by. It cannot
 * be set where the directory is read-only, and nobody evicts there. */
static void mark_use(int file)
{
    const struct timespec used[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
    if (!call_fails("futimens"))
        futimens(file, used);
}

accel__cache_found accel__cache_file_read(int directory, const char *name, void **out_data,
                                          size_t *out_size)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK; /* a pipe must not hang us */
    const int file = call_fails("open") ? -1 : openat(directory, name, flags);
    if (file < 0) /* ELOOP: a symbolic link, ENXIO: a socket */
        return errno == ELOOP || errno == ENXIO ? ACCEL__CACHE_UNFIT : ACCEL__CACHE_NOT_FOUND;
    unsigned char *data = NULL;
    accel__cache_found found = check_file(file, out_size);
    if (found == ACCEL__CACHE_FOUND) {
        data = accel__allocate(*out_size);
        found = data != NULL ? read_whole(file, data, *out_size) : ACCEL__CACHE_NOT_FOUND;
    }
    if (found == ACCEL__CACHE_FOUND) {
        mark_use(file);
        *out_data = data;
    } else {
        accel__deallocate(data);
    }
    close(file);
    return found;
}

/* ---- writing ---- */

static int write_whole(int file, const void *data, size_t size)
{
    return call_fails("write") ? errno : accel__write_all(file, data, size);
}

/* Network file systems tell of a full disk only here. */
static int close_written(int file)
{
    const int code = close(file) != 0 ? errno : 0;
    return call_fails("close") ? errno : code;
}

/* Creates a file with a name that nobody uses: process, moment and count tell writers apart, also
 * those that share the directory from another machine or another process namespace. */
static int create_temporary(int directory, char *name, size_t size)
{
    static atomic_uint count;
    for (int attempt = 0; attempt < 100; attempt++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(name, size, ACCEL__CACHE_TEMPORARY "%lx-%jx-%lx-%x", (long)getpid(),
                 (intmax_t)now.tv_sec, now.tv_nsec, atomic_fetch_add(&count, 1));
        const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
        const int file = call_fails("open") ? -1 : openat(directory, name, flags, 0600);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

int accel__cache_file_write(int directory, const char *name, const void *head, size_t head_size,
                            const void *body, size_t body_size)
{
    char temporary[96];
    const int file = create_temporary(directory, temporary, sizeof temporary);
    if (file < 0)
        return errno;
    int code = write_whole(file, head, head_size);
    if (code == 0)
        code = write_whole(file, body, body_size);
    const int closed = close_written(file);
    if (code == 0)
        code = closed;
    if (code == 0 && (call_fails("rename") || renameat(directory, temporary, directory, name) != 0))
        code = errno;
    if (code != 0)
        unlinkat(directory, temporary, 0);
    return code;
}
