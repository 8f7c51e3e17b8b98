/* SPDX-License-Identifier: MIT
 * busy.c: the thread is tied to one CPU, so that "one core busy" means the same in each sample.
 */
#include "busy.h"

#include "harness.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static pthread_t thread;
static atomic_bool stopping;
static bool running;

static void stay_on_last_cpu(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return;
    int last = CPU_SETSIZE - 1;
    while (last > 0 && !CPU_ISSET((size_t)last, &allowed))
        last--;
    CPU_ZERO(&allowed);
    CPU_SET((size_t)last, &allowed);
    pthread_setaffinity_np(pthread_self(), sizeof(allowed), &allowed);
}

static void *burn(void *unused)
{
    stay_on_last_cpu();
    while (!atomic_load_explicit(&stopping, memory_order_relaxed)) {
    }
    return unused;
}

bool bench_busy_start(void)
{
    atomic_store(&stopping, false);
    running = pthread_create(&thread, NULL, burn, NULL) == 0;
    if (!running)
        bench_failed("cannot start a thread");
    return running;
}

void bench_busy_stop(void)
{
    if (running) {
        atomic_store(&stopping, true);
        pthread_join(thread, NULL);
        running = false;
    }
}
