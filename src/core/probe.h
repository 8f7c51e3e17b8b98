/* probe.h: asking drivers in helper processes, side by side. inventory.c is the only caller. */
#ifndef ACCEL_CORE_PROBE_H
#define ACCEL_CORE_PROBE_H

#include "core/inventory.h"

/* Fills reason, detail, duration and found of each answer (their drivers are set). Returns when all
 * have answered or the limit (ACCEL_PROBE_TIMEOUT_MS, 3000 by default) plus at most 200 ms is over.
 * Whatever a driver does becomes a reason: this never fails. What does not fit into memory becomes
 * HELPER_FAILED with that detail. Answers may be asked on any thread; no lock that a fork could catch
 * half way is needed here. */
void accel__probe_drivers(const accel__backend *backend, accel__answer *const answers[],
                          uint32_t count);

/* Logs where ACCEL_PROBE_TIMEOUT_MS has no valid value. Not with a lock held. */
void accel__probe_check_limit(void);

#endif
