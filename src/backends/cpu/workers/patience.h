/* patience.h: for how long idle threads of the cpu backend spin, doze or sleep. Spinning makes the next
 * operation start at once, and costs whoever else needs the processor. */
#ifndef ACCEL_BACKENDS_CPU_WORKERS_PATIENCE_H
#define ACCEL_BACKENDS_CPU_WORKERS_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

/* A cheap clock for decisions. About 2.5 ticks a nanosecond on x86-64; nanoseconds elsewhere. */
uint64_t accel__cpu_ticks(void);
uint64_t accel__cpu_ticks_of_ns(uint64_t ns);

/* Whether there are processors enough to spin at all: at the start. */
void accel__cpu_patience_set(bool may_spin);

/* For how many ticks to spin now: a caller that waits; a worker without work, which spins longer where
 * shared jobs follow each other closely. */
uint64_t accel__cpu_caller_patience(void);
uint64_t accel__cpu_worker_patience(void);

/* For how long a spinning worker looks away: each look takes a cache line from those who queue. */
uint32_t accel__cpu_gap_ns(void);

/* Other programs took a spinning thread's processor: nobody spins for a while. */
void accel__cpu_note_displaced(void);

/* A job worth sharing begins; ends. */
void accel__cpu_job_begins(void);
void accel__cpu_job_ends(void);

/* How long a worker dozes. Where processors are taken and jobs recur, until shortly before the next one
 * is due: by then it has earned its turn, and *out_spin_ticks says for how long to spin for it. */
uint64_t accel__cpu_doze_ns(uint64_t *out_spin_ticks);

#endif
