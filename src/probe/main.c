/* accel-probe: asks one driver what devices it has, on behalf of a process that must not load it.
 *
 *   accel-probe BACKEND LIMIT_MS DEADLINE_NS NAME LIBRARY SOURCE
 *
 * Started by libaccel, which reads descriptor 3. The driver is loaded in a child (ask.c); this process
 * only watches (supervise.c): it never loads anything, keeps the deadline, and writes one record
 * whatever the driver does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/registry.h"
#include "probe/supervise.h"

enum { REPORT_DESCRIPTOR = 3 };

static int usage(void)
{
    fputs("accel-probe is started by libaccel, not by hand; see `accel doctor`\n", stderr);
    return 2;
}

static bool read_number(const char *text, uint64_t *out_number)
{
    char *end = NULL;
    *out_number = strtoull(text, &end, 10);
    return end != text && *end == '\0' && *out_number != 0;
}

static bool read_arguments(int count, char **arguments, accel__probe_job *out_job)
{
    *out_job = (accel__probe_job){.report = REPORT_DESCRIPTOR};
    if (count != 7)
        return false;
    out_job->backend = accel__registry_find(arguments[1]);
    snprintf(out_job->driver.name, sizeof out_job->driver.name, "%s", arguments[4]);
    snprintf(out_job->driver.library, sizeof out_job->driver.library, "%s", arguments[5]);
    snprintf(out_job->driver.source, sizeof out_job->driver.source, "%s", arguments[6]);
    return read_number(arguments[2], &out_job->limit_ms) &&
           read_number(arguments[3], &out_job->deadline_ns) && out_job->backend != NULL &&
           accel__backend_has_drivers(out_job->backend);
}

int main(int count, char **arguments)
{
    accel__probe_job job;
    if (!read_arguments(count, arguments, &job))
        return usage();
    return accel__probe_supervise(&job) ? 0 : 1;
}
