/* driver_backend.c: see driver_backend.h. `stamp` and `list` run in the asking process, `probe` in the
 * helper: a build of accel-probe that knows this backend. */
#include "doubles/driver_backend.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "doubles/mock_backend.h"

/* ---- in the asking process ---- */

static uint64_t hash(uint64_t seed, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        seed = (seed ^ at[i]) * UINT64_C(0x100000001b3);
    return seed;
}

static uint64_t stamp(void)
{
    const char *drivers = getenv("DOUBLE_DRIVERS");
    return drivers != NULL ? hash(1, drivers, strlen(drivers)) : 0;
}

static uint64_t file_key(void)
{
    const char *path = getenv("DOUBLE_FILE");
    struct stat facts;
    if (path == NULL || stat(path, &facts) != 0)
        return 0;
    return hash(hash(2, &facts.st_mtim, sizeof facts.st_mtim), &facts.st_size,
                sizeof facts.st_size);
}

static uint32_t list(accel_backend_driver *out_drivers, uint32_t capacity,
                     accel_backend_probe *out_probe)
{
    const char *rest = getenv("DOUBLE_DRIVERS");
    uint32_t count = 0;
    while (rest != NULL && *rest != '\0' && count < capacity) {
        const size_t size = strcspn(rest, ",");
        const size_t name_size = strcspn(rest, "=");
        accel_backend_driver *driver = &out_drivers[count++];
        *driver = (accel_backend_driver){.key = file_key()};
        snprintf(driver->name, sizeof driver->name, "%.*s", (int)name_size, rest);
        snprintf(driver->library, sizeof driver->library, "%.*s", (int)size, rest);
        if (strcmp(strchr(driver->library, '='), "=missing") == 0)
            driver->reason = ACCEL_REASON_LIBRARY_MISSING;
        rest += size + (rest[size] == ',');
    }
    if (count == 0)
        strcpy(out_probe->reason, "DOUBLE_DRIVERS names none");
    return count;
}

/* ---- in the helper ---- */

typedef void report_function(const accel_backend_found *found, void *user);

static void log_question(const char *name)
{
    const char *path = getenv("DOUBLE_LOG");
    char line[128];
    const int size = snprintf(line, sizeof line, "%s\n", name);
    const int descriptor = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (descriptor >= 0 && write(descriptor, line, (size_t)size) != size)
        abort();
    close(descriptor);
}

static void report_devices(const char *name, int32_t count, int32_t order, report_function *report,
                           void *user)
{
    for (int32_t i = 0; i < count; i++) {
        accel_backend_found found = {.order = order, .ordinal = i};
        found.info.kind = order == 0 ? ACCEL_DEVICE_KIND_GPU : ACCEL_DEVICE_KIND_CPU;
        found.info.total_memory = found.capability.total_memory = 1000u + (uint64_t)i;
        snprintf(found.info.name, sizeof found.info.name, "%s #%d", name, i);
        snprintf(found.info.uuid, sizeof found.info.uuid, "D-%.20s-%02d", name, i);
        snprintf(found.info.bus_address, sizeof found.info.bus_address, "0000:%02x:00.%d",
                 (unsigned)name[0] & 0xffu, i);
        report(&found, user);
    }
}

/* A name with a control, with bytes that are no UTF-8, and without an end. */
static void report_bad_names(report_function *report, void *user)
{
    accel_backend_found found = {0};
    memset(found.info.name, 'x', sizeof found.info.name);
    memcpy(found.info.name, "a\n\x1b[2J\xff\xc0\xaf\xed\xa0\x80", 12);
    strcpy(found.info.vendor, "Gr\xc3\xbc\xc3\x9f"
                              "e");
    report(&found, user);
}

static void *spin(void *user)
{
    for (volatile unsigned i = 0;; i++)
        if (user != NULL)
            return NULL;
}

static void start_threads(void)
{
    pthread_t thread;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread, NULL, spin, NULL);
}

static void write_everywhere(void)
{
    char garbage[512];
    memset(garbage, 0xa5, sizeof garbage);
    for (int descriptor = 0; descriptor < 1024; descriptor++)
        if (write(descriptor, garbage, sizeof garbage) < 0)
            continue;
}

/* Leaves a process that holds everything open, in a session of its own or not. */
static void leave_child(bool session)
{
    if (fork() == 0) {
        if (session)
            setsid();
        alarm(20); /* never longer than the test */
        for (;;)
            pause();
    }
}

static void wait_for_ever(void)
{
    for (;;)
        pause();
}

__attribute__((no_sanitize("undefined"))) static void die_by_null(void)
{
    *(volatile int *)NULL = 1;
}

/* The modes that end badly. */
static void misbehave(const char *mode)
{
    static const struct {
        const char *mode;
        void (*act)(void);
    } acts[] = {{"null", die_by_null}, {"abort", abort}, {"hang", wait_for_ever}};
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++)
        if (strcmp(mode, acts[i].mode) == 0)
            acts[i].act();
    if (strcmp(mode, "exit-0") == 0)
        exit(0);
    if (strcmp(mode, "exit-3") == 0)
        exit(3);
    if (strcmp(mode, "exit-now") == 0)
        _exit(0);
    if (strcmp(mode, "stop") == 0)
        raise(SIGSTOP);
    if (strcmp(mode, "kill-parent") == 0)
        kill(getppid(), SIGKILL);
    if (strcmp(mode, "stop-parent") == 0) {
        kill(getppid(), SIGSTOP);
        wait_for_ever();
    }
    if (strcmp(mode, "fork-and-hang") == 0) {
        leave_child(false);
        wait_for_ever();
    }
}

/* The modes that still answer. */
static void disturb(const char *mode)
{
    if (strcmp(mode, "print") == 0) {
        puts("a driver speaks");
        fputs("and complains\n", stderr);
        fflush(NULL);
    }
    if (strcmp(mode, "garbage") == 0)
        write_everywhere();
    if (strcmp(mode, "threads") == 0)
        start_threads();
    if (strcmp(mode, "fork") == 0)
        leave_child(false);
    if (strcmp(mode, "session") == 0)
        leave_child(true);
    if (strncmp(mode, "slow-", 5) == 0)
        usleep((useconds_t)atoi(mode + 5) * 1000);
}

static accel_status probe(const accel_backend_driver *driver, report_function *report, void *user)
{
    const char *mode = strchr(driver->library, '=') + 1;
    log_question(driver->name);
    if (strcmp(mode, "none") == 0)
        return ACCEL_OK;
    if (strcmp(mode, "error") == 0)
        return accel__fail_vendor(ACCEL_ERROR_DEVICE_FAILED, "double", "doubleInit", -1001,
                                  "DOUBLE_BROKEN", "doubleInit returned DOUBLE_BROKEN");
    if (strcmp(mode, "unusable") == 0)
        return accel__fail(ACCEL_ERROR_UNSUPPORTED, "double", "doubleInit", "it lacks a function");
    if (strcmp(mode, "bad-names") == 0) {
        report_bad_names(report, user);
        return ACCEL_OK;
    }
    if (strcmp(mode, "late-crash") == 0) {
        report_devices(driver->name, 2, 0, report, user);
        abort();
    }
    misbehave(mode);
    disturb(mode);
    if (strncmp(mode, "cpus-", 5) == 0)
        report_devices(driver->name, atoi(mode + 5), 2, report, user);
    else
        report_devices(driver->name, strncmp(mode, "gpus-", 5) == 0 ? atoi(mode + 5) : 1, 0, report,
                       user);
    return ACCEL_OK;
}

accel_backend_table driver_table(void)
{
    accel_backend_table table = mock_table();
    table.name = "double";
    table.rank = ACCEL_BACKEND_RANK_CPU + 20;
    table.local = (accel_backend_local){0};
    table.drivers = (accel_backend_drivers){stamp, list, probe};
    return table;
}
