/* generator.c: generators as objects: making, counting, and the state under its mutex. */
#include "random/generator.h"

#include <errno.h>

#include "base/allocate.h"
#include "base/error.h"
#include "platform/calls.h"
#include "random/capture.h"
#include "random/defaults.h"

accel_status accel__generator_check(const accel_generator *generator, const char *function)
{
    if (accel__handle_is_live(generator, ACCEL__HANDLE_GENERATOR))
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                       generator == NULL ? "the generator is NULL" : "the generator was released");
}

accel_generator *accel__generator_make(accel__device *device, const accel__rng_state *state,
                                       const char *function)
{
    accel_generator *made = accel__allocate(sizeof *made);
    if (made == NULL) {
        accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, device->backend->table.name, function,
                    "no memory for a generator");
        return NULL;
    }
    accel__handle_open(&made->handle, ACCEL__HANDLE_GENERATOR);
    made->references = 1;
    made->device = device;
    made->slots[0] = *state;
    return made;
}

/* ---- the state ---- */

accel_status accel__random_seed_draw(uint64_t *out_seed, const char *function)
{
    uint64_t seed = 0;
    ssize_t got;
    do
        got = accel__platform.random(&seed, sizeof seed, 0);
    while (got < 0 && errno == EINTR);
    if (got == (ssize_t)sizeof seed) {
        *out_seed = seed;
        return ACCEL_OK;
    }
    const int code = got < 0 ? errno : EIO;
    accel__fail_errno(code, function,
                      "the system gives no random seed; set one with accel_manual_seed");
    return ACCEL_ERROR_SYSTEM;
}

accel_status accel__generator_read(accel_generator *generator, accel__rng_state *out_state,
                                   const char *function)
{
    *out_state = generator->slots[generator->which];
    if (out_state->drawn_in == 0 || out_state->drawn_in == accel__generation())
        return ACCEL_OK;
    accel__rng_state fresh = {.drawn_in = accel__generation()};
    const accel_status status = accel__random_seed_draw(&fresh.seed, function);
    if (status == ACCEL_OK) {
        accel__generator_write(generator, &fresh);
        *out_state = fresh;
    }
    return status;
}

void accel__generator_write(accel_generator *generator, const accel__rng_state *state)
{
    const uint32_t other = generator->which ^ 1u;
    generator->slots[other] = *state;
    atomic_store_explicit(&generator->which, other, memory_order_release);
    if (generator->asked != NULL && accel__backend_is_drained(generator->device->backend))
        accel__generator_forget_asked(generator);
}

accel_status accel__generator_take(accel_generator *generator, uint64_t words,
                                   accel__rng_state *out_state, const char *function)
{
    accel__mutex_lock(&generator->mutex);
    accel_status status = accel__generator_read(generator, out_state, function);
    accel__rng_state next = *out_state;
    const bool fits = !__builtin_add_overflow(out_state->offset, words, &next.offset);
    if (status == ACCEL_OK && fits)
        accel__generator_write(generator, &next);
    accel__mutex_unlock(&generator->mutex);
    if (status == ACCEL_OK && !fits)
        status = accel__fail(ACCEL_ERROR_OUT_OF_RANGE, generator->device->backend->table.name,
                             function,
                             "the generator's offset %llu would not stay below 2^64 with %llu more "
                             "words: set another seed",
                             (unsigned long long)out_state->offset, (unsigned long long)words);
    return status;
}

void accel__generator_give_back(accel_generator *generator, const accel__rng_state *state,
                                uint64_t words)
{
    accel__mutex_lock(&generator->mutex);
    const accel__rng_state *now = &generator->slots[generator->which];
    if (now->seed == state->seed && now->offset == state->offset + words)
        accel__generator_write(generator, state);
    accel__mutex_unlock(&generator->mutex);
}

/* ---- public ---- */

accel_status accel_generator_create(accel_device device, accel_generator **out_generator)
{
    const accel__rng_state state = {.seed = ACCEL_GENERATOR_DEFAULT_SEED};
    accel__device *found = NULL;
    if (out_generator == NULL)
        return accel__fail_null(__func__, "out_generator");
    *out_generator = NULL;
    const accel_status status = accel__device_resolve(device, __func__, &found);
    if (status != ACCEL_OK)
        return status;
    *out_generator = accel__generator_make(found, &state, __func__);
    return *out_generator != NULL ? ACCEL_OK : ACCEL_ERROR_OUT_OF_HOST_MEMORY;
}

static accel_status refuse_in_capture(accel_generator *generator, const char *function)
{
    accel__capture *capture = accel__random_capture_of(generator);
    if (capture == NULL)
        return ACCEL_OK;
    accel__capture_release(capture);
    return accel__fail(ACCEL_ERROR_CAPTURE, generator->device->backend->table.name, function,
                       "a generator cannot be cloned while the current stream captures; clone it "
                       "before");
}

accel_status accel_generator_clone(accel_generator *generator, accel_generator **out_generator)
{
    accel__rng_state state;
    if (out_generator == NULL)
        return accel__fail_null(__func__, "out_generator");
    *out_generator = NULL;
    accel_status status = accel__generator_check(generator, __func__);
    if (status == ACCEL_OK)
        status = refuse_in_capture(generator, __func__);
    if (status != ACCEL_OK)
        return status;
    accel__mutex_lock(&generator->mutex);
    status = accel__generator_answer(generator, &state, __func__);
    accel__mutex_unlock(&generator->mutex);
    if (status != ACCEL_OK)
        return status;
    *out_generator = accel__generator_make(generator->device, &state, __func__);
    return *out_generator != NULL ? ACCEL_OK : ACCEL_ERROR_OUT_OF_HOST_MEMORY;
}

void accel_generator_retain(accel_generator *generator)
{
    if (accel__handle_is_live(generator, ACCEL__HANDLE_GENERATOR) && !generator->is_default)
        atomic_fetch_add_explicit(&generator->references, 1, memory_order_relaxed);
}

void accel_generator_release(accel_generator *generator)
{
    if (!accel__handle_is_live(generator, ACCEL__HANDLE_GENERATOR) || generator->is_default ||
        atomic_fetch_sub(&generator->references, 1) != 1)
        return;
    accel__handle_close(&generator->handle);
    accel__deallocate(generator);
}

accel_status accel_generator_get_device(accel_generator *generator, accel_device *out_device)
{
    if (out_device == NULL)
        return accel__fail_null(__func__, "out_device");
    *out_device = ACCEL_DEVICE(ACCEL_BACKEND_NONE, ACCEL_INDEX_NONE);
    const accel_status status = accel__generator_check(generator, __func__);
    if (status == ACCEL_OK)
        *out_device = generator->device->id;
    return status;
}
