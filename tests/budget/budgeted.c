/* budgeted.c: the calls that have an instruction budget, each alone in a function whose instructions
 * callgrind counts (budget.sh). Before that they have been made once: starting is no part of them.
 *
 *   budgeted launch | event | nothing
 *
 * Prints how many operations were in the counted function. `nothing` is the loop alone. */
#include <accel/accel.h>
#include <accel/cpu.h>
#include <stdio.h>
#include <string.h>

enum { BURST = 64, BURSTS = 32 };

static accel_stream *stream;
static accel_event *event;
static accel_module *module;
static accel_kernel *kernel;
static const accel_launch_shape shape = {{1, 1, 1}, {1, 1, 1}};

static const char *run_block(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)launch;
    (void)first;
    (void)last;
    return NULL;
}

/* A kernel with the arguments of a usual one: a pointer and a number. */
static const accel_param params[] = {{.name = "values",
                                      .kind = ACCEL_PARAM_KIND_POINTER,
                                      .type = ACCEL_DATA_TYPE_F32,
                                      .lanes = 1,
                                      .size = 4},
                                     {.name = "factor",
                                      .kind = ACCEL_PARAM_KIND_VALUE,
                                      .type = ACCEL_DATA_TYPE_F32,
                                      .lanes = 1,
                                      .size = 4}};
static const accel_cpu_kernel table = {
    .name = "scale", .function = run_block, .params = params, .param_count = 2};

static accel_status prepare(void)
{
    accel_device device = ACCEL_DEVICE_CURRENT;
    accel_status status = accel_device_parse("cpu:0", &device);
    if (status == ACCEL_OK)
        status = accel_stream_default(device, &stream);
    if (status == ACCEL_OK)
        status = accel_event_create(device, NULL, &event);
    if (status == ACCEL_OK)
        status = accel_module_create_from_functions(device, &table, 1, &module);
    if (status == ACCEL_OK)
        status = accel_module_get_kernel(module, "scale", &kernel);
    return status;
}

/* ---- what is counted: the name begins with counted_ ---- */

__attribute__((noinline)) static accel_status counted_launch(void)
{
    float factor = 2.0f;
    accel_kernel_arg args[] = {ACCEL_ARG_POINTER(NULL), ACCEL_ARG_VALUE(factor)};
    accel_status status = ACCEL_OK;
    for (int i = 0; i < BURST && status == ACCEL_OK; i++)
        status = accel_kernel_launch(kernel, stream, &shape, args, 2);
    return status;
}

__attribute__((noinline)) static accel_status counted_event(void)
{
    accel_status status = ACCEL_OK;
    bool done = false;
    for (int i = 0; i < BURST && status == ACCEL_OK; i++) {
        status = accel_event_record(event, stream);
        if (status == ACCEL_OK)
            status = accel_event_query(event, &done);
    }
    return status;
}

__attribute__((noinline)) static accel_status counted_nothing(void)
{
    accel_status status = ACCEL_OK;
    for (int i = 0; i < BURST && status == ACCEL_OK; i++)
        __asm__ volatile("" : "+r"(status));
    return status;
}

/* ---- */

typedef accel_status (*counted)(void);

static counted find(const char *name)
{
    if (strcmp(name, "launch") == 0)
        return counted_launch;
    if (strcmp(name, "event") == 0)
        return counted_event;
    return strcmp(name, "nothing") == 0 ? counted_nothing : NULL;
}

/* A launch and a wait that are not counted bring everything up. */
static accel_status run(counted function)
{
    float factor = 2.0f;
    accel_kernel_arg args[] = {ACCEL_ARG_POINTER(NULL), ACCEL_ARG_VALUE(factor)};
    accel_status status = accel_kernel_launch(kernel, stream, &shape, args, 2);
    if (status == ACCEL_OK)
        status = accel_event_record(event, stream);
    if (status == ACCEL_OK)
        status = accel_stream_synchronize(stream);
    for (int i = 0; i < BURSTS && status == ACCEL_OK; i++) {
        status = function();
        if (status == ACCEL_OK)
            status = accel_stream_synchronize(stream);
    }
    return status;
}

int main(int argc, char **argv)
{
    counted function = argc == 2 ? find(argv[1]) : NULL;
    if (function == NULL)
        return 2;
    accel_status status = prepare();
    if (status == ACCEL_OK)
        status = run(function);
    if (status != ACCEL_OK)
        fprintf(stderr, "%s: %s\n", accel_status_name(status), accel_last_error_message());
    else
        printf("%d\n", BURST * BURSTS);
    accel_event_release(event);
    accel_module_release(module);
    return status == ACCEL_OK ? 0 : 1;
}
