/* module.h: native code of the cpu backend as launches see it. A module holds the kernels of one shared
 * object or of one table of the program's functions; its code stays mapped until every launch that was
 * queued before `unload` has passed (retire.h). Made by load.c, read by launch.c. */
#ifndef ACCEL_BACKENDS_CPU_MODULE_MODULE_H
#define ACCEL_BACKENDS_CPU_MODULE_MODULE_H

#include <accel/backend.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct accel__cpu_native_module accel__cpu_native_module;

/* One kernel; an accel_native_function is a pointer to one. All but `cost` is immutable. */
typedef struct accel__cpu_native_function {
    const accel_cpu_kernel *kernel; /* in the object or the program's table */
    accel__cpu_native_module *owner;
    /* What launch.c learnt about the cost of a work-item; no meaning here but 0: nothing yet. */
    _Atomic(uint64_t) cost;
    /* Where the arguments of a launch lie when packed one behind the other: values aligned to their
     * size rounded up to a power of two (at most 64), pointers and LOCAL slots 8 bytes. One offset per
     * parameter. */
    const uint32_t *offsets;
    uint32_t packed_size; /* of all of them, a multiple of 8 */
    uint32_t local_count; /* how many parameters are LOCAL */
    uint32_t alignment;   /* of the packed block: 8 to 64 */
} accel__cpu_native_function;

/* Whether a compiler is there (a question: starts nothing). */
bool accel__cpu_has_compiler(void);

/* The kernel group's functions; `device` is only passed on to what a module is unloaded from. */
accel_status accel__cpu_compiler_key(accel_native_device *device, char *buffer, size_t capacity);
accel_status accel__cpu_compile(accel_native_device *device, const char *text, size_t size,
                                const accel_backend_build *build);
accel_status accel__cpu_load(accel_native_device *device, const void *object, size_t size,
                             accel_native_module **out_module);
accel_status accel__cpu_load_functions(accel_native_device *device, const accel_cpu_kernel *kernels,
                                       uint32_t kernel_count, accel_native_module **out_module);
void accel__cpu_unload(accel_native_module *module);
uint32_t accel__cpu_function_count(accel_native_module *module);
accel_status accel__cpu_function(accel_native_module *module, uint32_t index,
                                 accel_backend_function *out_function);

#endif
