/* generation.h: which fork of the process this is. The number lives in a page that the kernel wipes
 * on fork, so the check is one load and one compare, and nothing runs in fork() itself; where such
 * pages are missing a pthread_atfork handler stores the zero. */
#ifndef ACCEL_PLATFORM_GENERATION_H
#define ACCEL_PLATFORM_GENERATION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Points at a static zero until the page is there. */
extern _Atomic(_Atomic(uint32_t) *) accel__generation_cell;

/* Sets up detection, or gives this process its number after a fork. */
uint32_t accel__generation_renew(void);

/* 1 in the process that first asked; greater in each forked child. Never 0; fits 29 bits. */
static inline uint32_t accel__generation(void)
{
    const uint32_t value = atomic_load_explicit(
        atomic_load_explicit(&accel__generation_cell, memory_order_acquire), memory_order_acquire);
    return value != 0 ? value : accel__generation_renew();
}

/* Whether this is still the process of that number: less work than comparing the two. `number` is one that
 * accel__generation gave. */
static inline bool accel__generation_is(uint32_t number)
{
    return atomic_load_explicit(atomic_load_explicit(&accel__generation_cell, memory_order_acquire),
                                memory_order_acquire) == number;
}

#endif
