/* thread.h: threads of our own. All signals are blocked in them: a program's handlers run on the
 * program's threads. */
#ifndef ACCEL_PLATFORM_THREAD_H
#define ACCEL_PLATFORM_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a joinable thread, named (at most 15 bytes) for debuggers. 0, or errno's value. */
int accel__thread_start(pthread_t *out_thread, const char *name, void *(*body)(void *), void *user);

/* How many CPUs the process may run on (affinity and, where set, the cgroup's CPU limit); at least 1. */
unsigned accel__thread_cpu_count(void);

#endif
