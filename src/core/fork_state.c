/* fork_state.c: may this process still fork, and use every backend in the child?
 *
 * What accel started itself it knows (lifecycle.h). What something else in the process started - another
 * library, the program itself - shows only by its traces (platform/trace.h). In a child of such a process
 * the driver's threads are gone, while its memory was inherited: there open device files still tell, and
 * a library of which nothing but the mapping is left is "maybe". */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/lent.h"
#include "core/lifecycle.h"
#include "platform/trace.h"

/* Appends one piece of evidence. */
static void __attribute__((format(printf, 2, 3)))
add(accel_fork_report *report, const char *format, ...)
{
    char text[256];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    const size_t used = strlen(report->evidence);
    snprintf(report->evidence + used, sizeof report->evidence - used, "%s%s", used != 0 ? "; " : "",
             text);
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void describe(const accel__backend *backend, const accel__trace *trace,
                     accel_fork_report *report)
{
    const uint32_t touched = backend->touched_generation;
    if (touched != 0 && touched == accel__generation())
        add(report, "accel started '%s'", backend->table.name);
    else if (touched != 0)
        add(report, "accel had started '%s' before this process was forked", backend->table.name);
    if (trace->device_file[0] != '\0')
        add(report, "%.200s is %s", trace->device_file, trace->device_is_open ? "open" : "mapped");
    if (trace->thread_count != 0)
        add(report, "%u thread%s in %.200s", trace->thread_count,
            trace->thread_count == 1 ? "" : "s", file_name(trace->library));
    if (report->evidence[0] == '\0' && trace->library[0] != '\0')
        add(report, "%.180s is mapped; nothing shows that it was started",
            file_name(trace->library));
}

static int judge(const accel__backend *backend, accel_fork_report *out_report)
{
    accel__trace trace;
    const int code = accel__trace_look(backend->table.library_prefixes,
                                       backend->table.device_file_prefixes, &trace);
    *out_report = (accel_fork_report){.by_accel = backend->touched_generation != 0};
    if (out_report->by_accel || trace.thread_count != 0 || trace.device_file[0] != '\0')
        out_report->verdict = ACCEL_FORK_VERDICT_SPOILT;
    else if (trace.library[0] != '\0')
        out_report->verdict = ACCEL_FORK_VERDICT_MAYBE;
    memcpy(out_report->library, trace.library, sizeof out_report->library);
    describe(backend, &trace, out_report);
    return code;
}

static bool is_worse(const accel_fork_report *report, const accel_fork_report *other)
{
    return report->verdict != other->verdict ? report->verdict > other->verdict
                                             : report->by_accel && !other->by_accel;
}

accel_status accel_fork_state(accel_fork_report *out_report)
{
    const accel_status status = accel__out_check(out_report, __func__);
    if (status != ACCEL_OK)
        return status;
    accel__out_clear(out_report);
    accel_fork_report worst = {0};
    int first = 0;
    const uint32_t known = accel__registry_count();
    for (accel_backend number = 1; number <= known; number++) {
        const accel__backend *backend = accel__registry_get(number);
        if (accel__backend_survives_fork(backend))
            continue;
        accel_fork_report report;
        const int code = judge(backend, &report);
        first = first != 0 ? first : code;
        if (is_worse(&report, &worst))
            worst = report;
    }
    /* What could not be read does not matter where the worst is known. */
    if (first != 0 && worst.verdict != ACCEL_FORK_VERDICT_SPOILT)
        return first == ENOMEM
                   ? accel__fail_errno(first, __func__, "no memory to read /proc/self")
                   : accel__fail(ACCEL_ERROR_SYSTEM, NULL, __func__,
                                 "/proc/self cannot be read: %s; mount /proc", strerror(first));
    accel__out_write(out_report, &worst, sizeof worst);
    return ACCEL_OK;
}
