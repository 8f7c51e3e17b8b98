/* fork_state_test.c: accel_fork_state: clean, maybe and spoilt, by whom and by what evidence. Each case in
 * a child of its own, since a started driver cannot be stopped. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/registry.h"
#include "doubles/mock_backend.h"
#include "platform/calls.h"
#include "support/check.h"
#include "support/process.h"
#include "unit/fault_sweep.h"

enum { SECONDS = 30, THREADS = 3, CHILD_OF_SPOILT = 20 };

static const char *const library_prefixes[] = {"libthread_driver", NULL};
static const char *const device_prefixes[] = {"/dev/full", "/dev/zero", NULL};
static accel_backend mocked;

/* ---- what is asked ---- */

static accel_fork_report state(void)
{
    accel_fork_report report = {.struct_size = sizeof report};
    if (accel_fork_state(&report) != ACCEL_OK)
        report.verdict = (accel_fork_verdict)99;
    return report;
}

static int expect(accel_fork_verdict verdict, const char *library, const char *evidence)
{
    const accel_fork_report report = state();
    if (report.verdict != verdict || strstr(report.library, library) == NULL ||
        strcmp(report.evidence, evidence) != 0) {
        fprintf(stderr, "got %d, '%s', '%s', not %d, '%s', '%s'\n", (int)report.verdict,
                report.library, report.evidence, (int)verdict, library, evidence);
        return 1;
    }
    return 0;
}

static int is_clean(void *user)
{
    const accel_fork_report report = state();
    (void)user;
    CHECK_QUIET(report.verdict == ACCEL_FORK_VERDICT_CLEAN && !report.by_accel);
    CHECK_QUIET(report.library[0] == '\0' && report.evidence[0] == '\0');
    CHECK_QUIET(report.struct_size == sizeof report);
    return 0;
}

/* ---- a library ---- */

static void *load(const char *name)
{
    void *library = dlopen(THREAD_DRIVER, RTLD_NOW | RTLD_LOCAL);
    return library != NULL ? dlsym(library, name) : NULL;
}

/* What a program that has looked up a driver's functions keeps: pointers, on the stack of a thread that
 * sleeps. They are no sign of use. */
static void *hold_pointers(void *user)
{
    void *volatile held[8];
    sem_t *held_now = user;
    for (int i = 0; i < 8; i++)
        held[i] = load(i % 2 == 0 ? "thread_driver_start" : "thread_driver_wait");
    sem_post(held_now);
    for (;;)
        pause();
    return held[0];
}

static const char mapped_only[] =
    "libthread_driver.so is mapped; nothing shows that it was started";

static int is_maybe_where_mapped(void *user)
{
    pthread_t holder;
    sem_t held;
    (void)user;
    CHECK_QUIET(load("thread_driver_start") != NULL);
    if (expect(ACCEL_FORK_VERDICT_MAYBE, "/libthread_driver.so", mapped_only) != 0)
        return 1;
    sem_init(&held, 0, 0);
    CHECK_QUIET(pthread_create(&holder, NULL, hold_pointers, &held) == 0);
    CHECK_QUIET(sem_wait(&held) == 0);
    test_nap_ms(50);
    return expect(ACCEL_FORK_VERDICT_MAYBE, "/libthread_driver.so", mapped_only);
}

static int is_maybe_in_child(void *user)
{
    (void)user;
    return expect(ACCEL_FORK_VERDICT_MAYBE, "/libthread_driver.so", mapped_only);
}

static int start_threads(void)
{
    int (*start)(int count) = NULL;
    *(void **)&start = load("thread_driver_start");
    CHECK_QUIET(start != NULL && start(THREADS) == 0);
    test_nap_ms(100); /* until they sleep */
    return 0;
}

static int is_spoilt_by_threads(void *user)
{
    (void)user;
    if (start_threads() != 0)
        return 1;
    if (expect(ACCEL_FORK_VERDICT_SPOILT, "/libthread_driver.so",
               "3 threads in libthread_driver.so") != 0)
        return 1;
    CHECK_QUIET(!state().by_accel);
    /* The child has none of the threads: it cannot know more than that the library is there. */
    return test_in_child(is_maybe_in_child, NULL, SECONDS);
}

static void *wait_inside(void *user)
{
    int (*wait)(void) = NULL;
    (void)user;
    *(void **)&wait = load("thread_driver_wait");
    return wait != NULL && wait() == 0 ? user : NULL;
}

/* A thread of the program that sleeps inside a call to the driver shows that it is in use. */
static int is_spoilt_by_a_call(void *user)
{
    pthread_t caller;
    (void)user;
    CHECK_QUIET(pthread_create(&caller, NULL, wait_inside, NULL) == 0);
    test_nap_ms(100);
    return expect(ACCEL_FORK_VERDICT_SPOILT, "/libthread_driver.so",
                  "1 thread in libthread_driver.so");
}

/* The file was removed, or replaced by an update, while it is in use. */
static int is_found_where_deleted(void *user)
{
    char folder[] = "/tmp/accel-fork-state-XXXXXX";
    char command[512];
    char path[64];
    (void)user;
    CHECK_QUIET(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/libthread_driver.so", folder);
    snprintf(command, sizeof command, "cp '%s' '%s'", THREAD_DRIVER, path);
    CHECK_QUIET(system(command) == 0);
    void *library = dlopen(path, RTLD_NOW);
    const bool removed = unlink(path) == 0 && rmdir(folder) == 0;
    CHECK_QUIET(library != NULL && removed);
    return expect(ACCEL_FORK_VERDICT_MAYBE, path, mapped_only);
}

/* ---- device files ---- */

static int is_spoilt_by_a_file(void *user)
{
    (void)user;
    const int descriptor = open("/dev/full", O_RDWR | O_CLOEXEC);
    CHECK_QUIET(descriptor >= 0);
    if (expect(ACCEL_FORK_VERDICT_SPOILT, "", "/dev/full is open") != 0)
        return 1;
    close(descriptor);
    return is_clean(NULL);
}

static int is_spoilt_by_a_mapping(void *user)
{
    (void)user;
    const int descriptor = open("/dev/zero", O_RDWR | O_CLOEXEC);
    CHECK_QUIET(descriptor >= 0);
    void *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
    CHECK_QUIET(memory != MAP_FAILED);
    if (expect(ACCEL_FORK_VERDICT_SPOILT, "", "/dev/zero is mapped") != 0)
        return 1;
    munmap(memory, 4096);
    return is_clean(NULL);
}

/* ---- accel itself ---- */

static int is_spoilt_in_child(void *user)
{
    (void)user;
    CHECK_QUIET(state().by_accel);
    if (expect(ACCEL_FORK_VERDICT_SPOILT, "",
               "accel had started 'mock' before this process was forked") != 0)
        return 1;
    return CHILD_OF_SPOILT;
}

static int is_spoilt_by_accel(void *user)
{
    bool flag = true;
    (void)user;
    CHECK_QUIET(accel_is_available(mocked, &flag) == ACCEL_OK && flag);
    if (is_clean(NULL) != 0) /* asking spoils nothing */
        return 1;
    CHECK_QUIET(accel_initialize(mocked) == ACCEL_OK);
    CHECK_QUIET(state().by_accel);
    if (expect(ACCEL_FORK_VERDICT_SPOILT, "", "accel started 'mock'") != 0)
        return 1;
    CHECK_QUIET(test_in_child(is_spoilt_in_child, NULL, SECONDS) == CHILD_OF_SPOILT);
    if (start_threads() != 0)
        return 1;
    return expect(ACCEL_FORK_VERDICT_SPOILT, "/libthread_driver.so",
                  "accel started 'mock'; 3 threads in libthread_driver.so");
}

/* A start that fails may have left a driver half up. */
static int is_spoilt_by_a_failed_start(void *user)
{
    (void)user;
    mock.fail[MOCK_START] = 1;
    CHECK_QUIET(accel_initialize(mocked) != ACCEL_OK);
    return expect(ACCEL_FORK_VERDICT_SPOILT, "", "accel started 'mock'");
}

static int stays_clean_where_cpu_is_used(void *user)
{
    accel_backend cpu = ACCEL_BACKEND_NONE;
    accel_stream *stream = NULL;
    (void)user;
    CHECK_QUIET(accel_backend_find("cpu", &cpu) == ACCEL_OK);
    CHECK_QUIET(accel_stream_create(ACCEL_DEVICE(cpu, 0), NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    accel_stream_release(stream);
    return is_clean(NULL);
}

/* ---- the world outside ---- */

/* Many mappings and descriptors, and threads that come and go. */
static void *nothing(void *user)
{
    return user;
}

static void *come_and_go(void *user)
{
    _Atomic(bool) *stop = user;
    while (!*stop) {
        pthread_t made;
        if (pthread_create(&made, NULL, nothing, NULL) == 0)
            pthread_join(made, NULL);
    }
    return NULL;
}

static int bears_a_busy_process(void *user)
{
    static _Atomic(bool) stop;
    pthread_t busy;
    (void)user;
    for (int i = 0; i < 2000; i++) /* every other page, so that they stay apart */
        CHECK_QUIET(mmap(NULL, 8192, i % 2 != 0 ? PROT_READ : PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    for (int i = 0; i < 500; i++)
        CHECK_QUIET(open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0);
    CHECK_QUIET(pthread_create(&busy, NULL, come_and_go, &stop) == 0);
    for (int i = 0; i < 20; i++)
        if (is_clean(NULL) != 0)
            return 1;
    if (start_threads() != 0)
        return 1;
    const int bad = expect(ACCEL_FORK_VERDICT_SPOILT, "/libthread_driver.so",
                           "3 threads in libthread_driver.so");
    stop = true;
    pthread_join(busy, NULL);
    return bad;
}

static int no_proc(const char *path, int flags, mode_t mode)
{
    (void)mode;
    if (strncmp(path, "/proc/self/maps", 15) == 0) {
        errno = ENOENT;
        return -1;
    }
    return open(path, flags | O_CLOEXEC, 0);
}

static int fails_without_proc(void *user)
{
    accel_fork_report report = {.struct_size = sizeof report};
    (void)user;
    accel__platform.open = no_proc;
    CHECK_QUIET(accel_fork_state(&report) == ACCEL_ERROR_SYSTEM);
    CHECK_QUIET(strstr(accel_last_error_message(), "/proc") != NULL);
    /* That accel started something is known without it. */
    CHECK_QUIET(accel_initialize(mocked) == ACCEL_OK);
    return expect(ACCEL_FORK_VERDICT_SPOILT, "", "accel started 'mock'");
}

static accel_status ask_once(void)
{
    accel_fork_report report = {.struct_size = sizeof report};
    return accel_fork_state(&report);
}

static int bears_every_failure(void *user)
{
    bool failed = true;
    (void)user;
    CHECK_QUIET(load("thread_driver_start") != NULL);
    CHECK_QUIET(ask_once() == ACCEL_OK);
    const unsigned descriptors = count_descriptors();
    for (unsigned number = 1; failed; number++) {
        fault_begin(number);
        const accel_status status = ask_once();
        failed = fault_end();
        CHECK_QUIET(failed == (status != ACCEL_OK));
        CHECK_QUIET(status == ACCEL_OK || status == ACCEL_ERROR_OUT_OF_HOST_MEMORY ||
                    status == ACCEL_ERROR_SYSTEM);
        CHECK_QUIET(number < 1000);
    }
    CHECK_QUIET(count_descriptors() == descriptors);
    return 0;
}

/* ---- a real driver, started behind accel's back ---- */

static int is_spoilt_by_a_real_driver(void *user)
{
    typedef int (*get_platforms)(unsigned count, void **platforms, unsigned *out_count);
    typedef int (*get_devices)(void *platform, uint64_t type, unsigned count, void **devices,
                               unsigned *out_count);
    get_platforms platforms = NULL;
    get_devices devices = NULL;
    void *platform = NULL;
    void *device = NULL;
    unsigned count = 0;
    (void)user;
    void *loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    CHECK_QUIET(loader != NULL);
    CHECK_QUIET(state().verdict == ACCEL_FORK_VERDICT_MAYBE);
    *(void **)&platforms = dlsym(loader, "clGetPlatformIDs");
    *(void **)&devices = dlsym(loader, "clGetDeviceIDs");
    CHECK_QUIET(platforms != NULL && devices != NULL);
    CHECK_QUIET(platforms(1, &platform, &count) == 0 && count == 1);
    CHECK_QUIET(devices(platform, UINT64_C(0xffffffff), 1, &device, &count) == 0);
    test_nap_ms(200);
    const accel_fork_report report = state();
    fprintf(stderr, "real driver: %s\n", report.evidence);
    CHECK_QUIET(report.verdict == ACCEL_FORK_VERDICT_SPOILT && !report.by_accel);
    CHECK_QUIET(strstr(report.library, "/libpocl") != NULL);
    CHECK_QUIET(strstr(report.evidence, "in libpocl") != NULL);
    return 0;
}

/* ---- tests ---- */

static void run(int (*body)(void *user))
{
    assert_int_equal(test_in_child(body, NULL, SECONDS), 0);
}

#define CASE(name)                                                                                 \
    static void name##_test(void **unused)                                                         \
    {                                                                                              \
        (void)unused;                                                                              \
        run(name);                                                                                 \
    }

CASE(is_clean)
CASE(is_maybe_where_mapped)
CASE(is_spoilt_by_threads)
CASE(is_spoilt_by_a_call)
CASE(is_found_where_deleted)
CASE(is_spoilt_by_a_file)
CASE(is_spoilt_by_a_mapping)
CASE(is_spoilt_by_accel)
CASE(is_spoilt_by_a_failed_start)
CASE(stays_clean_where_cpu_is_used)
CASE(bears_a_busy_process)
CASE(fails_without_proc)
CASE(bears_every_failure)

static void is_spoilt_by_a_real_driver_test(void **unused)
{
    (void)unused;
    if (access("/etc/OpenCL/vendors/pocl.icd", R_OK) != 0)
        skip();
    setenv("OCL_ICD_VENDORS", "/etc/OpenCL/vendors/pocl.icd", 1);
    run(is_spoilt_by_a_real_driver);
}

static void wrong_arguments_are_told(void **unused)
{
    accel_fork_report report = {.struct_size = 4};
    (void)unused;
    FAILS(accel_fork_state(NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_fork_state");
    FAILS(accel_fork_state(&report), ACCEL_ERROR_INVALID_ARGUMENT, "accel_fork_state");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_clean_test),
        cmocka_unit_test(is_maybe_where_mapped_test),
        cmocka_unit_test(is_spoilt_by_threads_test),
        cmocka_unit_test(is_spoilt_by_a_call_test),
        cmocka_unit_test(is_found_where_deleted_test),
        cmocka_unit_test(is_spoilt_by_a_file_test),
        cmocka_unit_test(is_spoilt_by_a_mapping_test),
        cmocka_unit_test(is_spoilt_by_accel_test),
        cmocka_unit_test(is_spoilt_by_a_failed_start_test),
        cmocka_unit_test(stays_clean_where_cpu_is_used_test),
        cmocka_unit_test(bears_a_busy_process_test),
        cmocka_unit_test(fails_without_proc_test),
        cmocka_unit_test(bears_every_failure_test),
        cmocka_unit_test(is_spoilt_by_a_real_driver_test),
        cmocka_unit_test(wrong_arguments_are_told),
    };
    test_environment(1);
    mock.device_count = 1;
    accel_backend_table table = mock_table();
    table.library_prefixes = library_prefixes;
    table.device_file_prefixes = device_prefixes;
    if (accel__registry_add(&table, &mocked) != ACCEL_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
