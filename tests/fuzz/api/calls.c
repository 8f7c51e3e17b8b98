/* calls.c: see calls.h. */
#include "calls.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

fuzz_shared *fuzz_shared_page;

_Noreturn void fuzz_fail(const fuzz_thread *thread, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *last = thread != NULL ? fuzz_function_name((fuzz_function)thread->last_function)
                                      : "?";
    dprintf(STDERR_FILENO,
            "api_fuzz: seed %llu, round %u, thread %d, step %u, in '%s' after %s: %s; the last "
            "failure was: %s\n",
            (unsigned long long)world.seed, world.round, thread != NULL ? (int)thread->index : -1,
            thread != NULL ? thread->step : 0, thread != NULL ? thread->what : "?", last, text,
            accel_last_error_message());
    abort();
}

void fuzz_before(fuzz_thread *thread, fuzz_function function)
{
    thread->last_function = function;
    atomic_fetch_add_explicit(&fuzz_shared_page->calls[function], 1, memory_order_relaxed);
    atomic_store_explicit(&fuzz_shared_page->function[thread->index], function,
                          memory_order_relaxed);
    if (world.trace)
        dprintf(STDERR_FILENO, "%u.%u.%u %s: %s\n", world.round, thread->index, thread->step,
                thread->what, fuzz_function_name(function));
}

accel_status fuzz_after(fuzz_thread *thread, fuzz_function function, accel_status status)
{
    if (status == ACCEL_OK)
        return status;
    const char *name = fuzz_function_name(function);
    accel_error error = {.struct_size = sizeof error};
    atomic_fetch_add_explicit(&fuzz_shared_page->errors[function], 1, memory_order_relaxed);
    REQUIRE(thread, (int)status > 0 && (int)status < FUZZ_STATUS_COUNT, "%s gives status %d", name,
            (int)status);
    atomic_fetch_add_explicit(&fuzz_shared_page->statuses[status], 1, memory_order_relaxed);
    REQUIRE(thread, accel_last_error(&error) == ACCEL_OK, "the record cannot be read");
    if (world.trace)
        dprintf(STDERR_FILENO, "    %s: %s\n", accel_status_name(status), error.message);
    REQUIRE(thread, error.status == status, "%s gives %s, the record has %s of %s: %s", name,
            accel_status_name(status), accel_status_name(error.status), error.function,
            error.message);
    REQUIRE(thread, strcmp(error.function, name) == 0, "%s gives %s, said to be of '%s': %s", name,
            accel_status_name(status), error.function, error.message);
    REQUIRE(thread, error.message[0] != '\0', "%s gives %s without a message", name,
            accel_status_name(status));
    REQUIRE(thread, (fuzz_documented(function) >> status & 1) != 0,
            "%s gives %s, of which its header says nothing: %s", name, accel_status_name(status),
            error.message);
    return status;
}

accel_status fuzz_made(fuzz_thread *thread, fuzz_function function, accel_status status,
                       const void *out)
{
    const void *object;
    memcpy(&object, out, sizeof object);
    const bool is_poison = object == (const void *)&fuzz_shared_page;
    REQUIRE(thread, !is_poison, "%s leaves its out argument as it was, with status %d",
            fuzz_function_name(function), (int)status);
    REQUIRE(thread, status != ACCEL_OK || object != NULL, "%s succeeds and makes nothing",
            fuzz_function_name(function));
    REQUIRE(thread,
            status == ACCEL_OK || object == NULL ||
                function == FUZZ_accel_module_create_from_source,
            "%s fails and leaves something in its out argument", fuzz_function_name(function));
    return fuzz_after(thread, function, status);
}
