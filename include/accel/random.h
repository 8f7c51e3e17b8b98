/* SPDX-License-Identifier: MIT
 * random.h: generators of random numbers, and memory filled with them.
 *
 * A generator is a seed and an offset. Element i of a fill is a pure function of (seed, offset, i), bit
 * for bit the same on every backend: docs/random.md has the formulas, <accel/philox.h> is them. A fill
 * takes the generator's seed and offset as they are at the call, and moves the offset on by the words of
 * 32 bits that it may use, rounded up to a multiple of 4: one word an element, two for types of 64 bits.
 *
 * Each device has a default generator, whose seed accel draws from the system until it is set. What the
 * functions without a generator do (accel_manual_seed and its kin) is deferred: where the backend has
 * not started, it holds at once for questions, and for draws in its place among the other deferred calls,
 * when the backend starts: a call that was deferred before it draws without it. Functions of an explicit
 * generator hold at once.
 *
 * Seeds are any 64 bits. A negative seed down to -2^63 stands for its two's complement, which is what C
 * makes of it on the way into a uint64_t.
 *
 * Fork: a seed that was set is the same in a child: parent and children draw the same numbers from then
 * on, unless they are reseeded. A seed that accel drew for a default generator is drawn anew in each
 * process.
 *
 * Captures: a fill on a stream that captures becomes part of the graph: it reads seed and offset from
 * device memory, which each replay sets and then moves on, so that replays draw fresh numbers, the same
 * as the same calls without a graph would. While the current stream of the calling thread (of the
 * generator's device) captures, the functions below act on what the graph has drawn: states and offsets
 * that are read or set count from the graph's begin. A seed cannot be changed then, nor a generator be
 * cloned (ACCEL_ERROR_CAPTURE; the capture goes on).
 */
#ifndef ACCEL_RANDOM_H
#define ACCEL_RANDOM_H

#include <accel/data_type.h>
#include <accel/stream.h>

ACCEL_BEGIN_DECLS

typedef struct accel_generator accel_generator; /* counted; locked inside: any thread */

/* The seed of an explicit generator until it is set. */
#define ACCEL_GENERATOR_DEFAULT_SEED UINT64_C(67280421310721)

/* Bytes of a state: the seed, then the offset, as two uint64_t of this machine. A state that is set may
 * also be the seed alone (8 bytes): offset 0. */
#define ACCEL_RNG_STATE_SIZE 16

/* ---- generators ---- */

/* accel_generator_create (question): a generator for `device`, with the seed above and offset 0. Starts
 * nothing. Errors: INVALID_ARGUMENT, those of the device, OUT_OF_HOST_MEMORY. */
ACCEL_API accel_status accel_generator_create(accel_device device, accel_generator **out_generator);

/* accel_generator_default (question): lends the device's default generator. Errors as above; SYSTEM
 * where the system gives no random bytes. */
ACCEL_API accel_status accel_generator_default(accel_device device,
                                               accel_generator **out_generator);

/* accel_generator_clone (question): another one with the same device, seed and offset. Errors:
 * INVALID_ARGUMENT, CAPTURE, SYSTEM, OUT_OF_HOST_MEMORY. */
ACCEL_API accel_status accel_generator_clone(accel_generator *generator,
                                             accel_generator **out_generator);

/* Counted references; NULL is a no-op; a default generator stays. A graph that has captured a fill keeps
 * its generator. */
ACCEL_API void accel_generator_retain(accel_generator *generator);
ACCEL_API void accel_generator_release(accel_generator *generator);

/* Questions about a generator, and setting it. Errors of all: INVALID_ARGUMENT for NULL (and released
 * handles in debug builds); SYSTEM where a seed must be drawn and the system gives none; CAPTURE as
 * said above. A failure changes nothing. Any thread; fork: as said above. */
ACCEL_API accel_status accel_generator_get_device(accel_generator *generator,
                                                  accel_device *out_device);
ACCEL_API accel_status accel_generator_initial_seed(accel_generator *generator, uint64_t *out_seed);
/* Sets the seed, and the offset to 0. In a capture: nothing, where it is the seed already. */
ACCEL_API accel_status accel_generator_manual_seed(accel_generator *generator, uint64_t seed);
/* The same with a seed from the system, which it tells. Counts as one that was set. */
ACCEL_API accel_status accel_generator_seed(accel_generator *generator, uint64_t *out_seed);
ACCEL_API accel_status accel_generator_get_offset(accel_generator *generator, uint64_t *out_offset);
/* INVALID_ARGUMENT for an offset that is no multiple of 4. */
ACCEL_API accel_status accel_generator_set_offset(accel_generator *generator, uint64_t offset);
/* ACCEL_RNG_STATE_SIZE bytes; OUT_OF_RANGE: a small buffer. */
ACCEL_API accel_status accel_generator_get_state(accel_generator *generator, void *state,
                                                 size_t capacity, size_t *out_needed);
/* `size` bytes in host memory, ACCEL_RNG_STATE_SIZE or 8. INVALID_ARGUMENT for other sizes, an offset
 * that is no multiple of 4, and device memory. */
ACCEL_API accel_status accel_generator_set_state(accel_generator *generator, const void *state,
                                                 size_t size);

/* ---- default generators, by the names of torch.accelerator ---- */

/* On the current device, and on all devices of the current accelerator. Questions: initial_seed and the
 * get functions; the others are deferred. Errors: those of finding the device (UNAVAILABLE where there
 * is none, CANNOT_TELL), those above, and OUT_OF_HOST_MEMORY. */
ACCEL_API accel_status accel_manual_seed(uint64_t seed);
ACCEL_API accel_status accel_manual_seed_all(uint64_t seed);
ACCEL_API accel_status accel_seed(uint64_t *out_seed);
ACCEL_API accel_status accel_seed_all(uint64_t *out_seed); /* one seed for all devices */
ACCEL_API accel_status accel_initial_seed(uint64_t *out_seed);
ACCEL_API accel_status accel_get_rng_state(accel_device device, void *state, size_t capacity,
                                           size_t *out_needed);
ACCEL_API accel_status accel_set_rng_state(accel_device device, const void *state, size_t size);
/* The states of devices 0, 1, …, one behind the other: ACCEL_RNG_STATE_SIZE bytes each. All are set, or
 * none. */
ACCEL_API accel_status accel_get_rng_state_all(void *states, size_t capacity, size_t *out_needed);
ACCEL_API accel_status accel_set_rng_state_all(const void *states, size_t size);

/* ---- fills ---- */

/* All of them (use) are asynchronous on `stream` (NULL: the current stream of the memory's device) and
 * write `count` elements of `type` to `data`: device memory of the stream's device, aligned to the type.
 * `generator` (NULL: the default one) is of that device, too. `count` 0 does nothing.
 * Errors: INVALID_ARGUMENT (NULL, no device memory, alignment, a type or a range that the function does
 * not take), OUT_OF_RANGE (more than the allocation holds; an offset that would not stay below 2^64: no
 * number is used up then), MISMATCH (devices), UNSUPPORTED (float64 where the device has none),
 * NO_COMPILER and BUILD_FAILED (backends without fills of their own, at the first fill of a kind),
 * SYSTEM (a default generator's seed cannot be drawn), IN_CALLBACK, CAPTURE, OUT_OF_MEMORY (in a capture),
 * OUT_OF_HOST_MEMORY, FORKED, the stream's failure. Any thread. */

/* The words themselves. U32, I32; U64, I64: two words each. */
ACCEL_API accel_status accel_random_raw(void *data, accel_data_type type, size_t count,
                                        accel_generator *generator, accel_stream *stream);

/* Integers from `least` to `most`, both included, equally likely without any bias. Integer types; for
 * signed ones the bounds are two's complements, as C passes negative numbers. */
ACCEL_API accel_status accel_random_integers(void *data, accel_data_type type, size_t count,
                                             uint64_t least, uint64_t most,
                                             accel_generator *generator, accel_stream *stream);

/* In [0, 1), never 1: multiples of 2^-11 (F16), 2^-8 (BF16), 2^-24 (F32), 2^-53 (F64). */
ACCEL_API accel_status accel_random_uniform(void *data, accel_data_type type, size_t count,
                                            accel_generator *generator, accel_stream *stream);

/* Mean 0, standard deviation 1. F16, BF16, F32, F64. */
ACCEL_API accel_status accel_random_normal(void *data, accel_data_type type, size_t count,
                                           accel_generator *generator, accel_stream *stream);

/* Mean 1, from 0 on. F16, BF16, F32, F64. */
ACCEL_API accel_status accel_random_exponential(void *data, accel_data_type type, size_t count,
                                                accel_generator *generator, accel_stream *stream);

/* 1 with `probability` (0 to 1, rounded to a multiple of 2^-32), else 0. BOOL, integers, floats. */
ACCEL_API accel_status accel_random_bernoulli(void *data, accel_data_type type, size_t count,
                                              double probability, accel_generator *generator,
                                              accel_stream *stream);

/* ---- numbers for kernels of one's own ---- */

/* What a kernel hands to accel_philox_open of <accel/philox.h>, as four arguments. */
typedef struct accel_random_reservation {
    uint32_t struct_size; /* in */
    uint32_t from_cells;  /* 1: in a capture: seed and base of the offset lie in `cells` */
    uint64_t seed;
    uint64_t offset;
    const uint64_t *cells; /* device memory of the graph; NULL outside of a capture */
} accel_random_reservation;

/* accel_random_reserve (use): takes `word_count` words, rounded up to a multiple of 4, from the generator
 * (NULL: the default one of the stream's device), for a kernel that is launched on `stream` (NULL: the
 * current stream of the current device). Starts the backend: a seed that is deferred comes first, and
 * must not hand the same words out again. Errors: INVALID_ARGUMENT, OUT_OF_RANGE, MISMATCH, CAPTURE,
 * IN_CALLBACK (where `stream` captures), FORKED, SYSTEM, OUT_OF_MEMORY, OUT_OF_HOST_MEMORY, and those of
 * the start. A failure takes no words. Any thread. */
ACCEL_API accel_status accel_random_reserve(accel_generator *generator, accel_stream *stream,
                                            uint64_t word_count,
                                            accel_random_reservation *out_reservation);

ACCEL_END_DECLS

#endif /* ACCEL_RANDOM_H */
