/* supervise.h: the two halves of accel-probe. */
#ifndef ACCEL_PROBE_SUPERVISE_H
#define ACCEL_PROBE_SUPERVISE_H

#include "core/registry.h"
#include "probe/sheet.h"

typedef struct accel__probe_job {
    const accel__backend *backend;
    accel_backend_driver driver;
    uint64_t limit_ms;    /* for the message */
    uint64_t deadline_ns; /* on the monotonic clock */
    int report;           /* where the record goes */
} accel__probe_job;

/* Asks in a child, waits for it until the deadline, writes the record. False: it could not be written. */
bool accel__probe_supervise(const accel__probe_job *job);

/* ask.c: the body of the child: loads the driver, fills the sheet, exits. */
_Noreturn void accel__probe_ask(const accel__probe_job *job, accel__probe_sheet *sheet);

#endif
