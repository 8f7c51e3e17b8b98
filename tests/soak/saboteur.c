/* saboteur.c: a preloaded library that stands between a program and the disk, and between it and the clock.
 *
 *   SABOTAGE=WHAT:N      at the N-th step towards the disk, counted from 1:
 *     kill               SIGKILL before the step; a write has put half of its bytes down then
 *     ENOSPC, EDQUOT     this step and all later ones that need space fail: the disk is full
 *     EIO                this step alone fails, closing and syncing included, removing not
 *     short              this write alone takes half of its bytes (one byte at least)
 *     EINTR              this write or open alone is interrupted
 *   SABOTAGE_MARK=FILE   is made when step N was reached
 *   SABOTAGE_CLOCK=WHAT  `wild`: CLOCK_REALTIME jumps by years, back and forth, at each reading;
 *                        `still`: CLOCK_MONOTONIC is what it was at the first reading;
 *                        `leap:N`: from the N-th reading on CLOCK_MONOTONIC is an hour ahead
 *
 * A step is each call that makes, writes, syncs, closes, renames or removes something; of descriptors only
 * those that were opened for writing. Programs that are started are left alone, but for their clock. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { DESCRIPTORS = 1024, YEAR_S = 31557600, HOUR_S = 3600 };

enum what { NOTHING, KILL, FULL, BROKEN, SHORT, INTERRUPTED };
enum step { MAKE, WRITE, SYNC, PUT, DROP };

static enum what what;
static int code;
static long wanted;
static const char *mark;
static enum { CLOCK_TRUE, CLOCK_WILD, CLOCK_STILL, CLOCK_LEAP } clock_mode;
static long leap_at;
static _Atomic(long) steps;
static _Atomic(long) readings;
static _Atomic(bool) is_written[DESCRIPTORS]; /* opened for writing, by a step */

__attribute__((constructor)) static void begin(void)
{
    static const struct {
        const char *name;
        enum what what;
        int code;
    } names[] = {{"kill", KILL, 0},    {"ENOSPC", FULL, ENOSPC}, {"EDQUOT", FULL, EDQUOT},
                 {"EIO", BROKEN, EIO}, {"short", SHORT, 0},      {"EINTR", INTERRUPTED, EINTR}};
    const char *text = getenv("SABOTAGE");
    const char *clock = getenv("SABOTAGE_CLOCK");
    mark = getenv("SABOTAGE_MARK");
    for (size_t i = 0; text != NULL && i < sizeof names / sizeof names[0]; i++)
        if (strncmp(text, names[i].name, strcspn(text, ":")) == 0) {
            what = names[i].what;
            code = names[i].code;
            wanted = strtol(text + strcspn(text, ":") + 1, NULL, 10);
        }
    if (clock != NULL && strcmp(clock, "wild") == 0)
        clock_mode = CLOCK_WILD;
    if (clock != NULL && strcmp(clock, "still") == 0)
        clock_mode = CLOCK_STILL;
    if (clock != NULL && strncmp(clock, "leap:", 5) == 0) {
        clock_mode = CLOCK_LEAP;
        leap_at = strtol(clock + 5, NULL, 10);
    }
    if (clock_mode == CLOCK_TRUE)
        unsetenv("LD_PRELOAD");
    unsetenv("SABOTAGE");
}

/* Whether the step is to fail; errno is set then. Does not return where it is the last. */
static bool sabotage(enum step step, int descriptor, const void *bytes, size_t size)
{
    const long number = atomic_fetch_add(&steps, 1) + 1;
    if (what == NOTHING || number < wanted || (number > wanted && what != FULL))
        return false;
    const bool may_interrupt = step == MAKE || step == WRITE;
    if ((step == DROP && what != KILL) || (what == INTERRUPTED && !may_interrupt) ||
        (what == SHORT && step != WRITE))
        return false;
    if (mark != NULL && number == wanted)
        syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY, 0600));
    if (what == KILL) {
        if (step == WRITE)
            syscall(SYS_write, descriptor, bytes, size / 2);
        kill(getpid(), SIGKILL);
    }
    errno = code;
    return what != SHORT;
}

static bool is_ours(int descriptor)
{
    return descriptor >= 0 && descriptor < DESCRIPTORS && atomic_load(&is_written[descriptor]);
}

static int note(int descriptor)
{
    if (descriptor >= 0 && descriptor < DESCRIPTORS)
        atomic_store(&is_written[descriptor], true);
    return descriptor;
}

/* ---- making ---- */

static int open_at(int folder, const char *path, int flags, mode_t mode)
{
    const bool writes = (flags & O_ACCMODE) != O_RDONLY && strcmp(path, "/dev/null") != 0 &&
                        strncmp(path, "/proc/", 6) != 0;
    if (writes && sabotage(MAKE, -1, NULL, 0))
        return -1;
    const int made = (int)syscall(SYS_openat, folder, path, flags, mode);
    return writes ? note(made) : made;
}

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return open_at(folder, path, flags, mode);
}

/* Six characters that nobody has. */
static void fill_template(char *path)
{
    static _Atomic(unsigned) count;
    char text[16];
    snprintf(text, sizeof text, "%06x",
             ((unsigned)getpid() << 8 | atomic_fetch_add(&count, 1)) & 0xffffffu);
    memcpy(path + strlen(path) - 6, text, 6);
}

int mkostemp(char *path, int flags)
{
    if (sabotage(MAKE, -1, NULL, 0))
        return -1;
    fill_template(path);
    return note((int)syscall(SYS_openat, AT_FDCWD, path, flags | O_RDWR | O_CREAT | O_EXCL, 0600));
}

char *mkdtemp(char *path)
{
    if (sabotage(MAKE, -1, NULL, 0))
        return NULL;
    fill_template(path);
    return syscall(SYS_mkdirat, AT_FDCWD, path, 0700) == 0 ? path : NULL;
}

int mkdir(const char *path, mode_t mode)
{
    return sabotage(MAKE, -1, NULL, 0) ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

/* ---- writing ---- */

ssize_t write(int descriptor, const void *bytes, size_t size)
{
    if (is_ours(descriptor)) {
        const long next = atomic_load(&steps) + 1;
        if (sabotage(WRITE, descriptor, bytes, size))
            return -1;
        if (what == SHORT && next == wanted && size > 1)
            size /= 2;
    }
    return syscall(SYS_write, descriptor, bytes, size);
}

int fsync(int descriptor)
{
    return is_ours(descriptor) && sabotage(SYNC, -1, NULL, 0) ? -1
                                                              : (int)syscall(SYS_fsync, descriptor);
}

int fchmod(int descriptor, mode_t mode)
{
    return is_ours(descriptor) && sabotage(SYNC, -1, NULL, 0)
               ? -1
               : (int)syscall(SYS_fchmod, descriptor, mode);
}

/* The descriptor is gone whatever close returns. */
int close(int descriptor)
{
    const bool fails = is_ours(descriptor) && sabotage(SYNC, -1, NULL, 0);
    const int failure = errno;
    if (descriptor >= 0 && descriptor < DESCRIPTORS)
        atomic_store(&is_written[descriptor], false);
    const int result = (int)syscall(SYS_close, descriptor);
    if (fails)
        errno = failure;
    return fails ? -1 : result;
}

/* ---- names ---- */

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    if (sabotage(PUT, -1, NULL, 0))
        return -1;
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

int rename(const char *from, const char *to)
{
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlinkat(int folder, const char *path, int flags)
{
    return sabotage(DROP, -1, NULL, 0) ? -1 : (int)syscall(SYS_unlinkat, folder, path, flags);
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

int remove(const char *path)
{
    if (unlinkat(AT_FDCWD, path, 0) == 0)
        return 0;
    return errno == EISDIR ? (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR) : -1;
}

/* ---- the clock ---- */

int clock_gettime(clockid_t clock, struct timespec *out_now)
{
    static struct timespec first;
    const int result = (int)syscall(SYS_clock_gettime, clock, out_now);
    if (clock_mode == CLOCK_WILD && clock == CLOCK_REALTIME)
        out_now->tv_sec += (atomic_fetch_add(&readings, 1) % 2 == 0 ? 7 : -7) * (time_t)YEAR_S;
    if (clock_mode == CLOCK_STILL && clock == CLOCK_MONOTONIC) {
        if (atomic_fetch_add(&readings, 1) == 0)
            first = *out_now;
        else if (first.tv_sec != 0)
            *out_now = first;
    }
    if (clock_mode == CLOCK_LEAP && clock == CLOCK_MONOTONIC &&
        atomic_fetch_add(&readings, 1) + 1 >= leap_at)
        out_now->tv_sec += HOUR_S;
    return result;
}

time_t time(time_t *out_now)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out_now != NULL)
        *out_now = now.tv_sec;
    return now.tv_sec;
}
