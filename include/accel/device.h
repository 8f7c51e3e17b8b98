/* SPDX-License-Identifier: MIT
 * device.h: backends and devices: finding, naming, describing and choosing them.
 *
 * A device is a value: a backend's number in this process and an index on it. Backends and devices
 * are static and never freed. Every question here leaves a later fork() harmless. Any thread may call any
 * of these functions; what is current is the calling thread's own.
 */
#ifndef ACCEL_DEVICE_H
#define ACCEL_DEVICE_H

#include <accel/status.h>

ACCEL_BEGIN_DECLS

/* A backend's number: 1, 2, … in order of registration, the same for the life of the process. */
typedef uint32_t accel_backend;

typedef struct accel_device {
    accel_backend backend;
    int32_t index;
} accel_device;

#define ACCEL_BACKEND_NONE UINT32_C(0)             /* no backend; an error wherever one is needed */
#define ACCEL_BACKEND_CURRENT UINT32_C(0xffffffff) /* the calling thread's current accelerator */
#define ACCEL_INDEX_NONE INT32_MIN /* no index: the thread's current index on that backend */

#ifdef __cplusplus
#define ACCEL_DEVICE(backend, index) (accel_device{(backend), (index)})
#else
#define ACCEL_DEVICE(backend, index) ((accel_device){(backend), (index)})
#endif
/* The calling thread's current device of its current accelerator. */
#define ACCEL_DEVICE_CURRENT ACCEL_DEVICE(ACCEL_BACKEND_CURRENT, ACCEL_INDEX_NONE)

#define ACCEL_DEVICE_NAME_MAX 64 /* bytes that any "backend:index" fits in, NUL included */

/* ---- backends ---- */

/* accel_backend_count (question): how many backends this build knows, usable or not. Numbers
 * 1 … count are valid. Never fails. Any thread. */
ACCEL_API uint32_t accel_backend_count(void);

/* accel_backend_name (question): "cpu"; NULL for a number that is no backend. Static string.
 * ACCEL_BACKEND_CURRENT gives the current accelerator's name, NULL where there is none or that cannot be
 * told (the record then says why). */
ACCEL_API const char *accel_backend_name(accel_backend backend);

/* accel_backend_find (question): the number of the backend of that exact name.
 * Errors: INVALID_ARGUMENT for NULL; NOT_FOUND names the backends there are. Any thread. */
ACCEL_API accel_status accel_backend_find(const char *name, accel_backend *out_backend);

/* ---- counting ---- */

/* accel_device_count (question): how many devices `backend` has. 0 and OK: none. CANNOT_TELL:
 * *out_count holds those that are certain so far, the record says why. The variables that hide
 * devices are read anew at each call until the backend starts; then the answer is frozen.
 * Errors: INVALID_ARGUMENT, NOT_FOUND (no such backend), CANNOT_TELL, UNAVAILABLE (ACCEL_BACKEND
 * names what cannot be used). ACCEL_BACKEND_CURRENT with no accelerator gives 0 and OK.
 * Any thread; fork: harmless. */
ACCEL_API accel_status accel_device_count(accel_backend backend, int32_t *out_count);

/* accel_is_available (question): whether `backend` has at least one device. Errors as
 * accel_device_count; with CANNOT_TELL *out_available is true if one device is certain. */
ACCEL_API accel_status accel_is_available(accel_backend backend, bool *out_available);

/* ---- the current accelerator and device ---- */

/* accel_current_accelerator (question): the calling thread's current accelerator, as a device without
 * index: what the thread set, else the process default: ACCEL_BACKEND, or else the first available of
 * cuda, hip, xpu, mps, plug-ins, opencl, cpu (an opencl with nothing but CPUs ranks below cpu). At the
 * first use of any device the default is fixed: as it was last answered, or, where nobody had asked, as
 * it is first answered after.
 * `check_available`: also ask whether the accelerator has a device. Where there is none, *out_device
 * is {ACCEL_BACKEND_NONE, ACCEL_INDEX_NONE} and the status OK.
 * Errors: INVALID_ARGUMENT; CANNOT_TELL where no backend has a certain device and one cannot tell;
 * UNAVAILABLE where ACCEL_BACKEND names a backend that is unknown, left out by ACCEL_BACKENDS, or
 * without device. Any thread; fork: harmless. */
ACCEL_API accel_status accel_current_accelerator(bool check_available, accel_device *out_device);

/* accel_set_current_accelerator (question): makes `backend` the calling thread's current accelerator;
 * ACCEL_BACKEND_NONE goes back to the process default. Starts nothing, and does not ask whether there
 * is a device; ACCEL_BACKEND_CURRENT changes nothing. Errors: NOT_FOUND. */
ACCEL_API accel_status accel_set_current_accelerator(accel_backend backend);

/* accel_set_device_index (question): makes `device` the calling thread's current device of its
 * backend, and that backend the thread's current accelerator. A negative index is a no-op and OK,
 * whatever the backend. Starts nothing. Errors: INVALID_ARGUMENT (no index: a backend alone is chosen with
 * accel_set_current_accelerator), those of the device. Fork: harmless, kept by the child's thread. */
ACCEL_API accel_status accel_set_device_index(accel_device device);

/* accel_current_device_index (question): the calling thread's current index on `backend`; 0 on a
 * thread that set none. Errors: INVALID_ARGUMENT, NOT_FOUND; UNAVAILABLE (no accelerator at all) and
 * CANNOT_TELL for ACCEL_BACKEND_CURRENT. */
ACCEL_API accel_status accel_current_device_index(accel_backend backend, int32_t *out_index);

/* Deprecated spellings of the two above (questions), as in torch. Errors as above. */
ACCEL_API accel_status accel_set_device_idx(accel_device device)
    ACCEL_DEPRECATED("use accel_set_device_index");
ACCEL_API accel_status accel_current_device_idx(accel_backend backend, int32_t *out_index)
    ACCEL_DEPRECATED("use accel_current_device_index");

/* accel_exchange_device (question): accel_set_device_index, and the backend's previous current device
 * in *out_previous. A negative index is an error here (OUT_OF_RANGE). Errors: those of
 * accel_set_device_index. */
ACCEL_API accel_status accel_exchange_device(accel_device device, accel_device *out_previous);

/* accel_maybe_exchange_device (question): as accel_exchange_device, but never fails for want of a
 * device: a device that does not exist changes nothing. *out_previous is the index before the call.
 * Made for putting back what an exchange returned. Errors: INVALID_ARGUMENT, NOT_FOUND; UNAVAILABLE and
 * CANNOT_TELL for ACCEL_BACKEND_CURRENT. */
ACCEL_API accel_status accel_maybe_exchange_device(accel_device device, accel_device *out_previous);

/* A scope for C: what was current when it began is current again after its end. Its members are accel's. */
typedef struct accel_device_scope {
    accel_device previous;
    accel_backend previous_accelerator; /* what the thread had set itself, or NONE */
    bool active;
} accel_device_scope;

/* accel_device_index_begin (question): torch's `with device_index(i):`. A device without index does
 * nothing, at the begin and at the end. Scopes nest; end them in reverse order.
 * Errors: as accel_exchange_device, and *out_scope is then inactive (ending it is a no-op). */
ACCEL_API accel_status accel_device_index_begin(accel_device device, accel_device_scope *out_scope);
ACCEL_API void accel_device_index_end(accel_device_scope *scope);

/* ---- names ---- */

/* accel_device_parse (question): "cuda:0", or "cuda" (no index). Nothing else: no capitals, no blanks,
 * no leading zero, no sign. The backend must be known; the device need not exist.
 * Errors: INVALID_ARGUMENT (NULL or not of that form), NOT_FOUND (the message names the backends),
 * OUT_OF_RANGE (an index beyond 2^31 - 1). */
ACCEL_API accel_status accel_device_parse(const char *text, accel_device *out_device);

/* accel_device_format (question): writes "cuda:0" or "cuda". ACCEL_DEVICE_CURRENT is resolved.
 * The size has its NUL in it; ACCEL_DEVICE_NAME_MAX is always enough. The device need not exist.
 * Errors: INVALID_ARGUMENT, NOT_FOUND, OUT_OF_RANGE (a negative index, a small buffer); UNAVAILABLE and
 * CANNOT_TELL for the current device. */
ACCEL_API accel_status accel_device_format(accel_device device, char *buffer, size_t capacity,
                                           size_t *out_needed);

/* ---- describing ---- */

typedef enum accel_device_kind {
    ACCEL_DEVICE_KIND_UNKNOWN = 0,
    ACCEL_DEVICE_KIND_CPU = 1,
    ACCEL_DEVICE_KIND_GPU = 2,
    ACCEL_DEVICE_KIND_ACCELERATOR = 3
} accel_device_kind;

/* Who a device is. Empty strings and zeros mean unknown. */
typedef struct accel_device_info {
    uint32_t struct_size; /* in */
    accel_device_kind kind;
    char name[128];
    char vendor[64];
    char driver[64];       /* driver name and version */
    char uuid[48];         /* stable over restarts, unique on this machine: "cpu-…" */
    char bus_address[32];  /* "0000:01:00.0"; "" where the device is on no bus */
    uint64_t total_memory; /* bytes */
} accel_device_info;

/* accel_device_describe (question): never starts the device. Errors: INVALID_ARGUMENT, those of the device,
 * OUT_OF_HOST_MEMORY. */
ACCEL_API accel_status accel_device_describe(accel_device device, accel_device_info *out_info);

/* What a device can do. A limit of 0 means none of that. */
typedef struct accel_device_capability {
    uint32_t struct_size;     /* in */
    uint32_t compute_units;   /* CPUs, multiprocessors, … */
    uint64_t data_types;      /* ACCEL_DATA_TYPE_BIT()s that memory can hold and kernels convert */
    uint64_t total_memory;    /* bytes */
    uint64_t max_allocation;  /* bytes of one allocation */
    uint64_t alignment;       /* bytes that every allocation is aligned to at least */
    uint64_t max_grid[3];     /* blocks */
    uint64_t max_grid_blocks; /* product of the three */
    uint32_t max_block[3];    /* work-items */
    uint32_t max_block_items; /* product of the three */
    uint64_t local_memory_size; /* bytes of memory shared by a block */
    int32_t priority_lowest;    /* numerically greatest; 0 where there are no priorities */
    int32_t priority_highest;   /* numerically least */
    bool kernels_from_source;   /* portable source can be compiled here (false: no compiler) */
    bool fp16;                  /* arithmetic in portable source; storage is in data_types */
    bool fp64;
    bool atomics_32;
    bool atomics_64;
    bool timing;        /* events with timing */
    bool pinned_memory; /* accel_memory_alloc of pinned memory gives page-locked memory */
    bool peer_copies;   /* copies between devices of this backend need no staging */
    bool concurrent_streams;
    bool ordered_callbacks; /* work queued after a host callback waits for it to return */
    bool native_handles;
    bool pointers_in_memory; /* device pointers may be stored in memory and structures */
    bool host_access;        /* the host can read and write device memory through its pointers */
    bool survives_fork;      /* usable in a child of a process that has used it */
} accel_device_capability;

/* accel_get_device_capability (question): never starts the device. Errors: INVALID_ARGUMENT, those of the
 * device, OUT_OF_HOST_MEMORY. */
ACCEL_API accel_status accel_get_device_capability(accel_device device,
                                                   accel_device_capability *out_capability);

/* accel_get_memory_info (question on cpu, else a use): bytes free to all processes, and in all.
 * Errors: INVALID_ARGUMENT (NULL: both are wanted), those of the device, SYSTEM (/proc cannot be read); where
 * it is a use, those of a start. */
ACCEL_API accel_status accel_get_memory_info(accel_device device, size_t *out_free,
                                             size_t *out_total);

/* accel_synchronize (question): waits until every stream of the device has passed what was queued
 * before the call. Never starts a runtime: OK at once on a device that is not in use. The current
 * device stays. Errors: those of the device, IN_CALLBACK, CAPTURE (a capture that forbids it: graph.h), FORKED,
 * CANNOT_TELL (the driver could not be asked: wait again), and the first failure that sticks to one of the
 * streams: the others are waited for all the same. */
ACCEL_API accel_status accel_synchronize(accel_device device);

ACCEL_END_DECLS

#endif /* ACCEL_DEVICE_H */
