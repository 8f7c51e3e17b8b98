/* errors_test.c: every public function with arguments that are wrong: the right status, outputs cleared,
 * a record that names the function, and nothing changed. Two cpu devices. */
#include <stdlib.h>

#include "support/check.h"
#include "support/kernels.h"

/* The call fails, and the record says so in the function's own name. */
#define REFUSES(wanted, function, ...) FAILS(function(__VA_ARGS__), wanted, #function)
#define INVALID(function, ...) REFUSES(ACCEL_ERROR_INVALID_ARGUMENT, function, __VA_ARGS__)
#define NOT_FOUND(function, ...) REFUSES(ACCEL_ERROR_NOT_FOUND, function, __VA_ARGS__)

enum { NO_BACKEND = 12345 };

static test_kernels kernels;
static accel_stream *stream;
static accel_event *event;
static unsigned char *memory;

/* Something to see cleared. */
static char junk_bytes[16];
#define JUNK ((void *)junk_bytes)

static void test_null_outputs(void **state)
{
    (void)state;
    const accel_device device = test_cpu_device(0);
    accel_device found;
    INVALID(accel_backend_find, "cpu", NULL);
    INVALID(accel_device_count, test_cpu(), NULL);
    INVALID(accel_is_available, test_cpu(), NULL);
    INVALID(accel_current_accelerator, false, NULL);
    INVALID(accel_current_device_index, test_cpu(), NULL);
    INVALID(accel_exchange_device, device, NULL);
    INVALID(accel_maybe_exchange_device, device, NULL);
    INVALID(accel_device_index_begin, device, NULL);
    INVALID(accel_device_parse, "cpu:0", NULL);
    INVALID(accel_device_describe, device, NULL);
    INVALID(accel_get_device_capability, device, NULL);
    size_t size = 9;
    INVALID(accel_get_memory_info, device, NULL, &size);
    INVALID(accel_get_memory_info, device, &size, NULL);
    INVALID(accel_stream_create, device, NULL, NULL);
    INVALID(accel_stream_default, device, NULL);
    INVALID(accel_current_stream, device, NULL);
    INVALID(accel_stream_scope_begin, stream, NULL);
    INVALID(accel_stream_get_device, stream, NULL);
    INVALID(accel_stream_get_id, stream, NULL);
    INVALID(accel_stream_get_priority, stream, NULL);
    INVALID(accel_stream_query, stream, NULL);
    INVALID(accel_stream_get_native_handle, stream, NULL);
    INVALID(accel_event_create, device, NULL, NULL);
    INVALID(accel_event_query, event, NULL);
    INVALID(accel_event_elapsed_time, event, event, NULL);
    INVALID(accel_event_get_device, event, NULL);
    INVALID(accel_event_get_native_handle, event, NULL);
    INVALID(accel_memory_alloc, stream, 64, NULL, NULL);
    INVALID(accel_pointer_info, memory, NULL);
    INVALID(accel_is_initialized, test_cpu(), NULL);
    INVALID(accel_module_create_from_functions, device, NULL, 0, NULL);
    INVALID(accel_module_create_from_source, device, "x", 1, NULL, NULL);
    INVALID(accel_module_create_from_native, device, "x", 1, NULL);
    INVALID(accel_module_get_kernel, kernels.module, "add", NULL);
    INVALID(accel_module_get_kernel_at, kernels.module, 0, NULL);
    INVALID(accel_kernel_get_param, kernels.add, 0, NULL);
    OK(accel_exchange_device(test_cpu_device(0), &found));
    assert_int_equal(found.index, 0);
}

static void test_null_objects(void **state)
{
    (void)state;
    accel_device device = ACCEL_DEVICE(7, 7);
    uint64_t id = 7;
    int32_t priority = 7;
    bool done = true;
    void *handle = JUNK;
    double milliseconds = 7;
    accel_kernel *kernel = JUNK;
    accel_param param = {.size = 7};
    INVALID(accel_set_stream, NULL);
    INVALID(accel_stream_get_device, NULL, &device);
    INVALID(accel_stream_get_id, NULL, &id);
    INVALID(accel_stream_get_priority, NULL, &priority);
    INVALID(accel_stream_wait_event, stream, NULL);
    INVALID(accel_event_record, NULL, stream);
    INVALID(accel_event_query, NULL, &done);
    INVALID(accel_event_synchronize, NULL);
    INVALID(accel_event_elapsed_time, NULL, event, &milliseconds);
    INVALID(accel_event_elapsed_time, event, NULL, &milliseconds);
    assert_true(milliseconds == 0.0);
    INVALID(accel_event_get_device, NULL, &device);
    INVALID(accel_event_get_native_handle, NULL, &handle);
    assert_null(handle);
    assert_false(done);
    assert_int_equal(device.backend, ACCEL_BACKEND_NONE);
    assert_true(id == 0 && priority == 0);
    INVALID(accel_module_get_kernel, NULL, "add", &kernel);
    assert_null(kernel);
    INVALID(accel_module_get_kernel, kernels.module, NULL, &kernel);
    INVALID(accel_module_get_kernel_at, NULL, 0, &kernel);
    INVALID(accel_kernel_get_param, NULL, 0, &param);
    INVALID(accel_stream_add_callback, stream, NULL, NULL);
    INVALID(accel_lazy_call, test_cpu(), NULL, NULL, NULL);
    INVALID(accel_backend_find, NULL, &device.backend);
    INVALID(accel_device_parse, NULL, &device);
}

/* What asks about nothing answers with nothing. */
static void test_questions_about_null(void **state)
{
    (void)state;
    assert_string_equal(accel_module_build_log(NULL), "");
    assert_int_equal(accel_module_kernel_count(NULL), 0);
    assert_int_equal(accel_kernel_param_count(NULL), 0);
    assert_false(accel_kernel_has_signature(NULL));
    const char *name = accel_kernel_name(NULL);
    assert_true(name == NULL || name[0] == '\0');
}

static void test_release_of_null_says_nothing(void **state)
{
    (void)state;
    accel_device found;
    INVALID(accel_device_parse, "CPU", &found);
    char before[512];
    snprintf(before, sizeof before, "%s", accel_last_error_message());
    accel_stream_retain(NULL);
    accel_stream_release(NULL);
    accel_event_retain(NULL);
    accel_event_release(NULL);
    accel_module_retain(NULL);
    accel_module_release(NULL);
    accel_module_free_native(NULL);
    accel_device_index_end(NULL);
    accel_stream_scope_end(NULL);
    OK(accel_memory_free(NULL));
    assert_string_equal(accel_last_error_message(), before);
}

static void test_unknown_backends(void **state)
{
    (void)state;
    const accel_backend unknown[] = {ACCEL_BACKEND_NONE, NO_BACKEND, accel_backend_count() + 1,
                                     ACCEL_BACKEND_CURRENT - 1};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        const accel_backend backend = unknown[i];
        const accel_device device = ACCEL_DEVICE(backend, 0);
        int32_t count = 7;
        bool yes = true;
        accel_device previous = ACCEL_DEVICE(7, 7);
        accel_device_scope scope;
        accel_stream *made_stream = JUNK;
        accel_event *made_event = JUNK;
        accel_module *made_module = JUNK;
        NOT_FOUND(accel_device_count, backend, &count);
        NOT_FOUND(accel_is_available, backend, &yes);
        assert_true(count == 0 && !yes);
        NOT_FOUND(accel_current_device_index, backend, &count);
        NOT_FOUND(accel_set_device_index, device);
        NOT_FOUND(accel_exchange_device, device, &previous);
        NOT_FOUND(accel_maybe_exchange_device, device, &previous);
        assert_int_equal(previous.backend, ACCEL_BACKEND_NONE);
        NOT_FOUND(accel_device_index_begin, device, &scope);
        assert_false(scope.active);
        NOT_FOUND(accel_synchronize, device);
        NOT_FOUND(accel_stream_create, device, NULL, &made_stream);
        NOT_FOUND(accel_event_create, device, NULL, &made_event);
        assert_true(made_stream == NULL && made_event == NULL);
        yes = true;
        NOT_FOUND(accel_is_initialized, backend, &yes);
        assert_false(yes);
        NOT_FOUND(accel_initialize, backend);
        NOT_FOUND(accel_module_create_from_source, device, "x", 1, NULL, &made_module);
        assert_null(made_module);
    }
    NOT_FOUND(accel_set_current_accelerator, NO_BACKEND);
}

static accel_status never(accel_device device, void *user)
{
    (void)device;
    *(int *)user = 1;
    return ACCEL_OK;
}

static void test_unknown_backend_of_a_deferred_call(void **state)
{
    (void)state;
    int called = 0;
    NOT_FOUND(accel_lazy_call, NO_BACKEND, never, &called, NULL);
    const accel_lazy_options options = {.struct_size = sizeof options, .kind = (accel_lazy_kind)3};
    INVALID(accel_lazy_call, test_cpu(), never, &called, &options);
    assert_int_equal(called, 0);
}

/* ---- struct sizes ---- */

static void test_sizes_of_out_structs(void **state)
{
    (void)state;
    const uint32_t wrong[] = {0, 1, 3, 4, 7, 4097, 1u << 20, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        accel_device_info info = {.struct_size = wrong[i]};
        accel_device_capability capability = {.struct_size = wrong[i]};
        accel_pointer_information information = {.struct_size = wrong[i]};
        accel_error error = {.struct_size = wrong[i]};
        INVALID(accel_device_describe, test_cpu_device(0), &info);
        INVALID(accel_get_device_capability, test_cpu_device(0), &capability);
        INVALID(accel_pointer_info, memory, &information);
        assert_int_equal(accel_last_error(&error), ACCEL_ERROR_INVALID_ARGUMENT);
    }
    accel_device device;
    INVALID(accel_device_parse, "CPU", &device);
    assert_int_equal(accel_last_error(NULL), ACCEL_ERROR_INVALID_ARGUMENT);
    accel_error error = {.struct_size = sizeof error};
    OK(accel_last_error(&error));
    assert_string_equal(error.function, "accel_device_parse"); /* asking wrongly left it alone */
}

/* A caller built against a later header has longer structs; against an earlier one, shorter. */
static void test_out_structs_of_other_versions(void **state)
{
    (void)state;
    struct {
        accel_device_capability known;
        unsigned char later[40];
        unsigned char behind[8];
    } longer;
    memset(&longer, 0xa5, sizeof longer);
    longer.known.struct_size = sizeof longer.known + sizeof longer.later;
    OK(accel_get_device_capability(test_cpu_device(0), &longer.known));
    assert_true(longer.known.compute_units >= 1);
    assert_int_equal(longer.known.struct_size, sizeof longer.known + sizeof longer.later);
    for (size_t i = 0; i < sizeof longer.later; i++)
        assert_int_equal(longer.later[i], 0);
    for (size_t i = 0; i < sizeof longer.behind; i++)
        assert_int_equal(longer.behind[i], 0xa5);

    accel_pointer_information shorter;
    memset(&shorter, 0xa5, sizeof shorter);
    shorter.struct_size = offsetof(accel_pointer_information, base);
    OK(accel_pointer_info(memory + 5, &shorter));
    assert_int_equal(shorter.kind, ACCEL_MEMORY_KIND_DEVICE);
    const unsigned char *bytes = (const unsigned char *)&shorter;
    for (size_t i = shorter.struct_size; i < sizeof shorter; i++)
        assert_int_equal(bytes[i], 0xa5);
}

static void test_error_records_of_other_versions(void **state)
{
    (void)state;
    struct {
        accel_error known;
        unsigned char later[16];
        unsigned char behind[8];
    } longer;
    INVALID(accel_device_parse, "CPU", &(accel_device){0});
    memset(&longer, 0xa5, sizeof longer);
    longer.known.struct_size = sizeof longer.known + sizeof longer.later;
    OK(accel_last_error(&longer.known));
    assert_string_equal(longer.known.function, "accel_device_parse");
    for (size_t i = 0; i < sizeof longer.later; i++)
        assert_int_equal(longer.later[i], 0);
    for (size_t i = 0; i < sizeof longer.behind; i++)
        assert_int_equal(longer.behind[i], 0xa5);

    accel_error shorter;
    memset(&shorter, 0xa5, sizeof shorter);
    shorter.struct_size = offsetof(accel_error, vendor_message);
    OK(accel_last_error(&shorter));
    assert_int_equal(shorter.status, ACCEL_ERROR_INVALID_ARGUMENT);
    assert_string_equal(shorter.message, accel_last_error_message());
    const unsigned char *bytes = (const unsigned char *)&shorter;
    for (size_t i = shorter.struct_size; i < sizeof shorter; i++)
        assert_int_equal(bytes[i], 0xa5);
}

#define LONGER(type)                                                                               \
    struct {                                                                                       \
        type known;                                                                                \
        uint32_t later[4];                                                                         \
    }

static void test_options_of_other_versions(void **state)
{
    (void)state;
    LONGER(accel_stream_options) of_stream = {.known.struct_size = sizeof of_stream};
    LONGER(accel_event_options) of_event = {.known.struct_size = sizeof of_event};
    LONGER(accel_memory_options) of_memory = {.known.struct_size = sizeof of_memory};
    LONGER(accel_lazy_options) of_lazy = {.known.struct_size = sizeof of_lazy};
    accel_stream *made_stream = NULL;
    accel_event *made_event = NULL;
    void *made_memory = NULL;
    int called = 0;
    const accel_device device = test_cpu_device(0);
    OK(accel_stream_create(device, &of_stream.known, &made_stream));
    OK(accel_event_create(device, &of_event.known, &made_event));
    OK(accel_memory_alloc(stream, 64, &of_memory.known, &made_memory));
    OK(accel_lazy_call(test_cpu(), never, &called, &of_lazy.known));
    accel_stream_release(made_stream);
    accel_event_release(made_event);
    OK(accel_memory_free(made_memory));
    assert_int_equal(called, 1);

    of_stream.later[3] = of_event.later[3] = of_memory.later[3] = of_lazy.later[3] = 1;
    made_stream = JUNK;
    made_event = JUNK;
    made_memory = JUNK;
    INVALID(accel_stream_create, device, &of_stream.known, &made_stream);
    INVALID(accel_event_create, device, &of_event.known, &made_event);
    INVALID(accel_memory_alloc, stream, 64, &of_memory.known, &made_memory);
    INVALID(accel_lazy_call, test_cpu(), never, &called, &of_lazy.known);
    assert_true(made_stream == NULL && made_event == NULL && made_memory == NULL);
}

static void test_short_options(void **state)
{
    (void)state;
    accel_memory_options options = {.struct_size = offsetof(accel_memory_options, alignment),
                                    .alignment = 3}; /* beyond what is said to be there */
    void *made = NULL;
    OK(accel_memory_alloc(stream, 64, &options, &made));
    OK(accel_memory_free(made));
    const uint32_t wrong[] = {0, 1, 4, 7, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        accel_stream_options of_stream = {.struct_size = wrong[i]};
        accel_event_options of_event = {.struct_size = wrong[i]};
        accel_lazy_options of_lazy = {.struct_size = wrong[i]};
        accel_module_options of_module = {.struct_size = wrong[i]};
        accel_stream *made_stream = JUNK;
        accel_event *made_event = JUNK;
        accel_module *made_module = JUNK;
        int called = 0;
        options.struct_size = wrong[i];
        INVALID(accel_memory_alloc, stream, 64, &options, &made);
        INVALID(accel_stream_create, test_cpu_device(0), &of_stream, &made_stream);
        INVALID(accel_event_create, test_cpu_device(0), &of_event, &made_event);
        INVALID(accel_lazy_call, test_cpu(), never, &called, &of_lazy);
        INVALID(accel_module_create_from_source, test_cpu_device(0), "x", 1, &of_module,
                &made_module);
        assert_true(made_stream == NULL && made_event == NULL && made_module == NULL);
    }
}

/* ---- modules and launches ---- */

static void test_modules_of_nothing(void **state)
{
    (void)state;
    accel_module *made = JUNK;
    INVALID(accel_module_create_from_source, test_cpu_device(0), NULL, 5, NULL, &made);
    assert_null(made);
    made = JUNK;
    INVALID(accel_module_create_from_native, test_cpu_device(0), NULL, 5, &made);
    assert_null(made);
    made = JUNK;
    INVALID(accel_module_create_from_native, test_cpu_device(0), "no object", 9, &made);
    assert_null(made);
    made = JUNK;
    INVALID(accel_module_create_from_native, test_cpu_device(0), "", 0, &made);
    assert_null(made);
    void *object = JUNK;
    size_t size = 7;
    INVALID(accel_module_build_native, test_cpu_device(0), NULL, 5, NULL, &object, &size, &made);
    assert_true(object == NULL && size == 0);
    INVALID(accel_module_build_native, test_cpu_device(0), "x", 1, NULL, NULL, &size, &made);
    INVALID(accel_module_build_native, test_cpu_device(0), "x", 1, NULL, &object, NULL, &made);
}

static void test_devices_out_of_range(void **state)
{
    (void)state;
    const accel_device device = test_cpu_device(2);
    accel_module *made_module = JUNK;
    accel_event *made_event = JUNK;
    void *object = JUNK;
    size_t size = 7;
    static const accel_cpu_kernel none;
    REFUSES(ACCEL_ERROR_OUT_OF_RANGE, accel_module_create_from_source, device, "x", 1, NULL,
            &made_module);
    assert_null(made_module);
    REFUSES(ACCEL_ERROR_OUT_OF_RANGE, accel_module_create_from_native, device, "x", 1,
            &made_module);
    REFUSES(ACCEL_ERROR_OUT_OF_RANGE, accel_module_create_from_functions, device, &none, 1,
            &made_module);
    REFUSES(ACCEL_ERROR_OUT_OF_RANGE, accel_module_build_native, device, "x", 1, NULL, &object,
            &size, NULL);
    assert_true(object == NULL && size == 0);
    REFUSES(ACCEL_ERROR_OUT_OF_RANGE, accel_event_create, device, NULL, &made_event);
    assert_null(made_event);
}

/* ---- failures that come up asynchronously name the call that reports them ---- */

static void test_the_reporter_of_a_failed_stream(void **state)
{
    (void)state;
    accel_stream *bad = NULL;
    bool done = true;
    OK(accel_stream_create(test_cpu_device(0), NULL, &bad));
    OK(accel_event_record(event, stream));
    OK(test_launch_fail(&kernels, bad));
    accel_stream_synchronize(bad);
    const accel_status failure = ACCEL_ERROR_DEVICE_FAILED;
    REFUSES(failure, accel_stream_synchronize, bad);
    REFUSES(failure, accel_stream_query, bad, &done);
    assert_false(done);
    REFUSES(failure, accel_event_record, event, bad);
    REFUSES(failure, accel_stream_wait_event, bad, event);
    REFUSES(failure, accel_stream_wait_stream, bad, stream);
    REFUSES(failure, accel_stream_wait_stream, stream, bad);
    REFUSES(failure, accel_copy, memory, junk_bytes, 16, bad);
    REFUSES(failure, accel_copy_2d, memory, 8, junk_bytes, 8, 8, 2, bad);
    REFUSES(failure, accel_fill, memory, junk_bytes, 1, 16, bad);
    FAILS(test_launch_nothing(&kernels, bad), failure, "accel_kernel_launch");
    REFUSES(failure, accel_synchronize, test_cpu_device(0));
    accel_error error = {.struct_size = sizeof error};
    OK(accel_last_error(&error));
    assert_non_null(strstr(error.message, TEST_FAIL_TEXT));
    assert_string_equal(error.backend, "cpu");
    accel_stream_release(bad);
    OK(accel_synchronize(test_cpu_device(0)));
    OK(accel_stream_synchronize(stream));
}

static void test_nothing_has_changed(void **state)
{
    (void)state;
    int32_t index = 7;
    accel_stream *current = NULL;
    accel_stream *plain = NULL;
    OK(accel_current_device_index(test_cpu(), &index));
    OK(accel_current_stream(ACCEL_DEVICE_CURRENT, &current));
    OK(accel_stream_default(test_cpu_device(0), &plain));
    assert_int_equal(index, 0);
    assert_ptr_equal(current, plain);
    OK(accel_synchronize(test_cpu_device(0)));
    OK(accel_synchronize(test_cpu_device(1)));
}

static int load(void **state)
{
    (void)state;
    memset(junk_bytes, 0x77, sizeof junk_bytes);
    return test_kernels_load(test_cpu_device(0), &kernels) != ACCEL_OK ||
           accel_stream_create(test_cpu_device(0), NULL, &stream) != ACCEL_OK ||
           accel_event_create(test_cpu_device(0), NULL, &event) != ACCEL_OK ||
           accel_memory_alloc(stream, 64, NULL, (void **)&memory) != ACCEL_OK;
}

static int unload(void **state)
{
    (void)state;
    accel_memory_free(memory);
    accel_event_release(event);
    accel_stream_release(stream);
    test_kernels_unload(&kernels);
    return 0;
}

int main(void)
{
    test_environment(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_outputs),
        cmocka_unit_test(test_null_objects),
        cmocka_unit_test(test_questions_about_null),
        cmocka_unit_test(test_release_of_null_says_nothing),
        cmocka_unit_test(test_unknown_backends),
        cmocka_unit_test(test_unknown_backend_of_a_deferred_call),
        cmocka_unit_test(test_sizes_of_out_structs),
        cmocka_unit_test(test_out_structs_of_other_versions),
        cmocka_unit_test(test_error_records_of_other_versions),
        cmocka_unit_test(test_options_of_other_versions),
        cmocka_unit_test(test_short_options),
        cmocka_unit_test(test_modules_of_nothing),
        cmocka_unit_test(test_devices_out_of_range),
        cmocka_unit_test(test_the_reporter_of_a_failed_stream),
        cmocka_unit_test(test_nothing_has_changed),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
