/* worker.h: threads of ours for what must happen once an event has passed and may not happen inside a
 * driver: calling the program, completing another driver's event, copying from host to host. */
#ifndef ACCEL_OPENCL_WORKER_H
#define ACCEL_OPENCL_WORKER_H

#include <accel/status.h>

#include "backends/opencl/driver/symbols.h"

/* Embedded in what it works on; its owner is whoever holds it, `run` from its call on. */
typedef struct accel__opencl_job {
    struct accel__opencl_job *next;
    /* `code` is CL_COMPLETE, or the failure of what was waited for. */
    void (*run)(struct accel__opencl_job *job, cl_int code);
    const accel__opencl_api *api;
    cl_event event; /* that it runs behind; NULL: none */
    bool
        is_over; /* the event has passed or failed, with `code`; else a worker looks again and again */
    cl_int code;
    unsigned failures; /* times in a row that the driver gave no answer */
} accel__opencl_job;

/* Makes sure of a thread. To be called before anything is queued that only a job will complete. */
accel_status accel__opencl_worker_ready(void);

/* Runs the job on a worker once `event` has passed or failed; NULL: soon. Takes the reference to the event
 * over. Needs a worker; never fails. */
void accel__opencl_worker_after(const accel__opencl_api *api, cl_event event,
                                accel__opencl_job *job);

/* Ends the threads; they come back when needed, or at once for what other threads queue meanwhile. */
void accel__opencl_worker_stop(void);

#endif
