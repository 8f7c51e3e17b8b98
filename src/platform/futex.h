/* futex.h: waiting on a 32-bit word. Spurious returns happen: callers loop. */
#ifndef ACCEL_PLATFORM_FUTEX_H
#define ACCEL_PLATFORM_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Sleeps while *word == expected. `timeout_ns` UINT64_MAX: for ever. False: timed out. */
bool accel__futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint64_t timeout_ns);
void accel__futex_wake_one(_Atomic(uint32_t) *word);
void accel__futex_wake_all(_Atomic(uint32_t) *word);

/* A pause for spin loops. */
static inline void accel__spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

#endif
