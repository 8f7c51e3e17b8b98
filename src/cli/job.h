/* job.h: one kernel on one device with its arguments: memory, copies, launches, times. `accel run`
 * fills it in and calls the steps in the order in which they stand here. */
#ifndef ACCEL_CLI_JOB_H
#define ACCEL_CLI_JOB_H

#include <accel/accel.h>

#include "cli/argument.h"
#include "cli/report.h"

/* Nanoseconds. From events where the device can time them, else from the host's clock. */
typedef struct accel__job_times {
    uint64_t compile;
    uint64_t copy_in;
    uint64_t copy_out;
    uint64_t kernel_min;
    uint64_t kernel_median;
    uint64_t kernel_total;
    bool by_events;
} accel__job_times;

typedef struct accel__job {
    accel_stream *stream; /* lent: the device's default stream */
    accel_kernel *kernel; /* lent */
    accel__argument *arguments;
    uint32_t argument_count;
    accel_launch_shape shape;
    uint32_t repeat;
    bool timed;      /* whether anybody wants the kernel's times */
    void **pointers; /* device memory, one per argument; NULL where none */
    accel_event *marks[2];
    accel__job_times times;
} accel__job;

uint64_t accel__host_clock(void); /* nanoseconds */

/* The host clock is used instead of events where `has_events` is false. */
accel__exit accel__job_begin(accel__job *job, accel_device device, bool has_events);
accel__exit accel__job_copy_in(accel__job *job);
accel__exit accel__job_launch(accel__job *job);
accel__exit accel__job_copy_out(accel__job *job);
void accel__job_end(accel__job *job); /* also after a failure */

#endif
