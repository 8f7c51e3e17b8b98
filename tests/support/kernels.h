/* kernels.h: kernels of the test program itself, for the cpu backend: a gate that holds a stream until
 * the test opens it, a log that shows the order of work, and the like. */
#ifndef TESTS_SUPPORT_KERNELS_H
#define TESTS_SUPPORT_KERNELS_H

#include <accel/accel.h>
#include <accel/cpu.h>
#include <stdatomic.h>

/* Work that ran, in the order in which it ran. */
typedef struct test_log {
    _Atomic(uint32_t) count;
    uint32_t values[4096];
} test_log;

typedef struct test_kernels {
    accel_module *module;
    accel_kernel *nothing; /* () */
    accel_kernel *add;     /* (u32 *data, u32 value): each work-item adds to its element */
    accel_kernel *sleep;   /* (u32 milliseconds), per block */
    accel_kernel *gate;    /* (u32 *gate): waits until it is not 0 */
    accel_kernel *append;  /* (test_log *log, u32 value), per block */
    accel_kernel *fail;    /* (): the stream's failure, with text */
} test_kernels;

#define TEST_FAIL_TEXT "this kernel fails on purpose"

/* A gate lives in plain memory. It opens by itself after ten seconds, so that a lost test ends. */
typedef struct test_gate {
    _Atomic(uint32_t) open;
} test_gate;

accel_status test_kernels_load(accel_device device, test_kernels *out_kernels);
void test_kernels_unload(test_kernels *kernels);

/* One block of one work-item unless said otherwise. */
accel_status test_launch_nothing(const test_kernels *kernels, accel_stream *stream);
accel_status test_launch_add(const test_kernels *kernels, accel_stream *stream, uint32_t *data,
                             uint32_t count, uint32_t value);
accel_status test_launch_sleep(const test_kernels *kernels, accel_stream *stream,
                               uint32_t milliseconds);
accel_status test_launch_gate(const test_kernels *kernels, accel_stream *stream, test_gate *gate);
accel_status test_launch_append(const test_kernels *kernels, accel_stream *stream, test_log *log,
                                uint32_t value);
accel_status test_launch_fail(const test_kernels *kernels, accel_stream *stream);

static inline void test_gate_open(test_gate *gate)
{
    atomic_store(&gate->open, 1);
}

#endif
