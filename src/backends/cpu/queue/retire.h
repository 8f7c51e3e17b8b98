/* retire.h: "once everything queued so far has passed". Module unload uses it, so that a launch needs
 * no reference count on the code it runs. */
#ifndef ACCEL_BACKENDS_CPU_QUEUE_RETIRE_H
#define ACCEL_BACKENDS_CPU_QUEUE_RETIRE_H

#include <accel/backend.h>
#include <stdbool.h>
#include <stdint.h>

/* A mark in one queue that somebody waits for: see queue.h. Lives in its waiter. */
typedef struct accel__cpu_waiter {
    struct accel__cpu_waiter *next;
    uint64_t position;
    bool helps; /* is also told when nobody executes the queue any more: queue.h */
    void (*passed)(struct accel__cpu_waiter *waiter); /* called with no lock held */
} accel__cpu_waiter;

/* Lives in the object that is to be retired, so that retiring cannot fail for want of memory. */
typedef struct accel__cpu_retirement {
    accel__cpu_waiter waiter;
    accel_native_device *device;
    void *queue;          /* the queue that is being waited for; counted */
    uint64_t next_serial; /* queues are visited in the order of their creation */
    uint64_t last_serial;
    void (*done)(void *user);
    void *user;
} accel__cpu_retirement;

/* Calls done(user) once every stream of `device` has passed what is queued on it now: before the
 * return where all of them are idle, else later on some thread. `done` may free `retirement`, and must
 * not queue or wait. Never blocks, never fails. After a fork the child drops what was pending. */
void accel__cpu_retire(accel_native_device *device, accel__cpu_retirement *retirement,
                       void (*done)(void *user), void *user);

#endif
