/* kernels.c: see kernels.h. */
#include "support/kernels.h"

#include <time.h>

static void nap(long nanoseconds)
{
    const struct timespec pause = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    nanosleep(&pause, NULL);
}

static const char *nothing(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)launch;
    return first <= last ? NULL : "a range runs backwards";
}

static const char *add(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    uint32_t *data = *(uint32_t **)launch->arguments[0];
    const uint32_t value = *(const uint32_t *)launch->arguments[1];
    for (uint64_t i = first * launch->block[0]; i < last * launch->block[0]; i++)
        data[i] += value;
    return NULL;
}

static const char *sleep_blocks(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    for (uint64_t block = first; block < last; block++)
        nap(1000000L * *(const uint32_t *)launch->arguments[0]);
    return NULL;
}

static const char *gate(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)first;
    (void)last;
    test_gate *waited = *(test_gate **)launch->arguments[0];
    for (int turn = 0; turn < 100000; turn++) {
        if (atomic_load(&waited->open) != 0)
            return NULL;
        nap(100000);
    }
    return "the gate was never opened";
}

static const char *append(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    test_log *log = *(test_log **)launch->arguments[0];
    for (uint64_t block = first; block < last; block++) {
        const uint32_t at = atomic_fetch_add(&log->count, 1);
        if (at < sizeof log->values / sizeof log->values[0])
            log->values[at] = *(const uint32_t *)launch->arguments[1];
    }
    return NULL;
}

static const char *fail(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)launch;
    (void)first;
    (void)last;
    return TEST_FAIL_TEXT;
}

#define VALUE_U32(text)                                                                            \
    {                                                                                              \
        .name = (text), .kind = ACCEL_PARAM_KIND_VALUE, .type = ACCEL_DATA_TYPE_U32, .lanes = 1,   \
        .size = 4                                                                                  \
    }
#define POINTER_U32(text)                                                                          \
    {                                                                                              \
        .name = (text), .kind = ACCEL_PARAM_KIND_POINTER, .type = ACCEL_DATA_TYPE_U32, .lanes = 1, \
        .size = 4                                                                                  \
    }

static const accel_param add_params[] = {POINTER_U32("data"), VALUE_U32("value")};
static const accel_param sleep_params[] = {VALUE_U32("milliseconds")};
static const accel_param gate_params[] = {POINTER_U32("gate")};
static const accel_param append_params[] = {POINTER_U32("log"), VALUE_U32("value")};

static const accel_cpu_kernel table[] = {
    {.name = "nothing", .function = nothing},
    {.name = "add", .function = add, .params = add_params, .param_count = 2},
    {.name = "sleep", .function = sleep_blocks, .params = sleep_params, .param_count = 1},
    {.name = "gate", .function = gate, .params = gate_params, .param_count = 1},
    {.name = "append", .function = append, .params = append_params, .param_count = 2},
    {.name = "fail", .function = fail},
};

accel_status test_kernels_load(accel_device device, test_kernels *out_kernels)
{
    *out_kernels = (test_kernels){0};
    const uint32_t count = sizeof table / sizeof table[0];
    accel_status status = accel_module_create_from_functions(device, table, count,
                                                             &out_kernels->module);
    accel_kernel **const targets[] = {&out_kernels->nothing, &out_kernels->add,
                                      &out_kernels->sleep,   &out_kernels->gate,
                                      &out_kernels->append,  &out_kernels->fail};
    for (uint32_t i = 0; i < count && status == ACCEL_OK; i++)
        status = accel_module_get_kernel(out_kernels->module, table[i].name, targets[i]);
    return status;
}

void test_kernels_unload(test_kernels *kernels)
{
    accel_module_release(kernels->module);
    *kernels = (test_kernels){0};
}

static accel_status launch(accel_kernel *kernel, accel_stream *stream, uint64_t blocks,
                           const accel_kernel_arg *args, uint32_t arg_count)
{
    const accel_launch_shape shape = {{blocks, 1, 1}, {1, 1, 1}};
    return accel_kernel_launch(kernel, stream, &shape, args, arg_count);
}

accel_status test_launch_nothing(const test_kernels *kernels, accel_stream *stream)
{
    return launch(kernels->nothing, stream, 1, NULL, 0);
}

accel_status test_launch_add(const test_kernels *kernels, accel_stream *stream, uint32_t *data,
                             uint32_t count, uint32_t value)
{
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(data), ACCEL_ARG_VALUE(value)};
    return launch(kernels->add, stream, count, args, 2);
}

accel_status test_launch_sleep(const test_kernels *kernels, accel_stream *stream,
                               uint32_t milliseconds)
{
    const accel_kernel_arg args[] = {ACCEL_ARG_VALUE(milliseconds)};
    return launch(kernels->sleep, stream, 1, args, 1);
}

accel_status test_launch_gate(const test_kernels *kernels, accel_stream *stream, test_gate *opened)
{
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(opened)};
    return launch(kernels->gate, stream, 1, args, 1);
}

accel_status test_launch_append(const test_kernels *kernels, accel_stream *stream, test_log *log,
                                uint32_t value)
{
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(log), ACCEL_ARG_VALUE(value)};
    return launch(kernels->append, stream, 1, args, 2);
}

accel_status test_launch_fail(const test_kernels *kernels, accel_stream *stream)
{
    return launch(kernels->fail, stream, 1, NULL, 0);
}
