/* current_accelerator_test.c: the current accelerator: what the thread set, ACCEL_BACKEND, ACCEL_BACKENDS,
 * the freezing of the default. Each environment in a child, which starts nothing but where it says so. */
#include <stdlib.h>

#include "support/check.h"
#include "support/process.h"

static void test_the_default(void **state)
{
    (void)state;
    for (int check = 0; check < 2; check++) {
        accel_device device = ACCEL_DEVICE(9, 9);
        OK(accel_current_accelerator(check == 1, &device));
        assert_int_equal(device.backend, test_cpu());
        assert_int_equal(device.index, ACCEL_INDEX_NONE); /* never an index, as in torch */
    }
    OK(accel_set_device_index(test_cpu_device(1)));
    accel_device device;
    OK(accel_current_accelerator(false, &device));
    assert_int_equal(device.index, ACCEL_INDEX_NONE);
    OK(accel_set_device_index(test_cpu_device(0)));
}

static void test_set_and_back(void **state)
{
    (void)state;
    accel_device device;
    OK(accel_set_current_accelerator(test_cpu()));
    OK(accel_current_accelerator(false, &device));
    assert_int_equal(device.backend, test_cpu());
    FAILS(accel_set_current_accelerator(999), ACCEL_ERROR_NOT_FOUND,
          "accel_set_current_accelerator");
    OK(accel_current_accelerator(false, &device));
    assert_int_equal(device.backend, test_cpu());
    OK(accel_set_current_accelerator(ACCEL_BACKEND_NONE));
    OK(accel_current_accelerator(false, &device));
    assert_int_equal(device.backend, test_cpu());
}

static int unknown_backend(void *user)
{
    setenv("ACCEL_BACKEND", user, 1);
    accel_device device = ACCEL_DEVICE(9, 9);
    int32_t count = 7;
    bool available = true;
    CHECK_QUIET(accel_current_accelerator(false, &device) == ACCEL_ERROR_UNAVAILABLE);
    CHECK_QUIET(device.backend == ACCEL_BACKEND_NONE && device.index == ACCEL_INDEX_NONE);
    CHECK_QUIET(strstr(accel_last_error_message(), user) != NULL);
    CHECK_QUIET(strstr(accel_last_error_message(), "cpu") != NULL); /* what there is */
    CHECK_QUIET(accel_device_count(ACCEL_BACKEND_CURRENT, &count) == ACCEL_ERROR_UNAVAILABLE);
    CHECK_QUIET(count == 0);
    CHECK_QUIET(accel_is_available(ACCEL_BACKEND_CURRENT, &available) == ACCEL_ERROR_UNAVAILABLE);
    CHECK_QUIET(!available);
    CHECK_QUIET(accel_current_device_index(ACCEL_BACKEND_CURRENT, &count) ==
                ACCEL_ERROR_UNAVAILABLE);
    CHECK_QUIET(accel_synchronize(ACCEL_DEVICE_CURRENT) == ACCEL_ERROR_UNAVAILABLE);
    void *memory = &memory;
    CHECK_QUIET(accel_memory_alloc(NULL, 8, NULL, &memory) == ACCEL_ERROR_UNAVAILABLE);
    CHECK_QUIET(memory == NULL);
    CHECK_QUIET(accel_backend_name(ACCEL_BACKEND_CURRENT) == NULL);
    /* By its own name the cpu is still there, and what the thread sets comes first. */
    CHECK_QUIET(accel_device_count(test_cpu(), &count) == ACCEL_OK && count == 2);
    CHECK_QUIET(accel_set_current_accelerator(test_cpu()) == ACCEL_OK);
    CHECK_QUIET(accel_current_accelerator(true, &device) == ACCEL_OK);
    CHECK_QUIET(device.backend == test_cpu());
    return 0;
}

static void test_accel_backend_is_never_passed_over(void **state)
{
    (void)state;
    const char *const names[] = {"nosuch", "CPU", "cpu:0", "cpu,", " cpu"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(test_in_child(unknown_backend, (void *)(uintptr_t)names[i], 20), 0);
}

static int left_out(void *user)
{
    setenv("ACCEL_BACKENDS", user, 1);
    accel_device device = ACCEL_DEVICE(9, 9);
    int32_t count = 7;
    bool available = true;
    void *memory = &memory;
    CHECK_QUIET(accel_current_accelerator(true, &device) == ACCEL_OK);
    CHECK_QUIET(device.backend == ACCEL_BACKEND_NONE && device.index == ACCEL_INDEX_NONE);
    CHECK_QUIET(accel_device_count(ACCEL_BACKEND_CURRENT, &count) == ACCEL_OK && count == 0);
    CHECK_QUIET(accel_is_available(ACCEL_BACKEND_CURRENT, &available) == ACCEL_OK && !available);
    CHECK_QUIET(accel_device_count(test_cpu(), &count) == ACCEL_OK && count == 0);
    CHECK_QUIET(accel_current_device_index(ACCEL_BACKEND_CURRENT, &count) ==
                ACCEL_ERROR_UNAVAILABLE);
    CHECK_QUIET(accel_memory_alloc(NULL, 8, NULL, &memory) == ACCEL_ERROR_UNAVAILABLE);
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_ERROR_UNAVAILABLE);
    CHECK_QUIET(strstr(accel_last_error_message(), "ACCEL_BACKENDS") != NULL);
    setenv("ACCEL_BACKEND", "cpu", 1);
    CHECK_QUIET(accel_current_accelerator(false, &device) == ACCEL_ERROR_UNAVAILABLE);
    CHECK_QUIET(strstr(accel_last_error_message(), "ACCEL_BACKENDS") != NULL);
    return 0;
}

static void test_accel_backends_leaves_out(void **state)
{
    (void)state;
    const char *const lists[] = {"nosuch", "cuda,hip", "cpux", "xcpu", "CPU"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        assert_int_equal(test_in_child(left_out, (void *)(uintptr_t)lists[i], 20), 0);
}

static int let_in(void *user)
{
    setenv("ACCEL_BACKENDS", user, 1);
    accel_device device;
    CHECK_QUIET(accel_current_accelerator(true, &device) == ACCEL_OK);
    CHECK_QUIET(device.backend == test_cpu());
    return 0;
}

static void test_accel_backends_lets_in(void **state)
{
    (void)state;
    const char *const lists[] = {"cpu", "cuda,cpu", "cpu,cuda", ",cpu,", ""};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        assert_int_equal(test_in_child(let_in, (void *)(uintptr_t)lists[i], 20), 0);
}

static int frozen(void *user)
{
    (void)user;
    accel_device device;
    CHECK_QUIET(accel_current_accelerator(true, &device) == ACCEL_OK);
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    setenv("ACCEL_BACKEND", "nosuch", 1);
    setenv("ACCEL_BACKENDS", "nosuch", 1);
    CHECK_QUIET(accel_current_accelerator(true, &device) == ACCEL_OK);
    CHECK_QUIET(device.backend == test_cpu());
    int32_t count = 0;
    CHECK_QUIET(accel_device_count(ACCEL_BACKEND_CURRENT, &count) == ACCEL_OK && count == 2);
    return 0;
}

/* Nobody asked before the first use: the first answer after it holds. */
static int frozen_later(void *user)
{
    (void)user;
    accel_device device;
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    CHECK_QUIET(accel_current_accelerator(false, &device) == ACCEL_OK);
    CHECK_QUIET(device.backend == test_cpu());
    setenv("ACCEL_BACKEND", "nosuch", 1);
    CHECK_QUIET(accel_current_accelerator(true, &device) == ACCEL_OK);
    CHECK_QUIET(device.backend == test_cpu());
    return 0;
}

static void test_the_default_is_frozen_at_the_first_use(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(frozen_later, NULL, 20), 0);
    assert_int_equal(test_in_child(frozen, NULL, 20), 0);
}

static void test_questions_before_the_variables_are_read(void **state)
{
    (void)state;
    /* Asked before: the variables are read anew at each question. */
    int32_t count = 0;
    OK(accel_device_count(ACCEL_BACKEND_CURRENT, &count));
    assert_int_equal(count, 2);
    setenv("ACCEL_BACKENDS", "nosuch", 1);
    OK(accel_device_count(ACCEL_BACKEND_CURRENT, &count));
    assert_int_equal(count, 0);
    unsetenv("ACCEL_BACKENDS");
    OK(accel_device_count(ACCEL_BACKEND_CURRENT, &count));
    assert_int_equal(count, 2);
}

int main(void)
{
    test_environment(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_default),
        cmocka_unit_test(test_set_and_back),
        cmocka_unit_test(test_accel_backend_is_never_passed_over),
        cmocka_unit_test(test_accel_backends_leaves_out),
        cmocka_unit_test(test_accel_backends_lets_in),
        cmocka_unit_test(test_questions_before_the_variables_are_read),
        cmocka_unit_test(test_the_default_is_frozen_at_the_first_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
