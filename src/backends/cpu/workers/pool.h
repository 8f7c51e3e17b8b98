/* pool.h: the worker threads of the cpu backend, and the queues that wait for one of them.
 *
 * There is one pool in the process, for all devices. Its threads start when a queue first needs them,
 * and in a forked child the pool is abandoned and begins anew. `searching` counts the workers that will
 * look at the run queue within about a microsecond: those are not woken, others are, one per queue.
 * A worker that runs out of work first spins, then dozes (it looks again twenty times,
 * every 100 microseconds), then sleeps. Nobody is woken from a doze for short work: waking costs microseconds, and
 * more where the processors are busy, because the worker then takes the caller's.
 */
#ifndef ACCEL_BACKENDS_CPU_WORKERS_POOL_H
#define ACCEL_BACKENDS_CPU_WORKERS_POOL_H

#include <pthread.h>

#include "backends/cpu/queue/queue.h"
#include "backends/cpu/workers/execute.h"
#include "backends/cpu/workers/job.h"
#include "backends/cpu/workers/patience.h"

enum { ACCEL__CPU_LEVELS = 2 }; /* of priority */

typedef struct accel__cpu_worker {
    pthread_t thread;
    _Atomic(uint32_t) awake; /* what it sleeps on */
    struct accel__cpu_worker *next_sleeper;
    bool dozes;
    uint32_t dozes_left;
    long displaced;      /* how often it was, as far as it knows */
    _Atomic(int) avoids; /* the processor of who woke it last; -1 */
    accel__cpu_executor executor;
} accel__cpu_worker;

typedef struct accel__cpu_pool {
    _Atomic(uint32_t) generation; /* whose workers run; 0: none do */
    accel__mutex mutex;           /* guards what follows; taken after a queue's */
    uint32_t process;             /* the generation that the run queue and the board are of */
    accel__cpu_queue *run_first[ACCEL__CPU_LEVELS];
    accel__cpu_queue *run_last[ACCEL__CPU_LEVELS];
    _Atomic(uint32_t) run_count; /* read without the mutex */
    _Atomic(uint32_t) stopping;
    bool is_closed; /* stopped: no worker will look at the run queue */
    uint32_t searching;
    uint32_t dozing;
    accel__cpu_worker *sleepers; /* dozing ones too */

    accel__cpu_worker *workers; /* changed by start and stop only */
    uint32_t worker_count;
    accel__cpu_board board; /* job.h */
} accel__cpu_pool;

extern accel__cpu_pool accel__cpu_the_pool;

/* The table's start and stop. Start reads ACCEL_CPU_THREADS and starts no thread. */
accel_status accel__cpu_pool_configure(void);
void accel__cpu_pool_stop(void);

/* How many threads compute at most, a helping caller included. */
uint32_t accel__cpu_thread_count(void);
accel_status accel__cpu_pool_start(const char *function);

/* Starts the workers if that has not happened in this process. */
static inline accel_status accel__cpu_pool_ready(const char *function)
{
    const uint32_t generation = atomic_load_explicit(&accel__cpu_the_pool.generation,
                                                     memory_order_acquire);
    return generation == accel__generation() ? ACCEL_OK : accel__cpu_pool_start(function);
}

/* Puts a queue on the run queue, with the caller's reference. Short work can wait for a dozing worker;
 * if it then does, the queue is `deferred`. */
void accel__cpu_pool_push(accel__cpu_queue *queue, bool is_short);

/* A worker begins (ends) something long: somebody else must look at the run queue meanwhile. */
void accel__cpu_pool_busy(void);
void accel__cpu_pool_searching(void);

/* Wakes up to `count` sleeping workers, to help with a job. */
void accel__cpu_pool_wake(uint32_t count);

/* Body of a worker: worker.c. */
void *accel__cpu_worker_run(void *worker);

#endif
