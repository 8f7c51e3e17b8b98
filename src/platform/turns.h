/* turns.h: getting a processor soon, and noticing when others need it. */
#ifndef ACCEL_PLATFORM_TURNS_H
#define ACCEL_PLATFORM_TURNS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* The calling thread asks for short turns, which come sooner, and for exact timers. Where the system
 * does not know such wishes nothing happens. */
void accel__turns_ask(void);

/* Whether other threads took the calling thread's processor since the call that last set *lost, which
 * begins as 0. Interrupts and the hypervisor do not count. */
bool accel__turns_lost(long *lost);

/* Keeps `thread` off the processor that the caller is on now. Where every processor is taken, the system
 * would put a thread that the caller wakes on the caller's, where it keeps the caller from what it was
 * woken for. *processor is what `thread` was kept off before; -1 for none. Several may call it for one thread
 * at once: one of them is the last. */
void accel__turns_keep_off(pthread_t thread, _Atomic(int) *processor);

#endif
