/* cpu_support.h: the cpu backend's table in the hands of a test, without the core. */
#ifndef TESTS_UNIT_CPU_SUPPORT_H
#define TESTS_UNIT_CPU_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <accel/accel.h>
#include <accel/backend.h>
#include <accel/cpu.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cpu/device.h"

const accel_backend_table *accel__backend_cpu(void);

typedef struct cpu_fixture {
    const accel_backend_table *table;
    accel_native_device *device;
    accel_native_stream *stream;
} cpu_fixture;

static inline void cpu_open(cpu_fixture *cpu)
{
    cpu->table = accel__backend_cpu();
    assert_int_equal(cpu->table->discovery.start(NULL, 0), ACCEL_OK);
    assert_int_equal(cpu->table->device.open(0, &cpu->device), ACCEL_OK);
    assert_int_equal(cpu->table->stream.create(cpu->device, 0, &cpu->stream), ACCEL_OK);
}

static inline void cpu_close(cpu_fixture *cpu)
{
    cpu->table->stream.destroy(cpu->stream);
    accel__cpu_device_unreference(cpu->device);
    cpu->table->discovery.stop();
}

static inline accel_native_stream *cpu_stream(cpu_fixture *cpu)
{
    accel_native_stream *stream = NULL;
    assert_int_equal(cpu->table->stream.create(cpu->device, 0, &stream), ACCEL_OK);
    return stream;
}

static inline accel_native_event *cpu_event(cpu_fixture *cpu, bool timing)
{
    accel_native_event *event = NULL;
    assert_int_equal(cpu->table->event.create(cpu->device, timing, &event), ACCEL_OK);
    return event;
}

static inline accel_native_module *cpu_module(cpu_fixture *cpu, const accel_cpu_kernel *kernels,
                                              uint32_t count)
{
    accel_native_module *module = NULL;
    assert_int_equal(cpu->table->functions.load(cpu->device, kernels, count, &module), ACCEL_OK);
    return module;
}

static inline accel_native_function *cpu_function(cpu_fixture *cpu, accel_native_module *module,
                                                  uint32_t index)
{
    accel_backend_function function = {0};
    assert_int_equal(cpu->table->kernel.function(module, index, &function), ACCEL_OK);
    return function.function;
}

/* One dimension of blocks with one item. */
static inline accel_status cpu_try_launch(cpu_fixture *cpu, accel_native_stream *stream,
                                          accel_native_function *function, uint64_t blocks,
                                          const accel_kernel_arg *args, uint32_t count)
{
    const accel_launch_shape shape = {.grid = {blocks, 1, 1}, .block = {1, 1, 1}};
    return cpu->table->kernel.launch(stream, function, &shape, args, count);
}

static inline void cpu_launch(cpu_fixture *cpu, accel_native_stream *stream,
                              accel_native_function *function, uint64_t blocks,
                              const accel_kernel_arg *args, uint32_t count)
{
    assert_int_equal(cpu_try_launch(cpu, stream, function, blocks, args, count), ACCEL_OK);
}

static inline uint64_t cpu_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Waits up to ten seconds for a flag that a kernel or a callback sets. */
static inline bool cpu_comes_true(_Atomic(int) *flag)
{
    for (int i = 0; i < 100000 && atomic_load(flag) == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    return atomic_load(flag) != 0;
}

#define CPU_POINTER_PARAM(param)                                                                   \
    {                                                                                              \
        .name = param, .kind = ACCEL_PARAM_KIND_POINTER, .lanes = 1                                \
    }
#define CPU_VALUE_PARAM(param, bytes)                                                              \
    {                                                                                              \
        .name = param, .kind = ACCEL_PARAM_KIND_VALUE, .lanes = 1, .size = (bytes)                 \
    }
#define CPU_LOCAL_PARAM(param)                                                                     \
    {                                                                                              \
        .name = param, .kind = ACCEL_PARAM_KIND_LOCAL, .lanes = 1                                  \
    }

#endif
