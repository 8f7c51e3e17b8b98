/* handles_test.c: in debug and invariants builds a released handle, or one of another kind, is found:
 * INVALID_ARGUMENT. Release builds do not promise that. */
#include "support/check.h"
#include "support/kernels.h"

#if ACCEL_CHECK_HANDLES
enum { CHECKED = 1 };
#else
enum { CHECKED = 0 };
#endif

#define INVALID(function, ...) FAILS(function(__VA_ARGS__), ACCEL_ERROR_INVALID_ARGUMENT, #function)

static void test_released_streams(void **state)
{
    (void)state;
    accel_stream *stream = NULL;
    bool done = false;
    uint64_t id = 0;
    if (!CHECKED)
        skip();
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    accel_stream_release(stream);
    INVALID(accel_stream_query, stream, &done);
    INVALID(accel_stream_synchronize, stream);
    INVALID(accel_stream_get_id, stream, &id);
    INVALID(accel_set_stream, stream);
    void *memory = NULL;
    INVALID(accel_memory_alloc, stream, 8, NULL, &memory);
    accel_stream_release(stream); /* quiet */
    accel_stream_retain(stream);
}

static void test_released_events(void **state)
{
    (void)state;
    accel_event *event = NULL;
    bool done = false;
    if (!CHECKED)
        skip();
    OK(accel_event_create(test_cpu_device(0), NULL, &event));
    accel_event_retain(event);
    accel_event_release(event);
    OK(accel_event_query(event, &done));
    accel_event_release(event);
    INVALID(accel_event_query, event, &done);
    INVALID(accel_event_record, event, NULL);
    INVALID(accel_event_synchronize, event);
    INVALID(accel_stream_wait_event, NULL, event);
    accel_event_release(event);
}

static void test_released_modules(void **state)
{
    (void)state;
    test_kernels kernels;
    accel_kernel *kernel = NULL;
    if (!CHECKED)
        skip();
    OK(test_kernels_load(test_cpu_device(0), &kernels));
    accel_module_release(kernels.module);
    INVALID(accel_module_get_kernel, kernels.module, "add", &kernel);
    FAILS(test_launch_nothing(&kernels, NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_kernel_launch");
    accel_module_release(kernels.module);
}

static void test_handles_of_another_kind(void **state)
{
    (void)state;
    accel_stream *stream = NULL;
    accel_event *event = NULL;
    bool done = false;
    int local[16] = {0};
    if (!CHECKED)
        skip();
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    OK(accel_event_create(test_cpu_device(0), NULL, &event));
    INVALID(accel_stream_query, (accel_stream *)event, &done);
    INVALID(accel_event_query, (accel_event *)stream, &done);
    INVALID(accel_event_query, (accel_event *)local, &done);
    INVALID(accel_stream_synchronize, (accel_stream *)local);
    accel_stream_release((accel_stream *)event);
    OK(accel_event_query(event, &done));
    accel_event_release(event);
    accel_stream_release(stream);
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_released_streams),
        cmocka_unit_test(test_released_events),
        cmocka_unit_test(test_released_modules),
        cmocka_unit_test(test_handles_of_another_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
