/* schedule.c: see schedule.h.
 *
 * A schedule is one block of memory: a line for each step, which is all that a small kernel needs to be
 * called, and behind them what the steps point to. It is constant while a queue holds it; replays are
 * counted, and an update is made only where there are none.
 *
 * Kernels of one block that do not depend on each other form a group. Where a group takes long it is
 * run as a launch whose blocks are its steps, so that other threads join; else it is steps like others. */
#include "backends/cpu/queue/schedule.h"

#include <string.h>

#include "backends/cpu/queue/stream.h"
#include "backends/cpu/workers/job.h"
#include "backends/cpu/workers/pool.h"
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
    bool is_grouped;
} step;

/* A stretch of the steps: a group, or those up to the next one. */
typedef struct stretch {
    uint32_t first;
    uint32_t count;
    bool is_group;
    accel__cpu_native_function
        function; /* of a group: what a step costs is learnt like an item's */
} stretch;

struct accel_native_schedule {
    _Atomic(uint32_t) references; /* the owner's, and one per replay that has not passed */
    uint32_t step_count;
    uint32_t stretch_count;
    stretch *stretches;
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

static uint64_t block_count_of(const accel_launch_shape *shape)
{
    return shape->grid[0] * shape->grid[1] * shape->grid[2];
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
    made->block_count = block_count_of(given->launch.shape);
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

/* ---- groups ---- */

static const char *run_group(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    const step *steps = *(const step *const *)launch->arguments[0];
    for (uint64_t i = first; i < last; i++) {
        const char *error = steps[i].run(&steps[i].what->launch.launch, 0, 1);
        if (error != NULL)
            return error;
    }
    return NULL;
}

static const accel_param group_params[] = {
    {.name = "steps", .kind = ACCEL_PARAM_KIND_POINTER, .lanes = 1}};
static const accel_cpu_kernel group_kernel = {
    .name = "group", .function = run_group, .params = group_params, .param_count = 1};
static const uint32_t group_offsets[] = {0};

static bool is_single(const step *given)
{
    return given->run != NULL && given->block_count == 1;
}

/* How many steps from `first` on can form a group. */
static uint32_t group_size(const accel_native_schedule *schedule, const accel_backend_step *given,
                           uint32_t first)
{
    uint32_t end = first;
    while (end < schedule->step_count && is_single(&schedule->steps[end]) &&
           given[end].level == given[first].level)
        end++;
    return end - first;
}

static void add_stretch(accel_native_schedule *schedule, uint32_t first, uint32_t count,
                        bool is_group)
{
    if (count == 0)
        return;
    stretch *made = &schedule->stretches[schedule->stretch_count++];
    made->first = first;
    made->count = count;
    made->is_group = is_group;
    made->function.kernel = &group_kernel;
    made->function.offsets = group_offsets;
    for (uint32_t i = 0; i < count; i++)
        schedule->steps[first + i].is_grouped = is_group;
}

/* There is memory for as many stretches as steps, and one more. */
static void find_groups(accel_native_schedule *schedule, const accel_backend_step *given)
{
    uint32_t begin = 0; /* of the stretch that is no group */
    uint32_t next = 0;
    while (next < schedule->step_count) {
        const uint32_t size = group_size(schedule, given, next);
        if (size >= 2) {
            add_stretch(schedule, begin, next - begin, false);
            add_stretch(schedule, next, size, true);
            begin = next + size;
        }
        next += size >= 2 ? size : 1;
    }
    add_stretch(schedule, begin, next - begin, false);
    stretch *fitting = accel__reallocate(schedule->stretches,
                                         schedule->stretch_count * sizeof *fitting);
    if (fitting != NULL)
        schedule->stretches = fitting;
}

/* Whether others should help with the group. Never so where there is one thread. */
static bool is_shared(const stretch *group, bool measures)
{
    const uint64_t cost = atomic_load_explicit(&group->function.cost, memory_order_relaxed);
    return cost == 0 || measures ||
           (double)cost / 1024.0 * group->count > (double)accel__cpu_ticks_of_ns(SHARE_NS);
}

accel_status accel__cpu_schedule_create(accel_native_device *device,
                                        const accel_backend_step *steps, uint32_t step_count,
                                        accel_native_schedule **out_schedule)
{
    (void)device;
    size_t size = aligned(sizeof(accel_native_schedule) + step_count * sizeof(step));
    unsigned char *place = NULL;
    stretch *stretches = accel__allocate_array((size_t)step_count + 1, sizeof *stretches);
    for (uint32_t i = 0; i < step_count; i++)
        size += body_size(&steps[i]);
    accel_native_schedule *made = stretches != NULL ? accel__allocate_aligned(size, 64) : NULL;
    *out_schedule = made;
    if (made == NULL) {
        accel__deallocate(stretches);
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "cpu", "accel_graph_instantiate",
                           "no memory for a schedule of %u steps", step_count);
    }
    made->references = 1;
    made->step_count = step_count;
    made->stretches = stretches;
    place = (unsigned char *)made + aligned(sizeof *made + step_count * sizeof(step));
    for (uint32_t i = 0; i < step_count; i++) {
        made->steps[i].what = (body *)(void *)place;
        set_step(&made->steps[i], &steps[i]);
        place += body_size(&steps[i]);
    }
    find_groups(made, steps);
    return ACCEL_OK;
}

bool accel__cpu_schedule_update(accel_native_schedule *schedule, uint32_t index,
                                const accel_backend_step *given)
{
    step *changed = &schedule->steps[index];
    if (atomic_load_explicit(&schedule->references, memory_order_acquire) != 1 ||
        (changed->is_grouped && block_count_of(given->launch.shape) != 1))
        return false;
    set_step(changed, given);
    return true;
}

void accel__cpu_schedule_unreference(accel_native_schedule *schedule)
{
    if (atomic_fetch_sub_explicit(&schedule->references, 1, memory_order_acq_rel) != 1)
        return;
    accel__deallocate(schedule->stretches);
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

/* Until one fails: false. */
static bool run_steps(accel__cpu_executor *executor, accel__cpu_queue *queue, const step *next,
                      const step *end, uint64_t position, bool measures)
{
    for (; next < end; next++) {
        const uint64_t cost = atomic_load_explicit(next->cost, memory_order_relaxed);
        if (next->run == NULL || cost - 1 >= next->limits[measures]) {
            if (!run_long_way(executor, queue, next, position))
                return false;
            continue;
        }
        const char *error = next->run(&next->what->launch.launch, 0, next->block_count);
        if (error != NULL) {
            accel__cpu_queue_fail(queue, position, ACCEL_ERROR_DEVICE_FAILED, error);
            return false;
        }
    }
    return true;
}

static bool run_shared(accel__cpu_executor *executor, accel__cpu_queue *queue, stretch *group,
                       const step *steps, uint64_t position)
{
    const accel__cpu_launch_op op = {
        .function = &group->function, .grid = {group->count, 1, 1}, .block = {1, 1, 1}};
    accel__cpu_launch_run(executor, queue, &op, (const unsigned char *)&steps, position, true);
    return accel__cpu_queue_status(queue) == ACCEL_OK;
}

static void run_stretches(accel__cpu_executor *executor, accel__cpu_queue *queue,
                          const accel_native_schedule *schedule, uint64_t position, bool measures)
{
    const bool is_alone = accel__cpu_thread_count() == 1;
    bool good = true;
    for (uint32_t i = 0; good && i < schedule->stretch_count; i++) {
        stretch *part = &schedule->stretches[i];
        const step *first = &schedule->steps[part->first];
        good = part->is_group && !is_alone && is_shared(part, measures)
                   ? run_shared(executor, queue, part, first, position)
                   : run_steps(executor, queue, first, first + part->count, position, measures);
    }
}

void accel__cpu_schedule_execute(accel__cpu_executor *executor, accel__cpu_queue *queue,
                                 accel_native_schedule *schedule, uint64_t position)
{
    const uint64_t start = accel__cpu_ticks();
    const uint64_t before = atomic_load_explicit(&schedule->ticks, memory_order_relaxed);
    run_stretches(executor, queue, schedule, position, ++schedule->replays % SAMPLE == 0);
    const uint64_t took = accel__cpu_ticks() - start;
    const uint64_t learnt = before == 0 ? took : before - before / 4 + took / 4;
    atomic_store_explicit(&schedule->ticks, learnt != 0 ? learnt : 1, memory_order_relaxed);
}
