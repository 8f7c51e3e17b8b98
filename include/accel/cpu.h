/* SPDX-License-Identifier: MIT
 * cpu.h: what a kernel of the cpu backend is: the ABI between the backend and native code. Compiled
 * portable source, objects of `accel build`, and C functions of the program all take this form. It is
 * included by itself: <accel/accel.h> leaves it out.
 *
 * The backend has one device, which is all processors that the process may use. ACCEL_CPU_DEVICES=2 makes
 * two of them, which share processors and memory, to try out a program that uses several devices;
 * ACCEL_CPU_THREADS says how many threads run kernels (docs/settings.md).
 */
#ifndef ACCEL_CPU_H
#define ACCEL_CPU_H

#include <accel/kernel.h>

ACCEL_BEGIN_DECLS

#define ACCEL_CPU_ABI 1

/* One launch as its function sees it. `arguments` has one pointer per parameter: to the value's
 * bytes; to the pointer; for LOCAL to the pointer to this thread's block of local memory (64-byte
 * aligned, contents undefined). `scratch` is private to the calling thread, 64-byte aligned, of
 * scratch_fixed + scratch_per_item * work-items-in-a-block bytes, contents undefined. */
typedef struct accel_cpu_launch {
    uint64_t grid[3];
    uint32_t block[3];
    uint32_t reserved;
    void *const *arguments;
    void *scratch;
} accel_cpu_launch;

/* Runs blocks first <= b < last. Block b is (x, y, z) = (b % gx, b / gx % gy, b / gx / gy). Called
 * on several threads at once with disjoint ranges, in any order. Must not call accel, exit, longjmp
 * or throw. Returns NULL, or a static text that says what went wrong: it becomes the stream's error. */
typedef const char *(*accel_cpu_function)(const accel_cpu_launch *launch, uint64_t first,
                                          uint64_t last);

typedef struct accel_cpu_kernel {
    const char *name;
    accel_cpu_function function;
    const accel_param *params;
    uint32_t param_count;
    uint32_t required_block[3]; /* all 0: any block shape */
    size_t scratch_fixed;
    size_t scratch_per_item;
} accel_cpu_kernel;

/* A native object is a shared object that exports `const accel_cpu_object accel_cpu_module`. */
typedef struct accel_cpu_object {
    uint32_t abi; /* ACCEL_CPU_ABI */
    uint32_t kernel_count;
    const accel_cpu_kernel *kernels;
} accel_cpu_object;

/* accel_module_create_from_functions (use): a module from C functions of the program. The table and
 * the functions are lent: they must live until the module is gone and its launches have passed.
 * Errors: INVALID_ARGUMENT (NULL, no name, no function, a parameter without kind or size, two kernels
 * of one name); UNSUPPORTED, before anything is started, where `device` is of a backend whose kernels
 * are no C functions. Any thread; fork: a use. */
ACCEL_API accel_status accel_module_create_from_functions(accel_device device,
                                                          const accel_cpu_kernel *kernels,
                                                          uint32_t kernel_count,
                                                          accel_module **out_module);

ACCEL_END_DECLS

#endif /* ACCEL_CPU_H */
