/* graph.h: the graph object, as the files of this folder share it: life.c makes and ends it, capture.c
 * and build.c fill its plan, instantiate.c makes the executable, replay.c queues it, retire.c gives back
 * what replays may still use, dump.c writes it down.
 *
 * The mutex guards all but what is constant. It is taken before a capture's, and both before every lock
 * of the core. Replays are made with it held, so that they are in one order. */
#ifndef ACCEL_GRAPH_GRAPH_H
#define ACCEL_GRAPH_GRAPH_H

#include "graph/plan.h"
#include "platform/mutex.h"

typedef struct accel__executable accel__executable;
typedef struct accel__graph_capture accel__graph_capture;

struct accel_graph {
    accel__handle handle;
    _Atomic(uint32_t) references;
    accel__device *device; /* constant, as are the next two */
    bool keep_graph;
    struct accel_memory_pool *pool; /* what the options gave; counted */

    accel__mutex mutex;
    bool is_captured; /* a capture has ended, or nodes were added: the plan means something */
    bool is_dirty;    /* the plan was changed since the executable was made */
    bool is_verbose;  /* dumps */
    accel__plan plan;
    accel__executable *executable; /* NULL: none yet */
    accel__graph_capture *capture; /* the open one, counted */
    accel__last_replay last;
};

/* INVALID_ARGUMENT for NULL and a released graph; IN_CALLBACK. */
accel_status accel__graph_check(const accel_graph *graph, const char *function);

/* The same, and locks it. */
accel_status accel__graph_lock(accel_graph *graph, const char *function);

/* Unlocks it and hands `status` on. */
accel_status accel__graph_unlock(accel_graph *graph, accel_status status);

/* With the graph locked: INVALID_STATE while it is capturing. */
accel_status accel__graph_check_idle(const accel_graph *graph, const char *function);

/* OUT_OF_RANGE, where the plan has no room for the payload (NULL: there was no memory for it, which is
 * said elsewhere) instead of one it has (may be NULL). */
accel_status accel__graph_check_room(const accel__plan *plan, const accel__payload *payload,
                                     const accel__payload *instead, const char *function);

accel_status accel__graph_no_memory(const accel_graph *graph, const char *function);

/* Checks `stream` (NULL: the current one of the graph's device). */
accel_status accel__graph_stream(const accel_graph *graph, accel_stream *stream,
                                 const char *function, accel_stream **out_stream);

/* ---- capture.c ---- */

/* With the graph locked. Gives an open capture up; what it had so far is the caller's, to be cleared
 * without a lock. */
void accel__graph_abandon(accel_graph *graph, accel__plan *out_plan);

/* With the graph locked: how many nodes the open capture has so far. */
uint32_t accel__graph_captured_count(const accel_graph *graph);

/* Makes the plan a child node of the capture. */
accel_status accel__graph_capture_child(accel__capture *capture, accel_stream *stream,
                                        const accel__plan *plan, const char *function);

/* ---- instantiate.c ---- */

typedef enum accel__item_kind {
    ACCEL__ITEM_SCHEDULE, /* a row of nodes that the backend takes as one */
    ACCEL__ITEM_NODE,
    ACCEL__ITEM_PART
} accel__item_kind;

typedef struct accel__item {
    accel__item_kind kind;
    union {
        accel_native_schedule *schedule;
        const accel__payload *payload; /* counted by the executable */
        struct {
            accel__capture_part *part; /* counted by the plan's payloads and parts below */
            accel__part_taken taken;   /* by the replay that is being queued */
        };
    };
} accel__item;

/* Where a node is: the index of its item, and in that (a schedule) of its step. */
typedef struct accel__spot {
    uint32_t item;
    uint32_t step;
    uint32_t payload; /* index in `payloads` */
} accel__spot;

/* What is replayed: items in an order that keeps every dependency. */
struct accel__executable {
    accel__backend *backend;
    accel__item *items;
    size_t count;
    size_t capacity;
    bool has_waits; /* for events */
    /* All payloads of the plan at its making: they keep kernels, events, children and with them their
     * parts alive. Those of the graph's own plan are kept by it. */
    accel__payload **payloads;
    size_t payload_count;
    size_t payload_capacity;
    accel__spot *spots;         /* where each node of the graph's own plan is */
    accel__shared_part **parts; /* those of it and of children, each once, by address */
    size_t part_count;
    size_t part_capacity;
    struct { /* once it is retired: retire.c's */
        struct accel__executable *next;
        accel__plan plan;
        accel_stream *stream;     /* of the last replay, counted; NULL: there was none */
        accel_native_event *mark; /* behind that; NULL: the stream must be idle */
    } retired;
};

/* With the graph locked. A node has another payload from now on: the executable is changed where that
 * can be done, else made anew by the next replay. */
void accel__executable_update(accel_graph *graph, uint32_t node, const accel__payload *old,
                              accel__payload *payload);

accel_status accel__executable_make(const accel_graph *graph, const char *function,
                                    accel__executable **out_executable);

/* Nothing of it is pending any more. */
void accel__executable_destroy(accel__executable *executable); /* NULL is allowed */

/* ---- parts.c ---- */

/* False: no memory. */
bool accel__executable_add_part(accel__executable *executable, accel__shared_part *shared);

/* Behind the graph's mutex. */
void accel__executable_lock_parts(const accel__executable *executable);
void accel__executable_unlock_parts(const accel__executable *executable);

/* ---- retire.c ---- */

/* Has accel__graph_collect give back the executable, and the plan (which is empty then), when the last
 * replay, on `last`, has passed. `last` NULL: there was none. Takes over the count of it. Never blocks,
 * never fails, and gives back nothing by itself: locks may be held. */
void accel__graph_retire(accel__executable *executable, accel__plan *plan, accel_stream *last);

/* Gives back what has passed; nothing inside a callback. No lock may be held: sources of memory pools are
 * called from here. */
void accel__graph_collect(void);

#endif
