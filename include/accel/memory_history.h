/* SPDX-License-Identifier: MIT
 * memory_history.h: what the allocators did, who asked for it, and how memory lies now.
 *
 * The history is off until a program turns it on. It then keeps, for each device apart, the newest
 * events (allocations, frees, segments) with the call stacks that they came from, and for each live
 * allocation the stack that it was made from.
 *
 * Stacks are kept as addresses, equal ones once; names are looked up when a snapshot is written or
 * leaks are visited, from the symbol tables of the program and its libraries, so functions of
 * stripped files have none. A frame's file name is that of the program or library with the offset
 * in it ("/usr/bin/x+0x1a2b", as addr2line wants it), its line is 0. Frames inside libaccel are
 * left out.
 *
 * A snapshot is how all segments and blocks of the caching allocators lay at one moment, with the
 * events before. It is written in the structure that PyTorch's memory viewer reads, as the pickle
 * that the viewer opens or as JSON.
 *
 * Device memory of the caching allocators is what all of this is about: pinned and wrapped memory
 * have neither history nor place in a snapshot or a leak report.
 *
 * All functions here are questions; they work before anything was allocated, and are safe on any
 * thread while others allocate. A forked child starts without history. */
#ifndef ACCEL_MEMORY_HISTORY_H
#define ACCEL_MEMORY_HISTORY_H

#include <accel/memory.h>

ACCEL_BEGIN_DECLS

/* ---- recording ---- */

typedef enum accel_memory_history_mode {
    ACCEL_MEMORY_HISTORY_MODE_DEFAULT = 0, /* ALL */
    ACCEL_MEMORY_HISTORY_MODE_OFF = 1,
    ACCEL_MEMORY_HISTORY_MODE_STATE = 2, /* live allocations keep their stacks; no events */
    ACCEL_MEMORY_HISTORY_MODE_ALL = 3    /* events as well */
} accel_memory_history_mode;

/* Where stacks are caught. Each includes what stands before it. */
typedef enum accel_memory_history_context {
    ACCEL_MEMORY_HISTORY_CONTEXT_DEFAULT = 0, /* ALL */
    ACCEL_MEMORY_HISTORY_CONTEXT_NEVER = 1,
    ACCEL_MEMORY_HISTORY_CONTEXT_STATE = 2, /* allocations and segments, for live ones */
    ACCEL_MEMORY_HISTORY_CONTEXT_ALLOC = 3, /* and in their events */
    ACCEL_MEMORY_HISTORY_CONTEXT_ALL = 4    /* and in the events of frees */
} accel_memory_history_context;

typedef enum accel_memory_history_unwinder {
    ACCEL_MEMORY_HISTORY_UNWINDER_DEFAULT = 0, /* TABLES */
    /* Follows the chain of frame pointers: about three nanoseconds a frame. Complete where all code
     * was built with -fno-omit-frame-pointer; elsewhere the direct caller is right, and frames
     * above it may be missing or wrong. */
    ACCEL_MEMORY_HISTORY_UNWINDER_FRAME_POINTERS = 1,
    /* Reads the unwind tables (.eh_frame) that every program has: complete. On x86-64 by accel's
     * own reader, which remembers what the tables say of each place in the code: about five
     * nanoseconds a frame, and some microseconds the first time. Elsewhere by the C library's
     * backtrace(), about a quarter of a microsecond a frame. Code without tables is passed by its
     * frame pointers. */
    ACCEL_MEMORY_HISTORY_UNWINDER_TABLES = 2
} accel_memory_history_unwinder;

typedef enum accel_memory_action {
    ACCEL_MEMORY_ACTION_ALLOC = 0,
    ACCEL_MEMORY_ACTION_FREE_REQUESTED = 1,
    ACCEL_MEMORY_ACTION_FREE_COMPLETED = 2, /* its streams have passed */
    ACCEL_MEMORY_ACTION_SEGMENT_ALLOC = 3,
    ACCEL_MEMORY_ACTION_SEGMENT_FREE = 4,
    ACCEL_MEMORY_ACTION_SEGMENT_MAP = 5, /* growable segments */
    ACCEL_MEMORY_ACTION_SEGMENT_UNMAP = 6,
    ACCEL_MEMORY_ACTION_OOM = 7,
    ACCEL_MEMORY_ACTION_SNAPSHOT = 8
} accel_memory_action;
#define ACCEL_MEMORY_ACTION_BIT(action) (UINT32_C(1) << (action))

#define ACCEL_MEMORY_HISTORY_FRAMES_MAX 64

typedef struct accel_memory_history_options {
    uint32_t struct_size;
    accel_memory_history_mode mode;
    accel_memory_history_context context;
    accel_memory_history_unwinder unwinder;
    uint32_t
        max_frames; /* of a stack, the innermost; up to ACCEL_MEMORY_HISTORY_FRAMES_MAX; 0: 16 */
    uint32_t skip_actions; /* ACCEL_MEMORY_ACTION_BIT()s of events not to keep */
    size_t max_entries;    /* of a device; then the oldest go. Up to 2^28; 0: 2^20 */
} accel_memory_history_options;

/* accel_memory_record_history (question): begins a new period of recording with these options
 * (NULL: all defaults), or ends it (mode OFF). Either way what was recorded before is gone, but for
 * the stacks of allocations that are still live. Memory is taken as events come, 64 bytes each and
 * once for each different stack, and kept for the next period.
 * Errors: INVALID_ARGUMENT (an option), OUT_OF_HOST_MEMORY (nothing changes). */
ACCEL_API accel_status accel_memory_record_history(const accel_memory_history_options *options);

/* accel_memory_clear_history (question): forgets the events so far; recording goes on. Does nothing where
 * none are recorded. */
ACCEL_API void accel_memory_clear_history(void);

/* ---- snapshots ---- */

typedef struct accel_memory_snapshot accel_memory_snapshot;

typedef struct accel_memory_snapshot_options {
    uint32_t struct_size;
    accel_backend
        backend; /* only devices of this one; ACCEL_BACKEND_NONE: all that have allocated */
    bool without_events;
} accel_memory_snapshot_options;

typedef enum accel_memory_snapshot_format {
    ACCEL_MEMORY_SNAPSHOT_FORMAT_BY_NAME = 0, /* JSON where the path ends in ".json", else PICKLE */
    ACCEL_MEMORY_SNAPSHOT_FORMAT_PICKLE = 1,  /* protocol 4 */
    ACCEL_MEMORY_SNAPSHOT_FORMAT_JSON = 2
} accel_memory_snapshot_format;

/* accel_memory_snapshot_create (question): copies segments, blocks and events as they are now. Each
 * device's allocator is held for the copy, about ten nanoseconds a block. Devices without
 * allocations have no segments. Appends a SNAPSHOT event to the history, after the copy.
 * Errors: INVALID_ARGUMENT, NOT_FOUND (backend), OUT_OF_HOST_MEMORY. */
ACCEL_API accel_status accel_memory_snapshot_create(const accel_memory_snapshot_options *options,
                                                    accel_memory_snapshot **out_snapshot);

/* accel_memory_snapshot_write (question): writes the snapshot into a file that replaces the one at
 * `path` once it is whole: after a failure `path` is as it was. The top level is a map of:
 * segments, device_traces (one list per device), allocator_settings, external_annotations, and, not
 * known to PyTorch, `accel`: the version of this structure, the names of the devices ("cpu:0") in
 * the order in which `device` and device_traces number them, and how many events each device had in
 * this period and has lost since (`overflow`: any).
 * Errors: INVALID_ARGUMENT (NULL, unknown format), IO, NOT_FOUND, PERMISSION, SYSTEM with the path
 * and the system's text, OUT_OF_HOST_MEMORY. Several threads may write one snapshot. */
ACCEL_API accel_status accel_memory_snapshot_write(const accel_memory_snapshot *snapshot,
                                                   const char *path,
                                                   accel_memory_snapshot_format format);

/* NULL is allowed. */
ACCEL_API void accel_memory_snapshot_release(accel_memory_snapshot *snapshot);

/* ---- leaks ---- */

typedef struct accel_memory_frame {
    uintptr_t address;    /* where the call returns to */
    const char *function; /* "??" where it is not known */
    const char *file;     /* the program or library, with the offset in it; "??" where not known */
} accel_memory_frame;

/* The allocations of one device that are live and were made from the same place. */
typedef struct accel_memory_leak {
    uint32_t struct_size;
    accel_device device;
    size_t count;
    size_t size;                      /* bytes, as asked for, together */
    size_t frame_count;               /* 0: made while stacks were not recorded */
    const accel_memory_frame *frames; /* innermost first */
} accel_memory_leak;

/* accel_memory_leaks_visit (question): calls `visit` for each group of live allocations, the
 * largest first, until it returns false. What it is given is lent for the call. No lock is held: it
 * may call accel.
 * Errors: INVALID_ARGUMENT, OUT_OF_HOST_MEMORY. */
ACCEL_API accel_status accel_memory_leaks_visit(bool (*visit)(const accel_memory_leak *leak,
                                                              void *user),
                                                void *user);

/* accel_memory_leaks_log (question): says the same to the program's log callback, as warnings;
 * nothing where there is no leak or nobody listens. Fit for atexit(). */
ACCEL_API void accel_memory_leaks_log(void);

ACCEL_END_DECLS

#endif /* ACCEL_MEMORY_HISTORY_H */
