/* deferred.h: calls that wait for a backend's start, in the order in which they were made. */
#ifndef ACCEL_CORE_DEFERRED_H
#define ACCEL_CORE_DEFERRED_H

#include <accel/lifecycle.h>

#include "platform/mutex.h"

typedef struct accel__deferred {
    _Atomic(struct accel__deferred *) next;
    accel_device device;
    accel_deferred_call call;
    void *user;
    accel_lazy_kind kind;
    void (*drop)(void *user);
} accel__deferred;

/* A zeroed queue is empty. The list is whole at each instant, so that a forked child has it as it
 * was. Lock order: `mutex` is a leaf; no call runs while it is held. It also guards the step of the
 * backend's phase to ready, so that no call is queued behind the last look. */
typedef struct accel__deferred_queue {
    accel__mutex mutex;
    _Atomic(accel__deferred *) head;
    accel__deferred *tail_hint;  /* a node at or before the last one, or NULL */
    accel__deferred *fence_hint; /* an ordinary node, at or before the last such, or NULL */
} accel__deferred_queue;

/* All with the mutex held. */

/* Appends `made`. Seeds that it makes needless are unlinked and returned as a chain for the caller
 * to drop after unlocking. */
accel__deferred *accel__deferred_push(accel__deferred_queue *queue, accel__deferred *made);

/* Unlinks the first one; NULL where there is none. */
accel__deferred *accel__deferred_pop(accel__deferred_queue *queue);

/* Without the mutex: calls the drop functions of a chain and frees it. */
void accel__deferred_drop(accel__deferred *chain);

#endif
