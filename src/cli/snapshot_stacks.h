/* snapshot_stacks.h: the call stacks of a snapshot, each held once. Numbers are small and dense, so that
 * sums by stack are arrays. */
#ifndef ACCEL_CLI_SNAPSHOT_STACKS_H
#define ACCEL_CLI_SNAPSHOT_STACKS_H

#include "cli/snapshot_value.h"

typedef struct accel__frame {
    const char *file; /* never NULL; "" or "??" where unknown */
    const char *name;
    int64_t line; /* 0 where unknown */
} accel__frame;

typedef struct accel__stack {
    size_t first; /* of its numbers of frames */
    size_t count;
} accel__stack;

typedef struct accel__stacks {
    accel__frame *frames;
    uint32_t frame_count;
    uint32_t *frame_slots; /* open addressing; 0: free, else number + 1 */
    size_t frame_slot_count;
    accel__stack *stacks; /* number 0 is the empty one */
    uint32_t stack_count;
    uint32_t *stack_slots;
    size_t stack_slot_count;
    uint32_t *numbers; /* of the frames of all stacks */
    size_t number_count;
    size_t frame_capacity;
    size_t stack_capacity;
    size_t number_capacity;
} accel__stacks;

/* The number of a frame. The texts are lent. False: memory ran out. */
bool accel__stacks_frame(accel__stacks *stacks, const accel__frame *frame, uint32_t *out_number);

/* The number of a stack of frames, the innermost first; 0 for an empty one. False: memory ran out. */
bool accel__stacks_stack(accel__stacks *stacks, const uint32_t *frames, size_t count,
                         uint32_t *out_number);

/* The frame at `index` of a stack. */
const accel__frame *accel__stacks_at(const accel__stacks *stacks, uint32_t stack, size_t index);

void accel__stacks_release(accel__stacks *stacks);

#endif
