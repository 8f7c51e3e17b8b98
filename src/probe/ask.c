/* ask.c: the half of accel-probe that loads the driver. Whatever happens here happens to a process that
 * nobody needs: its supervisor tells what became of it. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "probe/supervise.h"

/* The size of the UTF-8 sequence at `at`, which is no control; 0: there is none. */
static size_t sequence_size(const unsigned char *at)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t size = *at < 0x80 ? 1 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
    uint32_t value = size == 1 ? *at : *at & (0x7fu >> size);
    if ((*at >= 0x80 && *at < 0xc0) || *at > 0xf4 || *at < ' ' || *at == 0x7f)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (at[i] & 0x3fu);
    }
    const bool ok = value >= least[size] && value <= 0x10ffff && (value < 0xd800 || value > 0xdfff);
    return ok ? size : 0;
}

/* What a driver calls itself is shown to people and written as JSON: what is neither a sign nor UTF-8
 * becomes a question mark, and it ends within its array. */
static void clean(char *text, size_t capacity)
{
    text[capacity - 1] = '\0';
    for (unsigned char *at = (unsigned char *)text; *at != '\0';) {
        const size_t size = sequence_size(at);
        if (size == 0)
            *at = '?';
        at += size != 0 ? size : 1;
    }
}

static void report(const accel_backend_found *found, void *user)
{
    accel__probe_sheet *sheet = user;
    if (sheet->end.found_count == ACCEL__PROBE_DEVICE_MAX)
        return;
    accel_backend_found *made = &sheet->found[sheet->end.found_count];
    *made = *found;
    made->info.struct_size = sizeof made->info;
    made->capability.struct_size = sizeof made->capability;
    clean(made->info.name, sizeof made->info.name);
    clean(made->info.vendor, sizeof made->info.vendor);
    clean(made->info.driver, sizeof made->info.driver);
    clean(made->info.uuid, sizeof made->info.uuid);
    clean(made->info.bus_address, sizeof made->info.bus_address);
    sheet->end.found_count++;
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

void accel__probe_ask(const accel__probe_job *job, accel__probe_sheet *sheet)
{
    const accel_status status = job->backend->table.drivers.probe(&job->driver, report, sheet);
    accel__probe_end *end = &sheet->end;
    if (status != ACCEL_OK) {
        end->reason = (uint32_t)reason_of(status);
        strncpy(end->detail, accel_last_error_message(), sizeof end->detail - 1);
        clean(end->detail, sizeof end->detail);
    } else if (end->found_count == 0) {
        end->reason = ACCEL_REASON_NO_DEVICE;
    }
    sheet->whole = true;
    kill(getppid(), SIGCHLD); /* who waits for the end may go on now */
    _exit(0);                 /* no exit handler of the driver gets a chance to hang or crash */
}
