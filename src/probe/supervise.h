/* supervise.h: the watching half of accel-probe. */
#ifndef ACCEL_PROBE_SUPERVISE_H
#define ACCEL_PROBE_SUPERVISE_H

#include "core/registry.h"

typedef struct accel__probe_job {
    const accel__backend *backend;
    accel_backend_driver driver;
    uint64_t limit_ms;
    int report; /* where the record goes */
} accel__probe_job;

/* Asks in a child, waits for it at most the limit, writes the record. False: it could not be written. */
bool accel__probe_supervise(const accel__probe_job *job);

/* Writes all of it, or false: whoever reads is gone. */
bool accel__probe_write(int descriptor, const void *bytes, size_t size);

/* ask.c: the body of the child: loads the driver, writes devices and an end to `output`, exits. */
_Noreturn void accel__probe_ask(const accel__probe_job *job, int output);

#endif
