/* sweep.c: accel-failures: runs each scenario with the n-th request of the library failing, for n = 1, 2 …
 * until none does. Each time: a status that fits, nothing wrong, nothing left, no hang and no crash; and
 * the same scenario then succeeds.
 *
 *   accel-failures sweep BACKEND [few] [lasting] [only=PATTERN] [number=N]
 *   accel-failures flat BACKEND [rounds=N] [seconds=N] [only=PATTERN]
 *
 * few: not every n, but ever larger steps. lasting: all behind the n-th fail, too, until the scenario
 * ends. flat: see flat.h; `rounds` of each, or so many seconds for all. The work is done in children, so that one that ends early is a fault with a number, and the rest
 * goes on behind it. Exit status: 0, 1 (faults), 2 (usage), 77 (the backend is not here). */
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fnmatch.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "failures.h"
#include "flat.h"
#include "ledger.h"

enum { NUMBER_MAX = 20000, TRY_SECONDS = 120, FAULTS_MAX = 40, WARM_RUNS = 3, AGAIN = 3 };

static const scenario *const topics[] = {
    object_scenarios, memory_scenarios,   kernel_scenarios, graph_scenarios,
    random_scenarios, question_scenarios, start_scenarios,
};
enum { TOPICS = sizeof topics / sizeof topics[0] };

static struct {
    const char *backend;
    const char *only;
    bool few;
    bool lasting;
    unsigned number; /* 0: all */
    unsigned rounds;
    unsigned seconds;
} options = {.only = "*"};

/* Where a child is; lies in memory that it shares with its parent. */
static struct progress {
    int scenario; /* counted over all topics */
    unsigned number;
    unsigned tries;
    unsigned met;     /* runs in which something failed … */
    unsigned refused; /* … and a call said so */
    unsigned faults;
    bool happened;
    bool again; /* the run without a failure */
    bool missing;
    failure first;
} * progress;

static world here;

/* ---- faults ---- */

__attribute__((format(printf, 2, 3))) static void fault(const scenario *of, const char *format, ...)
{
    char text[1200];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    const failure *first = &progress->first;
    fprintf(stderr, "%s, n = %u (%s)%s: %s\n", of->name, progress->number,
            first->call != NULL ? first->call : "nothing failed",
            progress->again ? ", the run behind it" : "", text);
    if (first->call != NULL)
        backtrace_symbols_fd(first->stack, first->stack_size, STDERR_FILENO);
    progress->faults++;
}

/* ---- one try ---- */

#define BIT(status) (1u << (status))

/* What a call may answer to a failure of that kind. Of failures that last it may be a later one that is
 * told. */
static bool fits(failure_kind kind, accel_status status)
{
    const unsigned memory = BIT(ACCEL_ERROR_OUT_OF_HOST_MEMORY) | BIT(ACCEL_ERROR_OUT_OF_MEMORY);
    const unsigned system = memory | BIT(ACCEL_ERROR_SYSTEM) | BIT(ACCEL_ERROR_START_FAILED);
    const unsigned file = system | BIT(ACCEL_ERROR_IO) | BIT(ACCEL_ERROR_PERMISSION) |
                          BIT(ACCEL_ERROR_NOT_FOUND) | BIT(ACCEL_ERROR_NO_COMPILER) |
                          BIT(ACCEL_ERROR_BUILD_FAILED) | BIT(ACCEL_ERROR_CANNOT_TELL) |
                          BIT(ACCEL_ERROR_UNSUPPORTED);
    const unsigned driver = file | BIT(ACCEL_ERROR_DEVICE_FAILED);
    const unsigned allowed[] = {
        [FAILURE_ALLOCATION] = memory | BIT(ACCEL_ERROR_CANNOT_TELL),
        [FAILURE_MAPPING] = file, /* among them the files in memory that kernels are loaded from */
        [FAILURE_THREAD] = system,
        [FAILURE_PROCESS] = file,
        [FAILURE_FILE] = file,
        [FAILURE_LIBRARY] = file | BIT(ACCEL_ERROR_INVALID_ARGUMENT),
        [FAILURE_SYSTEM] = system,
        [FAILURE_DRIVER] = driver,
    };
    return ((options.lasting ? driver | allowed[FAILURE_LIBRARY] : allowed[kind]) & BIT(status)) !=
           0;
}

static accel_status run_once(const scenario *of, unsigned number)
{
    world *w = &here;
    w->turn++;
    w->failed[0] = w->wrong[0] = '\0';
    w->called = w->called_wanted = 0;
    w->is_clean = number == UINT_MAX;
    if (of->prepare != NULL)
        of->prepare(w);
    failures_arm(number, options.lasting && number != UINT_MAX);
    const accel_status status = of->run(w);
    progress->happened = failures_disarm();
    progress->tries++;
    progress->met += progress->happened;
    progress->refused += status != ACCEL_OK;
    return status;
}

static void check_status(const scenario *of, accel_status status)
{
    const failure *first = &progress->first;
    if (status != ACCEL_OK && !progress->happened)
        fault(of, "%s gave %s: %s", here.failed, accel_status_name(status),
              accel_last_error_message());
    else if (status != ACCEL_OK && !fits(first->kind, status))
        fault(of, "%s gave %s, which does not fit: %s", here.failed, accel_status_name(status),
              accel_last_error_message());
}

static bool folder_is_empty(const char *path)
{
    unsigned count = 0;
    DIR *folder = opendir(path);
    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count <= 2;
}

static void check_world(const scenario *of)
{
    if (!of->fresh || !progress->happened || progress->again)
        ledger_settle(&here);
    if (of->check != NULL)
        of->check(&here);
    if (here.wrong[0] != '\0')
        fault(of, "wrong: %s (after %s)", here.wrong,
              here.failed[0] != '\0' ? here.failed : "no failed call");
    if (!folder_is_empty(getenv("TMPDIR")))
        fault(of, "something is left in TMPDIR");
}

/* Threads that were told to end may need a moment. */
static bool grew(const ledger *before, ledger *out_now, char *text, size_t capacity)
{
    const struct timespec moment = {.tv_nsec = 2000000};
    for (int turn = 0; turn < 100; turn++) {
        *out_now = ledger_read();
        if (!ledger_grew(before, out_now, text, capacity))
            return false;
        nanosleep(&moment, NULL);
    }
    return true;
}

/* One run with a failure, and one without. */
static void try_number(const scenario *of, unsigned number)
{
    progress->number = number;
    progress->again = false;
    alarm(TRY_SECONDS);
    check_status(of, run_once(of, number));
    check_world(of);
    const failure first = progress->first;
    const bool happened = progress->happened;
    progress->again = true;
    const accel_status status = run_once(of, UINT_MAX);
    progress->first = first;
    if (status != ACCEL_OK)
        fault(of, "%s gave %s: %s", here.failed, accel_status_name(status),
              accel_last_error_message());
    check_world(of);
    progress->happened = happened;
    alarm(0);
}

/* What grows once, a cache does; what grows each time is a leak. */
static void try_and_weigh(const scenario *of, unsigned number, ledger *base)
{
    char text[400];
    ledger now = *base;
    for (int turn = 0; turn <= AGAIN; turn++) {
        try_number(of, number);
        if (!grew(base, &now, text, sizeof text))
            return;
        if (turn < AGAIN)
            *base = now;
    }
    fault(of, "left behind: %s", text);
    *base = now;
}

static unsigned next_number(unsigned number)
{
    return options.few ? number + 1 + number / 2 : number + 1;
}

static void sweep(const scenario *of, unsigned number)
{
    for (int i = 0; i < WARM_RUNS; i++) {
        progress->number = 0;
        progress->again = true;
        alarm(TRY_SECONDS);
        const accel_status status = run_once(of, UINT_MAX);
        if (status != ACCEL_OK)
            fault(of, "%s gave %s: %s", here.failed, accel_status_name(status),
                  accel_last_error_message());
        check_world(of);
    }
    ledger base = ledger_read();
    if (options.number != 0)
        try_and_weigh(of, options.number, &base);
    for (; options.number == 0 && number < NUMBER_MAX; number = next_number(number)) {
        try_and_weigh(of, number, &base);
        if (!progress->happened || progress->faults > FAULTS_MAX)
            return;
    }
}

/* ---- children ---- */

static bool is_wanted(const scenario *of)
{
    return fnmatch(options.only, of->name, 0) == 0 &&
           (!of->cpu_only || strcmp(options.backend, "cpu") == 0);
}

static const scenario *nth_scenario(int index)
{
    for (int topic = 0; topic < TOPICS; topic++)
        for (const scenario *of = topics[topic]; of->name != NULL; of++)
            if (index-- == 0)
                return of;
    return NULL;
}

/* All scenarios from where the parent says; a child that ended early has left a number behind it. */
static void sweep_child(void)
{
    if (!world_open(&here, options.backend)) {
        fprintf(stderr, "accel-failures: %s\n", accel_last_error_message());
        progress->missing = true;
        return;
    }
    unsigned number = progress->number;
    for (const scenario *of; (of = nth_scenario(progress->scenario)) != NULL;
         progress->scenario++) {
        if (is_wanted(of) && !of->fresh)
            sweep(of, number);
        number = 1;
    }
    world_close(&here);
}

static void flat_child(void)
{
    if (!world_open(&here, options.backend)) {
        progress->missing = true;
        return;
    }
    unsigned count = 0;
    for (int i = 0; nth_scenario(i) != NULL; i++)
        count += is_wanted(nth_scenario(i)) && !nth_scenario(i)->fresh;
    for (const scenario *of; (of = nth_scenario(progress->scenario)) != NULL; progress->scenario++)
        if (is_wanted(of) && !of->fresh &&
            !flat_run(&here, of, options.rounds, (double)options.seconds / count))
            progress->faults++;
    progress->tries = here.turn;
    world_close(&here);
}

static void find_backend(void)
{
    accel_backend_find(options.backend, &here.device.backend);
    here.device.index = ACCEL_INDEX_NONE;
    here.other = here.device;
    here.is_cpu = strcmp(options.backend, "cpu") == 0;
    accel_set_current_accelerator(here.device.backend);
}

static ledger *fresh_ledger; /* what a child holds that met no failure; shared */

/* In a process of its own: the failure, then twice without. */
static void fresh_child(void)
{
    char text[400];
    const scenario *of = nth_scenario(progress->scenario);
    find_backend();
    try_number(of, progress->number);
    here.wrong[0] = '\0';
    run_once(of, UINT_MAX);
    check_world(of);
    ledger now;
    if (progress->number == UINT_MAX)
        *fresh_ledger = ledger_read();
    else if (grew(fresh_ledger, &now, text, sizeof text))
        fault(of, "left behind: %s", text);
}

/* Runs it; a child that ended in another way than by its own will is a fault. False then. */
static bool run_child(void (*body)(void))
{
    int end = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        body();
        fflush(NULL);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &end, 0) != child)
        abort();
    if (WIFEXITED(end) && WEXITSTATUS(end) == 0)
        return true;
    const scenario *of = nth_scenario(progress->scenario);
    if (WIFSIGNALED(end) && WTERMSIG(end) == SIGALRM)
        fault(of, "hung");
    else
        fault(of, "ended by %s %d", WIFSIGNALED(end) ? "signal" : "exit",
              WIFSIGNALED(end) ? WTERMSIG(end) : WEXITSTATUS(end));
    return false;
}

static void sweep_all(void)
{
    while (progress->faults <= FAULTS_MAX && !run_child(sweep_child))
        progress->number++;
}

static void sweep_fresh(void)
{
    for (int index = 0; nth_scenario(index) != NULL; index++) {
        if (!is_wanted(nth_scenario(index)) || !nth_scenario(index)->fresh)
            continue;
        progress->scenario = index;
        progress->number = UINT_MAX;
        run_child(fresh_child);
        progress->number = options.number != 0 ? options.number : 1;
        for (; progress->faults <= FAULTS_MAX; progress->number = next_number(progress->number)) {
            progress->happened = true;
            run_child(fresh_child);
            if (!progress->happened || options.number != 0)
                break;
        }
    }
}

/* ---- the surroundings ---- */

static char folder[] = "/tmp/accel_failures-XXXXXX";

static void set_folder(const char *variable, const char *name)
{
    char path[100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (mkdir(path, 0700) != 0 || setenv(variable, path, 1) != 0)
        abort();
}

/* The real driver's library, as its file names it; "" where it is not installed. */
static void find_pocl(char *path, size_t capacity)
{
    FILE *file = fopen("/etc/OpenCL/vendors/pocl.icd", "r");
    if (file == NULL || fgets(path, (int)capacity, file) == NULL)
        path[0] = '\0';
    path[strcspn(path, "\r\n")] = '\0';
    if (file != NULL)
        fclose(file);
}

/* False: the driver is not here. */
static bool arrange_driver(void)
{
    char path[1000];
    find_pocl(path, sizeof path);
    if (path[0] == '\0')
        return false;
    setenv("FAILING_DRIVER_OF", path, 1);
    setenv("OCL_ICD_VENDORS", FAILING_DRIVER, 1);
    setenv("ACCEL_BACKENDS", "cpu,opencl", 1);
    set_folder("POCL_CACHE_DIR", "pocl");
    /* Loaded once, here: the children need not read it again. */
    return dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL && failures_load_driver(FAILING_DRIVER);
}

static bool arrange(void)
{
    if (mkdtemp(folder) == NULL)
        abort();
    here.folder = folder;
    set_folder("ACCEL_CACHE_DIR", "cache");
    set_folder("TMPDIR", "tmp");
    set_folder("FAILURES_OBJECTS", "objects");
    setenv("ACCEL_CC", COMPILER_ONCE, 1);
    setenv("ACCEL_BACKENDS", "cpu", 1);
    void *shared = mmap(NULL, sizeof *progress + sizeof *fresh_ledger, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        abort();
    progress = shared;
    fresh_ledger = (ledger *)(progress + 1);
    progress->number = 1;
    failures_note_in(&progress->first);
    return strcmp(options.backend, "cpu") == 0 || arrange_driver();
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about, (void)kind, (void)place;
    return remove(path);
}

static bool read_word(const char *word)
{
    if (strcmp(word, "few") == 0)
        options.few = true;
    else if (strcmp(word, "lasting") == 0)
        options.lasting = true;
    else if (strncmp(word, "only=", 5) == 0)
        options.only = word + 5;
    else if (strncmp(word, "number=", 7) == 0)
        options.number = (unsigned)atoi(word + 7);
    else if (strncmp(word, "rounds=", 7) == 0)
        options.rounds = (unsigned)atoi(word + 7);
    else if (strncmp(word, "seconds=", 8) == 0)
        options.seconds = (unsigned)atoi(word + 8);
    else
        return false;
    return true;
}

int main(int count, char **arguments)
{
    bool ok = count >= 3 &&
              (strcmp(arguments[1], "sweep") == 0 || strcmp(arguments[1], "flat") == 0);
    for (int i = 3; i < count && ok; i++)
        ok = read_word(arguments[i]);
    if (!ok) {
        fputs("usage: accel-failures sweep|flat BACKEND [few] [lasting] [only=PATTERN] [number=N] "
              "[rounds=N] [seconds=N]\n",
              stderr);
        return 2;
    }
    options.backend = arguments[2];
    const bool is_here = arrange();
    if (is_here && strcmp(arguments[1], "flat") == 0) {
        run_child(flat_child);
    } else if (is_here) {
        sweep_all();
        if (!progress->missing)
            sweep_fresh();
    }
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    if (!is_here || progress->missing) {
        printf("skipped: there is no device of %s\n", options.backend);
        return 77;
    }
    printf("%u runs, %u with a failure, %u told of it; %u faults\n", progress->tries, progress->met,
           progress->refused, progress->faults);
    return progress->faults != 0;
}
