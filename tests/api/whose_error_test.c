/* whose_error_test.c: whose failure the record holds: a function of the program's that accel calls from inside
 * of a call has the records of its own failures, and leaves none of them behind; a call that meets several
 * tells of the first, by its own name. */
#include <stdlib.h>

#include "support/check.h"
#include "support/kernels.h"

static test_kernels kernels;
static accel_stream *stream;
static int calls;

/* Fails, and sees that it is told how. */
static void fail_inside(void)
{
    accel_error error = {.struct_size = sizeof error};
    accel_backend backend = ACCEL_BACKEND_NONE;
    calls++;
    assert_int_equal(accel_backend_find("nosuch", &backend), ACCEL_ERROR_NOT_FOUND);
    assert_int_equal(accel_last_error(&error), ACCEL_OK);
    assert_int_equal(error.status, ACCEL_ERROR_NOT_FOUND);
    assert_string_equal(error.function, "accel_backend_find");
}

/* What failed before is still what failed last. */
static void expect_last(accel_status status, const char *function)
{
    accel_error error = {.struct_size = sizeof error};
    assert_int_equal(accel_last_error(&error), ACCEL_OK);
    assert_int_equal(error.status, status);
    assert_string_equal(error.function, function);
}

static void release(void *pointer, size_t size, void *user)
{
    (void)pointer;
    (void)size;
    (void)user;
    fail_inside();
}

static void an_owner_is_told_inside_of_a_wait_that_fails(void **state)
{
    (void)state;
    static unsigned char memory[512];
    test_gate gate = {0};
    accel_stream *failing = NULL;
    const accel_memory_wrap_options options = {
        .struct_size = sizeof options, .stream = stream, .release = release};
    calls = 0;
    OK(accel_stream_create(test_cpu_device(0), NULL, &failing));
    OK(accel_memory_wrap(test_cpu_device(0), memory, sizeof memory, &options));
    OK(test_launch_gate(&kernels, stream, &gate));
    OK(accel_memory_free(memory));
    OK(test_launch_fail(&kernels, failing));
    assert_int_equal(calls, 0);
    test_gate_open(&gate);
    EXPECT(accel_synchronize(test_cpu_device(0)), ACCEL_ERROR_DEVICE_FAILED);
    expect_last(ACCEL_ERROR_DEVICE_FAILED, "accel_synchronize");
    assert_int_equal(calls, 1);
    accel_stream_release(failing);
}

/* ---- the source of a pool ---- */

static accel_status source_alloc(void *user, accel_device device, size_t size, size_t alignment,
                                 void **out_pointer)
{
    (void)user;
    (void)device;
    fail_inside();
    *out_pointer = aligned_alloc(alignment, size);
    return ACCEL_OK;
}

static void source_free(void *user, accel_device device, void *pointer, size_t size)
{
    (void)user;
    (void)device;
    (void)size;
    fail_inside();
    free(pointer);
}

static void source_release(void *user)
{
    (void)user;
    fail_inside();
}

static void the_source_of_a_pool_has_its_own_failures(void **state)
{
    (void)state;
    accel_memory_pool *pool = NULL;
    void *memory = NULL;
    const accel_memory_pool_options options = {
        .struct_size = sizeof options, .source = {source_alloc, source_free, source_release, NULL}};
    accel_memory_options from_pool = {.struct_size = sizeof from_pool};
    calls = 0;
    OK(accel_memory_pool_create(test_cpu_device(0), &options, &pool));
    from_pool.pool = pool;
    EXPECT(accel_memory_free(&memory), ACCEL_ERROR_INVALID_ARGUMENT);
    OK(accel_memory_alloc(stream, 64, &from_pool, &memory));
    OK(accel_memory_free(memory));
    OK(accel_stream_synchronize(stream));
    OK(accel_memory_pool_release(pool));
    assert_int_equal(calls, 3); /* each of the three, once */
    expect_last(ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_free");
}

/* ---- the log ---- */

static void listen(accel_log_level level, const char *backend, const char *text, void *user)
{
    (void)level;
    (void)backend;
    (void)text;
    (void)user;
    fail_inside();
}

static void the_log_leaves_no_failure(void **state)
{
    (void)state;
    void *memory = NULL;
    calls = 0;
    OK(accel_memory_alloc(stream, 64, NULL, &memory));
    EXPECT(accel_memory_free(&memory), ACCEL_ERROR_INVALID_ARGUMENT);
    OK(accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, listen, NULL));
    accel_memory_leaks_log();
    OK(accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, NULL, NULL));
    assert_true(calls > 0);
    expect_last(ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_free");
    OK(accel_memory_free(memory));
}

/* ---- hooks and observers ---- */

static bool relieve(accel_device device, size_t size, void *user)
{
    (void)device;
    (void)size;
    (void)user;
    fail_inside();
    return false;
}

static void observe(const accel_out_of_memory_report *report, void *user)
{
    (void)report;
    (void)user;
    fail_inside();
}

static void the_want_of_memory_is_what_failed(void **state)
{
    (void)state;
    void *memory = NULL;
    calls = 0;
    OK(accel_allocator_add_memory_pressure_hook(relieve, NULL));
    OK(accel_allocator_add_out_of_memory_observer(observe, NULL));
    EXPECT(accel_memory_alloc(stream, (size_t)1 << 50, NULL, &memory), ACCEL_ERROR_OUT_OF_MEMORY);
    expect_last(ACCEL_ERROR_OUT_OF_MEMORY, "accel_memory_alloc");
    assert_true(calls >= 2); /* each of the two, at least once */
    OK(accel_allocator_remove_memory_pressure_hook(relieve, NULL));
    OK(accel_allocator_remove_out_of_memory_observer(observe, NULL));
}

/* ---- two failures in one call ---- */

static void a_shutdown_tells_of_its_first_failure(void **state)
{
    (void)state;
    accel_stream *failing = NULL;
    accel_stream *captured = NULL;
    accel_graph *graph = NULL;
    OK(accel_stream_create(test_cpu_device(0), NULL, &failing));
    OK(accel_stream_create(test_cpu_device(1), NULL, &captured));
    OK(accel_graph_create(test_cpu_device(1), NULL, &graph));
    OK(test_launch_fail(&kernels, failing));
    OK(accel_graph_capture_begin(graph, captured, ACCEL_CAPTURE_MODE_GLOBAL));
    EXPECT(accel_shutdown(), ACCEL_ERROR_DEVICE_FAILED);
    expect_last(ACCEL_ERROR_DEVICE_FAILED, "accel_shutdown");
    EXPECT(accel_memory_free(&graph),
           ACCEL_ERROR_INVALID_ARGUMENT); /* failures are recorded again */
    expect_last(ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_free");
    accel_graph_release(graph);
    accel_stream_release(captured);
    accel_stream_release(failing);
}

static void settings_do_not_change_who_failed(void **state)
{
    (void)state;
    static const char *const texts[] = {"guard:True", "poison:True"};
    accel_stream *failing = NULL;
    void *memory = NULL;
    OK(accel_stream_create(test_cpu_device(0), NULL, &failing));
    OK(test_launch_fail(&kernels, failing));
    EXPECT(accel_stream_synchronize(failing), ACCEL_ERROR_DEVICE_FAILED);
    for (int i = 0; i < 2; i++) {
        OK(accel_allocator_set_config(texts[i]));
        EXPECT(accel_memory_alloc(failing, 64, NULL, &memory), ACCEL_ERROR_DEVICE_FAILED);
        expect_last(ACCEL_ERROR_DEVICE_FAILED, "accel_memory_alloc");
    }
    OK(accel_allocator_set_config(""));
    accel_stream_release(failing);
}

/* The canaries were queued behind what failed: nobody wrote beside the memory. */
static void a_failed_stream_corrupts_nothing(void **state)
{
    (void)state;
    test_gate gate = {0};
    accel_stream *failing = NULL;
    void *memory = NULL;
    OK(accel_allocator_set_config("guard:True"));
    OK(accel_stream_create(test_cpu_device(0), NULL, &failing));
    OK(test_launch_gate(&kernels, failing, &gate));
    OK(test_launch_fail(&kernels, failing));
    OK(accel_memory_alloc(failing, 7, NULL, &memory));
    test_gate_open(&gate);
    EXPECT(accel_stream_synchronize(failing), ACCEL_ERROR_DEVICE_FAILED);
    OK(accel_memory_free(memory));
    OK(accel_allocator_set_config(""));
    accel_stream_release(failing);
}

static void ignore(accel_stream *of, accel_status status, void *user)
{
    (void)of;
    (void)status;
    (void)user;
}

/* Also where the core's stand-in records an event for it (TEST_MASK). */
static void a_callback_fails_by_its_own_name(void **state)
{
    (void)state;
    accel_stream *failing = NULL;
    OK(accel_stream_create(test_cpu_device(0), NULL, &failing));
    OK(test_launch_fail(&kernels, failing));
    EXPECT(accel_stream_synchronize(failing), ACCEL_ERROR_DEVICE_FAILED);
    EXPECT(accel_stream_add_callback(failing, ignore, NULL), ACCEL_ERROR_DEVICE_FAILED);
    expect_last(ACCEL_ERROR_DEVICE_FAILED, "accel_stream_add_callback");
    accel_stream_release(failing);
}

int main(void)
{
    test_environment(2);
    if (test_kernels_load(test_cpu_device(0), &kernels) != ACCEL_OK ||
        accel_stream_create(test_cpu_device(0), NULL, &stream) != ACCEL_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_is_told_inside_of_a_wait_that_fails),
        cmocka_unit_test(the_source_of_a_pool_has_its_own_failures),
        cmocka_unit_test(the_log_leaves_no_failure),
        cmocka_unit_test(the_want_of_memory_is_what_failed),
        cmocka_unit_test(a_shutdown_tells_of_its_first_failure),
        cmocka_unit_test(settings_do_not_change_who_failed),
        cmocka_unit_test(a_failed_stream_corrupts_nothing),
        cmocka_unit_test(a_callback_fails_by_its_own_name),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    accel_stream_release(stream);
    test_kernels_unload(&kernels);
    return failed;
}
