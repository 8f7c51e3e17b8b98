/* fork_steps_test.c: a fork between two steps of the core, or inside of one, with the mock, which does not
 * survive forks: what the child finds half done does not mislead it. Nothing here starts a thread. */
#include <sys/wait.h>
#include <unistd.h>

#include "doubles/mock_backend.h"
#include "support/check.h"
#include "support/process.h"

#include "core/device.h"
#include "core/lifecycle.h"
#include "core/registry.h"

/* Each case has a backend of its own, which nobody has started. */
static accel_backend add_backend(const char *name)
{
    accel_backend_table table = mock_table();
    accel_backend number = 0;
    table.name = name;
    OK(accel__registry_add(&table, &number));
    mock.device_count = 1;
    return number;
}

/* ---- the default stream's opening: it is listed, then its native stream is stored ---- */

/* How often the device lists the stream; -1 where the list has no end. */
static int times_listed(const accel__device *device, const accel_stream *stream)
{
    int times = 0;
    int steps = 0;
    for (const accel_stream *at = device->streams; at != NULL; at = at->next) {
        times += at == stream;
        if (++steps > 100)
            return -1;
    }
    return times;
}

static void test_a_default_stream_that_is_listed_already(void **state)
{
    (void)state;
    const accel_backend number = add_backend("half_open");
    accel_stream *stream = NULL;
    accel_stream *other = NULL;
    OK(accel_stream_default(ACCEL_DEVICE(number, 0), &stream));
    OK(accel_stream_create(ACCEL_DEVICE(number, 0), NULL, &other));
    accel__device *device = stream->device;
    /* As the child of a fork between the two steps has it. */
    stream->next = atomic_load(&device->streams);
    device->streams = stream;
    void *memory = NULL;
    OK(accel_memory_alloc(stream, 512, NULL, &memory));
    assert_non_null(stream->native);
    assert_int_equal(times_listed(device, stream), 1);
    assert_int_equal(times_listed(device, other), 1);
    OK(accel_synchronize(ACCEL_DEVICE(number, 0)));
    OK(accel_memory_free(memory));
    accel_stream_release(other);
    assert_int_equal(times_listed(device, stream), 1);
}

/* ---- the start ---- */

static int first_use(void *user)
{
    mock.device_count = 1;
    CHECK_QUIET(accel_initialize(*(const accel_backend *)user) == ACCEL_OK);
    return 0;
}

/* What failed before the driver was called is nothing that a child could inherit. */
static void test_a_start_that_never_reached_the_driver(void **state)
{
    (void)state;
    accel_backend number = add_backend("no_device");
    mock.device_count = 0;
    const unsigned starts = mock.calls[MOCK_START];
    EXPECT(accel_initialize(number), ACCEL_ERROR_UNAVAILABLE);
    assert_int_equal(mock.calls[MOCK_START], starts);
    assert_int_equal(test_in_child(first_use, &number, 10), 0);
    OK(first_use(&number) == 0 ? ACCEL_OK : ACCEL_ERROR_INTERNAL);
}

/* ---- a deferred call that forks, and whose child returns from it ---- */

static pid_t forked = -1; /* as fork() returned */
static unsigned later_calls;

static accel_status fork_and_return(accel_device device, void *user)
{
    (void)device, (void)user;
    forked = fork();
    return forked >= 0 ? ACCEL_OK : ACCEL_ERROR_SYSTEM;
}

static accel_status count_call(accel_device device, void *user)
{
    (void)device, (void)user;
    later_calls++;
    return ACCEL_OK;
}

/* In the child: the parent's driver is of no use, and nothing else of the queue is run on it. */
static int in_the_child(accel_backend number, accel_status of_start)
{
    bool initialized = true;
    accel_stream *stream = NULL;
    CHECK_QUIET(of_start == ACCEL_ERROR_FORKED && later_calls == 0);
    CHECK_QUIET(accel_is_initialized(number, &initialized) == ACCEL_OK && !initialized);
    CHECK_QUIET(accel_stream_create(ACCEL_DEVICE(number, 0), NULL, &stream) == ACCEL_ERROR_FORKED);
    CHECK_QUIET(accel_initialize(number) == ACCEL_ERROR_FORKED && later_calls == 0);
    return 0;
}

static void test_a_deferred_call_that_forks(void **state)
{
    (void)state;
    const accel_backend number = add_backend("forks_inside");
    OK(accel_lazy_call(number, fork_and_return, NULL, NULL));
    OK(accel_lazy_call(number, count_call, NULL, NULL));
    const accel_status status = accel_initialize(number);
    if (forked == 0)
        _exit(in_the_child(number, status));
    assert_int_equal(test_child_wait(forked, 10), 0);
    OK(status);
    assert_int_equal(later_calls, 1);
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_default_stream_that_is_listed_already),
        cmocka_unit_test(test_a_start_that_never_reached_the_driver),
        cmocka_unit_test(test_a_deferred_call_that_forks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
