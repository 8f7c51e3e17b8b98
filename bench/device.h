/* SPDX-License-Identifier: MIT
 * device.h: the accel side of the benchmarks: the cpu device, its default stream, and kernels from
 * bench/kernels/. Each function that returns bool calls bench_failed() before it returns false.
 */
#ifndef BENCH_DEVICE_H
#define BENCH_DEVICE_H

#include <accel/accel.h>
#include <accel/cpu.h>
#include <stdbool.h>

/* cpu:0; {ACCEL_BACKEND_NONE, …} where this build has no cpu backend. Starts nothing. */
accel_device bench_device(void);

/* Lends the device's default stream. */
bool bench_stream(accel_stream **out_stream);

/* The whole text of bench/kernels/<name>.cl, to be freed; NULL after bench_failed(). */
char *bench_kernel_source(const char *name);

/* The kernel `name` of bench/kernels/<name>.cl. */
bool bench_kernel_load(const char *name, accel_module **out_module, accel_kernel **out_kernel);

/* An empty kernel without parameters. */
bool bench_kernel_empty(accel_module **out_module, accel_kernel **out_kernel);

/* Device memory that the host may write; the bench runs on the cpu device only. */
bool bench_alloc(size_t size, void **out_pointer);

/* True for ACCEL_OK, else calls bench_failed() with the thread's last error. */
bool bench_ok(accel_status status);

#endif
