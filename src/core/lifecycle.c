/* lifecycle.c: start-once, deferred calls, fork rules.
 *
 * A backend's phase word carries the generation, so a child sees IDLE whatever its parent was doing.
 * touched_generation is stored before `start` runs: from then on a child knows that a driver may have
 * been half up. No lock is held while `start` or a deferred call runs; other threads wait for the
 * word to change. */
#include "core/lifecycle.h"

#include <accel/lifecycle.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/lent.h"
#include "base/log.h"
#include "core/current.h"
#include "core/default_backend.h"
#include "core/device.h"
#include "platform/futex.h"

/* Bit per backend (number - 1) that this thread is starting or draining, and the process in which it does:
 * what a child inherits that was forked inside of a deferred call, it is not doing. */
static _Thread_local uint32_t starting;
static _Thread_local uint32_t starting_generation;

static bool is_starting_any(void)
{
    return starting != 0 && starting_generation == accel__generation();
}

bool accel__backend_is_starting(const accel__backend *backend)
{
    return is_starting_any() && (starting & 1u << (backend->number - 1)) != 0;
}

accel_status accel__fail_in_callback(const char *function)
{
    return accel__fail(ACCEL_ERROR_IN_CALLBACK, NULL, function,
                       "called inside a callback of accel: queueing and waiting are refused there; "
                       "hand the work to another thread");
}

accel_status accel__fail_forked(const accel__backend *backend, const char *function)
{
    return accel__fail(ACCEL_ERROR_FORKED, backend->table.name, function,
                       "this process was forked after its parent had started '%s', which does not "
                       "survive that; fork before the first use, or exec (spawn) the child",
                       backend->table.name);
}

bool accel__backend_is_forked(const accel__backend *backend)
{
    const uint32_t touched = backend->touched_generation;
    return touched != 0 && touched != accel__generation() && !accel__backend_survives_fork(backend);
}

/* Started in this process, or inherited by one that survives. Objects may then be used. */
static bool has_objects(const accel__backend *backend)
{
    return backend->started_generation != 0 && !accel__backend_is_forked(backend);
}

/* Started in this very process. */
static bool is_started(const accel__backend *backend)
{
    return backend->started_generation == accel__generation();
}

static void set_phase(accel__backend *backend, accel__phase phase)
{
    atomic_store(&backend->phase, accel__generation() << 3 | (uint32_t)phase);
    accel__futex_wake_all(&backend->phase);
}

/* Makes this thread the one that works on the backend. False: it became ready meanwhile. */
static bool claim(accel__backend *backend)
{
    const uint32_t generation = accel__generation();
    for (;;) {
        uint32_t seen = atomic_load(&backend->phase);
        if (seen == (generation << 3 | ACCEL__PHASE_READY))
            return false;
        if (seen == (generation << 3 | ACCEL__PHASE_BUSY))
            accel__futex_wait(&backend->phase, seen, UINT64_MAX);
        else if (atomic_compare_exchange_strong(&backend->phase, &seen,
                                                generation << 3 | ACCEL__PHASE_BUSY))
            return true;
    }
}

static accel_status start(accel__backend *backend, const char *function)
{
    if (has_objects(backend)) { /* inherited, and it survives */
        backend->started_generation = accel__generation();
        return ACCEL_OK;
    }
    accel_backend_probe answer;
    accel__backend_ask(backend, &answer);
    const int32_t count = answer.device_count;
    if (count == 0)
        return answer.cannot_tell ? accel__fail_cannot_tell(backend, &answer, function)
                                  : accel__fail_no_device(backend, function);
    const accel__inventory *inventory = accel__inventory_get(backend);
    if (inventory == NULL || inventory->summary.device_count != count)
        return accel__fail(ACCEL_ERROR_START_FAILED, backend->table.name, function,
                           "the environment changed while '%s' started", backend->table.name);
    backend->touched_generation = accel__generation();
    const accel_status status = backend->table.discovery.start(
        accel__backend_has_drivers(backend) ? inventory->selected : NULL,
        accel__backend_has_drivers(backend) ? (uint32_t)count : 0);
    if (status != ACCEL_OK)
        return status;
    accel__inventory_freeze(backend, inventory);
    backend->started_generation = accel__generation();
    accel__default_backend_freeze();
    return ACCEL_OK;
}

/* Runs what is queued. The last look at the empty queue and the step to ready are one. */
static accel_status drain(accel__backend *backend)
{
    for (;;) {
        accel__mutex_lock(&backend->queue.mutex);
        accel__deferred *first = accel__deferred_pop(&backend->queue);
        if (first == NULL)
            atomic_store(&backend->phase, accel__generation() << 3 | ACCEL__PHASE_READY);
        accel__mutex_unlock(&backend->queue.mutex);
        if (first == NULL) {
            accel__futex_wake_all(&backend->phase);
            return ACCEL_OK;
        }
        const uint32_t generation = accel__generation();
        const accel_status status = first->call(first->device, first->user);
        accel__deallocate(first);
        if (!accel__generation_is(generation)) /* the call forked, and this is the child */
            return accel__backend_use_slow(backend, "accel_lazy_call");
        if (status != ACCEL_OK)
            return status;
    }
}

accel_status accel__backend_use_slow(accel__backend *backend, const char *function)
{
    const uint32_t bit = 1u << (backend->number - 1);
    if (accel__backend_is_forked(backend))
        return accel__fail_forked(backend, function);
    if (accel__backend_is_starting(backend))
        return ACCEL_OK;
    if (!claim(backend))
        return ACCEL_OK;
    starting = is_starting_any() ? starting | bit : bit;
    starting_generation = accel__generation();
    accel_status status = ACCEL_OK;
    const bool starts = !is_started(backend);
    if (starts)
        status = start(backend, function);
    if (status == ACCEL_OK)
        status = drain(backend);
    starting &= ~bit;
    if (status != ACCEL_OK && !accel__backend_is_forked(backend))
        set_phase(backend, ACCEL__PHASE_IDLE);
    if (starts && status == ACCEL_OK) /* said when nobody waits for this thread any more */
        accel__log(ACCEL_LOG_LEVEL_INFO, backend->table.name, "started with %d devices",
                   backend->frozen_count);
    return status;
}

accel_status accel_is_initialized(accel_backend backend, bool *out_initialized)
{
    if (out_initialized == NULL)
        return accel__fail_null(__func__, "out_initialized");
    *out_initialized = false;
    accel__backend *found = NULL;
    const accel_status status = accel__backend_resolve(backend, __func__, &found);
    if (status == ACCEL_OK)
        *out_initialized = is_started(found);
    return status;
}

accel_status accel_initialize(accel_backend backend)
{
    accel__backend *found = NULL;
    accel_status status = accel__check_callback(__func__);
    if (status == ACCEL_OK)
        status = accel__backend_resolve(backend, __func__, &found);
    return status == ACCEL_OK ? accel__backend_use(found, __func__) : status;
}

/* Whether a call made now on this thread runs at once. With the queue's mutex held. */
static bool runs_now(const accel__backend *backend)
{
    return accel__backend_is_starting(backend) || accel__backend_is_drained(backend);
}

static accel_status run_or_push(accel__backend *backend, accel__deferred *made)
{
    accel__mutex_lock(&backend->queue.mutex);
    const bool now = runs_now(backend);
    accel__deferred *needless = now ? NULL : accel__deferred_push(&backend->queue, made);
    accel__mutex_unlock(&backend->queue.mutex);
    accel__deferred_drop(needless);
    if (!now)
        return ACCEL_OK;
    /* accel_lazy_call has checked it. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
    const accel_status status = made->call(made->device, made->user);
    accel__deallocate(made);
    return status;
}

accel_status accel_lazy_call(accel_backend backend, accel_deferred_call call, void *user,
                             const accel_lazy_options *options)
{
    accel_lazy_options known = {0};
    accel__backend *found = NULL;
    accel_status status = accel__options_read(options, &known, sizeof known, __func__);
    if (status == ACCEL_OK && call == NULL)
        status = accel__fail_null(__func__, "call");
    if (status == ACCEL_OK && (unsigned)known.kind > ACCEL_LAZY_KIND_SEED_ALL)
        status = accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, __func__,
                             "kind %d is not one of accel_lazy_kind", (int)known.kind);
    if (status == ACCEL_OK)
        status = accel__backend_resolve(backend, __func__, &found);
    if (status != ACCEL_OK)
        return status;
    accel__deferred *made = accel__allocate(sizeof *made);
    if (made == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, found->table.name, __func__,
                           "no memory to queue a call");
    made->device = ACCEL_DEVICE(found->number, accel__current_index(found->number));
    made->call = call;
    made->user = user;
    made->kind = known.kind;
    made->drop = known.drop;
    return run_or_push(found, made);
}

/* ---- the end ---- */

/* The record stays that of the first failure; after that the thread is muted. */
static void keep_first(accel_status *first, accel_status status)
{
    if (*first != ACCEL_OK || status == ACCEL_OK)
        return;
    *first = status;
    accel__error_mute();
}

/* A backend that could not be waited for, because a capture forbids it, goes on: its streams are not idle. */
static void shut_down(accel__backend *backend, const char *function, accel_status *first)
{
    bool is_refused = false;
    for (int i = 0; i < ACCEL__DEVICE_MAX; i++) {
        accel__device *device = backend->devices[i];
        if (device == NULL)
            continue;
        const accel_status status = accel__device_synchronize(device, function);
        is_refused |= status == ACCEL_ERROR_CAPTURE;
        keep_first(first, status);
    }
    if (!is_refused)
        backend->table.discovery.stop();
}

accel_status accel_shutdown(void)
{
    accel_status first = accel__check_callback(__func__);
    if (first != ACCEL_OK)
        return first;
    const uint32_t known = accel__registry_count();
    for (accel_backend number = 1; number <= known; number++) {
        accel__backend *backend = accel__registry_get(number);
        if (has_objects(backend))
            shut_down(backend, __func__, &first);
    }
    if (first != ACCEL_OK)
        accel__error_unmute();
    return first;
}
