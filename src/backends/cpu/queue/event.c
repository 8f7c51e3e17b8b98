/* event.c: an event is a mark: a queue and a position in it. Recording one without timing on the queue
 * that it is on already is one compare-and-swap, asking whether it has passed is four loads.
 *
 * Invariant: (queue, position) is a mark wherever `queue` reads the same before and after `position`.
 * Whoever changes `queue` holds the mutex and has it point to `moving` meanwhile, where nothing passes;
 * each change gives the word another tag, so that it cannot come back to an old value unseen. A reader
 * may look into a queue that was given up a moment ago: queue memory stays queue memory (queue.h). */
#include "backends/cpu/queue/event.h"

#include "backends/cpu/queue/stream.h"
#include "backends/cpu/workers/execute.h"
#include "base/allocate.h"
#include "base/error.h"
#include "platform/clock.h"

struct accel_native_event {
    _Atomic(uint64_t) position;
    _Atomic(uint64_t) queue;   /* (address | is_timed) << 16 | tag; the queue is counted */
    _Atomic(uint64_t) time_ns; /* of a timed mark that has passed */
    accel__mutex mutex; /* for changes of `queue` and all of timing; taken before a queue's */
    bool is_timed;
    _Atomic(uint32_t) references; /* the core's, and one per queued stamp */
};

/* Where events point to that were never recorded (at position 0, which has passed), and those whose queue
 * is being changed (at any other). Never counted. */
static accel__cpu_queue nowhere;
static accel__cpu_queue moving;

static accel__cpu_queue *queue_of(uint64_t word)
{
    return (accel__cpu_queue *)(uintptr_t)(word >> 17 << 1);
}

static uint64_t word_of(const accel_native_event *event, const accel__cpu_queue *queue,
                        uint64_t previous)
{
    return ((uint64_t)(uintptr_t)queue | event->is_timed) << 16 | ((previous + 1) & 0xffff);
}

/* Whether an untimed event's mark is in the queue: one comparison for both. */
static bool is_untimed_in(uint64_t word, const accel__cpu_queue *queue)
{
    return word >> 16 == (uint64_t)(uintptr_t)queue;
}

static bool is_counted(const accel__cpu_queue *queue)
{
    return queue != &nowhere && queue != &moving;
}

static accel_status forked(const char *function)
{
    return accel__fail(ACCEL_ERROR_FORKED, "cpu", function,
                       "the event was pending when the process forked: record it again");
}

accel_status accel__cpu_event_create(accel_native_device *device, bool timing,
                                     accel_native_event **out_event)
{
    (void)device;
    accel_native_event *event = accel__allocate(sizeof *event);
    *out_event = event;
    if (event == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "cpu", "accel_event_record",
                           "no memory for an event");
    event->is_timed = timing;
    atomic_store(&event->references, 1);
    atomic_store(&event->queue, word_of(event, &nowhere, 0));
    return ACCEL_OK;
}

void accel__cpu_event_unreference(accel_native_event *event)
{
    if (atomic_fetch_sub_explicit(&event->references, 1, memory_order_acq_rel) != 1)
        return;
    accel__cpu_queue *queue = queue_of(atomic_load(&event->queue));
    if (is_counted(queue))
        accel__cpu_queue_unreference(queue);
    accel__deallocate(event);
}

void accel__cpu_event_destroy(accel_native_event *event)
{
    accel__cpu_event_unreference(event);
}

/* ---- recording ---- */

/* Mutex held. Moves the mark; returns the queue that the event no longer refers to, or NULL. */
static accel__cpu_queue *move_mark(accel_native_event *event, accel__cpu_queue *queue,
                                   uint64_t position)
{
    const uint64_t word = atomic_load_explicit(&event->queue, memory_order_relaxed);
    accel__cpu_queue *old = queue_of(word);
    if (old == queue) {
        atomic_store_explicit(&event->position, position, memory_order_release);
        return NULL;
    }
    accel__cpu_queue_reference(queue);
    atomic_exchange(&event->queue, word_of(event, &moving, word));
    atomic_store(&event->position, position);
    atomic_store_explicit(&event->queue, word_of(event, queue, word + 1), memory_order_release);
    return is_counted(old) ? old : NULL;
}

static void set_mark(accel_native_event *event, accel__cpu_queue *queue, uint64_t position,
                     uint64_t time_ns)
{
    accel__mutex_lock(&event->mutex);
    atomic_store_explicit(&event->time_ns, time_ns, memory_order_relaxed);
    accel__cpu_queue *old = move_mark(event, queue, position);
    accel__mutex_unlock(&event->mutex);
    if (old != NULL)
        accel__cpu_queue_unreference(old);
}

static accel_status record_timed(accel_native_event *event, accel__cpu_queue *queue,
                                 const char *function)
{
    const uint64_t tail = accel__cpu_queue_tail(queue);
    uint64_t ticket = 0;
    accel_status status = accel__cpu_queue_failure(queue, function);
    if (status == ACCEL_OK && accel__cpu_queue_passed(queue, tail)) {
        set_mark(event, queue, tail, accel__clock_ns());
        return ACCEL_OK;
    }
    if (status == ACCEL_OK)
        status = accel__cpu_queue_reserve(queue, function, &ticket);
    if (status != ACCEL_OK)
        return status;
    set_mark(event, queue, (ticket >> 1) + 1, 0);
    atomic_fetch_add_explicit(&event->references, 1, memory_order_relaxed);
    accel__cpu_slot *slot = accel__cpu_queue_slot(queue, ticket >> 1);
    slot->op = ACCEL__CPU_OP_STAMP;
    slot->stamp.event = event;
    accel__cpu_queue_publish(queue, ticket);
    return ACCEL_OK;
}

/* Executed by the queue when it comes to the mark; the event may have been recorded again since. */
void accel__cpu_event_stamp(accel_native_event *event, accel__cpu_queue *queue, uint64_t position)
{
    accel__mutex_lock(&event->mutex);
    if (queue_of(atomic_load(&event->queue)) == queue && atomic_load(&event->position) == position)
        atomic_store_explicit(&event->time_ns, accel__clock_ns(), memory_order_relaxed);
    accel__mutex_unlock(&event->mutex);
}

__attribute__((cold, noinline)) static accel_status record_slow(accel_native_event *event,
                                                                accel_native_stream *stream)
{
    static const char function[] = "accel_event_record";
    accel__cpu_queue *queue = NULL;
    accel_status status = accel__cpu_stream_queue(stream, function, &queue);
    if (status == ACCEL_OK && event->is_timed)
        return record_timed(event, queue, function);
    if (status == ACCEL_OK)
        status = accel__cpu_queue_failure(queue, function);
    if (status == ACCEL_OK)
        set_mark(event, queue, accel__cpu_queue_tail(queue), 0);
    return status;
}

accel_status accel__cpu_event_record(accel_native_event *event, accel_native_stream *stream)
{
    accel__cpu_queue *queue = atomic_load_explicit(&stream->queue, memory_order_relaxed);
    uint64_t position = atomic_load_explicit(&event->position, memory_order_relaxed);
    const uint64_t word = atomic_load_explicit(&event->queue, memory_order_relaxed);
    if (is_untimed_in(word, queue) && accel__cpu_queue_is_sound(queue) &&
        atomic_compare_exchange_strong_explicit(&event->position, &position,
                                                accel__cpu_queue_tail(queue), memory_order_acq_rel,
                                                memory_order_relaxed) &&
        atomic_load_explicit(&event->queue, memory_order_relaxed) == word)
        return ACCEL_OK;
    return record_slow(event, stream);
}

/* ---- asking and waiting ---- */

/* The mark with a reference to its queue; NULL where there is nothing to wait for. */
static accel_status capture(accel_native_event *event, const char *function,
                            accel__cpu_queue **out_queue, uint64_t *out_position)
{
    accel__mutex_lock(&event->mutex);
    accel__cpu_queue *queue = queue_of(atomic_load(&event->queue));
    const uint64_t position = atomic_load_explicit(&event->position, memory_order_acquire);
    const bool is_lost = queue == &moving; /* the thread that moved it is not in this process */
    if (queue == &nowhere)
        queue = NULL;
    else if (!is_lost)
        accel__cpu_queue_reference(queue);
    accel__mutex_unlock(&event->mutex);
    *out_queue = is_lost ? NULL : queue;
    *out_position = position;
    if (is_lost)
        return forked(function);
    if (queue == NULL || accel__cpu_queue_is_own(queue) || accel__cpu_queue_passed(queue, position))
        return ACCEL_OK;
    accel__cpu_queue_unreference(queue);
    *out_queue = NULL;
    return forked(function);
}

/* The failure of the queue, where it lies before the mark. */
static accel_status failure_before(const accel__cpu_queue *queue, uint64_t position,
                                   const char *function)
{
    return accel__cpu_queue_status(queue) != ACCEL_OK && position > queue->failed_position
               ? accel__cpu_queue_failure(queue, function)
               : ACCEL_OK;
}

__attribute__((cold, noinline)) static accel_status query_slow(accel_native_event *event,
                                                               bool *out_done)
{
    static const char function[] = "accel_event_query";
    accel__cpu_queue *queue = NULL;
    uint64_t position = 0;
    accel_status status = capture(event, function, &queue, &position);
    *out_done = status == ACCEL_OK && (queue == NULL || accel__cpu_queue_passed(queue, position));
    if (queue == NULL)
        return status;
    if (*out_done) {
        status = failure_before(queue, position, function);
        *out_done = status == ACCEL_OK;
    } else
        accel__cpu_queue_hurry(queue);
    accel__cpu_queue_unreference(queue);
    return status;
}

accel_status accel__cpu_event_query(accel_native_event *event, bool *out_done)
{
    const uint64_t word = atomic_load_explicit(&event->queue, memory_order_acquire);
    accel__cpu_queue *queue = queue_of(word);
    const uint64_t position = atomic_load_explicit(&event->position, memory_order_acquire);
    if (accel__cpu_queue_passed(queue, position) &&
        atomic_load_explicit(&event->queue, memory_order_relaxed) == word &&
        accel__cpu_queue_status(queue) == ACCEL_OK) {
        *out_done = true;
        return ACCEL_OK;
    }
    return query_slow(event, out_done);
}

accel_status accel__cpu_event_synchronize(accel_native_event *event)
{
    static const char function[] = "accel_event_synchronize";
    accel__cpu_queue *queue = NULL;
    uint64_t position = 0;
    accel_status status = capture(event, function, &queue, &position);
    if (queue == NULL)
        return status;
    status = accel__cpu_queue_wait(queue, position, true)
                 ? failure_before(queue, position, function)
                 : accel__fail(ACCEL_ERROR_FORKED, "cpu", function,
                               "the process was forked in a callback of the stream");
    accel__cpu_queue_unreference(queue);
    return status;
}

/* The wait orders and nothing else: a failure before the mark is not spread to the waiting stream. */
accel_status accel__cpu_event_wait(accel_native_stream *stream, accel_native_event *event)
{
    static const char function[] = "accel_stream_wait_event";
    accel__cpu_queue *queue = NULL;
    accel__cpu_queue *source = NULL;
    uint64_t position = 0;
    uint64_t ticket = 0;
    accel_status status = accel__cpu_stream_queue(stream, function, &queue);
    if (status == ACCEL_OK)
        status = accel__cpu_queue_failure(queue, function);
    if (status == ACCEL_OK)
        status = capture(event, function, &source, &position);
    if (source == NULL)
        return status;
    if (source != queue && !accel__cpu_queue_passed(source, position)) {
        status = accel__cpu_queue_reserve(queue, function, &ticket);
        if (status == ACCEL_OK) {
            accel__cpu_slot *slot = accel__cpu_queue_slot(queue, ticket >> 1);
            slot->op = ACCEL__CPU_OP_WAIT;
            slot->wait.source = source; /* with the reference */
            slot->wait.position = position;
            accel__cpu_queue_publish(queue, ticket);
            return ACCEL_OK;
        }
    }
    accel__cpu_queue_unreference(source);
    return status;
}

/* Both had passed when they were asked; another thread may have recorded them again since. */
accel_status accel__cpu_event_elapsed(accel_native_event *start, accel_native_event *end,
                                      double *out_milliseconds)
{
    const uint64_t from = atomic_load_explicit(&start->time_ns, memory_order_acquire);
    const uint64_t to = atomic_load_explicit(&end->time_ns, memory_order_acquire);
    if (from == 0 || to == 0)
        return accel__fail(ACCEL_ERROR_NOT_READY, "cpu", "accel_event_elapsed_time",
                           "the %s event was recorded again and has not passed yet: synchronize it "
                           "first",
                           from == 0 ? "start" : "end");
    *out_milliseconds = (double)(int64_t)(to - from) / 1e6;
    return ACCEL_OK;
}

accel_status accel__cpu_event_handle(accel_native_event *event, void **out_handle)
{
    *out_handle = event;
    return ACCEL_OK;
}
