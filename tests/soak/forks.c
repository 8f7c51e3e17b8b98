/* forks.c: a process that forks while all its threads are at work.
 *
 *   forks COUNT SECONDS     ends after so many forks, or so much time
 *   forks opencl COUNT SECONDS   with the first OpenCL device there is (tests/opencl/driver.sh)
 *
 * Each child makes full use of the cpu backend, of its own and of what it inherits, and ends within a time
 * limit; every eighth does so in a child of its own besides. With opencl the parent's threads first only
 * ask: children can use the device; then the parent uses it, and children get one clear error. Prints what
 * failed and what hung. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "soak/tasks.h"
#include "support/check.h"
#include "support/process.h"

enum { THREADS = 12, SIDE_BY_SIDE = 4, LIMIT_S = 60, WORDS = 256 };

static _Atomic(bool) ending;
static _Atomic(uint32_t) broken; /* threads of the parent whose task failed */
static uint64_t deadline_ns;

/* ---- what children inherit ---- */

static struct {
    accel_stream *stream;
    accel_event *event; /* recorded and passed */
    accel_graph *graph;
    accel_memory_pool *pool;
    accel_generator *generator;
    uint32_t *memory; /* WORDS of 77 */
} inherited;

static int leave_things(void)
{
    const uint32_t word = 77;
    CHECK_QUIET(accel_stream_create(task_device, NULL, &inherited.stream) == ACCEL_OK);
    CHECK_QUIET(accel_event_create(task_device, NULL, &inherited.event) == ACCEL_OK);
    CHECK_QUIET(accel_memory_pool_create(task_device, NULL, &inherited.pool) == ACCEL_OK);
    CHECK_QUIET(accel_generator_create(task_device, &inherited.generator) == ACCEL_OK);
    CHECK_QUIET(accel_graph_create(task_device, NULL, &inherited.graph) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(inherited.stream, WORDS * 4, NULL, (void **)&inherited.memory) ==
                ACCEL_OK);
    CHECK_QUIET(accel_fill(inherited.memory, &word, 4, WORDS * 4, inherited.stream) == ACCEL_OK);
    CHECK_QUIET(accel_event_record(inherited.event, inherited.stream) == ACCEL_OK);
    CHECK_QUIET(accel_event_synchronize(inherited.event) == ACCEL_OK);
    CHECK_QUIET(accel_graph_capture_begin(inherited.graph, inherited.stream,
                                          ACCEL_CAPTURE_MODE_RELAXED) == ACCEL_OK);
    CHECK_QUIET(test_launch_add(&task_kernels, inherited.stream, inherited.memory, WORDS, 1) ==
                ACCEL_OK);
    CHECK_QUIET(accel_graph_capture_end(inherited.graph, inherited.stream) == ACCEL_OK);
    return 0;
}

static int use_inherited(void)
{
    const accel_memory_options from_pool = {.struct_size = sizeof from_pool,
                                            .pool = inherited.pool};
    uint32_t host[WORDS] = {0};
    bool done = false;
    void *memory = NULL;
    CHECK_QUIET(accel_stream_query(inherited.stream, &done) == ACCEL_OK && done);
    CHECK_QUIET(accel_event_query(inherited.event, &done) == ACCEL_OK && done);
    CHECK_QUIET(accel_graph_replay(inherited.graph, inherited.stream) == ACCEL_OK);
    CHECK_QUIET(accel_copy(host, inherited.memory, sizeof host, inherited.stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(inherited.stream) == ACCEL_OK);
    for (uint32_t i = 0; i < WORDS; i++)
        CHECK_QUIET(host[i] == 78);
    CHECK_QUIET(accel_memory_alloc(inherited.stream, 5000, &from_pool, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_random_raw(memory, ACCEL_DATA_TYPE_U32, 1000, inherited.generator,
                                 inherited.stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    CHECK_QUIET(accel_memory_free(inherited.memory) == ACCEL_OK);
    accel_graph_release(inherited.graph);
    accel_generator_release(inherited.generator);
    CHECK_QUIET(accel_memory_pool_release(inherited.pool) == ACCEL_OK);
    accel_event_release(inherited.event);
    CHECK_QUIET(accel_synchronize(task_device) == ACCEL_OK);
    accel_stream_release(inherited.stream);
    return 0;
}

/* ---- children ---- */

/* Figures begin at zero, and end there. */
static int use_all(uint32_t seed)
{
    size_t allocated = 1;
    CHECK_QUIET(accel_memory_allocated(task_device, &allocated) == ACCEL_OK && allocated == 0);
    for (uint32_t i = 0; i < task_count; i++)
        if (tasks[(i + seed) % task_count].run(&seed) != 0)
            return 1;
    CHECK_QUIET(accel_synchronize(task_device) == ACCEL_OK);
    CHECK_QUIET(accel_empty_cache() == ACCEL_OK);
    CHECK_QUIET(accel_memory_allocated(task_device, &allocated) == ACCEL_OK && allocated == 0);
    return 0;
}

static int be_grandchild(void *user)
{
    CHECK_QUIET(use_all(*(const uint32_t *)user + 1) == 0);
    CHECK_QUIET(accel_shutdown() == ACCEL_OK);
    return 0;
}

static int be_child(void *user)
{
    const uint32_t seed = *(const uint32_t *)user;
    const bool has_child = seed % 8 == 0;
    alarm(LIMIT_S + 10); /* where the parent is gone */
    if (has_child && seed % 16 == 0)
        CHECK_QUIET(test_in_child(be_grandchild, user, LIMIT_S / 2) == 0);
    CHECK_QUIET(use_all(seed) == 0);
    if (has_child && seed % 16 != 0)
        CHECK_QUIET(test_in_child(be_grandchild, user, LIMIT_S / 2) == 0);
    CHECK_QUIET(use_inherited() == 0);
    CHECK_QUIET(accel_shutdown() == ACCEL_OK);
    return 0;
}

/* ---- the parent ---- */

static void *work(void *user)
{
    const uint32_t number = *(const uint32_t *)user;
    uint32_t state = 2463534242u + number;
    while (!atomic_load(&ending))
        if (tasks[number % task_count].run(&state) != 0) {
            atomic_fetch_add(&broken, 1);
            break;
        }
    return NULL;
}

static void *ask_only(void *user)
{
    int32_t count = 0;
    while (!atomic_load(&ending)) {
        accel_backend_report report = {.struct_size = sizeof report};
        accel_device_info info = {.struct_size = sizeof info};
        if (accel_device_count(*(const accel_backend *)user, &count) != ACCEL_OK ||
            accel_backend_get_report(*(const accel_backend *)user, &report) != ACCEL_OK ||
            accel_device_describe(ACCEL_DEVICE(*(const accel_backend *)user, 0), &info) !=
                ACCEL_OK) {
            atomic_fetch_add(&broken, 1);
            break;
        }
    }
    return NULL;
}

typedef struct outcome {
    uint32_t forks;
    uint32_t failed;
    uint32_t hung;
} outcome;

static void take(outcome *sum, pid_t child, uint32_t seed)
{
    const int result = child < 0 ? 1 : test_child_wait(child, LIMIT_S);
    if (result == TEST_CHILD_HUNG)
        sum->hung++;
    else if (result != 0)
        sum->failed++;
    if (result != 0)
        fprintf(stderr, "child %u: %s (%d)\n", seed, result == TEST_CHILD_HUNG ? "hung" : "failed",
                result);
}

/* Some children at a time, which are waited for in their order. */
static outcome fork_often(int (*body)(void *user), uint32_t count)
{
    outcome sum = {0};
    pid_t children[SIDE_BY_SIDE] = {0};
    uint32_t seeds[SIDE_BY_SIDE] = {0};
    for (uint32_t i = 0; i < count && test_now_ns() < deadline_ns && sum.hung + sum.failed < 10;
         i++) {
        const uint32_t at = i % SIDE_BY_SIDE;
        if (children[at] != 0)
            take(&sum, children[at], seeds[at]);
        seeds[at] = i + 1;
        children[at] = test_child_start(body, &seeds[at]);
        sum.forks++;
    }
    for (uint32_t i = 0; i < SIDE_BY_SIDE; i++)
        if (children[i] != 0)
            take(&sum, children[i], seeds[i]);
    return sum;
}

static int report(const char *what, const outcome *sum)
{
    printf("%s: %u forks, %u failed, %u hung; %u of the parent's threads failed\n", what,
           sum->forks, sum->failed, sum->hung, atomic_load(&broken));
    return sum->failed + sum->hung + atomic_load(&broken) != 0;
}

/* Forks while `threads` threads run `body`. */
static outcome fork_under(void *(*body)(void *), void *(*user)(uint32_t number), uint32_t threads,
                          int (*child)(void *user), uint32_t count)
{
    pthread_t started[THREADS];
    outcome sum = {0};
    atomic_store(&ending, false);
    for (uint32_t i = 0; i < threads; i++)
        if (pthread_create(&started[i], NULL, body, user(i)) != 0)
            abort();
    sum = fork_often(child, count);
    atomic_store(&ending, true);
    for (uint32_t i = 0; i < threads; i++)
        pthread_join(started[i], NULL);
    return sum;
}

static void *number_of(uint32_t number)
{
    static uint32_t numbers[THREADS];
    numbers[number] = number;
    return &numbers[number];
}

static int attack_cpu(uint32_t count)
{
    accel_backend cpu = ACCEL_BACKEND_NONE;
    CHECK_QUIET(accel_backend_find("cpu", &cpu) == ACCEL_OK);
    if (tasks_begin(ACCEL_DEVICE(cpu, 0)) != 0 || leave_things() != 0)
        return 1;
    const outcome sum = fork_under(work, number_of, THREADS, be_child, count);
    return report("cpu", &sum);
}

/* ---- OpenCL ---- */

static accel_backend opencl = ACCEL_BACKEND_NONE;

static void *backend_of(uint32_t number)
{
    (void)number;
    return &opencl;
}

static int use_opencl(void *user)
{
    const accel_device device = ACCEL_DEVICE(opencl, 0);
    const uint32_t word = *(const uint32_t *)user;
    uint32_t host[WORDS] = {0};
    accel_stream *stream = NULL;
    void *memory = NULL;
    CHECK_QUIET(accel_stream_create(device, NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, sizeof host, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_fill(memory, &word, 4, sizeof host, stream) == ACCEL_OK);
    CHECK_QUIET(accel_copy(host, memory, sizeof host, stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    CHECK_QUIET(host[0] == word && host[WORDS - 1] == word);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    accel_stream_release(stream);
    return 0;
}

static int be_refused(void *user)
{
    accel_stream *stream = NULL;
    int32_t count = 0;
    (void)user;
    CHECK_QUIET(accel_stream_create(ACCEL_DEVICE(opencl, 0), NULL, &stream) == ACCEL_ERROR_FORKED);
    CHECK_QUIET(stream == NULL && strlen(accel_last_error_message()) != 0);
    CHECK_QUIET(accel_device_count(opencl, &count) == ACCEL_OK && count >= 1);
    return use_all(*(const uint32_t *)user);
}

static int attack_opencl(uint32_t count)
{
    accel_backend cpu = ACCEL_BACKEND_NONE;
    uint32_t word = 5;
    CHECK_QUIET(accel_backend_find("cpu", &cpu) == ACCEL_OK);
    CHECK_QUIET(accel_backend_find("opencl", &opencl) == ACCEL_OK);
    outcome sum = fork_under(ask_only, backend_of, 4, use_opencl, count / 8 + 1);
    if (report("opencl, asked before", &sum) != 0 || use_opencl(&word) != 0 ||
        tasks_begin(ACCEL_DEVICE(cpu, 0)) != 0)
        return 1;
    sum = fork_under(ask_only, backend_of, 4, be_refused, count);
    return report("opencl, used before", &sum);
}

int main(int count, char **words)
{
    const bool with_opencl = count == 4 && strcmp(words[1], "opencl") == 0;
    if (count != 3 + with_opencl) {
        fprintf(stderr, "forks [opencl] COUNT SECONDS\n");
        return 2;
    }
    const uint32_t forks = (uint32_t)strtoul(words[1 + with_opencl], NULL, 10);
    deadline_ns = test_now_ns() + strtoull(words[2 + with_opencl], NULL, 10) * 1000000000u;
    return with_opencl ? attack_opencl(forks) : attack_cpu(forks);
}
