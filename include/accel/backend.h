/* SPDX-License-Identifier: MIT
 * backend.h: THE contract between accel and a backend. A backend is one folder that exports one
 * function, which returns a constant table of this type. The core copies the table, checks it once,
 * refuses it by naming what is missing, and fills the holes of optional groups with its stand-ins;
 * after that nobody tests for NULL.
 *
 * Rules for every function of the table
 *   - It returns ACCEL_OK, or a failure that it has recorded (base/error.h), with the vendor's code.
 *   - The core has checked arguments: devices exist, objects belong together, sizes are not 0.
 *   - Any thread, unless said otherwise; the core holds no lock of its own during the call, except
 *     the backend's start lock during `start` and the device lock during `open`.
 *   - Objects are opaque to the core. A create that fails leaves nothing behind.
 *   - A function that queues work does not wait for work (a full queue may wait for room).
 *   - Asynchronous failure sticks to the stream: each later enqueue, query and synchronize of that
 *     stream returns it, and work queued behind it is skipped. Callbacks are still called.
 *   - Fork: with ACCEL_BACKEND_SURVIVES_FORK every function also works in a child on objects of its
 *     parent, with the meaning that accel.h promises. Without it the core calls nothing in a child of
 *     a process in which `start` was called.
 *
 * The ABI number stays 0, and free to change, until cpu, opencl and cuda have passed the conformance
 * suite through it.
 */
#ifndef ACCEL_BACKEND_H
#define ACCEL_BACKEND_H

#include <accel/cpu.h>
#include <accel/device.h>
#include <accel/discovery.h>
#include <accel/kernel.h>

ACCEL_BEGIN_DECLS

#define ACCEL_BACKEND_ABI 0

/* Never defined: a backend casts to its own types. */
typedef struct accel_native_device accel_native_device;
typedef struct accel_native_stream accel_native_stream;
typedef struct accel_native_event accel_native_event;
typedef struct accel_native_module accel_native_module;
typedef struct accel_native_function accel_native_function;

/* ---- discovery: exactly one of the two groups `local` and `drivers` ---- */

typedef struct accel_backend_probe {
    int32_t device_count; /* devices that are certain */
    bool cannot_tell;     /* there may be more; `reason` says why that cannot be known */
    char reason[256];     /* also for 0 devices; "" where all is well */
    char variable[64];    /* the one whose value fits nothing, where that is the reason; else "" */
} accel_backend_probe;

/* For devices that the asking process can find by itself. All questions: they read /proc, /sys, file
 * metadata and the environment, nothing else. */
typedef struct accel_backend_local {
    /* Called again and again until `start`. */
    void (*probe)(accel_backend_probe *out_probe);
    /* Also before `start`; struct_size is set and the rest zeroed by the core. */
    accel_status (*describe)(int32_t index, accel_device_info *out_info);
    accel_status (*capability)(int32_t index, accel_device_capability *out_capability);
} accel_backend_local;

/* A driver that only a helper process may load: one library. */
typedef struct accel_backend_driver {
    char name[64];       /* short, unique within the backend: "pocl" */
    char library[512];   /* what is loaded, as given to dlopen */
    char source[512];    /* the file that names it; "" where none does */
    uint64_t key;        /* a hash of what its answer depends on: files' identity and times */
    accel_reason reason; /* what the files say already (LIBRARY_MISSING, …), else NONE */
    char detail[256];    /* "", or the particulars of the reason */
} accel_backend_driver;

/* One device as a driver reports it. */
typedef struct accel_backend_found {
    accel_device_info info;
    accel_device_capability capability;
    int32_t order;   /* the lower comes first: GPUs before CPUs */
    int32_t ordinal; /* the driver's own number of the device */
} accel_backend_found;

/* A device that the backend starts with: index i of the backend is the i-th of the selection. */
typedef struct accel_backend_selected {
    const accel_backend_driver *driver;
    const accel_backend_found *found;
} accel_backend_selected;

typedef struct accel_backend_drivers {
    /* A question, at most a microsecond: a hash of the environment variables that `list` and `probe`
     * depend on. */
    uint64_t (*stamp)(void);
    /* A question, by files only: fills at most `capacity` drivers, returns how many there are.
     * `out_probe` has the reason where there are none. */
    uint32_t (*list)(accel_backend_driver *out_drivers, uint32_t capacity,
                     accel_backend_probe *out_probe);
    /* Runs in the helper, never in the asking process: loads the driver and reports its devices. It
     * may crash or hang: the helper's supervisor tells. */
    accel_status (*probe)(const accel_backend_driver *driver,
                          void (*report)(const accel_backend_found *found, void *user), void *user);
} accel_backend_drivers;

/* ---- mandatory: discovery ---- */

typedef struct accel_backend_discovery {
    /* Brings the runtime up. Called once at a time; after a failure it may be called again. `selected`
     * lives as long as the process; NULL and 0 for a backend with `local`. */
    accel_status (*start)(const accel_backend_selected *selected, uint32_t count);
    /* All streams are idle. Gives back what can be had again at the next use (threads, caches);
     * objects stay valid. */
    void (*stop)(void);
} accel_backend_discovery;

/* ---- mandatory: device ---- */

typedef struct accel_backend_device_group {
    /* Once per device, which stays open until the process ends: what the program has of it outlives
     * accel_shutdown. */
    accel_status (*open)(int32_t index, accel_native_device **out_device);
    /* Before `open` too where the capability's survives_fork is set. */
    accel_status (*memory_info)(int32_t index, size_t *out_free, size_t *out_total);
} accel_backend_device_group;

/* ---- mandatory: memory ---- */

typedef enum accel_copy_direction {
    ACCEL_COPY_DIRECTION_HOST_TO_DEVICE = 1,
    ACCEL_COPY_DIRECTION_DEVICE_TO_HOST = 2,
    ACCEL_COPY_DIRECTION_DEVICE_TO_DEVICE = 3, /* within the stream's device */
    ACCEL_COPY_DIRECTION_HOST_TO_HOST = 4
} accel_copy_direction;

/* `height` rows of `width` bytes; pitches are at least the width. One row: height 1. */
typedef struct accel_backend_copy {
    void *destination;
    const void *source;
    size_t destination_pitch;
    size_t source_pitch;
    size_t width;
    size_t height;
    accel_copy_direction direction;
} accel_backend_copy;

typedef struct accel_backend_memory {
    accel_status (*alloc)(accel_native_device *device, size_t size, size_t alignment,
                          void **out_pointer);
    /* The memory is idle: every stream that used it has passed. */
    void (*free)(accel_native_device *device, void *pointer);
    accel_status (*copy)(accel_native_stream *stream, const accel_backend_copy *copy);
    /* pattern_size is 1, 2, 4 or 8 and divides size; destination is aligned to it. */
    accel_status (*fill)(accel_native_stream *stream, void *destination, const void *pattern,
                         size_t pattern_size, size_t size);
} accel_backend_memory;

/* ---- mandatory: stream and event ---- */

typedef struct accel_backend_stream {
    accel_status (*create)(accel_native_device *device, int32_t priority,
                           accel_native_stream **out_stream);
    /* Pending work is finished first, without blocking the caller. Never fails. */
    void (*destroy)(accel_native_stream *stream);
    /* CANNOT_TELL, here and for events: the driver could not be asked, and nothing is known of the work.
     * Every other failure is the work's own: none of it runs any more. */
    accel_status (*query)(accel_native_stream *stream, bool *out_done);
    accel_status (*synchronize)(accel_native_stream *stream);
} accel_backend_stream;

typedef struct accel_backend_event {
    accel_status (*create)(accel_native_device *device, bool timing,
                           accel_native_event **out_event);
    void (*destroy)(accel_native_event *event); /* also while pending or waited for */
    /* Replaces the mark. Safe against query, synchronize and wait on other threads. */
    accel_status (*record)(accel_native_event *event, accel_native_stream *stream);
    accel_status (*query)(accel_native_event *event, bool *out_done); /* false on failure, too */
    accel_status (*synchronize)(accel_native_event *event);
    /* The stream (of any device of this backend) waits for the mark as it is now. */
    accel_status (*wait)(accel_native_stream *stream, accel_native_event *event);
} accel_backend_event;

/* ---- mandatory: kernels ---- */

typedef enum accel_dialect {
    ACCEL_DIALECT_CPU_C = 1, /* a C source for the system's compiler: docs/kernel-language.md */
    /* OpenCL C 1.2; a comment at its head tells the kernels and their parameters:
     * docs/backend-opencl.md. */
    ACCEL_DIALECT_OPENCL_C = 2,
    /* The same, where a kernel takes each pointer as a buffer and an offset in bytes. */
    ACCEL_DIALECT_OPENCL_C_OFFSETS = 3
} accel_dialect;

/* Where `compile` puts what it made: the core lends the two functions. */
typedef struct accel_backend_build {
    void *user;
    void (*object)(void *user, const void *data, size_t size); /* called once, on success */
    void (*log)(void *user, const char *text, size_t size);    /* any number of times */
} accel_backend_build;

typedef struct accel_backend_function {
    const char *name; /* lent by the module */
    accel_native_function *function;
    bool has_signature;
    uint32_t param_count;
    const accel_param *params; /* lent by the module */
    uint32_t required_block[3];
} accel_backend_function;

typedef struct accel_backend_kernel {
    /* The form of text that `compile` takes for the device. */
    accel_dialect (*dialect)(accel_native_device *device);
    /* Writes what, besides the text, a compiled object depends on (compiler and version, CPU
     * features, driver) as text of at most `capacity` bytes. NO_COMPILER where there is none. */
    accel_status (*compiler_key)(accel_native_device *device, char *buffer, size_t capacity);
    /* Compiles finished text. BUILD_FAILED after the log was handed over. */
    accel_status (*compile)(accel_native_device *device, const char *text, size_t size,
                            const accel_backend_build *build);
    /* Loads a compiled or native object (not kept after the call). INVALID_ARGUMENT for what is none. */
    accel_status (*load)(accel_native_device *device, const void *object, size_t size,
                         accel_native_module **out_module);
    /* Pending launches keep what they need. */
    void (*unload)(accel_native_module *module);
    uint32_t (*function_count)(accel_native_module *module);
    accel_status (*function)(accel_native_module *module, uint32_t index,
                             accel_backend_function *out_function);
    /* Copies the arguments. They were checked against the signature where there is one. No grid
     * dimension is 0. */
    accel_status (*launch)(accel_native_stream *stream, accel_native_function *function,
                           const accel_launch_shape *shape, const accel_kernel_arg *args,
                           uint32_t arg_count);
} accel_backend_kernel;

/* ---- optional groups: all functions of a group or none ---- */

/* Stand-in: none, timing is unsupported. */
typedef struct accel_backend_timing {
    accel_status (*elapsed)(accel_native_event *start, accel_native_event *end,
                            double *out_milliseconds); /* both timed and passed, of one device */
} accel_backend_timing;

/* Stand-in: a thread of the core that waits for an event; not ordered before later work. */
typedef struct accel_backend_callbacks {
    /* Calls `call` once what was queued before has passed, with the stream's status; work queued
     * later waits for its return. Dropped in a forked child. */
    accel_status (*add)(accel_native_stream *stream, void (*call)(accel_status status, void *user),
                        void *user);
} accel_backend_callbacks;

/* Stand-in: ordinary host memory. */
typedef struct accel_backend_pinned {
    accel_status (*alloc)(accel_native_device *device, size_t size, size_t alignment,
                          void **out_pointer);
    void (*free)(accel_native_device *device, void *pointer);
} accel_backend_pinned;

/* Stand-in: one priority, 0. */
typedef struct accel_backend_priorities {
    /* *out_lowest >= 0 >= *out_highest. */
    accel_status (*range)(int32_t index, int32_t *out_lowest, int32_t *out_highest);
} accel_backend_priorities;

/* Stand-in: copies through host memory. */
typedef struct accel_backend_peer {
    bool (*reachable)(accel_native_device *destination, accel_native_device *source);
    /* On a stream of either device. Direction is DEVICE_TO_DEVICE. */
    accel_status (*copy)(accel_native_stream *stream, accel_native_device *destination,
                         accel_native_device *source, const accel_backend_copy *copy);
} accel_backend_peer;

/* Stand-in: unsupported. */
typedef struct accel_backend_functions {
    accel_status (*load)(accel_native_device *device, const accel_cpu_kernel *kernels,
                         uint32_t kernel_count, accel_native_module **out_module);
} accel_backend_functions;

/* Stand-in: unsupported. */
typedef struct accel_backend_handles {
    accel_status (*stream)(accel_native_stream *stream, void **out_handle);
    accel_status (*event)(accel_native_event *event, void **out_handle);
} accel_backend_handles;

/* Addresses that get memory, and lose it, part by part: for segments that grow. Stand-in: none, segments
 * are allocations of a fixed size. All addresses and sizes but those of `reserve` and `release` are
 * multiples of the granularity. */
typedef struct accel_backend_virtual {
    /* Bytes, a power of two. */
    accel_status (*granularity)(accel_native_device *device, size_t *out_bytes);
    /* Addresses without memory, which begin at a multiple of the granularity. */
    accel_status (*reserve)(accel_native_device *device, size_t size, void **out_address);
    /* A whole reserved range; no part of it has memory. */
    void (*release)(accel_native_device *device, void *address, size_t size);
    /* Gives memory, of undefined contents, to a part that has none. OUT_OF_MEMORY: it has none still. */
    accel_status (*commit)(accel_native_device *device, void *address, size_t size);
    /* Takes the memory of a part, all of which has some. It is idle: every stream has passed. */
    void (*decommit)(accel_native_device *device, void *address, size_t size);
} accel_backend_virtual;

/* One operation of a schedule: as the call of that name takes it. */
typedef enum accel_backend_step_kind {
    ACCEL_BACKEND_STEP_KIND_LAUNCH = 1,
    ACCEL_BACKEND_STEP_KIND_COPY = 2, /* within the device, or between it and the host */
    ACCEL_BACKEND_STEP_KIND_FILL = 3
} accel_backend_step_kind;

typedef struct accel_backend_step {
    accel_backend_step_kind kind;
    /* Steps of one number, which are neighbours, do not depend on each other; else it rises. */
    uint32_t level;
    union {
        struct {
            accel_native_function *function; /* its module lives as long as the schedule */
            const accel_launch_shape *shape;
            const accel_kernel_arg *args;
            uint32_t arg_count;
        } launch;
        const accel_backend_copy *copy;
        struct {
            void *destination;
            const void *pattern;
            size_t pattern_size;
            size_t size;
        } fill;
    };
} accel_backend_step;

typedef struct accel_native_schedule accel_native_schedule;

/* A row of operations that is queued as one, again and again. Stand-in: the graph layer queues each
 * operation by itself. */
typedef struct accel_backend_schedules {
    /* Copies the steps (at least one), and all that they point to. */
    accel_status (*create)(accel_native_device *device, const accel_backend_step *steps,
                           uint32_t step_count, accel_native_schedule **out_schedule);
    /* Another step of the same kind (and kernel) in the place of `index`, for replays queued from now
     * on. False: that cannot be done now (replays are pending), nothing changed: make a new one. Calls
     * for one schedule come one at a time, also those of replay. */
    bool (*update)(accel_native_schedule *schedule, uint32_t index, const accel_backend_step *step);
    /* Queues all steps, in their order, on a stream of the device. */
    accel_status (*replay)(accel_native_stream *stream, accel_native_schedule *schedule);
    /* Pending replays keep what they need; a module is unloaded after this call at the earliest. */
    void (*destroy)(accel_native_schedule *schedule);
} accel_backend_schedules;

/* What a random fill draws, per type of result: docs/random.md. */
typedef enum accel_backend_fill {
    ACCEL_BACKEND_FILL_RAW = 0, /* words of 32 bits */
    ACCEL_BACKEND_FILL_INTEGER_8,
    ACCEL_BACKEND_FILL_INTEGER_16,
    ACCEL_BACKEND_FILL_INTEGER_32,
    ACCEL_BACKEND_FILL_INTEGER_64,
    ACCEL_BACKEND_FILL_UNIFORM_F16,
    ACCEL_BACKEND_FILL_UNIFORM_BF16,
    ACCEL_BACKEND_FILL_UNIFORM_F32,
    ACCEL_BACKEND_FILL_UNIFORM_F64,
    ACCEL_BACKEND_FILL_NORMAL_F16,
    ACCEL_BACKEND_FILL_NORMAL_BF16,
    ACCEL_BACKEND_FILL_NORMAL_F32,
    ACCEL_BACKEND_FILL_NORMAL_F64,
    ACCEL_BACKEND_FILL_EXPONENTIAL_F16,
    ACCEL_BACKEND_FILL_EXPONENTIAL_BF16,
    ACCEL_BACKEND_FILL_EXPONENTIAL_F32,
    ACCEL_BACKEND_FILL_EXPONENTIAL_F64,
    ACCEL_BACKEND_FILL_BERNOULLI_8,
    ACCEL_BACKEND_FILL_BERNOULLI_16,
    ACCEL_BACKEND_FILL_BERNOULLI_32,
    ACCEL_BACKEND_FILL_BERNOULLI_64,
    ACCEL_BACKEND_FILL_COUNT
} accel_backend_fill;

/* Stand-in: the same kernels built from portable source, each when it is first needed. */
typedef struct accel_backend_random {
    /* A module that has a function for each accel_backend_fill, in that order, with the parameters
     * (ulong seed, ulong offset, ulong count, ulong low, ulong range, uint from_cells,
     * const ulong *cells, data) and the block {1, 1, 1}. Block b writes those of the elements from
     * b * *out_block_elements on that are below count. Where from_cells is not 0 the seed is
     * cells[0], and cells[1] is added to the offset. */
    accel_status (*load)(accel_native_device *device, accel_native_module **out_module,
                         uint64_t *out_block_elements);
} accel_backend_random;

/* ---- the table ---- */

#define ACCEL_BACKEND_SURVIVES_FORK 1u /* usable in a child after use in the parent */
#define ACCEL_BACKEND_HOST_ACCESS 2u /* the host reads and writes its memory through the pointers */

/* Ranks: the first available one is the default accelerator. */
#define ACCEL_BACKEND_RANK_CUDA 10
#define ACCEL_BACKEND_RANK_HIP 20
#define ACCEL_BACKEND_RANK_XPU 30
#define ACCEL_BACKEND_RANK_MPS 40
#define ACCEL_BACKEND_RANK_PLUGIN 50
#define ACCEL_BACKEND_RANK_OPENCL 60
#define ACCEL_BACKEND_RANK_CPU 70

typedef struct accel_backend_table {
    uint32_t struct_size;
    uint32_t abi;
    const char *name; /* lower-case letters, digits and '_', first a letter; at most 31 */
    int32_t rank;
    uint32_t flags;
    /* What shows that something in a process uses the drivers of this backend: prefixes of the file
     * names of their libraries ("libcuda.so") and of their device files ("/dev/nvidia"). Each ends with
     * NULL; NULL for none. */
    const char *const *library_prefixes;
    const char *const *device_file_prefixes;
    accel_backend_local local;
    accel_backend_drivers drivers;
    accel_backend_discovery discovery;
    accel_backend_device_group device;
    accel_backend_memory memory;
    accel_backend_stream stream;
    accel_backend_event event;
    accel_backend_kernel kernel;
    accel_backend_timing timing;
    accel_backend_callbacks callbacks;
    accel_backend_pinned pinned;
    accel_backend_priorities priorities;
    accel_backend_peer peer;
    accel_backend_functions functions;
    accel_backend_handles handles;
    accel_backend_random random;
    accel_backend_virtual virtual_memory;
    accel_backend_schedules schedules;
} accel_backend_table;

ACCEL_END_DECLS

#endif /* ACCEL_BACKEND_H */
