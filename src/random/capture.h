/* capture.h: generators in captures. For each generator that a capture has met there is a part of the
 * graph: two cells in device memory, the seed and the offset, which each replay sets before its work. */
#ifndef ACCEL_RANDOM_CAPTURE_H
#define ACCEL_RANDOM_CAPTURE_H

#include "core/capture.h"
#include "random/generator.h"

typedef struct accel__random_part {
    accel__capture_part base;
    accel_generator *generator; /* counted */
    uint64_t *cells;            /* device memory: seed, offset */
    accel_stream *home;         /* that of `cells`: the device's default stream */
    bool is_ordered;            /* a stream of a replay has waited for `home` */
    /* Guarded by the generator's mutex while the capture is open; constant then. In words. */
    uint64_t drawn; /* by the graph so far: what a replay moves the offset on by */
    uint64_t most;  /* the greatest that `drawn` has been: what a replay may use */
} accel__random_part;

/* The generator's part of the capture, which is made where there is none yet. */
accel_status accel__random_part_get(accel__capture *capture, accel_generator *generator,
                                    accel__random_part **out_part, const char *function);

/* The capture that the calling thread's current stream of the generator's device is part of, counted;
 * NULL: none. */
accel__capture *accel__random_capture_of(const accel_generator *generator);

/* As accel__generator_take, for a fill in a capture. */
accel_status accel__random_part_take(accel__random_part *part, uint64_t words, uint64_t *out_offset,
                                     const char *function);
void accel__random_part_give_back(accel__random_part *part, uint64_t offset, uint64_t words);

#endif
