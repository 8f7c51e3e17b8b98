/* random.c: steps over generators, their states, and fills. */
#include <string.h>

#include "world.h"

static accel_generator *take_generator(fuzz_thread *thread)
{
    accel_generator *generator = NULL;
    if (draw_chance(&thread->draw, 20) &&
        CALL(thread, accel_generator_default, fuzz_device(thread), &generator) == ACCEL_OK)
        return generator;
    return fuzz_take(thread, FUZZ_GENERATOR);
}

static void make_generator(fuzz_thread *thread)
{
    accel_generator *generator = NULL;
    accel_generator *clone = NULL;
    if (MAKE(thread, accel_generator_create, &generator, fuzz_device(thread)) == ACCEL_OK) {
        if (draw_chance(&thread->draw, 50) &&
            MAKE(thread, accel_generator_clone, &clone, generator) == ACCEL_OK)
            fuzz_put(thread, FUZZ_GENERATOR, clone);
        fuzz_put(thread, FUZZ_GENERATOR, generator);
    }
    CALL(thread, accel_generator_create, fuzz_device(thread), NULL);
    CALL(thread, accel_generator_clone, NULL, &clone);
    CALL(thread, accel_generator_default, fuzz_device(thread), NULL);
}

static uint64_t draw_offset(fuzz_thread *thread)
{
    static const uint64_t odd[] = {0, 1, 2, UINT64_MAX, UINT64_MAX - 3, UINT64_MAX - 7, 4};
    return draw_chance(&thread->draw, 30) ? odd[draw_below(&thread->draw, 7)]
                                          : (uint64_t)draw_below(&thread->draw, 1000) * 4;
}

static void ask_generator(fuzz_thread *thread)
{
    accel_generator *generator = take_generator(thread);
    accel_device device = {77, 77};
    uint64_t seed = 77;
    uint64_t offset = 77;
    size_t needed = 0;
    unsigned char state[ACCEL_RNG_STATE_SIZE] = {0};
    if (CALL(thread, accel_generator_get_device, generator, &device) != ACCEL_OK)
        REQUIRE(thread, device.backend == ACCEL_BACKEND_NONE, "a device is left after a failure");
    if (CALL(thread, accel_generator_initial_seed, generator, &seed) != ACCEL_OK)
        REQUIRE(thread, seed == 0, "a seed is left after a failure");
    if (CALL(thread, accel_generator_get_offset, generator, &offset) != ACCEL_OK)
        REQUIRE(thread, offset == 0, "an offset is left after a failure");
    else
        REQUIRE(thread, offset % 4 == 0, "an offset is %llu", (unsigned long long)offset);
    const size_t capacity = draw_chance(&thread->draw, 80) ? sizeof state
                                                           : draw_below(&thread->draw, 16);
    if (CALL(thread, accel_generator_get_state, generator, state, capacity, &needed) == ACCEL_OK) {
        REQUIRE(thread, needed == sizeof state, "a state has %zu bytes", needed);
        CALL(thread, accel_generator_set_state, generator, state,
             draw_chance(&thread->draw, 80) ? sizeof state : draw_below(&thread->draw, 20) % 17);
    }
    CALL(thread, accel_generator_set_state, generator, fuzz_good_device(thread)->scratch,
         sizeof state);
    CALL(thread, accel_generator_get_state, generator, NULL, 0, &needed);
    if (draw_chance(&thread->draw, 10)) {
        CALL(thread, accel_generator_get_device, generator, NULL);
        CALL(thread, accel_generator_initial_seed, generator, NULL);
        CALL(thread, accel_generator_get_offset, generator, NULL);
        CALL(thread, accel_generator_set_state, generator, NULL, 8);
    }
    fuzz_drop(thread, FUZZ_GENERATOR, generator);
}

static void set_generator(fuzz_thread *thread)
{
    accel_generator *generator = take_generator(thread);
    uint64_t seed = 0;
    uint64_t told = 77;
    const uint64_t wanted = draw_bits(&thread->draw);
    switch (draw_below(&thread->draw, 3)) {
    case 0:
        if (CALL(thread, accel_generator_manual_seed, generator, wanted) == ACCEL_OK &&
            fuzz_is_alone())
            REQUIRE(thread,
                    CALL(thread, accel_generator_initial_seed, generator, &seed) == ACCEL_OK &&
                        seed == wanted,
                    "a seed was set and is another one");
        break;
    case 1:
        if (CALL(thread, accel_generator_seed, generator, &told) == ACCEL_OK && fuzz_is_alone())
            REQUIRE(thread,
                    CALL(thread, accel_generator_initial_seed, generator, &seed) == ACCEL_OK &&
                        seed == told,
                    "a seed was told and is another one");
        break;
    default:
        CALL(thread, accel_generator_set_offset, generator, draw_offset(thread));
        break;
    }
    fuzz_drop(thread, FUZZ_GENERATOR, generator);
}

static void set_seeds(fuzz_thread *thread)
{
    unsigned char states[FUZZ_DEVICES_MAX * ACCEL_RNG_STATE_SIZE] = {0};
    uint64_t seed = 77;
    size_t needed = 0;
    switch (draw_below(&thread->draw, 6)) {
    case 0:
        CALL(thread, accel_manual_seed, draw_bits(&thread->draw));
        break;
    case 1:
        CALL(thread, accel_manual_seed_all, draw_bits(&thread->draw));
        break;
    case 2:
        CALL(thread, accel_seed, &seed);
        CALL(thread, accel_seed_all, &seed);
        break;
    case 3:
        if (CALL(thread, accel_initial_seed, &seed) != ACCEL_OK)
            REQUIRE(thread, seed == 0, "a seed is left after a failure");
        CALL(thread, accel_initial_seed, NULL);
        break;
    case 4: {
        const accel_device device = fuzz_device(thread);
        if (CALL(thread, accel_get_rng_state, device, states, ACCEL_RNG_STATE_SIZE, &needed) ==
            ACCEL_OK)
            CALL(thread, accel_set_rng_state, device, states, needed);
        CALL(thread, accel_set_rng_state, fuzz_device(thread), states,
             draw_below(&thread->draw, 20));
        CALL(thread, accel_get_rng_state, device, states, 3, NULL);
        break;
    }
    default:
        if (CALL(thread, accel_get_rng_state_all, states, sizeof states, &needed) == ACCEL_OK)
            CALL(thread, accel_set_rng_state_all, states, needed);
        CALL(thread, accel_set_rng_state_all, states, draw_below(&thread->draw, 50));
        break;
    }
}

static void fill(fuzz_thread *thread)
{
    const fuzz_device_state *device = fuzz_good_device(thread);
    accel_generator *generator = take_generator(thread);
    accel_stream *stream = fuzz_take_stream(thread);
    const accel_data_type type = (accel_data_type)draw_below(&thread->draw, 18);
    size_t count = fuzz_size(thread);
    /* Only scratch memory may be named. */
    void *data = draw_chance(&thread->draw, 3)
                     ? NULL
                     : device->scratch + draw_below(&thread->draw, 99) * 8;
    if (draw_chance(&thread->draw, 3))
        data = fuzz_host;
    const double probability = draw_chance(&thread->draw, 80) ? 0.25
                                                              : draw_below(&thread->draw, 5) - 2.0;
    switch (draw_below(&thread->draw, 6)) {
    case 0:
        CALL(thread, accel_random_raw, data, type, count, generator, stream);
        break;
    case 1:
        CALL(thread, accel_random_integers, data, type, count, draw_bits(&thread->draw) >> 60,
             draw_bits(&thread->draw) >> 57, generator, stream);
        break;
    case 2:
        CALL(thread, accel_random_uniform, data, type, count, generator, stream);
        break;
    case 3:
        CALL(thread, accel_random_normal, data, type, count, generator, stream);
        break;
    case 4:
        CALL(thread, accel_random_exponential, data, type, count, generator, stream);
        break;
    default:
        CALL(thread, accel_random_bernoulli, data, type, count, probability, generator, stream);
        break;
    }
    fuzz_drop(thread, FUZZ_STREAM, stream);
    fuzz_drop(thread, FUZZ_GENERATOR, generator);
}

static void reserve(fuzz_thread *thread)
{
    accel_generator *generator = take_generator(thread);
    accel_stream *stream = fuzz_take_stream(thread);
    OUT_STRUCT(accel_random_reservation, reservation);
    const uint64_t words = draw_chance(&thread->draw, 90)
                               ? draw_below(&thread->draw, 1000)
                               : UINT64_MAX - draw_below(&thread->draw, 9);
    if (CALL(thread, accel_random_reserve, generator, stream, words, &reservation.as) == ACCEL_OK &&
        reservation.as.struct_size == sizeof reservation.as)
        REQUIRE(thread, reservation.as.offset % 4 == 0, "words begin in the middle of a draw");
    CALL(thread, accel_random_reserve, generator, stream, words, NULL);
    fuzz_drop(thread, FUZZ_STREAM, stream);
    fuzz_drop(thread, FUZZ_GENERATOR, generator);
}

/* Two generators of one state fill the same. */
static void compare(fuzz_thread *thread)
{
    const fuzz_device_state *device = fuzz_good_device(thread);
    accel_generator *one = NULL;
    accel_generator *other = NULL;
    accel_stream *stream = fuzz_take(thread, FUZZ_STREAM);
    accel_device device_of_stream = {0, 0};
    if (stream != NULL)
        CALL(thread, accel_stream_get_device, stream, &device_of_stream);
    const size_t size = (size_t)8 * (1 + draw_below(&thread->draw, 100));
    unsigned char got[2][808];
    if (fuzz_state_of(device_of_stream) == device &&
        MAKE(thread, accel_generator_create, &one, device->device) == ACCEL_OK) {
        REQUIRE(thread,
                CALL(thread, accel_generator_manual_seed, one, draw_bits(&thread->draw)) ==
                    ACCEL_OK,
                "no seed");
        REQUIRE(thread, MAKE(thread, accel_generator_clone, &other, one) == ACCEL_OK, "no clone");
        accel_generator *const both[] = {one, other};
        for (int i = 0; i < 2; i++) {
            fuzz_block *block = fuzz_make_block(thread, stream, size, ACCEL_MEMORY_KIND_DEVICE);
            if (block == NULL) { /* out of memory */
                memset(got, 0, sizeof got);
                break;
            }
            REQUIRE(thread,
                    CALL(thread, accel_random_raw, block->pointer, ACCEL_DATA_TYPE_U32, size / 4,
                         both[i], stream) == ACCEL_OK,
                    "no numbers");
            CALL(thread, accel_copy, got[i], block->pointer, size, stream);
            fuzz_free_block(thread, block);
            CALL(thread, accel_stream_synchronize, stream);
        }
        REQUIRE(thread, memcmp(got[0], got[1], size) == 0, "equal generators fill differently");
    }
    fuzz_drop(thread, FUZZ_GENERATOR, one);
    fuzz_drop(thread, FUZZ_GENERATOR, other);
    fuzz_drop(thread, FUZZ_STREAM, stream);
}

const fuzz_step fuzz_steps_random[] = {
    {"make generator", 3, make_generator},
    {"ask generator", 4, ask_generator},
    {"set generator", 4, set_generator},
    {"set seeds", 4, set_seeds},
    {"fill scratch", 8, fill},
    {"reserve", 3, reserve},
    {"compare generators", 3, compare},
    {NULL, 0, NULL},
};
