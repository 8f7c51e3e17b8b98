/* mutex.c: the contended paths: a short spin, then the futex. */
#include "platform/mutex.h"

#include "platform/futex.h"

enum { SPINS = 100 };

static bool held(uint32_t word, uint32_t generation)
{
    return (word & 3u) != 0 && word >> 2 == generation;
}

/* Takes a free word as `state`. */
static bool take(accel__mutex *mutex, uint32_t generation, uint32_t state)
{
    uint32_t seen = atomic_load_explicit(&mutex->word, memory_order_relaxed);
    return !held(seen, generation) &&
           atomic_compare_exchange_strong_explicit(&mutex->word, &seen, generation << 2 | state,
                                                   memory_order_acquire, memory_order_relaxed);
}

void accel__mutex_lock_slow(accel__mutex *mutex, uint32_t generation)
{
    for (int spin = 0; spin < SPINS; spin++) {
        if (take(mutex, generation, 1u))
            return;
        accel__spin_pause();
    }
    const uint32_t held_word = generation << 2 | 1u;
    const uint32_t waited_word = generation << 2 | 2u;
    /* Whoever has slept takes the mutex as waited for: others may sleep behind it. */
    while (!take(mutex, generation, 2u)) {
        uint32_t seen = held_word;
        if (atomic_compare_exchange_strong_explicit(&mutex->word, &seen, waited_word,
                                                    memory_order_relaxed, memory_order_relaxed) ||
            seen == waited_word)
            accel__futex_wait(&mutex->word, waited_word, UINT64_MAX);
    }
}

void accel__mutex_wake(accel__mutex *mutex)
{
    accel__futex_wake_one(&mutex->word);
}
