/* mutex.h: a mutex that a fork cannot leave locked: the word holds the generation of its owner, and a
 * word of another generation counts as unlocked. What it guards must therefore be in order (or be
 * abandoned by its owner in the child) at each instant. A zeroed mutex is an unlocked one; it needs no
 * destruction. Not recursive. */
#ifndef ACCEL_PLATFORM_MUTEX_H
#define ACCEL_PLATFORM_MUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "platform/generation.h"

typedef struct accel__mutex {
    _Atomic(uint32_t) word; /* generation << 2 | state: 0 free, 1 held, 2 held and waited for */
} accel__mutex;

void accel__mutex_lock_slow(accel__mutex *mutex, uint32_t generation);
void accel__mutex_wake(accel__mutex *mutex);

static inline bool accel__mutex_try_lock(accel__mutex *mutex)
{
    const uint32_t generation = accel__generation();
    uint32_t seen = atomic_load_explicit(&mutex->word, memory_order_relaxed);
    return ((seen & 3u) == 0 || seen >> 2 != generation) &&
           atomic_compare_exchange_strong_explicit(&mutex->word, &seen, generation << 2 | 1u,
                                                   memory_order_acquire, memory_order_relaxed);
}

static inline void accel__mutex_lock(accel__mutex *mutex)
{
    if (!accel__mutex_try_lock(mutex))
        accel__mutex_lock_slow(mutex, accel__generation());
}

static inline void accel__mutex_unlock(accel__mutex *mutex)
{
    if ((atomic_exchange_explicit(&mutex->word, 0, memory_order_release) & 3u) == 2u)
        accel__mutex_wake(mutex);
}

#endif
