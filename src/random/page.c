/* page.c: the functions that torch.accelerator names: default generators of the current device, and of
 * all devices of the current accelerator. */
#include <accel/random.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/lent.h"
#include "random/capture.h"
#include "random/defaults.h"

/* ---- one device ---- */

static accel_status find(accel_device device, accel_generator **out_generator, const char *function)
{
    accel__device *found = NULL;
    const accel_status status = accel__device_resolve(device, function, &found);
    return status == ACCEL_OK ? accel__default_generator(found, out_generator, function) : status;
}

accel_status accel_manual_seed(uint64_t seed)
{
    accel_generator *generator = NULL;
    const accel_status status = find(ACCEL_DEVICE_CURRENT, &generator, __func__);
    return status == ACCEL_OK ? accel__generator_set_seed(generator, seed, __func__) : status;
}

accel_status accel_seed(uint64_t *out_seed)
{
    accel_generator *generator = NULL;
    if (out_seed == NULL)
        return accel__fail_null(__func__, "out_seed");
    *out_seed = 0;
    const accel_status status = find(ACCEL_DEVICE_CURRENT, &generator, __func__);
    return status == ACCEL_OK ? accel__generator_draw_seed(generator, out_seed, __func__) : status;
}

accel_status accel_initial_seed(uint64_t *out_seed)
{
    accel_generator *generator = NULL;
    accel__rng_state state = {0};
    if (out_seed == NULL)
        return accel__fail_null(__func__, "out_seed");
    *out_seed = 0;
    accel_status status = find(ACCEL_DEVICE_CURRENT, &generator, __func__);
    if (status == ACCEL_OK)
        status = accel__generator_get(generator, &state, __func__);
    if (status == ACCEL_OK)
        *out_seed = state.seed;
    return status;
}

accel_status accel_get_rng_state(accel_device device, void *state, size_t capacity,
                                 size_t *out_needed)
{
    accel_generator *generator = NULL;
    if (out_needed != NULL)
        *out_needed = 0;
    const accel_status status = find(device, &generator, __func__);
    return status == ACCEL_OK
               ? accel__generator_get_bytes(generator, state, capacity, out_needed, __func__)
               : status;
}

accel_status accel_set_rng_state(accel_device device, const void *state, size_t size)
{
    accel_generator *generator = NULL;
    accel__rng_state parsed;
    accel_status status = find(device, &generator, __func__);
    if (status == ACCEL_OK)
        status = accel__rng_state_parse(state, size, &parsed, __func__);
    return status == ACCEL_OK ? accel__generator_set(generator, &parsed, __func__) : status;
}

/* ---- all devices ---- */

/* The default generators of all devices of the current accelerator. *out_list is freed by the caller. */
static accel_status find_all(accel__backend **out_backend, accel_generator ***out_list,
                             uint32_t *out_count, const char *function)
{
    int32_t count = 0;
    *out_list = NULL;
    accel_status status = accel__backend_resolve(ACCEL_BACKEND_CURRENT, function, out_backend);
    if (status == ACCEL_OK)
        status = accel__backend_count(*out_backend, &count, function);
    if (status != ACCEL_OK)
        return status;
    accel_generator **list = accel__allocate_array((size_t)count + 1, sizeof *list);
    if (list == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, (*out_backend)->table.name, function,
                           "no memory for a list of generators");
    for (int32_t i = 0; status == ACCEL_OK && i < count; i++)
        status = find(ACCEL_DEVICE((*out_backend)->number, i), &list[i], function);
    if (status != ACCEL_OK) {
        accel__deallocate(list);
        return status;
    }
    *out_list = list;
    *out_count = (uint32_t)count;
    return ACCEL_OK;
}

/* What a capture of the calling thread holds keeps its seed: then nothing is set. */
static accel_status check_all(accel_generator *const *list, uint32_t count, uint64_t seed,
                              uint32_t *out_held, const char *function)
{
    accel_status status = ACCEL_OK;
    *out_held = 0;
    for (uint32_t i = 0; status == ACCEL_OK && i < count; i++) {
        bool is_held = false;
        status = accel__generator_check_seed(list[i], seed, &is_held, function);
        *out_held += is_held;
    }
    return status;
}

static accel_status seed_all(uint64_t seed, const char *function)
{
    accel__backend *backend = NULL;
    accel_generator **list = NULL;
    uint32_t count = 0;
    uint32_t held = 0;
    accel_status status = find_all(&backend, &list, &count, function);
    if (status == ACCEL_OK)
        status = check_all(list, count, seed, &held, function);
    if (status == ACCEL_OK && held == 0)
        status = accel__default_set_all_seeds(backend, seed, function);
    /* One in a capture has the seed already; the others get it one by one. */
    for (uint32_t i = 0; held != 0 && status == ACCEL_OK && i < count; i++)
        status = accel__generator_set_seed(list[i], seed, function);
    accel__deallocate(list);
    return status;
}

accel_status accel_manual_seed_all(uint64_t seed)
{
    return seed_all(seed, __func__);
}

accel_status accel_seed_all(uint64_t *out_seed)
{
    uint64_t seed = 0;
    if (out_seed == NULL)
        return accel__fail_null(__func__, "out_seed");
    *out_seed = 0;
    accel_status status = accel__random_seed_draw(&seed, __func__);
    if (status == ACCEL_OK)
        status = seed_all(seed, __func__);
    if (status == ACCEL_OK)
        *out_seed = seed;
    return status;
}

accel_status accel_get_rng_state_all(void *states, size_t capacity, size_t *out_needed)
{
    accel__backend *backend = NULL;
    accel_generator **list = NULL;
    uint32_t count = 0;
    if (out_needed != NULL)
        *out_needed = 0;
    accel_status status = find_all(&backend, &list, &count, __func__);
    if (status != ACCEL_OK)
        return status;
    status = accel__buffer_check(states, capacity, (size_t)count * ACCEL_RNG_STATE_SIZE, out_needed,
                                 __func__);
    if (capacity == 0)
        count = 0; /* only the size is asked */
    accel__rng_state *found = accel__allocate_array((size_t)count + 1, sizeof *found);
    if (status == ACCEL_OK && found == NULL)
        status = accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, backend->table.name, __func__,
                             "no memory for states");
    for (uint32_t i = 0; status == ACCEL_OK && i < count; i++)
        status = accel__generator_get(list[i], &found[i], __func__);
    for (uint32_t i = 0; status == ACCEL_OK && i < count; i++)
        accel__rng_state_format(&found[i], (char *)states + (size_t)i * ACCEL_RNG_STATE_SIZE);
    accel__deallocate(found);
    accel__deallocate(list);
    return status;
}

/* All are looked at before one is set. */
static accel_status parse_all(const void *states, size_t size, accel__rng_state *out_parsed,
                              accel_generator *const *list, uint32_t count, const char *function)
{
    accel_status status = ACCEL_OK;
    if (states == NULL && count != 0)
        return accel__fail_null(function, "states");
    if (size != (size_t)count * ACCEL_RNG_STATE_SIZE)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "the states have %zu bytes: %u devices of %d bytes each are wanted",
                           size, count, ACCEL_RNG_STATE_SIZE);
    for (uint32_t i = 0; status == ACCEL_OK && i < count; i++) {
        const char *bytes = (const char *)states + (size_t)i * ACCEL_RNG_STATE_SIZE;
        bool is_held = false;
        status = accel__rng_state_parse(bytes, ACCEL_RNG_STATE_SIZE, &out_parsed[i], function);
        if (status == ACCEL_OK)
            status = accel__generator_check_seed(list[i], out_parsed[i].seed, &is_held, function);
        if (status == ACCEL_OK && is_held)
            status = accel__fail(ACCEL_ERROR_CAPTURE, NULL, function,
                                 "the states of all devices cannot be set while a current stream "
                                 "captures; set one with accel_set_rng_state");
    }
    return status;
}

accel_status accel_set_rng_state_all(const void *states, size_t size)
{
    accel__backend *backend = NULL;
    accel_generator **list = NULL;
    uint32_t count = 0;
    accel_status status = find_all(&backend, &list, &count, __func__);
    if (status != ACCEL_OK)
        return status;
    accel__rng_state *parsed = accel__allocate_array((size_t)count + 1, sizeof *parsed);
    status = parsed != NULL ? parse_all(states, size, parsed, list, count, __func__)
                            : accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, backend->table.name,
                                          __func__, "no memory for states");
    if (status == ACCEL_OK && count != 0)
        status = accel__default_set_states(backend, list, parsed, count, __func__);
    accel__deallocate(parsed);
    accel__deallocate(list);
    return status;
}
