/* loader.c: see loader.h. Nobody holds a lock while he waits, and every wait has an end: what a driver does in its
 * initialisation may depend on the thread that forks. */
#include "platform/loader.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { NAP_NS = 50000, NAPS_MAX = 20000 };

static _Atomic(uint32_t) inside;  /* threads in calls of the loader */
static _Atomic(uint32_t) forking; /* threads in fork() */
static _Thread_local unsigned depth;

/* Naps until `is_free`, or the time is over. */
static void wait_until(bool (*is_free)(void))
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};
    for (int i = 0; i < NAPS_MAX && !is_free(); i++)
        nanosleep(&nap, NULL);
}

/* ---- around fork() ---- */

static bool nobody_else_is_inside(void)
{
    return atomic_load(&inside) <= (depth != 0);
}

static void before_fork(void)
{
    atomic_fetch_add(&forking, 1);
    wait_until(nobody_else_is_inside);
}

static void after_fork(void)
{
    atomic_fetch_sub(&forking, 1);
}

/* Of the parent's threads only this one is here. */
static void in_child(void)
{
    atomic_store(&forking, 0);
    atomic_store(&inside, depth != 0);
}

static pthread_once_t handlers_once = PTHREAD_ONCE_INIT;

static void register_handlers(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

/* ---- calls of the loader ---- */

static bool nobody_forks(void)
{
    return atomic_load(&forking) == 0;
}

/* Counts itself first and looks then, as a fork does: one of the two sees the other. */
void accel__loader_enter(void)
{
    if (depth++ != 0)
        return;
    pthread_once(&handlers_once, register_handlers);
    atomic_fetch_add(&inside, 1);
    if (nobody_forks())
        return;
    atomic_fetch_sub(&inside, 1);
    wait_until(nobody_forks);
    atomic_fetch_add(&inside, 1);
}

void accel__loader_leave(void)
{
    if (--depth == 0)
        atomic_fetch_sub(&inside, 1);
}
