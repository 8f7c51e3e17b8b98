/* tasks.c: see tasks.h. Tasks share nothing but the device, the module of kernels, and what belongs to the
 * process: the default generators, memory's history, the caches. */
#include "soak/tasks.h"

#include <string.h>

#include "support/check.h"

enum { COUNT = 1000 };

accel_device task_device;
test_kernels task_kernels;
static uint64_t drawn; /* the hash of what a generator with seed 11 draws */

uint32_t task_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* ---- streams, memory, launches ---- */

static int launch(uint32_t *state)
{
    uint32_t host[COUNT];
    accel_stream *stream = NULL;
    void *memory = NULL;
    const uint32_t first = task_random(state);
    CHECK_QUIET(accel_stream_create(task_device, NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, sizeof host, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_fill(memory, &first, sizeof first, sizeof host, stream) == ACCEL_OK);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_QUIET(test_launch_add(&task_kernels, stream, memory, COUNT, i + 1) == ACCEL_OK);
    CHECK_QUIET(accel_copy(host, memory, sizeof host, stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    for (uint32_t i = 0; i < COUNT; i++)
        CHECK_QUIET(host[i] == first + 6);
    accel_stream_release(stream);
    return 0;
}

typedef struct block {
    uint64_t *memory;
    size_t size;
    uint64_t word;
} block;

/* Writes a word to both ends. */
static int take(block *taken, uint32_t *state)
{
    taken->size = 16 + (task_random(state) % 4 == 0 ? task_random(state) % 2000000
                                                    : task_random(state) % 5000) /
                           8 * 8;
    taken->word = (uint64_t)task_random(state) << 32 | task_random(state);
    CHECK_QUIET(accel_memory_alloc(NULL, taken->size, NULL, (void **)&taken->memory) == ACCEL_OK);
    CHECK_QUIET(accel_fill(taken->memory, &taken->word, 8, 8, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_fill(&taken->memory[taken->size / 8 - 1], &taken->word, 8, 8, NULL) ==
                ACCEL_OK);
    return 0;
}

/* Nobody else wrote there meanwhile. */
static int give(const block *taken)
{
    uint64_t ends[2] = {0};
    CHECK_QUIET(accel_copy(&ends[0], taken->memory, 8, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_copy(&ends[1], &taken->memory[taken->size / 8 - 1], 8, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(NULL) == ACCEL_OK);
    CHECK_QUIET(ends[0] == taken->word && ends[1] == taken->word);
    CHECK_QUIET(accel_memory_free(taken->memory) == ACCEL_OK);
    return 0;
}

static int allocate(uint32_t *state)
{
    enum { BLOCKS = 12, TURNS = 40 };
    block blocks[BLOCKS] = {{0}};
    int failed = 0;
    CHECK_QUIET(accel_set_device_index(task_device) == ACCEL_OK);
    for (uint32_t i = 0; i < TURNS && failed == 0; i++) {
        block *chosen = &blocks[task_random(state) % BLOCKS];
        if (chosen->memory != NULL)
            failed = give(chosen);
        failed |= take(chosen, state);
    }
    for (uint32_t i = 0; i < BLOCKS && failed == 0; i++)
        if (blocks[i].memory != NULL)
            failed = give(&blocks[i]);
    return failed;
}

static int time_events(uint32_t *state)
{
    const accel_event_options timing = {.struct_size = sizeof timing, .enable_timing = true};
    accel_stream *streams[2] = {NULL};
    accel_event *events[2] = {NULL};
    double milliseconds = -1;
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_QUIET(accel_stream_create(task_device, NULL, &streams[i]) == ACCEL_OK);
        CHECK_QUIET(accel_event_create(task_device, &timing, &events[i]) == ACCEL_OK);
    }
    CHECK_QUIET(accel_event_record(events[0], streams[0]) == ACCEL_OK);
    CHECK_QUIET(test_launch_nothing(&task_kernels, streams[0]) == ACCEL_OK);
    CHECK_QUIET(accel_stream_wait_stream(streams[1], streams[0]) == ACCEL_OK);
    CHECK_QUIET(accel_stream_wait_event(streams[1], events[0]) == ACCEL_OK);
    CHECK_QUIET(accel_event_record(events[1], streams[1]) == ACCEL_OK);
    CHECK_QUIET(accel_event_synchronize(events[1]) == ACCEL_OK);
    CHECK_QUIET(accel_event_elapsed_time(events[0], events[1], &milliseconds) == ACCEL_OK);
    CHECK_QUIET(milliseconds >= 0);
    for (uint32_t i = 0; i < 2; i++) {
        accel_event_release(events[i]);
        accel_stream_release(streams[i]);
    }
    return 0;
}

static void count_call(accel_stream *stream, accel_status status, void *user)
{
    (void)stream;
    if (status == ACCEL_OK)
        atomic_fetch_add((_Atomic(uint32_t) *)user, 1);
}

static int call_back(uint32_t *state)
{
    _Atomic(uint32_t) calls = 0;
    accel_stream *stream = NULL;
    (void)state;
    CHECK_QUIET(accel_stream_create(task_device, NULL, &stream) == ACCEL_OK);
    for (uint32_t i = 0; i < 5; i++)
        CHECK_QUIET(accel_stream_add_callback(stream, count_call, (void *)&calls) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    CHECK_QUIET(atomic_load(&calls) == 5);
    accel_stream_release(stream);
    return 0;
}

static int use_pool(uint32_t *state)
{
    accel_memory_pool *pool = NULL;
    accel_memory_pool_scope scope;
    void *memory[4] = {NULL};
    CHECK_QUIET(accel_set_device_index(task_device) == ACCEL_OK);
    CHECK_QUIET(accel_memory_pool_create(task_device, NULL, &pool) == ACCEL_OK);
    CHECK_QUIET(accel_memory_pool_scope_begin(pool, &scope) == ACCEL_OK);
    for (uint32_t i = 0; i < 4; i++)
        CHECK_QUIET(accel_memory_alloc(NULL, 1 + task_random(state) % 100000, NULL, &memory[i]) ==
                    ACCEL_OK);
    accel_memory_pool_scope_end(&scope);
    for (uint32_t i = 0; i < 4; i++)
        CHECK_QUIET(accel_memory_free(memory[i]) == ACCEL_OK);
    CHECK_QUIET(accel_memory_pool_trim(pool, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_memory_pool_release(pool) == ACCEL_OK);
    return 0;
}

static int pin(uint32_t *state)
{
    const accel_memory_options pinned = {.struct_size = sizeof pinned,
                                         .kind = ACCEL_MEMORY_KIND_PINNED};
    uint32_t *host = NULL;
    void *memory = NULL;
    const uint32_t word = task_random(state);
    CHECK_QUIET(accel_set_device_index(task_device) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(NULL, COUNT * sizeof word, &pinned, (void **)&host) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(NULL, COUNT * sizeof word, NULL, &memory) == ACCEL_OK);
    for (uint32_t i = 0; i < COUNT; i++)
        host[i] = word + i;
    CHECK_QUIET(accel_copy(memory, host, COUNT * sizeof word, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(NULL) == ACCEL_OK);
    memset(host, 0, COUNT * sizeof word);
    CHECK_QUIET(accel_copy(host, memory, COUNT * sizeof word, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(NULL) == ACCEL_OK);
    for (uint32_t i = 0; i < COUNT; i++)
        CHECK_QUIET(host[i] == word + i);
    CHECK_QUIET(accel_memory_free(host) == ACCEL_OK && accel_memory_free(memory) == ACCEL_OK);
    return 0;
}

/* ---- graphs, random numbers, kernels from source ---- */

static int record_work(accel_stream *stream, void *kept, uint32_t word)
{
    void *memory = NULL;
    CHECK_QUIET(accel_memory_alloc(stream, COUNT * sizeof word, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_fill(memory, &word, 4, COUNT * sizeof word, stream) == ACCEL_OK);
    CHECK_QUIET(test_launch_add(&task_kernels, stream, memory, COUNT, 5) == ACCEL_OK);
    CHECK_QUIET(accel_copy(kept, memory, COUNT * sizeof word, stream) == ACCEL_OK);
    CHECK_QUIET(test_launch_add(&task_kernels, stream, kept, COUNT, 1) == ACCEL_OK);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    return 0;
}

static int capture(uint32_t *state)
{
    uint32_t host[COUNT] = {0};
    accel_graph *graph = NULL;
    accel_stream *stream = NULL;
    void *kept = NULL;
    const uint32_t word = task_random(state);
    CHECK_QUIET(accel_stream_create(task_device, NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, sizeof host, NULL, &kept) == ACCEL_OK);
    CHECK_QUIET(accel_graph_create(task_device, NULL, &graph) == ACCEL_OK);
    CHECK_QUIET(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_RELAXED) == ACCEL_OK);
    if (record_work(stream, kept, word) != 0)
        return 1;
    CHECK_QUIET(accel_graph_capture_end(graph, stream) == ACCEL_OK);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_QUIET(accel_graph_replay(graph, stream) == ACCEL_OK);
    CHECK_QUIET(accel_copy(host, kept, sizeof host, stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    for (uint32_t i = 0; i < COUNT; i++)
        CHECK_QUIET(host[i] == word + 6);
    CHECK_QUIET(accel_memory_free(kept) == ACCEL_OK);
    accel_graph_release(graph);
    accel_stream_release(stream);
    return 0;
}

static int draw_hash(uint64_t *out_hash)
{
    float host[COUNT];
    accel_generator *generator = NULL;
    accel_stream *stream = NULL;
    void *memory = NULL;
    *out_hash = UINT64_C(14695981039346656037);
    CHECK_QUIET(accel_stream_create(task_device, NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, sizeof host, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_generator_create(task_device, &generator) == ACCEL_OK);
    CHECK_QUIET(accel_generator_manual_seed(generator, 11) == ACCEL_OK);
    CHECK_QUIET(accel_random_normal(memory, ACCEL_DATA_TYPE_F32, COUNT, generator, stream) ==
                ACCEL_OK);
    CHECK_QUIET(accel_copy(host, memory, sizeof host, stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    for (uint32_t i = 0; i < sizeof host; i++)
        *out_hash = (*out_hash ^ ((unsigned char *)host)[i]) * UINT64_C(1099511628211);
    CHECK_QUIET(accel_random_bernoulli(memory, ACCEL_DATA_TYPE_U8, COUNT, 0.5, NULL, stream) ==
                ACCEL_OK);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    accel_generator_release(generator);
    accel_stream_release(stream);
    return 0;
}

static int draw(uint32_t *state)
{
    unsigned char kept[ACCEL_RNG_STATE_SIZE];
    uint64_t hash = 0;
    CHECK_QUIET(accel_set_device_index(task_device) == ACCEL_OK);
    CHECK_QUIET(accel_manual_seed(task_random(state)) == ACCEL_OK);
    if (draw_hash(&hash) != 0)
        return 1;
    CHECK_QUIET(hash == drawn);
    CHECK_QUIET(accel_get_rng_state(task_device, kept, sizeof kept, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_set_rng_state(task_device, kept, sizeof kept) == ACCEL_OK);
    return 0;
}

/* One of four kernels, which the disk's cache has since tasks_begin. */
static int compile_number(uint32_t number)
{
    char source[200];
    uint32_t result = 0;
    accel_module *module = NULL;
    accel_kernel *kernel = NULL;
    accel_stream *stream = NULL;
    void *memory = NULL;
    const accel_launch_shape shape = {{1, 1, 1}, {1, 1, 1}};
    snprintf(source, sizeof source, "__kernel void put(__global uint *out) { *out = %uu; }",
             1000 + number);
    CHECK_QUIET(accel_module_create_from_source(task_device, source, strlen(source), NULL,
                                                &module) == ACCEL_OK);
    CHECK_QUIET(accel_module_get_kernel(module, "put", &kernel) == ACCEL_OK);
    CHECK_QUIET(accel_stream_create(task_device, NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, sizeof result, NULL, &memory) == ACCEL_OK);
    const accel_kernel_arg argument = ACCEL_ARG_POINTER(memory);
    CHECK_QUIET(accel_kernel_launch(kernel, stream, &shape, &argument, 1) == ACCEL_OK);
    accel_module_release(module);
    CHECK_QUIET(accel_copy(&result, memory, sizeof result, stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    CHECK_QUIET(result == 1000 + number);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    accel_stream_release(stream);
    return 0;
}

static int compile(uint32_t *state)
{
    return compile_number(task_random(state) % 4);
}

/* ---- looking on ---- */

static bool stop_at_ten(const accel_memory_leak *leak, void *user)
{
    return leak->count != 0 && ++*(uint32_t *)user < 10;
}

static int record_history(uint32_t *state)
{
    const accel_memory_history_options options = {.struct_size = sizeof options,
                                                  .mode = task_random(state) % 2 == 0
                                                              ? ACCEL_MEMORY_HISTORY_MODE_ALL
                                                              : ACCEL_MEMORY_HISTORY_MODE_STATE,
                                                  .max_entries = 1000};
    const accel_memory_history_options off = {.struct_size = sizeof off,
                                              .mode = ACCEL_MEMORY_HISTORY_MODE_OFF};
    accel_memory_snapshot *snapshot = NULL;
    uint32_t visited = 0;
    void *memory = NULL;
    CHECK_QUIET(accel_set_device_index(task_device) == ACCEL_OK);
    CHECK_QUIET(accel_memory_record_history(&options) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(NULL, 3000, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_memory_snapshot_create(NULL, &snapshot) == ACCEL_OK);
    CHECK_QUIET(accel_memory_snapshot_write(snapshot, "/dev/null",
                                            ACCEL_MEMORY_SNAPSHOT_FORMAT_JSON) == ACCEL_OK);
    accel_memory_snapshot_release(snapshot);
    CHECK_QUIET(accel_memory_leaks_visit(stop_at_ten, &visited) == ACCEL_OK && visited != 0);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    CHECK_QUIET(accel_memory_record_history(&off) == ACCEL_OK);
    return 0;
}

static bool count_keys(const char *key, int64_t value, void *user)
{
    *(uint32_t *)user += key[0] != '\0' && value >= -1;
    return true;
}

static int ask(uint32_t *state)
{
    accel_device_capability capability = {.struct_size = sizeof capability};
    accel_device_info info = {.struct_size = sizeof info};
    accel_backend_report report = {.struct_size = sizeof report};
    size_t free_bytes = 0;
    size_t total = 0;
    uint32_t keys = 0;
    int32_t count = 0;
    char name[32];
    (void)state;
    CHECK_QUIET(accel_device_count(task_device.backend, &count) == ACCEL_OK && count >= 1);
    CHECK_QUIET(accel_get_device_capability(task_device, &capability) == ACCEL_OK);
    CHECK_QUIET(accel_device_describe(task_device, &info) == ACCEL_OK && info.name[0] != '\0');
    CHECK_QUIET(accel_backend_get_report(task_device.backend, &report) == ACCEL_OK);
    CHECK_QUIET(accel_memory_stats_visit(task_device, count_keys, &keys) == ACCEL_OK && keys > 50);
    CHECK_QUIET(accel_get_memory_info(task_device, &free_bytes, &total) == ACCEL_OK &&
                free_bytes <= total);
    CHECK_QUIET(accel_device_format(task_device, name, sizeof name, NULL) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(NULL, SIZE_MAX, NULL, (void **)&total) != ACCEL_OK);
    CHECK_QUIET(strlen(accel_last_error_message()) != 0);
    return 0;
}

static int empty(uint32_t *state)
{
    CHECK_QUIET(task_random(state) % 4 != 0 || accel_empty_cache() == ACCEL_OK);
    CHECK_QUIET(accel_empty_host_cache() == ACCEL_OK);
    return 0;
}

const task tasks[] = {
    {"launch", launch},          {"allocate", allocate}, {"events", time_events},
    {"callback", call_back},     {"pool", use_pool},     {"pinned", pin},
    {"capture", capture},        {"draw", draw},         {"compile", compile},
    {"history", record_history}, {"ask", ask},           {"empty", empty},
};
const uint32_t task_count = sizeof tasks / sizeof tasks[0];

int tasks_begin(accel_device device)
{
    task_device = device;
    CHECK_QUIET(test_kernels_load(device, &task_kernels) == ACCEL_OK);
    for (uint32_t number = 0; number < 4; number++)
        CHECK_QUIET(compile_number(number) == 0);
    return draw_hash(&drawn);
}

void tasks_end(void)
{
    test_kernels_unload(&task_kernels);
}
