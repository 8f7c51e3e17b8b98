/* source_module_test.c: modules from source with the n-th allocation, open, write, spawn, mapping …
 * failing, and with a cache that holds what cannot be loaded. */
#include <stdlib.h>

#include "kernel/source_build.h"
#include "support/check.h"
#include "unit/fault_sweep.h"

static const char source[] = "__kernel void one(__global int *out, int n) { out[0] = n; }\n"
                             "__kernel void two(__global int *out) { out[1] = 2; }\n";
static accel_device device;
static char cache[64];

static void expect_works(void)
{
    accel_module *module = NULL;
    OK(accel_module_create_from_source(device, source, strlen(source), NULL, &module));
    assert_int_equal(accel_module_kernel_count(module), 2);
    accel_module_release(module);
}

/* Runs `attempt` with each failure. It returns true where it succeeded. */
static void sweep(bool (*attempt)(void))
{
    const unsigned descriptors = count_descriptors();
    unsigned number = 0;
    for (bool faulty = true; faulty;) {
        fault_begin(++number);
        const bool worked = attempt();
        faulty = fault_end();
        assert_true(worked || faulty);
        assert_int_equal(count_descriptors(), descriptors);
        assert_int_equal(count_left(), 0);
        assert_true(number < 5000);
    }
    assert_true(number > 5);
    expect_works();
}

static bool make_from_source(void)
{
    accel_module *module = NULL;
    const accel_status status = accel_module_create_from_source(device, source, strlen(source),
                                                                NULL, &module);
    if (status == ACCEL_OK)
        assert_int_equal(accel_module_kernel_count(module), 2);
    else if (status == ACCEL_ERROR_BUILD_FAILED || status == ACCEL_ERROR_NO_COMPILER)
        assert_string_not_equal(accel_module_build_log(module), "");
    else
        assert_null(module);
    accel_module_release(module);
    return status == ACCEL_OK;
}

static bool make_with_error(void)
{
    static const char wrong[] = "__kernel void one(__global int *out) { out[0] = nothing; }\n";
    accel_module *module = NULL;
    const accel_status status = accel_module_create_from_source(device, wrong, strlen(wrong), NULL,
                                                                &module);
    assert_int_not_equal(status, ACCEL_OK);
    assert_int_equal(module != NULL, status == ACCEL_ERROR_BUILD_FAILED);
    accel_module_release(module);
    return status == ACCEL_ERROR_BUILD_FAILED;
}

static bool make_native(void)
{
    void *object = NULL;
    size_t size = 0;
    accel_module *module = NULL;
    accel_status status = accel_module_build_native(device, source, strlen(source), NULL, &object,
                                                    &size, &module);
    assert_int_equal(object != NULL, status == ACCEL_OK);
    accel_module_release(module);
    module = NULL;
    if (status == ACCEL_OK)
        status = accel_module_create_from_native(device, object, size, &module);
    assert_int_equal(module != NULL, status == ACCEL_OK);
    accel_module_free_native(object);
    accel_module_release(module);
    return status == ACCEL_OK;
}

static void failures_leave_nothing(void **state)
{
    (void)state;
    expect_works();          /* the device is open, its threads are there */
    sweep(make_from_source); /* out of the cache */
    setenv("ACCEL_CACHE", "0", 1);
    sweep(make_from_source);
    sweep(make_with_error);
    unsetenv("ACCEL_CACHE");
    sweep(make_native);
}

/* The entry's checksum is right, and still it is no object: its writer was at fault. */
static void unloadable_entries_are_compiled_anew(void **state)
{
    (void)state;
    accel__source_build build = {.function = __func__, .source = source, .size = strlen(source)};
    OK(accel__device_resolve(device, __func__, &build.device));
    OK(accel__device_use(build.device, __func__));
    OK(accel__source_translate(&build));
    OK(accel__source_compile(&build, false));
    static const char *const bad[] = {"", "short", "\0\0\0\0\0\0\0\0no object at all",
                                      "\377\377\377\377\377\377\377\377length beyond the end",
                                      "\0\0\0\0\0\0\0\1x"};
    static const size_t sizes[] = {0, 5, 24, 30, 9};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        accel__cache_put(&build.key, bad[i], sizes[i]);
        expect_works();
        accel__source_build again = {
            .function = __func__, .source = source, .size = strlen(source), .device = build.device};
        OK(accel__source_translate(&again));
        OK(accel__source_compile(&again, false));
        assert_true(again.from_cache); /* the good one is back */
        assert_int_equal(again.object.size, build.object.size);
        accel__source_release(&again);
    }
    accel__source_release(&build);
}

static int set_up(void **state)
{
    (void)state;
    test_environment(1);
    unsetenv("ACCEL_CC");
    snprintf(cache, sizeof cache, "/tmp/accel_source_test-XXXXXX");
    if (!own_directory_begin() || mkdtemp(cache) == NULL)
        return 1;
    setenv("ACCEL_CACHE_DIR", cache, 1);
    device = test_cpu_device(0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", cache);
    return own_directory_end() && system(command) == 0 ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(unloadable_entries_are_compiled_anew),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
