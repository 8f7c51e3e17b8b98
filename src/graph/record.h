/* record.h: an open capture, as record.c, which takes the calls, and capture.c, which begins and ends it,
 * share it. */
#ifndef ACCEL_GRAPH_RECORD_H
#define ACCEL_GRAPH_RECORD_H

#include "graph/graph.h"

/* Nodes without duplicates. */
typedef struct accel__front {
    uint32_t *nodes;
    size_t count;
    size_t capacity;
} accel__front;

typedef struct accel__member {
    accel_stream *stream; /* counted */
    accel__front front;
} accel__member;

typedef struct accel__mark {
    accel_event *event; /* counted */
    accel__front front;
} accel__mark;

struct accel__graph_capture {
    accel__capture head; /* first */
    bool is_relaxed;
    accel_stream *origin; /* the first member's */

    accel__mutex mutex; /* guards what follows */
    bool is_over;
    accel_status failure;     /* ACCEL_OK while it is valid; else … */
    char failed_function[48]; /* … the call that made it invalid, and why */
    char reason[256];
    accel__plan plan;
    accel__member *members;
    size_t member_count;
    size_t member_capacity;
    accel__mark *marks;
    size_t mark_count;
    size_t mark_capacity;
};

static inline const char *accel__capture_backend(const accel__graph_capture *capture)
{
    return capture->head.device->backend->table.name;
}

extern const accel__capture_ops accel__record_ops;

/* With the capture locked, or nobody's. */

/* The stream as a member, counted, with an empty front; NULL: no memory. */
accel__member *accel__record_member(accel__graph_capture *capture, accel_stream *stream);

/* The capture is invalid from now on: records that and why. */
accel_status accel__record_no_memory(accel__graph_capture *capture, const char *function);

/* Records why it is invalid. */
accel_status accel__record_fail_spoilt(const accel__graph_capture *capture, const char *function);

#endif
