/* job.c: see job.h.
 *
 * Invariant: a step returns only after its stream has passed what it queued, so host memory of the
 * arguments is never in use by the device between steps. */
#include "cli/job.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t accel__host_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A span on the stream, from here to stop_span. */
typedef struct span {
    accel__job *job;
    uint64_t begin;
} span;

static accel_status start_span(accel__job *job, span *out_span)
{
    *out_span = (span){job, 0};
    if (job->times.by_events)
        return accel_event_record(job->marks[0], job->stream);
    out_span->begin = accel__host_clock();
    return ACCEL_OK;
}

static accel_status stop_span(const span *s, uint64_t *out_time)
{
    double milliseconds = 0;
    accel__job *job = s->job;
    accel_status status = ACCEL_OK;
    if (job->times.by_events)
        status = accel_event_record(job->marks[1], job->stream);
    if (status == ACCEL_OK)
        status = accel_stream_synchronize(job->stream);
    if (!job->times.by_events)
        *out_time = accel__host_clock() - s->begin;
    else if (status == ACCEL_OK)
        status = accel_event_elapsed_time(job->marks[0], job->marks[1], &milliseconds);
    if (milliseconds > 0)
        *out_time = (uint64_t)(milliseconds * 1e6 + 0.5);
    return status;
}

static bool has_array(const accel__argument *argument)
{
    return argument->kind <= ACCEL__ARGUMENT_OUT && argument->array.layout.data_size > 0;
}

static accel_status allocate(accel__job *job)
{
    accel_status status = ACCEL_OK;
    for (uint32_t i = 0; status == ACCEL_OK && i < job->argument_count; i++)
        if (has_array(&job->arguments[i]))
            status = accel_memory_alloc(job->stream, job->arguments[i].array.layout.data_size, NULL,
                                        &job->pointers[i]);
    return status;
}

accel__exit accel__job_begin(accel__job *job, accel_device device, bool has_events)
{
    accel_event_options timing = {.struct_size = sizeof timing, .enable_timing = true};
    job->pointers = calloc((size_t)job->argument_count + 1, sizeof *job->pointers);
    if (job->pointers == NULL)
        return accel__cli_fail_memory();
    accel_status status = accel_stream_default(device, &job->stream);
    for (int i = 0; status == ACCEL_OK && has_events && i < 2; i++)
        status = accel_event_create(device, &timing, &job->marks[i]);
    job->times.by_events = has_events;
    if (status == ACCEL_OK)
        status = allocate(job);
    return status == ACCEL_OK ? ACCEL__EXIT_OK : accel__cli_fail_status(status);
}

/* New arrays are zeroed: what a kernel leaves out must not be what lay in the memory before. */
static accel_status clear_outputs(const accel__job *job)
{
    const uint8_t zero = 0;
    accel_status status = ACCEL_OK;
    for (uint32_t i = 0; status == ACCEL_OK && i < job->argument_count; i++) {
        const accel__argument *argument = &job->arguments[i];
        if (argument->kind == ACCEL__ARGUMENT_OUT && has_array(argument))
            status = accel_fill(job->pointers[i], &zero, 1, argument->array.layout.data_size,
                                job->stream);
    }
    return status;
}

accel__exit accel__job_copy_in(accel__job *job)
{
    span copy;
    accel_status status = clear_outputs(job);
    if (status == ACCEL_OK)
        status = start_span(job, &copy);
    if (status != ACCEL_OK)
        return accel__cli_fail_status(status);
    for (uint32_t i = 0; status == ACCEL_OK && i < job->argument_count; i++) {
        const accel__argument *argument = &job->arguments[i];
        if (argument->kind != ACCEL__ARGUMENT_OUT && has_array(argument))
            status = accel_copy(job->pointers[i], argument->array.data,
                                argument->array.layout.data_size, job->stream);
    }
    if (status == ACCEL_OK)
        status = stop_span(&copy, &job->times.copy_in);
    return status == ACCEL_OK ? ACCEL__EXIT_OK : accel__cli_fail_status(status);
}

accel__exit accel__job_copy_out(accel__job *job)
{
    span copy;
    accel_status status = start_span(job, &copy);
    for (uint32_t i = 0; status == ACCEL_OK && i < job->argument_count; i++) {
        const accel__argument *argument = &job->arguments[i];
        if (argument->output != NULL && has_array(argument))
            status = accel_copy(argument->array.data, job->pointers[i],
                                argument->array.layout.data_size, job->stream);
    }
    if (status == ACCEL_OK)
        status = stop_span(&copy, &job->times.copy_out);
    return status == ACCEL_OK ? ACCEL__EXIT_OK : accel__cli_fail_status(status);
}

/* ---- launches ---- */

static void make_args(const accel__job *job, accel_kernel_arg *args)
{
    for (uint32_t i = 0; i < job->argument_count; i++) {
        const accel__argument *argument = &job->arguments[i];
        size_t size = argument->lanes * accel_data_type_size(argument->type);
        accel_param param;
        /* A vector of three lanes is as large as one of four: the signature knows. */
        if (i < accel_kernel_param_count(job->kernel) &&
            accel_kernel_get_param(job->kernel, i, &param) == ACCEL_OK)
            size = param.size;
        if (argument->kind == ACCEL__ARGUMENT_VALUE)
            args[i] = (accel_kernel_arg){ACCEL_KERNEL_ARG_KIND_VALUE, size, argument->value};
        else if (argument->kind == ACCEL__ARGUMENT_LOCAL)
            args[i] = (accel_kernel_arg){ACCEL_KERNEL_ARG_KIND_LOCAL, argument->size, NULL};
        else
            args[i] = (accel_kernel_arg)ACCEL_ARG_POINTER(job->pointers[i]);
    }
}

static int compare_times(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a;
    uint64_t second = *(const uint64_t *)b;
    return first < second ? -1 : first > second;
}

static void summarize(uint64_t *times, uint32_t count, accel__job_times *out_times)
{
    qsort(times, count, sizeof *times, compare_times);
    out_times->kernel_min = times[0];
    out_times->kernel_median = count % 2 != 0 ? times[count / 2]
                                              : (times[count / 2 - 1] + times[count / 2]) / 2;
    for (uint32_t i = 0; i < count; i++)
        out_times->kernel_total += times[i];
}

static accel_status launch_timed(accel__job *job, const accel_kernel_arg *args, uint64_t *times)
{
    accel_status status = ACCEL_OK;
    for (uint32_t i = 0; status == ACCEL_OK && i < job->repeat; i++) {
        span one;
        status = start_span(job, &one);
        if (status == ACCEL_OK)
            status = accel_kernel_launch(job->kernel, job->stream, &job->shape, args,
                                         job->argument_count);
        if (status == ACCEL_OK)
            status = stop_span(&one, &times[i]);
    }
    return status;
}

static accel_status launch_untimed(accel__job *job, const accel_kernel_arg *args)
{
    accel_status status = ACCEL_OK;
    for (uint32_t i = 0; status == ACCEL_OK && i < job->repeat; i++)
        status = accel_kernel_launch(job->kernel, job->stream, &job->shape, args,
                                     job->argument_count);
    return status == ACCEL_OK ? accel_stream_synchronize(job->stream) : status;
}

accel__exit accel__job_launch(accel__job *job)
{
    accel_status status = ACCEL_OK;
    accel_kernel_arg *args = calloc((size_t)job->argument_count + 1, sizeof *args);
    uint64_t *times = job->timed ? calloc(job->repeat, sizeof *times) : NULL;
    bool allocated = args != NULL && (times != NULL || !job->timed);
    if (allocated) {
        make_args(job, args);
        status = times != NULL ? launch_timed(job, args, times) : launch_untimed(job, args);
        if (status == ACCEL_OK && times != NULL)
            summarize(times, job->repeat, &job->times);
    }
    free(times);
    free(args);
    if (!allocated)
        return accel__cli_fail_memory();
    return status == ACCEL_OK ? ACCEL__EXIT_OK : accel__cli_fail_status(status);
}

void accel__job_end(accel__job *job)
{
    /* After a failure work may still be queued that reads the arguments' memory. */
    if (job->stream != NULL)
        (void)accel_stream_synchronize(job->stream);
    for (uint32_t i = 0; job->pointers != NULL && i < job->argument_count; i++)
        (void)accel_memory_free(job->pointers[i]);
    free(job->pointers);
    for (int i = 0; i < 2; i++)
        accel_event_release(job->marks[i]);
    job->pointers = NULL;
}
