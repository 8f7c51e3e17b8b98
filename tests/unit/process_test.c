/* process_test.c: running programs: what they inherit, what is kept of their output, how they end. */
#include "platform/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/environment.h"
#include "platform/clock.h"
#include "platform/spawn.h"
#include "support/check.h"
#include "support/process.h"
#include "unit/fault_sweep.h"

typedef struct said {
    bool started;
    accel__text text;
    accel__process_result result;
} said;

static said run_within(const char *script, const accel__process_limits *limits)
{
    char *const arguments[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
    said made = {0};
    made.started = accel__process_run("/bin/sh", arguments, NULL, limits, &made.text, &made.result);
    return made;
}

static said run_limited(const char *script, uint32_t timeout_ms)
{
    const accel__process_limits limits = {.timeout_ms = timeout_ms};
    return run_within(script, &limits);
}

static said run(const char *script)
{
    return run_limited(script, 20000);
}

static void expect_text(const char *script, const char *text)
{
    said got = run(script);
    assert_true(got.started);
    assert_true(got.result.known);
    assert_int_equal(got.result.exit_status, 0);
    assert_string_equal(accel__text_string(&got.text), text);
    accel__text_release(&got.text);
}

static void output_is_kept(void **state)
{
    (void)state;
    expect_text("echo one; echo two >&2; printf three", "one\ntwo\nthree");
    expect_text("cat", ""); /* standard input is empty */
    accel__text text = {0};
    accel__text_append_string(&text, "before ");
    accel__process_result result;
    char *const arguments[] = {(char *)"echo", (char *)"$HOME `id` ;", NULL};
    assert_true(accel__process_run("/bin/echo", arguments, NULL, NULL, &text, &result));
    assert_string_equal(text.data, "before $HOME `id` ;\n"); /* no shell looked at it */
    assert_true(accel__process_run("/bin/echo", arguments, NULL, NULL, NULL, &result));
    accel__text_release(&text);
}

static void long_output_is_cut(void **state)
{
    (void)state;
    said got = run("head -c 9000000 /dev/zero; echo the end >&2; exit 3");
    assert_true(got.started);
    assert_int_equal(got.result.exit_status, 3); /* it was never blocked, nor broken by SIGPIPE */
    assert_int_equal(got.text.size, 4 << 20);
    accel__text_release(&got.text);
}

static void endings_are_told_apart(void **state)
{
    (void)state;
    said got = run("exit 42");
    assert_true(got.result.known);
    assert_int_equal(got.result.exit_status, 42);
    assert_int_equal(got.result.signal, 0);
    got = run("kill -SEGV $$");
    assert_true(got.result.known);
    assert_int_equal(got.result.signal, SIGSEGV);
    char *const arguments[] = {(char *)"x", NULL};
    accel__process_result result;
    assert_false(accel__process_run("/no/such/program", arguments, NULL, NULL, NULL, &result));
    assert_int_equal(result.start_error, ENOENT);
    assert_false(accel__process_run("/etc/passwd", arguments, NULL, NULL, NULL, &result));
    assert_int_equal(result.start_error, EACCES);
}

static void time_limit_kills_the_whole_group(void **state)
{
    (void)state;
    const uint64_t start = accel__clock_ns();
    said got = run_limited("sleep 60 & echo $!; trap '' TERM; exec >/dev/null 2>&1; sleep 60", 300);
    assert_true(got.started);
    assert_true(got.result.timed_out);
    assert_true(accel__clock_ns() - start < 5000000000u);
    const pid_t left = (pid_t)strtol(accel__text_string(&got.text), NULL, 10);
    assert_true(left > 0);
    char path[64];
    bool gone = false;
    for (int i = 0; i < 100 && !gone; i++) { /* as a zombie it may wait for its new parent */
        char line[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)left);
        FILE *file = fopen(path, "re");
        gone = file == NULL || fgets(line, sizeof line, file) == NULL ||
               strstr(line, ") Z") != NULL;
        if (file != NULL)
            fclose(file);
        test_nap_ms(20);
    }
    assert_true(gone);
    accel__text_release(&got.text);
}

/* What the program starts has the limit, too. */
static void memory_limit_reaches_what_is_started(void **state)
{
    (void)state;
    static const char greedy[] = "sleep 0.3; dd if=/dev/zero of=/dev/null bs=300M count=1";
    const accel__process_limits narrow = {.timeout_ms = 20000, .memory_bytes = 100 << 20};
    const accel__process_limits wide = {.timeout_ms = 20000, .memory_bytes = (uint64_t)1 << 40};
    said got = run_within(greedy, &narrow);
    assert_true(got.started && got.result.known);
    assert_int_not_equal(got.result.exit_status, 0);
    assert_non_null(strstr(accel__text_string(&got.text), "memory"));
    accel__text_release(&got.text);
    got = run_within(greedy, &wide);
    assert_true(got.started && got.result.known);
    assert_int_equal(got.result.exit_status, 0);
    accel__text_release(&got.text);
}

static accel__calls real_calls;

/* Comes back once the program has done all that it does. */
static int spawn_and_see_it_end(const accel__spawn *wanted, pid_t *out_process)
{
    siginfo_t ending;
    const int code = real_calls.spawn(wanted, out_process);
    if (code == 0)
        waitid(P_PID, (id_t)*out_process, &ending, WEXITED | WNOWAIT);
    return code;
}

/* The limit is there before the program's first instruction, however late this thread goes on. */
static void memory_limit_is_there_from_the_start(void **state)
{
    (void)state;
    const accel__process_limits limits = {.timeout_ms = 20000, .memory_bytes = 100 << 20};
    real_calls = accel__platform;
    accel__platform.spawn = spawn_and_see_it_end;
    said got = run_within("ulimit -S -d", &limits);
    accel__platform.spawn = real_calls.spawn;
    assert_true(got.started && got.result.known);
    assert_string_equal(accel__text_string(&got.text), "102400\n");
    accel__text_release(&got.text);
}

static void a_helper_left_behind_does_not_hold_us(void **state)
{
    (void)state;
    const uint64_t start = accel__clock_ns();
    said got = run("sleep 8 & echo done");
    assert_string_equal(accel__text_string(&got.text), "done\n");
    assert_true(accel__clock_ns() - start < 4000000000u);
    accel__text_release(&got.text);
}

static void nothing_is_inherited(void **state)
{
    (void)state;
    const int open_to_children = open("/dev/null", O_RDONLY);
    assert_true(open_to_children >= 0);
    /* ls itself has the directory open as 3. */
    expect_text("exec ls /proc/self/fd", "0\n1\n2\n3\n");
    close(open_to_children);

    sigset_t mask;
    sigset_t before;
    sigfillset(&mask);
    pthread_sigmask(SIG_BLOCK, &mask, &before);
    signal(SIGPIPE, SIG_IGN);
    said got = run("exec grep -E 'Sig(Blk|Ign)' /proc/self/status");
    signal(SIGPIPE, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    assert_non_null(strstr(accel__text_string(&got.text), "SigBlk:\t0000000000000000"));
    const char *ignored = strstr(accel__text_string(&got.text), "SigIgn:\t");
    assert_non_null(ignored);
    /* 32 and 33 are the C library's own. */
    assert_int_equal(strtoull(ignored + 8, NULL, 16) & ~0x180000000u, 0);
    accel__text_release(&got.text);
}

static void environment_is_the_callers(void **state)
{
    (void)state;
    setenv("PROCESS_TEST", "kept", 1);
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    setenv("TMPDIR", "/nowhere", 1);
    expect_text("echo $PROCESS_TEST $LC_ALL $TMPDIR", "kept C /nowhere\n");
    char *const arguments[] = {(char *)"sh", (char *)"-c",
                               (char *)"echo $TMPDIR; env | grep -c TMPDIR", NULL};
    accel__text text = {0};
    accel__process_result result;
    assert_true(accel__process_run("/bin/sh", arguments, "/some where", NULL, &text, &result));
    assert_string_equal(text.data, "/some where\n1\n");
    accel__text_release(&text);
    unsetenv("TMPDIR");
    unsetenv("LC_ALL");
}

static int with_signal_ignored(void *user)
{
    (void)user;
    signal(SIGCHLD, SIG_IGN);
    said got = run("echo lost; exit 5");
    CHECK_QUIET(got.started && !got.result.known && !got.result.timed_out);
    CHECK_QUIET(strcmp(accel__text_string(&got.text), "lost\n") == 0);
    accel__text_release(&got.text);
    said hung = run_limited("sleep 60", 200);
    CHECK_QUIET(hung.started && hung.result.timed_out);
    return 0;
}

static atomic_bool reaping;

static void *reap_everything(void *user)
{
    (void)user;
    while (atomic_load(&reaping))
        if (waitpid(-1, NULL, 0) < 0)
            sched_yield();
    return NULL;
}

static int with_a_reaper(void *user)
{
    (void)user;
    pthread_t reaper;
    atomic_store(&reaping, true);
    CHECK_QUIET(pthread_create(&reaper, NULL, reap_everything, NULL) == 0);
    unsigned stolen = 0;
    for (int i = 0; i < 30; i++) {
        said got = run("echo stolen");
        CHECK_QUIET(got.started && strcmp(accel__text_string(&got.text), "stolen\n") == 0);
        CHECK_QUIET(!got.result.known || got.result.exit_status == 0);
        stolen += !got.result.known;
        accel__text_release(&got.text);
    }
    atomic_store(&reaping, false);
    pthread_join(reaper, NULL);
    return stolen != 0 ? 0 : 2;
}

static int with_closed_descriptors(void *user)
{
    const int mask = *(const int *)user;
    for (int i = 0; i < 3; i++)
        if ((mask >> i & 1) != 0)
            close(i);
    said got = run("cat; echo out; echo err >&2");
    const bool right = got.started && strcmp(accel__text_string(&got.text), "out\nerr\n") == 0;
    accel__text_release(&got.text);
    for (int i = 0; i < 3; i++)
        if ((mask >> i & 1) != 0 && fcntl(i, F_GETFD) >= 0)
            return 3; /* something of ours stayed there */
    return right ? 0 : 1;
}

static void peculiar_callers(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(with_signal_ignored, NULL, 30), 0);
    assert_int_equal(test_in_child(with_a_reaper, NULL, 30), 0);
    for (int mask = 1; mask < 8; mask++)
        assert_int_equal(test_in_child(with_closed_descriptors, &mask, 30), 0);
}

static void programs_are_found(void **state)
{
    (void)state;
    char path[256];
    char *before = strdup(getenv("PATH"));
    assert_true(accel__process_find("/bin/sh", path, sizeof path));
    assert_string_equal(path, "/bin/sh");
    assert_false(accel__process_find("/bin/sh", path, 7)); /* no room for it */
    assert_true(accel__process_find("/bin/sh", path, 8));
    setenv("PATH", "bin::/nowhere:/etc:/bin", 1);
    assert_true(accel__process_find("sh", path, sizeof path));
    assert_string_equal(path, "/bin/sh");
    assert_false(accel__process_find("passwd.no", path, sizeof path));
    assert_false(accel__process_find("", path, sizeof path));
    assert_false(accel__process_find("../bin/sh", path, sizeof path));
    assert_false(accel__process_find("/bin", path, sizeof path));
    assert_int_equal(chdir("/"), 0);
    setenv("PATH", "bin:", 1); /* relative entries are passed over */
    assert_false(accel__process_find("sh", path, sizeof path));
    unsetenv("PATH");
    assert_true(accel__process_find("sh", path, sizeof path));
    setenv("PATH", before, 1);
    free(before);
}

static void failures_leave_nothing(void **state)
{
    (void)state;
    const unsigned descriptors = count_descriptors();
    unsigned number = 1;
    for (;; number++) {
        char *const arguments[] = {(char *)"echo", (char *)"x", NULL};
        accel__text text = {0};
        accel__process_result result;
        fault_begin(number);
        const bool started = accel__process_run("/bin/echo", arguments, "/tmp", NULL, &text,
                                                &result);
        const bool faulty = fault_end();
        if (started)
            assert_int_equal(result.start_error, 0);
        else
            assert_true(result.start_error == ENOMEM || result.start_error == EAGAIN);
        assert_true(faulty || strcmp(accel__text_string(&text), "x\n") == 0);
        accel__text_release(&text);
        assert_int_equal(count_descriptors(), descriptors);
        if (!faulty)
            break;
    }
    assert_true(number > 3);
}

/* ---- set-user-id programs ---- */

/* Runs as a copy of this program that root owns and nobody started. 77: the rights were not raised. */
static int secure_main(void)
{
    if (getauxval(AT_SECURE) == 0)
        return 77;
    char path[256];
    CHECK_QUIET(accel__environment_path("ACCEL_CC") == NULL);
    CHECK_QUIET(accel__process_find("sh", path, sizeof path));
    CHECK_QUIET(strncmp(path, "/evil", 5) != 0);
    said got = run("env");
    CHECK_QUIET(got.started && strstr(accel__text_string(&got.text), "evil") == NULL);
    CHECK_QUIET(strstr(accel__text_string(&got.text), "LC_ALL=C") != NULL);
    accel__text_release(&got.text);
    return 0;
}

static int become_secure(void *user)
{
    char *const arguments[] = {(char *)user, (char *)"secure", NULL};
    char *const variables[] = {(char *)"PATH=/evil/bin", (char *)"ACCEL_CC=/evil/cc",
                               (char *)"LD_X=evil", NULL};
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return 77;
    execve(arguments[0], arguments, variables);
    return 78;
}

static void raised_rights_trust_no_environment(void **state)
{
    (void)state;
    char copy[] = "/tmp/accel_process-XXXXXX";
    char command[512];
    char self[256] = "";
    if (geteuid() != 0 || readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
        skip(); /* only root can make such a program */
    const int file = mkstemp(copy);
    assert_true(file >= 0);
    close(file);
    snprintf(command, sizeof command, "cp '%s' %s && chmod 4755 %s", self, copy, copy);
    assert_int_equal(system(command), 0);
    const int code = test_in_child(become_secure, copy, 30);
    unlink(copy);
    if (code == 77)
        skip(); /* /tmp is mounted nosuid */
    assert_int_equal(code, 0);
}

int main(int count, char **arguments)
{
    if (count == 2 && strcmp(arguments[1], "secure") == 0)
        return secure_main();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_is_kept),
        cmocka_unit_test(long_output_is_cut),
        cmocka_unit_test(endings_are_told_apart),
        cmocka_unit_test(time_limit_kills_the_whole_group),
        cmocka_unit_test(memory_limit_reaches_what_is_started),
        cmocka_unit_test(memory_limit_is_there_from_the_start),
        cmocka_unit_test(a_helper_left_behind_does_not_hold_us),
        cmocka_unit_test(nothing_is_inherited),
        cmocka_unit_test(environment_is_the_callers),
        cmocka_unit_test(peculiar_callers),
        cmocka_unit_test(programs_are_found),
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(raised_rights_trust_no_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
