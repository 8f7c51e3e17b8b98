/* sweep_fork_test.c: the start of the cpu backend with its n-th inner allocation, mapping or thread start
 * failing. A backend starts once, so each step is a process of its own: the failed first use must leave
 * it such that the next one works. */
#include "support/check.h"
#include "support/kernels.h"
#include "support/process.h"

#include "unit/fault_sweep.h"

enum { NOTHING_FAILED = 0, RECOVERED = 10, STEPS_MAX = 300 };

typedef struct first_use {
    const char *name;
    accel_status (*use)(void);
} first_use;

static accel_status by_stream(void)
{
    accel_stream *stream = NULL;
    const accel_status status = accel_stream_create(test_cpu_device(0), NULL, &stream);
    accel_stream_release(stream);
    return status;
}

static accel_status by_memory(void)
{
    void *memory = NULL;
    const accel_status status = accel_memory_alloc(NULL, 100, NULL, &memory);
    accel_memory_free(memory);
    return status;
}

static accel_status by_launch(void)
{
    test_kernels kernels;
    static test_log log;
    accel_stream *stream = NULL;
    accel_status status = test_kernels_load(test_cpu_device(0), &kernels);
    if (status == ACCEL_OK)
        status = accel_stream_default(test_cpu_device(0), &stream);
    if (status == ACCEL_OK)
        status = test_launch_append(&kernels, stream, &log, 1);
    if (status == ACCEL_OK)
        status = accel_stream_synchronize(stream);
    test_kernels_unload(&kernels);
    return status;
}

static void count_call(accel_stream *stream, accel_status status, void *user)
{
    (void)stream;
    (void)status;
    *(int *)user += 1;
}

static accel_status by_callback(void)
{
    static int calls;
    accel_stream *stream = NULL;
    accel_status status = accel_stream_default(test_cpu_device(0), &stream);
    if (status == ACCEL_OK)
        status = accel_stream_add_callback(stream, count_call, &calls);
    return status == ACCEL_OK ? accel_stream_synchronize(stream) : status;
}

static accel_status by_event(void)
{
    accel_event *event = NULL;
    accel_status status = accel_event_create(ACCEL_DEVICE_CURRENT, NULL, &event);
    if (status == ACCEL_OK)
        status = accel_event_record(event, NULL);
    if (status == ACCEL_OK)
        status = accel_event_synchronize(event);
    accel_event_release(event);
    return status;
}

static accel_status by_initialize(void)
{
    return accel_initialize(test_cpu());
}

static const first_use uses[] = {
    {"initialize", by_initialize}, {"stream", by_stream}, {"memory", by_memory},
    {"launch", by_launch},         {"event", by_event},   {"callback", by_callback},
};

typedef struct step {
    const first_use *first;
    unsigned number;
} step;

static int attempt(void *user)
{
    const step *now = user;
    fault_begin(now->number);
    const accel_status status = now->first->use();
    const bool happened = fault_end();
    CHECK_QUIET(status == ACCEL_OK || happened);
    if (status != ACCEL_OK)
        CHECK_QUIET(status == ACCEL_ERROR_OUT_OF_HOST_MEMORY ||
                    status == ACCEL_ERROR_OUT_OF_MEMORY || status == ACCEL_ERROR_SYSTEM ||
                    status == ACCEL_ERROR_START_FAILED);
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++)
        CHECK_QUIET(uses[i].use() == ACCEL_OK);
    return happened ? RECOVERED : NOTHING_FAILED;
}

static void test_the_first_use_at_each_step(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
        step now = {&uses[i], 1};
        int result = RECOVERED;
        for (; result == RECOVERED && now.number < STEPS_MAX; now.number++) {
            result = test_in_child(attempt, &now, 30);
            if (result != RECOVERED && result != NOTHING_FAILED)
                print_error("%s at step %u: %d\n", uses[i].name, now.number, result);
        }
        assert_int_equal(result, NOTHING_FAILED);
    }
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_first_use_at_each_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
