/* lifecycle.h: the start of a backend, once, and what a fork makes of it. */
#ifndef ACCEL_CORE_LIFECYCLE_H
#define ACCEL_CORE_LIFECYCLE_H

#include "base/callback.h"
#include "core/registry.h"
#include "platform/generation.h"

typedef enum accel__phase {
    ACCEL__PHASE_IDLE = 0, /* not started, or started with calls still queued */
    ACCEL__PHASE_BUSY = 1, /* one thread starts it or runs queued calls */
    ACCEL__PHASE_READY = 2 /* started, and the queue was empty */
} accel__phase;

accel_status accel__backend_use_slow(accel__backend *backend, const char *function);

/* Started in this process, with no deferred call left. */
static inline bool accel__backend_is_drained(const accel__backend *backend)
{
    return atomic_load_explicit(&backend->phase, memory_order_acquire) ==
           (accel__generation() << 3 | ACCEL__PHASE_READY);
}

/* Starts the backend where that is needed; returns at once on the thread that is starting it. */
static inline accel_status accel__backend_use(accel__backend *backend, const char *function)
{
    if (accel__backend_is_drained(backend))
        return ACCEL_OK;
    return accel__backend_use_slow(backend, function);
}

/* Whether this thread is the one that starts the backend, or runs its deferred calls. */
bool accel__backend_is_starting(const accel__backend *backend);

/* True in a child of a process in which a backend was started that does not survive that. */
bool accel__backend_is_forked(const accel__backend *backend);

/* Records ACCEL_ERROR_FORKED, with what to do. */
accel_status accel__fail_forked(const accel__backend *backend, const char *function);

accel_status accel__fail_in_callback(const char *function);

static inline accel_status accel__check_callback(const char *function)
{
    return accel__callback_depth == 0 ? ACCEL_OK : accel__fail_in_callback(function);
}

#endif
