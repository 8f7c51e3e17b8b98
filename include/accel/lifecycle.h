/* SPDX-License-Identifier: MIT
 * lifecycle.h: when a backend starts, what waits for that, and how it ends.
 *
 * A backend starts at the first use of one of its devices, once, whatever number of threads use it at
 * the same moment. A failed start is not remembered: the next use tries again. Calls that were
 * deferred run then, in the order in which they were made.
 */
#ifndef ACCEL_LIFECYCLE_H
#define ACCEL_LIFECYCLE_H

#include <accel/device.h>

ACCEL_BEGIN_DECLS

/* accel_is_initialized (question): whether the backend has started in this process. False in a child
 * that was forked after its parent had started it. Errors: INVALID_ARGUMENT, NOT_FOUND; UNAVAILABLE and
 * CANNOT_TELL for ACCEL_BACKEND_CURRENT. Any thread; fork: harmless. */
ACCEL_API accel_status accel_is_initialized(accel_backend backend, bool *out_initialized);

/* accel_initialize (use): starts the backend now. OK where it has started before. Errors: those of a
 * start. After the failure of a deferred call the backend has started, the failing call is gone, and the
 * calls behind it stay queued for the next use. Any thread; fork: a use. */
ACCEL_API accel_status accel_initialize(accel_backend backend);

/* A deferred call. `device` is the device that was current on the calling thread, on that backend,
 * when it was queued. What it returns other than OK is reported by the call that started the backend. */
typedef accel_status (*accel_deferred_call)(accel_device device, void *user);

typedef enum accel_lazy_kind {
    ACCEL_LAZY_KIND_ORDINARY = 0,
    /* Sets one device's seed. A later SEED of that device, or SEED_ALL, with nothing ordinary in
     * between makes this one needless: it is dropped. */
    ACCEL_LAZY_KIND_SEED = 1,
    ACCEL_LAZY_KIND_SEED_ALL = 2 /* sets every device's seed */
} accel_lazy_kind;

typedef struct accel_lazy_options {
    uint32_t struct_size;
    accel_lazy_kind kind;
    void (*drop)(void *user); /* called instead of the call where it is dropped, to free `user` */
} accel_lazy_options;

/* accel_lazy_call (deferred): runs `call` at once where the backend has started (and returns what it
 * returns), else queues it. Calls run outside of all locks, on the thread that starts the backend, and
 * may call accel, accel_lazy_call included (which then runs at once). Other threads that use the
 * backend wait meanwhile: a call must not wait for them, nor for the start of another backend whose
 * own deferred calls wait for this one. `options` may be NULL.
 * Errors: INVALID_ARGUMENT, NOT_FOUND, OUT_OF_HOST_MEMORY, and what the call returns; UNAVAILABLE and
 * CANNOT_TELL for ACCEL_BACKEND_CURRENT. `drop` is not called after a failure.
 * Any thread; fork: harmless, a child has the queue as it was. */
ACCEL_API accel_status accel_lazy_call(accel_backend backend, accel_deferred_call call, void *user,
                                       const accel_lazy_options *options);

/* accel_shutdown (question): optional. Waits for all streams of all backends that have started, and gives
 * back what can be had again: threads, caches, freed memory. Objects stay valid; the next use takes again
 * what it needs. Exit without it is clean. Errors: IN_CALLBACK; CAPTURE (a capture that forbids waits for
 * whole devices on this thread: their backend goes on as it was), and the first failure that sticks to a
 * stream: the rest is shut down all the same. Any thread. In a forked child it leaves backends alone that
 * did not survive. */
ACCEL_API accel_status accel_shutdown(void);

ACCEL_END_DECLS

#endif /* ACCEL_LIFECYCLE_H */
