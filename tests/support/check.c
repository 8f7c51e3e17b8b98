/* check.c: see check.h. */
#include "support/check.h"

#include <stdlib.h>

void test_environment(unsigned devices)
{
    char text[16];
    snprintf(text, sizeof text, "%u", devices);
    setenv("ACCEL_CPU_DEVICES", text, 1);
    const char *const others[] = {"ACCEL_BACKEND", "ACCEL_BACKENDS", "ACCEL_VISIBLE_DEVICES",
                                  "ACCEL_MASK", "ACCEL_CPU_THREADS"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        unsetenv(others[i]);
    const char *mask = getenv("TEST_MASK");
    const char *threads = getenv("TEST_THREADS");
    if (mask != NULL)
        setenv("ACCEL_MASK", mask, 1);
    if (threads != NULL)
        setenv("ACCEL_CPU_THREADS", threads, 1);
}

static void describe(const char *call, const char *file, int line)
{
    accel_error error = {.struct_size = sizeof error};
    accel_last_error(&error);
    print_error("%s:%d: %s\n  last error: %s in %s: %s %s\n", file, line, call,
                accel_status_name(error.status), error.function, error.message,
                error.vendor_message);
}

void test_expect(accel_status got, accel_status wanted, const char *call, const char *file,
                 int line)
{
    if (got == wanted)
        return;
    print_error("got %s, expected %s\n", accel_status_name(got), accel_status_name(wanted));
    describe(call, file, line);
    _fail(file, line);
}

void test_expect_failure(accel_status got, accel_status wanted, const char *function,
                         const char *call, const char *file, int line)
{
    test_expect(got, wanted, call, file, line);
    accel_error error = {.struct_size = sizeof error};
    accel_last_error(&error);
    if (error.status == wanted && error.message[0] != '\0' && strcmp(error.function, function) == 0)
        return;
    print_error("the record does not describe the failure of %s\n", function);
    describe(call, file, line);
    _fail(file, line);
}

accel_backend test_cpu(void)
{
    accel_backend cpu = ACCEL_BACKEND_NONE;
    OK(accel_backend_find("cpu", &cpu));
    return cpu;
}

accel_device test_cpu_device(int32_t index)
{
    return ACCEL_DEVICE(test_cpu(), index);
}
