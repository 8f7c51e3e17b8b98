/* queue.c: see queue.h. */
#include "backends/cpu/queue/queue.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "backends/cpu/device.h"
#include "backends/cpu/workers/pool.h"
#include "base/allocate.h"
#include "base/error.h"
#include "platform/calls.h"

enum { SLOTS_SIZE = ACCEL__CPU_CAPACITY * sizeof(accel__cpu_slot) };

/* Queues that nobody has. The list is in order at each instant, so a child can go on with it. */
static accel__mutex free_mutex;
static _Atomic(accel__cpu_queue *) free_first;

/* ---- life ---- */

static accel__cpu_queue *take_memory(void)
{
    accel__mutex_lock(&free_mutex);
    accel__cpu_queue *queue = atomic_load(&free_first);
    if (queue != NULL)
        atomic_store(&free_first, queue->free_next);
    accel__mutex_unlock(&free_mutex);
    return queue != NULL ? queue : accel__allocate_aligned(sizeof *queue, 64);
}

static void give_memory(accel__cpu_queue *queue)
{
    accel__mutex_lock(&free_mutex);
    queue->free_next = atomic_load(&free_first);
    atomic_store(&free_first, queue);
    accel__mutex_unlock(&free_mutex);
}

accel__cpu_queue *accel__cpu_queue_create(accel_native_device *device, int32_t priority)
{
    accel__cpu_queue *queue = take_memory();
    if (queue == NULL)
        return NULL;
    /* Populated: the first round through the ring shall not fault. */
    void *slots = accel__platform.map(NULL, SLOTS_SIZE, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (slots == MAP_FAILED) {
        give_memory(queue);
        return NULL;
    }
    atomic_store(&queue->health, accel__generation());
    queue->level = priority < 0 ? 0 : 1;
    queue->failed_position = 0;
    queue->slots = slots;
    queue->device = device;
    queue->waiters = NULL;
    queue->is_in_run_queue = false;
    atomic_store(&queue->references, 1);
    atomic_store(&queue->state, 1 << 1);
    atomic_store(&queue->room, 1 + ACCEL__CPU_CAPACITY);
    atomic_store(&queue->deferred, 0);
    atomic_store(&queue->completed, 1);
    atomic_store(&queue->next_wake, UINT64_MAX);
    atomic_store(&queue->claim, ACCEL__CPU_CLAIM_FREE);
    atomic_store(&queue->helpers, 0);
    accel__cpu_device_add(device, queue);
    return queue;
}

void accel__cpu_queue_unreference(accel__cpu_queue *queue)
{
    if (atomic_fetch_sub_explicit(&queue->references, 1, memory_order_acq_rel) != 1)
        return;
    accel__cpu_device_remove(queue->device, queue);
    accel__platform.unmap(queue->slots, SLOTS_SIZE);
    give_memory(queue);
}

bool accel__cpu_queue_try_reference(accel__cpu_queue *queue)
{
    uint32_t count = atomic_load_explicit(&queue->references, memory_order_relaxed);
    while (count != 0)
        if (atomic_compare_exchange_weak_explicit(&queue->references, &count, count + 1,
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    return false;
}

/* ---- failure ---- */

void accel__cpu_queue_fail(accel__cpu_queue *queue, uint64_t position, accel_status status,
                           const char *text)
{
    if (accel__cpu_queue_status(queue) != ACCEL_OK)
        return;
    snprintf(queue->error_text, sizeof queue->error_text, "%s", text);
    queue->failed_position = position;
    atomic_store_explicit(&queue->health,
                          accel__cpu_queue_generation(queue) | (uint64_t)status << 32,
                          memory_order_release);
}

accel_status accel__cpu_queue_failure(const accel__cpu_queue *queue, const char *function)
{
    const accel_status status = accel__cpu_queue_status(queue);
    return status == ACCEL_OK ? status
                              : accel__fail(status, "cpu", function, "%s", queue->error_text);
}

/* ---- queueing ---- */

/* Finds out how much of the ring is free; where it is full, waits until a quarter is. */
static void make_room(accel__cpu_queue *queue, uint64_t position)
{
    uint64_t completed = atomic_load_explicit(&queue->completed, memory_order_acquire);
    if (position >= completed + ACCEL__CPU_CAPACITY) {
        completed = position - ACCEL__CPU_CAPACITY + ACCEL__CPU_CAPACITY / 4;
        accel__cpu_queue_wait(queue, completed, false);
    }
    atomic_store_explicit(&queue->room, completed + ACCEL__CPU_CAPACITY, memory_order_release);
}

accel_status accel__cpu_queue_reserve(accel__cpu_queue *queue, const char *function,
                                      uint64_t *out_ticket)
{
    accel_status status = accel__cpu_queue_failure(queue, function);
    uint64_t state = atomic_load_explicit(&queue->state, memory_order_relaxed);
    while (status == ACCEL_OK) {
        if (state >> 1 >= atomic_load_explicit(&queue->room, memory_order_acquire)) {
            make_room(queue, state >> 1);
            state = atomic_load_explicit(&queue->state, memory_order_relaxed);
            continue;
        }
        if ((state & 1) == 0)
            status = accel__cpu_pool_ready(function);
        if (status == ACCEL_OK &&
            atomic_compare_exchange_weak_explicit(&queue->state, &state, (state + 2) | 1,
                                                  memory_order_acq_rel, memory_order_relaxed)) {
            *out_ticket = state;
            break;
        }
    }
    return status;
}

void accel__cpu_queue_publish_slow(accel__cpu_queue *queue, uint64_t ticket)
{
    accel__cpu_slot *slot = accel__cpu_queue_slot(queue, ticket >> 1);
    const bool is_short = !accel__cpu_takes_long(
        slot); /* asked now: the slot is ours no longer then */
    atomic_store_explicit(&slot->sequence, (ticket >> 1) + 1, memory_order_release);
    if ((ticket & 1) != 0 && is_short)
        return;
    accel__cpu_queue_reference(queue);
    accel__cpu_pool_push(queue, is_short);
}

void accel__cpu_queue_hurry(accel__cpu_queue *queue)
{
    if (atomic_load_explicit(&queue->deferred, memory_order_relaxed) == 0)
        return;
    accel__cpu_queue_reference(queue);
    accel__cpu_pool_push(queue, false);
}

/* ---- claim and attendance ---- */

static bool has_work(accel__cpu_queue *queue)
{
    return accel__cpu_queue_tail(queue) !=
           atomic_load_explicit(&queue->completed, memory_order_relaxed);
}

static void tell_waiters(accel__cpu_queue *queue, bool helpers_too);

/* The order of the claim and `helpers` answers that of insert_waiter. */
void accel__cpu_queue_call_helpers(accel__cpu_queue *queue)
{
    if (atomic_load(&queue->helpers) != 0 && has_work(queue))
        tell_waiters(queue, true);
}

/* Claim held. True: nothing is queued, and whoever queues next schedules the queue. */
static bool deactivate(accel__cpu_queue *queue)
{
    uint64_t state = atomic_load_explicit(&queue->completed, memory_order_relaxed) << 1 | 1;
    return atomic_compare_exchange_strong_explicit(&queue->state, &state, state - 1,
                                                   memory_order_acq_rel, memory_order_relaxed) ||
           (state & 1) == 0;
}

void accel__cpu_queue_want(accel__cpu_queue *queue)
{
    uint32_t seen = atomic_load_explicit(&queue->claim, memory_order_relaxed);
    if ((seen & ACCEL__CPU_CLAIM_HELD) != 0 && (seen & ACCEL__CPU_CLAIM_WANTED) == 0)
        atomic_compare_exchange_strong_explicit(&queue->claim, &seen,
                                                seen | ACCEL__CPU_CLAIM_WANTED,
                                                memory_order_relaxed, memory_order_relaxed);
}

void accel__cpu_queue_unclaim(accel__cpu_queue *queue)
{
    bool attends = false; /* by handover, with a reference */
    for (;;) {
        if (attends && deactivate(queue)) {
            accel__cpu_queue_unreference(queue); /* the caller has one of its own */
            attends = false;
        }
        uint32_t expected = ACCEL__CPU_CLAIM_HELD;
        if (atomic_compare_exchange_strong(&queue->claim, &expected, ACCEL__CPU_CLAIM_FREE))
            break;
        const uint32_t seen = atomic_exchange(&queue->claim, ACCEL__CPU_CLAIM_HELD);
        if ((seen & ACCEL__CPU_CLAIM_HANDOVER) == 0)
            continue; /* it was only wanted */
        if (attends)
            accel__cpu_queue_unreference(queue);
        attends = true;
    }
    if (attends)
        accel__cpu_pool_push(queue, true);
    accel__cpu_queue_call_helpers(queue);
}

bool accel__cpu_queue_leave(accel__cpu_queue *queue)
{
    for (;;) {
        uint32_t seen = atomic_load_explicit(&queue->claim, memory_order_relaxed);
        if (seen == ACCEL__CPU_CLAIM_FREE) {
            if (!accel__cpu_queue_try_claim(queue))
                continue;
            const bool is_inactive = deactivate(queue);
            accel__cpu_queue_unclaim(queue);
            if (is_inactive)
                accel__cpu_queue_unreference(queue);
            return is_inactive;
        }
        if ((seen & (ACCEL__CPU_CLAIM_SUSPENDED | ACCEL__CPU_CLAIM_HANDOVER)) != 0) {
            accel__cpu_queue_unreference(queue); /* somebody else attends */
            return true;
        }
        if (atomic_compare_exchange_strong_explicit(&queue->claim, &seen,
                                                    seen | ACCEL__CPU_CLAIM_HANDOVER,
                                                    memory_order_acq_rel, memory_order_relaxed))
            return true;
    }
}

/* ---- waiters ---- */

/* Mutex held. The order of the accesses at the end answers that of accel__cpu_drain: either we see the
 * new `completed` or it sees the new `next_wake`. */
static bool insert_waiter(accel__cpu_queue *queue, accel__cpu_waiter *waiter, uint64_t position)
{
    const uint64_t next_wake = atomic_load_explicit(&queue->next_wake, memory_order_relaxed);
    waiter->position = position;
    waiter->next = queue->waiters;
    queue->waiters = waiter;
    if (waiter->helps)
        atomic_fetch_add(&queue->helpers, 1);
    if (position < next_wake)
        atomic_store(&queue->next_wake, position);
    if (atomic_load(&queue->completed) < position &&
        !(waiter->helps && atomic_load(&queue->claim) == ACCEL__CPU_CLAIM_FREE))
        return true;
    queue->waiters = waiter->next;
    if (waiter->helps)
        atomic_fetch_sub(&queue->helpers, 1);
    atomic_store(&queue->next_wake, next_wake);
    return false;
}

bool accel__cpu_queue_add_waiter(accel__cpu_queue *queue, accel__cpu_waiter *waiter,
                                 uint64_t position)
{
    accel__mutex_lock(&queue->mutex);
    const bool waits = insert_waiter(queue, waiter, position);
    accel__mutex_unlock(&queue->mutex);
    return waits;
}

/* Whether what a suspended queue does next, as far as it is queued, is short. */
static bool next_is_short(accel__cpu_queue *queue)
{
    const uint64_t next = atomic_load_explicit(&queue->completed, memory_order_relaxed) + 1;
    const accel__cpu_slot *slot = accel__cpu_queue_slot(queue, next);
    return atomic_load_explicit(&slot->sequence, memory_order_acquire) != next + 1 ||
           !accel__cpu_takes_long(slot);
}

/* The mark that a suspended queue waits for has passed: its waiter's attendance goes to the pool. */
static void resume(accel__cpu_waiter *waiter)
{
    accel__cpu_queue *queue = (accel__cpu_queue *)((char *)waiter -
                                                   offsetof(accel__cpu_queue, suspension));
    accel__cpu_queue_reference(queue); /* the push gives the waiter's away */
    const bool is_short = next_is_short(queue);
    atomic_store(&queue->claim, ACCEL__CPU_CLAIM_FREE);
    accel__cpu_pool_push(queue, is_short);
    accel__cpu_queue_call_helpers(queue);
    accel__cpu_queue_unreference(queue);
}

bool accel__cpu_queue_suspend(accel__cpu_queue *queue, accel__cpu_queue *source, uint64_t position)
{
    queue->suspension.passed = resume;
    accel__cpu_queue_reference(queue);
    uint32_t claim = ACCEL__CPU_CLAIM_HANDOVER;
    accel__mutex_lock(&source->mutex);
    const bool waits = insert_waiter(source, &queue->suspension, position);
    if (waits)
        claim = atomic_exchange_explicit(&queue->claim, ACCEL__CPU_CLAIM_SUSPENDED,
                                         memory_order_acq_rel);
    accel__mutex_unlock(&source->mutex);
    if ((claim & ACCEL__CPU_CLAIM_HANDOVER) !=
        0) /* two attendances became one, or none is needed */
        accel__cpu_queue_unreference(queue);
    return waits;
}

static void tell_waiters(accel__cpu_queue *queue, bool helpers_too)
{
    accel__cpu_waiter *told = NULL;
    uint64_t next_wake = UINT64_MAX;
    accel__mutex_lock(&queue->mutex);
    const uint64_t completed = atomic_load(&queue->completed);
    for (accel__cpu_waiter **link = &queue->waiters; *link != NULL;) {
        accel__cpu_waiter *waiter = *link;
        if (waiter->position > completed && !(waiter->helps && helpers_too)) {
            next_wake = waiter->position < next_wake ? waiter->position : next_wake;
            link = &waiter->next;
            continue;
        }
        *link = waiter->next;
        waiter->next = told;
        told = waiter;
        if (waiter->helps)
            atomic_fetch_sub(&queue->helpers, 1);
    }
    atomic_store(&queue->next_wake, next_wake);
    accel__mutex_unlock(&queue->mutex);
    while (told != NULL) {
        accel__cpu_waiter *waiter = told;
        told = waiter->next; /* before the call: the waiter may be gone after it */
        waiter->passed(waiter);
    }
}

void accel__cpu_queue_notify(accel__cpu_queue *queue)
{
    tell_waiters(queue, false);
}
