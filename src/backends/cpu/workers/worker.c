/* worker.c: what a worker thread does. It takes a queue from the run queue and stays with it while
 * work keeps coming; it looks at the queue's state once a microsecond only, because each look takes the
 * cache line from those who queue. When nothing has come for a while it dozes, then sleeps. */

#include "backends/cpu/workers/pool.h"
#include "platform/futex.h"
#include "platform/turns.h"

enum {
    BUDGET = 64,       /* operations before a look at who else waits */
    ROW_GAP_NS = 4000, /* where much is being queued: each look slows those who queue */
    FEW = 4,           /* operations found at a look */
    LATE_NS = 30000,   /* a gap that took this long: somebody else needs the processor */
    DOZES = 20         /* before it sleeps for good */
};

static bool others_wait(const accel__cpu_pool *pool)
{
    return atomic_load_explicit(&pool->run_count, memory_order_relaxed) != 0;
}

static bool has_jobs(const accel__cpu_pool *pool)
{
    return atomic_load_explicit(&pool->board.open_count, memory_order_relaxed) != 0;
}

static bool is_called(const accel__cpu_pool *pool)
{
    return others_wait(pool) || atomic_load_explicit(&pool->stopping, memory_order_relaxed) != 0;
}

/* Lets a moment pass. False where spinning has lasted until `deadline`, or does harm. */
static bool spin_gap(accel__cpu_worker *worker, uint64_t deadline, uint32_t gap_ns)
{
    const uint64_t start = accel__cpu_ticks();
    const uint64_t end = start + accel__cpu_ticks_of_ns(gap_ns);
    uint64_t now = start;
    while (now < end) {
        accel__spin_pause();
        now = accel__cpu_ticks();
    }
    if (now < start + accel__cpu_ticks_of_ns(LATE_NS) || !accel__turns_lost(&worker->displaced))
        return now < deadline;
    accel__cpu_note_displaced();
    return false;
}

/* Looks at the next slot, not at `state`: that line is left to those who queue. */
static bool has_work(accel__cpu_queue *queue)
{
    const uint64_t next = atomic_load_explicit(&queue->completed, memory_order_relaxed);
    return atomic_load_explicit(&accel__cpu_queue_slot(queue, next)->sequence,
                                memory_order_relaxed) == next + 1;
}

/* Claim held: executes until nothing is left or others wait, and lets the claim go. */
static accel__cpu_drained execute(accel__cpu_worker *worker, accel__cpu_queue *queue)
{
    accel__cpu_drained result;
    uint64_t before;
    do {
        before = atomic_load_explicit(&queue->completed, memory_order_relaxed);
        result = accel__cpu_drain(&worker->executor, queue, UINT64_MAX, BUDGET);
    } while (result == ACCEL__CPU_DRAINED && !others_wait(&accel__cpu_the_pool) &&
             atomic_load_explicit(&queue->completed, memory_order_relaxed) == before + BUDGET);
    if (result == ACCEL__CPU_DRAINED)
        accel__cpu_queue_unclaim(queue);
    return result;
}

/* Attends the queue until it is idle, suspended, or somebody else attends it; the caller's reference
 * goes with the attendance. False: a callback forked, and this is the child. */
static bool attend(accel__cpu_worker *worker, accel__cpu_queue *queue)
{
    accel__cpu_pool *pool = &accel__cpu_the_pool;
    uint64_t deadline = accel__cpu_ticks() + accel__cpu_worker_patience();
    bool spins = true;
    for (;;) {
        uint32_t gap_ns = accel__cpu_gap_ns();
        const uint64_t before = atomic_load_explicit(&queue->completed, memory_order_relaxed);
        if (has_work(queue) && accel__cpu_queue_try_claim(queue)) {
            const accel__cpu_drained result = execute(worker, queue);
            if (result == ACCEL__CPU_FORKED)
                return false;
            if (result == ACCEL__CPU_SUSPENDED) {
                accel__cpu_queue_unreference(queue);
                return true;
            }
            if (others_wait(pool) && has_work(queue)) {
                accel__cpu_pool_push(queue, true); /* behind the others */
                return true;
            }
            deadline = accel__cpu_ticks() + accel__cpu_worker_patience();
            if (atomic_load_explicit(&queue->completed, memory_order_relaxed) - before > FEW)
                gap_ns = ROW_GAP_NS;
        } else if (has_jobs(pool) && accel__cpu_job_help(&worker->executor, queue)) {
            deadline = accel__cpu_ticks() + accel__cpu_worker_patience();
        } else if ((!spins || is_called(pool) ||
                    (has_jobs(pool) && !accel__cpu_job_is_only(queue))) &&
                   accel__cpu_queue_leave(queue)) {
            return true;
        }
        spins = spin_gap(worker, deadline, gap_ns);
    }
}

static accel__cpu_queue *pop(accel__cpu_pool *pool)
{
    accel__cpu_queue *queue = NULL;
    if (!others_wait(pool))
        return NULL;
    accel__mutex_lock(&pool->mutex);
    for (int level = 0; queue == NULL && level < ACCEL__CPU_LEVELS; level++) {
        queue = pool->run_first[level];
        if (queue != NULL)
            pool->run_first[level] = queue->run_next;
    }
    if (queue != NULL) {
        queue->is_in_run_queue = false;
        atomic_store_explicit(&queue->deferred, 0, memory_order_relaxed);
        atomic_fetch_sub(&pool->run_count, 1);
    }
    accel__mutex_unlock(&pool->mutex);
    return queue;
}

/* Out of the list of sleepers. False: somebody took it out and is about to say so; until then the
 * worker's link is theirs. */
static bool wake_up(accel__cpu_pool *pool, accel__cpu_worker *worker)
{
    accel__mutex_lock(&pool->mutex);
    accel__cpu_worker **link = &pool->sleepers;
    while (*link != NULL && *link != worker)
        link = &(*link)->next_sleeper;
    const bool is_listed = *link != NULL;
    if (is_listed) {
        *link = worker->next_sleeper;
        worker->dozes = false;
        pool->dozing--;
        pool->searching++;
    }
    accel__mutex_unlock(&pool->mutex);
    return is_listed;
}

/* Dozes or sleeps unless something came up. False: the pool stops. */
static bool sleep_now(accel__cpu_worker *worker, uint64_t doze_ns)
{
    accel__cpu_pool *pool = &accel__cpu_the_pool;
    const bool dozes = worker->dozes_left != 0;
    accel__mutex_lock(&pool->mutex);
    const bool stops = atomic_load(&pool->stopping) != 0 && !others_wait(pool);
    const bool sleeps = !stops && !is_called(pool) && !has_jobs(pool);
    if (sleeps) {
        atomic_store(&worker->awake, 0);
        worker->next_sleeper = pool->sleepers;
        pool->sleepers = worker;
        worker->dozes = dozes;
        pool->dozing += dozes;
    }
    if (sleeps || stops)
        pool->searching--;
    accel__mutex_unlock(&pool->mutex);
    if (!sleeps)
        return !stops;
    worker->dozes_left -= dozes;
    while (atomic_load_explicit(&worker->awake, memory_order_acquire) == 0)
        if (!accel__futex_wait(&worker->awake, 0, dozes ? doze_ns : UINT64_MAX) &&
            wake_up(pool, worker))
            break;
    return true;
}

void *accel__cpu_worker_run(void *user)
{
    accel__turns_ask();
    accel__cpu_worker *worker = user;
    accel__cpu_pool *pool = &accel__cpu_the_pool;
    uint64_t deadline = 0;
    for (;;) {
        accel__cpu_queue *queue = pop(pool);
        if (queue != NULL && !attend(worker, queue))
            return NULL;
        if (queue != NULL || accel__cpu_job_help(&worker->executor, NULL)) {
            deadline = accel__cpu_ticks() + accel__cpu_worker_patience();
            worker->dozes_left = DOZES;
            continue;
        }
        if (spin_gap(worker, deadline, accel__cpu_gap_ns()))
            continue;
        uint64_t spin_ticks = 0;
        if (!sleep_now(worker, accel__cpu_doze_ns(&spin_ticks)))
            break;
        if (spin_ticks != 0)
            deadline = accel__cpu_ticks() + spin_ticks;
    }
    accel__cpu_executor_end(&worker->executor);
    return NULL;
}
