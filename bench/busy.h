/* SPDX-License-Identifier: MIT
 * busy.h: a thread that keeps one core busy, as another program on the machine would.
 */
#ifndef BENCH_BUSY_H
#define BENCH_BUSY_H

#include <stdbool.h>

/* On the last CPU that this process may use. */
bool bench_busy_start(void);
void bench_busy_stop(void); /* does nothing where it was not started */

#endif
