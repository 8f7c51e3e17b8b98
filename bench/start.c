/* SPDX-License-Identifier: MIT
 * start.c: what it costs to have the library and to ask it: loading it and listing devices, each in a
 * fresh process, and counting devices again.
 */
#include "device.h"
#include "topics.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNTS 20000

/* ---- other programs ---- */

/* Runs a program to its end, its output into `output`, or nowhere where that is negative. */
static bool run_program(char *const arguments[], int output)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (output >= 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    posix_spawn_file_actions_addopen(&actions, 3, "/dev/null", O_WRONLY, 0);
    int error = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    int status = -1;
    if (error == 0)
        waitpid(child, &status, 0);
    if (status != 0)
        bench_failed("%s failed", arguments[0]);
    return status == 0;
}

static double time_program(char *const arguments[])
{
    enum { TIMES = 3 };
    uint64_t begin = bench_now();
    for (int i = 0; i < TIMES; i++)
        if (!run_program(arguments, -1))
            return (double)NAN;
    return bench_since(begin, TIMES);
}

static const char *command_missing(void)
{
    return access(BENCH_COMMAND, X_OK) == 0 ? NULL : "the accel command was not built";
}

static double ours_list(const bench_row *row)
{
    (void)row;
    static char program[] = BENCH_COMMAND;
    return time_program((char *[]){program, (char[]){"list"}, NULL});
}

#define POCL "/etc/OpenCL/vendors/pocl.icd"

/* Takes a sample with OCL_ICD_VENDORS set to that; clinfo reads it too. */
static double with_vendors(const char *vendors, bench_sample sample, const bench_row *row)
{
    const char *now = getenv("OCL_ICD_VENDORS");
    char *before = now != NULL ? strdup(now) : NULL;
    setenv("OCL_ICD_VENDORS", vendors, 1);
    double value = sample(row);
    if (before != NULL)
        setenv("OCL_ICD_VENDORS", before, 1);
    else
        unsetenv("OCL_ICD_VENDORS");
    free(before);
    return value;
}

/* Without any driver: what the process itself costs. */
static double ours_list_cpu(const bench_row *row)
{
    return with_vendors("/nonexistent/", ours_list, row);
}

static double ours_list_pocl(const bench_row *row)
{
    return with_vendors(POCL, ours_list, row);
}

static accel_backend opencl(void)
{
    accel_backend backend = ACCEL_BACKEND_NONE;
    bench_ok(accel_backend_find("opencl", &backend));
    return backend;
}

static const char *pocl_missing(void)
{
    return access(POCL, R_OK) == 0 ? NULL : "no PoCL (Debian: pocl-opencl-icd)";
}

/* accel-probe by hand, as the library starts it; its record goes nowhere. */
static double time_probe(accel_driver_report *driver)
{
    static char program[] = BENCH_PROBE;
    char deadline[32];
    snprintf(deadline, sizeof(deadline), "%" PRIu64, bench_now() + UINT64_C(10000000000));
    char *arguments[] = {program,      (char[]){"opencl"}, (char[]){"10000"}, deadline,
                         driver->name, driver->library,    driver->source,    NULL};
    uint64_t begin = bench_now();
    return run_program(arguments, -1) ? bench_since(begin, 1) : (double)NAN;
}

static double ask_driver(const bench_row *row)
{
    (void)row;
    accel_driver_report driver = {.struct_size = sizeof(driver)};
    bool known = bench_ok(accel_backend_get_driver_report(opencl(), 0, &driver));
    return known ? time_probe(&driver) : (double)NAN;
}

static double probe_pocl(const bench_row *row)
{
    return with_vendors(POCL, ask_driver, row);
}

static const char *clinfo_missing(void)
{
    static char program[] = "clinfo";
    bool runs = run_program((char *[]){program, (char[]){"-l"}, NULL}, -1);
    return runs ? NULL : "no clinfo (Debian: clinfo)";
}

static double clinfo_list(const bench_row *row)
{
    (void)row;
    static char program[] = "clinfo";
    return time_program((char *[]){program, (char[]){"-l"}, NULL});
}

static double clinfo_list_pocl(const bench_row *row)
{
    return with_vendors(POCL, clinfo_list, row);
}

static double run_true(const bench_row *row)
{
    (void)row;
    static char program[] = "/bin/true";
    return time_program((char *[]){program, NULL});
}

/* ---- dlopen ---- */

/* The helper program opens the library in a process of its own and prints the nanoseconds. */
static double time_dlopen(char *library)
{
    static char program[] = BENCH_LOADER;
    int ends[2];
    if (pipe(ends) != 0)
        return bench_failed("no pipe");
    char text[64] = "";
    bool ran = run_program((char *[]){program, library, NULL}, ends[1]);
    close(ends[1]);
    ssize_t size = ran ? read(ends[0], text, sizeof(text) - 1) : 0;
    close(ends[0]);
    double value = strtod(text, NULL);
    return size > 0 && value > 0 ? value : bench_failed("cannot open %s", library);
}

static double ours_dlopen(const bench_row *row)
{
    (void)row;
    static char library[] = BENCH_LIBRARY;
    return time_dlopen(library);
}

static double tiny_dlopen(const bench_row *row)
{
    (void)row;
    static char library[] = BENCH_TINY_LIBRARY;
    return time_dlopen(library);
}

/* ---- counting ---- */

static double time_counts(accel_backend backend)
{
    int32_t count = 0;
    uint64_t begin = 0;
    for (int i = -1; i < COUNTS; i++) {
        begin = i == 0 ? bench_now() : begin;
        if (!bench_ok(accel_device_count(backend, &count)))
            return (double)NAN;
    }
    return bench_since(begin, COUNTS);
}

static double count_before(accel_backend backend)
{
    bool started = true;
    if (!bench_ok(accel_is_initialized(backend, &started)))
        return (double)NAN;
    return started ? bench_failed("the backend has started") : time_counts(backend);
}

static double ours_count_before(const bench_row *row)
{
    (void)row;
    return count_before(bench_device().backend);
}

static double ours_count_drivers(const bench_row *row)
{
    (void)row;
    return count_before(opencl());
}

static double ours_count_in_use(const bench_row *row)
{
    (void)row;
    bool ready = bench_ok(accel_initialize(bench_device().backend));
    return ready ? time_counts(bench_device().backend) : (double)NAN;
}

static double read_environment(const bench_row *row)
{
    (void)row;
    static const char *const names[] = {
        "CUDA_VISIBLE_DEVICES",   "HIP_VISIBLE_DEVICES",      "ROCR_VISIBLE_DEVICES",
        "GPU_DEVICE_ORDINAL",     "ZE_AFFINITY_MASK",         "ONEAPI_DEVICE_SELECTOR",
        "CUDA_DEVICE_ORDER",      "OCL_ICD_VENDORS",          "OCL_ICD_FILENAMES",
        "NVIDIA_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION", "POCL_DEVICES"};
    static const char *volatile value; /* keeps the calls */
    uint64_t begin = bench_now();
    for (int i = 0; i < COUNTS; i++)
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
            value = getenv(names[k]);
    (void)value;
    return bench_since(begin, COUNTS);
}

/* How long getenv takes depends on how many variables there are: 37 is what a login session has. */
static bool setup(void)
{
    enum { VARIABLES = 37 };
    size_t count = 0;
    while (environ != NULL && environ[count] != NULL)
        count++;
    for (; count < VARIABLES; count++) {
        char name[32];
        snprintf(name, sizeof(name), "BENCH_PADDING_%zu", count);
        setenv(name, "some value or other", 1);
    }
    return true;
}

static const bench_row rows[] = {
    {.name = "start/device_count again, before use",
     .unit = BENCH_UNIT_NS,
     .bar = {BENCH_BAR_TIME, 1000},
     .ours = {"accel", ours_count_before, NULL},
     .opponents = {{"12 getenv", read_environment, NULL}}},
    {.name = "start/device_count again, before use, opencl",
     .unit = BENCH_UNIT_NS,
     .bar = {BENCH_BAR_TIME, 1000},
     .ours = {"accel", ours_count_drivers, NULL},
     .opponents = {{"12 getenv", read_environment, NULL}}},
    {.name = "start/dlopen",
     .unit = BENCH_UNIT_MS,
     .bar = {BENCH_BAR_TIME, 1e6},
     .ours = {"accel", ours_dlopen, NULL},
     .opponents = {{"a tiny library", tiny_dlopen, NULL}}},
    {.name = "start/accel list, cold, cpu only",
     .unit = BENCH_UNIT_MS,
     .bar = {BENCH_BAR_TIME, 3e6},
     .ours = {"accel", ours_list_cpu, command_missing},
     .opponents = {{"/bin/true", run_true, NULL}}},
    {.name = "start/accel list, cold, PoCL",
     .unit = BENCH_UNIT_MS,
     .bar = {BENCH_BAR_ABOVE, 5e6},
     .ours = {"accel", ours_list_pocl, pocl_missing},
     .opponents = {{"accel-probe alone", probe_pocl, pocl_missing},
                   {"clinfo -l", clinfo_list_pocl, clinfo_missing}}},
    {.name = "start/device_count again, in use",
     .unit = BENCH_UNIT_NS,
     .bar = {BENCH_BAR_TIME, 20},
     .ours = {"accel", ours_count_in_use, NULL},
     .opponents = {{"12 getenv", read_environment, NULL}}},
};

const bench_topic bench_topic_start = {"start", rows, sizeof(rows) / sizeof(rows[0]), setup, NULL};
