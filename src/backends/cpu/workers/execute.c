/* execute.c: see execute.h. */
#include "backends/cpu/workers/execute.h"

#include "backends/cpu/queue/schedule.h"
#include "backends/cpu/workers/job.h"
#include "backends/cpu/workers/pool.h"
#include "base/allocate.h"

enum {
    LONG_NS = 30000, /* worth waking somebody */
    TINY_NS = 500,   /* better taken over by who waits for it, whatever the caches hold */
    BYTES_PER_NS = 16,
    ROW = 32,     /* operations */
    STAGGER = 192 /* bytes between the arenas' places in a page */
};

/* ---- memory for kernels ---- */

static accel__mutex arena_mutex; /* guards the list, which is in order at each instant */
static _Atomic(accel__cpu_arena *) arena_first;
static _Atomic(uint32_t) arena_count;

static accel__cpu_arena *take_arena(void)
{
    accel__mutex_lock(&arena_mutex);
    accel__cpu_arena *arena = atomic_load(&arena_first);
    if (arena != NULL)
        atomic_store(&arena_first, arena->next);
    accel__mutex_unlock(&arena_mutex);
    if (arena == NULL) {
        arena = accel__allocate(sizeof *arena);
        if (arena != NULL)
            arena->stagger = atomic_fetch_add(&arena_count, 1) % 16 * STAGGER;
    }
    return arena;
}

unsigned char *accel__cpu_executor_memory(accel__cpu_executor *executor, size_t size)
{
    if (executor->arena == NULL)
        executor->arena = take_arena();
    accel__cpu_arena *arena = executor->arena;
    if (arena == NULL)
        return NULL;
    if (arena->size < size) {
        accel__deallocate(arena->base);
        arena->base = accel__allocate_aligned(size + arena->stagger, 4096);
        arena->size = arena->base != NULL ? size : 0;
    }
    return arena->base != NULL ? arena->base + arena->stagger : NULL;
}

void accel__cpu_executor_end(accel__cpu_executor *executor)
{
    accel__cpu_arena *arena = executor->arena;
    if (arena == NULL)
        return;
    executor->arena = NULL;
    accel__mutex_lock(&arena_mutex);
    arena->next = atomic_load(&arena_first);
    atomic_store(&arena_first, arena);
    accel__mutex_unlock(&arena_mutex);
}

void accel__cpu_arenas_free(void)
{
    accel__mutex_lock(&arena_mutex);
    accel__cpu_arena *arena = atomic_exchange(&arena_first, NULL);
    accel__mutex_unlock(&arena_mutex);
    while (arena != NULL) {
        accel__cpu_arena *next = arena->next;
        accel__deallocate(arena->base);
        accel__deallocate(arena);
        arena = next;
    }
}

/* ---- operations ---- */

static uint64_t expected_ticks(const accel__cpu_slot *slot)
{
    switch ((accel__cpu_op)slot->op) {
    case ACCEL__CPU_OP_LAUNCH:
        return accel__cpu_job_expected(&slot->launch);
    case ACCEL__CPU_OP_COPY:
        return accel__cpu_ticks_of_ns(slot->copy.width * slot->copy.height / BYTES_PER_NS);
    case ACCEL__CPU_OP_FILL:
        return accel__cpu_ticks_of_ns(slot->fill.size / BYTES_PER_NS);
    case ACCEL__CPU_OP_CALL:
        return UINT64_MAX;
    case ACCEL__CPU_OP_SCHEDULE:
        return accel__cpu_schedule_expected(slot->schedule.schedule);
    case ACCEL__CPU_OP_WAIT:
    case ACCEL__CPU_OP_STAMP:
        break;
    }
    return 0;
}

bool accel__cpu_takes_long(const accel__cpu_slot *slot)
{
    return expected_ticks(slot) > accel__cpu_ticks_of_ns(LONG_NS);
}

/* Publishes `head` such that no waiter is missed (see insert_waiter in queue.c). */
static void settle(accel__cpu_queue *queue, uint64_t head)
{
    atomic_store(&queue->completed, head);
    if (head >= atomic_load(&queue->next_wake))
        accel__cpu_queue_notify(queue);
}

/* Waits for the mark without a thread. True: the queue is suspended, and out of our hands. */
static bool wait_for_mark(accel__cpu_queue *queue, accel__cpu_slot *slot, uint64_t position)
{
    accel__cpu_queue *source = slot->wait.source;
    if (!accel__cpu_queue_passed(source, slot->wait.position)) {
        settle(queue, position);
        if (accel__cpu_queue_suspend(queue, source, slot->wait.position))
            return true;
    }
    accel__cpu_queue_unreference(source);
    return false;
}

static accel__cpu_drained call_back(accel__cpu_queue *queue, const accel__cpu_slot *slot)
{
    slot->call.call(accel__cpu_queue_status(queue), slot->call.user);
    return accel__cpu_queue_is_own(queue) ? ACCEL__CPU_DRAINED : ACCEL__CPU_FORKED;
}

/* Behind a failure nothing runs but callbacks; what operations hold is let go. */
static accel__cpu_drained skip(accel__cpu_queue *queue, accel__cpu_slot *slot)
{
    switch ((accel__cpu_op)slot->op) {
    case ACCEL__CPU_OP_LAUNCH:
        accel__cpu_launch_release(slot);
        break;
    case ACCEL__CPU_OP_WAIT:
        accel__cpu_queue_unreference(slot->wait.source);
        break;
    case ACCEL__CPU_OP_STAMP:
        accel__cpu_event_unreference(slot->stamp.event);
        break;
    case ACCEL__CPU_OP_CALL:
        return call_back(queue, slot);
    case ACCEL__CPU_OP_SCHEDULE:
        accel__cpu_schedule_unreference(slot->schedule.schedule);
        break;
    case ACCEL__CPU_OP_COPY:
    case ACCEL__CPU_OP_FILL:
        break;
    }
    return ACCEL__CPU_DRAINED;
}

static accel__cpu_drained execute(accel__cpu_executor *executor, accel__cpu_queue *queue,
                                  accel__cpu_slot *slot, uint64_t position, uint64_t expected)
{
    switch ((accel__cpu_op)slot->op) {
    case ACCEL__CPU_OP_LAUNCH:
        accel__cpu_launch_execute(executor, queue, slot, position, expected);
        break;
    case ACCEL__CPU_OP_COPY:
        accel__cpu_copy_execute(executor, queue, &slot->copy);
        break;
    case ACCEL__CPU_OP_FILL:
        accel__cpu_fill_execute(&slot->fill);
        break;
    case ACCEL__CPU_OP_WAIT:
        return wait_for_mark(queue, slot, position) ? ACCEL__CPU_SUSPENDED : ACCEL__CPU_DRAINED;
    case ACCEL__CPU_OP_STAMP:
        accel__cpu_event_stamp(slot->stamp.event, queue, position + 1);
        accel__cpu_event_unreference(slot->stamp.event);
        break;
    case ACCEL__CPU_OP_CALL:
        return call_back(queue, slot);
    case ACCEL__CPU_OP_SCHEDULE:
        accel__cpu_schedule_execute(executor, queue, slot->schedule.schedule, position);
        accel__cpu_schedule_unreference(slot->schedule.schedule);
        break;
    }
    return ACCEL__CPU_DRAINED;
}

/* Something that takes long: waiters are told first, and somebody else looks after other queues. */
static accel__cpu_drained execute_long(accel__cpu_executor *executor, accel__cpu_queue *queue,
                                       accel__cpu_slot *slot, uint64_t position, uint64_t expected)
{
    settle(queue, position);
    if (executor->is_worker)
        accel__cpu_pool_busy();
    const accel__cpu_drained result = execute(executor, queue, slot, position, expected);
    if (executor->is_worker && result != ACCEL__CPU_FORKED)
        accel__cpu_pool_searching();
    return result;
}

static bool is_ready(accel__cpu_queue *queue, uint64_t position)
{
    return atomic_load_explicit(&accel__cpu_queue_slot(queue, position)->sequence,
                                memory_order_acquire) == position + 1;
}

/* In a row: fetches what has been queued behind `position`, and nothing that is being written. */
static void fetch_row(accel__cpu_queue *queue, uint64_t position)
{
    const uint64_t tail = accel__cpu_queue_tail(queue);
    for (uint64_t next = position + 1; next < tail && next <= position + ROW; next++)
        __builtin_prefetch(accel__cpu_queue_slot(queue, next), 0);
}

static bool gives_way(const accel__cpu_executor *executor, accel__cpu_queue *queue)
{
    return executor->is_worker && (atomic_load_explicit(&queue->claim, memory_order_relaxed) &
                                   ACCEL__CPU_CLAIM_WANTED) != 0;
}

accel__cpu_drained accel__cpu_drain(accel__cpu_executor *executor, accel__cpu_queue *queue,
                                    uint64_t limit, uint32_t budget)
{
    const uint64_t start = atomic_load_explicit(&queue->completed, memory_order_relaxed);
    uint64_t head = start;
    while (head < limit && head < start + budget && is_ready(queue, head)) {
        accel__cpu_slot *slot = accel__cpu_queue_slot(queue, head);
        const uint64_t expected = expected_ticks(slot);
        accel__cpu_drained result;
        if (expected > accel__cpu_ticks_of_ns(TINY_NS)) /* it may push the next slot out of reach */
            __builtin_prefetch(accel__cpu_queue_slot(queue, head + 1), 0);
        if (accel__cpu_queue_status(queue) != ACCEL_OK)
            result = skip(queue, slot);
        else if (expected > accel__cpu_ticks_of_ns(LONG_NS))
            result = execute_long(executor, queue, slot, head, expected);
        else
            result = execute(executor, queue, slot, head, expected);
        if (result != ACCEL__CPU_DRAINED)
            return result;
        head++;
        /* All but the last of a row of short operations are published cheaply. */
        atomic_store_explicit(&queue->completed, head, memory_order_release);
        if (head >= atomic_load_explicit(&queue->next_wake, memory_order_relaxed))
            accel__cpu_queue_notify(queue);
        if (gives_way(executor, queue) && expected < accel__cpu_ticks_of_ns(TINY_NS))
            break;
        if ((head - start) % ROW == 1 && is_ready(queue, head))
            fetch_row(queue, head);
    }
    if (head != start)
        settle(queue, head);
    return ACCEL__CPU_DRAINED;
}
