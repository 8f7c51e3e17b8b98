/* retire.c: see retire.h. The queues of the device are visited one behind the other; each visit leaves
 * one waiter in one queue, so the memory that the retired object brings along is enough. */
#include "backends/cpu/queue/retire.h"

#include "backends/cpu/device.h"

/* The device's next queue to visit, counted, or NULL. */
static accel__cpu_queue *next_queue(accel__cpu_retirement *retirement)
{
    accel_native_device *device = retirement->device;
    accel__cpu_queue *queue = NULL;
    accel__mutex_lock(&device->mutex);
    if (device->generation == accel__generation())
        queue = device->first;
    while (queue != NULL &&
           (queue->serial < retirement->next_serial || !accel__cpu_queue_try_reference(queue)))
        queue = queue->device_next;
    accel__mutex_unlock(&device->mutex);
    if (queue == NULL || queue->serial < retirement->last_serial)
        return queue;
    accel__cpu_queue_unreference(queue);
    return NULL;
}

static void advance(accel__cpu_retirement *retirement);

static void passed(accel__cpu_waiter *waiter)
{
    accel__cpu_retirement *retirement = (accel__cpu_retirement *)waiter;
    accel__cpu_queue_unreference(retirement->queue);
    advance(retirement);
}

static void advance(accel__cpu_retirement *retirement)
{
    for (;;) {
        accel__cpu_queue *queue = next_queue(retirement);
        if (queue == NULL)
            break;
        retirement->next_serial = queue->serial + 1;
        retirement->queue = queue;
        retirement->waiter.passed = passed;
        if (accel__cpu_queue_add_waiter(queue, &retirement->waiter, accel__cpu_queue_tail(queue)))
            return;
        accel__cpu_queue_unreference(queue);
    }
    accel__cpu_device_unreference(retirement->device);
    retirement->done(retirement->user);
}

void accel__cpu_retire(accel_native_device *device, accel__cpu_retirement *retirement,
                       void (*done)(void *user), void *user)
{
    atomic_fetch_add(&device->references, 1);
    accel__mutex_lock(&device->mutex);
    retirement->last_serial = device->next_serial;
    accel__mutex_unlock(&device->mutex);
    retirement->device = device;
    retirement->next_serial = 0;
    retirement->done = done;
    retirement->user = user;
    advance(retirement);
}
