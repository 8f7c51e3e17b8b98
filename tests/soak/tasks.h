/* tasks.h: small pieces of work through the public API, each whole in itself and with its result checked:
 * what the harnesses of this folder do on many threads, and in children. */
#ifndef TESTS_SOAK_TASKS_H
#define TESTS_SOAK_TASKS_H

#include "support/kernels.h"

typedef struct task {
    const char *name;
    /* 0, or 1 and what was wrong on standard error. `state`: random numbers of the calling thread. */
    int (*run)(uint32_t *state);
} task;

extern const task tasks[];
extern const uint32_t task_count;

/* The device that tasks use, and kernels on it. Made by tasks_begin in the calling process. */
extern accel_device task_device;
extern test_kernels task_kernels;

int tasks_begin(accel_device device);
void tasks_end(void);

uint32_t task_random(uint32_t *state);

#endif
