/* generator.h: the generator object, and the one way to read and change its state.
 *
 * The state lies in two slots, of which `which` names the valid one: a change fills the other and then
 * switches, so that a child forked in the middle of it has a whole state. */
#ifndef ACCEL_RANDOM_GENERATOR_H
#define ACCEL_RANDOM_GENERATOR_H

#include <accel/random.h>

#include "base/handle.h"
#include "core/device.h"

typedef struct accel__rng_state {
    uint64_t seed;
    uint64_t offset; /* a multiple of 4 */
    /* Not 0: accel drew the seed, in the process of that generation; another draws its own. */
    uint32_t drawn_in;
} accel__rng_state;

struct accel_generator {
    accel__handle handle;
    _Atomic(uint32_t) references; /* a default generator's are not counted */
    bool is_default;
    accel__device *device;
    accel__mutex
        mutex; /* guards what follows, and parts of captures that are of this generator; a leaf */
    accel__rng_state slots[2];
    _Atomic(uint32_t) which;
    /* What a deferred change will set it to, the last one that is queued; NULL: none is. One word, so that a
     * child forked in the middle of a change has the one or the other. */
    _Atomic(struct accel__rng_change *) asked;
};

accel_status accel__generator_check(const accel_generator *generator, const char *function);

/* Makes one with one reference. NULL: no memory (recorded). */
accel_generator *accel__generator_make(accel__device *device, const accel__rng_state *state,
                                       const char *function);

/* With the mutex held: the state that draws use. Read may draw a seed anew: SYSTEM where that fails. */
accel_status accel__generator_read(accel_generator *generator, accel__rng_state *out_state,
                                   const char *function);
void accel__generator_write(accel_generator *generator, const accel__rng_state *state);

/* Takes `words` (a multiple of 4) at the generator's offset; *out_state is the state before. OUT_OF_RANGE
 * where the offset would not stay below 2^64. */
accel_status accel__generator_take(accel_generator *generator, uint64_t words,
                                   accel__rng_state *out_state, const char *function);
/* Undoes that where nobody has used the generator since. */
void accel__generator_give_back(accel_generator *generator, const accel__rng_state *state,
                                uint64_t words);

/* A seed from the system. SYSTEM. */
accel_status accel__random_seed_draw(uint64_t *out_seed, const char *function);

/* ---- states as bytes ---- */

accel_status accel__rng_state_parse(const void *bytes, size_t size, accel__rng_state *out_state,
                                    const char *function);
void accel__rng_state_format(const accel__rng_state *state, void *bytes);

/* ---- reading and setting, as a caller sees it: in a capture, what the graph has drawn ---- */

accel_status accel__generator_get(accel_generator *generator, accel__rng_state *out_state,
                                  const char *function);
accel_status accel__generator_set(accel_generator *generator, const accel__rng_state *state,
                                  const char *function);
/* OK where no capture holds the seed, or holds the same. *out_is_held: one does. */
accel_status accel__generator_check_seed(accel_generator *generator, uint64_t seed,
                                         bool *out_is_held, const char *function);

/* Sets the seed, and the offset to 0: nothing where a capture holds the same one. */
accel_status accel__generator_set_seed(accel_generator *generator, uint64_t seed,
                                       const char *function);
/* The same with a seed from the system; no capture may hold the generator. */
accel_status accel__generator_draw_seed(accel_generator *generator, uint64_t *out_seed,
                                        const char *function);
accel_status accel__generator_get_bytes(accel_generator *generator, void *state, size_t capacity,
                                        size_t *out_needed, const char *function);

#endif
