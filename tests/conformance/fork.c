/* fork.c: a child of a process that has used the device: it works, where capability.survives_fork says
 * so; elsewhere every use gives ACCEL_ERROR_FORKED, questions work, and releasing is quiet. */
#include "conformance.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILD_LIMIT_SECONDS = 15 }; /* less than a held gate stays closed */

#if defined(__SANITIZE_THREAD__)
#define SANITIZED_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZED_THREADS 1
#endif
#endif

typedef struct given {
    accel_event *passed;
    accel_event *pending;
    unsigned char *memory; /* 64 bytes of 0x42 */
} given;

/* In the child: the number of the check that failed, or 0. */
static int questions_work(cf_run *run)
{
    int32_t count = 0;
    accel_device_info info = {.struct_size = sizeof info};
    accel_pointer_information about = {.struct_size = sizeof about};
    accel_stream *stream = NULL;
    bool initialized = true;
    if (accel_device_count(run->device.backend, &count) != ACCEL_OK || count <= run->device.index)
        return 1;
    if (accel_device_describe(run->device, &info) != ACCEL_OK)
        return 2;
    if (accel_is_initialized(run->device.backend, &initialized) != ACCEL_OK || initialized)
        return 3;
    if (accel_current_stream(run->device, &stream) != ACCEL_OK || stream == NULL)
        return 4;
    return accel_pointer_info(stream, &about) == ACCEL_OK ? 0 : 5;
}

static int child_that_works(cf_run *run, given *inherited)
{
    unsigned char back[64] = {0};
    bool done = false;
    accel_stream *made = NULL;
    void *memory = NULL;
    if (accel_stream_query(run->stream, &done) != ACCEL_OK || !done)
        return 20;
    if (accel_event_query(inherited->passed, &done) != ACCEL_OK || !done)
        return 21;
    if (run->has_gate && accel_event_query(inherited->pending, &done) != ACCEL_ERROR_FORKED)
        return 22;
    if (accel_copy(back, inherited->memory, 64, run->stream) != ACCEL_OK ||
        accel_stream_synchronize(run->stream) != ACCEL_OK || back[63] != 0x42)
        return 23;
    if (accel_stream_create(run->device, NULL, &made) != ACCEL_OK ||
        accel_memory_alloc(made, 64, NULL, &memory) != ACCEL_OK ||
        accel_fill(memory, "\x17", 1, 64, made) != ACCEL_OK ||
        accel_copy(back, memory, 64, made) != ACCEL_OK ||
        accel_stream_synchronize(made) != ACCEL_OK || back[0] != 0x17)
        return 24;
    if (cf_has_kernels(run) && (cf_launch_add(run, made, memory, 1, 16) != ACCEL_OK ||
                                accel_copy(back, memory, 64, made) != ACCEL_OK ||
                                accel_stream_synchronize(made) != ACCEL_OK || back[0] != 0x18))
        return 25;
    accel_stream_release(made);
    return accel_memory_free(memory) == ACCEL_OK && accel_memory_free(inherited->memory) == ACCEL_OK
               ? 0
               : 26;
}

static int child_that_is_told(cf_run *run, given *inherited)
{
    unsigned char host[64] = {0};
    accel_stream *made = NULL;
    void *memory = NULL;
    bool done = true;
    const accel_status forked = ACCEL_ERROR_FORKED;
    if (accel_stream_create(run->device, NULL, &made) != forked || made != NULL)
        return 40;
    if (accel_memory_alloc(run->stream, 64, NULL, &memory) != forked || memory != NULL)
        return 41;
    if (accel_copy(host, inherited->memory, 64, run->stream) != forked)
        return 42;
    if (accel_event_record(inherited->passed, run->stream) != forked)
        return 43;
    if (accel_stream_query(run->stream, &done) != forked ||
        accel_stream_synchronize(run->stream) != forked ||
        accel_synchronize(run->device) != forked || accel_initialize(run->device.backend) != forked)
        return 44;
    return accel_memory_free(inherited->memory) == ACCEL_OK ? 0 : 45;
}

static int child(cf_run *run, given *inherited)
{
    int result = questions_work(run);
    if (result == 0)
        result = run->capability.survives_fork ? child_that_works(run, inherited)
                                               : child_that_is_told(run, inherited);
    accel_event_release(inherited->passed);
    accel_event_release(inherited->pending);
    accel_stream_release(run->stream);
    accel_module_release(run->module);
    return result;
}

/* What each thread of a hanging child waits in, for the report. */
static void describe_hang(pid_t process, char *text, size_t capacity)
{
    char path[64];
    size_t used = (size_t)snprintf(text, capacity, "the child hung, its threads in:");
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char file[400];
        char where[64] = "?";
        snprintf(file, sizeof file, "%s/%s/wchan", path, entry->d_name);
        FILE *stream = entry->d_name[0] != '.' ? fopen(file, "r") : NULL;
        if (stream == NULL)
            continue;
        if (fscanf(stream, "%63s", where) == 1 && used < capacity)
            used += (size_t)snprintf(text + used, capacity - used, " %s", where);
        fclose(stream);
    }
    if (folder != NULL)
        closedir(folder);
}

/* Waits for the child; false, and the reason in `text`, where it did not end well. */
static bool ends_well(pid_t process, char *text, size_t capacity)
{
    const struct timespec pause = {0, 2000000};
    int status = 0;
    for (int turn = 0; turn < CHILD_LIMIT_SECONDS * 400; turn++) {
        if (waitpid(process, &status, WNOHANG) == process) {
            if (WIFEXITED(status))
                snprintf(text, capacity, "check %d failed in the child", WEXITSTATUS(status));
            else
                snprintf(text, capacity, "signal %d ended the child", WTERMSIG(status));
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        }
        nanosleep(&pause, NULL);
    }
    describe_hang(process, text, capacity);
    kill(process, SIGKILL);
    waitpid(process, &status, 0);
    return false;
}

static void after_use(cf_run *run)
{
    given inherited = {NULL, NULL, NULL};
#if SANITIZED_THREADS
    SKIP("ThreadSanitizer kills a forked child that starts a thread");
#endif
    OK(accel_event_create(run->device, NULL, &inherited.passed));
    OK(accel_event_create(run->device, NULL, &inherited.pending));
    OK(accel_memory_alloc(run->stream, 64, NULL, (void **)&inherited.memory));
    OK(accel_fill(inherited.memory, "\x42", 1, 64, run->stream));
    OK(accel_event_record(inherited.passed, run->stream));
    OK(accel_event_synchronize(inherited.passed));
    for (int turn = 0; turn < 3; turn++) {
        OK(cf_hold(run, run->stream));
        OK(accel_event_record(inherited.pending, run->stream));
        fflush(NULL);
        const pid_t process = fork();
        CHECK(process >= 0);
        if (process == 0)
            _exit(child(run, &inherited));
        char what[400];
        const bool is_good = ends_well(process, what, sizeof what);
        cf_let_go(run);
        if (!is_good) {
            cf_fail(run, __FILE__, __LINE__, what);
            return;
        }
        OK(accel_event_synchronize(inherited.pending));
    }
    OK(accel_memory_free(inherited.memory));
    accel_event_release(inherited.passed);
    accel_event_release(inherited.pending);
}

/* In the child: the stream captures nothing, and captures anew where it can be used at all. That is the
 * first call on it. */
static int child_of_a_capture(cf_run *run, accel_stream *stream, unsigned char *memory)
{
    accel_graph *graph = NULL;
    unsigned char back[64] = {0};
    if (accel_graph_create(run->device, NULL, &graph) != ACCEL_OK)
        return 61;
    const accel_status status = accel_graph_capture_begin(graph, stream,
                                                          ACCEL_CAPTURE_MODE_DEFAULT);
    if (!run->capability.survives_fork) {
        accel_graph_release(graph);
        return status == ACCEL_ERROR_FORKED ? 0 : 62;
    }
    if (status != ACCEL_OK || accel_fill(memory, "\x17", 1, 64, stream) != ACCEL_OK ||
        accel_graph_capture_end(graph, stream) != ACCEL_OK)
        return 63;
    if (accel_graph_replay(graph, stream) != ACCEL_OK ||
        accel_copy(back, memory, 64, stream) != ACCEL_OK ||
        accel_stream_synchronize(stream) != ACCEL_OK || back[63] != 0x17)
        return 64;
    accel_graph_release(graph);
    return 0;
}

static void in_a_capture(cf_run *run)
{
    unsigned char *memory = NULL;
    accel_graph *graph = NULL;
    accel_stream *stream = NULL;
    char what[400];
#if SANITIZED_THREADS
    SKIP("ThreadSanitizer kills a forked child that starts a thread");
#endif
    OK(accel_stream_create(run->device, NULL, &stream));
    OK(accel_memory_alloc(stream, 64, NULL, (void **)&memory));
    OK(accel_graph_create(run->device, NULL, &graph));
    OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_DEFAULT));
    fflush(NULL);
    const pid_t process = fork();
    CHECK(process >= 0);
    if (process == 0)
        _exit(child_of_a_capture(run, stream, memory));
    if (!ends_well(process, what, sizeof what))
        cf_fail(run, __FILE__, __LINE__, what);
    OK(accel_graph_capture_end(graph, stream));
    accel_graph_release(graph);
    OK(accel_memory_free(memory));
    accel_stream_release(stream);
}

const cf_test cf_fork_tests[] = {
    {"fork/after-use", after_use},
    {"fork/in-a-capture", in_a_capture},
    {NULL, NULL},
};
