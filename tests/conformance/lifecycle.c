/* lifecycle.c: the backend has started by now: what deferred calls and shutting down do then. */
#include "conformance.h"

static void started(cf_run *run)
{
    bool initialized = false;
    OK(accel_is_initialized(run->device.backend, &initialized));
    CHECK(initialized);
    OK(accel_initialize(run->device.backend));
    OK(accel_is_initialized(ACCEL_BACKEND_CURRENT, &initialized));
    CHECK(initialized);
}

typedef struct seen {
    int calls;
    accel_device device;
    accel_status result;
} seen;

static accel_status call(accel_device device, void *user)
{
    seen *to = user;
    to->calls++;
    to->device = device;
    if (to->calls == 1) { /* re-entrant */
        const accel_status status = accel_lazy_call(device.backend, call, user, NULL);
        if (status != to->result)
            return ACCEL_ERROR_INTERNAL;
    }
    return to->result;
}

static void deferred_calls_run_at_once(cf_run *run)
{
    seen to = {.result = ACCEL_OK};
    OK(accel_lazy_call(run->device.backend, call, &to, NULL));
    CHECK(to.calls == 2);
    CHECK(to.device.backend == run->device.backend && to.device.index == run->device.index);
    to = (seen){.result = ACCEL_ERROR_IO};
    GIVES(accel_lazy_call(run->device.backend, call, &to, NULL), ACCEL_ERROR_IO);
    OK(accel_initialize(run->device.backend));
}

static void shutdown_and_go_on(cf_run *run)
{
    void *memory = NULL;
    uint32_t back = 0;
    const uint32_t value = 12;
    OK(accel_memory_alloc(run->stream, 4, NULL, &memory));
    for (int turn = 0; turn < 3; turn++) {
        back = 0;
        OK(accel_fill(memory, &value, 4, 4, run->stream));
        OK(accel_copy(&back, memory, 4, run->stream));
        OK(accel_shutdown());
        CHECK(back == 12); /* it waited */
    }
    OK(accel_memory_free(memory));
}

const cf_test cf_lifecycle_tests[] = {
    {"lifecycle/started", started},
    {"lifecycle/deferred-calls-run-at-once", deferred_calls_run_at_once},
    {"lifecycle/shutdown-and-go-on", shutdown_and_go_on},
    {NULL, NULL},
};
