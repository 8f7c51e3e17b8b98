/* drivers.h: tells doubles/driver_backend.h what to do, from a test. Unit tests only. */
#ifndef TESTS_SUPPORT_DRIVERS_H
#define TESTS_SUPPORT_DRIVERS_H

#include <stdlib.h>
#include <unistd.h>

#include "core/registry.h"
#include "doubles/driver_backend.h"
#include "support/check.h"

static accel_backend drivers_backend;
static char drivers_log[64];

/* The path of the helper that knows the double. */
static inline const char *drivers_helper(void)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/tests/bin/accel-probe-double", getenv("BUILD_DIR"));
    return path;
}

/* Once per program: registers the double; no driver, a limit of ten seconds. */
static inline void drivers_begin(void)
{
    if (getenv("BUILD_DIR") == NULL)
        setenv("BUILD_DIR", ".", 1);
    /* For the helper: a driver's crash is the test's wish, so the sanitizers are to leave the signal
     * alone; and their look for leaks makes processes of its own. */
    setenv("ASAN_OPTIONS", "handle_segv=0:detect_leaks=0", 1);
    setenv("TSAN_OPTIONS", "handle_segv=0", 1);
    setenv("ACCEL_BACKENDS", "cpu, double", 1); /* the drivers of this machine stay out of it */
    setenv("ACCEL_PROBE", drivers_helper(), 1);
    setenv("ACCEL_PROBE_TIMEOUT_MS", "10000", 1);
    snprintf(drivers_log, sizeof drivers_log, "/tmp/accel_test_drivers-%d", (int)getpid());
    setenv("DOUBLE_LOG", drivers_log, 1);
    const accel_backend_table table = driver_table();
    if (accel__registry_add(&table, &drivers_backend) != ACCEL_OK)
        abort();
}

static inline void drivers_end(void)
{
    unlink(drivers_log);
}

static inline void drivers_set(const char *list)
{
    setenv("DOUBLE_DRIVERS", list, 1);
    unlink(drivers_log);
}

/* How often that driver was asked since drivers_set. */
static inline unsigned drivers_asked(const char *name)
{
    char line[128];
    unsigned count = 0;
    FILE *file = fopen(drivers_log, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        count += strcmp(line, name) == 0;
    }
    if (file != NULL)
        fclose(file);
    return count;
}

static inline accel_backend_report drivers_report(void)
{
    accel_backend_report report = {.struct_size = sizeof report};
    OK(accel_backend_get_report(drivers_backend, &report));
    return report;
}

static inline accel_driver_report drivers_driver(uint32_t index)
{
    accel_driver_report report = {.struct_size = sizeof report};
    OK(accel_backend_get_driver_report(drivers_backend, index, &report));
    return report;
}

/* The count, whatever the status. */
static inline int32_t drivers_count(void)
{
    int32_t count = -1;
    accel_device_count(drivers_backend, &count);
    return count;
}

#endif
