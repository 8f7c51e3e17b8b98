/* history.h: what the allocators tell the memory history, and where its entries are read.
 *
 * Off (the default), the history costs one relaxed load of accel__history_is_on() where something
 * happens. On, each event takes its time, catches the stack where the options ask for it, and goes
 * into the device's ring under the ring's mutex, which is a leaf: no note calls a driver, a user's
 * function or another part of accel while it is held, so notes may be made under a heap's lock.
 * They had better not be, where that is easy: with unwinding by tables older C libraries take the
 * loader's lock.
 *
 * Order matters: an address must be noted as freed before another thread can be handed it, and as
 * allocated before the caller is; segments likewise.
 *
 * A forked child has no history: the word below is the parent's there and the first note finds that
 * out. */
#ifndef ACCEL_MEMORY_HISTORY_HISTORY_H
#define ACCEL_MEMORY_HISTORY_HISTORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct accel__block;
struct accel__device;

typedef enum accel__history_action {
    ACCEL__HISTORY_ALLOC,          /* size: as asked */
    ACCEL__HISTORY_FREE_REQUESTED, /* size: as asked */
    ACCEL__HISTORY_FREE_COMPLETED, /* size: as asked */
    ACCEL__HISTORY_SEGMENT_ALLOC,  /* size: of the segment */
    ACCEL__HISTORY_SEGMENT_FREE,
    ACCEL__HISTORY_SEGMENT_MAP, /* address and size: of the part that was mapped */
    ACCEL__HISTORY_SEGMENT_UNMAP,
    ACCEL__HISTORY_OOM, /* address: bytes free on the device; size: rounded, as it was looked for */
    ACCEL__HISTORY_SNAPSHOT, /* made by the snapshot itself */
    ACCEL__HISTORY_ACTIONS
} accel__history_action;

/* 0: off. Else the options and the number of the period: history.c's. */
extern _Atomic(uint64_t) accel__history_word;

static inline bool accel__history_is_on(void)
{
    return __builtin_expect(atomic_load_explicit(&accel__history_word, memory_order_relaxed) != 0,
                            false);
}

/* ---- notes: only where accel__history_is_on ---- */

/* The block is about to be handed out: its begin, size, device, home stream and segment are set.
 * Sets block->history to the number of the stack, 0 for none. (Where history is off the caller sets
 * it to 0.) */
void accel__history_allocated(struct accel__block *block);

/* A free was asked for; with `is_complete` it is also complete (FREE_REQUESTED and FREE_COMPLETED
 * with one time and stack). Before anybody else can take the block. */
void accel__history_freed(struct accel__block *block, bool is_complete);

/* The streams have passed a block whose free was noted without `is_complete`. */
void accel__history_completed(struct accel__block *block);

/* SEGMENT_… and OOM. `stream`: the id of the stream it is for; `pool`: the pair that names the
 * pool, {0, 0} for the default. Returns the number of the stack, 0 for none: what a segment keeps.
 * */
uint32_t accel__history_segment(accel__history_action action, const struct accel__device *device,
                                uintptr_t address, size_t size, uint64_t stream,
                                const uint64_t pool[2]);

/* ---- reading ---- */

typedef struct accel__history_entry {
    uint64_t address;
    uint64_t size;
    uint64_t stream;
    uint64_t
        time; /* what is read is in nanoseconds since 1970; never less than that of the entry before */
    uint64_t pool[2];
    uint32_t stack; /* its number; 0: none */
    uint32_t action;
} accel__history_entry;

typedef struct accel__history_trace {
    accel__history_entry *entries; /* the caller's to deallocate; oldest first */
    size_t count;
    uint64_t total; /* events of this period */
    uint64_t lost;  /* of those: pushed out by newer ones, or no host memory was there for them */
} accel__history_trace;

/* The events of the device in this period; none where the history is off. False: no host memory. */
bool accel__history_read(const struct accel__device *device, accel__history_trace *out_trace);

/* Whether the device has had events in this period. */
bool accel__history_has(const struct accel__device *device);

#endif
