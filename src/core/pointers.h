/* pointers.h: from any address, also into the middle of a block, to the block that it lies in.
 *
 * Allocators enter every block that exists, free ones too, so that handing a block out and taking it back
 * changes a word of the block and nothing here. Readers take no lock. A range's memory must stay a range
 * for as long as the process lives (allocators keep them in slabs that they never give back): a reader may
 * still look at one that was just taken out. */
#ifndef ACCEL_CORE_POINTERS_H
#define ACCEL_CORE_POINTERS_H

#include <accel/memory.h>

#include "core/device.h"

typedef enum accel__range_state {
    ACCEL__RANGE_FREE = 0,
    ACCEL__RANGE_CACHED = 1,  /* free, and some thread has it at hand */
    ACCEL__RANGE_LIVE = 2,    /* handed out: the only ones that accel__pointers_find tells of */
    ACCEL__RANGE_PENDING = 3, /* given back, and some stream may still use it */
    ACCEL__RANGE_STATES = 3,  /* the bits of the above */
    /* With LIVE: nothing is to be done at its end but to keep the block at hand (memory/at_hand.h). */
    ACCEL__RANGE_AT_HAND = 4
} accel__range_state;

/* Whose a range is: what it is embedded in, and who takes it back. */
typedef enum accel__range_owner {
    ACCEL__RANGE_OF_BLOCK = 0,   /* memory/heap/block.h: a piece of a heap's segment */
    ACCEL__RANGE_OF_HOST = 1,    /* memory/host/host.h: pinned memory */
    ACCEL__RANGE_OF_FOREIGN = 2, /* memory/foreign.h: memory that something else allocated */
    ACCEL__RANGE_OF_GUARD = 3 /* memory/debug.h: what lies between canaries inside of another one */
} accel__range_owner;

/* One block, embedded in its allocator's own structure. The fields are atomic because readers take no
 * lock: accesses that say nothing else are relaxed ones by the functions below. `begin` stays while the
 * range is entered. */
typedef struct accel__range {
    _Atomic(uintptr_t) begin;
    _Atomic(size_t) size; /* as asked for; means something while the range is live */
    _Atomic(accel__device *) device;
    _Atomic(accel_stream *) home;
    _Atomic(uint32_t) state; /* accel__range_state: ask accel__range_state_of */
    _Atomic(uint16_t) kind;  /* accel_memory_kind */
    _Atomic(uint16_t) owner; /* accel__range_owner; stays while the range is entered */
    _Atomic(struct accel__range *) next[2]; /* in chains of the table: pointers.c's */
} accel__range;

static inline uintptr_t accel__range_begin(const accel__range *range)
{
    return atomic_load_explicit(&range->begin, memory_order_relaxed);
}

static inline size_t accel__range_size(const accel__range *range)
{
    return atomic_load_explicit(&range->size, memory_order_relaxed);
}

static inline accel__device *accel__range_device(const accel__range *range)
{
    return atomic_load_explicit(&range->device, memory_order_relaxed);
}

static inline accel_stream *accel__range_home(const accel__range *range)
{
    return atomic_load_explicit(&range->home, memory_order_relaxed);
}

static inline uint32_t accel__range_owner_of(const accel__range *range)
{
    return atomic_load_explicit(&range->owner, memory_order_relaxed);
}

static inline uint32_t accel__range_state_of(const accel__range *range)
{
    return atomic_load_explicit(&range->state, memory_order_acquire) & ACCEL__RANGE_STATES;
}

/* What an allocator says of a range before it enters it, or hands it out. The state comes last. */
static inline void accel__range_set(accel__range *range, accel__device *device,
                                    accel_memory_kind kind, accel_stream *home)
{
    atomic_store_explicit(&range->device, device, memory_order_relaxed);
    atomic_store_explicit(&range->kind, (uint16_t)kind, memory_order_relaxed);
    atomic_store_explicit(&range->home, home, memory_order_relaxed);
}

static inline void accel__range_set_begin(accel__range *range, uintptr_t begin)
{
    atomic_store_explicit(&range->begin, begin, memory_order_relaxed);
}

static inline void accel__range_set_size(accel__range *range, size_t size)
{
    atomic_store_explicit(&range->size, size, memory_order_relaxed);
}

static inline void accel__range_set_owner(accel__range *range, accel__range_owner owner)
{
    atomic_store_explicit(&range->owner, (uint16_t)owner, memory_order_relaxed);
}

static inline void accel__range_set_state(accel__range *range, accel__range_state state)
{
    atomic_store_explicit(&range->state, (uint32_t)state, memory_order_release);
}

/* OK, or, without a record of it: OUT_OF_HOST_MEMORY; INVALID_ARGUMENT where a range begins at that
 * address already, or where the address lies beyond 2^48. */
accel_status accel__pointers_enter(accel__range *range) __attribute__((warn_unused_result));

/* Takes an entered range out. */
void accel__pointers_leave(accel__range *range);

/* The range that begins at `begin`, in whatever state; NULL: there is none. */
accel__range *accel__pointers_at(const void *begin);

/* The live range around `pointer`; NULL: there is none. */
accel__range *accel__pointers_around(const void *pointer);

/* The range, in whatever state, that begins last at or before `pointer`; NULL: there is none. */
accel__range *accel__pointers_before(const void *pointer);

/* What is known of a live range. */
typedef struct accel__pointed {
    uintptr_t begin;
    size_t size;
    accel_memory_kind kind;
    accel__device *device;
    accel_stream *home;
} accel__pointed;

/* The same as facts. False: nothing is known. The allocation may be freed by another thread at any
 * moment; the facts are then those of before. */
bool accel__pointers_find(const void *pointer, accel__pointed *out_facts);

#endif
