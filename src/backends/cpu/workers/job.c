/* job.c: see job.h. */
#include "backends/cpu/workers/job.h"

#include <string.h>

#include "backends/cpu/workers/pool.h"
#include "platform/futex.h"

enum {
    TAKEN = 1u,
    OPEN = 2u,
    SLEEPS = 4u,
    ONE = 8u, /* thread inside */
    INLINE_PARAMS = 24,
    SHARE_NS = 5000, /* less than that is not worth another thread */
    WAKE_NS = 30000, /* less than that is not worth waking one */
    RANGE_NS = 2000  /* the least range that a thread takes */
};

/* ---- one thread's view of a launch ---- */

typedef struct frame {
    accel_cpu_launch launch;
    void *inline_pointers[INLINE_PARAMS];
} frame;

static size_t round_up(size_t size)
{
    return (size + 63) & ~(size_t)63;
}

static uint64_t items_of(const accel__cpu_launch_op *op)
{
    return (uint64_t)op->block[0] * op->block[1] * op->block[2];
}

/* The size that a LOCAL argument asks for. */
static size_t local_size(const accel__cpu_job *job, uint32_t index)
{
    uint64_t size = 0;
    memcpy(&size, job->arguments + job->op->function->offsets[index], sizeof size);
    return size;
}

/* Bytes of: the pointer table where it is long, the pointers to local memory, that memory, scratch.
 * False: beyond all reason. */
static bool measure(const accel__cpu_job *job, size_t *out_size)
{
    const accel__cpu_native_function *function = job->op->function;
    const accel_cpu_kernel *kernel = function->kernel;
    size_t scratch = 0;
    size_t size = 0;
    if (kernel->param_count > INLINE_PARAMS)
        size += round_up(kernel->param_count * sizeof(void *));
    size += round_up(function->local_count * sizeof(void *));
    for (uint32_t i = 0; function->local_count != 0 && i < kernel->param_count; i++) {
        if (kernel->params[i].kind != ACCEL_PARAM_KIND_LOCAL)
            continue;
        if (__builtin_add_overflow(size, local_size(job, i) + 63, &size))
            return false;
        size &= ~(size_t)63;
    }
    *out_size = size;
    return !__builtin_mul_overflow(kernel->scratch_per_item, items_of(job->op), &scratch) &&
           !__builtin_add_overflow(kernel->scratch_fixed, scratch, &scratch) &&
           !__builtin_add_overflow(size, scratch, out_size) && *out_size < SIZE_MAX / 2;
}

/* Points every argument into the packed block, or at this thread's local memory. */
static void fill_frame(frame *self, const accel__cpu_job *job, unsigned char *memory)
{
    const accel__cpu_native_function *function = job->op->function;
    const accel_cpu_kernel *kernel = function->kernel;
    void **pointers = self->inline_pointers;
    if (kernel->param_count > INLINE_PARAMS) {
        pointers = (void **)(void *)memory;
        memory += round_up(kernel->param_count * sizeof(void *));
    }
    void **locals = (void **)(void *)memory;
    if (function->local_count != 0)
        memory += round_up(function->local_count * sizeof(void *));
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        if (function->local_count == 0 || kernel->params[i].kind != ACCEL_PARAM_KIND_LOCAL) {
            pointers[i] = (void *)(uintptr_t)(job->arguments + function->offsets[i]);
            continue;
        }
        *locals = memory;
        memory += round_up(local_size(job, i));
        pointers[i] = locals++;
    }
    self->launch.arguments = pointers;
    self->launch.scratch = memory;
}

static bool needs_no_memory(const accel__cpu_native_function *function)
{
    const accel_cpu_kernel *kernel = function->kernel;
    return function->local_count == 0 && kernel->scratch_fixed == 0 &&
           kernel->scratch_per_item == 0 && kernel->param_count <= INLINE_PARAMS;
}

static bool make_frame(frame *self, accel__cpu_executor *executor, const accel__cpu_job *job)
{
    size_t size = 0;
    unsigned char *memory = NULL;
    memcpy(self->launch.grid, job->op->grid, sizeof self->launch.grid);
    memcpy(self->launch.block, job->op->block, sizeof self->launch.block);
    self->launch.reserved = 0;
    if (needs_no_memory(job->op->function)) {
        fill_frame(self, job, NULL);
        return true;
    }
    if (!measure(job, &size))
        return false;
    if (size != 0) {
        memory = accel__cpu_executor_memory(executor, size);
        if (memory == NULL)
            return false;
    }
    fill_frame(self, job, memory);
    return true;
}

static void run_range(const frame *self, accel__cpu_job *job, uint64_t first, uint64_t last)
{
    const char *error = job->op->function->kernel->function(&self->launch, first, last);
    if (error == NULL)
        return;
    const char *none = NULL;
    atomic_compare_exchange_strong(&job->error, &none, error);
    atomic_store(&job->is_exhausted, true); /* nobody takes more */
}

/* Takes ranges of a part, large ones first, until none is left. Returns how many blocks it ran. */
static uint64_t run_part(const frame *self, accel__cpu_job *job, accel__cpu_part *part)
{
    uint64_t done = 0;
    uint64_t next = atomic_load_explicit(&part->next, memory_order_relaxed);
    while (next < part->end && !atomic_load_explicit(&job->is_exhausted, memory_order_relaxed)) {
        const uint64_t left = part->end - next;
        const uint64_t size = left < 3 * job->least_range ? left : left / 2;
        if (!atomic_compare_exchange_weak_explicit(&part->next, &next, next + size,
                                                   memory_order_relaxed, memory_order_relaxed))
            continue;
        run_range(self, job, next, next + size);
        done += size;
        next = atomic_load_explicit(&part->next, memory_order_relaxed);
    }
    return done;
}

static uint64_t run_parts(const frame *self, accel__cpu_job *job, uint32_t home)
{
    uint64_t done = 0;
    for (uint32_t i = 0; i < job->part_count; i++)
        done += run_part(self, job, &job->parts[(home + i) % job->part_count]);
    atomic_store_explicit(&job->is_exhausted, true, memory_order_relaxed);
    return done;
}

/* Splits the blocks from `first` on. */
static void make_parts(accel__cpu_job *job, accel__cpu_part *parts, uint64_t first)
{
    const uint64_t count = job->thread_count < ACCEL__CPU_PARTS ? job->thread_count
                                                                : ACCEL__CPU_PARTS;
    const uint64_t size = (job->block_count - first + count - 1) / count;
    job->parts = parts;
    job->part_count = (uint32_t)count;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t left = job->block_count - first;
        parts[i].end = first + (size < left ? size : left);
        atomic_store_explicit(&parts[i].next, first, memory_order_relaxed);
        first = parts[i].end;
    }
}

/* ---- the board ---- */

void accel__cpu_board_reset(accel__cpu_board *board)
{
    atomic_store(&board->open_count, 0);
    for (int i = 0; i < ACCEL__CPU_BOARD_SIZE; i++)
        atomic_store(&board->places[i].word, 0);
}

static accel__cpu_place *open_place(accel__cpu_board *board, accel__cpu_queue *queue,
                                    accel__cpu_job *job)
{
    for (int i = 0; i < ACCEL__CPU_BOARD_SIZE; i++) {
        accel__cpu_place *place = &board->places[i];
        uint32_t empty = 0;
        if (atomic_load_explicit(&place->word, memory_order_relaxed) != 0 ||
            !atomic_compare_exchange_strong_explicit(&place->word, &empty, TAKEN,
                                                     memory_order_acquire, memory_order_relaxed))
            continue;
        place->job = job;
        atomic_store_explicit(&place->queue, queue, memory_order_relaxed);
        atomic_store_explicit(&place->word, TAKEN | OPEN, memory_order_release);
        atomic_fetch_add(&board->open_count, 1);
        return place;
    }
    return NULL;
}

/* Closes the place and waits for those inside. */
static void close_place(accel__cpu_board *board, accel__cpu_place *place)
{
    const uint64_t deadline = accel__cpu_ticks() + accel__cpu_caller_patience();
    atomic_fetch_sub(&board->open_count, 1);
    uint32_t word = atomic_fetch_and_explicit(&place->word, ~(uint32_t)OPEN, memory_order_acq_rel) &
                    ~(uint32_t)OPEN;
    while (word >= ONE) {
        if (accel__cpu_ticks() < deadline) {
            accel__spin_pause();
        } else {
            word = atomic_fetch_or_explicit(&place->word, SLEEPS, memory_order_acq_rel) | SLEEPS;
            if (word >= ONE)
                accel__futex_wait(&place->word, word, UINT64_MAX);
        }
        word = atomic_load_explicit(&place->word, memory_order_acquire);
    }
    atomic_store_explicit(&place->word, 0, memory_order_release);
}

static bool enter(accel__cpu_place *place)
{
    uint32_t word = atomic_load_explicit(&place->word, memory_order_relaxed);
    while ((word & OPEN) != 0)
        if (atomic_compare_exchange_weak_explicit(&place->word, &word, word + ONE,
                                                  memory_order_acquire, memory_order_relaxed))
            return true;
    return false;
}

static void leave(accel__cpu_place *place)
{
    const uint32_t word = atomic_fetch_sub_explicit(&place->word, ONE, memory_order_acq_rel);
    if ((word & SLEEPS) != 0 && word < 2 * ONE)
        accel__futex_wake_one(&place->word);
}

/* Inside a place: works on its job. */
static bool help_with(accel__cpu_executor *executor, accel__cpu_place *place)
{
    accel__cpu_job *job = place->job;
    frame self;
    if (atomic_load_explicit(&place->word, memory_order_relaxed) / ONE >= job->thread_count ||
        atomic_load_explicit(&job->is_exhausted, memory_order_relaxed) ||
        !make_frame(&self, executor, job))
        return false;
    if (executor->is_worker)
        accel__cpu_pool_busy();
    const bool helped = run_parts(&self, job, executor->home) != 0;
    if (executor->is_worker)
        accel__cpu_pool_searching();
    return helped;
}

bool accel__cpu_job_help(accel__cpu_executor *executor, accel__cpu_queue *queue)
{
    accel__cpu_board *board = &accel__cpu_the_pool.board;
    bool helped = false;
    if (atomic_load_explicit(&board->open_count, memory_order_relaxed) == 0)
        return false;
    for (int i = 0; !helped && i < ACCEL__CPU_BOARD_SIZE; i++) {
        accel__cpu_place *place = &board->places[i];
        if (queue != NULL && atomic_load_explicit(&place->queue, memory_order_relaxed) != queue)
            continue;
        if (!enter(place))
            continue;
        if (queue == NULL || atomic_load_explicit(&place->queue, memory_order_relaxed) == queue)
            helped = help_with(executor, place);
        leave(place);
    }
    return helped;
}

bool accel__cpu_job_is_only(accel__cpu_queue *queue)
{
    accel__cpu_board *board = &accel__cpu_the_pool.board;
    bool is_there = false;
    for (int i = 0; i < ACCEL__CPU_BOARD_SIZE; i++) {
        accel__cpu_place *place = &board->places[i];
        if ((atomic_load_explicit(&place->word, memory_order_acquire) & OPEN) == 0)
            continue;
        if (atomic_load_explicit(&place->queue, memory_order_relaxed) != queue)
            return false;
        is_there = true;
    }
    return is_there;
}

/* ---- running ---- */

/* What a work-item of the function costs, in 1/1024 ticks: a moving average, never 0. */
static void learn(accel__cpu_native_function *function, uint64_t ticks, uint64_t items)
{
    const uint64_t before = atomic_load_explicit(&function->cost, memory_order_relaxed);
    uint64_t cost = (uint64_t)((double)ticks * 1024.0 / (double)items);
    if (before != 0)
        cost = before - before / 4 + cost / 4;
    if (cost - before / 8 * 7 < before / 4)
        return; /* about the same: those who launch read that line */
    atomic_store_explicit(&function->cost, cost != 0 ? cost : 1, memory_order_relaxed);
}

uint64_t accel__cpu_job_expected(const accel__cpu_launch_op *op)
{
    const uint64_t cost = atomic_load_explicit(&op->function->cost, memory_order_relaxed);
    const double items = (double)items_of(op) * (double)op->grid[0] * (double)op->grid[1] *
                         (double)op->grid[2];
    const double ticks = (double)cost / 1024.0 * items;
    return cost == 0 ? UINT64_MAX : ticks < 1e18 ? (uint64_t)ticks : (uint64_t)1e18;
}

/* Runs blocks from `first` on, together with whoever comes. `expected`: ticks for all of them. */
static void share(const frame *self, accel__cpu_queue *queue, accel__cpu_job *job, uint64_t first,
                  uint64_t expected, uint32_t home)
{
    accel__cpu_board *board = &accel__cpu_the_pool.board;
    accel__cpu_part parts[ACCEL__CPU_PARTS];
    const uint64_t left = job->block_count - first;
    const double per_block = (double)expected / (double)left;
    job->least_range = 1 + (uint64_t)((double)accel__cpu_ticks_of_ns(RANGE_NS) / (per_block + 1.0));
    make_parts(job, parts, first);
    accel__cpu_place *place = open_place(board, queue, job);
    const bool is_large = expected > accel__cpu_ticks_of_ns(WAKE_NS);
    if (is_large)
        accel__cpu_job_begins();
    if (is_large && place != NULL) {
        accel__cpu_pool_wake(job->thread_count - 1);
        accel__cpu_queue_call_helpers(queue);
    }
    const uint64_t start = accel__cpu_ticks();
    const uint64_t done = run_parts(self, job, home);
    if (done != 0)
        learn(job->op->function, accel__cpu_ticks() - start, done * items_of(job->op));
    if (place != NULL)
        close_place(board, place);
    if (is_large)
        accel__cpu_job_ends();
}

/* Runs blocks alone and learns what they cost. */
static uint64_t run_measured(const frame *self, accel__cpu_job *job, uint64_t first, uint64_t last)
{
    const uint64_t start = accel__cpu_ticks();
    run_range(self, job, first, last);
    const uint64_t ticks = accel__cpu_ticks() - start;
    learn(job->op->function, ticks, (last - first) * items_of(job->op));
    return ticks;
}

bool accel__cpu_job_run(accel__cpu_executor *executor, accel__cpu_queue *queue, accel__cpu_job *job)
{
    frame self;
    if (!make_frame(&self, executor, job))
        return false;
    if (job->block_count == 1 || job->thread_count == 1) {
        if (job->is_measured)
            run_measured(&self, job, 0, job->block_count);
        else
            run_range(&self, job, 0, job->block_count);
        return true;
    }
    const uint64_t least = accel__cpu_ticks_of_ns(SHARE_NS);
    uint64_t expected = accel__cpu_job_expected(job->op);
    uint64_t first = 0;
    if (expected < least || expected == UINT64_MAX) { /* a sixteenth tells */
        first = (job->block_count + 15) / 16;
        const uint64_t ticks = run_measured(&self, job, 0, first);
        expected = (uint64_t)((double)ticks / (double)first * (double)(job->block_count - first));
    }
    if (first == job->block_count ||
        atomic_load_explicit(&job->error, memory_order_relaxed) != NULL)
        return true;
    if (expected < least)
        run_range(&self, job, first, job->block_count);
    else
        share(&self, queue, job, first, expected, executor->home);
    return true;
}
