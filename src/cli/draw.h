/* draw.h: what `accel random` is asked to draw: DIST:DTYPE[SHAPE], a seed and an offset. Parsed here,
 * before any device is touched; called by random.c alone. */
#ifndef ACCEL_CLI_DRAW_H
#define ACCEL_CLI_DRAW_H

#include <accel/random.h>

#include "cli/npy.h"
#include "cli/report.h"

typedef enum accel__draw_kind {
    ACCEL__DRAW_RAW,
    ACCEL__DRAW_UNIFORM,
    ACCEL__DRAW_NORMAL,
    ACCEL__DRAW_EXPONENTIAL,
    ACCEL__DRAW_INTEGERS,
    ACCEL__DRAW_BERNOULLI
} accel__draw_kind;

typedef struct accel__draw {
    accel__draw_kind kind;
    uint64_t least; /* of integers; two's complements */
    uint64_t most;
    double probability; /* of bernoulli */
    accel__npy_layout layout;
} accel__draw;

/* "normal:f32[1024,3]", "integers(-5,5):i8[10]", "bernoulli(0.25):bool[10]". */
accel__exit accel__draw_parse(const char *text, accel__draw *out_draw);

/* -2^63 to 2^64 - 1; a negative one as its two's complement. */
accel__exit accel__draw_parse_seed(const char *text, uint64_t *out_seed);

/* A multiple of 4 below 2^64. */
accel__exit accel__draw_parse_offset(const char *text, uint64_t *out_offset);

/* The name of the distribution, without its parameters. */
const char *accel__draw_name(const accel__draw *draw);

/* Queues the fill of `data`. */
accel_status accel__draw_fill(const accel__draw *draw, void *data, accel_generator *generator,
                              accel_stream *stream);

#endif
