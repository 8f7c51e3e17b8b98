/* process.c: see process.h. Used for the compiler of the cpu backend.
 *
 * The end of the program is what ends a run, not the end of its output: a helper that the program left
 * behind may hold the pipe open for ever. It is noticed through a pidfd; where the kernel has none, by
 * asking a hundred times a second. Nothing here depends on SIGCHLD, which belongs to the application. */
#include "platform/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/allocate.h"
#include "base/environment.h"
#include "platform/calls.h"
#include "platform/clock.h"
#include "platform/pipe.h"
#include "platform/spawn.h"
#include "platform/trust.h"

enum { KEPT_SIZE = 4 << 20, ASK_INTERVAL_MS = 10, SLICES = 64 };

/* What a program of ours gets where the process runs with rights that its user does not have. */
static const char safe_path[] = "/usr/local/bin:/usr/bin:/bin";
static char safe_path_variable[] = "PATH=/usr/local/bin:/usr/bin:/bin";
static char c_locale_variable[] = "LC_ALL=C";

typedef struct run {
    pid_t process;
    int output;        /* the reading end, non-blocking; -1 once it ended */
    int ending;        /* a pidfd, or -1 */
    bool ended;        /* waited for */
    uint64_t left_ns;  /* of the time; UINT64_MAX: no limit */
    uint64_t slice_ms; /* to sleep at a time at most: what a leap of the clock can cost */
    accel__text *text; /* NULL: dropped */
    size_t text_limit;
    accel__process_result *result;
} run;

/* ---- starting ---- */

/* The caller's environment with LC_ALL=C, so that messages can be parsed, and `temporary` (a whole
 * TMPDIR=... or NULL). The strings stay the environment's; only the array is ours. */
static char **make_environment(char *temporary)
{
    const bool secure = getauxval(AT_SECURE) != 0;
    size_t count = 0;
    while (!secure && environ != NULL && environ[count] != NULL)
        count++;
    char **made = accel__allocate_array(count + 4, sizeof *made);
    if (made == NULL)
        return NULL;
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "LC_ALL=", 7) != 0 &&
            (temporary == NULL || strncmp(environ[i], "TMPDIR=", 7) != 0))
            made[used++] = environ[i];
    if (secure)
        made[used++] = safe_path_variable;
    if (temporary != NULL)
        made[used++] = temporary;
    made[used] = c_locale_variable;
    return made;
}

/* Starts the program; its output comes out of *out_output. */
static int start(const char *path, char *const arguments[], char *temporary, uint64_t memory_bytes,
                 pid_t *out_process, int *out_output)
{
    char **environment = make_environment(temporary);
    if (environment == NULL)
        return ENOMEM;
    int ends[2] = {-1, -1};
    int code = accel__pipe_open(ends);
    if (code == 0) {
        fcntl(ends[0], F_SETFL, O_NONBLOCK); /* the ends have flags of their own */
        const accel__spawn wanted = {.path = path,
                                     .arguments = arguments,
                                     .environment = environment,
                                     .output = ends[1],
                                     .memory_bytes = memory_bytes};
        code = accel__platform.spawn(&wanted, out_process);
        close(ends[1]);
        if (code == 0)
            *out_output = ends[0];
        else
            close(ends[0]);
    }
    accel__deallocate(environment);
    return code;
}

/* ---- running ---- */

/* Takes what the pipe holds now. What is past the limit is read all the same: the program must not
 * block on a full pipe. */
static void drain(run *now)
{
    char bytes[4096];
    while (now->output >= 0) {
        const ssize_t size = read(now->output, bytes, sizeof bytes);
        if (size > 0) {
            size_t room = 0;
            if (now->text != NULL && now->text->size < now->text_limit)
                room = now->text_limit - now->text->size;
            if (room != 0)
                accel__text_append(now->text, bytes, (size_t)size < room ? (size_t)size : room);
        } else if (size < 0 && errno == EINTR) {
            continue;
        } else if (size < 0 && errno == EAGAIN) {
            return;
        } else {
            close(now->output);
            now->output = -1;
        }
    }
}

/* Whether the program has ended; `flags` 0 waits for it. */
static bool reap(run *now, int flags)
{
    int status = 0;
    pid_t got;
    do
        got = waitpid(now->process, &status, flags);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return false;
    now->ended = true;
    now->result->known = got == now->process;
    if (now->result->known && WIFEXITED(status))
        now->result->exit_status = WEXITSTATUS(status);
    if (now->result->known && WIFSIGNALED(status))
        now->result->signal = WTERMSIG(status);
    return true;
}

/* How long to sleep at most: -1 for ever, 0 where the time is over. */
static int sleep_limit_ms(const run *now)
{
    const int interval = now->ending >= 0 ? -1 : ASK_INTERVAL_MS;
    if (now->left_ns == UINT64_MAX)
        return interval;
    const uint64_t left = now->left_ns / 1000000u + (now->left_ns % 1000000u != 0);
    const int limit = (int)(left < now->slice_ms ? left : now->slice_ms);
    return interval >= 0 && interval < limit ? interval : limit;
}

/* Takes from the time that is left what was slept since `before`: all of `limit_ms` where it was slept to its
 * end, and never more, so that neither a clock that stands still nor one that leaps decides. */
static void spend(run *now, uint64_t before, int limit_ms, bool to_the_end)
{
    const uint64_t most = (uint64_t)limit_ms * 1000000u;
    const uint64_t elapsed = accel__clock_ns() - before;
    const uint64_t spent = to_the_end || elapsed > most ? most : elapsed;
    now->left_ns -= spent < now->left_ns ? spent : now->left_ns;
}

static void follow(run *now)
{
    while (!reap(now, WNOHANG)) {
        const int limit = sleep_limit_ms(now);
        if (limit == 0) {
            now->result->timed_out = true;
            kill(-now->process, SIGKILL);
            reap(now, 0);
            break;
        }
        struct pollfd wanted[2] = {{.fd = now->output, .events = POLLIN},
                                   {.fd = now->ending, .events = POLLIN}};
        const uint64_t before = accel__clock_ns();
        const bool to_the_end = poll(wanted, 2, limit) == 0;
        if (now->left_ns != UINT64_MAX)
            spend(now, before, limit, to_the_end);
        drain(now);
    }
    drain(now);
}

bool accel__process_run(const char *path, char *const arguments[], const char *temporary,
                        const accel__process_limits *limits, accel__text *out_text,
                        accel__process_result *out_result)
{
    static const accel__process_limits none = {0};
    limits = limits != NULL ? limits : &none;
    *out_result = (accel__process_result){0};
    run now = {.text = out_text, .result = out_result, .output = -1, .left_ns = UINT64_MAX};
    if (out_text != NULL)
        now.text_limit = out_text->size + KEPT_SIZE;
    if (limits->timeout_ms != 0) {
        now.left_ns = limits->timeout_ms * (uint64_t)1000000;
        now.slice_ms = limits->timeout_ms / SLICES + 1;
    }
    accel__text variable = {0};
    if (temporary != NULL)
        accel__text_format(&variable, "TMPDIR=%s", temporary);
    out_result->start_error = variable.failed
                                  ? ENOMEM
                                  : start(path, arguments, variable.data, limits->memory_bytes,
                                          &now.process, &now.output);
    accel__text_release(&variable);
    if (out_result->start_error != 0)
        return false;
    now.ending = (int)syscall(SYS_pidfd_open, now.process, 0); /* close-on-exec by itself */
    follow(&now);
    if (now.output >= 0)
        close(now.output);
    if (now.ending >= 0)
        close(now.ending);
    return true;
}

/* ---- finding ---- */

/* Where a program is looked for. */
typedef struct search {
    char *path; /* where it is, or will be */
    size_t capacity;
    char distrust[256]; /* why one that is there is not taken; "": none was */
} search;

static bool take(search *now)
{
    char reason[sizeof now->distrust];
    struct stat about;
    if (stat(now->path, &about) != 0 || !S_ISREG(about.st_mode) ||
        faccessat(AT_FDCWD, now->path, X_OK, AT_EACCESS) != 0)
        return false;
    if (accel__trust_path(now->path, reason, sizeof reason))
        return true;
    if (now->distrust[0] == '\0')
        memcpy(now->distrust, reason, sizeof reason);
    return false;
}

/* directory[0..size) + "/" + name; false where that does not fit. */
static bool join(search *now, const char *directory, size_t size, const char *name)
{
    const size_t name_size = strlen(name);
    if (size + name_size + 2 > now->capacity)
        return false;
    memcpy(now->path, directory, size);
    now->path[size] = '/';
    memcpy(now->path + size + 1, name, name_size + 1);
    return true;
}

static bool take_absolute(search *now, const char *name)
{
    const size_t size = strlen(name) + 1;
    if (name[0] != '/' || size > now->capacity)
        return false;
    memcpy(now->path, name, size);
    return take(now);
}

static bool take_from_list(search *now, const char *name)
{
    const char *list = accel__environment_path("PATH");
    const char *directory = list != NULL ? list : safe_path;
    while (name[0] != '\0') {
        const size_t size = strcspn(directory, ":");
        if (directory[0] == '/' && join(now, directory, size, name) && take(now))
            return true;
        if (directory[size] == '\0')
            break;
        directory += size + 1;
    }
    return false;
}

bool accel__process_find(const char *name, char *buffer, size_t capacity)
{
    search now = {.path = buffer, .capacity = capacity};
    if (strchr(name, '/') != NULL ? take_absolute(&now, name) : take_from_list(&now, name))
        return true;
    snprintf(buffer, capacity, "%s", now.distrust);
    return false;
}
