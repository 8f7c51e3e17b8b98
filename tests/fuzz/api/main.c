/* main.c: api_fuzz, random calls of everything that libaccel.so exports, with valid, stale, extreme and wrong
 * arguments, on several threads.
 *
 *   api_fuzz [-d BACKEND] [--seconds N | --workers N] [--seed N] [--rounds N] [--all]
 *            [--trace] [--keep FILE] [--shrink FILE]
 *
 * Sequences come from a seed, not from a fuzzer's bytes: what goes wrong here hangs on the state that hundreds
 * of calls and several threads made, which an engine that looks at covered code cannot aim at, and gcc, whose
 * sanitizers are wanted as well, has no such engine. Each worker is a process of its own, with a seed of its
 * own, from which follow its settings (devices, threads, masked groups) and each step by itself. So
 *
 *   api_fuzz -d cpu --workers 1 --seed N --trace          has worker N again, and says each call;
 *   api_fuzz -d cpu --seed N --shrink FILE                leaves out steps for as long as it still fails, and
 *                                                         writes which are left to FILE;
 *   api_fuzz -d cpu --workers 1 --seed N --keep FILE      runs those.
 *
 * At the end it prints how often each function was called and failed; --all: one that was never called is a
 * failure. Exit status: 0, 1 (a fault), 2 (usage), 77 (no such device). */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "settings.h"
#include "shrink.h"
#include "worker.h"
#include "world.h"

enum { HUNG_SECONDS = 100 };

static unsigned long seconds = 5;
static unsigned long worker_limit;
static uint32_t round_count = 6;
static bool wants_all;
static const char *shrink_path;
static char directory[] = "/tmp/api_fuzz-XXXXXX";

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- one worker ---- */

static void say_where_it_hangs(void)
{
    fprintf(stderr, "api_fuzz: seed %llu hangs in round %u:\n", (unsigned long long)world.seed,
            atomic_load(&fuzz_shared_page->round));
    for (int i = 0; i < FUZZ_THREADS_MAX; i++)
        fprintf(stderr, "    thread %d: step %u, last call %s\n", i,
                atomic_load(&fuzz_shared_page->step[i]),
                fuzz_function_name((fuzz_function)atomic_load(&fuzz_shared_page->function[i])));
}

/* Its exit status; 128 and the signal's number where one ended it. */
static int await(pid_t worker)
{
    uint64_t progress = 0;
    uint64_t since = now_ms();
    int status = 0;
    while (waitpid(worker, &status, WNOHANG) != worker) {
        const struct timespec pause = {0, 5000000};
        const uint64_t now = atomic_load(&fuzz_shared_page->progress);
        if (now != progress) {
            progress = now;
            since = now_ms();
        } else if (now_ms() - since > 1000 * HUNG_SECONDS) {
            say_where_it_hangs();
            kill(worker, SIGABRT);
            since = now_ms();
        }
        nanosleep(&pause, NULL);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int fuzz_run_worker(void)
{
    fflush(NULL);
    const pid_t worker = fork();
    if (worker < 0)
        exit(2);
    if (worker == 0) {
        fuzz_apply_settings(world.seed, world.backend_name);
        exit(fuzz_work(round_count));
    }
    return await(worker);
}

/* ---- the end ---- */

static int print_coverage(void)
{
    int missing = 0;
    uint64_t calls = 0;
    uint64_t errors = 0;
    for (int i = 0; i < FUZZ_FUNCTION_COUNT; i++) {
        const uint64_t called = atomic_load(&fuzz_shared_page->calls[i]);
        const uint64_t failed = atomic_load(&fuzz_shared_page->errors[i]);
        const bool can_fail = fuzz_documented((fuzz_function)i) >> 63 == 0;
        const char *remark = called == 0               ? "  never called"
                             : failed == 0 && can_fail ? "  never failed"
                                                       : "";
        printf("%-50s %10llu %10llu%s\n", fuzz_function_name((fuzz_function)i),
               (unsigned long long)called, (unsigned long long)failed, remark);
        missing += called == 0;
        calls += called;
        errors += failed;
    }
    for (int i = 1; i < FUZZ_STATUS_COUNT; i++)
        printf("%-50s %10llu\n", accel_status_name((accel_status)i),
               (unsigned long long)atomic_load(&fuzz_shared_page->statuses[i]));
    printf("%llu calls, %llu of them failures, in %llu rounds; %llu buffers compared, %llu forks; "
           "%d functions "
           "never called\n",
           (unsigned long long)calls, (unsigned long long)errors,
           (unsigned long long)atomic_load(&fuzz_shared_page->rounds),
           (unsigned long long)atomic_load(&fuzz_shared_page->checked),
           (unsigned long long)atomic_load(&fuzz_shared_page->forks), missing);
    return missing;
}

static int run_workers(void)
{
    const uint64_t end = now_ms() + 1000 * seconds;
    for (unsigned long i = 0; worker_limit != 0 ? i < worker_limit : now_ms() < end; i++) {
        const int status = fuzz_run_worker();
        if (status == 77)
            return 77;
        if (status != 0) {
            printf("api_fuzz: worker ended with %d; again: %s\n    api_fuzz -d %s --workers 1 "
                   "--rounds %u "
                   "--seed %llu\n",
                   status, fuzz_settings_text(world.seed, world.backend_name), world.backend_name,
                   round_count, (unsigned long long)world.seed);
            return 1;
        }
        world.seed++;
    }
    const int missing = print_coverage();
    return wants_all && missing != 0 ? 1 : 0;
}

/* ---- the command line ---- */

static const unsigned char *read_keep(const char *path)
{
    static unsigned char keep[FUZZ_KEEP_SIZE];
    FILE *file = fopen(path, "rb");
    if (file == NULL || fread(keep, 1, sizeof keep, file) == 0) {
        fprintf(stderr, "api_fuzz: %s cannot be read\n", path);
        exit(2);
    }
    fclose(file);
    return keep;
}

static void read_options(int argc, char **argv)
{
    static const struct option options[] = {
        {"seconds", required_argument, NULL, 's'},
        {"workers", required_argument, NULL, 'w'},
        {"seed", required_argument, NULL, 'n'},
        {"rounds", required_argument, NULL, 'r'},
        {"all", no_argument, NULL, 'a'},
        {"trace", no_argument, NULL, 't'},
        {"keep", required_argument, NULL, 'k'},
        {"shrink", required_argument, NULL, 'x'},
        {NULL, 0, NULL, 0},
    };
    int option;
    world.backend_name = "cpu";
    world.seed = (uint64_t)time(NULL) * 1000;
    while ((option = getopt_long(argc, argv, "d:", options, NULL)) != -1) {
        switch (option) {
        case 'd':
            world.backend_name = optarg;
            break;
        case 's':
            seconds = strtoul(optarg, NULL, 10);
            break;
        case 'w':
            worker_limit = strtoul(optarg, NULL, 10);
            break;
        case 'n':
            world.seed = strtoull(optarg, NULL, 10);
            break;
        case 'r':
            round_count = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 'a':
            wants_all = true;
            break;
        case 't':
            world.trace = true;
            break;
        case 'k':
            world.keep = read_keep(optarg);
            break;
        case 'x':
            shrink_path = optarg;
            break;
        default:
            exit(2);
        }
    }
    if (optind != argc || round_count == 0 || round_count > FUZZ_ROUNDS_MAX) {
        fprintf(stderr, "usage: see the head of tests/fuzz/api/main.c\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    fuzz_check_descriptions();
    fuzz_shared_page = mmap(NULL, sizeof *fuzz_shared_page, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (fuzz_shared_page == MAP_FAILED || mkdtemp(directory) == NULL)
        return 2;
    world.directory = directory;
    printf("api_fuzz: %s, from seed %llu on\n", world.backend_name, (unsigned long long)world.seed);
    const int status = shrink_path != NULL ? fuzz_shrink(round_count, shrink_path) : run_workers();
    rmdir(directory);
    return status;
}
