/* pool.c: see pool.h. */
#include "backends/cpu/workers/pool.h"

#include <string.h>

#include "base/allocate.h"
#include "base/environment.h"
#include "base/error.h"
#include "platform/futex.h"
#include "platform/thread.h"
#include "platform/turns.h"

enum { MAX_THREADS = 1024 };

accel__cpu_pool accel__cpu_the_pool;

static accel__mutex start_mutex; /* one start or stop at a time; taken before the pool's */
static uint32_t thread_count = 1;

accel_status accel__cpu_pool_configure(void)
{
    const uint32_t cpus = accel__thread_cpu_count();
    uint64_t count = 0;
    if (!accel__environment_number("ACCEL_CPU_THREADS", 1, MAX_THREADS, cpus, &count))
        return accel__fail(ACCEL_ERROR_START_FAILED, "cpu", "accel_initialize",
                           "ACCEL_CPU_THREADS is '%s': it must be a number from 1 to %d",
                           accel__environment_get("ACCEL_CPU_THREADS"), (int)MAX_THREADS);
    thread_count = count > MAX_THREADS ? MAX_THREADS : (uint32_t)count;
    accel__cpu_patience_set(cpus > 1 && thread_count <= cpus);
    return ACCEL_OK;
}

uint32_t accel__cpu_thread_count(void)
{
    return thread_count;
}

/* ---- starting and stopping ---- */

/* In a child: forgets the parent's threads, queues and jobs. */
static void forget(accel__cpu_pool *pool)
{
    for (int level = 0; level < ACCEL__CPU_LEVELS; level++)
        pool->run_first[level] = pool->run_last[level] = NULL;
    atomic_store(&pool->run_count, 0);
    pool->searching = pool->dozing = 0;
    pool->sleepers = NULL;
    accel__cpu_board_reset(&pool->board);
}

/* Start mutex held. After a stop in this process the run queue stays as it is: others go on putting queues on
 * it, and callers have jobs on the board. */
static void prepare(accel__cpu_pool *pool)
{
    accel__mutex_lock(&pool->mutex);
    if (pool->process != accel__generation()) {
        forget(pool);
        pool->process = accel__generation();
    }
    atomic_store(&pool->stopping, 0);
    pool->is_closed = false;
    pool->worker_count = 0;
    accel__mutex_unlock(&pool->mutex);
}

/* Start mutex held; no worker is left. Whether queues wait that none of them has seen. Whoever puts one on the
 * run queue after this sees that nobody will come. */
static bool close_pool(accel__cpu_pool *pool)
{
    accel__mutex_lock(&pool->mutex);
    atomic_store(&pool->generation, 0);
    pool->is_closed = true;
    const bool has_work = atomic_load(&pool->run_count) != 0;
    accel__mutex_unlock(&pool->mutex);
    return has_work;
}

static accel_status start_workers(accel__cpu_pool *pool, const char *function)
{
    const uint32_t wanted = thread_count > 1 ? thread_count - 1 : 1;
    accel__cpu_worker *workers = accel__allocate_array(wanted, sizeof *workers);
    if (workers == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "cpu", function,
                           "no memory for the cpu backend's workers");
    int code = 0;
    prepare(pool);
    pool->workers = workers;
    while (pool->worker_count < wanted) {
        accel__cpu_worker *worker = &workers[pool->worker_count];
        worker->executor.is_worker = true;
        worker->executor.home = pool->worker_count + 1;
        worker->avoids = -1;
        accel__mutex_lock(&pool->mutex);
        pool->searching++;
        accel__mutex_unlock(&pool->mutex);
        code = accel__thread_start(&worker->thread, "accel-cpu", accel__cpu_worker_run, worker);
        if (code != 0)
            break;
        accel__turns_keep_off(worker->thread, &worker->avoids);
        pool->worker_count++;
    }
    if (code != 0)
        accel__cpu_pool_busy(); /* the one that did not start does not search */
    if (pool->worker_count != 0)
        return ACCEL_OK;
    pool->workers = NULL;
    accel__deallocate(workers);
    (void)close_pool(pool);
    return accel__fail_vendor(ACCEL_ERROR_SYSTEM, "cpu", function, code, strerror(code),
                              "no thread could be started for the cpu backend: %s", strerror(code));
}

accel_status accel__cpu_pool_start(const char *function)
{
    accel__cpu_pool *pool = &accel__cpu_the_pool;
    accel_status status = ACCEL_OK;
    accel__mutex_lock(&start_mutex);
    if (atomic_load(&pool->generation) != accel__generation()) {
        status = start_workers(pool, function);
        if (status == ACCEL_OK)
            atomic_store_explicit(&pool->generation, accel__generation(), memory_order_release);
    }
    accel__mutex_unlock(&start_mutex);
    return status;
}

/* For queues that came while the pool stopped. Where no thread can be started they wait for the next start, or
 * for a caller that helps. */
static void start_again(void)
{
    accel__error_mute();
    (void)accel__cpu_pool_start("accel_shutdown");
    accel__error_unmute();
}

void accel__cpu_pool_stop(void)
{
    accel__cpu_pool *pool = &accel__cpu_the_pool;
    bool must_start = false;
    accel__mutex_lock(&start_mutex);
    if (atomic_load(&pool->generation) == accel__generation()) {
        atomic_store(&pool->stopping, 1);
        accel__cpu_pool_wake(UINT32_MAX);
        for (uint32_t i = 0; i < pool->worker_count; i++)
            pthread_join(pool->workers[i].thread, NULL);
        must_start = close_pool(pool);
        accel__deallocate(pool->workers);
        pool->workers = NULL;
        accel__cpu_arenas_free();
    }
    accel__mutex_unlock(&start_mutex);
    if (must_start)
        start_again();
}

/* ---- the run queue ---- */

static void wake(accel__cpu_worker *worker, bool is_short)
{
    if (!is_short)
        accel__turns_keep_off(worker->thread, &worker->avoids);
    atomic_store_explicit(&worker->awake, 1, memory_order_release);
    accel__futex_wake_one(&worker->awake);
}

/* Mutex held. Takes the first sleeper off the list. */
static accel__cpu_worker *take_sleeper(accel__cpu_pool *pool)
{
    accel__cpu_worker *worker = pool->sleepers;
    pool->sleepers = worker->next_sleeper;
    pool->dozing -= worker->dozes;
    worker->dozes = false;
    pool->searching++;
    return worker;
}

/* Mutex held. A sleeper to wake, where more queues wait than workers search. */
static accel__cpu_worker *pick_sleeper(accel__cpu_pool *pool, bool is_short, bool *out_deferred)
{
    *out_deferred = false;
    if (pool->sleepers == NULL || atomic_load(&pool->run_count) <= pool->searching)
        return NULL;
    *out_deferred = is_short && pool->dozing != 0;
    return *out_deferred ? NULL : take_sleeper(pool);
}

void accel__cpu_pool_push(accel__cpu_queue *queue, bool is_short)
{
    accel__cpu_pool *pool = &accel__cpu_the_pool;
    accel__cpu_worker *sleeper = NULL;
    bool is_deferred = false;
    accel__mutex_lock(&pool->mutex);
    const bool is_new = !queue->is_in_run_queue;
    if (is_new) {
        queue->is_in_run_queue = true;
        queue->run_next = NULL;
        if (pool->run_first[queue->level] == NULL)
            pool->run_first[queue->level] = queue;
        else
            pool->run_last[queue->level]->run_next = queue;
        pool->run_last[queue->level] = queue;
        atomic_fetch_add(&pool->run_count, 1);
    }
    sleeper = pick_sleeper(pool, is_short, &is_deferred);
    atomic_store_explicit(&queue->deferred, is_deferred, memory_order_relaxed);
    const bool is_closed = pool->is_closed; /* since the caller looked */
    accel__mutex_unlock(&pool->mutex);
    if (sleeper != NULL)
        wake(sleeper, is_short);
    if (!is_new)
        accel__cpu_queue_unreference(queue);
    if (is_closed)
        start_again();
}

void accel__cpu_pool_busy(void)
{
    accel__cpu_pool *pool = &accel__cpu_the_pool;
    bool is_deferred = false;
    accel__mutex_lock(&pool->mutex);
    pool->searching--;
    accel__cpu_worker *sleeper = pick_sleeper(pool, false, &is_deferred);
    accel__mutex_unlock(&pool->mutex);
    if (sleeper != NULL)
        wake(sleeper, true);
}

void accel__cpu_pool_searching(void)
{
    accel__cpu_pool *pool = &accel__cpu_the_pool;
    accel__mutex_lock(&pool->mutex);
    pool->searching++;
    accel__mutex_unlock(&pool->mutex);
}

void accel__cpu_pool_wake(uint32_t count)
{
    accel__cpu_pool *pool = &accel__cpu_the_pool;
    accel__cpu_worker *first = NULL;
    accel__mutex_lock(&pool->mutex);
    while (count-- > 0 && pool->sleepers != NULL) {
        accel__cpu_worker *worker = take_sleeper(pool);
        worker->next_sleeper = first;
        first = worker;
    }
    accel__mutex_unlock(&pool->mutex);
    while (first != NULL) {
        accel__cpu_worker *worker = first;
        first = worker->next_sleeper;
        wake(worker, false);
    }
}
