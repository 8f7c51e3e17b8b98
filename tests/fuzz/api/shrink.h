/* shrink.h: a failing sequence made shorter. */
#ifndef TESTS_FUZZ_API_SHRINK_H
#define TESTS_FUZZ_API_SHRINK_H

#include <stdint.h>

#include "calls.h"
#include "worker.h"

enum {
    FUZZ_ROUNDS_MAX = 64,
    FUZZ_KEEP_SIZE = FUZZ_ROUNDS_MAX * FUZZ_THREADS_MAX * FUZZ_STEPS /* one byte a step */
};

/* Runs the worker of world.seed with ever fewer steps for as long as it fails, and writes which are left to the
 * file. Returns an exit status. */
int fuzz_shrink(uint32_t round_count, const char *path);

/* main.c: runs one worker; 0 where nothing is wrong. */
int fuzz_run_worker(void);

#endif
