/* worker.h: what main.c starts in a process of its own. */
#ifndef TESTS_FUZZ_API_WORKER_H
#define TESTS_FUZZ_API_WORKER_H

#include <stdint.h>

enum { FUZZ_STEPS = 250 }; /* of a thread in a round */

/* Runs that many rounds with what `world` says. Returns 0, or 77 where the backend has no device; ends the
 * process by abort() where something is wrong. */
int fuzz_work(uint32_t round_count);

#endif
