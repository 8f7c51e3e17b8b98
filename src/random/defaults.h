/* defaults.h: the default generators, and what of them is deferred until their backend starts. */
#ifndef ACCEL_RANDOM_DEFAULTS_H
#define ACCEL_RANDOM_DEFAULTS_H

#include "random/generator.h"

/* Lends the device's default generator; makes it at the first call. */
accel_status accel__default_generator(accel__device *device, accel_generator **out_generator,
                                      const char *function);

/* With the mutex held: the state that questions answer with. It is the one that is asked for, where a
 * deferred change is queued, but for the deferred calls: these see what draws use. SYSTEM. */
accel_status accel__generator_answer(accel_generator *generator, accel__rng_state *out_state,
                                     const char *function);

/* With the mutex held: nothing is asked for any more. Needed where the change never came to its turn: a
 * program's own deferred seed may have made it needless. */
void accel__generator_forget_asked(accel_generator *generator);

/* Sets a default generator's state: deferred. */
accel_status accel__default_set(accel_generator *generator, const accel__rng_state *state,
                                const char *function);

/* Sets the seed of all default generators of a backend, also of those that are not made yet. */
accel_status accel__default_set_all_seeds(accel__backend *backend, uint64_t seed,
                                          const char *function);

/* Sets the states of devices 0 to count - 1. `generators` and `states` are copied. */
accel_status accel__default_set_states(accel__backend *backend, accel_generator *const *generators,
                                       const accel__rng_state *states, uint32_t count,
                                       const char *function);

#endif
