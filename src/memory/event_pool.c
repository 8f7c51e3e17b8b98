/* event_pool.c: see event_pool.h. The events of a process are not those of its forked children, even where the
 * backend survives that: a child finds its pools empty. */
#include "memory/event_pool.h"

#include "base/allocate.h"
#include "platform/mutex.h"

enum { KEPT = 64 };

typedef struct pool {
    accel__mutex mutex; /* guards the rest; a leaf */
    uint32_t generation;
    size_t count;
    accel_native_event *events[KEPT];
} pool;

static _Atomic(pool *) pools[ACCEL__BACKEND_MAX + 1][ACCEL__DEVICE_MAX];

/* Locked; NULL: there is none. */
static pool *lock(const accel__device *device)
{
    pool *found = atomic_load_explicit(&pools[device->id.backend][device->id.index],
                                       memory_order_acquire);
    if (found == NULL)
        return NULL;
    accel__mutex_lock(&found->mutex);
    if (!accel__generation_is(found->generation)) {
        found->count = 0;
        found->generation = accel__generation();
    }
    return found;
}

static pool *lock_or_make(const accel__device *device)
{
    pool *found = lock(device);
    if (found != NULL)
        return found;
    pool *made = accel__allocate(sizeof *made);
    pool *there = NULL;
    if (made != NULL &&
        !atomic_compare_exchange_strong(&pools[device->id.backend][device->id.index], &there, made))
        accel__deallocate(made);
    return lock(device);
}

accel_status accel__event_draw(accel__device *device, accel_native_event **out_event)
{
    pool *from = lock(device);
    *out_event = NULL;
    if (from != NULL) {
        if (from->count != 0)
            *out_event = from->events[--from->count];
        accel__mutex_unlock(&from->mutex);
    }
    if (*out_event != NULL)
        return ACCEL_OK;
    return device->backend->table.event.create(device->native, false, out_event);
}

void accel__event_give_back(accel__device *device, accel_native_event *event)
{
    pool *to = lock_or_make(device);
    bool is_kept = false;
    if (to != NULL) {
        is_kept = to->count < KEPT;
        if (is_kept)
            to->events[to->count++] = event;
        accel__mutex_unlock(&to->mutex);
    }
    if (!is_kept)
        device->backend->table.event.destroy(event);
}

/* One of those kept; NULL: none. */
static accel_native_event *take(const accel__device *device)
{
    accel_native_event *event = NULL;
    pool *from = lock(device);
    if (from == NULL)
        return NULL;
    if (from->count != 0)
        event = from->events[--from->count];
    accel__mutex_unlock(&from->mutex);
    return event;
}

void accel__events_release(accel__device *device)
{
    accel_native_event *event = NULL;
    while ((event = take(device)) != NULL)
        device->backend->table.event.destroy(event);
}
