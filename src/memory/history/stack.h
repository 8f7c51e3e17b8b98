/* stack.h: the calling thread's stack as a number. Equal stacks have equal numbers, and a number
 * stands for its stack as long as the process lives, in its forked children too. Called by
 * history.c; snapshots and leak reports read. */
#ifndef ACCEL_MEMORY_HISTORY_STACK_H
#define ACCEL_MEMORY_HISTORY_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum accel__unwinder {
    ACCEL__UNWINDER_FRAME_POINTERS = 0,
    ACCEL__UNWINDER_TABLES = 1
} accel__unwinder;

/* What must be known before the first catch: where libaccel's own code lies. Forgets what the tables of
 * libraries said that may be gone since. Without locks held. */
void accel__stack_prepare(accel__unwinder unwinder);

/* The innermost frames outside of libaccel, `max_frames` at most (up to
 * ACCEL_MEMORY_HISTORY_FRAMES_MAX). 0: none, or no host memory to keep a new stack. */
uint32_t accel__stack_catch(accel__unwinder unwinder, unsigned max_frames);

/* The return addresses of a stack, innermost first. 0 frames for the number 0. */
size_t accel__stack_frames(uint32_t number, const uintptr_t **out_frames);

/* Keeps a stack that was caught otherwise: tests. */
uint32_t accel__stack_keep(const uintptr_t *frames, size_t count);

#endif
