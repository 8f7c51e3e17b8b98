/* wait.c: a caller that waits for a queue. It executes what its target depends on if nobody else does,
 * looks on for a moment if somebody does, and then sleeps. */
#include "backends/cpu/queue/queue.h"
#include "backends/cpu/workers/execute.h"
#include "backends/cpu/workers/job.h"
#include "backends/cpu/workers/pool.h"
#include "platform/futex.h"

enum {
    LIMIT = 50, /* times the patience of a caller: the longest that it looks on */
    MAX_PAUSES = 20,
    UNHURRIED_NS = 500, /* operations that take longer are left in peace */
    PEACE_NS = 16000    /* at a time */
};

typedef struct sleeper {
    accel__cpu_waiter waiter;
    _Atomic(uint32_t) woken;
} sleeper;

static void wake(accel__cpu_waiter *waiter)
{
    _Atomic(uint32_t) *woken = &((sleeper *)waiter)->woken;
    atomic_store_explicit(woken, 1, memory_order_release);
    accel__futex_wake_one(woken); /* only the address is used, should the sleeper be gone already */
}

/* Until the position has passed or, with `help`, until the queue can be claimed. */
static void sleep_until(accel__cpu_queue *queue, uint64_t position, bool help)
{
    sleeper self = {.waiter = {.passed = wake, .helps = help}};
    if (!accel__cpu_queue_add_waiter(queue, &self.waiter, position))
        return;
    while (atomic_load_explicit(&self.woken, memory_order_acquire) == 0)
        accel__futex_wait(&self.woken, 0, UINT64_MAX);
}

/* Executes what there is. False: this is a forked child now. */
static bool drain(accel__cpu_executor *executor, accel__cpu_queue *queue, uint64_t position)
{
    switch (accel__cpu_drain(executor, queue, position, UINT32_MAX)) {
    case ACCEL__CPU_DRAINED:
        accel__cpu_queue_unclaim(queue);
        return true;
    case ACCEL__CPU_SUSPENDED:
        return true;
    case ACCEL__CPU_FORKED:
        break;
    }
    return false;
}

/* How long a caller looks on: a moment, and as long as short operations keep passing, within limits. */
typedef struct watch {
    uint64_t deadline; /* ticks; 0: begin */
    uint64_t limit;
    uint64_t completed;
    uint32_t pauses; /* between two looks, each of which takes a cache line from the executor */
    uint64_t began;  /* ticks, and what had been completed then: for the pace */
    uint64_t first;
} watch;

static bool is_patient(watch *self, accel__cpu_queue *queue)
{
    const uint64_t now = accel__cpu_ticks();
    const uint64_t patience = accel__cpu_caller_patience();
    const uint64_t completed = atomic_load_explicit(&queue->completed, memory_order_relaxed);
    if (self->deadline == 0) {
        self->limit = now + LIMIT * patience;
        self->began = now;
        self->first = completed;
    }
    if (self->pauses < MAX_PAUSES)
        self->pauses++;
    if (self->deadline == 0 || (completed != self->completed && now < self->limit)) {
        self->deadline = now + patience;
        self->completed = completed;
    }
    return now < self->deadline;
}

/* Ticks until half of the operations that are left will have passed, at their pace so far: until then there
 * is nothing to see, and each look would hold the executor's stores up for longer than an operation may
 * take. 0: not known, or too soon. */
static uint64_t peace(const watch *self, uint64_t position)
{
    const uint64_t passed = self->completed - self->first;
    if (passed == 0 || self->completed >= position)
        return 0;
    const uint64_t pace = (accel__cpu_ticks() - self->began) / passed;
    const uint64_t half = (position - self->completed) * pace / 2;
    const uint64_t most = accel__cpu_ticks_of_ns(PEACE_NS);
    if (pace < accel__cpu_ticks_of_ns(UNHURRIED_NS))
        return 0;
    return half < most ? half : most;
}

static bool has_jobs(void)
{
    return atomic_load_explicit(&accel__cpu_the_pool.board.open_count, memory_order_relaxed) != 0;
}

/* Lets a moment pass between two looks; a long one ends where there may be a job to help with. */
static void pass_moment(const watch *self, uint64_t quiet)
{
    const uint64_t end = quiet != 0 ? accel__cpu_ticks() + quiet : 0;
    for (uint32_t pause = 0; pause < self->pauses; pause++)
        accel__spin_pause();
    while (quiet != 0 && accel__cpu_ticks() < end && !has_jobs())
        accel__spin_pause();
}

bool accel__cpu_queue_wait(accel__cpu_queue *queue, uint64_t position, bool help)
{
    accel__cpu_executor executor = {0};
    watch looking = {0};
    bool same_process = true;
    while (same_process && !accel__cpu_queue_passed(queue, position)) {
        if (help && accel__cpu_queue_try_claim(queue)) {
            same_process = drain(&executor, queue, position);
            if (accel__cpu_queue_passed(queue, position))
                break;
        } else if (help) {
            if (peace(&looking, position) == 0)
                accel__cpu_queue_want(queue);
            if (accel__cpu_job_help(&executor, queue)) {
                looking = (watch){0}; /* there may be more of that soon */
                continue;
            }
        }
        if (same_process && !is_patient(&looking, queue))
            sleep_until(queue, position, help);
        pass_moment(&looking, peace(&looking, position));
    }
    accel__cpu_executor_end(&executor);
    return same_process;
}
