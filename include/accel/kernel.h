/* SPDX-License-Identifier: MIT
 * kernel.h: modules of kernels, their signatures, and launches.
 *
 * A module is built for one device from one of three things:
 *   - portable source: the subset of OpenCL C that docs/kernel-language.md defines; works everywhere;
 *   - a native object: what the device's own tools or `accel build` made;
 *   - on the cpu backend, C functions of the program itself (<accel/cpu.h>).
 * A kernel is lent by its module and lives as long as it. Any thread may call any of these functions.
 */
#ifndef ACCEL_KERNEL_H
#define ACCEL_KERNEL_H

#include <accel/data_type.h>
#include <accel/device.h>
#include <accel/stream.h>

ACCEL_BEGIN_DECLS

typedef struct accel_module accel_module; /* counted; immutable once created; any thread */
typedef struct accel_kernel accel_kernel; /* lent by its module; immutable; any thread */

/* ---- signatures ---- */

typedef enum accel_param_kind {
    ACCEL_PARAM_KIND_VALUE = 1,   /* a scalar or vector by value */
    ACCEL_PARAM_KIND_POINTER = 2, /* a pointer to global or constant memory */
    ACCEL_PARAM_KIND_LOCAL = 3    /* a pointer to memory shared by one block, sized at launch */
} accel_param_kind;

/* One parameter of a kernel. Part of the cpu kernel ABI (<accel/cpu.h>): its layout is fixed. */
typedef struct accel_param {
    const char *name;
    accel_param_kind kind;
    accel_data_type type; /* of the value's or pointee's scalar; NONE for void and unknown ones */
    uint32_t lanes;       /* 1, or the number of lanes of a vector type */
    uint32_t read_only;   /* 1: a pointer to const or __constant */
    size_t size;          /* bytes of the value, or of one element behind the pointer (0: void) */
} accel_param;

/* ---- modules ---- */

typedef struct accel_define {
    const char *name;  /* a macro name */
    const char *value; /* its replacement; NULL means 1 */
} accel_define;

typedef struct accel_module_options {
    uint32_t struct_size;
    uint32_t define_count;
    const accel_define *defines;
    /* Searched in order, after the directory of the including file. */
    const char *const *include_paths;
    uint32_t include_path_count;
    /* 1: debug mode: a barrier not reached by the whole block is an error of the stream instead of
     * undefined (cpu only, slow). */
    uint32_t check_barriers;
    const char *file_name; /* named in messages and the base of #include "..."; NULL: "source" */
} accel_module_options;

/* accel_module_create_from_source (use): compiles portable source for `device`.
 * `source`: UTF-8, `size` bytes (a NUL byte inside is an error). `options`: NULL for defaults.
 * On success *out_module is a module with every kernel of the source. On ACCEL_ERROR_BUILD_FAILED
 * and ACCEL_ERROR_NO_COMPILER *out_module is a module without kernels that holds the build log, and
 * must be released; on any other failure it is NULL. Compiled kernels are cached on disk
 * (docs/kernel-language.md says where). A source without a kernel is OK, and a module without kernels.
 * Errors: INVALID_ARGUMENT, BUILD_FAILED, NO_COMPILER, OUT_OF_HOST_MEMORY, IO, those of a start. */
ACCEL_API accel_status accel_module_create_from_source(accel_device device, const char *source,
                                                       size_t size,
                                                       const accel_module_options *options,
                                                       accel_module **out_module);

/* accel_module_build_native (use): compiles portable source to a native object, which
 * accel_module_create_from_native takes, also on another machine of the same kind without a
 * compiler. `*out_object` is *out_size bytes, freed with accel_module_free_native. On BUILD_FAILED
 * and NO_COMPILER *out_log (if not NULL) is a module that only holds the log, else NULL.
 * Errors as accel_module_create_from_source, and UNSUPPORTED where the device has no such objects. */
ACCEL_API accel_status accel_module_build_native(accel_device device, const char *source,
                                                 size_t size, const accel_module_options *options,
                                                 void **out_object, size_t *out_size,
                                                 accel_module **out_log);
ACCEL_API void accel_module_free_native(void *object); /* NULL is allowed */

/* accel_module_create_from_native (use): a module from a native object (copied).
 * Loading runs code of the object: only pass what you trust. Errors: INVALID_ARGUMENT for what is
 * no object for this device (truncated, another machine, another ABI), UNSUPPORTED, OUT_OF_HOST_MEMORY,
 * those of a start. */
ACCEL_API accel_status accel_module_create_from_native(accel_device device, const void *object,
                                                       size_t size, accel_module **out_module);

/* Counted references. Release of NULL is a no-op. Releasing the last reference while launches of
 * the module's kernels are pending is safe: the code stays until they have passed. */
ACCEL_API void accel_module_retain(accel_module *module);
ACCEL_API void accel_module_release(accel_module *module);

/* Questions about a module. The log is "" where the build had nothing to say, is complete, and also
 * holds the warnings of a successful build. Strings are lent by the module. NULL: "" and 0. */
ACCEL_API const char *accel_module_build_log(const accel_module *module);
ACCEL_API uint32_t accel_module_kernel_count(const accel_module *module);

/* accel_module_get_kernel_at (question): lends the i-th kernel (order of the source). Errors:
 * INVALID_ARGUMENT, OUT_OF_RANGE. */
ACCEL_API accel_status accel_module_get_kernel_at(const accel_module *module, uint32_t index,
                                                  accel_kernel **out_kernel);

/* accel_module_get_kernel (question): lends the kernel of that name. Errors: INVALID_ARGUMENT; NOT_FOUND
 * names the kernels there are. */
ACCEL_API accel_status accel_module_get_kernel(const accel_module *module, const char *name,
                                               accel_kernel **out_kernel);

/* ---- kernels ---- */

/* Questions about a kernel; strings are lent. A kernel of a native object whose driver does not tell
 * has no known signature: has_signature is false, the count is 0, and arguments are trusted. For NULL:
 * "", false and 0.
 * accel_kernel_get_param: the i-th. Errors: INVALID_ARGUMENT, OUT_OF_RANGE. Any thread. */
ACCEL_API const char *accel_kernel_name(const accel_kernel *kernel);
ACCEL_API bool accel_kernel_has_signature(const accel_kernel *kernel);
ACCEL_API uint32_t accel_kernel_param_count(const accel_kernel *kernel);
ACCEL_API accel_status accel_kernel_get_param(const accel_kernel *kernel, uint32_t index,
                                              accel_param *out_param);

/* ---- launches ---- */

typedef enum accel_kernel_arg_kind {
    ACCEL_KERNEL_ARG_KIND_VALUE = 1,   /* `size` bytes at `data`, copied by the call */
    ACCEL_KERNEL_ARG_KIND_POINTER = 2, /* `data` is the device pointer itself; `size` is ignored */
    ACCEL_KERNEL_ARG_KIND_LOCAL = 3    /* `size` bytes that each block shares; `data` is ignored */
} accel_kernel_arg_kind;

typedef struct accel_kernel_arg {
    accel_kernel_arg_kind kind;
    size_t size;
    const void *data;
} accel_kernel_arg;

#define ACCEL_ARG_VALUE(variable)                                                                  \
    {                                                                                              \
        ACCEL_KERNEL_ARG_KIND_VALUE, sizeof(variable), &(variable)                                 \
    }
#define ACCEL_ARG_POINTER(pointer)                                                                 \
    {                                                                                              \
        ACCEL_KERNEL_ARG_KIND_POINTER, 0, (pointer)                                                \
    }
#define ACCEL_ARG_LOCAL(bytes)                                                                     \
    {                                                                                              \
        ACCEL_KERNEL_ARG_KIND_LOCAL, (bytes), NULL                                                 \
    }

/* The most bytes that the arguments of one launch may have in all (values, and 8 per pointer). */
#define ACCEL_KERNEL_ARGS_SIZE_MAX 4096

/* The shape of a launch: the grid counts blocks, the block counts work-items. Set the dimensions you
 * do not need to 1. */
typedef struct accel_launch_shape {
    uint64_t grid[3];  /* any of them 0: nothing runs; the launch is still ordered in the stream */
    uint32_t block[3]; /* 0 is an error */
} accel_launch_shape;

/* accel_kernel_launch (use): queues the kernel on `stream` (NULL: the current stream of the kernel's
 * device) and returns. Arguments are copied by the call. A pointer argument may be NULL. Count, kinds and
 * sizes are compared with the signature; not types (an int for a float goes through), nor where pointers
 * point: memory of another device, or too little of it, is the kernel's fault when it runs.
 * Errors: INVALID_ARGUMENT (count, kind or size of an argument differs from the signature, a block
 * dimension is 0), OUT_OF_RANGE (a limit of the device: accel_device_capability), MISMATCH (stream
 * of another device), UNSUPPORTED (a kernel that the driver would get wrong), CAPTURE, those of a start, the
 * stream's failure. A full queue blocks the caller. */
ACCEL_API accel_status accel_kernel_launch(accel_kernel *kernel, accel_stream *stream,
                                           const accel_launch_shape *shape,
                                           const accel_kernel_arg *args, uint32_t arg_count);

ACCEL_END_DECLS

#endif /* ACCEL_KERNEL_H */
