/* helper_fork_test.c: the helper from the side of the program that asks: whatever that program does with
 * signals, descriptors, children and limits, and whatever stands in the helper's place. Each case is a
 * process of its own, which also uses the cpu backend, before or after. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "support/check.h"
#include "support/drivers.h"
#include "support/process.h"

#include "core/helper_path.h"

static char folder[] = "/tmp/accel_test_helper-XXXXXX";
static char script[64];

/* ---- what is done in each process ---- */

static int use_cpu(void)
{
    accel_backend cpu = ACCEL_BACKEND_NONE;
    accel_stream *stream = NULL;
    void *memory = NULL;
    int32_t count = 0;
    uint64_t back = 0;
    const uint64_t pattern = 0x1122334455667788u;
    CHECK_QUIET(accel_backend_find("cpu", &cpu) == ACCEL_OK);
    CHECK_QUIET(accel_device_count(cpu, &count) == ACCEL_OK && count == 1);
    CHECK_QUIET(accel_stream_create(ACCEL_DEVICE(cpu, 0), NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, 8, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_fill(memory, &pattern, 8, 8, stream) == ACCEL_OK);
    CHECK_QUIET(accel_copy(&back, memory, 8, stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK && back == pattern);
    accel_memory_free(memory);
    accel_stream_release(stream);
    return 0;
}

/* Asks the one driver, which has two devices: the driver's reason, a part of the detail. */
static int ask(accel_reason reason, const char *detail)
{
    int32_t count = -1;
    accel_driver_report driver = {.struct_size = sizeof driver};
    const bool found = reason == ACCEL_REASON_NONE;
    const accel_status status = accel_device_count(drivers_backend, &count);
    CHECK_QUIET(accel_backend_get_driver_report(drivers_backend, 0, &driver) == ACCEL_OK);
    if (driver.reason != reason || strstr(driver.detail, detail) == NULL) {
        print_error("%s: %s\n", accel_reason_name(driver.reason), driver.detail);
        return 1;
    }
    CHECK_QUIET(status == (found ? ACCEL_OK : ACCEL_ERROR_CANNOT_TELL));
    CHECK_QUIET(count == (found ? 2 : 0));
    return use_cpu();
}

static int found(void)
{
    return ask(ACCEL_REASON_NONE, "");
}

/* ---- programs with ways of their own ---- */

static int ignoring_children(void *user)
{
    (void)user;
    signal(SIGCHLD, SIG_IGN);
    return found();
}

static int with_everything_blocked(void *user)
{
    (void)user;
    sigset_t all;
    sigset_t after;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (int number = 1; number < 32; number++)
        if (number != SIGKILL && number != SIGSTOP && number != SIGCHLD)
            signal(number, SIG_IGN);
    setenv("DOUBLE_DRIVERS", "a=gpus-2", 1);
    const int result = found();
    sigprocmask(SIG_BLOCK, NULL, &after);
    CHECK_QUIET(sigismember(&after, SIGUSR1) == 1 && sigismember(&after, SIGCHLD) == 1);
    return result;
}

static _Atomic(int) seen;
static _Atomic(bool) done;

static void count_signal(int number)
{
    (void)number;
    seen++;
}

/* A thread that waits for any child, as the loop of a server does. */
static void *reap_everything(void *user)
{
    while (!done) {
        const pid_t child = waitpid(-1, user, 0);
        if (child > 0)
            seen++;
        else if (errno == ECHILD)
            sched_yield();
    }
    return NULL;
}

static int beside_a_reaper(void *user)
{
    (void)user;
    const struct sigaction action = {.sa_handler = count_signal};
    int status = 0;
    pthread_t thread;
    sigaction(SIGCHLD, &action, NULL);
    pthread_create(&thread, NULL, reap_everything, &status);
    int result = found();
    for (int turn = 0; turn < 20 && result == 0; turn++) {
        char list[32];
        snprintf(list, sizeof list, "a%d=gpus-2", turn);
        setenv("DOUBLE_DRIVERS", list, 1);
        result = found();
    }
    done = true;
    pthread_join(thread, NULL);
    CHECK_QUIET(seen == 0);
    return result;
}

static int with_closed_descriptors(void *user)
{
    (void)user;
    for (int i = 0; i < 3; i++)
        close(i);
    const int result = ask(ACCEL_REASON_NONE, "");
    for (int i = 0; i < 3; i++)
        if (fcntl(i, F_GETFD) != -1)
            return 40 + i;
    return result;
}

/* What is open without close-on-exec does not reach the helper: the double would hold this pipe. */
static int with_open_descriptors(void *user)
{
    (void)user;
    int ends[2];
    char byte;
    CHECK_QUIET(pipe(ends) == 0);
    const int high = fcntl(ends[1], F_DUPFD, 200);
    setenv("DOUBLE_DRIVERS", "a=gpus-2,b=session", 1); /* b leaves a process behind */
    int32_t count = 0;
    CHECK_QUIET(accel_device_count(drivers_backend, &count) == ACCEL_OK && count == 3);
    close(ends[1]);
    close(high);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    CHECK_QUIET(read(ends[0], &byte, 1) == 0);
    return use_cpu();
}

static int with_few_descriptors(void *user)
{
    (void)user;
    const struct rlimit few = {12, 12};
    CHECK_QUIET(use_cpu() == 0);
    setrlimit(RLIMIT_NOFILE, &few);
    return found();
}

static int with_no_descriptor(void *user)
{
    (void)user;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t before = limit.rlim_cur;
    CHECK_QUIET(use_cpu() == 0);
    limit.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &limit);
    CHECK_QUIET(ask(ACCEL_REASON_HELPER_FAILED, "Too many open files") == 0);
    /* That passes: after a second it is tried again. */
    limit.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &limit);
    test_nap_ms(1050);
    return found();
}

static int as_a_subreaper(void *user)
{
    (void)user;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    setenv("ACCEL_PROBE_TIMEOUT_MS", "1500", 1);
    setenv("DOUBLE_DRIVERS", "a=gpus-2,b=stop-parent", 1);
    int32_t count = 0;
    CHECK_QUIET(accel_device_count(drivers_backend, &count) == ACCEL_ERROR_CANNOT_TELL);
    CHECK_QUIET(count == 2);
    /* The stopped supervisor's own child may come last; then there is none. */
    int children = 0;
    while (waitpid(-1, NULL, 0) > 0)
        children++;
    CHECK_QUIET(children <= 1);
    return use_cpu();
}

static int ask_as_process_1(void *user)
{
    (void)user;
    CHECK_QUIET(getpid() == 1);
    const int result = found();
    CHECK_QUIET(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    return result;
}

static int as_process_1(void *user)
{
    if (unshare(CLONE_NEWPID) != 0)
        return 77;
    return test_in_child(ask_as_process_1, user, 30);
}

/* No process may be made; threads may. */
static bool forbid_processes(void)
{
#define DENY(number)                                                                               \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                                           \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_fork
        DENY(SYS_fork),
        DENY(SYS_vfork),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
#undef DENY
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int under_seccomp(void *user)
{
    (void)user;
    if (!forbid_processes())
        return 77;
    CHECK_QUIET(fork() == -1 && errno == EPERM);
    return ask(ACCEL_REASON_HELPER_FAILED, "Operation not permitted");
}

static int interrupted_all_the_time(void *user)
{
    (void)user;
    const struct itimerval often = {{0, 500}, {0, 500}}; /* every call is interrupted */
    const struct sigaction action = {.sa_handler = count_signal};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    return found();
}

/* ---- while others fork ---- */

static void *ask_slowly(void *user)
{
    int32_t *count = user;
    accel_device_count(drivers_backend, count);
    return NULL;
}

static int ask_again(void *user)
{
    (void)user;
    int32_t count = 0;
    CHECK_QUIET(accel_device_count(drivers_backend, &count) == ACCEL_OK && count == 1);
    test_nap_ms(3000); /* holds what it inherited open */
    return 0;
}

static int while_asking(void *user)
{
    (void)user;
    enum { CHILDREN = 4 };
    pthread_t thread;
    int32_t count = 0;
    pid_t children[CHILDREN];
    setenv("DOUBLE_DRIVERS", "a=slow-300", 1);
    const uint64_t begin = test_now_ns();
    pthread_create(&thread, NULL, ask_slowly, &count);
    for (int i = 0; i < CHILDREN; i++) {
        test_nap_ms(i == 0 ? 0 : 50);
        children[i] = test_child_start(ask_again, NULL);
    }
    pthread_join(thread, NULL);
    CHECK_QUIET(count == 1);
    CHECK_QUIET(test_now_ns() - begin < 3000000000u); /* not when the children end */
    for (int i = 0; i < CHILDREN; i++)
        CHECK_QUIET(test_child_wait(children[i], 30) == 0);
    return 0;
}

/* A parent that asks, a child that asks and uses, and so on down. */
static int generations(void *user)
{
    int *left = user;
    CHECK_QUIET(found() == 0);
    char list[32];
    snprintf(list, sizeof list, "generation%d=gpus-2", *left);
    setenv("DOUBLE_DRIVERS", list, 1);
    return --*left == 0 ? 0 : test_in_child(generations, left, 60);
}

/* ---- what stands in the helper's place ---- */

static void write_script(const char *text, mode_t mode)
{
    unlink(script);
    FILE *file = fopen(script, "w");
    fputs(text, file);
    fclose(file);
    chmod(script, mode);
    setenv("ACCEL_PROBE", script, 1);
}

static const struct {
    const char *text;
    accel_reason reason;
    const char *detail;
} scripts[] = {
    {"#!/bin/sh\n", ACCEL_REASON_HELPER_FAILED, "without a whole record"},
    {"#!/bin/sh\nkill -9 $$\n", ACCEL_REASON_HELPER_FAILED, "without a whole record"},
    {"#!/bin/sh\nkill -STOP $$\n", ACCEL_REASON_HUNG, "did not answer"},
    {"#!/bin/sh\nexec sleep 30\n", ACCEL_REASON_HUNG, "did not answer"},
    {"#!/bin/sh\nexec 3>&-\nexec sleep 30\n", ACCEL_REASON_HELPER_FAILED, "without a whole record"},
    {"#!/bin/sh\nsleep 30 &\n", ACCEL_REASON_HUNG, "did not answer"},
    {"#!/bin/sh\nhead -c 5000000 /dev/urandom >&3\n", ACCEL_REASON_HELPER_FAILED, "version"},
    {"#!/bin/sh\nexec yes >&3\n", ACCEL_REASON_HELPER_FAILED, "version"},
    {"#!/bin/sh\nprintf 'ACCP\\002' >&3\nhead -c 4096 /dev/zero >&3\n", ACCEL_REASON_HELPER_FAILED,
     "another version"},
    {"no program at all\n", ACCEL_REASON_HELPER_FAILED, "Exec format error"},
    {"#!/nowhere/interpreter\n", ACCEL_REASON_HELPER_FAILED, "No such file"},
    {"#!/bin/sh\necho out; echo err >&2\n", ACCEL_REASON_HELPER_FAILED, "without a whole record"},
};

static int with_script(void *user)
{
    const int *number = user;
    write_script(scripts[*number].text, 0700);
    if (scripts[*number].reason == ACCEL_REASON_HUNG)
        setenv("ACCEL_PROBE_TIMEOUT_MS", "300", 1);
    const uint64_t begin = test_now_ns();
    const int result = ask(scripts[*number].reason, scripts[*number].detail);
    CHECK_QUIET(test_now_ns() - begin < 9000000000u);
    CHECK_QUIET(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    return result;
}

static void test_other_programs_as_helper(void **state)
{
    (void)state;
    for (int i = 0; i < (int)(sizeof scripts / sizeof scripts[0]); i++) {
        const int result = test_in_child(with_script, &i, 30);
        if (result != 0)
            fail_msg("%s: %d", scripts[i].text, result);
    }
}

static int without_right_to_run(void *user)
{
    (void)user;
    write_script("#!/bin/sh\n", 0600);
    return ask(ACCEL_REASON_HELPER_FAILED, "Permission denied");
}

static int with_no_helper(void *user)
{
    (void)user;
    static const struct {
        const char *path;
        const char *detail;
    } paths[] = {{"/nowhere/accel-probe", "is not there"},
                 {"accel-probe", "no absolute path"},
                 {"./accel-probe", "no absolute path"},
                 {"/tmp", "is no file"}};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        setenv("ACCEL_PROBE", paths[i].path, 1);
        CHECK_QUIET(ask(ACCEL_REASON_HELPER_MISSING, paths[i].detail) == 0);
    }
    setenv("ACCEL_PROBE", drivers_helper(), 1);
    return found();
}

/* Without ACCEL_PROBE: beside the program, whatever the current directory and argv[0] say. */
static int from_elsewhere(void *user)
{
    (void)user;
    char path[4096];
    char real[4096];
    char expected[4096];
    unsetenv("ACCEL_PROBE");
    write_script("#!/bin/sh\n", 0700);
    unsetenv("ACCEL_PROBE");
    CHECK_QUIET(chdir(folder) == 0);
    CHECK_QUIET(accel__helper_path(path, sizeof path) && realpath(path, real) != NULL);
    snprintf(path, sizeof path, "%s/bin/accel-probe", getenv("BUILD_DIR"));
    CHECK_QUIET(realpath(path, expected) != NULL);
    CHECK_QUIET(strcmp(real, expected) == 0);
    return 0;
}

static int run_renamed(void *user)
{
    (void)user;
    char name[128];
    snprintf(name, sizeof name, "%s/accel-probe", folder);
    write_script("#!/bin/sh\n", 0700);
    execl("/proc/self/exe", name, "from-elsewhere", NULL);
    return 1;
}

/* ---- */

static void run(int (*body)(void *user), void *user)
{
    drivers_set("a=gpus-2");
    const int result = test_in_child(body, user, 60);
    if (result == 77)
        skip();
    assert_int_equal(result, 0);
}

#define CASE(body)                                                                                 \
    static void test_##body(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        run(body, NULL);                                                                           \
    }
CASE(ignoring_children)
CASE(with_everything_blocked)
CASE(beside_a_reaper)
CASE(with_closed_descriptors)
CASE(with_open_descriptors)
CASE(with_few_descriptors)
CASE(with_no_descriptor)
CASE(as_a_subreaper)
CASE(as_process_1)
CASE(under_seccomp)
CASE(interrupted_all_the_time)
CASE(while_asking)
CASE(without_right_to_run)
CASE(with_no_helper)
CASE(from_elsewhere)
CASE(run_renamed)

static void test_generations(void **state)
{
    (void)state;
    int left = 4;
    run(generations, &left);
}

int main(int count, char **arguments)
{
    test_environment(1);
    if (count == 2 && strcmp(arguments[1], "from-elsewhere") == 0) {
        snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(arguments[0], '/') - arguments[0]),
                 arguments[0]);
        snprintf(script, sizeof script, "%s/accel-probe", folder);
        return from_elsewhere(NULL);
    }
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(script, sizeof script, "%s/accel-probe", folder);
    drivers_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ignoring_children),
        cmocka_unit_test(test_with_everything_blocked),
        cmocka_unit_test(test_beside_a_reaper),
        cmocka_unit_test(test_with_closed_descriptors),
        cmocka_unit_test(test_with_open_descriptors),
        cmocka_unit_test(test_with_few_descriptors),
        cmocka_unit_test(test_with_no_descriptor),
        cmocka_unit_test(test_as_a_subreaper),
        cmocka_unit_test(test_as_process_1),
        cmocka_unit_test(test_under_seccomp),
        cmocka_unit_test(test_interrupted_all_the_time),
        cmocka_unit_test(test_while_asking),
        cmocka_unit_test(test_generations),
        cmocka_unit_test(test_other_programs_as_helper),
        cmocka_unit_test(test_without_right_to_run),
        cmocka_unit_test(test_with_no_helper),
        cmocka_unit_test(test_from_elsewhere),
        cmocka_unit_test(test_run_renamed),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(script);
    rmdir(folder);
    drivers_end();
    return failed;
}
