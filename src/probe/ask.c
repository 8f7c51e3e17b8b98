/* ask.c: the half of accel-probe that loads the driver. Whatever happens here happens to a process that
 * nobody needs: its supervisor tells what became of it. */
#include <string.h>
#include <unistd.h>

#include "core/probe_record.h"
#include "probe/supervise.h"

/* The pipe and what was reported. A driver that prints finds /dev/null at 1 and 2. */
typedef struct output {
    int descriptor;
    uint32_t found_count;
} output;

static void write_message(int descriptor, accel__probe_kind kind, const void *payload, size_t size)
{
    const accel__probe_message message = {(uint32_t)kind, (uint32_t)size};
    if (!accel__probe_write(descriptor, &message, sizeof message) ||
        !accel__probe_write(descriptor, payload, size))
        _exit(1); /* the supervisor is gone */
}

static void report(const accel_backend_found *found, void *user)
{
    output *made = user;
    if (made->found_count == ACCEL__PROBE_DEVICE_MAX)
        return;
    made->found_count++;
    write_message(made->descriptor, ACCEL__PROBE_FOUND, found, sizeof *found);
}

/* What a failed probe means: the backend says it with the status. */
static accel_reason reason_of(accel_status status)
{
    switch (status) {
    case ACCEL_ERROR_NOT_FOUND:
        return ACCEL_REASON_LIBRARY_MISSING;
    case ACCEL_ERROR_UNSUPPORTED:
        return ACCEL_REASON_LIBRARY_UNUSABLE;
    case ACCEL_ERROR_OUT_OF_RANGE:
    case ACCEL_ERROR_INTERNAL:
        return ACCEL_REASON_BAD_ANSWER;
    case ACCEL_ERROR_PERMISSION:
        return ACCEL_REASON_PERMISSION;
    default:
        return ACCEL_REASON_DRIVER_ERROR;
    }
}

void accel__probe_ask(const accel__probe_job *job, int descriptor)
{
    output made = {.descriptor = descriptor};
    const accel__probe_header header = accel__probe_header_make();
    if (!accel__probe_write(descriptor, &header, sizeof header))
        _exit(1);
    const accel_status status = job->backend->table.drivers.probe(&job->driver, report, &made);
    accel__probe_end end = {.found_count = made.found_count};
    if (status != ACCEL_OK)
        end.reason = (uint32_t)reason_of(status);
    else if (made.found_count == 0)
        end.reason = ACCEL_REASON_NO_DEVICE;
    if (status != ACCEL_OK)
        strncpy(end.detail, accel_last_error_message(), sizeof end.detail - 1);
    write_message(descriptor, ACCEL__PROBE_END, &end, sizeof end);
    _exit(0); /* no exit handler of the driver gets a chance to hang or crash */
}
