/* conformance.c: accel-conformance: runs every test on every device, or on those asked for, and says for
 * each: pass, fail or skip, with the reason. Exit status: 0 nothing failed, 1 something did, 2 usage. */
#include "conformance.h"

#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "report.h"

enum { DEVICES_MAX = 256, TEST_LIMIT_SECONDS = 120 };

static const cf_test *const topics[] = {
    cf_device_tests,    cf_stream_tests, cf_event_tests,  cf_memory_tests,   cf_memory_parts_tests,
    cf_copy_tests,      cf_fill_tests,   cf_kernel_tests, cf_callback_tests, cf_error_tests,
    cf_lifecycle_tests, cf_thread_tests, cf_fork_tests,   cf_random_tests,   cf_graph_tests,
};
enum { TOPICS = sizeof topics / sizeof topics[0] };

static struct {
    accel_device devices[DEVICES_MAX]; /* to be tested */
    size_t device_count;
    const char *filter;
    bool list;
    bool json;
} options;

static accel_device all[DEVICES_MAX];
static size_t all_count;

/* ---- checks ---- */

void cf_fail(cf_run *run, const char *file, int line, const char *what)
{
    const char *name = strrchr(file, '/');
    run->result = CF_FAIL;
    snprintf(run->reason, sizeof run->reason, "%s:%d: %s", name != NULL ? name + 1 : file, line,
             what);
}

void cf_fail_status(cf_run *run, const char *file, int line, const char *call, accel_status got,
                    accel_status wanted)
{
    char what[520];
    snprintf(what, sizeof what, "%s gave %s, not %s: %s", call, accel_status_name(got),
             accel_status_name(wanted), got != ACCEL_OK ? accel_last_error_message() : "");
    cf_fail(run, file, line, what);
}

/* ---- running ---- */

static char running[200]; /* for the alarm */

static void hung(int signal_number)
{
    static const char text[] = ": hung\n";
    (void)signal_number;
    if (write(STDERR_FILENO, running, strlen(running)) >= 0 &&
        write(STDERR_FILENO, text, sizeof text - 1) >= 0)
        _exit(1);
    _exit(1);
}

static bool find_other(cf_run *run)
{
    int32_t count = 0;
    accel_device_count(run->device.backend, &count);
    if (count < 2)
        return false;
    run->other = ACCEL_DEVICE(run->device.backend, run->device.index == 0 ? 1 : 0);
    return true;
}

static void run_test(const cf_test *test, accel_device device, const char *device_name)
{
    cf_run run = {.device = device,
                  .capability.struct_size = sizeof run.capability,
                  .all = all,
                  .all_count = all_count};
    run.is_cpu = strcmp(accel_backend_name(device.backend), "cpu") == 0;
    run.has_other = find_other(&run);
    snprintf(running, sizeof running, "%s %s", device_name, test->name);
    alarm(TEST_LIMIT_SECONDS);
    accel_set_device_index(device);
    const accel_status status = accel_get_device_capability(device, &run.capability);
    if (status != ACCEL_OK)
        cf_fail_status(&run, __FILE__, __LINE__, "asking for the capability", status, ACCEL_OK);
    else if (cf_open(&run))
        test->body(&run);
    cf_close(&run);
    alarm(0);
    report_result(device_name, accel_backend_name(device.backend), test->name, run.result,
                  run.reason);
}

static bool is_wanted(const char *name)
{
    return options.filter == NULL || fnmatch(options.filter, name, 0) == 0;
}

static void for_each_test(void (*call)(const cf_test *test, accel_device device, const char *name),
                          accel_device device, const char *device_name)
{
    for (size_t topic = 0; topic < TOPICS; topic++)
        for (const cf_test *test = topics[topic]; test->name != NULL; test++)
            if (is_wanted(test->name))
                call(test, device, device_name);
}

static void print_name(const cf_test *test, accel_device device, const char *device_name)
{
    (void)device;
    (void)device_name;
    puts(test->name);
}

static void run_device(accel_device device)
{
    char name[ACCEL_DEVICE_NAME_MAX] = "?";
    accel_device_format(device, name, sizeof name, NULL);
    for_each_test(run_test, device, name);
}

/* ---- devices ---- */

static void find_all_devices(void)
{
    for (accel_backend backend = 1; backend <= accel_backend_count(); backend++) {
        int32_t count = 0;
        if (accel_device_count(backend, &count) != ACCEL_OK)
            fprintf(stderr, "accel-conformance: %s\n", accel_last_error_message());
        for (int32_t i = 0; i < count && all_count < DEVICES_MAX; i++)
            all[all_count++] = ACCEL_DEVICE(backend, i);
    }
}

/* A name without index stands for every device of its backend. */
static bool add_devices(const char *text)
{
    accel_device device;
    if (accel_device_parse(text, &device) != ACCEL_OK) {
        fprintf(stderr, "accel-conformance: %s\n", accel_last_error_message());
        return false;
    }
    const size_t before = options.device_count;
    for (size_t i = 0; i < all_count && options.device_count < DEVICES_MAX; i++)
        if (all[i].backend == device.backend &&
            (device.index == ACCEL_INDEX_NONE || all[i].index == device.index))
            options.devices[options.device_count++] = all[i];
    if (options.device_count == before)
        fprintf(stderr, "accel-conformance: there is no device %s\n", text);
    return options.device_count != before;
}

/* ---- the command line ---- */

static const char usage[] =
    "usage: accel-conformance [-d DEVICE]... [--list] [--filter PATTERN] [--json]\n"
    "                         [--exceptions FILE]...\n"
    "  -d, --device DEVICE    test this device (cpu:0), or all of a backend (cpu); default: all\n"
    "      --list             print the names of the tests\n"
    "      --filter PATTERN   only tests whose names match, as in the shell: 'copy/*'\n"
    "      --json             one JSON document instead of lines\n"
    "      --exceptions FILE  failures that are known: BACKEND TEST REASON, one a line\n";

static const struct option long_options[] = {
    {"device", required_argument, NULL, 'd'},
    {"list", no_argument, NULL, 'l'},
    {"filter", required_argument, NULL, 'f'},
    {"json", no_argument, NULL, 'j'},
    {"exceptions", required_argument, NULL, 'e'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Exit status, or -1 to go on. */
static int read_option(int option)
{
    switch (option) {
    case 'd':
        return add_devices(optarg) ? -1 : 2;
    case 'l':
        options.list = true;
        return -1;
    case 'f':
        options.filter = optarg;
        return -1;
    case 'j':
        options.json = true;
        return -1;
    case 'e':
        if (report_read_exceptions(optarg))
            return -1;
        fprintf(stderr, "accel-conformance: %s: %s\n", optarg,
                errno != 0 ? strerror(errno) : "each line must be BACKEND TEST REASON");
        return 2;
    case 'h':
        fputs(usage, stdout);
        return 0;
    default:
        fputs(usage, stderr);
        return 2;
    }
}

int main(int count, char **arguments)
{
    find_all_devices();
    for (int option; (option = getopt_long(count, arguments, "d:h", long_options, NULL)) != -1;) {
        const int status = read_option(option);
        if (status >= 0)
            return status;
    }
    if (optind < count)
        return read_option('?');
    if (options.list) {
        for_each_test(print_name, ACCEL_DEVICE_CURRENT, NULL);
        return 0;
    }
    if (options.device_count == 0) {
        memcpy(options.devices, all, sizeof all);
        options.device_count = all_count;
    }
    signal(SIGALRM, hung);
    report_begin(options.json);
    for (size_t i = 0; i < options.device_count; i++)
        run_device(options.devices[i]);
    return report_end();
}
