/* spin.h: a lock for short sections, which a fork cannot leave locked: the word holds the generation of its owner,
 * and one of another generation counts as unlocked (see mutex.h, which is for everything longer: it wakes whoever
 * waits, who here looks again now and then). It takes one locked instruction where a mutex takes two. A zeroed one
 * is unlocked. Not recursive; no call that may wait is made while it is held. */
#ifndef ACCEL_PLATFORM_SPIN_H
#define ACCEL_PLATFORM_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "platform/generation.h"

typedef struct accel__spin {
    _Atomic(uint32_t) owner; /* its generation; 0: free */
} accel__spin;

void accel__spin_lock_slow(accel__spin *spin);

static inline bool accel__spin_try_lock(accel__spin *spin)
{
    const uint32_t generation = accel__generation();
    uint32_t seen = atomic_load_explicit(&spin->owner, memory_order_relaxed);
    return seen != generation &&
           atomic_compare_exchange_strong_explicit(&spin->owner, &seen, generation,
                                                   memory_order_acquire, memory_order_relaxed);
}

static inline void accel__spin_lock(accel__spin *spin)
{
    if (__builtin_expect(!accel__spin_try_lock(spin), false))
        accel__spin_lock_slow(spin);
}

static inline void accel__spin_unlock(accel__spin *spin)
{
    atomic_store_explicit(&spin->owner, 0, memory_order_release);
}

#endif
