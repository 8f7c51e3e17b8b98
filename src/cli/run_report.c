/* run_report.c: see run_report.h. */
#include "cli/run_report.h"

#include <stdio.h>

#include "cli/json.h"

typedef struct device_text {
    char id[ACCEL_DEVICE_NAME_MAX];
    accel_device_info info;
} device_text;

static accel__exit describe_device(accel_device device, device_text *out_text)
{
    out_text->info = (accel_device_info){.struct_size = sizeof out_text->info};
    accel_status status = accel_device_format(device, out_text->id, sizeof out_text->id, NULL);
    if (status == ACCEL_OK)
        status = accel_device_describe(device, &out_text->info);
    return status == ACCEL_OK ? ACCEL__EXIT_OK : accel__cli_fail_status(status);
}

/* "12.345 ms", with more digits for what is short. Rotates over a few buffers: several in a line. */
static const char *milliseconds(uint64_t nanoseconds)
{
    enum { BUFFER_COUNT = 4 };
    static char buffers[BUFFER_COUNT][32];
    static unsigned next;
    char *text = buffers[next++ % BUFFER_COUNT];
    snprintf(text, sizeof buffers[0], nanoseconds < 1000000 ? "%.6f ms" : "%.3f ms",
             (double)nanoseconds / 1e6);
    return text;
}

static void print_kernel_times(const accel__job *job)
{
    const accel__job_times *times = &job->times;
    if (job->repeat == 1)
        printf("kernel   %s\n", milliseconds(times->kernel_total));
    else
        printf("kernel   %s (fastest of %u; median %s, in all %s)\n",
               milliseconds(times->kernel_min), job->repeat, milliseconds(times->kernel_median),
               milliseconds(times->kernel_total));
}

accel__exit accel__run_report_text(const accel__run_report *report)
{
    device_text device;
    const accel__job *job = report->job;
    const accel__job_times *times = &job->times;
    const uint64_t *items = report->items;
    const uint32_t *block = job->shape.block;
    accel__exit result = describe_device(report->device, &device);
    if (result != ACCEL__EXIT_OK)
        return result;
    printf("device   %s (%s)\n", device.id, device.info.name);
    printf("shape    %s: %llu x %llu x %llu work-items in blocks of %u x %u x %u\n",
           accel_kernel_name(job->kernel), (unsigned long long)items[0],
           (unsigned long long)items[1], (unsigned long long)items[2], block[0], block[1],
           block[2]);
    printf("compile  %s\n", milliseconds(times->compile));
    printf("copy     %s (in %s, out %s)\n", milliseconds(times->copy_in + times->copy_out),
           milliseconds(times->copy_in), milliseconds(times->copy_out));
    print_kernel_times(job);
    if (!times->by_events)
        puts("The device cannot time events: copy and kernel are by the host's clock.");
    return accel__cli_finish_output();
}

static json_t *dimensions(uint64_t x, uint64_t y, uint64_t z)
{
    return json_pack("[I, I, I]", (json_int_t)x, (json_int_t)y, (json_int_t)z);
}

static json_t *times_object(const accel__job *job)
{
    const accel__job_times *times = &job->times;
    json_t *object = json_object();
    if (object == NULL)
        return NULL;
    accel__json_set(object, "clock", json_string(times->by_events ? "events" : "host"));
    accel__json_set(object, "compile_ns", accel__json_size(times->compile));
    accel__json_set(object, "copy_in_ns", accel__json_size(times->copy_in));
    accel__json_set(object, "copy_out_ns", accel__json_size(times->copy_out));
    accel__json_set(object, "kernel_min_ns", accel__json_size(times->kernel_min));
    accel__json_set(object, "kernel_median_ns", accel__json_size(times->kernel_median));
    accel__json_set(object, "kernel_total_ns", accel__json_size(times->kernel_total));
    return object;
}

static json_t *shape_of(const accel__npy_layout *layout)
{
    json_t *shape = json_array();
    for (uint32_t i = 0; i < layout->dimension_count; i++)
        json_array_append_new(shape, accel__json_size(layout->shape[i]));
    return shape;
}

static json_t *outputs_array(const accel__job *job)
{
    json_t *outputs = json_array();
    for (uint32_t i = 0; i < job->argument_count; i++) {
        const accel__argument *argument = &job->arguments[i];
        json_t *object = argument->output != NULL ? json_object() : NULL;
        if (object == NULL)
            continue;
        const accel__npy_layout *layout = &argument->array.layout;
        accel__json_set(object, "file", accel__json_text(argument->output));
        accel__json_set(object, "type", json_string(accel_data_type_name(layout->type)));
        accel__json_set(object, "shape", shape_of(layout));
        accel__json_set(object, "fortran_order", json_boolean(layout->fortran_order));
        json_array_append_new(outputs, object);
    }
    return outputs;
}

accel__exit accel__run_report_json(const accel__run_report *report)
{
    device_text device;
    const accel__job *job = report->job;
    accel__exit result = describe_device(report->device, &device);
    if (result != ACCEL__EXIT_OK)
        return result;
    json_t *object = json_object();
    if (object == NULL)
        return accel__cli_fail_memory();
    accel__json_set(object, "device", accel__json_text(device.id));
    accel__json_set(object, "name", accel__json_text(device.info.name));
    accel__json_set(object, "file", accel__json_text(report->file));
    accel__json_set(object, "kernel", accel__json_text(accel_kernel_name(job->kernel)));
    accel__json_set(object, "work_items",
                    dimensions(report->items[0], report->items[1], report->items[2]));
    accel__json_set(object, "grid",
                    dimensions(job->shape.grid[0], job->shape.grid[1], job->shape.grid[2]));
    accel__json_set(object, "block",
                    dimensions(job->shape.block[0], job->shape.block[1], job->shape.block[2]));
    accel__json_set(object, "repeat", json_integer(job->repeat));
    accel__json_set(object, "times", times_object(job));
    accel__json_set(object, "outputs", outputs_array(job));
    return accel__json_print(object);
}
