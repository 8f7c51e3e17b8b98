/* schedule.c: see schedule.h.
 *
 * A schedule is one block of memory: a line for each step, which is all that a small kernel needs to be
 * called, and behind them what the steps point to. It is constant while a queue holds it; replays are
 * counted, and an update is made only where there are none. */
#include "backends/cpu/schedule.h"

#include <string.h>

#include "backends/cpu/job.h"
#include "backends/cpu/pool.h"
#include "backends/cpu/stream.h"
#include "base/allocate.h"
#include "base/error.h"

enum {
    SHARE_NS = 5000, /* kernels that take longer go to the board: job.c */
    SAMPLE = 16      /* of that many replays one measures what kernels cost */
};

/* A launch as its function sees it, where it needs neither local memory nor scratch. */
typedef struct launch_body {
    accel_cpu_launch launch;
    accel__cpu_native_function *function;
    unsigned char *packed; /* arguments */
    void *pointers[];
} launch_body;

typedef union body {
    launch_body launch;
    accel__cpu_copy_op copy;
    accel__cpu_fill_op fill;
} body;

typedef struct step {
    /* Called for all blocks at once where 0 < *cost <= limits[…]; else, or where NULL, the long way. */
    _Alignas(64) accel_cpu_function run;
    const _Atomic(uint64_t) *cost; /* of a work-item: module.h */
    uint64_t limits[2];            /* [1]: in a replay that measures */
    uint64_t block_count;
    body *what;
    accel_backend_step_kind kind;
} step;

struct accel_native_schedule {
    _Atomic(uint32_t) references; /* the owner's, and one per replay that has not passed */
    uint32_t step_count;
    _Atomic(uint64_t) ticks; /* that a replay took of late; 0: none yet */
    uint32_t replays;        /* changed by the executor of one replay at a time */
    step steps[];
};

/* The cost of kernels that are called directly in any case. */
static const _Atomic(uint64_t) no_cost = 1;

/* ---- making ---- */

static size_t aligned(size_t size)
{
    return (size + 63) & ~(size_t)63;
}

static accel__cpu_native_function *function_of(const accel_backend_step *given)
{
    return (accel__cpu_native_function *)given->launch.function;
}

static size_t pointers_size(const accel__cpu_native_function *function)
{
    return aligned(sizeof(launch_body) + function->kernel->param_count * sizeof(void *));
}

/* Bytes behind the steps for one of them. */
static size_t body_size(const accel_backend_step *given)
{
    return given->kind == ACCEL_BACKEND_STEP_KIND_LAUNCH
               ? pointers_size(function_of(given)) + aligned(function_of(given)->packed_size)
               : aligned(sizeof(body));
}

static bool is_direct(const accel_cpu_kernel *kernel, const accel__cpu_native_function *function)
{
    return function->local_count == 0 && kernel->scratch_fixed == 0 &&
           kernel->scratch_per_item == 0;
}

/* The most that a work-item may cost for the launch to be too short for a second thread. */
static uint64_t cost_limit(const accel_cpu_launch *launch, uint64_t block_count)
{
    const double items = (double)block_count * launch->block[0] * launch->block[1] *
                         launch->block[2];
    const double limit = (double)accel__cpu_ticks_of_ns(SHARE_NS) * 1024.0 / items;
    return limit < 1e18 ? (uint64_t)limit : (uint64_t)1e18;
}

static void set_launch(step *made, const accel_backend_step *given)
{
    accel__cpu_native_function *function = function_of(given);
    const accel_cpu_kernel *kernel = function->kernel;
    launch_body *what = &made->what->launch;
    memcpy(what->launch.grid, given->launch.shape->grid, sizeof what->launch.grid);
    memcpy(what->launch.block, given->launch.shape->block, sizeof what->launch.block);
    what->launch.arguments = what->pointers;
    what->function = function;
    what->packed = (unsigned char *)what + pointers_size(function);
    for (uint32_t i = 0; i < kernel->param_count; i++)
        what->pointers[i] = what->packed + function->offsets[i];
    accel__cpu_launch_pack(function, given->launch.args, given->launch.arg_count, what->packed);
    made->block_count = what->launch.grid[0] * what->launch.grid[1] * what->launch.grid[2];
    made->run = is_direct(kernel, function) ? kernel->function : NULL;
    const bool is_alone = made->block_count == 1 || accel__cpu_thread_count() == 1;
    made->cost = is_alone ? &no_cost : &function->cost;
    made->limits[0] = is_alone ? UINT64_MAX : cost_limit(&what->launch, made->block_count);
    made->limits[1] = is_alone ? UINT64_MAX : 0;
}

static void set_copy(accel__cpu_copy_op *made, const accel_backend_copy *given)
{
    *made = (accel__cpu_copy_op){
        .destination = given->destination,
        .source = given->source,
        .destination_pitch = given->destination_pitch,
        .source_pitch = given->source_pitch,
        .width = given->width,
        .height = given->height,
    };
}

static void set_step(step *made, const accel_backend_step *given)
{
    made->kind = given->kind;
    switch (given->kind) {
    case ACCEL_BACKEND_STEP_KIND_LAUNCH:
        set_launch(made, given);
        return;
    case ACCEL_BACKEND_STEP_KIND_COPY:
        set_copy(&made->what->copy, given->copy);
        break;
    case ACCEL_BACKEND_STEP_KIND_FILL:
        made->what->fill.destination = given->fill.destination;
        made->what->fill.size = given->fill.size;
        made->what->fill.pattern_size = given->fill.pattern_size;
        memcpy(made->what->fill.pattern, given->fill.pattern, given->fill.pattern_size);
        break;
    }
    made->cost = &no_cost;
}

accel_status accel__cpu_schedule_create(accel_native_device *device,
                                        const accel_backend_step *steps, uint32_t step_count,
                                        accel_native_schedule **out_schedule)
{
    (void)device;
    size_t size = aligned(sizeof(accel_native_schedule) + step_count * sizeof(step));
    unsigned char *place = NULL;
    for (uint32_t i = 0; i < step_count; i++)
        size += body_size(&steps[i]);
    accel_native_schedule *made = accel__allocate_aligned(size, 64);
    *out_schedule = made;
    if (made == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "cpu", "accel_graph_instantiate",
                           "no memory for a schedule of %u steps", step_count);
    made->references = 1;
    made->step_count = step_count;
    place = (unsigned char *)made + aligned(sizeof *made + step_count * sizeof(step));
    for (uint32_t i = 0; i < step_count; i++) {
        made->steps[i].what = (body *)(void *)place;
        set_step(&made->steps[i], &steps[i]);
        place += body_size(&steps[i]);
    }
    return ACCEL_OK;
}

bool accel__cpu_schedule_update(accel_native_schedule *schedule, uint32_t index,
                                const accel_backend_step *given)
{
    if (atomic_load_explicit(&schedule->references, memory_order_acquire) != 1)
        return false;
    set_step(&schedule->steps[index], given);
    return true;
}

void accel__cpu_schedule_unreference(accel_native_schedule *schedule)
{
    if (atomic_fetch_sub_explicit(&schedule->references, 1, memory_order_acq_rel) == 1)
        accel__deallocate(schedule);
}

void accel__cpu_schedule_destroy(accel_native_schedule *schedule)
{
    accel__cpu_schedule_unreference(schedule);
}

accel_status accel__cpu_schedule_replay(accel_native_stream *stream,
                                        accel_native_schedule *schedule)
{
    accel__cpu_queue *queue = NULL;
    uint64_t ticket = 0;
    const accel_status status = accel__cpu_stream_reserve(stream, "accel_graph_replay", &queue,
                                                          &ticket);
    if (status != ACCEL_OK)
        return status;
    atomic_fetch_add_explicit(&schedule->references, 1, memory_order_relaxed);
    accel__cpu_slot *slot = accel__cpu_queue_slot(queue, ticket >> 1);
    slot->op = ACCEL__CPU_OP_SCHEDULE;
    slot->schedule.schedule = schedule;
    accel__cpu_queue_publish(queue, ticket);
    return ACCEL_OK;
}

/* ---- executing ---- */

uint64_t accel__cpu_schedule_expected(const accel_native_schedule *schedule)
{
    const uint64_t ticks = atomic_load_explicit(&schedule->ticks, memory_order_relaxed);
    return ticks == 0 ? UINT64_MAX : ticks;
}

/* What a step's line does not tell. False: the step failed, and the queue has. */
static bool run_long_way(accel__cpu_executor *executor, accel__cpu_queue *queue, const step *what,
                         uint64_t position)
{
    switch (what->kind) {
    case ACCEL_BACKEND_STEP_KIND_LAUNCH: {
        const launch_body *launch = &what->what->launch;
        accel__cpu_launch_op op = {.function = launch->function};
        memcpy(op.grid, launch->launch.grid, sizeof op.grid);
        memcpy(op.block, launch->launch.block, sizeof op.block);
        accel__cpu_launch_run(executor, queue, &op, launch->packed, position, true);
        return accel__cpu_queue_status(queue) == ACCEL_OK;
    }
    case ACCEL_BACKEND_STEP_KIND_COPY:
        accel__cpu_copy_execute(executor, queue, &what->what->copy);
        break;
    case ACCEL_BACKEND_STEP_KIND_FILL:
        accel__cpu_fill_execute(&what->what->fill);
        break;
    }
    return true;
}

/* Until one fails. */
static void run_steps(accel__cpu_executor *executor, accel__cpu_queue *queue,
                      const accel_native_schedule *schedule, uint64_t position, bool measures)
{
    const step *end = schedule->steps + schedule->step_count;
    for (const step *next = schedule->steps; next < end; next++) {
        const uint64_t cost = atomic_load_explicit(next->cost, memory_order_relaxed);
        if (next->run == NULL || cost - 1 >= next->limits[measures]) {
            if (!run_long_way(executor, queue, next, position))
                return;
            continue;
        }
        const char *error = next->run(&next->what->launch.launch, 0, next->block_count);
        if (error != NULL) {
            accel__cpu_queue_fail(queue, position, ACCEL_ERROR_DEVICE_FAILED, error);
            return;
        }
    }
}

void accel__cpu_schedule_execute(accel__cpu_executor *executor, accel__cpu_queue *queue,
                                 accel_native_schedule *schedule, uint64_t position)
{
    const uint64_t start = accel__cpu_ticks();
    const uint64_t before = atomic_load_explicit(&schedule->ticks, memory_order_relaxed);
    run_steps(executor, queue, schedule, position, ++schedule->replays % SAMPLE == 0);
    const uint64_t took = accel__cpu_ticks() - start;
    const uint64_t learnt = before == 0 ? took : before - before / 4 + took / 4;
    atomic_store_explicit(&schedule->ticks, learnt != 0 ? learnt : 1, memory_order_relaxed);
}
