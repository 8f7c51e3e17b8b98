/* scenarios.h: what a hundred threads do to each object that says it may be used by any thread, and to what
 * belongs to the process. Run by threads.c. */
#ifndef TESTS_SOAK_SCENARIOS_H
#define TESTS_SOAK_SCENARIOS_H

#include <stdint.h>

enum { THREADS = 100 };

typedef struct scenario {
    const char *name;
    int (*begin)(void);
    int (*step)(uint32_t number, uint32_t *state); /* of thread `number` */
    int (*end)(uint32_t steps);                    /* that were done in all */
} scenario;

extern const scenario scenarios[];
extern const int scenario_count;

#endif
