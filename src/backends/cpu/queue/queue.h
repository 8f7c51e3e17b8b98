/* queue.h: the queue behind a stream: a bounded ring of operations that any thread fills and one
 * executor at a time empties.
 *
 * Positions count operations for ever, from 1. `state` holds the next free position and whether the queue is
 * active; a slot is ready once its sequence is its position + 1; `completed` is the first position
 * that has not passed. A mark "position p" has passed when completed >= p.
 *
 * Attendance: an active queue always has at least one attendant who will look at it again and who
 * holds a reference: an entry in the run queue, a worker, the holder of the claim when HANDOVER is set,
 * or, while it is suspended, the waiter in the queue it waits for. Whoever makes it inactive needs the
 * claim, and `state` proves that it is empty; whoever queues on an inactive queue schedules it.
 *
 * Fork: a queue belongs to the generation that made it. In a child it is frozen: marks below
 * `completed` have passed, the others are lost. Streams make themselves a new queue at the first touch.
 * The memory of a queue is never given back, only used again, so that a reader with a stale pointer
 * (event.c) reads something harmless.
 */
#ifndef ACCEL_BACKENDS_CPU_QUEUE_QUEUE_H
#define ACCEL_BACKENDS_CPU_QUEUE_QUEUE_H

#include <accel/backend.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backends/cpu/module/module.h"
#include "backends/cpu/queue/retire.h"
#include "platform/mutex.h"

enum {
    ACCEL__CPU_CAPACITY = 1024,       /* operations; a power of two */
    ACCEL__CPU_AHEAD = 12,            /* operations */
    ACCEL__CPU_INLINE_ARGUMENTS = 64, /* bytes */
    ACCEL__CPU_ERROR_TEXT = 160
};

typedef enum accel__cpu_op {
    ACCEL__CPU_OP_LAUNCH = 1,
    ACCEL__CPU_OP_COPY,
    ACCEL__CPU_OP_FILL,
    ACCEL__CPU_OP_WAIT,  /* for a mark in another queue */
    ACCEL__CPU_OP_STAMP, /* the time of an event */
    ACCEL__CPU_OP_CALL,
    ACCEL__CPU_OP_SCHEDULE /* a row of launches, copies and fills: schedule.h */
} accel__cpu_op;

typedef struct accel__cpu_queue accel__cpu_queue;

typedef struct accel__cpu_launch_op {
    accel__cpu_native_function *function;
    uint64_t grid[3];
    uint32_t block[3];
} accel__cpu_launch_op;

typedef struct accel__cpu_copy_op {
    void *destination;
    const void *source;
    size_t destination_pitch;
    size_t source_pitch;
    size_t width;
    size_t height;
} accel__cpu_copy_op;

typedef struct accel__cpu_fill_op {
    void *destination;
    size_t size;
    size_t pattern_size;
    unsigned char pattern[8];
} accel__cpu_fill_op;

typedef struct accel__cpu_wait_op {
    accel__cpu_queue *source; /* counted */
    uint64_t position;
} accel__cpu_wait_op;

typedef struct accel__cpu_stamp_op {
    accel_native_event *event; /* counted */
} accel__cpu_stamp_op;

typedef struct accel__cpu_call_op {
    void (*call)(accel_status status, void *user);
    void *user;
} accel__cpu_call_op;

typedef struct accel__cpu_schedule_op {
    accel_native_schedule *schedule; /* counted */
} accel__cpu_schedule_op;

/* Two cache lines; the second only where a launch has arguments. */
typedef struct accel__cpu_slot {
    _Alignas(64) _Atomic(uint64_t) sequence;
    uint32_t op;
    uint32_t has_block; /* the arguments are in a block of their own, whose address is in `block` */
    union {
        accel__cpu_launch_op launch;
        accel__cpu_copy_op copy;
        accel__cpu_fill_op fill;
        accel__cpu_wait_op wait;
        accel__cpu_stamp_op stamp;
        accel__cpu_call_op call;
        accel__cpu_schedule_op schedule;
    };
    union {
        _Alignas(64) unsigned char arguments[ACCEL__CPU_INLINE_ARGUMENTS];
        void *block;
    };
} accel__cpu_slot;

enum {
    ACCEL__CPU_CLAIM_FREE = 0,
    ACCEL__CPU_CLAIM_HELD = 1,
    ACCEL__CPU_CLAIM_HANDOVER = 2, /* with HELD: the holder is also the attendant */
    ACCEL__CPU_CLAIM_SUSPENDED = 4,
    ACCEL__CPU_CLAIM_WANTED = 8 /* with HELD: a caller would go on with it; a worker gives way */
};

struct accel__cpu_queue {
    /* Read by everybody, written rarely. */
    _Alignas(64) _Atomic(uint64_t) health; /* generation, and << 32 the failure that sticks */
    uint64_t failed_position; /* of the operation that failed: marks behind it report it */
    int32_t level;            /* of priority: 0 is the highest */
    accel__cpu_slot *slots;
    accel_native_device *device; /* counted */
    uint64_t serial;             /* order of creation on the device */
    _Atomic(uint32_t) references;

    /* Written by those who queue. */
    _Alignas(64) _Atomic(uint64_t) state; /* next position << 1 | active */
    _Atomic(uint64_t) room;               /* positions below this one are known to be free */
    _Atomic(uint32_t) deferred;           /* it waits for a worker that dozes: pool.h */

    /* Written by the executor. */
    _Alignas(64) _Atomic(uint64_t) completed;
    _Atomic(uint64_t) next_wake; /* the least position in `waiters`; UINT64_MAX for none */
    _Atomic(uint32_t) claim;
    _Atomic(uint32_t) helpers; /* how many of `waiters` would help */

    _Alignas(64) accel__mutex mutex; /* guards `waiters` and next_wake; taken last */
    accel__cpu_waiter *waiters;
    accel__cpu_waiter suspension; /* this queue's own place in the list of the one it waits for */

    /* Guarded by the pool's mutex. */
    accel__cpu_queue *run_next;
    bool is_in_run_queue;

    /* Guarded by the device's mutex. */
    accel__cpu_queue *device_next;
    accel__cpu_queue *device_previous;

    accel__cpu_queue *free_next;
    char error_text[ACCEL__CPU_ERROR_TEXT];
};

/* A new queue with one reference, or NULL: no memory. */
accel__cpu_queue *accel__cpu_queue_create(accel_native_device *device, int32_t priority);
void accel__cpu_queue_unreference(accel__cpu_queue *queue);

static inline void accel__cpu_queue_reference(accel__cpu_queue *queue)
{
    atomic_fetch_add_explicit(&queue->references, 1, memory_order_relaxed);
}

static inline uint32_t accel__cpu_queue_generation(const accel__cpu_queue *queue)
{
    return (uint32_t)atomic_load_explicit(&queue->health, memory_order_relaxed);
}

/* The failure that sticks; its text and position are there to be read then. */
static inline accel_status accel__cpu_queue_status(const accel__cpu_queue *queue)
{
    return (accel_status)(atomic_load_explicit(&queue->health, memory_order_acquire) >> 32);
}

static inline bool accel__cpu_queue_is_own(const accel__cpu_queue *queue)
{
    return accel__cpu_queue_generation(queue) == accel__generation();
}

/* Of this process and without a failure, in one comparison (a generation not known yet is 0, which no
 * queue has). */
static inline bool accel__cpu_queue_is_sound(const accel__cpu_queue *queue)
{
    return atomic_load_explicit(&queue->health, memory_order_relaxed) == accel__generation_known();
}

/* False where the last reference is gone. */
bool accel__cpu_queue_try_reference(accel__cpu_queue *queue);

/* Makes a failure of the operation at `position` stick, if none does yet. Claim held. */
void accel__cpu_queue_fail(accel__cpu_queue *queue, uint64_t position, accel_status status,
                           const char *text);

/* Records and returns the failure that sticks. */
accel_status accel__cpu_queue_failure(const accel__cpu_queue *queue, const char *function);

static inline bool accel__cpu_queue_passed(accel__cpu_queue *queue, uint64_t position)
{
    return atomic_load_explicit(&queue->completed, memory_order_acquire) >= position;
}

static inline uint64_t accel__cpu_queue_tail(accel__cpu_queue *queue)
{
    return atomic_load_explicit(&queue->state, memory_order_relaxed) >> 1;
}

/* ---- queueing ---- */

/* Takes a place in a queue of this process: fill the slot, then publish it; nothing may fail in between.
 * The ticket is the state before. Waits where the ring is full. Errors: the failure that sticks; SYSTEM
 * and OUT_OF_HOST_MEMORY where no worker can be started. */
accel_status accel__cpu_queue_reserve(accel__cpu_queue *queue, const char *function,
                                      uint64_t *out_ticket);

/* The same where all is well: the queue is sound, active, and not full. */
static inline bool accel__cpu_queue_try_reserve(accel__cpu_queue *queue, uint64_t *out_ticket)
{
    uint64_t state = atomic_load_explicit(&queue->state, memory_order_relaxed);
    *out_ticket = state;
    return accel__cpu_queue_is_sound(queue) && (state & 1) != 0 &&
           state >> 1 < atomic_load_explicit(&queue->room, memory_order_acquire) &&
           atomic_compare_exchange_strong_explicit(&queue->state, &state, state + 2,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

/* Where a position lies. Neighbours in time are strewn over the ring: at any constant distance the
 * executor's processor would fetch, on its own, slots that are being written, and take them away from
 * those who queue. (Two bijections of ten bits.) */
static inline accel__cpu_slot *accel__cpu_queue_slot(accel__cpu_queue *queue, uint64_t position)
{
    const uint64_t index = position * 693 & (ACCEL__CPU_CAPACITY - 1);
    return &queue->slots[index ^ index >> 5];
}

/* Has the slot of a later operation ready for writing: its way from the executor's cache takes longer
 * than queueing one does. */
static inline void accel__cpu_queue_fetch_ahead(accel__cpu_queue *queue, uint64_t position)
{
    const void *line = accel__cpu_queue_slot(queue, position + ACCEL__CPU_AHEAD);
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0"
                     :
                     : "m"(*(const char *)line)); /* the compiler's would only read */
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Whether an operation takes so long that somebody is woken for it (workers/execute.c). */
bool accel__cpu_takes_long(const accel__cpu_slot *slot);

/* Publishing where somebody must be told: the queue was inactive, or waits for a worker that dozes. */
__attribute__((cold)) void accel__cpu_queue_publish_slow(accel__cpu_queue *queue, uint64_t ticket);

static inline void accel__cpu_queue_publish(accel__cpu_queue *queue, uint64_t ticket)
{
    const uint64_t position = ticket >> 1;
    if (__builtin_expect((ticket & 1) == 0 ||
                             atomic_load_explicit(&queue->deferred, memory_order_relaxed) != 0,
                         0)) {
        accel__cpu_queue_publish_slow(queue, ticket);
        return;
    }
    atomic_store_explicit(&accel__cpu_queue_slot(queue, position)->sequence, position + 1,
                          memory_order_release);
    accel__cpu_queue_fetch_ahead(queue, position);
}

/* Somebody asks for the queue's progress: it shall not wait for a worker that dozes. */
void accel__cpu_queue_hurry(accel__cpu_queue *queue);

/* ---- executing ---- */

static inline bool accel__cpu_queue_try_claim(accel__cpu_queue *queue)
{
    uint32_t expected = ACCEL__CPU_CLAIM_FREE;
    return atomic_load_explicit(&queue->claim, memory_order_relaxed) == expected &&
           atomic_compare_exchange_strong_explicit(&queue->claim, &expected, ACCEL__CPU_CLAIM_HELD,
                                                   memory_order_acquire, memory_order_relaxed);
}

/* Asks the worker that holds the claim to let it go between two operations. */
void accel__cpu_queue_want(accel__cpu_queue *queue);

/* Gives the claim back, and looks after the queue where that was handed over in the meantime. */
void accel__cpu_queue_unclaim(accel__cpu_queue *queue);

/* Ends the caller's attendance, and with it its reference. False: it stays, because there is work that
 * nobody does. */
bool accel__cpu_queue_leave(accel__cpu_queue *queue);

/* ---- waiting ---- */

/* Has `waiter` told when `position` has passed. False: it has already (waiter unused). One that
 * `helps` is told, and not added, also where the queue is there to be claimed. */
bool accel__cpu_queue_add_waiter(accel__cpu_queue *queue, accel__cpu_waiter *waiter,
                                 uint64_t position);

/* Suspends `queue`, whose claim the caller holds, until `position` of `source` has passed; the claim is
 * gone then. False: it has passed, nothing changed. */
bool accel__cpu_queue_suspend(accel__cpu_queue *queue, accel__cpu_queue *source, uint64_t position);

/* Wakes callers that would help: the claim was let go of with work left, or a job is there to join. */
void accel__cpu_queue_call_helpers(accel__cpu_queue *queue);

/* Tells the waiters that have passed. */
void accel__cpu_queue_notify(accel__cpu_queue *queue);

/* Waits until `position` has passed. With `help` the caller executes what is before it. False: the
 * process was forked meanwhile, in a callback. */
bool accel__cpu_queue_wait(accel__cpu_queue *queue, uint64_t position, bool help);

#endif
