/* scenarios.c: see scenarios.h. A scenario's `begin` makes the objects, its `step` is done by each thread again
 * and again, and its `end` looks whether the sum of all steps is there. */
#include "soak/scenarios.h"

#include <string.h>

#include "soak/tasks.h"
#include "support/check.h"
#include "support/process.h"

enum { WORDS = 64 };

/* What the threads of a scenario share; made by its `begin`, gone by its `end`. */
static struct {
    accel_stream *stream;
    accel_event *events[2];
    accel_graph *graph;
    accel_generator *generator;
    accel_memory_pool *pool;
    accel_memory_snapshot *snapshot;
    uint32_t *memory;
    _Atomic(uint32_t) count;
    _Atomic(void *) slots[THREADS]; /* memory that one thread left for another */
} shared;

static int open_stream(void)
{
    const uint32_t zero = 0;
    memset(&shared, 0, sizeof shared);
    CHECK_QUIET(accel_stream_create(task_device, NULL, &shared.stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(shared.stream, WORDS * 4, NULL, (void **)&shared.memory) ==
                ACCEL_OK);
    CHECK_QUIET(accel_fill(shared.memory, &zero, 4, WORDS * 4, shared.stream) == ACCEL_OK);
    return 0;
}

/* Each word of the shared memory is `wanted`. */
static int close_stream(uint32_t wanted)
{
    uint32_t host[WORDS] = {0};
    CHECK_QUIET(accel_copy(host, shared.memory, sizeof host, shared.stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(shared.stream) == ACCEL_OK);
    for (uint32_t i = 0; i < WORDS; i++)
        CHECK_QUIET(host[i] == wanted);
    CHECK_QUIET(accel_memory_free(shared.memory) == ACCEL_OK);
    accel_stream_release(shared.stream);
    return 0;
}

/* ---- the start: a hundred threads want the backend at once ---- */

static accel_status count_deferred(accel_device device, void *user)
{
    atomic_fetch_add((_Atomic(uint32_t) *)user, device.index == 0);
    return ACCEL_OK;
}

static int begin_start(void)
{
    memset(&shared, 0, sizeof shared);
    return 0;
}

static int start(uint32_t number, uint32_t *state)
{
    accel_stream *stream = NULL;
    bool is_initialized = false;
    CHECK_QUIET(accel_lazy_call(task_device.backend, count_deferred, (void *)&shared.count, NULL) ==
                ACCEL_OK);
    if (number % 2 == 0)
        CHECK_QUIET(accel_initialize(task_device.backend) == ACCEL_OK);
    CHECK_QUIET(accel_stream_create(task_device, NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_is_initialized(task_device.backend, &is_initialized) == ACCEL_OK);
    CHECK_QUIET(is_initialized);
    accel_stream_release(stream);
    return task_random(state) == 0;
}

static int end_start(uint32_t steps)
{
    CHECK_QUIET(atomic_load(&shared.count) == steps);
    return tasks_begin(task_device);
}

/* ---- one stream, one event ---- */

static void count_callback(accel_stream *stream, accel_status status, void *user)
{
    (void)stream;
    atomic_fetch_add((_Atomic(uint32_t) *)user, status == ACCEL_OK);
}

static int use_stream(uint32_t number, uint32_t *state)
{
    accel_device device;
    uint64_t id = 0;
    bool done = false;
    accel_stream_retain(shared.stream);
    CHECK_QUIET(test_launch_add(&task_kernels, shared.stream, shared.memory, WORDS, 1) == ACCEL_OK);
    CHECK_QUIET(accel_stream_add_callback(shared.stream, count_callback, (void *)&shared.count) ==
                ACCEL_OK);
    CHECK_QUIET(accel_stream_query(shared.stream, &done) == ACCEL_OK);
    CHECK_QUIET(accel_stream_get_device(shared.stream, &device) == ACCEL_OK);
    CHECK_QUIET(accel_stream_get_id(shared.stream, &id) == ACCEL_OK && id != 0);
    if (task_random(state) % 8 == number % 8)
        CHECK_QUIET(accel_stream_synchronize(shared.stream) == ACCEL_OK);
    accel_stream_release(shared.stream);
    return 0;
}

static int end_stream(uint32_t steps)
{
    CHECK_QUIET(accel_stream_synchronize(shared.stream) == ACCEL_OK);
    CHECK_QUIET(atomic_load(&shared.count) == steps);
    return close_stream(steps);
}

static int begin_event(void)
{
    const accel_event_options timing = {.struct_size = sizeof timing, .enable_timing = true};
    if (open_stream() != 0)
        return 1;
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_QUIET(accel_event_create(task_device, &timing, &shared.events[i]) == ACCEL_OK);
        CHECK_QUIET(accel_event_record(shared.events[i], shared.stream) == ACCEL_OK);
    }
    return 0;
}

static int use_event(uint32_t number, uint32_t *state)
{
    accel_event *event = shared.events[task_random(state) % 2];
    accel_stream *own = NULL;
    double milliseconds = 0;
    bool done = false;
    accel_event_retain(event);
    CHECK_QUIET(accel_stream_create(task_device, NULL, &own) == ACCEL_OK);
    CHECK_QUIET(test_launch_nothing(&task_kernels, own) == ACCEL_OK);
    CHECK_QUIET(accel_event_record(event, number % 2 == 0 ? own : shared.stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_wait_event(shared.stream, event) == ACCEL_OK);
    CHECK_QUIET(accel_event_query(event, &done) == ACCEL_OK);
    CHECK_QUIET(accel_event_synchronize(event) == ACCEL_OK);
    const accel_status status = accel_event_elapsed_time(shared.events[0], shared.events[1],
                                                         &milliseconds);
    CHECK_QUIET(status == ACCEL_OK || status == ACCEL_ERROR_NOT_READY);
    CHECK_QUIET(milliseconds > -600000 && milliseconds < 600000);
    accel_stream_release(own);
    accel_event_release(event);
    return 0;
}

static int end_event(uint32_t steps)
{
    (void)steps;
    accel_event_release(shared.events[0]);
    accel_event_release(shared.events[1]);
    return close_stream(0);
}

/* ---- one module ---- */

static int use_module(uint32_t number, uint32_t *state)
{
    accel_kernel *kernel = NULL;
    accel_param param = {0};
    const uint32_t at = task_random(state) % accel_module_kernel_count(task_kernels.module);
    accel_module_retain(task_kernels.module);
    CHECK_QUIET(accel_module_get_kernel_at(task_kernels.module, at, &kernel) == ACCEL_OK);
    CHECK_QUIET(accel_module_get_kernel(task_kernels.module, accel_kernel_name(kernel), &kernel) ==
                ACCEL_OK);
    for (uint32_t i = 0; i < accel_kernel_param_count(kernel); i++)
        CHECK_QUIET(accel_kernel_get_param(kernel, i, &param) == ACCEL_OK);
    CHECK_QUIET(test_launch_add(&task_kernels, shared.stream, shared.memory, WORDS, 1) == ACCEL_OK);
    accel_module_release(task_kernels.module);
    return number >= THREADS;
}

/* ---- graphs ---- */

static int begin_graph(void)
{
    if (open_stream() != 0)
        return 1;
    CHECK_QUIET(accel_graph_create(task_device, NULL, &shared.graph) == ACCEL_OK);
    CHECK_QUIET(accel_graph_capture_begin(shared.graph, shared.stream,
                                          ACCEL_CAPTURE_MODE_RELAXED) == ACCEL_OK);
    CHECK_QUIET(test_launch_add(&task_kernels, shared.stream, shared.memory, WORDS, 1) == ACCEL_OK);
    CHECK_QUIET(accel_graph_capture_end(shared.graph, shared.stream) == ACCEL_OK);
    return 0;
}

static int use_graph(uint32_t number, uint32_t *state)
{
    accel_graph_state now = ACCEL_GRAPH_STATE_EMPTY;
    accel_stream *own = NULL;
    uint32_t nodes = 0;
    accel_graph_retain(shared.graph);
    CHECK_QUIET(accel_stream_create(task_device, NULL, &own) == ACCEL_OK);
    CHECK_QUIET(accel_graph_replay(shared.graph, number % 2 == 0 ? own : shared.stream) ==
                ACCEL_OK);
    CHECK_QUIET(accel_graph_get_state(shared.graph, &now) == ACCEL_OK &&
                now == ACCEL_GRAPH_STATE_INSTANTIATED);
    CHECK_QUIET(accel_graph_get_node_count(shared.graph, &nodes) == ACCEL_OK && nodes == 1);
    if (task_random(state) % 16 == 0)
        CHECK_QUIET(accel_graph_debug_dump(shared.graph, "/dev/null") == ACCEL_OK);
    accel_stream_release(own);
    accel_graph_release(shared.graph);
    return 0;
}

/* The last replay is behind all others, whatever streams they are on. */
static int end_graph(uint32_t steps)
{
    CHECK_QUIET(accel_graph_replay(shared.graph, shared.stream) == ACCEL_OK);
    accel_graph_release(shared.graph);
    return close_stream(steps + 1);
}

static int begin_capture(void)
{
    if (open_stream() != 0)
        return 1;
    CHECK_QUIET(accel_graph_create(task_device, NULL, &shared.graph) == ACCEL_OK);
    return accel_graph_capture_begin(shared.graph, shared.stream, ACCEL_CAPTURE_MODE_RELAXED) !=
           ACCEL_OK;
}

/* All into one capture. */
static int use_capture(uint32_t number, uint32_t *state)
{
    bool is_capturing = false;
    void *memory = NULL;
    CHECK_QUIET(test_launch_add(&task_kernels, shared.stream, shared.memory, WORDS, 1) == ACCEL_OK);
    CHECK_QUIET(accel_stream_is_capturing(shared.stream, &is_capturing) == ACCEL_OK &&
                is_capturing);
    if (task_random(state) % 4 == number % 4) {
        CHECK_QUIET(accel_memory_alloc(shared.stream, 1000, NULL, &memory) == ACCEL_OK);
        CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    }
    return 0;
}

static int end_capture(uint32_t steps)
{
    uint32_t nodes = 0;
    CHECK_QUIET(accel_graph_capture_end(shared.graph, shared.stream) == ACCEL_OK);
    CHECK_QUIET(accel_graph_get_node_count(shared.graph, &nodes) == ACCEL_OK && nodes == steps);
    CHECK_QUIET(accel_graph_replay(shared.graph, shared.stream) == ACCEL_OK);
    CHECK_QUIET(accel_graph_replay(shared.graph, shared.stream) == ACCEL_OK);
    accel_graph_release(shared.graph);
    return close_stream(2 * steps);
}

/* ---- random numbers ---- */

static int begin_generator(void)
{
    if (open_stream() != 0)
        return 1;
    CHECK_QUIET(accel_generator_create(task_device, &shared.generator) == ACCEL_OK);
    return accel_generator_manual_seed(shared.generator, 3) != ACCEL_OK;
}

static int use_generator(uint32_t number, uint32_t *state)
{
    accel_random_reservation taken = {.struct_size = sizeof taken};
    unsigned char bytes[ACCEL_RNG_STATE_SIZE];
    uint64_t seed = 0;
    accel_generator *own = NULL;
    accel_generator_retain(shared.generator);
    CHECK_QUIET(accel_random_reserve(shared.generator, shared.stream, 1 + task_random(state) % 4,
                                     &taken) == ACCEL_OK);
    CHECK_QUIET(taken.seed == 3 && taken.offset % 4 == 0);
    CHECK_QUIET(accel_generator_get_state(shared.generator, bytes, sizeof bytes, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_generator_initial_seed(shared.generator, &seed) == ACCEL_OK && seed == 3);
    CHECK_QUIET(accel_generator_clone(shared.generator, &own) == ACCEL_OK);
    CHECK_QUIET(accel_generator_set_offset(own, number * 4) == ACCEL_OK);
    accel_generator_release(own);
    accel_generator_release(shared.generator);
    return 0;
}

/* Nobody got words that somebody else had: then the sum would be less. */
static int end_generator(uint32_t steps)
{
    uint64_t offset = 0;
    CHECK_QUIET(accel_generator_get_offset(shared.generator, &offset) == ACCEL_OK);
    CHECK_QUIET(offset == (uint64_t)steps * 4);
    accel_generator_release(shared.generator);
    return close_stream(0);
}

/* ---- memory ---- */

static int begin_pool(void)
{
    memset(&shared, 0, sizeof shared);
    return accel_memory_pool_create(task_device, NULL, &shared.pool) != ACCEL_OK;
}

/* Puts memory into another thread's slot, and frees what was there. */
static int hand_over(uint32_t *memory, size_t size, uint32_t *state)
{
    accel_pointer_information info = {.struct_size = sizeof info};
    CHECK_QUIET(accel_pointer_info((char *)memory + size - 1, &info) == ACCEL_OK);
    CHECK_QUIET(info.base == memory && info.size == size && info.offset == size - 1);
    void *before = atomic_exchange(&shared.slots[task_random(state) % THREADS], memory);
    CHECK_QUIET(accel_memory_free(before) == ACCEL_OK);
    return 0;
}

static int use_pool(uint32_t number, uint32_t *state)
{
    const accel_memory_options from_pool = {.struct_size = sizeof from_pool, .pool = shared.pool};
    const size_t size = 1 + task_random(state) % 70000;
    uint32_t uses = 0;
    uint32_t *memory = NULL;
    CHECK_QUIET(accel_memory_pool_retain(shared.pool) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(NULL, size, &from_pool, (void **)&memory) == ACCEL_OK);
    CHECK_QUIET(accel_memory_pool_get_use_count(shared.pool, &uses) == ACCEL_OK && uses >= 2);
    if (number % 10 == 0)
        CHECK_QUIET(accel_memory_pool_trim(shared.pool, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_memory_pool_release(shared.pool) == ACCEL_OK);
    return hand_over(memory, size, state);
}

static int free_slots(void)
{
    for (uint32_t i = 0; i < THREADS; i++)
        CHECK_QUIET(accel_memory_free(atomic_exchange(&shared.slots[i], NULL)) == ACCEL_OK);
    return 0;
}

static int end_pool(uint32_t steps)
{
    uint32_t uses = 0;
    (void)steps;
    CHECK_QUIET(free_slots() == 0);
    CHECK_QUIET(accel_memory_pool_get_use_count(shared.pool, &uses) == ACCEL_OK && uses == 1);
    return accel_memory_pool_release(shared.pool) != ACCEL_OK;
}

static void observe(const accel_out_of_memory_report *out_report, void *user)
{
    (void)user;
    atomic_fetch_add(&shared.count, out_report->asked != 0);
}

static bool give_nothing(accel_device device, size_t size, void *user)
{
    (void)user;
    return device.index < 0 && size == 0;
}

static int begin_memory(void)
{
    memset(&shared, 0, sizeof shared);
    return 0;
}

/* Allocations and frees on different threads, while others set limits, count, empty and look on. */
static int use_memory(uint32_t number, uint32_t *state)
{
    static char keys[THREADS];
    const accel_memory_options pinned = {.struct_size = sizeof pinned,
                                         .kind = ACCEL_MEMORY_KIND_PINNED};
    const size_t size = 1 + task_random(state) % (task_random(state) % 16 == 0 ? 3000000 : 9000);
    accel_memory_statistics figures = {.struct_size = sizeof figures};
    size_t limit = 0;
    uint32_t *memory = NULL;
    CHECK_QUIET(accel_memory_alloc(NULL, size, number % 5 == 0 ? &pinned : NULL,
                                   (void **)&memory) == ACCEL_OK);
    if (hand_over(memory, size, state) != 0)
        return 1;
    switch (number % 10) {
    case 1:
        CHECK_QUIET(accel_empty_cache() == ACCEL_OK && accel_empty_host_cache() == ACCEL_OK);
        break;
    case 2:
        CHECK_QUIET(accel_allocator_set_memory_limit(task_device, (size_t)1 << 40) == ACCEL_OK);
        CHECK_QUIET(accel_allocator_get_memory_limit(task_device, &limit) == ACCEL_OK);
        break;
    case 3:
        CHECK_QUIET(accel_memory_stats(task_device, &figures) == ACCEL_OK);
        CHECK_QUIET(accel_reset_peak_memory_stats(task_device) == ACCEL_OK);
        break;
    case 4: /* at most 16 at a time */
        if (accel_allocator_add_out_of_memory_observer(observe, &keys[number]) == ACCEL_OK)
            CHECK_QUIET(accel_allocator_remove_out_of_memory_observer(observe, &keys[number]) ==
                        ACCEL_OK);
        if (accel_allocator_add_memory_pressure_hook(give_nothing, &keys[number]) == ACCEL_OK)
            CHECK_QUIET(accel_allocator_remove_memory_pressure_hook(give_nothing, &keys[number]) ==
                        ACCEL_OK);
        break;
    case 6:
        CHECK_QUIET(accel_memory_alloc(NULL, (size_t)1 << 50, NULL, (void **)&memory) ==
                    ACCEL_ERROR_OUT_OF_MEMORY);
        break;
    default:
        break;
    }
    return 0;
}

static int end_memory(uint32_t steps)
{
    size_t allocated = 1;
    (void)steps;
    CHECK_QUIET(free_slots() == 0);
    CHECK_QUIET(accel_allocator_set_memory_limit(task_device, 0) == ACCEL_OK);
    CHECK_QUIET(accel_synchronize(task_device) == ACCEL_OK && accel_empty_cache() == ACCEL_OK);
    CHECK_QUIET(accel_memory_allocated(task_device, &allocated) == ACCEL_OK && allocated == 0);
    return 0;
}

/* ---- one snapshot ---- */

static int begin_snapshot(void)
{
    if (open_stream() != 0)
        return 1;
    CHECK_QUIET(accel_memory_record_history(NULL) == ACCEL_OK);
    return accel_memory_snapshot_create(NULL, &shared.snapshot) != ACCEL_OK;
}

static int use_snapshot(uint32_t number, uint32_t *state)
{
    accel_memory_snapshot *own = NULL;
    void *memory = NULL;
    CHECK_QUIET(accel_memory_snapshot_write(shared.snapshot, "/dev/null",
                                            number % 2 == 0
                                                ? ACCEL_MEMORY_SNAPSHOT_FORMAT_JSON
                                                : ACCEL_MEMORY_SNAPSHOT_FORMAT_PICKLE) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(shared.stream, 100, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    if (number % 8 == 0)
        CHECK_QUIET(accel_memory_snapshot_create(NULL, &own) == ACCEL_OK);
    if (task_random(state) % 8 == 0)
        accel_memory_clear_history();
    accel_memory_snapshot_release(own);
    return 0;
}

static int end_snapshot(uint32_t steps)
{
    const accel_memory_history_options off = {.struct_size = sizeof off,
                                              .mode = ACCEL_MEMORY_HISTORY_MODE_OFF};
    (void)steps;
    accel_memory_snapshot_release(shared.snapshot);
    CHECK_QUIET(accel_memory_record_history(&off) == ACCEL_OK);
    return close_stream(0);
}

/* ---- what is each thread's own: errors, what is current; and the log ---- */

static void hear(accel_log_level level, const char *backend, const char *text, void *user)
{
    (void)backend;
    (void)user;
    atomic_fetch_add(&shared.count, level != 0 && text[0] != '\0');
}

static int use_own(uint32_t number, uint32_t *state)
{
    char name[32];
    accel_device device;
    accel_stream *own = NULL;
    accel_stream *current = NULL;
    accel_stream_scope scope;
    CHECK_QUIET(accel_log_set_callback(ACCEL_LOG_LEVEL_DEBUG, task_random(state) % 2 ? hear : NULL,
                                       NULL) == ACCEL_OK);
    snprintf(name, sizeof name, "nothing%u:0", number);
    CHECK_QUIET(accel_device_parse(name, &device) != ACCEL_OK);
    snprintf(name, sizeof name, "nothing%u", number);
    CHECK_QUIET(strstr(accel_last_error_message(), name) != NULL);
    CHECK_QUIET(accel_stream_create(task_device, NULL, &own) == ACCEL_OK);
    CHECK_QUIET(accel_stream_scope_begin(own, &scope) == ACCEL_OK);
    CHECK_QUIET(test_launch_nothing(&task_kernels, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_current_stream(task_device, &current) == ACCEL_OK && current == own);
    accel_stream_scope_end(&scope);
    CHECK_QUIET(accel_current_stream(task_device, &current) == ACCEL_OK && current != own);
    accel_stream_release(own);
    return 0;
}

static int end_own(uint32_t steps)
{
    (void)steps;
    return accel_log_set_callback(ACCEL_LOG_LEVEL_ERROR, NULL, NULL) != ACCEL_OK;
}

/* ---- everything at once ---- */

static int use_all(uint32_t number, uint32_t *state)
{
    switch (number) {
    case 0:
        CHECK_QUIET(accel_shutdown() == ACCEL_OK);
        test_nap_ms(1);
        return 0;
    case 1:
        CHECK_QUIET(accel_synchronize(task_device) == ACCEL_OK);
        return 0;
    default:
        return tasks[task_random(state) % task_count].run(state);
    }
}

const scenario scenarios[] = {
    {"start", begin_start, start, end_start},
    {"stream", open_stream, use_stream, end_stream},
    {"event", begin_event, use_event, end_event},
    {"module", open_stream, use_module, close_stream},
    {"graph", begin_graph, use_graph, end_graph},
    {"capture", begin_capture, use_capture, end_capture},
    {"generator", begin_generator, use_generator, end_generator},
    {"pool", begin_pool, use_pool, end_pool},
    {"memory", begin_memory, use_memory, end_memory},
    {"snapshot", begin_snapshot, use_snapshot, end_snapshot},
    {"own", begin_memory, use_own, end_own},
    {"all", begin_memory, use_all, end_memory},
};

const int scenario_count = (int)(sizeof scenarios / sizeof scenarios[0]);
