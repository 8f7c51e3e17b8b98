/* defaults.c: see defaults.h.
 *
 * What is set before the backend has started is queued, and takes its place among the other deferred calls:
 * a call that was deferred before it, and draws, does so from the state before. Until then it is only asked
 * for: questions answer with it, since a program that has set a seed wants to see that one. Draws come when
 * the queue is through, or out of it, so they never meet a state that is only asked for. */
#include "random/defaults.h"

#include <accel/lifecycle.h>

#include "base/allocate.h"
#include "base/error.h"
#include "core/current.h"
#include "core/lifecycle.h"

/* Guards what follows, and the order of changes. Taken before a generator's mutex. */
static accel__mutex defaults_mutex;
static _Atomic(accel_generator *) defaults[ACCEL__BACKEND_MAX][ACCEL__DEVICE_MAX];

/* A seed for generators that are not made yet. Two slots, for forks: see generator.h. */
typedef struct seed_for_all {
    uint64_t seed[2];
    _Atomic(uint32_t) which; /* 0: none; else the slot + 1 */
} seed_for_all;

static seed_for_all all_seeds[ACCEL__BACKEND_MAX];

static _Atomic(accel_generator *) *cell_of(const accel__device *device)
{
    return &defaults[device->id.backend - 1][device->id.index];
}

/* With the mutex held. */
static accel_status make_locked(accel__device *device, const char *function)
{
    const seed_for_all *common = &all_seeds[device->id.backend - 1];
    accel__rng_state state = {0};
    accel_status status = ACCEL_OK;
    if (common->which != 0) {
        state.seed = common->seed[common->which - 1];
    } else {
        state.drawn_in = accel__generation();
        status = accel__random_seed_draw(&state.seed, function);
    }
    if (status != ACCEL_OK)
        return status;
    accel_generator *made = accel__generator_make(device, &state, function);
    if (made == NULL)
        return ACCEL_ERROR_OUT_OF_HOST_MEMORY;
    made->is_default = true;
    atomic_store_explicit(cell_of(device), made, memory_order_release);
    return ACCEL_OK;
}

accel_status accel__default_generator(accel__device *device, accel_generator **out_generator,
                                      const char *function)
{
    accel_status status = ACCEL_OK;
    *out_generator = atomic_load_explicit(cell_of(device), memory_order_acquire);
    if (*out_generator != NULL)
        return ACCEL_OK;
    accel__mutex_lock(&defaults_mutex);
    if (*cell_of(device) == NULL)
        status = make_locked(device, function);
    *out_generator = *cell_of(device);
    accel__mutex_unlock(&defaults_mutex);
    return status;
}

accel_status accel_generator_default(accel_device device, accel_generator **out_generator)
{
    accel__device *found = NULL;
    if (out_generator == NULL)
        return accel__fail_null(__func__, "out_generator");
    *out_generator = NULL;
    const accel_status status = accel__device_resolve(device, __func__, &found);
    return status == ACCEL_OK ? accel__default_generator(found, out_generator, __func__) : status;
}

/* ---- changes ---- */

typedef struct accel__rng_change {
    _Atomic(uint32_t) references; /* the caller's, the queue's, and those of generators: `asked` */
    bool was_run;                 /* by the queue. Guarded by the mutex */
    bool is_for_all;              /* `states[0].seed` is for every device of the backend */
    accel_backend backend;
    uint32_t count;
    accel_generator **generators; /* default ones: they stay */
    accel__rng_state *states;
} change;

static void let_go(change *made)
{
    if (made == NULL || atomic_fetch_sub(&made->references, 1) != 1)
        return;
    accel__deallocate(made->generators);
    accel__deallocate(made->states);
    accel__deallocate(made);
}

/* With the generator's mutex held. */
static void ask_for(accel_generator *generator, change *made)
{
    if (made != NULL)
        atomic_fetch_add(&made->references, 1);
    let_go(atomic_exchange(&generator->asked, made));
}

void accel__generator_forget_asked(accel_generator *generator)
{
    ask_for(generator, NULL);
}

/* A state that another process has drawn is none of this one, which draws its own. */
static bool is_foreign(const accel__rng_state *state)
{
    return state->drawn_in != 0 && state->drawn_in != accel__generation();
}

static const accel__rng_state *state_for(const change *made, const accel_generator *generator)
{
    uint32_t i = 0;
    while (!made->is_for_all && i + 1 < made->count && made->generators[i] != generator)
        i++;
    return &made->states[i];
}

accel_status accel__generator_answer(accel_generator *generator, accel__rng_state *out_state,
                                     const char *function)
{
    const accel__backend *backend = generator->device->backend;
    const change *asked = generator->asked;
    if (asked == NULL || accel__backend_is_drained(backend) ||
        accel__backend_is_starting(backend) || is_foreign(state_for(asked, generator)))
        return accel__generator_read(generator, out_state, function);
    *out_state = *state_for(asked, generator);
    return ACCEL_OK;
}

/* Calls `act` for each generator that the change is for, locked. With the mutex held. */
static void for_each(change *made, void (*act)(change *made, accel_generator *generator))
{
    const uint32_t count = made->is_for_all ? ACCEL__DEVICE_MAX : made->count;
    for (uint32_t i = 0; i < count; i++) {
        accel_generator *generator = made->is_for_all ? defaults[made->backend - 1][i]
                                                      : made->generators[i];
        if (generator == NULL)
            continue;
        accel__mutex_lock(&generator->mutex);
        act(made, generator);
        accel__mutex_unlock(&generator->mutex);
    }
}

static void announce_to(change *made, accel_generator *generator)
{
    ask_for(generator, made);
}

/* What was asked for later stays asked for. */
static void apply_to(change *made, accel_generator *generator)
{
    const accel__rng_state *state = state_for(made, generator);
    if (!is_foreign(state))
        accel__generator_write(generator, state);
    if (generator->asked == made)
        ask_for(generator, NULL);
}

/* With the mutex held. Generators that are made from now on begin with it. */
static void remember_for_later(const change *made)
{
    seed_for_all *common = &all_seeds[made->backend - 1];
    const uint32_t other = common->which == 1 ? 1 : 0;
    if (!made->is_for_all)
        return;
    common->seed[other] = made->states[0].seed;
    common->which = other + 1;
}

static accel_status run_queued(accel_device device, void *user)
{
    change *made = user;
    (void)device;
    accel__mutex_lock(&defaults_mutex);
    made->was_run = true;
    remember_for_later(made);
    for_each(made, apply_to);
    accel__mutex_unlock(&defaults_mutex);
    let_go(made);
    return ACCEL_OK;
}

static void drop_queued(void *user)
{
    let_go(user);
}

static void announce(change *made)
{
    accel__mutex_lock(&defaults_mutex);
    if (!made->was_run) {
        remember_for_later(made);
        for_each(made, announce_to);
    }
    accel__mutex_unlock(&defaults_mutex);
}

static change *make_change(accel__backend *backend, accel_generator *const *generators,
                           const accel__rng_state *states, uint32_t count)
{
    change *made = accel__allocate(sizeof *made);
    if (made == NULL)
        return NULL;
    made->references = 2;
    made->backend = backend->number;
    made->is_for_all = generators == NULL;
    made->count = count;
    made->generators = accel__allocate_array(count, sizeof(accel_generator *));
    made->states = accel__allocate_array(count, sizeof *states);
    if (made->generators == NULL || made->states == NULL) {
        made->references = 1;
        let_go(made);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        made->generators[i] = generators != NULL ? generators[i] : NULL;
        made->states[i] = states[i];
    }
    return made;
}

static accel_status change_deferred(accel__backend *backend, accel_generator *const *generators,
                                    const accel__rng_state *states, uint32_t count,
                                    accel_lazy_kind kind, const char *function)
{
    const accel_lazy_options options = {
        .struct_size = sizeof options, .kind = kind, .drop = drop_queued};
    change *made = make_change(backend, generators, states, count);
    if (made == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, backend->table.name, function,
                           "no memory to defer a seed or a state");
    const accel_status status = accel_lazy_call(backend->number, run_queued, made, &options);
    if (status == ACCEL_OK)
        announce(made);
    else
        let_go(made); /* the queue did not take it */
    let_go(made);
    return accel__error_met_by(status, function);
}

accel_status accel__default_set(accel_generator *generator, const accel__rng_state *state,
                                const char *function)
{
    accel__device *device = generator->device;
    /* The queue keeps seeds apart by the device that is current; it may drop only what a later one
     * overwrites, and a state is more than a seed. */
    const bool is_seed = state->offset == 0 && state->drawn_in == 0 &&
                         device->id.index == accel__current_index(device->id.backend);
    return change_deferred(device->backend, &generator, state, 1,
                           is_seed ? ACCEL_LAZY_KIND_SEED : ACCEL_LAZY_KIND_ORDINARY, function);
}

accel_status accel__default_set_all_seeds(accel__backend *backend, uint64_t seed,
                                          const char *function)
{
    const accel__rng_state state = {.seed = seed};
    return change_deferred(backend, NULL, &state, 1, ACCEL_LAZY_KIND_SEED_ALL, function);
}

accel_status accel__default_set_states(accel__backend *backend, accel_generator *const *generators,
                                       const accel__rng_state *states, uint32_t count,
                                       const char *function)
{
    return change_deferred(backend, generators, states, count, ACCEL_LAZY_KIND_ORDINARY, function);
}
