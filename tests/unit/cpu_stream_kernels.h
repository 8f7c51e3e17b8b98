/* cpu_stream_kernels.h: the kernels that cpu_stream_test.c launches. */
#ifndef TESTS_UNIT_CPU_STREAM_KERNELS_H
#define TESTS_UNIT_CPU_STREAM_KERNELS_H

#include "unit/cpu_support.h"

enum { NOTHING, APPEND, COVER, GATE, FAIL, ARGUMENTS, LOCALS, KERNEL_COUNT };

typedef struct journal {
    uint32_t count; /* plain: the queue orders its users */
    uint32_t values[8192];
} journal;

static const char *nothing(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)launch, (void)first, (void)last;
    return NULL;
}

static const char *append(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    journal *target = *(journal **)launch->arguments[0];
    for (uint64_t block = first; block < last; block++)
        target->values[target->count++] = *(uint32_t *)launch->arguments[1];
    return NULL;
}

/* Counts each block once. */
static const char *cover(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    unsigned char *counts = *(unsigned char **)launch->arguments[0];
    for (uint64_t block = first; block < last; block++)
        counts[block]++;
    return NULL;
}

static const char *wait_for_gate(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)first, (void)last;
    return cpu_comes_true(*(_Atomic(int) **)launch->arguments[0]) ? NULL : "the gate stayed shut";
}

static const char *break_down(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)launch, (void)first, (void)last;
    return "this kernel fails on purpose";
}

/* (u8 a, f64 b, float16 c, pointer out): writes what it got. */
static const char *arguments(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)first, (void)last;
    double *out = *(double **)launch->arguments[3];
    out[0] = *(uint8_t *)launch->arguments[0];
    out[1] = *(double *)launch->arguments[1];
    out[2] = ((float *)launch->arguments[2])[15];
    out[3] = (double)((uintptr_t)launch->arguments[2] % 64);
    return NULL;
}

/* (local a, pointer failures, local b): each thread's memory is its own while a range runs. */
static const char *locals(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    uint64_t *a = *(uint64_t **)launch->arguments[0];
    _Atomic(int) *failures = *(_Atomic(int) **)launch->arguments[1];
    uint64_t *b = *(uint64_t **)launch->arguments[2];
    uint64_t *scratch = launch->scratch;
    for (uint64_t block = first; block < last; block++) {
        for (int i = 0; i < 100; i++)
            a[i] = b[i] = scratch[i] = block;
        for (int i = 0; i < 100; i++)
            if (a[i] != block || b[i] != block || scratch[i] != block)
                atomic_fetch_add(failures, 1);
    }
    if (((uintptr_t)a | (uintptr_t)b | (uintptr_t)scratch) % 64 != 0)
        atomic_fetch_add(failures, 1);
    return NULL;
}

static const accel_param pointer_params[] = {CPU_POINTER_PARAM("target"),
                                             CPU_VALUE_PARAM("value", 4)};
static const accel_param argument_params[] = {CPU_VALUE_PARAM("a", 1), CPU_VALUE_PARAM("b", 8),
                                              CPU_VALUE_PARAM("c", 64), CPU_POINTER_PARAM("out")};
static const accel_param local_params[] = {CPU_LOCAL_PARAM("a"), CPU_POINTER_PARAM("failures"),
                                           CPU_LOCAL_PARAM("b")};

static const accel_cpu_kernel kernels[KERNEL_COUNT] = {
    [NOTHING] = {.name = "nothing", .function = nothing},
    [APPEND] = {.name = "append", .function = append, .params = pointer_params, .param_count = 2},
    [COVER] = {.name = "cover", .function = cover, .params = pointer_params, .param_count = 1},
    [GATE] = {.name = "gate",
              .function = wait_for_gate,
              .params = pointer_params,
              .param_count = 1},
    [FAIL] = {.name = "break_down", .function = break_down},
    [ARGUMENTS] = {.name = "arguments",
                   .function = arguments,
                   .params = argument_params,
                   .param_count = 4},
    [LOCALS] = {.name = "locals",
                .function = locals,
                .params = local_params,
                .param_count = 3,
                .scratch_fixed = 800},
};

#endif
