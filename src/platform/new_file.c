/* new_file.c: the temporary file lies in the directory of its target, so that the rename stays
 * within one file system. */
#include "platform/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/text.h"
#include "platform/calls.h"
#include "platform/scratch.h"
#include "platform/trust.h"

enum { BUFFER_SIZE = 1 << 16, NAME_TRIES = 100 };

struct accel__new_file {
    const char *function;
    int descriptor;
    int error;      /* errno of the first failure */
    bool is_direct; /* a device: no rename */
    char *target;
    char *temporary;
    size_t used;
    char buffer[BUFFER_SIZE];
};

static accel_status fail(const accel__new_file *file, int code, const char *verb)
{
    if (code == ENOSPC || code == EDQUOT)
        return accel__fail_vendor(ACCEL_ERROR_IO, NULL, file->function, code, strerror(code),
                                  "%s: cannot be %s: there is no space left", file->target, verb);
    return accel__fail_errno(code, file->function, "%s: cannot be %s", file->target, verb);
}

/* ---- opening ---- */

/* What `path` names, the way a rename must have it. NULL: no memory. */
static char *target_of(const char *path)
{
    char resolved[PATH_MAX];
    return accel__duplicate_string(realpath(path, resolved) != NULL ? resolved : path);
}

/* A name beside the target that nobody has. */
static int open_temporary(accel__new_file *file, mode_t mode)
{
    static _Atomic(uint32_t) counter;
    for (int tries = 0; tries < NAME_TRIES; tries++) {
        accel__text name = {0};
        accel__text_format(&name, "%s.%ld-%u.tmp", file->target, (long)getpid(),
                           (unsigned)atomic_fetch_add(&counter, 1));
        if (name.failed) {
            accel__text_release(&name);
            return ENOMEM;
        }
        file->descriptor = accel__platform.open(name.data, O_WRONLY | O_CREAT | O_EXCL, mode);
        const int code = errno;
        if (file->descriptor >= 0) {
            file->temporary = name.data;
            return 0;
        }
        accel__text_release(&name);
        if (code != EEXIST)
            return code;
    }
    return EEXIST;
}

static accel_status open_for(accel__new_file *file)
{
    struct stat there;
    const bool is_there = stat(file->target, &there) == 0;
    int code = 0;
    if (is_there && S_ISDIR(there.st_mode))
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, file->function,
                           "%s is a directory; name a file", file->target);
    if (is_there && !S_ISREG(there.st_mode)) {
        file->is_direct = true;
        file->descriptor = accel__platform.open(file->target, O_WRONLY, 0);
        code = file->descriptor < 0 ? errno : 0;
    } else {
        /* Rights that somebody else gave a file are not taken over: they might let him change ours. */
        const bool is_own = is_there && there.st_uid == geteuid();
        code = open_temporary(file, is_own ? 0600 : 0666);
        if (code == 0 && is_own && fchmod(file->descriptor, there.st_mode & 0777) != 0)
            code = errno;
    }
    return code == 0 ? ACCEL_OK : fail(file, code, "created");
}

accel_status accel__new_file_create(const char *path, const char *function,
                                    accel__new_file **out_file)
{
    *out_file = NULL;
    char reason[256];
    if (path[0] == '\0')
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function, "the path is empty");
    if (!accel__trust_links(path, reason, sizeof reason))
        return accel__fail(
            ACCEL_ERROR_PERMISSION, NULL, function,
            "%s is not written to: it leads to what somebody else may have planted: %s", path,
            reason);
    accel__new_file *file = accel__allocate(sizeof *file);
    if (file != NULL)
        file->target = target_of(path);
    if (file == NULL || file->target == NULL) {
        accel__deallocate(file);
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, NULL, function,
                           "no host memory to write %s", path);
    }
    file->function = function;
    file->descriptor = -1;
    const accel_status status = open_for(file);
    if (status != ACCEL_OK)
        accel__new_file_abandon(file);
    else
        *out_file = file;
    return status;
}

/* ---- writing ---- */

static void write_through(accel__new_file *file, const void *bytes, size_t size)
{
    if (file->error == 0)
        file->error = accel__write_all(file->descriptor, bytes, size);
}

void accel__new_file_write(accel__new_file *file, const void *bytes, size_t size)
{
    if (file->used + size > BUFFER_SIZE) {
        write_through(file, file->buffer, file->used);
        file->used = 0;
    }
    if (size > BUFFER_SIZE) {
        write_through(file, bytes, size);
        return;
    }
    memcpy(file->buffer + file->used, bytes, size);
    file->used += size;
}

/* ---- ending ---- */

accel_status accel__new_file_commit(accel__new_file *file)
{
    write_through(file, file->buffer, file->used);
    /* A full disk may show only now. What cannot be synced says so by EINVAL, or ENOSYS or EROFS. */
    if (file->error == 0 && !file->is_direct && fsync(file->descriptor) != 0 && errno != EINVAL &&
        errno != ENOSYS && errno != EROFS)
        file->error = errno;
    const int descriptor = file->descriptor;
    file->descriptor = -1;
    if (close(descriptor) != 0 && file->error == 0 && errno != EINTR)
        file->error = errno;
    if (file->error == 0 && !file->is_direct && rename(file->temporary, file->target) != 0)
        file->error = errno;
    const accel_status status = file->error == 0 ? ACCEL_OK : fail(file, file->error, "written");
    if (status == ACCEL_OK) {
        accel__deallocate(file->temporary);
        file->temporary = NULL;
    }
    accel__new_file_abandon(file);
    return status;
}

void accel__new_file_abandon(accel__new_file *file)
{
    const int code = errno;
    if (file == NULL)
        return;
    if (file->descriptor >= 0)
        close(file->descriptor);
    if (file->temporary != NULL)
        unlink(file->temporary);
    accel__deallocate(file->temporary);
    accel__deallocate(file->target);
    accel__deallocate(file);
    errno = code;
}
