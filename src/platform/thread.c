/* thread.c: see thread.h. */
#include "platform/thread.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/calls.h"

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

/* cgroup v2: "max 100000" or "200000 100000". 0 where there is no limit. */
static unsigned quota_count(void)
{
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (file == NULL)
        return 0;
    char line[64] = "";
    const bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    char *end = NULL;
    const unsigned long quota = strtoul(line, &end, 10);
    if (!read || end == line)
        return 0;
    const unsigned long period = strtoul(end, NULL, 10);
    return period != 0 ? (unsigned)((quota + period - 1) / period) : 0;
}

unsigned accel__thread_cpu_count(void)
{
    const unsigned allowed = affinity_count();
    const unsigned quota = quota_count();
    return quota != 0 && quota < allowed ? quota : allowed;
}
