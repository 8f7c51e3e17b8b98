/* allocator_config_test.c: ACCEL_ALLOC_CONF as a program meets it (case B70): a wrong text hinders neither
 * loading nor asking, and each allocation tells what is wrong with it. */
#include <stdlib.h>

#include "support/check.h"

static char long_text[64 * 1024 + 1];

static const struct {
    const char *text;
    const char *says;
} wrong[] = {
    {"guard", "':' and a value are missing after the key 'guard', at byte 6 of 'guard'"},
    {"guard:", "'guard' is True or False, not nothing, at byte 7 of 'guard:'"},
    {"guard:True,", "a key is missing, at byte 12"},
    {"roundup_power2_divisions:[", "not nothing, at byte 27"},
    {"nonsense:1", "there is no key 'nonsense', at byte 1"},
    {"max_split_size_mb:99999999999999999999", "not '99999999999999999999', at byte 19"},
    {"max_split_size_mb:-1", "not '-1', at byte 19"},
    {"   ", "a key is missing, at byte 4"},
    {"caf\xc3\xa9:True", "there is no key 'caf\\xc3\\xa9', at byte 1"},
    {long_text, "there is no key 'xxxx"},
};

static void expect_text(const char *wanted)
{
    if (strstr(accel_last_error_message(), wanted) == NULL)
        fail_msg("'%s' is not in: %s", wanted, accel_last_error_message());
}

static void ask_everything(void)
{
    const accel_device device = test_cpu_device(0);
    int32_t count = 0;
    accel_stream *stream = NULL;
    accel_memory_statistics statistics = {.struct_size = sizeof statistics};
    accel_host_memory_statistics host = {.struct_size = sizeof host};
    accel_memory_pool *pool = NULL;
    OK(accel_device_count(test_cpu(), &count));
    assert_int_equal(count, 1);
    OK(accel_stream_create(device, NULL, &stream));
    OK(accel_memory_stats(device, &statistics));
    OK(accel_host_memory_stats(device, &host));
    OK(accel_empty_cache());
    OK(accel_empty_host_cache());
    OK(accel_memory_pool_create(device, NULL, &pool));
    OK(accel_memory_pool_release(pool));
    OK(accel_stream_synchronize(stream));
    accel_stream_release(stream);
}

static void test_wrong_variables(void **state)
{
    (void)state;
    memset(long_text, 'x', sizeof long_text - 1);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        setenv("ACCEL_ALLOC_CONF", wrong[i].text, 1);
        ask_everything();
        for (int kind = 1; kind <= 2; kind++) {
            const accel_memory_options options = {.struct_size = sizeof options,
                                                  .kind = (accel_memory_kind)kind};
            void *memory = &memory;
            FAILS(accel_memory_alloc(NULL, 100, &options, &memory), ACCEL_ERROR_INVALID_ARGUMENT,
                  "accel_memory_alloc");
            assert_null(memory);
            expect_text("ACCEL_ALLOC_CONF: ");
            expect_text(wrong[i].says);
        }
    }
}

static void test_a_corrected_variable(void **state)
{
    (void)state;
    void *memory = NULL;
    char text[64];
    setenv("ACCEL_ALLOC_CONF", "roundup_power2_divisions:4", 1);
    OK(accel_memory_alloc(NULL, 1025 * 1024, NULL, &memory));
    accel_memory_statistics statistics = {.struct_size = sizeof statistics};
    OK(accel_memory_stats(test_cpu_device(0), &statistics));
    assert_int_equal(statistics.requested_bytes[0].current, 1025 * 1024);
    assert_int_equal(statistics.allocated_bytes[0].current, 1280 * 1024);
    OK(accel_memory_free(memory));
    setenv("ACCEL_ALLOC_CONF", "nonsense", 1); /* read once */
    OK(accel_memory_alloc(NULL, 100, NULL, &memory));
    OK(accel_memory_free(memory));
    OK(accel_allocator_get_config(text, sizeof text, NULL));
    assert_string_equal(text, "roundup_power2_divisions:4");
    unsetenv("ACCEL_ALLOC_CONF");
}

/* Settings change under live memory, all pairs of those that are alike in nothing. */
static void test_settings_change_under_way(void **state)
{
    (void)state;
    static const char *const settings[] = {"",
                                           "guard:True",
                                           "poison:True",
                                           "caching:False",
                                           "exact_peaks:True",
                                           "expandable_segments:False",
                                           "roundup_power2_divisions:8",
                                           "thread_cache_kb:0",
                                           "pinned_cache_limit_mb:0",
                                           "max_split_size_mb:20",
                                           "large_segment_size_mb:11,max_split_size_mb:12"};
    enum { COUNT = sizeof settings / sizeof settings[0], BLOCKS = 6 };
    for (int first = 0; first < COUNT; first++)
        for (int second = 0; second < COUNT; second++) {
            void *memory[BLOCKS];
            for (int i = 0; i < BLOCKS; i++) {
                const accel_memory_options options = {.struct_size = sizeof options,
                                                      .kind = (accel_memory_kind)(1 + i % 2)};
                const size_t size = (size_t)700 << 3 * i;
                OK(accel_allocator_set_config(settings[i < BLOCKS / 2 ? first : second]));
                OK(accel_memory_alloc(NULL, size, &options, &memory[i]));
                OK(accel_synchronize(test_cpu_device(0)));
                memset(memory[i], i, 700);
                memset((char *)memory[i] + size - 700, i, 700);
            }
            for (int i = 0; i < BLOCKS; i++) {
                OK(accel_allocator_set_config(settings[i % 2 == 0 ? first : second]));
                assert_int_equal(((unsigned char *)memory[i])[699], i);
                OK(accel_memory_free(memory[i]));
            }
        }
    OK(accel_allocator_set_config(""));
    OK(accel_synchronize(test_cpu_device(0)));
    OK(accel_empty_cache());
    OK(accel_empty_host_cache());
    accel_memory_statistics statistics = {.struct_size = sizeof statistics};
    accel_host_memory_statistics host = {.struct_size = sizeof host};
    OK(accel_memory_stats(test_cpu_device(0), &statistics));
    OK(accel_host_memory_stats(test_cpu_device(0), &host));
    assert_int_equal(statistics.active[0].current, 0);
    assert_int_equal(statistics.reserved_bytes[0].current, 0);
    assert_int_equal(host.active_bytes.current, 0);
    assert_int_equal(host.reserved_bytes.current, 0);
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_variables),
        cmocka_unit_test(test_a_corrected_variable),
        cmocka_unit_test(test_settings_change_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
