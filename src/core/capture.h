/* capture.h: what the core knows of a capture. A stream that captures keeps what is queued on it as
 * nodes of a graph, instead of handing it to its native stream.
 *
 * The core never calls the graph layer, which lies above: that layer makes the object below, with the
 * functions that take each call, and opens it. From then on accel__stream_is_ready is false for the
 * stream (its generation is one that no process has), so that only the slow ways, which such a call
 * takes, ask for the capture (accel__stream_use).
 *
 * Fork: a capture belongs to the process that opened it. In a child its streams capture nothing, and
 * its events are what they were before. */
#ifndef ACCEL_CORE_CAPTURE_H
#define ACCEL_CORE_CAPTURE_H

#include <accel/backend.h>

#include "core/device.h"
#include "core/event.h"
#include "core/stream.h"

struct accel_memory_pool; /* of src/memory */

typedef struct accel__capture accel__capture;

/* What one replay has taken for a part: the part's own. */
typedef struct accel__part_taken {
    uint64_t seed;
    uint64_t offset;
    uint32_t drawn_in;
} accel__part_taken;

/* How a layer takes part in a graph: embedded in its own structure. The random layer keeps here, for one
 * generator, the cells that its captured kernels read. */
typedef struct accel__capture_part {
    const void *key; /* by which its owner finds it again: a generator */
    /* Called by each replay before anything of it is queued, once for each time that the part occurs, in
     * their order: takes what can be had or not. A failure makes the replay fail, with nothing queued.
     * NULL: there is nothing to take. */
    accel_status (*take)(struct accel__capture_part *part, accel__part_taken *out_taken);
    /* What was taken is not needed: the replay failed before. The last taken comes first. NULL as `take`. */
    void (*give_back)(struct accel__capture_part *part, const accel__part_taken *taken);
    /* Called by each replay, before its work, on the stream that replays and which is ready: queues on
     * `native`, whatever is captured on the stream, what must come first. Replays of all graphs that have the
     * part (the one that captured it, and those that have that one as a child) are called one at a time,
     * and ordered on the device, whatever streams they are on: what is queued here runs after the replay
     * before. It fails as a launch does, and then the replay does. NULL: there is nothing to queue. */
    accel_status (*prologue)(struct accel__capture_part *part, const accel__part_taken *taken,
                             accel_stream *stream, accel_native_stream *native);
    /* The last graph that has the part is gone, and all of its replays have passed or were given up.
     * Never fails. */
    void (*release)(struct accel__capture_part *part);
    struct accel__capture_part *next; /* the graph's */
} accel__capture_part;

/* A captured copy. `to` and `from` are the devices of the memory on both sides; NULL: the host. */
typedef struct accel__captured_copy {
    accel_backend_copy copy;
    accel__device *to;
    accel__device *from;
    const char *function;
} accel__captured_copy;

/* One for each call that can be captured. The call was checked as it is without a capture; any failure
 * is recorded, and makes the capture invalid. `stream` is part of the capture, but for `wait`. */
typedef struct accel__capture_ops {
    accel_status (*launch)(accel__capture *capture, accel_stream *stream, accel_kernel *kernel,
                           const accel_launch_shape *shape, const accel_kernel_arg *args,
                           uint32_t arg_count);
    accel_status (*copy)(accel__capture *capture, accel_stream *stream,
                         const accel__captured_copy *copy);
    accel_status (*fill)(accel__capture *capture, accel_stream *stream, void *destination,
                         const void *pattern, size_t pattern_size, size_t size);
    accel_status (*record)(accel__capture *capture, accel_stream *stream, accel_event *event);
    /* The event is a mark of this capture; the stream joins, where it is not part of it yet. */
    accel_status (*wait)(accel__capture *capture, accel_stream *stream, accel_event *event,
                         const char *function);
    accel_status (*callback)(accel__capture *capture, accel_stream *stream,
                             accel_stream_callback call, void *user);
    /* Fails the call `function` with ACCEL_ERROR_CAPTURE, `why` it cannot be captured (one clause), and
     * makes the capture invalid: its end repeats that. */
    accel_status (*refuse)(accel__capture *capture, const char *function, const char *why);
    /* The graph takes the part over. OUT_OF_HOST_MEMORY and CAPTURE (it is over): it does not. */
    accel_status (*attach)(accel__capture *capture, accel__capture_part *part);
    accel__capture_part *(*find_part)(accel__capture *capture, const void *key);
    /* The pool for memory that is allocated on its streams, counted; NULL: the usual one, also where the
     * capture is over. */
    struct accel_memory_pool *(*hold_pool)(accel__capture *capture);
    void (*destroy)(accel__capture *capture); /* nobody holds it any more */
} accel__capture_ops;

/* The head of the graph layer's own structure. Constant while it is open, but for what says else. */
struct accel__capture {
    const accel__capture_ops *ops;
    accel__device *device;
    uint64_t thread;     /* accel__thread_number of the one that began it */
    bool forbids_others; /* waiting for the whole device is refused on any thread, … */
    bool forbids_own;    /* … or on the thread that began it */
    _Atomic(uint32_t) references;
    uint32_t generation;         /* set by accel__capture_open */
    struct accel__capture *next; /* in the list of open ones: capture.c's */
};

/* A number of the calling thread that no other thread of the process ever has. */
uint64_t accel__thread_number(void);

/* ---- for every layer ---- */

/* The capture that the stream is part of, counted; NULL: none. */
accel__capture *accel__capture_of(accel_stream *stream);

/* The capture in which the event was recorded last and which is still open, counted; NULL: none. */
accel__capture *accel__capture_of_event(accel_event *event);

/* NULL is allowed. */
void accel__capture_release(accel__capture *capture);

static inline accel__capture_part *accel__capture_find_part(accel__capture *capture,
                                                            const void *key)
{
    return capture->ops->find_part(capture, key);
}

static inline accel_status accel__capture_attach(accel__capture *capture, accel__capture_part *part)
{
    return capture->ops->attach(capture, part);
}

/* Refuses the call where the stream captures; OK where it does not. `why` as in accel__capture_ops. */
accel_status accel__capture_refuse_stream(accel_stream *stream, const char *function,
                                          const char *why);

/* Refuses the call, which waits for the whole device, where an open capture forbids that. */
accel_status accel__capture_refuse_device(accel__device *device, const char *function);

/* ---- for the graph layer ---- */

/* Makes the capture open, with one reference of its own, and `stream`, which has a native one, part of
 * it. INVALID_STATE: the stream captures already. */
accel_status accel__capture_open(accel__capture *capture, accel_stream *stream,
                                 const char *function);

/* Makes one more stream part of it. INVALID_STATE: it is part of another one. */
accel_status accel__capture_join(accel__capture *capture, accel_stream *stream,
                                 const char *function);

/* Takes a stream out: it is as before. */
void accel__capture_leave(accel__capture *capture, accel_stream *stream);

/* The event's last record is in this capture from now on. False: it was before, too. */
bool accel__capture_mark_event(accel__capture *capture, accel_event *event);

/* The event is again what it was before it was recorded in this capture, unless it was recorded outside
 * since. */
void accel__capture_unmark_event(accel__capture *capture, accel_event *event);

/* Out of the list of open ones, and its own reference gone. All streams have left. */
void accel__capture_close(accel__capture *capture);

/* ---- for the core's streams and events ---- */

/* Says that the stream's native one is this process's, unless it captures. */
void accel__capture_publish_generation(accel_stream *stream);

/* The event was recorded outside of any capture. */
void accel__capture_event_recorded(accel_event *event);

#endif
