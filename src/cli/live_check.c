/* live_check.c: see live_check.h.
 *
 *   caller ── warden ── child ── grandchild
 *
 * Child and grandchild write what they did into a page that they share with the caller, as they go: what a
 * driver did to them shows from where they stopped. The warden keeps the time, and ends whatever is left at
 * the end, compilers and daemons of a driver included: orphans below it become its own. It touches no
 * driver. */
#include "cli/live_check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 1024, BLOCK = 64, DEVICE_MAX = 16, PATIENCE_NS = 1000000000 };

static const char source[] = "__kernel void add(__global uint *data, uint value)\n"
                             "{\n"
                             "    data[get_global_id(0)] += value;\n"
                             "}\n";

/* What one process was to do, and how it went. */
typedef struct part {
    bool is_done;
    accel_status status;
    char message[ACCEL__LIVE_TEXT_SIZE];
} part;

typedef struct sheet {
    part child;
    part grandchild;
    bool has_ended;   /* the child, in time */
    int child_status; /* of wait, once it ended */
    int start_error;  /* errno's value where there is no child */
    bool has_forked;
    int grandchild_status; /* of wait, once it ended */
    char no_compiler[ACCEL__LIVE_TEXT_SIZE];
    _Atomic(uint32_t) warning_count;
    char warnings[ACCEL__LIVE_WARNING_MAX][ACCEL__LIVE_TEXT_SIZE];
} sheet;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- in the children: using a device ---- */

/* What one use needs; all of it is released at its end. */
typedef struct use {
    accel_stream *stream;
    accel_module *module;
    void *memory;
} use;

static accel_status launch(use *now, accel_device device, sheet *shared, uint32_t value)
{
    const accel_launch_shape shape = {.grid = {COUNT / BLOCK, 1, 1}, .block = {BLOCK, 1, 1}};
    const accel_kernel_arg arguments[] = {ACCEL_ARG_POINTER(now->memory), ACCEL_ARG_VALUE(value)};
    accel_kernel *add = NULL;
    accel_status status = accel_module_create_from_source(device, source, sizeof source - 1, NULL,
                                                          &now->module);
    if (status == ACCEL_ERROR_NO_COMPILER)
        snprintf(shared->no_compiler, sizeof shared->no_compiler, "%s", accel_last_error_message());
    if (status == ACCEL_OK)
        status = accel_module_get_kernel(now->module, "add", &add);
    return status == ACCEL_OK ? accel_kernel_launch(add, now->stream, &shape, arguments, 2)
                              : status;
}

/* Fills memory, adds to it by a kernel where one can be compiled, copies it back and compares. */
static accel_status try_device(use *now, accel_device device, sheet *shared, part *made)
{
    uint32_t host[COUNT] = {0};
    const uint32_t start = 7;
    const uint32_t value = 5;
    uint32_t wanted = start + value;
    accel_status status = accel_stream_create(device, NULL, &now->stream);
    if (status == ACCEL_OK)
        status = accel_memory_alloc(now->stream, sizeof host, NULL, &now->memory);
    if (status == ACCEL_OK)
        status = accel_fill(now->memory, &start, sizeof start, sizeof host, now->stream);
    if (status == ACCEL_OK) {
        status = launch(now, device, shared, value);
        wanted = status == ACCEL_ERROR_NO_COMPILER ? start : wanted;
        status = status == ACCEL_ERROR_NO_COMPILER ? ACCEL_OK : status;
    }
    if (status == ACCEL_OK)
        status = accel_copy(host, now->memory, sizeof host, now->stream);
    if (status == ACCEL_OK)
        status = accel_stream_synchronize(now->stream);
    for (int i = 0; i < COUNT && status == ACCEL_OK; i++)
        if (host[i] != wanted) {
            snprintf(made->message, sizeof made->message, "a wrong result: %u, not %u", host[i],
                     wanted);
            return ACCEL_ERROR_DEVICE_FAILED;
        }
    return status;
}

static accel_status use_device(accel_device device, sheet *shared, part *made)
{
    use now = {0};
    char name[ACCEL_DEVICE_NAME_MAX] = "";
    accel_status status = try_device(&now, device, shared, made);
    if (status != ACCEL_OK) {
        char words[ACCEL__LIVE_TEXT_SIZE - ACCEL_DEVICE_NAME_MAX - 3];
        snprintf(words, sizeof words, "%.*s", (int)sizeof words - 1,
                 made->message[0] != '\0' ? made->message : accel_last_error_message());
        (void)accel_device_format(device, name, sizeof name, NULL);
        snprintf(made->message, sizeof made->message, "%s: %s", name, words);
    }
    accel_module_release(now.module);
    const accel_status freed = accel_memory_free(now.memory);
    accel_stream_release(now.stream);
    return status != ACCEL_OK ? status : freed;
}

static void use_devices(accel_backend backend, sheet *shared, part *made)
{
    int32_t count = 0;
    (void)accel_device_count(backend, &count); /* those that are certain */
    for (int32_t i = 0; i < count && i < DEVICE_MAX && made->status == ACCEL_OK; i++)
        made->status = use_device(ACCEL_DEVICE(backend, i), shared, made);
    made->is_done = true;
}

static void ask(accel_backend backend, part *made)
{
    int32_t count = 0;
    bool flag = false;
    made->status = accel_device_count(backend, &count);
    if (count > 0)
        made->status = accel_is_available(backend, &flag);
    if (made->status == ACCEL_ERROR_CANNOT_TELL && count > 0)
        made->status = ACCEL_OK; /* of the others; these can be used */
    if (made->status != ACCEL_OK)
        snprintf(made->message, sizeof made->message, "%s", accel_last_error_message());
    made->is_done = true;
}

/* ---- in the children: being one ---- */

/* Any thread. */
static void keep_warning(accel_log_level level, const char *backend, const char *text, void *user)
{
    sheet *shared = user;
    (void)level;
    const uint32_t place = atomic_fetch_add(&shared->warning_count, 1);
    if (place < ACCEL__LIVE_WARNING_MAX)
        snprintf(shared->warnings[place], sizeof shared->warnings[place], "%s%s%s", backend,
                 backend[0] != '\0' ? ": " : "", text);
}

/* Dies with its parent, leaves no core file, and prints nothing: the caller's output is a document. */
static void settle_in(void)
{
    const struct rlimit none = {0, 0};
    sigset_t signals;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &none);
    sigemptyset(&signals);
    sigprocmask(SIG_SETMASK, &signals, NULL);
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i <= 2 && nowhere >= 0; i++)
        dup2(nowhere, i);
}

static void fork_and_use(accel_backend backend, sheet *shared)
{
    const pid_t grandchild = fork();
    if (grandchild == 0) {
        settle_in();
        use_devices(backend, shared, &shared->grandchild);
        _exit(0);
    }
    if (grandchild < 0) {
        shared->child.status = ACCEL_ERROR_SYSTEM;
        snprintf(shared->child.message, sizeof shared->child.message,
                 "a process that used it cannot fork: %s", strerror(errno));
        return;
    }
    shared->has_forked = true;
    while (waitpid(grandchild, &shared->grandchild_status, 0) < 0 && errno == EINTR)
        continue;
}

static void __attribute__((noreturn)) be_child(accel_backend backend, bool use_first, sheet *shared)
{
    setpgid(0, 0);
    settle_in();
    (void)accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, keep_warning, shared);
    if (use_first)
        use_devices(backend, shared, &shared->child);
    else
        ask(backend, &shared->child);
    if (shared->child.status == ACCEL_OK)
        fork_and_use(backend, shared);
    _exit(0);
}

/* ---- in the warden ---- */

/* Waits for the process's end; SIGCHLD is blocked. False: the time is over. */
static bool wait_for(pid_t process, uint64_t end_ns, int *out_status)
{
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    while (waitpid(process, out_status, WNOHANG) != process) {
        const uint64_t now = now_ns();
        if (now >= end_ns)
            return false;
        const struct timespec left = {(time_t)((end_ns - now) / 1000000000u),
                                      (long)((end_ns - now) % 1000000000u)};
        sigtimedwait(&wanted, NULL, &left);
    }
    return true;
}

/* Ends the children that this process has, once. False: it has none, or the system does not tell. */
static bool end_children(void)
{
    char path[64];
    int process = 0;
    bool any = false;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *children = fopen(path, "re");
    while (children != NULL && fscanf(children, "%d", &process) == 1) {
        kill(process, SIGKILL);
        any = true;
    }
    if (children != NULL)
        fclose(children);
    return any;
}

/* Each round may make orphans of grandchildren. */
static void end_all(pid_t child)
{
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    do {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
    } while (end_children());
}

static void __attribute__((noreturn))
be_warden(accel_backend backend, bool use_first, uint64_t end_ns, sheet *shared)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t child = fork();
    if (child == 0)
        be_child(backend, use_first, shared);
    if (child < 0) {
        shared->start_error = errno;
        _exit(1);
    }
    setpgid(child, child);
    shared->has_ended = wait_for(child, end_ns, &shared->child_status);
    end_all(child);
    _exit(0);
}

/* ---- in the caller ---- */

static void tell(accel__live_result *result, accel__live_outcome outcome, const char *who,
                 const char *what)
{
    result->outcome = outcome;
    snprintf(result->detail, sizeof result->detail, "%s%s", who, what);
}

static const char cannot_start[] = "no process can be started: ";

/* A process that ended otherwise than it was told to, or did not do its part. True: nothing to say. */
static bool judge_end(int status, const part *made, const char *who, accel__live_result *result)
{
    char text[128];
    if (WIFSIGNALED(status)) {
        snprintf(text, sizeof text, "was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
        tell(result, ACCEL__LIVE_CRASHED, who, text);
    } else if (!made->is_done || WEXITSTATUS(status) != 0) {
        snprintf(text, sizeof text, "was ended with exit status %d", WEXITSTATUS(status));
        tell(result, ACCEL__LIVE_EXITED, who, text);
    } else if (made->status == ACCEL_ERROR_FORKED) {
        tell(result, ACCEL__LIVE_REFUSED, "", made->message);
    } else if (made->status != ACCEL_OK) {
        tell(result, ACCEL__LIVE_FAILED, "", made->message);
    } else {
        return true;
    }
    return false;
}

/* A driver may have written anywhere. */
static void end_texts(sheet *shared)
{
    char *const texts[] = {shared->child.message, shared->grandchild.message, shared->no_compiler};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        texts[i][ACCEL__LIVE_TEXT_SIZE - 1] = '\0';
    for (int i = 0; i < ACCEL__LIVE_WARNING_MAX; i++)
        shared->warnings[i][ACCEL__LIVE_TEXT_SIZE - 1] = '\0';
}

static void judge(const sheet *shared, uint32_t timeout_ms, accel__live_result *result)
{
    static const char parent[] = "the process that forks ";
    static const char child[] = "the forked process ";
    char text[64];
    if (shared->start_error != 0) {
        tell(result, ACCEL__LIVE_UNCHECKED, cannot_start, strerror(shared->start_error));
    } else if (!shared->has_ended) {
        snprintf(text, sizeof text, "was stopped after %u ms", timeout_ms);
        tell(result, ACCEL__LIVE_HUNG, shared->has_forked ? child : parent, text);
    } else if (judge_end(shared->child_status, &shared->child, parent, result) &&
               shared->has_forked) {
        judge_end(shared->grandchild_status, &shared->grandchild, child, result);
    }
    memcpy(result->no_compiler, shared->no_compiler, sizeof result->no_compiler);
    memcpy(result->warnings, shared->warnings, sizeof result->warnings);
    const uint32_t count = shared->warning_count;
    result->warning_count = count < ACCEL__LIVE_WARNING_MAX ? count : ACCEL__LIVE_WARNING_MAX;
}

static void run(accel_backend backend, bool use_first, uint32_t timeout_ms, sheet *shared,
                accel__live_result *result)
{
    const uint64_t begin_ns = now_ns();
    const uint64_t end_ns = begin_ns + timeout_ms * UINT64_C(1000000);
    int status = 0;
    const pid_t warden = fork();
    if (warden == 0)
        be_warden(backend, use_first, end_ns, shared);
    if (warden < 0) {
        tell(result, ACCEL__LIVE_UNCHECKED, cannot_start, strerror(errno));
        return;
    }
    if (!wait_for(warden, end_ns + PATIENCE_NS, &status)) {
        kill(warden, SIGKILL);
        waitpid(warden, NULL, 0);
    }
    result->duration_ms = (uint32_t)((now_ns() - begin_ns) / 1000000u);
    end_texts(shared);
    judge(shared, timeout_ms, result);
}

void accel__live_check(accel_backend backend, bool use_first, uint32_t timeout_ms,
                       accel__live_result *out_result)
{
    sigset_t blocked;
    sigset_t before;
    *out_result = (accel__live_result){.outcome = ACCEL__LIVE_WORKS};
    sheet *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                         -1, 0);
    if (shared == MAP_FAILED) {
        tell(out_result, ACCEL__LIVE_UNCHECKED, "no memory to share: ", strerror(errno));
        return;
    }
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    signal(SIGCHLD, SIG_DFL); /* a caller that ignores it would lose the exit status */
    run(backend, use_first, timeout_ms, shared, out_result);
    sigprocmask(SIG_SETMASK, &before, NULL);
    munmap(shared, sizeof *shared);
}
