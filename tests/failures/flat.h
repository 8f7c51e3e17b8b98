/* flat.h: whether a process stays as it is while a scenario runs again and again. */
#ifndef TESTS_FAILURES_FLAT_H
#define TESTS_FAILURES_FLAT_H

#include "scenario.h"

/* Runs it at least `rounds` times, and for so many seconds, with nothing failing. False: something grew, or
 * went wrong; says what. */
bool flat_run(world *w, const scenario *of, unsigned rounds, double seconds);

#endif
