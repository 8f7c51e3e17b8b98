/* work.c: the kernels that tests queue: from portable source where the device compiles it, else C
 * functions where the backend takes them, else none. */
#include <stdatomic.h>
#include <time.h>

#include "conformance.h"

struct cf_gate {
    _Atomic(uint32_t) open;
};

enum { GATE_LIMIT_MS = 20000 };

/* ---- as C functions ---- */

static const char *add_blocks(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    uint32_t *data = *(uint32_t **)launch->arguments[0];
    const uint32_t value = *(const uint32_t *)launch->arguments[1];
    const uint32_t count = *(const uint32_t *)launch->arguments[2];
    for (uint64_t i = first * launch->block[0]; i < last * launch->block[0] && i < count; i++)
        data[i] += value;
    return NULL;
}

static const char *gate_blocks(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)first;
    (void)last;
    cf_gate *gate = *(cf_gate **)launch->arguments[0];
    const struct timespec pause = {0, 100000};
    for (int turn = 0; turn < GATE_LIMIT_MS * 10; turn++) {
        if (atomic_load(&gate->open) != 0)
            return NULL;
        nanosleep(&pause, NULL);
    }
    return "the test never opened the gate";
}

#define U32(text, param_kind)                                                                      \
    {                                                                                              \
        .name = (text), .kind = (param_kind), .type = ACCEL_DATA_TYPE_U32, .lanes = 1, .size = 4   \
    }

static const accel_param add_params[] = {U32("data", ACCEL_PARAM_KIND_POINTER),
                                         U32("value", ACCEL_PARAM_KIND_VALUE),
                                         U32("count", ACCEL_PARAM_KIND_VALUE)};
static const accel_param gate_params[] = {U32("gate", ACCEL_PARAM_KIND_POINTER)};

static const accel_cpu_kernel functions[] = {
    {.name = "add", .function = add_blocks, .params = add_params, .param_count = 3},
    {.name = "gate", .function = gate_blocks, .params = gate_params, .param_count = 1},
};

/* ---- as source ---- */

static const char source[] = "__kernel void add(__global uint *data, uint value, uint count)\n"
                             "{\n"
                             "    const uint i = get_global_id(0);\n"
                             "    if (i < count)\n"
                             "        data[i] += value;\n"
                             "}\n";

/* Source that does not compile is the failure of the tests of source, not of every other one. */
static accel_status load(cf_run *run)
{
    accel_status status = accel_module_create_from_functions(run->device, functions, 2,
                                                             &run->module);
    run->has_gate = status == ACCEL_OK;
    if (run->has_gate) {
        status = accel_module_get_kernel(run->module, "gate", &run->gate_kernel);
    } else if (run->capability.kernels_from_source) {
        status = accel_module_create_from_source(run->device, source, sizeof source - 1, NULL,
                                                 &run->module);
        if (status != ACCEL_OK)
            return ACCEL_OK;
    } else {
        return ACCEL_OK;
    }
    return status == ACCEL_OK ? accel_module_get_kernel(run->module, "add", &run->add) : status;
}

bool cf_open(cf_run *run)
{
    static cf_gate gate;
    const accel_status opened = accel_stream_create(run->device, NULL, &run->stream);
    atomic_store(&gate.open, 0);
    run->gate = &gate;
    if (opened != ACCEL_OK)
        cf_fail_status(run, __FILE__, __LINE__, "making the test's stream", opened, ACCEL_OK);
    const accel_status loaded = opened == ACCEL_OK ? load(run) : ACCEL_OK;
    if (loaded != ACCEL_OK)
        cf_fail_status(run, __FILE__, __LINE__, "loading the test's kernels", loaded, ACCEL_OK);
    return run->result == CF_PASS;
}

void cf_close(cf_run *run)
{
    cf_let_go(run);
    if (run->stream != NULL)
        accel_stream_synchronize(run->stream);
    accel_synchronize(run->device);
    accel_stream_release(run->stream);
    accel_module_release(run->module);
}

accel_status cf_launch_add(cf_run *run, accel_stream *stream, uint32_t *data, uint32_t value,
                           uint32_t count)
{
    const accel_launch_shape shape = {{((uint64_t)count + 31) / 32, 1, 1}, {32, 1, 1}};
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(data), ACCEL_ARG_VALUE(value),
                                     ACCEL_ARG_VALUE(count)};
    return accel_kernel_launch(run->add, stream, &shape, args, 3);
}

accel_status cf_hold(cf_run *run, accel_stream *stream)
{
    const accel_launch_shape shape = {{1, 1, 1}, {1, 1, 1}};
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(run->gate)};
    atomic_store(&run->gate->open, 0);
    return run->has_gate ? accel_kernel_launch(run->gate_kernel, stream, &shape, args, 1)
                         : ACCEL_OK;
}

void cf_let_go(cf_run *run)
{
    if (run->gate != NULL)
        atomic_store(&run->gate->open, 1);
}

void cf_pattern(unsigned char *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 37 + seed * 101 + (i >> 8));
}
