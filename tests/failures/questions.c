/* questions.c: scenarios of what asks, waits for a start, ends and forks: devices, discovery, the doctor,
 * deferred calls, shutdown, children; and the first use of a backend, each in a process of its own. */
#include "scenario.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failures.h"

/* ---- devices ---- */

static accel_status devices(world *w)
{
    accel_device_info info = {.struct_size = sizeof info};
    accel_device_capability capability = {.struct_size = sizeof capability};
    accel_device now = ACCEL_DEVICE_CURRENT;
    char name[ACCEL_DEVICE_NAME_MAX] = "";
    int32_t count = 0;
    size_t free_size = 0;
    size_t total_size = 0;
    bool available = false;
    accel_status status = ACCEL_OK;
    THEN(accel_device_count(w->device.backend, &count));
    RIGHT(count >= 1);
    THEN(accel_is_available(w->device.backend, &available));
    THEN(accel_current_accelerator(true, &now));
    RIGHT(now.backend == w->device.backend);
    THEN(accel_device_describe(w->device, &info));
    THEN(accel_get_device_capability(w->device, &capability));
    THEN(accel_get_memory_info(w->device, &free_size, &total_size));
    RIGHT(total_size > 0);
    THEN(accel_device_format(w->device, name, sizeof name, NULL));
    THEN(accel_device_parse(name, &now));
    RIGHT(now.backend == w->device.backend && now.index == w->device.index);
    THEN(accel_synchronize(w->device));
    return status;
}

static accel_status reports(world *w)
{
    accel_backend_report report = {.struct_size = sizeof report};
    accel_driver_report driver = {.struct_size = sizeof driver};
    accel_status status = ACCEL_OK;
    THEN(accel_backend_get_report(w->device.backend, &report));
    RIGHT(report.device_count >= 1);
    if (status == ACCEL_OK && report.driver_count != 0)
        THEN(accel_backend_get_driver_report(w->device.backend, 0, &driver));
    return status;
}

static accel_status doctor(world *w)
{
    accel_fork_report report = {.struct_size = sizeof report};
    accel_status status = ACCEL_OK;
    THEN(accel_fork_state(&report));
    if (!w->is_cpu)
        RIGHT(report.verdict == ACCEL_FORK_VERDICT_SPOILT);
    return status;
}

/* ---- deferred calls, the end, and the time behind it ---- */

static accel_status run_deferred(accel_device device, void *user)
{
    (void)device;
    atomic_fetch_add(&((world *)user)->called, 1);
    return ACCEL_OK;
}

static accel_status deferred(world *w)
{
    accel_status status = ACCEL_OK;
    THEN(accel_lazy_call(w->device.backend, run_deferred, w, NULL));
    MUST(w->called == (status == ACCEL_OK));
    return status;
}

static accel_status use_once(world *w)
{
    accel_stream *stream = NULL;
    void *memory = NULL;
    const uint32_t nine = 9;
    accel_status status = ACCEL_OK;
    begin_words(w);
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &memory), memory);
    THEN(accel_fill(memory, &nine, 4, BYTES, stream));
    THEN(accel_copy(w->to, memory, BYTES, stream));
    THEN(accel_stream_synchronize(stream));
    RIGHT(words_are(w->to, WORDS, 9));
    FREES(memory);
    return end_stream(w, stream, status);
}

static accel_status shutdown(world *w)
{
    accel_status status = ACCEL_OK;
    status = use_once(w);
    ALWAYS(accel_shutdown());
    THEN(use_once(w));
    return status;
}

/* ---- threads ---- */

typedef struct worker {
    world *w;
    pthread_t thread;
    accel_status status;
} worker;

static void *work_in_thread(void *user)
{
    worker *own = user;
    accel_stream *stream = NULL;
    void *memory[20] = {NULL};
    own->status = accel_stream_create(own->w->device, NULL, &stream);
    if (own->status == ACCEL_OK)
        own->status = accel_set_stream(stream);
    for (int i = 0; i < 20 && own->status == ACCEL_OK; i++)
        own->status = accel_memory_alloc(NULL, 1000, NULL, &memory[i]);
    for (int i = 0; i < 20; i++)
        if (accel_memory_free(memory[i]) != ACCEL_OK)
            own->status = ACCEL_ERROR_INTERNAL;
    if (stream != NULL && accel_stream_synchronize(stream) != ACCEL_OK && own->status == ACCEL_OK)
        own->status = ACCEL_ERROR_SYSTEM;
    accel_stream_release(stream);
    return NULL;
}

static accel_status threads(world *w)
{
    enum { THREADS = 3 };
    worker workers[THREADS];
    accel_status status = ACCEL_OK;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.w = w};
        if (__real_pthread_create(&workers[i].thread, NULL, work_in_thread, &workers[i]) != 0)
            abort();
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        status = status != ACCEL_OK ? status : workers[i].status;
    }
    return status;
}

/* ---- children ---- */

enum { CHILD_OK = 0, CHILD_FAILED = 1, CHILD_WRONG = 2 };

/* In a child that a failure meets too: by its own count, which goes on from the parent's. */
static int use_in_child(world *w)
{
    accel_status status = use_once(w);
    if (w->wrong[0] != '\0') {
        fprintf(stderr, "in a child: %s\n", w->wrong);
        return CHILD_WRONG;
    }
    if (status == ACCEL_OK)
        return CHILD_OK;
    return status == ACCEL_ERROR_FORKED && !w->capability.survives_fork ? CHILD_OK : CHILD_FAILED;
}

static accel_status children(world *w)
{
    int end = 0;
    accel_status status = use_once(w);
    if (status != ACCEL_OK)
        return status;
    const pid_t child = fork();
    if (child == 0)
        _exit(use_in_child(w));
    MUST(child > 0 && waitpid(child, &end, 0) == child);
    MUST(WIFEXITED(end) && WEXITSTATUS(end) <= CHILD_FAILED);
    return status;
}

const scenario question_scenarios[] = {
    {.name = "device/questions", .run = devices},
    {.name = "discovery/reports", .run = reports},
    {.name = "doctor/fork-state", .run = doctor},
    {.name = "lifecycle/deferred", .run = deferred},
    {.name = "lifecycle/use", .run = use_once},
    {.name = "lifecycle/shutdown", .run = shutdown},
    {.name = "thread/own-streams", .run = threads},
    {.name = "fork/child-uses", .run = children},
    {.name = NULL},
};

/* ---- the start; the backend is all that is known ---- */

static accel_status start_by_count(world *w)
{
    int32_t count = 0;
    accel_backend_report report = {.struct_size = sizeof report};
    accel_status status = ACCEL_OK;
    THEN(accel_device_count(w->device.backend, &count));
    RIGHT(count >= 1);
    THEN(accel_backend_get_report(w->device.backend, &report));
    return status;
}

static accel_status start_by_initialize(world *w)
{
    bool started = false;
    accel_status status = ACCEL_OK;
    THEN(accel_lazy_call(w->device.backend, run_deferred, w, NULL));
    w->called_wanted += status == ACCEL_OK;
    THEN(accel_manual_seed(3));
    THEN(accel_initialize(w->device.backend));
    THEN(accel_is_initialized(w->device.backend, &started));
    RIGHT(started);
    RIGHT(w->called == w->called_wanted);
    return status;
}

static accel_status start_by_use(world *w)
{
    w->device.index = 0;
    return use_once(w);
}

static accel_status start_by_memory(world *w)
{
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = ACCEL_MEMORY_KIND_PINNED};
    void *memory = NULL;
    void *host = NULL;
    accel_status status = ACCEL_OK;
    THEN(accel_set_current_accelerator(w->device.backend));
    MAKES(accel_memory_alloc(NULL, BYTES, NULL, &memory), memory);
    MAKES(accel_memory_alloc(NULL, BYTES, &options, &host), host);
    FREES(memory);
    FREES(host);
    return status;
}

static accel_status start_by_graph(world *w)
{
    accel_graph *graph = NULL;
    accel_graph_scope scope = {.active = false};
    accel_status status = ACCEL_OK;
    w->device.index = 0;
    MAKES(accel_graph_create(w->device, NULL, &graph), graph);
    THEN(accel_graph_scope_begin(graph, NULL, ACCEL_CAPTURE_MODE_DEFAULT, &scope));
    if (scope.active) {
        THEN(accel_stream_add_callback(NULL, count_call, w));
        ALWAYS(accel_graph_scope_end(&scope));
    }
    THEN(accel_graph_replay(graph, NULL));
    ALWAYS(accel_synchronize(w->device));
    accel_graph_release(graph);
    return status;
}

const scenario start_scenarios[] = {
    {.name = "start/count", .run = start_by_count, .fresh = true},
    {.name = "start/initialize", .run = start_by_initialize, .fresh = true},
    {.name = "start/use", .run = start_by_use, .fresh = true},
    {.name = "start/memory", .run = start_by_memory, .fresh = true},
    {.name = "start/graph", .run = start_by_graph, .fresh = true},
    {.name = NULL},
};
