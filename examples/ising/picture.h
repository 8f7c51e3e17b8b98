/* picture.h: what the example draws: three lattices side by side, and the measured curves over the exact
 * ones. */
#ifndef EXAMPLES_ISING_PICTURE_H
#define EXAMPLES_ISING_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

/* At one temperature; energies and magnetisations are per site. */
typedef struct point {
    double temperature;
    double energy;
    double magnetisation;
    double heat;
    double exact_energy;
    double exact_magnetisation;
} point;

/* PREFIX.pgm: three lattices of side x side bytes (0 or 1). False, with a message, where it cannot be
 * written. */
bool picture_lattices(const char *prefix, const unsigned char *lattices, uint32_t side);

/* PREFIX.svg, likewise. Points come in the order of their temperatures. */
bool picture_curves(const char *prefix, const point *points, int count);

#endif
