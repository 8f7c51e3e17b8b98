/* supervise.c: see supervise.h. The child is a process group of its own, which dies with its watcher
 * and is killed whole when the limit is over. Its bytes are kept until it has ended, and passed on only
 * where they are a whole record and it ended by itself: devices of a driver that crashed are none. */
#include "probe/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "core/probe_record.h"
#include "platform/clock.h"

/* How the child ended. */
typedef struct outcome {
    bool timed_out;
    int wait_status;
    accel__text bytes;
} outcome;

static _Noreturn void become_child(const accel__probe_job *job, int output)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0); /* a driver's crash leaves no core file */
    close(job->report);
    accel__probe_ask(job, output);
}

/* True: more may come. */
static bool read_some(int input, outcome *made)
{
    char bytes[4096];
    const ssize_t count = read(input, bytes, sizeof bytes);
    if (count < 0)
        return errno == EINTR;
    if (made->bytes.size <= accel__probe_size(ACCEL__PROBE_DEVICE_MAX))
        accel__text_append(&made->bytes, bytes, (size_t)count);
    return count > 0;
}

/* Reads until the pipe ends or the time is over. A driver's own children may hold the pipe open: the
 * end of the child itself is looked for too, by the poll's short steps. */
static void collect(pid_t child, int input, uint64_t end_ns, outcome *made)
{
    bool open = true;
    bool ended = false;
    for (;;) {
        const uint64_t now = accel__clock_ns();
        if (!ended)
            ended = waitpid(child, &made->wait_status, WNOHANG) == child;
        made->timed_out = !ended && now >= end_ns;
        struct pollfd wait = {.fd = input, .events = POLLIN};
        const int ready = open ? poll(&wait, 1, ended || made->timed_out ? 0 : 2) : 0;
        if (ready > 0)
            open = read_some(input, made);
        else if (ended || made->timed_out)
            return;
        else if (!open)
            poll(NULL, 0, 1);
    }
}

static bool ask_in_child(const accel__probe_job *job, outcome *made)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    const uint64_t end_ns = accel__clock_ns() + job->limit_ms * 1000000u;
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        become_child(job, ends[1]);
    }
    close(ends[1]);
    if (child > 0) {
        collect(child, ends[0], end_ns, made);
        kill(-child, SIGKILL); /* what the driver left running, too */
        kill(child, SIGKILL);
        if (made->timed_out)
            waitpid(child, NULL, 0);
    }
    close(ends[0]);
    return child > 0;
}

/* The end that stands for a child which did not write its own. */
static accel__probe_end end_of(const accel__probe_job *job, const outcome *made)
{
    accel__probe_end end = {0};
    if (made->timed_out) {
        end.reason = ACCEL_REASON_HUNG;
        snprintf(end.detail, sizeof end.detail, "stopped after %llu ms",
                 (unsigned long long)job->limit_ms);
    } else if (WIFSIGNALED(made->wait_status)) {
        end.reason = ACCEL_REASON_CRASHED;
        snprintf(end.detail, sizeof end.detail, "signal %d (%s)", WTERMSIG(made->wait_status),
                 strsignal(WTERMSIG(made->wait_status)));
    } else {
        end.reason = ACCEL_REASON_EXITED;
        snprintf(end.detail, sizeof end.detail, "exit status %d", WEXITSTATUS(made->wait_status));
    }
    return end;
}

bool accel__probe_write(int descriptor, const void *bytes, size_t size)
{
    const char *rest = bytes;
    while (size != 0) {
        const ssize_t wrote = write(descriptor, rest, size);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        rest += wrote;
        size -= (size_t)wrote;
    }
    return true;
}

static bool write_end(int descriptor, const accel__probe_end *end)
{
    const accel__probe_header header = accel__probe_header_make();
    const accel__probe_message message = {ACCEL__PROBE_END, sizeof *end};
    return accel__probe_write(descriptor, &header, sizeof header) &&
           accel__probe_write(descriptor, &message, sizeof message) &&
           accel__probe_write(descriptor, end, sizeof *end);
}

bool accel__probe_supervise(const accel__probe_job *job)
{
    outcome made = {0};
    accel__probe_end end = {.reason = ACCEL_REASON_HELPER_FAILED};
    const char *text = NULL;
    bool wrote = false;
    signal(SIGPIPE, SIG_IGN);
    if (!ask_in_child(job, &made)) {
        snprintf(end.detail, sizeof end.detail, "the helper could not start a child: %s",
                 strerror(errno));
        wrote = write_end(job->report, &end);
    } else if (!made.timed_out && WIFEXITED(made.wait_status) &&
               WEXITSTATUS(made.wait_status) == 0 &&
               accel__probe_parse(accel__text_string(&made.bytes), made.bytes.size, &end, &text)) {
        wrote = accel__probe_write(job->report, made.bytes.data, made.bytes.size);
    } else {
        end = end_of(job, &made);
        wrote = write_end(job->report, &end);
    }
    accel__text_release(&made.bytes);
    return wrote;
}
