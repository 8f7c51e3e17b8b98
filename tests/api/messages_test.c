/* messages_test.c: mistakes of people who are new to accel: the message says what is wrong in their words,
 * and what to do. Each of them once left somebody guessing. Two cpu devices. */
#include <string.h>

#include "support/check.h"

static accel_stream *stream;
static accel_module *module;
static accel_kernel *kernel;
static void *memory;

static const char source[] =
    "kernel void sum(global int *x, local int *part) { x[get_global_id(0)] = part[0]; }";

static void says(const char *part)
{
    if (strstr(accel_last_error_message(), part) == NULL)
        fail_msg("the message '%s' does not say '%s'", accel_last_error_message(), part);
}

static void test_a_backend_is_no_device(void **state)
{
    (void)state;
    accel_device device;
    OK(accel_device_parse("cpu", &device));
    FAILS(accel_set_device_index(device), ACCEL_ERROR_INVALID_ARGUMENT, "accel_set_device_index");
    says("accel_set_current_accelerator");
    OK(accel_set_current_accelerator(device.backend));
    OK(accel_set_current_accelerator(ACCEL_BACKEND_NONE));
}

static void test_a_source_without_kernel(void **state)
{
    (void)state;
    static const char text[] = "void sum(global int *x) { x[0] = 1; }";
    accel_module *without = NULL;
    accel_kernel *found = NULL;
    OK(accel_module_create_from_source(test_cpu_device(0), text, sizeof text - 1, NULL, &without));
    FAILS(accel_module_get_kernel(without, "sum", &found), ACCEL_ERROR_NOT_FOUND,
          "accel_module_get_kernel");
    says("the module has none");
    says("__kernel");
    accel_module_release(without);
}

static void launch_with_local(size_t size, accel_status wanted)
{
    const accel_launch_shape shape = {{1, 1, 1}, {1, 1, 1}};
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(memory), ACCEL_ARG_LOCAL(size)};
    FAILS(accel_kernel_launch(kernel, stream, &shape, args, 2), wanted, "accel_kernel_launch");
}

static void test_local_memory(void **state)
{
    (void)state;
    launch_with_local(0, ACCEL_ERROR_INVALID_ARGUMENT);
    says("give the size");
    launch_with_local((size_t)1 << 30, ACCEL_ERROR_OUT_OF_RANGE);
    says("the local memory of a block, in bytes, is 1073741824, the device's limit is ");
    launch_with_local(SIZE_MAX, ACCEL_ERROR_OUT_OF_RANGE);
}

static void test_more_blocks_than_can_be_counted(void **state)
{
    (void)state;
    const uint64_t most = UINT64_C(1) << 31;
    const accel_launch_shape shape = {{most, most, most}, {1, 1, 1}};
    const accel_kernel_arg args[] = {ACCEL_ARG_POINTER(memory), ACCEL_ARG_LOCAL(4)};
    FAILS(accel_kernel_launch(kernel, stream, &shape, args, 2), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_kernel_launch");
    assert_null(strstr(accel_last_error_message(), "18446744073709551615 is"));
    assert_null(strstr(accel_last_error_message(), "(or more)"));
}

static void test_a_stream_of_another_device(void **state)
{
    (void)state;
    accel_stream *other = NULL;
    char host[16];
    OK(accel_stream_create(test_cpu_device(1), NULL, &other));
    FAILS(accel_copy(host, memory, sizeof host, other), ACCEL_ERROR_MISMATCH, "accel_copy");
    says("the stream is of device 1 of 'cpu'");
    says("the memory is of device 0 of 'cpu'");
    accel_stream_release(other);
}

static void test_a_capture_of_nothing_is_one(void **state)
{
    (void)state;
    accel_graph *graph = NULL;
    OK(accel_graph_create(test_cpu_device(0), NULL, &graph));
    OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_GLOBAL));
    OK(accel_graph_capture_end(graph, stream));
    FAILS(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_GLOBAL),
          ACCEL_ERROR_INVALID_STATE, "accel_graph_capture_begin");
    says("captured or built already");
    accel_graph_release(graph);
}

static void test_an_unknown_figure(void **state)
{
    (void)state;
    int64_t value = 0;
    FAILS(accel_memory_stats_get(test_cpu_device(0), "allocated_bytes.current", &value),
          ACCEL_ERROR_NOT_FOUND, "accel_memory_stats_get");
    says("accel_memory_stats_visit");
}

static int load(void **state)
{
    (void)state;
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    OK(accel_memory_alloc(stream, 1024, NULL, &memory));
    OK(accel_module_create_from_source(test_cpu_device(0), source, sizeof source - 1, NULL,
                                       &module));
    OK(accel_module_get_kernel(module, "sum", &kernel));
    return 0;
}

static int unload(void **state)
{
    (void)state;
    OK(accel_memory_free(memory));
    accel_module_release(module);
    accel_stream_release(stream);
    return 0;
}

int main(void)
{
    test_environment(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_backend_is_no_device),
        cmocka_unit_test(test_a_source_without_kernel),
        cmocka_unit_test(test_local_memory),
        cmocka_unit_test(test_more_blocks_than_can_be_counted),
        cmocka_unit_test(test_a_stream_of_another_device),
        cmocka_unit_test(test_a_capture_of_nothing_is_one),
        cmocka_unit_test(test_an_unknown_figure),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
