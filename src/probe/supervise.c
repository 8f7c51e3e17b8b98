/* supervise.c: see supervise.h. The child is a process group of its own, which dies with its watcher
 * and is killed whole once it has answered or the time is over. What it reports counts only when it is
 * whole: devices of a driver that crashed half way are none. */
#include "probe/supervise.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/clock.h"

static _Noreturn void become_child(const accel__probe_job *job, accel__probe_sheet *sheet,
                                   pid_t supervisor)
{
    sigset_t none;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0); /* a driver's crash leaves no core file */
    if (getppid() != supervisor)
        _exit(1); /* it died before it could be told of */
    close(job->report);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    accel__probe_ask(job, sheet);
}

/* How it went with the child. */
typedef struct outcome {
    pid_t process; /* -1: none could be started */
    bool ended;    /* and is waited for */
    int status;    /* then */
} outcome;

/* Waits until the child has answered or ended; SIGCHLD, which it also sends itself when it has answered,
 * is blocked. What a driver's end takes (it gives memory and device files back) nobody waits for. */
static void wait_for(outcome *child, const accel__probe_sheet *sheet, uint64_t deadline_ns)
{
    sigset_t wanted;
    bool is_over = false; /* all of the time went by, whatever the clock says */
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    for (;;) {
        child->ended = waitpid(child->process, &child->status, WNOHANG) == child->process;
        const uint64_t now = accel__clock_ns();
        if (child->ended || sheet->whole || is_over || now >= deadline_ns)
            return;
        const struct timespec left = {(time_t)((deadline_ns - now) / 1000000000u),
                                      (long)((deadline_ns - now) % 1000000000u)};
        is_over = sigtimedwait(&wanted, NULL, &left) < 0 && errno == EAGAIN;
    }
}

/* The end that stands for a child which did not write its own. */
static void explain(const accel__probe_job *job, const outcome *child, accel__probe_end *end)
{
    const int status = child->status;
    *end = (accel__probe_end){0};
    if (!child->ended) {
        end->reason = ACCEL_REASON_HUNG;
        snprintf(end->detail, sizeof end->detail, "stopped after %llu ms",
                 (unsigned long long)job->limit_ms);
    } else if (WIFSIGNALED(status)) {
        end->reason = ACCEL_REASON_CRASHED;
        snprintf(end->detail, sizeof end->detail, "signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    } else {
        end->reason = ACCEL_REASON_EXITED;
        snprintf(end->detail, sizeof end->detail, "exit status %d", WEXITSTATUS(status));
    }
}

static outcome ask_in_child(const accel__probe_job *job, accel__probe_sheet *sheet)
{
    const pid_t self = getpid();
    outcome child = {.process = fork()};
    if (child.process == 0)
        become_child(job, sheet, self);
    if (child.process < 0) {
        sheet->end.reason = ACCEL_REASON_HELPER_FAILED;
        snprintf(sheet->end.detail, sizeof sheet->end.detail,
                 "the helper could not start a child: %s", strerror(errno));
        return child;
    }
    wait_for(&child, sheet, job->deadline_ns);
    kill(-child.process, SIGKILL); /* what the driver left running, too */
    if (!child.ended)
        kill(child.process, SIGKILL);
    if (!sheet->whole)
        explain(job, &child, &sheet->end);
    else if (sheet->end.found_count > ACCEL__PROBE_DEVICE_MAX)
        sheet->end = (accel__probe_end){ACCEL_REASON_BAD_ANSWER, 0, "it overwrote its answer"};
    return child;
}

static bool write_all(int descriptor, const void *bytes, size_t size)
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

static bool write_message(int descriptor, accel__probe_kind kind, const void *payload, size_t size)
{
    const accel__probe_message message = {(uint32_t)kind, (uint32_t)size};
    return write_all(descriptor, &message, sizeof message) && write_all(descriptor, payload, size);
}

static bool write_record(int descriptor, const accel__probe_sheet *sheet)
{
    const accel__probe_header header = accel__probe_header_make();
    bool ok = write_all(descriptor, &header, sizeof header);
    for (uint32_t i = 0; i < sheet->end.found_count && ok; i++)
        ok = write_message(descriptor, ACCEL__PROBE_FOUND, &sheet->found[i],
                           sizeof sheet->found[i]);
    return ok && write_message(descriptor, ACCEL__PROBE_END, &sheet->end, sizeof sheet->end);
}

bool accel__probe_supervise(const accel__probe_job *job)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGPIPE, SIG_IGN);
    accel__probe_sheet *sheet = mmap(NULL, sizeof *sheet, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (sheet == MAP_FAILED)
        return false;
    const outcome child = ask_in_child(job, sheet);
    const bool wrote = write_record(job->report, sheet);
    if (child.process > 0 && !child.ended)
        waitpid(child.process, NULL, 0);
    munmap(sheet, sizeof *sheet);
    return wrote;
}
