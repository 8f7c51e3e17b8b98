/* barrier.h: an asymmetric barrier for flags that one thread sets very often and others look at very rarely.
 *
 *   often:  accel__barrier_store(&mine, 1); if (accel__barrier_load(&theirs)) …
 *   rarely: store theirs; accel__barrier_all(); if (mine) …
 *
 * One of the two sees the other's store. The often-used side costs two plain moves where the system can put
 * a barrier on all processors that the process runs on (Linux 4.14); elsewhere it must fence, too. */
#ifndef ACCEL_PLATFORM_BARRIER_H
#define ACCEL_PLATFORM_BARRIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Before the first use of either side; again in a forked child. False: the often-used side must fence itself
 * between its two steps. Cheap when done. */
bool accel__barrier_prepare(void);

void accel__barrier_all(void);

#if defined(__SANITIZE_THREAD__)
#define ACCEL__BARRIER_PLAIN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ACCEL__BARRIER_PLAIN 1
#endif
#endif

static inline void accel__barrier_store(_Atomic(uint32_t) *flag, uint32_t value)
{
#ifdef ACCEL__BARRIER_PLAIN /* ThreadSanitizer knows no fences and no barriers of the system */
    atomic_exchange_explicit(flag, value, memory_order_seq_cst);
#else
    atomic_store_explicit(flag, value, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

static inline uint32_t accel__barrier_load(const _Atomic(uint32_t) *flag)
{
#ifdef ACCEL__BARRIER_PLAIN
    return atomic_load_explicit(flag, memory_order_seq_cst);
#else
    return atomic_load_explicit(flag, memory_order_acquire);
#endif
}

#endif
