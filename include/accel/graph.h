/* SPDX-License-Identifier: MIT
 * graph.h: work that is described once and replayed many times.
 *
 * A graph is of one device. Its nodes (kernels, copies, fills, host callbacks, records and waits of
 * events, other graphs) come from a capture, which keeps what is queued on a stream instead of running
 * it, or are added one by one, with what each depends on. It is instantiated, which makes the form that
 * is replayed, and then replayed on any stream of its device, any number of times.
 *
 *   empty --capture_begin--> capturing --capture_end--> captured --instantiate--> instantiated
 *   empty --add_…-------------------------------------> captured
 *   any   --reset--> empty
 *
 * What a capture holds is as it was at the call: pointers, values, shapes, sizes, and for copies the
 * address of host memory, which is read (or written) at each replay. Kernels and events are kept alive;
 * the memory that pointers name is the caller's business, but for memory that was allocated in the
 * capture: that stays with the graph's pool (below).
 *
 * Replays of one graph run one behind the other, whatever streams they are on: a replay on another
 * stream than the one before waits for that one, on the device. Different graphs run side by side, unless
 * they are on one stream, or have random numbers of one child in common; graphs that share a pool must not.
 *
 * Capture. From capture_begin to capture_end these calls on the stream become nodes: accel_kernel_launch,
 * accel_copy, accel_copy_2d, accel_fill, accel_stream_add_callback, accel_event_record,
 * accel_stream_wait_event, accel_stream_wait_stream, accel_graph_replay (a child), and what is built
 * from them. Another stream of the device joins when it waits for an event that was recorded in the
 * capture; before the end its work must be joined the same way to the stream on which the capture
 * began. Events that are recorded in a capture order its nodes, and are after the capture what they were
 * before; to have an event recorded by each replay, add a node for it. A wait for an event that was
 * recorded outside, a query or a wait for a stream or event of the capture, and every other use of the
 * stream fails with ACCEL_ERROR_CAPTURE and makes the capture invalid: later calls say so, and its end
 * repeats which call it was. Memory can be allocated and freed. Other streams go on as ever.
 *
 * Pools. Memory allocated on a stream that captures comes from the graph's pool, and what is freed in the
 * capture is used again by later allocations of it. Addresses hold across replays: the pool keeps its
 * memory until the last graph that has the pool is reset or released (and its replays have passed). A
 * graph may be given the pool of an earlier one: they then share memory, and must be replayed in the
 * order of their captures, not at the same time.
 *
 * Limits. A graph can have 2^26 nodes, with those of its children at any depth, and children in children
 * 64 deep (OUT_OF_RANGE).
 *
 * Threads: a graph is locked inside; a capture may be used from any number of threads. A call on a stream
 * while another thread begins a capture there comes before it or is part of it; one that meets the end of a
 * capture may fail with ACCEL_ERROR_CAPTURE, and the graph is none the worse. (What accel_random_reserve gives
 * is for the capture, or for none, as it was then.) Inside a callback every call but retain and release is
 * refused (IN_CALLBACK).
 * Fork: a capture that is open belongs to its process: in a child its streams capture nothing, and the
 * graph is to be reset. A graph of a backend that survives a fork can be replayed in the child.
 */
#ifndef ACCEL_GRAPH_H
#define ACCEL_GRAPH_H

#include <accel/event.h>
#include <accel/kernel.h>
#include <accel/memory_pool.h>
#include <accel/stream.h>

ACCEL_BEGIN_DECLS

typedef struct accel_graph accel_graph; /* counted; locked inside: any thread */

/* A node of a graph: numbers from 0, in the order in which nodes were made. A node depends only on
 * nodes of smaller numbers. */
typedef uint32_t accel_graph_node;

typedef enum accel_graph_node_kind {
    ACCEL_GRAPH_NODE_KIND_EMPTY = 0, /* does nothing; orders others */
    ACCEL_GRAPH_NODE_KIND_KERNEL = 1,
    ACCEL_GRAPH_NODE_KIND_COPY = 2,
    ACCEL_GRAPH_NODE_KIND_FILL = 3,
    ACCEL_GRAPH_NODE_KIND_CALLBACK = 4,
    ACCEL_GRAPH_NODE_KIND_EVENT_RECORD = 5,
    ACCEL_GRAPH_NODE_KIND_EVENT_WAIT = 6,
    ACCEL_GRAPH_NODE_KIND_CHILD = 7 /* another graph */
} accel_graph_node_kind;

/* What a capture forbids, besides the use of its own streams: calls that wait for all streams of the
 * device (accel_synchronize, accel_shutdown). */
typedef enum accel_capture_mode {
    ACCEL_CAPTURE_MODE_DEFAULT = 0, /* the backend's choice: THREAD_LOCAL, wherever accel records */
    ACCEL_CAPTURE_MODE_GLOBAL = 1,  /* such calls on any thread are refused, and spoil it */
    ACCEL_CAPTURE_MODE_THREAD_LOCAL = 2, /* only those of the thread that began it */
    ACCEL_CAPTURE_MODE_RELAXED = 3       /* none; and it may be ended on another thread */
} accel_capture_mode;

typedef enum accel_graph_state {
    ACCEL_GRAPH_STATE_EMPTY = 0,
    ACCEL_GRAPH_STATE_CAPTURING = 1,
    ACCEL_GRAPH_STATE_CAPTURED = 2, /* has nodes (or an empty capture), not instantiated */
    ACCEL_GRAPH_STATE_INSTANTIATED = 3
} accel_graph_state;

typedef struct accel_graph_options {
    uint32_t struct_size;
    /* false: accel_graph_capture_end instantiates. true: accel_graph_instantiate does, or the first
     * replay; and it may be done again. */
    bool keep_graph;
    /* Where memory allocated in the capture comes from; kept. NULL: a pool of its own, made at the first
     * capture. */
    accel_memory_pool *pool;
} accel_graph_options;

/* ---- life ---- */

/* accel_graph_create (question): an empty graph for `device` with one reference. Touches no driver.
 * Errors: INVALID_ARGUMENT, MISMATCH (a pool of another device), those of the device, OUT_OF_HOST_MEMORY. */
ACCEL_API accel_status accel_graph_create(accel_device device, const accel_graph_options *options,
                                          accel_graph **out_graph);

/* Counted references; NULL is a no-op. The last release resets the graph: replays that are pending are
 * finished first, without blocking the caller. In a forked child release is quiet. */
ACCEL_API void accel_graph_retain(accel_graph *graph);
ACCEL_API void accel_graph_release(accel_graph *graph);

/* accel_graph_reset (question): the graph is empty again, and can be captured or built anew. An open
 * capture is given up: its streams are as before. Pending replays are finished first, without blocking
 * the caller. Twice is harmless. Errors: INVALID_ARGUMENT, IN_CALLBACK. */
ACCEL_API accel_status accel_graph_reset(accel_graph *graph);

/* ---- capture ---- */

/* accel_graph_capture_begin (use): starts a capture on `stream` (NULL: the current stream of the graph's
 * device). It does not make it the current one: a call with stream NULL goes where it always did, and runs at
 * once. (accel_graph_scope_begin does.) Errors: INVALID_ARGUMENT (mode), INVALID_STATE (the graph has nodes:
 * reset it first; it is capturing; the stream is a default one, or is captured already), MISMATCH (stream of
 * another device), IN_CALLBACK, OUT_OF_HOST_MEMORY, FORKED, the stream's failure. Nothing has changed then. */
ACCEL_API accel_status accel_graph_capture_begin(accel_graph *graph, accel_stream *stream,
                                                 accel_capture_mode mode);

/* accel_graph_capture_end (question): ends it. `stream` (NULL: the current one) must be the one it began
 * on, and the thread, but in relaxed mode, the one that began it: else INVALID_STATE, and the capture
 * goes on. After every other failure it is over, its streams are as before, and the graph is empty:
 * CAPTURE (a call made it invalid: which one, and why; or a stream was not joined), OUT_OF_HOST_MEMORY,
 * and those of accel_graph_instantiate, where that is done here. A capture that recorded nothing is a
 * warning to the log, and a graph whose replay does nothing. Errors, too, which leave everything as it is:
 * INVALID_ARGUMENT; MISMATCH (stream of another device); INVALID_STATE before accel_graph_capture_begin;
 * IN_CALLBACK; FORKED (the process was forked meanwhile). */
ACCEL_API accel_status accel_graph_capture_end(accel_graph *graph, accel_stream *stream);

/* A scope for C: torch's `with graph:`. Begins a capture on `stream` (NULL: a new stream for the scope)
 * and makes that the thread's current stream; the end ends the capture, and what was current before is
 * current again, also where the end fails. */
typedef struct accel_graph_scope {
    accel_graph *graph;
    accel_stream *stream; /* counted */
    accel_stream_scope current;
    bool active;
} accel_graph_scope;

/* accel_graph_scope_begin (use): errors as accel_graph_capture_begin and accel_stream_scope_begin; the
 * scope is inactive then. accel_graph_scope_end (question), on the thread that began it: as
 * accel_graph_capture_end; OK for an inactive scope. Where the end is refused and the capture goes on
 * (another thread, a callback), the scope does, too. */
ACCEL_API accel_status accel_graph_scope_begin(accel_graph *graph, accel_stream *stream,
                                               accel_capture_mode mode,
                                               accel_graph_scope *out_scope);
ACCEL_API accel_status accel_graph_scope_end(accel_graph_scope *scope);

/* accel_stream_is_capturing (question): whether the stream (NULL: the current one of the current device)
 * is part of a capture now. Errors: INVALID_ARGUMENT, and where no device can be told. */
ACCEL_API accel_status accel_stream_is_capturing(accel_stream *stream, bool *out_capturing);

/* ---- instantiation and replay ---- */

/* accel_graph_instantiate (use): makes the form that is replayed. Errors: INVALID_STATE (no nodes yet;
 * capturing; instantiated already, and keep_graph was not set), OUT_OF_HOST_MEMORY, IN_CALLBACK,
 * FORKED, and what the backend refuses, by name. The graph is as before then. */
ACCEL_API accel_status accel_graph_instantiate(accel_graph *graph);

/* accel_graph_replay (use): queues the whole graph on `stream` (NULL: the current stream of the graph's
 * device). Instantiates first where that was not done, or nodes were added or updated since. On a stream
 * that captures (another graph), the graph becomes a child node there. Errors: INVALID_ARGUMENT,
 * INVALID_STATE (nothing was captured or built; capturing), MISMATCH (stream of another device),
 * IN_CALLBACK, FORKED, OUT_OF_RANGE (a generator's offset would not stay below 2^64; as a child, beyond the
 * limits of a graph), SYSTEM (a generator's seed cannot be drawn), those of accel_graph_instantiate,
 * CAPTURE (it waits for an event that was recorded last in an open capture, which is invalid then),
 * OUT_OF_HOST_MEMORY, the stream's failure. Where the driver refuses one of the graph's operations, those
 * before it stay queued (random numbers of those behind it are given back); after every other error nothing
 * is. */
ACCEL_API accel_status accel_graph_replay(accel_graph *graph, accel_stream *stream);

/* accel_graph_pool (question): lends the graph's memory pool, to share it with another graph. Errors:
 * INVALID_ARGUMENT, IN_CALLBACK, INVALID_STATE before the first successful capture, where the options gave
 * none. */
ACCEL_API accel_status accel_graph_pool(accel_graph *graph, accel_memory_pool **out_pool);

/* ---- building node by node ---- */

/* accel_graph_add_… (question, but for the device, which must be in use where the node names a kernel): each
 * adds one node, which runs after the `dependency_count` nodes in `dependencies` (NULL with 0), and lends its
 * number. To captured graphs nodes can be added, too. The rest of the arguments, and their errors, are those
 * of the call that the node stands for (accel_kernel_launch, accel_copy, …); further errors: INVALID_STATE
 * while it is capturing, OUT_OF_RANGE for a dependency that is none of the graph's nodes, and beyond the
 * limits of a graph, MISMATCH for something of another device, IN_CALLBACK, OUT_OF_HOST_MEMORY. After a
 * failure the graph is as before, and *out_node UINT32_MAX. `out_node` may be NULL, and one of the
 * dependencies. */
ACCEL_API accel_status accel_graph_add_empty(accel_graph *graph,
                                             const accel_graph_node *dependencies,
                                             uint32_t dependency_count, accel_graph_node *out_node);
ACCEL_API accel_status accel_graph_add_kernel(accel_graph *graph,
                                              const accel_graph_node *dependencies,
                                              uint32_t dependency_count, accel_kernel *kernel,
                                              const accel_launch_shape *shape,
                                              const accel_kernel_arg *args, uint32_t arg_count,
                                              accel_graph_node *out_node);
ACCEL_API accel_status accel_graph_add_copy(accel_graph *graph,
                                            const accel_graph_node *dependencies,
                                            uint32_t dependency_count, void *destination,
                                            const void *source, size_t size,
                                            accel_graph_node *out_node);
ACCEL_API accel_status accel_graph_add_copy_2d(accel_graph *graph,
                                               const accel_graph_node *dependencies,
                                               uint32_t dependency_count, void *destination,
                                               size_t destination_pitch, const void *source,
                                               size_t source_pitch, size_t width, size_t height,
                                               accel_graph_node *out_node);
ACCEL_API accel_status accel_graph_add_fill(accel_graph *graph,
                                            const accel_graph_node *dependencies,
                                            uint32_t dependency_count, void *destination,
                                            const void *pattern, size_t pattern_size, size_t size,
                                            accel_graph_node *out_node);
ACCEL_API accel_status accel_graph_add_callback(accel_graph *graph,
                                                const accel_graph_node *dependencies,
                                                uint32_t dependency_count,
                                                accel_stream_callback callback, void *user,
                                                accel_graph_node *out_node);
/* Each replay records the event, or waits for its mark as it is at the call of accel_graph_replay. The
 * event is kept alive. */
ACCEL_API accel_status accel_graph_add_event_record(accel_graph *graph,
                                                    const accel_graph_node *dependencies,
                                                    uint32_t dependency_count, accel_event *event,
                                                    accel_graph_node *out_node);
ACCEL_API accel_status accel_graph_add_event_wait(accel_graph *graph,
                                                  const accel_graph_node *dependencies,
                                                  uint32_t dependency_count, accel_event *event,
                                                  accel_graph_node *out_node);
/* The child's nodes as they are now, all of them after the dependencies; later changes of `child` are not
 * followed. The child's pool is kept. INVALID_STATE where it has no nodes. */
ACCEL_API accel_status accel_graph_add_child(accel_graph *graph,
                                             const accel_graph_node *dependencies,
                                             uint32_t dependency_count, const accel_graph *child,
                                             accel_graph_node *out_node);

/* ---- updates ---- */

/* accel_graph_update_… (question): other arguments for a node of that kind, seen by replays from now on;
 * those that are queued already are not changed. `shape` NULL: as it was. The kernel stays the same one.
 * Errors as accel_graph_add_…, INVALID_ARGUMENT for a node of another kind (which is named). */
ACCEL_API accel_status accel_graph_update_kernel(accel_graph *graph, accel_graph_node node,
                                                 const accel_launch_shape *shape,
                                                 const accel_kernel_arg *args, uint32_t arg_count);
ACCEL_API accel_status accel_graph_update_copy(accel_graph *graph, accel_graph_node node,
                                               void *destination, const void *source, size_t size);
ACCEL_API accel_status accel_graph_update_copy_2d(accel_graph *graph, accel_graph_node node,
                                                  void *destination, size_t destination_pitch,
                                                  const void *source, size_t source_pitch,
                                                  size_t width, size_t height);
ACCEL_API accel_status accel_graph_update_fill(accel_graph *graph, accel_graph_node node,
                                               void *destination, const void *pattern,
                                               size_t pattern_size, size_t size);
ACCEL_API accel_status accel_graph_update_callback(accel_graph *graph, accel_graph_node node,
                                                   accel_stream_callback callback, void *user);
ACCEL_API accel_status accel_graph_update_child(accel_graph *graph, accel_graph_node node,
                                                const accel_graph *child);

/* ---- questions ---- */

typedef struct accel_graph_node_info {
    uint32_t struct_size; /* in: sizeof(accel_graph_node_info) */
    accel_graph_node_kind kind;
    uint32_t dependency_count;
    uint32_t level;           /* 0: depends on nothing; else one more than its deepest dependency */
    uint32_t child_count;     /* nodes of a child graph, at any depth; else 0 */
    accel_kernel *kernel;     /* lent; NULL for other kinds */
    accel_launch_shape shape; /* of a kernel */
    size_t size;              /* bytes of a copy or fill */
} accel_graph_node_info;

/* Questions, all of them. Errors of all: INVALID_ARGUMENT (NULL, a released graph, a struct_size) and
 * IN_CALLBACK. What was to be told is 0 or empty then. */
ACCEL_API accel_status accel_graph_get_device(const accel_graph *graph, accel_device *out_device);
ACCEL_API accel_status accel_graph_get_state(accel_graph *graph, accel_graph_state *out_state);
/* Those of child graphs count as one. While it is capturing: what was captured so far. */
ACCEL_API accel_status accel_graph_get_node_count(accel_graph *graph, uint32_t *out_count);
/* OUT_OF_RANGE: no such node. INVALID_STATE while it is capturing; so the next one, too. */
ACCEL_API accel_status accel_graph_get_node_info(accel_graph *graph, accel_graph_node node,
                                                 accel_graph_node_info *out_info);
/* The node's dependencies. OUT_OF_RANGE: no such node, or more
 * dependencies than `capacity`. */
ACCEL_API accel_status accel_graph_get_dependencies(accel_graph *graph, accel_graph_node node,
                                                    accel_graph_node *out_dependencies,
                                                    uint32_t capacity, uint32_t *out_needed);

/* ---- looking at a graph ---- */

/* accel_graph_enable_debug_mode (question): dumps from now on also hold addresses and the values of
 * arguments. Nothing else depends on it: a graph can be dumped without. Errors: INVALID_ARGUMENT,
 * IN_CALLBACK. */
ACCEL_API accel_status accel_graph_enable_debug_mode(accel_graph *graph);

/* accel_graph_debug_dump (question): writes the graph to the file `path` (UTF-8), as JSON where that ends
 * in ".json" (`accel graph` reads it), else in Graphviz's DOT language. The file is whole or not changed
 * at all. Works once there are nodes, or a capture has ended. Errors: INVALID_ARGUMENT, INVALID_STATE
 * (nothing captured or built; capturing), NOT_FOUND, PERMISSION, IO, SYSTEM (they name the path),
 * OUT_OF_HOST_MEMORY, IN_CALLBACK. */
ACCEL_API accel_status accel_graph_debug_dump(accel_graph *graph, const char *path);

ACCEL_END_DECLS

#endif /* ACCEL_GRAPH_H */
