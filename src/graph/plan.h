/* plan.h: the nodes of a graph: what each does and what it depends on. Plans are made by captures
 * (capture.c) and by accel_graph_add_… (build.c); instantiate.c makes what is replayed from them.
 *
 * What a node does is a payload: counted and constant, so that a plan can be copied into another one as
 * a child, and a node be given another payload while an executable still has the old one. A plan
 * belongs to its graph, capture or payload, whose lock guards it. */
#ifndef ACCEL_GRAPH_PLAN_H
#define ACCEL_GRAPH_PLAN_H

#include <accel/graph.h>

#include "core/copy.h"
#include "core/module.h"
#include "platform/mutex.h"

typedef struct accel__plan accel__plan;

typedef struct accel__fill {
    void *destination;
    size_t size;
    size_t pattern_size;
    unsigned char pattern[8];
} accel__fill;

typedef struct accel__payload {
    _Atomic(uint32_t) references;
    accel_graph_node_kind kind;
    union {
        struct {
            accel_kernel *kernel; /* its module is counted */
            accel_launch_shape shape;
            uint32_t arg_count;
            accel_kernel_arg *args; /* behind this structure, as are the values */
        } launch;
        accel__captured_copy copy;
        accel__fill fill;
        struct {
            accel_stream_callback call;
            void *user;
        } callback;
        accel_event *event; /* counted */
        accel__plan *child; /* owned */
    };
} accel__payload;

typedef struct accel__node {
    accel__payload *payload; /* counted */
    uint32_t level;
    uint32_t dependency_count;
    size_t dependency_begin; /* in the plan's `dependencies` */
} accel__node;

/* The stream that something was replayed on last. */
typedef struct accel__last_replay {
    accel_stream *stream; /* counted; NULL: none yet */
    uint32_t generation;  /* of the process that did */
} accel__last_replay;

/* A part of another layer, as plans and copies of plans share it. */
typedef struct accel__shared_part {
    _Atomic(uint32_t) references;
    accel__capture_part *part;
    accel__mutex mutex;      /* held while a replay that has the part is queued; guards: */
    accel__last_replay last; /* of any graph that has the part */
} accel__shared_part;

/* What walks a graph with its children needs stack for each depth, and memory for each node. */
enum { ACCEL__PLAN_MAX_DEPTH = 64, ACCEL__PLAN_MAX_NODES = 1 << 26 };

struct accel__plan {
    uint32_t flat_count; /* nodes, those of children at any depth instead of their own node */
    uint32_t depth;      /* of children in children; 0: there is none */
    accel__node *nodes;
    size_t count;
    size_t capacity;
    uint32_t *dependencies;
    size_t dependency_count;
    size_t dependency_capacity;
    accel__shared_part **parts; /* in the order in which they came */
    size_t part_count;
    size_t part_capacity;
    struct accel_memory_pool *pool; /* counted; NULL: none yet */
};

/* ---- payloads: one reference; NULL: no memory (nothing is recorded) ---- */

accel__payload *accel__payload_make(accel_graph_node_kind kind);
accel__payload *accel__payload_of_launch(accel_kernel *kernel, const accel_launch_shape *shape,
                                         const accel_kernel_arg *args, uint32_t arg_count);
accel__payload *accel__payload_of_copy(const accel__captured_copy *copy);
accel__payload *accel__payload_of_fill(void *destination, const void *pattern, size_t pattern_size,
                                       size_t size);
accel__payload *accel__payload_of_callback(accel_stream_callback call, void *user);
accel__payload *accel__payload_of_event(accel_graph_node_kind kind, accel_event *event);
/* A copy of the plan as it is. */
accel__payload *accel__payload_of_child(const accel__plan *plan);

accel__payload *accel__payload_retain(accel__payload *payload);
void accel__payload_release(accel__payload *payload); /* NULL is allowed */

/* ---- plans ---- */

/* Adds a node, which takes over the caller's count of the payload; the dependencies are numbers of
 * nodes. False: no memory (or `payload` NULL); nothing changed, and the payload is released. */
bool accel__plan_add(accel__plan *plan, accel__payload *payload, const uint32_t *dependencies,
                     uint32_t dependency_count, uint32_t *out_node);

/* parts.c: the plan takes the part over. False: no memory; it did not. */
bool accel__plan_add_part(accel__plan *plan, accel__capture_part *part);
bool accel__plan_copy_parts(accel__plan *copy, const accel__plan *plan);
void accel__plan_release_parts(accel__plan *plan);

/* Moves all of it; *to was empty, *from is. */
void accel__plan_move(accel__plan *to, accel__plan *from);

/* Empties it: what it holds is released. */
void accel__plan_clear(accel__plan *plan);

/* Whether one more node with that payload keeps within both limits. `instead` (may be NULL) goes. */
bool accel__plan_has_room(const accel__plan *plan, const accel__payload *payload,
                          const accel__payload *instead);

/* Gives the node the payload, for which there is room and which is taken over; the one before is the
 * caller's. */
accel__payload *accel__plan_replace(accel__plan *plan, uint32_t node, accel__payload *payload);

static inline const uint32_t *accel__node_dependencies(const accel__plan *plan,
                                                       const accel__node *node)
{
    return plan->dependencies + node->dependency_begin;
}

#endif
