/* turns.c: see turns.h. */
#include "platform/turns.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLICE_NS = 200000, SLACK_NS = 5000 };

/* Linux 6.12 knows slices of ordinary threads; others ignore them. */
static void ask_for_short_slices(void)
{
    struct {
        uint32_t size;
        uint32_t policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime;
        uint64_t deadline;
        uint64_t period;
    } attributes = {.size = sizeof attributes, .runtime = SLICE_NS};
    errno = 0;
    const int nice_now = getpriority(PRIO_PROCESS, 0);
    if (errno != 0 || sched_getscheduler(0) != SCHED_OTHER)
        return;
    attributes.nice = nice_now;
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void accel__turns_ask(void)
{
    ask_for_short_slices();
    prctl(PR_SET_TIMERSLACK, SLACK_NS);
}

bool accel__turns_lost(long *lost)
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0 || usage.ru_nivcsw == *lost)
        return false;
    *lost = usage.ru_nivcsw;
    return true;
}

void accel__turns_keep_off(pthread_t thread, _Atomic(int) *processor)
{
    const int own = sched_getcpu();
    cpu_set_t allowed; /* to the caller now: somebody may have narrowed it since the start */
    if (own < 0 || own >= CPU_SETSIZE ||
        own == atomic_load_explicit(processor, memory_order_relaxed) ||
        pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed) != 0)
        return;
    atomic_store_explicit(processor, own, memory_order_relaxed);
    CPU_CLR((size_t)own, &allowed);
    if (CPU_COUNT(&allowed) != 0)
        pthread_setaffinity_np(thread, sizeof allowed, &allowed);
}
