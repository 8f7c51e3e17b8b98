/* uses.c: see uses.h. */
#include "memory/heap/uses.h"

#include "base/allocate.h"
#include "base/callback.h"
#include "base/error.h"
#include "core/device.h"
#include "memory/heap/heap.h"
#include "memory/history/history.h"
#include "memory/marks.h"
#include "memory/pool.h"
#include "memory/statistics/statistics.h"
#include "platform/mutex.h"

/* Guards the lists of uses of live blocks, and the queue of waiting blocks below. Lock order: a leaf but for
 * queries of events and streams. */
static accel__mutex mutex;
static accel__block *first_waiting; /* by bin_after, the oldest first */
static accel__block *last_waiting;
static uint32_t waiting_generation; /* of the process whose blocks they are */
static _Atomic(uint32_t) waiting_count;

static void lock(void)
{
    accel__mutex_lock(&mutex);
    const uint32_t now = accel__generation();
    if (waiting_generation != now) {
        first_waiting = last_waiting = NULL;
        atomic_store_explicit(&waiting_count, 0, memory_order_relaxed);
        waiting_generation = now;
    }
}

/* ---- recording ---- */

/* With the lock. Takes `made` over, or leaves it where the block has that stream already. */
static accel_status add(accel__block *block, accel__mark **made)
{
    uint32_t seen = atomic_load_explicit(&block->range.state, memory_order_acquire);
    if ((seen & ACCEL__RANGE_STATES) != ACCEL__RANGE_LIVE ||
        !atomic_compare_exchange_strong(&block->range.state, &seen, ACCEL__RANGE_LIVE))
        return ACCEL_ERROR_INVALID_ARGUMENT;
    if (block->uses == NULL)
        block->uses = *made;
    else if (!accel__marks_add(block->uses, *made))
        return ACCEL_OK;
    *made = NULL;
    return ACCEL_OK;
}

accel_status accel__uses_record(accel__block *block, accel_stream *stream, const char *function)
{
    if (accel__range_home(&block->range) == stream)
        return ACCEL_OK;
    accel__mark *made = accel__mark_create(stream);
    if (made == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, stream->backend->table.name, function,
                           "no memory to note the use of a stream");
    lock();
    const accel_status status = add(block, &made);
    accel__mutex_unlock(&mutex);
    accel__mark_release(made);
    return status;
}

/* ---- waiting ---- */

void accel__uses_wait(accel__block *block)
{
    accel__marks_set(block->uses);
    lock();
    block->bin_after = NULL;
    if (last_waiting != NULL)
        last_waiting->bin_after = block;
    else
        first_waiting = block;
    last_waiting = block;
    atomic_fetch_add_explicit(&waiting_count, 1, memory_order_relaxed);
    accel__mutex_unlock(&mutex);
}

/* Marks are set in the order of the queue, so a stream that has not passed one has not passed the later ones
 * either: they need not be asked for. */
enum { BUSY_STREAMS = 8 };

typedef struct busy_list {
    const accel_stream *streams[BUSY_STREAMS];
    size_t count;
} busy_list;

static bool has_passed(const accel__block *block, busy_list *busy)
{
    for (const accel__mark *mark = block->uses; mark != NULL; mark = mark->next)
        for (size_t i = 0; i < busy->count; i++)
            if (busy->streams[i] == mark->stream)
                return false;
    const accel__mark *mark = accel__marks_first_busy(block->uses);
    if (mark != NULL && busy->count < BUSY_STREAMS)
        busy->streams[busy->count++] = mark->stream;
    return mark == NULL;
}

/* Takes those that are done out of the queue: a list by bin_after. */
static accel__block *take_passed(const accel__device *device)
{
    accel__block *taken = NULL;
    accel__block **end = &taken;
    accel__block **link = &first_waiting;
    busy_list busy = {.count = 0};
    last_waiting = NULL;
    while (*link != NULL) {
        accel__block *block = *link;
        if ((device == NULL || accel__range_device(&block->range) == device) &&
            has_passed(block, &busy)) {
            *link = block->bin_after;
            *end = block;
            end = &block->bin_after;
            atomic_fetch_sub_explicit(&waiting_count, 1, memory_order_relaxed);
        } else {
            last_waiting = block;
            link = &block->bin_after;
        }
    }
    *end = NULL;
    return taken;
}

/* The block's streams have passed. */
static void complete(accel__block *block)
{
    accel__mark *uses = block->uses;
    accel__device *device = accel__range_device(&block->range);
    const bool is_of_pool = block->segment->heap->options.pool != NULL;
    block->uses = NULL;
    accel__marks_end(uses);
    accel__deallocate(uses);
    accel__statistics_completed(accel__statistics_peek(device), block->segment->kind, block->size,
                                accel__range_size(&block->range));
    if (accel__history_is_on())
        accel__history_completed(block);
    accel__range_set_state(&block->range, ACCEL__RANGE_FREE);
    accel__heap_put(block);
    if (is_of_pool)
        accel__pool_settle(device);
}

bool accel__uses_collect(const accel__device *device)
{
    if (atomic_load_explicit(&waiting_count, memory_order_relaxed) == 0 ||
        accel__callback_depth != 0)
        return false;
    accel__error_mute();
    lock();
    accel__block *passed = take_passed(device);
    accel__mutex_unlock(&mutex);
    const bool any = passed != NULL;
    while (passed != NULL) {
        accel__block *block = passed;
        passed = block->bin_after;
        complete(block);
    }
    accel__error_unmute();
    return any;
}
