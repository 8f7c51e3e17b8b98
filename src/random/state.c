/* state.c: reading and setting generators: states as bytes, and what a capture makes of them. */
#include <accel/memory.h>
#include <string.h>

#include "base/error.h"
#include "base/lent.h"
#include "random/capture.h"
#include "random/defaults.h"

/* ---- bytes ---- */

static bool is_on_device(const void *pointer)
{
    accel_pointer_information information = {.struct_size = sizeof information};
    accel__error_mute();
    const accel_status status = accel_pointer_info(pointer, &information);
    accel__error_unmute();
    return status == ACCEL_OK && information.kind == ACCEL_MEMORY_KIND_DEVICE;
}

accel_status accel__rng_state_parse(const void *bytes, size_t size, accel__rng_state *out_state,
                                    const char *function)
{
    *out_state = (accel__rng_state){0};
    if (bytes == NULL)
        return accel__fail_null(function, "state");
    if (size != ACCEL_RNG_STATE_SIZE && size != sizeof out_state->seed)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "the state has %zu bytes: it must have %d (seed and offset) or %zu (the "
                           "seed alone)",
                           size, ACCEL_RNG_STATE_SIZE, sizeof out_state->seed);
    if (is_on_device(bytes))
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "the state lies in device memory: copy its bytes to host memory");
    memcpy(&out_state->seed, bytes, sizeof out_state->seed);
    if (size == ACCEL_RNG_STATE_SIZE)
        memcpy(&out_state->offset, (const char *)bytes + sizeof out_state->seed,
               sizeof out_state->offset);
    if (out_state->offset % 4 == 0)
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                       "the state's offset %llu is no multiple of 4",
                       (unsigned long long)out_state->offset);
}

void accel__rng_state_format(const accel__rng_state *state, void *bytes)
{
    memcpy(bytes, &state->seed, sizeof state->seed);
    memcpy((char *)bytes + sizeof state->seed, &state->offset, sizeof state->offset);
}

/* ---- what a caller sees ---- */

static accel_status fail_seed(const accel_generator *generator, const char *function)
{
    return accel__fail(
        ACCEL_ERROR_CAPTURE, generator->device->backend->table.name, function,
        "the seed cannot be changed while the current stream captures: set it before "
        "the capture, or before a replay");
}

static accel_status read_locked(accel_generator *generator, accel__rng_state *out_state,
                                const char *function)
{
    accel__mutex_lock(&generator->mutex);
    const accel_status status = accel__generator_answer(generator, out_state, function);
    accel__mutex_unlock(&generator->mutex);
    return status;
}

accel_status accel__generator_get(accel_generator *generator, accel__rng_state *out_state,
                                  const char *function)
{
    accel__capture *capture = accel__random_capture_of(generator);
    const accel_status status = read_locked(generator, out_state, function);
    if (capture == NULL)
        return status;
    const accel__random_part *part = (accel__random_part *)accel__capture_find_part(capture,
                                                                                    generator);
    accel__mutex_lock(&generator->mutex);
    out_state->offset = part != NULL ? part->drawn : 0;
    accel__mutex_unlock(&generator->mutex);
    accel__capture_release(capture);
    return status;
}

static accel_status set_in_capture(accel__capture *capture, accel_generator *generator,
                                   const accel__rng_state *state, const char *function)
{
    accel__random_part *part = NULL;
    accel__rng_state now;
    accel_status status = read_locked(generator, &now, function);
    if (status == ACCEL_OK && now.seed != state->seed)
        status = fail_seed(generator, function);
    if (status == ACCEL_OK)
        status = accel__random_part_get(capture, generator, &part, function);
    if (status != ACCEL_OK)
        return status;
    accel__mutex_lock(&generator->mutex);
    part->drawn = state->offset;
    part->most = part->drawn > part->most ? part->drawn : part->most;
    accel__mutex_unlock(&generator->mutex);
    return ACCEL_OK;
}

accel_status accel__generator_set(accel_generator *generator, const accel__rng_state *state,
                                  const char *function)
{
    accel__capture *capture = accel__random_capture_of(generator);
    if (capture != NULL) {
        const accel_status status = set_in_capture(capture, generator, state, function);
        accel__capture_release(capture);
        return status;
    }
    if (generator->is_default)
        return accel__default_set(generator, state, function);
    accel__mutex_lock(&generator->mutex);
    accel__generator_write(generator, state);
    accel__mutex_unlock(&generator->mutex);
    return ACCEL_OK;
}

accel_status accel__generator_check_seed(accel_generator *generator, uint64_t seed,
                                         bool *out_is_held, const char *function)
{
    accel__rng_state now;
    accel__capture *capture = accel__random_capture_of(generator);
    *out_is_held = capture != NULL;
    if (capture == NULL)
        return ACCEL_OK;
    accel__capture_release(capture);
    const accel_status status = read_locked(generator, &now, function);
    return status == ACCEL_OK && now.seed != seed ? fail_seed(generator, function) : status;
}

accel_status accel__generator_set_seed(accel_generator *generator, uint64_t seed,
                                       const char *function)
{
    const accel__rng_state state = {.seed = seed};
    bool is_held = false;
    const accel_status status = accel__generator_check_seed(generator, seed, &is_held, function);
    return status != ACCEL_OK || is_held ? status
                                         : accel__generator_set(generator, &state, function);
}

accel_status accel__generator_draw_seed(accel_generator *generator, uint64_t *out_seed,
                                        const char *function)
{
    uint64_t seed = 0;
    accel__capture *capture = accel__random_capture_of(generator);
    if (capture != NULL) {
        accel__capture_release(capture);
        return fail_seed(generator, function);
    }
    accel_status status = accel__random_seed_draw(&seed, function);
    if (status == ACCEL_OK)
        status = accel__generator_set_seed(generator, seed, function);
    if (status == ACCEL_OK)
        *out_seed = seed;
    return status;
}

/* ---- public ---- */

accel_status accel_generator_initial_seed(accel_generator *generator, uint64_t *out_seed)
{
    accel__rng_state state = {0};
    if (out_seed == NULL)
        return accel__fail_null(__func__, "out_seed");
    *out_seed = 0;
    accel_status status = accel__generator_check(generator, __func__);
    if (status == ACCEL_OK)
        status = accel__generator_get(generator, &state, __func__);
    if (status == ACCEL_OK)
        *out_seed = state.seed;
    return status;
}

accel_status accel_generator_manual_seed(accel_generator *generator, uint64_t seed)
{
    const accel_status status = accel__generator_check(generator, __func__);
    return status == ACCEL_OK ? accel__generator_set_seed(generator, seed, __func__) : status;
}

accel_status accel_generator_seed(accel_generator *generator, uint64_t *out_seed)
{
    if (out_seed == NULL)
        return accel__fail_null(__func__, "out_seed");
    *out_seed = 0;
    const accel_status status = accel__generator_check(generator, __func__);
    return status == ACCEL_OK ? accel__generator_draw_seed(generator, out_seed, __func__) : status;
}

accel_status accel_generator_get_offset(accel_generator *generator, uint64_t *out_offset)
{
    accel__rng_state state = {0};
    if (out_offset == NULL)
        return accel__fail_null(__func__, "out_offset");
    *out_offset = 0;
    accel_status status = accel__generator_check(generator, __func__);
    if (status == ACCEL_OK)
        status = accel__generator_get(generator, &state, __func__);
    if (status == ACCEL_OK)
        *out_offset = state.offset;
    return status;
}

accel_status accel_generator_set_offset(accel_generator *generator, uint64_t offset)
{
    accel__rng_state state;
    accel_status status = accel__generator_check(generator, __func__);
    if (status == ACCEL_OK && offset % 4 != 0)
        status = accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, generator->device->backend->table.name,
                             __func__, "the offset %llu is no multiple of 4",
                             (unsigned long long)offset);
    if (status == ACCEL_OK)
        status = accel__generator_get(generator, &state, __func__);
    if (status != ACCEL_OK)
        return status;
    state.offset = offset;
    return accel__generator_set(generator, &state, __func__);
}

accel_status accel__generator_get_bytes(accel_generator *generator, void *state, size_t capacity,
                                        size_t *out_needed, const char *function)
{
    accel__rng_state found;
    accel_status status = accel__buffer_check(state, capacity, ACCEL_RNG_STATE_SIZE, out_needed,
                                              function);
    if (status != ACCEL_OK || capacity == 0)
        return status;
    status = accel__generator_get(generator, &found, function);
    if (status == ACCEL_OK)
        accel__rng_state_format(&found, state);
    return status;
}

accel_status accel_generator_get_state(accel_generator *generator, void *state, size_t capacity,
                                       size_t *out_needed)
{
    if (out_needed != NULL)
        *out_needed = 0;
    const accel_status status = accel__generator_check(generator, __func__);
    return status == ACCEL_OK
               ? accel__generator_get_bytes(generator, state, capacity, out_needed, __func__)
               : status;
}

accel_status accel_generator_set_state(accel_generator *generator, const void *state, size_t size)
{
    accel__rng_state parsed;
    accel_status status = accel__generator_check(generator, __func__);
    if (status == ACCEL_OK)
        status = accel__rng_state_parse(state, size, &parsed, __func__);
    return status == ACCEL_OK ? accel__generator_set(generator, &parsed, __func__) : status;
}
