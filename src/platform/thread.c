/* thread.c: see thread.h. */
#include "platform/thread.h"

#include <sched.h>
#include <signal.h>

#include "platform/calls.h"
#include "platform/cgroup.h"

int accel__thread_start(pthread_t *out_thread, const char *name, void *(*body)(void *), void *user)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = accel__platform.thread_create(out_thread, NULL, body, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0)
        pthread_setname_np(*out_thread, name);
    return code;
}

static unsigned affinity_count(void)
{
    /* More CPUs than a cpu_set_t holds make the call fail: grow until it fits. */
    for (int cpus = CPU_SETSIZE; cpus <= 1 << 20; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        if (set == NULL)
            return 1;
        const size_t size = CPU_ALLOC_SIZE((size_t)cpus);
        const bool known = sched_getaffinity(0, size, set) == 0;
        const int count = known ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (known)
            return count > 0 ? (unsigned)count : 1;
    }
    return 1;
}

unsigned accel__thread_cpu_count(void)
{
    const unsigned allowed = affinity_count();
    const unsigned quota = accel__cgroup_processors("");
    return quota != 0 && quota < allowed ? quota : allowed;
}
