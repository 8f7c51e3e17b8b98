/* SPDX-License-Identifier: MIT
 * opencl.h: PoCL as an opponent, through libOpenCL.so.1 opened at run time. One context and one
 * in-order queue for the whole program. Where PoCL is not installed, bench_opencl_missing() says so
 * and nothing else here may be called.
 */
#ifndef BENCH_OPENCL_H
#define BENCH_OPENCL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bench_opencl_kernel bench_opencl_kernel; /* a cl_kernel */
typedef struct bench_opencl_buffer bench_opencl_buffer; /* a cl_mem */

/* Opens PoCL at the first call. The reason why it is not there, or NULL. */
const char *bench_opencl_missing(void);

/* The kernel `name` of `source`; NULL after bench_failed(). Kept until the program ends. */
bench_opencl_kernel *bench_opencl_kernel_create(const char *source, const char *name);

/* The kernel `name` of bench/kernels/<name>.cl, in the same way. */
bench_opencl_kernel *bench_opencl_kernel_load(const char *name);

/* A buffer with a copy of `contents`, if not NULL; NULL after bench_failed(). */
bench_opencl_buffer *bench_opencl_buffer_create(size_t size, const void *contents);
void bench_opencl_buffer_release(bench_opencl_buffer *buffer); /* NULL is allowed */

/* `value` NULL: local memory. A buffer is passed by the address of its pointer. */
bool bench_opencl_set_arg(bench_opencl_kernel *kernel, unsigned index, size_t size,
                          const void *value);

bool bench_opencl_launch(bench_opencl_kernel *kernel, unsigned dimensions, const size_t *global,
                         const size_t *local);
bool bench_opencl_finish(void);

/* Waits for the queue and copies the first `size` bytes of the buffer. */
bool bench_opencl_read(bench_opencl_buffer *buffer, size_t size, void *destination);

#endif
