/* probe.c: see probe.h. One helper for each driver, all started before the first is read; each reports
 * through a pipe of its own. The helper watches its driver and keeps the deadline itself; the wait here
 * is only a little longer, for a helper that is stopped or starved.
 *
 * A record is taken as soon as it is whole, not at the pipe's end: a child that the program forks
 * meanwhile holds the pipe open. */
#include "core/probe.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/allocate.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/text.h"
#include "core/helper_path.h"
#include "core/probe_record.h"
#include "core/registry.h"
#include "platform/clock.h"
#include "platform/detached.h"
#include "platform/pipe.h"

enum { PATIENCE_MS = 150, PATH_SIZE = 4096 };

/* One helper at work. */
typedef struct run {
    accel__answer *answer;
    accel__detached helper;
    int descriptor; /* -1: not started, or done */
    uint64_t started_ns;
    accel__text record;
} run;

static void settle(accel__answer *answer, accel_reason reason, const char *detail)
{
    answer->reason = reason;
    snprintf(answer->detail, sizeof answer->detail, "%.255s", detail);
}

static void settle_errno(accel__answer *answer, const char *what, int code)
{
    char text[128];
    answer->reason = ACCEL_REASON_HELPER_FAILED;
    snprintf(answer->detail, sizeof answer->detail, "%.120s: %.120s", what,
             strerror_r(code, text, sizeof text));
}

static bool read_limit(uint64_t *out_limit_ms)
{
    return accel__environment_number("ACCEL_PROBE_TIMEOUT_MS", 1, 600000, ACCEL__PROBE_TIMEOUT_MS,
                                     out_limit_ms);
}

void accel__probe_check_limit(void)
{
    uint64_t limit;
    if (!read_limit(&limit))
        accel__log(ACCEL_LOG_LEVEL_WARNING, NULL,
                   "ACCEL_PROBE_TIMEOUT_MS is no number from 1 to 600000: 3000 is used");
}

static void start(run *made, const accel__backend *backend, const char *helper, uint64_t limit,
                  uint64_t deadline_ns)
{
    accel_backend_driver *driver = &made->answer->driver;
    char limit_text[24];
    char deadline[24];
    char name[32];
    int ends[2];
    snprintf(limit_text, sizeof limit_text, "%llu", (unsigned long long)limit);
    snprintf(deadline, sizeof deadline, "%llu", (unsigned long long)deadline_ns);
    snprintf(name, sizeof name, "%s", backend->table.name);
    char program[] = "accel-probe";
    char *arguments[] = {program,         name,           limit_text, deadline, driver->name,
                         driver->library, driver->source, NULL};
    int code = accel__pipe_open(ends);
    if (code != 0) {
        settle_errno(made->answer, "no pipe to a helper", code);
        return;
    }
    made->started_ns = accel__clock_ns();
    code = accel__detached_start(helper, arguments, ends[1], &made->helper);
    close(ends[1]);
    if (code != 0) {
        close(ends[0]);
        settle_errno(made->answer, helper, code);
        return;
    }
    made->descriptor = ends[0];
}

/* What the helper wrote becomes the answer. */
static void take(run *made, const accel__probe_end *end)
{
    accel__answer *answer = made->answer;
    accel_backend_found *found = accel__allocate_array(end->found_count, sizeof *found);
    if (found == NULL) {
        settle(answer, ACCEL_REASON_HELPER_FAILED, "no memory");
        return;
    }
    settle(answer, (accel_reason)end->reason, end->detail);
    for (uint32_t i = 0; i < end->found_count; i++)
        found[i] = accel__probe_found(accel__text_string(&made->record), i);
    answer->found = found;
    answer->found_count = end->found_count;
}

static void finish(run *made, bool is_done)
{
    made->answer->duration_ms = (uint32_t)((accel__clock_ns() - made->started_ns) / 1000000u);
    close(made->descriptor);
    made->descriptor = -1;
    accel__detached_finish(&made->helper, is_done);
}

/* Takes the record if it is whole; otherwise, at the end of all bytes, what is wrong with it. */
static void judge(run *made, bool ended)
{
    accel__probe_end end;
    const char *text = NULL;
    const char *bytes = accel__text_string(&made->record);
    const bool failed = made->record.failed;
    const bool whole = !failed && accel__probe_parse(bytes, made->record.size, &end, &text);
    if (whole)
        take(made, &end);
    else if (failed || ended || made->record.size > accel__probe_size(ACCEL__PROBE_DEVICE_MAX))
        settle(made->answer, ACCEL_REASON_HELPER_FAILED, failed ? "no memory" : text);
    else
        return;
    finish(made, whole);
}

static void read_some(run *made)
{
    char bytes[4096];
    const ssize_t count = read(made->descriptor, bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (count > 0)
        accel__text_append(&made->record, bytes, (size_t)count);
    judge(made, count <= 0);
}

/* Waits for the helpers that are still at work. False: the time is over, or none is left. */
static bool wait_for_some(run *runs, uint32_t count, uint64_t end_ns)
{
    struct pollfd waits[ACCEL__DRIVER_MAX];
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        waits[i] = (struct pollfd){.fd = runs[i].descriptor, .events = POLLIN};
        any |= runs[i].descriptor >= 0;
    }
    const uint64_t now = accel__clock_ns();
    if (!any || now >= end_ns)
        return false;
    const int ready = poll(waits, count, (int)((end_ns - now) / 1000000u + 1));
    if (ready <= 0) /* all of the time went by, whatever the clock says; or a signal came */
        return ready < 0 && errno == EINTR;
    for (uint32_t i = 0; i < count; i++)
        if (runs[i].descriptor >= 0 && waits[i].revents != 0)
            read_some(&runs[i]);
    return true;
}

/* A helper that keeps not even its own deadline. Its driver dies with it. */
static void abandon(run *made)
{
    settle(made->answer, ACCEL_REASON_HUNG, "the helper did not answer");
    finish(made, false);
}

static void ask(const accel__backend *backend, accel__answer *const answers[], uint32_t count)
{
    char helper[PATH_SIZE];
    run runs[ACCEL__DRIVER_MAX];
    const bool have_helper = accel__helper_path(helper, sizeof helper);
    uint64_t limit;
    (void)read_limit(&limit); /* a wrong one gives the default; accel__probe_check_limit says so */
    const uint64_t deadline_ns = accel__clock_ns() + limit * 1000000u;
    for (uint32_t i = 0; i < count; i++) {
        runs[i] = (run){.answer = answers[i], .descriptor = -1};
        if (have_helper)
            start(&runs[i], backend, helper, limit, deadline_ns);
        else
            settle(answers[i], ACCEL_REASON_HELPER_MISSING, helper);
    }
    while (wait_for_some(runs, count, deadline_ns + (uint64_t)PATIENCE_MS * 1000000u))
        continue;
    for (uint32_t i = 0; i < count; i++) {
        if (runs[i].descriptor >= 0)
            abandon(&runs[i]);
        accel__text_release(&runs[i].record);
    }
}

void accel__probe_drivers(const accel__backend *backend, accel__answer *const answers[],
                          uint32_t count)
{
    int before = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); /* the caller holds a mutex */
    ask(backend, answers, count);
    pthread_setcancelstate(before, &before);
}
