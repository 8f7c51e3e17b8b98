/* ticks.h: a counter that is read in a third of the time that a clock takes, for what is timed very
 * often: the processor's, where the system itself keeps its clock by it, else the monotonic clock.
 * What ticks are in nanoseconds is found afterwards, from two readings of both (accel__ticks_pair).
 * */
#ifndef ACCEL_PLATFORM_TICKS_H
#define ACCEL_PLATFORM_TICKS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "platform/clock.h"

#if defined(__x86_64__)
/* Set by accel__ticks_prepare. */
extern _Atomic(bool) accel__ticks_are_cycles;
#endif

static inline uint64_t accel__ticks(void)
{
#if defined(__x86_64__)
    if (atomic_load_explicit(&accel__ticks_are_cycles, memory_order_relaxed))
        return __builtin_ia32_rdtsc();
#endif
    return accel__clock_ns();
}

/* Finds out which counter can be used; before that, it is the clock. Reads a file of /sys once. */
void accel__ticks_prepare(void);

/* Both at one moment. */
typedef struct accel__ticks_pair {
    uint64_t ticks;
    uint64_t ns; /* of the monotonic clock */
} accel__ticks_pair;

accel__ticks_pair accel__ticks_now(void);

/* The monotonic clock's time of a reading, from a pair before it and one after it. */
uint64_t accel__ticks_to_ns(uint64_t ticks, const accel__ticks_pair *before,
                            const accel__ticks_pair *after);

#endif
