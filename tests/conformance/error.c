/* error.c: failures: the record, outputs, failures that stick to a stream and only to it. */
#include "conformance.h"

static void record(cf_run *run)
{
    accel_error error = {.struct_size = sizeof error};
    void *memory = run;
    GIVES(accel_memory_alloc(run->stream, SIZE_MAX, NULL, &memory), ACCEL_ERROR_OUT_OF_MEMORY);
    OK(accel_last_error(&error));
    CHECK(error.status == ACCEL_ERROR_OUT_OF_MEMORY && error.message[0] != '\0');
    CHECK(strcmp(error.function, "accel_memory_alloc") == 0);
    CHECK(error.backend != NULL && error.vendor_message != NULL);
    OK(accel_stream_synchronize(run->stream)); /* success leaves the record alone */
    OK(accel_last_error(&error));
    CHECK(error.status == ACCEL_ERROR_OUT_OF_MEMORY);
}

static void struct_sizes(cf_run *run)
{
    accel_device_capability capability = {.struct_size = 0};
    accel_stream_options options = {.struct_size = 3};
    accel_stream *stream = run->stream;
    GIVES(accel_get_device_capability(run->device, &capability), ACCEL_ERROR_INVALID_ARGUMENT);
    GIVES(accel_stream_create(run->device, &options, &stream), ACCEL_ERROR_INVALID_ARGUMENT);
    CHECK(stream == NULL);
    struct {
        accel_stream_options known;
        uint64_t later;
    } longer = {.known.struct_size = sizeof longer};
    OK(accel_stream_create(run->device, &longer.known, &stream));
    accel_stream_release(stream);
    longer.later = 1;
    GIVES(accel_stream_create(run->device, &longer.known, &stream), ACCEL_ERROR_INVALID_ARGUMENT);
}

static const char *fail(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)launch;
    (void)first;
    (void)last;
    return "a failure on purpose";
}

static void sticks_to_its_stream(cf_run *run)
{
    const accel_cpu_kernel table = {.name = "fail", .function = fail};
    const accel_launch_shape shape = {{1, 1, 1}, {1, 1, 1}};
    accel_module *module = NULL;
    accel_kernel *kernel = NULL;
    accel_stream *bad = NULL;
    accel_event *event = NULL;
    bool done = true;
    if (!run->has_gate)
        SKIP("no kernel that fails on purpose");
    OK(accel_module_create_from_functions(run->device, &table, 1, &module));
    OK(accel_module_get_kernel(module, "fail", &kernel));
    OK(accel_stream_create(run->device, NULL, &bad));
    OK(accel_event_create(run->device, NULL, &event));
    OK(cf_hold(run, bad));
    OK(accel_kernel_launch(kernel, bad, &shape, NULL, 0));
    OK(accel_event_record(event, bad));
    cf_let_go(run);
    const accel_status failure = accel_stream_synchronize(bad);
    CHECK(failure != ACCEL_OK);
    CHECK(strstr(accel_last_error_message(), "a failure on purpose") != NULL);
    GIVES(accel_stream_query(bad, &done), failure);
    GIVES(accel_event_synchronize(event), failure);
    GIVES(accel_kernel_launch(kernel, bad, &shape, NULL, 0), failure);
    GIVES(accel_synchronize(run->device), failure);
    OK(accel_stream_synchronize(run->stream));
    accel_stream_release(bad);
    OK(accel_synchronize(run->device));
    accel_event_release(event);
    accel_module_release(module);
}

const cf_test cf_error_tests[] = {
    {"error/record", record},
    {"error/struct-sizes", struct_sizes},
    {"error/sticks-to-its-stream", sticks_to_its_stream},
    {NULL, NULL},
};
