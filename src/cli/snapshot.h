/* snapshot.h: a memory snapshot, as PyTorch's allocator and accel's write it: what segments the
 * allocator held, what blocks they were cut into, and what happened before, if that was recorded. Read
 * from a pickle or from JSON of the same structure, by `accel memory`.
 *
 * Optional keys may be missing; what is there must be of its kind, and an error names the place
 * ("segments[3].blocks[1].size"). */
#ifndef ACCEL_CLI_SNAPSHOT_H
#define ACCEL_CLI_SNAPSHOT_H

#include "cli/report.h"
#include "cli/snapshot_stacks.h"

typedef enum accel__block_state {
    ACCEL__BLOCK_ALLOCATED, /* active_allocated */
    ACCEL__BLOCK_PENDING,   /* active_pending_free, active_awaiting_free */
    ACCEL__BLOCK_INACTIVE   /* inactive */
} accel__block_state;

typedef enum accel__segment_kind {
    ACCEL__SEGMENT_SMALL,
    ACCEL__SEGMENT_LARGE,
    ACCEL__SEGMENT_OTHER
} accel__segment_kind;

typedef struct accel__snapshot_block {
    uint64_t address;
    uint64_t size;      /* bytes */
    uint64_t requested; /* bytes asked for; of an inactive block: last time, or 0 */
    accel__block_state state;
    uint32_t stack; /* 0: none */
} accel__snapshot_block;

typedef struct accel__snapshot_segment {
    int64_t device;
    uint64_t address;
    uint64_t size;
    int64_t stream;
    int64_t pool[2]; /* {0, 0}: the default pool */
    accel__segment_kind kind;
    bool is_expandable;
    uint32_t stack;
    size_t first_block; /* of its blocks, by address */
    size_t block_count;
} accel__snapshot_segment;

typedef enum accel__event_action {
    ACCEL__EVENT_ALLOC,
    ACCEL__EVENT_FREE_REQUESTED,
    ACCEL__EVENT_FREE_COMPLETED,
    ACCEL__EVENT_SEGMENT_ALLOC,
    ACCEL__EVENT_SEGMENT_FREE,
    ACCEL__EVENT_SEGMENT_MAP,
    ACCEL__EVENT_SEGMENT_UNMAP,
    ACCEL__EVENT_OOM,
    ACCEL__EVENT_SNAPSHOT,
    ACCEL__EVENT_OTHER, /* annotate, and what later versions bring */
    ACCEL__EVENT_ACTIONS
} accel__event_action;

typedef struct accel__snapshot_event {
    accel__event_action action;
    uint32_t stack;
    uint64_t address; /* of OOM: bytes free on the device */
    uint64_t size;    /* bytes; of ALLOC and FREE as asked for */
    int64_t stream;
    uint64_t time_us;
    int64_t pool[2];
} accel__snapshot_event;

/* What happened on one device, in order. */
typedef struct accel__snapshot_trace {
    size_t first;
    size_t count;
    uint64_t lost; /* events before these that were not kept; 0 where that is not told */
} accel__snapshot_trace;

typedef struct accel__snapshot_setting {
    const char *key;
    const char *value;
} accel__snapshot_setting;

typedef struct accel__snapshot {
    accel__snapshot_segment *segments;
    size_t segment_count;
    accel__snapshot_block *blocks;
    size_t block_count;
    accel__snapshot_trace *traces; /* one per device, by its index */
    size_t trace_count;
    accel__snapshot_event *events;
    size_t event_count;
    accel__snapshot_setting *settings; /* those with a plain value */
    size_t setting_count;
    const char **device_names; /* "cpu:0", by index; only accel tells them */
    size_t device_name_count;
    accel__stacks stacks;
    accel__value_store store; /* what holds the texts */
} accel__snapshot;

/* Reads bytes of either form. Released in any case. */
bool accel__snapshot_parse(const uint8_t *bytes, size_t size, accel__snapshot *out_snapshot,
                           accel__snapshot_problem *problem);

/* Reads a file, and says what is wrong with it. Released in any case. */
accel__exit accel__snapshot_load(const char *path, accel__snapshot *out_snapshot);

void accel__snapshot_release(accel__snapshot *snapshot);

/* What a device of the snapshot is called: "cpu:0", else its index, written to `text`. */
enum { ACCEL__SNAPSHOT_NAME_MAX = 64 };
const char *accel__snapshot_device(const accel__snapshot *snapshot, int64_t device,
                                   char text[ACCEL__SNAPSHOT_NAME_MAX]);

/* "alloc", "free_requested", …; "other". */
const char *accel__event_action_name(accel__event_action action);

/* ---- between the files of the reader ---- */

/* The value that a JSON text means. */
bool accel__snapshot_read_json(const uint8_t *bytes, size_t size, accel__value_store *store,
                               accel__value **out_value, accel__snapshot_problem *problem);

/* Fills the snapshot from a value in its store. */
bool accel__snapshot_read(accel__value *value, accel__snapshot *snapshot,
                          accel__snapshot_problem *problem);

#endif
