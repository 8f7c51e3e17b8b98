/* stream.h: the core's stream object and the one path by which work reaches a native stream. */
#ifndef ACCEL_CORE_STREAM_H
#define ACCEL_CORE_STREAM_H

#include <accel/stream.h>

#include "base/handle.h"
#include "core/lifecycle.h"

/* What no generation of a process is. */
#define ACCEL__NOT_READY UINT32_MAX

enum { ACCEL__STREAM_PLACES = 64 };

struct accel_stream {
    accel__handle handle;
    _Atomic(uint32_t) references; /* the default stream's are not counted */
    _Atomic(uint32_t) held;       /* of those: the memory layer's, by accel__stream_hold */
    /* Of the process that made or last took over `native`; ACCEL__NOT_READY while it captures, and as
     * long as it has no native one. */
    _Atomic(uint32_t) generation;
    uint64_t id;  /* 0: the default stream */
    size_t place; /* streams made one after the other have different ones: for tables by stream */
    struct accel__device *device;
    accel__backend *backend;
    int32_t priority; /* effective */
    bool is_default;
    bool is_abandoned; /* released by everybody with work pending; the list owns it */
    _Atomic(accel_native_stream *) native;  /* the default stream's: NULL until its first use */
    _Atomic(struct accel_stream *) next;    /* in the device's list */
    _Atomic(uint32_t) callbacks_added;      /* callback.c: so many for the stand-in … */
    _Atomic(uint32_t) callbacks_called;     /* … and so many of them called, in their order … */
    _Atomic(uint32_t) callbacks_generation; /* … in the process of this generation */
    _Atomic(struct accel__capture *) capture; /* capture.c: ask accel__capture_of */
};

/* The native stream where work may be queued now: not in a callback, not forked, started, open, not
 * capturing. A stream whose generation is one of a process has a native one. */
static inline bool accel__stream_is_ready(accel_stream *stream, accel_native_stream **out_native)
{
    const uint32_t generation = atomic_load_explicit(&stream->generation, memory_order_acquire);
    *out_native = atomic_load_explicit(&stream->native, memory_order_relaxed);
    return accel__generation_known() + accel__callback_mark == generation;
}

/* Where work for the stream goes: to its native one, which is made ready, or to the capture that it is part of,
 * counted: one of the two, and NULL for the other. Looked at once: what another thread begins to capture during
 * the call comes behind it. */
accel_status accel__stream_use(accel_stream *stream, const char *function,
                               accel_native_stream **out_native,
                               struct accel__capture **out_capture);

/* Initialises the default stream inside its device. */
void accel__stream_init_default(accel_stream *stream, struct accel__device *device);

/* Whether all work has passed. Any failure of the stream counts as passed. */
bool accel__stream_is_idle(accel_stream *stream);

/* What a backend's query of a stream or event says of the work before: true where none of it runs any more,
 * because it has passed or because it failed. A query that could not be asked tells nothing. */
static inline bool accel__work_is_over(accel_status asked, bool done)
{
    return done || (asked != ACCEL_OK && asked != ACCEL_ERROR_CANNOT_TELL);
}

/* Checks a handle that a caller passed; NULL is an error. */
accel_status accel__stream_check(const accel_stream *stream, const char *function);

/* A reference of the memory layer, which keeps free memory for the stream: with nothing but such ones left
 * the program is done with it. */
void accel__stream_hold(accel_stream *stream);
void accel__stream_let_go(accel_stream *stream);

/* Called without locks before the last reference but those goes; again where a short-lived one comes and
 * goes later. NULL: nobody. */
extern _Atomic(void (*)(accel_stream *stream)) accel__stream_unused;

/* Called after a device was synchronised, without locks: the memory layer, which lies above, gives back
 * then what waited for streams. NULL: nobody. */
extern _Atomic(void (*)(void)) accel__after_synchronize;

/* The same for the graph layer, called before that of memory. */
extern _Atomic(void (*)(void)) accel__after_synchronize_graphs;

/* Waits for each stream of the device; the first failure. Also destroys abandoned streams that are
 * done. */
accel_status accel__device_synchronize(struct accel__device *device, const char *function);

/* The same for an allocator that is short of memory: also where an open capture would forbid the program to
 * wait. What is captured is not waited for. */
accel_status accel__device_wait(struct accel__device *device, const char *function);

#endif
