/* patience.c: see patience.h. All state is hints: any mixture of old and new values is good enough. */
#include "backends/cpu/workers/patience.h"

#include <stdatomic.h>

#include "platform/clock.h"

enum {
    GAP_NS = 1000,
    JOB_GAP_NS = 200,
    SPIN_NS = 20000,
    DOZE_NS = 100000,
    RECUR_NS = 600000,     /* jobs with smaller gaps recur */
    SHORT_GAP_NS = 100000, /* to spin through in any case */
    MARGIN_NS = 50000,     /* to be awake before a job is due, and after */
    DISPLACED_NS = 5000000 /* how long one displacement counts */
};

static _Atomic(bool) may_spin;
static _Atomic(uint64_t) displaced_until; /* ticks */
static _Atomic(uint64_t) job_ended;       /* ns */
static _Atomic(uint64_t) usual_gap; /* ns between jobs, a moving average; 0: they do not recur */

uint64_t accel__cpu_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return accel__clock_ns();
#endif
}

uint64_t accel__cpu_ticks_of_ns(uint64_t ns)
{
#if defined(__x86_64__)
    return ns * 5 / 2;
#else
    return ns;
#endif
}

void accel__cpu_patience_set(bool spin)
{
    atomic_store(&may_spin, spin);
}

static bool is_displaced(void)
{
    const uint64_t until = atomic_load_explicit(&displaced_until, memory_order_relaxed);
    return until != 0 && accel__cpu_ticks() < until;
}

uint64_t accel__cpu_caller_patience(void)
{
    return atomic_load_explicit(&may_spin, memory_order_relaxed) && !is_displaced()
               ? accel__cpu_ticks_of_ns(SPIN_NS)
               : 0;
}

uint64_t accel__cpu_worker_patience(void)
{
    const uint64_t gap = atomic_load_explicit(&usual_gap, memory_order_relaxed);
    if (gap == 0 || !atomic_load_explicit(&may_spin, memory_order_relaxed))
        return accel__cpu_caller_patience();
    if (!is_displaced())
        return accel__cpu_ticks_of_ns(RECUR_NS);
    return gap < SHORT_GAP_NS ? accel__cpu_ticks_of_ns(gap + MARGIN_NS) : 0;
}

uint32_t accel__cpu_gap_ns(void)
{
    return atomic_load_explicit(&usual_gap, memory_order_relaxed) != 0 ? JOB_GAP_NS : GAP_NS;
}

void accel__cpu_note_displaced(void)
{
    atomic_store_explicit(&displaced_until,
                          accel__cpu_ticks() + accel__cpu_ticks_of_ns(DISPLACED_NS),
                          memory_order_relaxed);
}

void accel__cpu_job_begins(void)
{
    const uint64_t usual = atomic_load_explicit(&usual_gap, memory_order_relaxed);
    uint64_t gap = accel__clock_ns() - atomic_load_explicit(&job_ended, memory_order_relaxed);
    if (gap >= RECUR_NS)
        gap = 0;
    else if (usual != 0)
        gap = usual - usual / 4 + gap / 4;
    atomic_store_explicit(&usual_gap, gap, memory_order_relaxed);
}

void accel__cpu_job_ends(void)
{
    atomic_store_explicit(&job_ended, accel__clock_ns(), memory_order_relaxed);
}

uint64_t accel__cpu_doze_ns(uint64_t *out_spin_ticks)
{
    const uint64_t gap = atomic_load_explicit(&usual_gap, memory_order_relaxed);
    const uint64_t due = atomic_load_explicit(&job_ended, memory_order_relaxed) + gap;
    *out_spin_ticks = 0;
    if (gap < SHORT_GAP_NS || !atomic_load_explicit(&may_spin, memory_order_relaxed))
        return DOZE_NS;
    const uint64_t now = accel__clock_ns();
    if (now + MARGIN_NS >= due)
        return DOZE_NS;
    *out_spin_ticks = 2 * accel__cpu_ticks_of_ns(MARGIN_NS);
    return due - MARGIN_NS - now;
}
