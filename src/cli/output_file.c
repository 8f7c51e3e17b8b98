/* output_file.c: see output_file.h. Called by run and build.
 *
 * Invariant: while a temporary file exists, its entry is in `open_files`, so that a signal that ends
 * the program removes it; the signals are blocked around changes of the list. */
#include "cli/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static accel__output_file *open_files;

static const int ending_signals[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT};

enum { SIGNAL_COUNT = sizeof ending_signals / sizeof ending_signals[0] };

static void remove_and_end(int signal_number)
{
    for (const accel__output_file *file = open_files; file != NULL; file = file->next)
        unlink(file->temporary);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void fill_signal_set(sigset_t *set)
{
    sigemptyset(set);
    for (int i = 0; i < SIGNAL_COUNT; i++)
        sigaddset(set, ending_signals[i]);
}

/* A signal that the caller's parent ignores (nohup) stays ignored. */
static void install_handlers(void)
{
    struct sigaction action = {.sa_handler = remove_and_end};
    fill_signal_set(&action.sa_mask);
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        struct sigaction old;
        if (sigaction(ending_signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(ending_signals[i], &action, NULL);
    }
}

static void link_file(accel__output_file *file)
{
    file->next = open_files;
    open_files = file;
}

static void unlink_file(const accel__output_file *file)
{
    accel__output_file **place = &open_files;
    while (*place != NULL && *place != file)
        place = &(*place)->next;
    if (*place != NULL)
        *place = file->next;
}

static accel__exit fail(const accel__output_file *file, const char *verb)
{
    int code = errno;
    return accel__cli_fail("%s: cannot be %s: %s; %s", file->target, verb, strerror(code),
                           code == ENOSPC || code == EDQUOT || code == EFBIG
                               ? "free some space there"
                               : "look at the directory and its rights");
}

/* The full name of a file that does not exist yet, in a directory that does: two spellings of one
 * new file come out the same. NULL with errno set. */
static char *full_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    char *directory = slash == NULL ? strdup(".") : strndup(path, (size_t)(base - path));
    char *resolved = directory != NULL ? realpath(directory, NULL) : NULL;
    char *name = NULL;
    if (resolved != NULL && asprintf(&name, "%s/%s", resolved, base) < 0) {
        name = NULL;
        errno = ENOMEM;
    }
    int code = errno;
    free(resolved);
    free(directory);
    errno = code;
    return name;
}

/* A link that somebody else made could lead what is written over any file of the user's. */
static accel__exit check_links(const char *path)
{
    char name[PATH_MAX];
    struct stat status;
    size_t size = strlen(path);
    for (size_t end = 1; end <= size && size < sizeof name; end++) {
        if ((path[end] != '/' && path[end] != '\0') || path[end - 1] == '/')
            continue;
        memcpy(name, path, end);
        name[end] = '\0';
        if (lstat(name, &status) != 0)
            break;
        if (S_ISLNK(status.st_mode) && status.st_uid != geteuid() && status.st_uid != 0)
            return accel__cli_fail(
                "%s: is a link that another user (%lu) made; name the file itself", name,
                (unsigned long)status.st_uid);
    }
    return ACCEL__EXIT_OK;
}

/* The file that `path` names: the end of a chain of links, so that the rename replaces the file and
 * not the link. */
static accel__exit find_target(accel__output_file *file, const char *path)
{
    struct stat status;
    if (path[0] == '\0' || path[strlen(path) - 1] == '/')
        return accel__cli_fail("\"%s\": is not the name of a file; name another one", path);
    if (check_links(path) != ACCEL__EXIT_OK)
        return ACCEL__EXIT_FAILED;
    file->target = realpath(path, NULL);
    if (file->target == NULL && errno == ENOENT) {
        if (lstat(path, &status) == 0)
            return accel__cli_fail("%s: is a link to nowhere; remove it or name another file",
                                   path);
        file->target = full_name(path);
    }
    if (file->target == NULL)
        return accel__cli_fail("%s: cannot be created: %s; look at the directory and its rights",
                               path, strerror(errno));
    if (stat(file->target, &status) == 0 && !S_ISREG(status.st_mode))
        return accel__cli_fail("%s: is not a regular file; name another one", path);
    return ACCEL__EXIT_OK;
}

/* The temporary file gets the rights that the target has, or that a new file would have. Rights that
 * somebody else gave a file might let him change ours. */
static accel__exit set_rights(const accel__output_file *file)
{
    struct stat status;
    mode_t mask = umask(0);
    umask(mask);
    mode_t mode = 0666 & ~mask;
    if (stat(file->target, &status) == 0 && status.st_uid == geteuid())
        mode = status.st_mode & 0777;
    return fchmod(file->descriptor, mode) == 0 ? ACCEL__EXIT_OK : fail(file, "created");
}

static char *temporary_name(const char *target)
{
    const char *slash = strrchr(target, '/');
    size_t directory = slash != NULL ? (size_t)(slash - target) + 1 : 0;
    char *name = NULL;
    if (directory > INT_MAX || asprintf(&name, "%.*s.accel-XXXXXX", (int)directory, target) < 0)
        return NULL;
    return name;
}

accel__exit accel__output_file_open(accel__output_file *file, const char *path)
{
    memset(file, 0, sizeof *file);
    file->descriptor = -1;
    accel__exit result = find_target(file, path);
    if (result != ACCEL__EXIT_OK)
        return result;
    char *name = temporary_name(file->target);
    if (name == NULL)
        return accel__cli_fail_memory();
    if (open_files == NULL)
        install_handlers();
    sigset_t blocked;
    sigset_t before;
    fill_signal_set(&blocked);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    do
        file->descriptor = mkostemp(name, O_CLOEXEC);
    while (file->descriptor < 0 && errno == EINTR);
    int code = errno;
    if (file->descriptor >= 0) {
        file->temporary = name;
        link_file(file);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (file->descriptor < 0) {
        free(name);
        errno = code;
        return fail(file, "created");
    }
    return set_rights(file);
}

accel__exit accel__output_file_write(accel__output_file *file, const void *bytes, size_t size)
{
    const char *from = bytes;
    while (size > 0) {
        ssize_t done = write(file->descriptor, from, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return fail(file, "written");
        from += done;
        size -= (size_t)done;
    }
    return ACCEL__EXIT_OK;
}

accel__exit accel__output_file_finish(accel__output_file *file)
{
    int descriptor = file->descriptor;
    /* A full disk may show only now. Some file systems cannot sync: EINVAL says no more than that. */
    bool synced = fsync(descriptor) == 0 || errno == EINVAL || errno == ENOSYS;
    int code = errno;
    file->descriptor = -1;
    if (close(descriptor) != 0 && synced) {
        synced = false;
        code = errno;
    }
    errno = code;
    return synced ? ACCEL__EXIT_OK : fail(file, "written");
}

static void forget_temporary(accel__output_file *file)
{
    unlink_file(file);
    free(file->temporary);
    file->temporary = NULL;
}

accel__exit accel__output_file_commit(accel__output_file *file)
{
    accel__exit result = ACCEL__EXIT_OK;
    sigset_t blocked;
    sigset_t before;
    fill_signal_set(&blocked);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    if (rename(file->temporary, file->target) == 0)
        forget_temporary(file);
    else
        result = fail(file, "put in place");
    sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}

bool accel__output_file_same(const accel__output_file *a, const accel__output_file *b)
{
    return strcmp(a->target, b->target) == 0;
}

void accel__output_file_release(accel__output_file *file)
{
    sigset_t blocked;
    sigset_t before;
    fill_signal_set(&blocked);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    if (file->temporary != NULL) {
        unlink(file->temporary);
        if (file->descriptor >= 0)
            close(file->descriptor);
        forget_temporary(file);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(file->target);
    memset(file, 0, sizeof *file);
    file->descriptor = -1;
}
