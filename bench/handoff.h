/* SPDX-License-Identifier: MIT
 * handoff.h: an opponent: a thread that sleeps in a futex, is woken, and wakes its caller again.
 * This is what handing work to another thread costs by itself.
 */
#ifndef BENCH_HANDOFF_H
#define BENCH_HANDOFF_H

#include <stdbool.h>

bool bench_handoff_start(void);
void bench_handoff_stop(void); /* does nothing where it was not started */

/* Wakes the other thread and sleeps until it has answered. */
void bench_handoff(void);

#endif
