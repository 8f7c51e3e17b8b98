/* memory_parts_test.c: want of memory under wrapped and guarded memory: the n-th request of the library fails,
 * for every n; nothing is lost, and what was done is undone. */
#include <accel/accel.h>
#include <stdlib.h>

#include "support/check.h"
#include "unit/fault_sweep.h"

static accel_device device;
static int releases;

static void count_release(void *pointer, size_t size, void *user)
{
    (void)pointer, (void)size, (void)user;
    releases++;
}

static bool is_known(const void *pointer)
{
    accel_pointer_information about = {.struct_size = sizeof about};
    OK(accel_pointer_info(pointer, &about));
    return about.kind != ACCEL_MEMORY_KIND_UNKNOWN;
}

static void test_wrap(void **state)
{
    (void)state;
    static unsigned char memory[64][4096];
    accel_stream *other = NULL;
    const accel_memory_wrap_options options = {.struct_size = sizeof options,
                                               .release = count_release};
    bool happened = true;
    OK(accel_stream_create(device, NULL, &other));
    for (unsigned n = 1; happened; n++) {
        void *mine = memory[n % 64];
        const int before = releases;
        fault_begin(n);
        const accel_status wrapped = accel_memory_wrap(device, mine, 4096, &options);
        const accel_status recorded = wrapped == ACCEL_OK ? accel_record_stream(mine, other)
                                                          : ACCEL_OK;
        happened = fault_end();
        assert_true(wrapped == ACCEL_OK || wrapped == ACCEL_ERROR_OUT_OF_HOST_MEMORY);
        assert_true(recorded == ACCEL_OK || recorded == ACCEL_ERROR_OUT_OF_HOST_MEMORY);
        assert_int_equal(is_known(mine), wrapped == ACCEL_OK);
        if (wrapped == ACCEL_OK)
            OK(accel_memory_free(mine));
        assert_false(is_known(mine));
        assert_int_equal(releases - before, wrapped == ACCEL_OK);
    }
    accel_stream_release(other);
}

static size_t active(void)
{
    accel_memory_statistics statistics = {.struct_size = sizeof statistics};
    accel_host_memory_statistics host = {.struct_size = sizeof host};
    OK(accel_memory_stats(device, &statistics));
    OK(accel_host_memory_stats(device, &host));
    return (size_t)(statistics.active[0].current + host.active_requests.current);
}

static void sweep_alloc(accel_memory_kind kind)
{
    const accel_memory_options options = {.struct_size = sizeof options, .kind = kind};
    bool happened = true;
    for (unsigned n = 1; happened; n++) {
        void *memory = NULL;
        fault_begin(n);
        const accel_status status = accel_memory_alloc(NULL, 3000, &options, &memory);
        happened = fault_end();
        assert_int_equal(status == ACCEL_OK, memory != NULL);
        if (status != ACCEL_OK)
            assert_true(status == ACCEL_ERROR_OUT_OF_HOST_MEMORY ||
                        status == ACCEL_ERROR_OUT_OF_MEMORY);
        OK(accel_memory_free(memory));
        OK(accel_synchronize(device));
        assert_int_equal(active(), 0);
        OK(accel_empty_cache());
        OK(accel_empty_host_cache());
    }
}

static void test_guard_and_poison(void **state)
{
    (void)state;
    static const char *const settings[] = {"guard:True", "poison:True", "guard:True,poison:True",
                                           "caching:False"};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        OK(accel_allocator_set_config(settings[i]));
        sweep_alloc(ACCEL_MEMORY_KIND_DEVICE);
        sweep_alloc(ACCEL_MEMORY_KIND_PINNED);
    }
    OK(accel_allocator_set_config(""));
}

int main(void)
{
    test_environment(1);
    unsetenv("ACCEL_ALLOC_CONF");
    device = test_cpu_device(0);
    OK(accel_initialize(device.backend));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_guard_and_poison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
