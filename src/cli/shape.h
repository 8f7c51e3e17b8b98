/* shape.h: -g and -l of `accel run`: work-items and block in one to three dimensions. */
#ifndef ACCEL_CLI_SHAPE_H
#define ACCEL_CLI_SHAPE_H

#include <accel/kernel.h>

#include "cli/report.h"

typedef struct accel__shape {
    uint64_t items[3]; /* of the whole grid */
    uint64_t block[3]; /* work-items of a block; all 0: not given */
    bool picked;       /* the block is our choice: worth a note */
} accel__shape;

/* "GX[,GY[,GZ]]"; dimensions that are left out are 1. `option` names it in messages. */
accel__exit accel__shape_parse(const char *text, const char *option, uint64_t values[3]);

/* Picks a block where none was given, checks that it divides the grid, and gives the
 * launch's shape in blocks. */
accel__exit accel__shape_resolve(accel__shape *shape, const accel_device_capability *capability,
                                 accel_launch_shape *out_launch);

#endif
