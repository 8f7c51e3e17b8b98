/* config_test.c: the allocators' settings as text (memory/config_parse.c, memory/config.c): every key, every
 * way of being wrong and where the message says it is, rounding, want of memory. */
#include "memory/config.h"

#include <stdlib.h>

#include "memory/config_parse.h"
#include "support/check.h"
#include "unit/fault_sweep.h"

enum { MIB = 1 << 20 };

static accel__config parsed;
static uint64_t ignored;

static void reads(const char *text)
{
    EXPECT(accel__config_parse(text, "TEXT", "function", &parsed, &ignored), ACCEL_OK);
}

static void expect_text(const char *wanted)
{
    if (strstr(accel_last_error_message(), wanted) == NULL)
        fail_msg("'%s' is not in: %s", wanted, accel_last_error_message());
}

static void refuses_size(const char *text, size_t size, size_t byte, const char *wanted)
{
    char *copy = malloc(size + 1); /* so that a sanitizer sees a step beyond the end */
    assert_non_null(copy);
    memcpy(copy, text, size + 1);
    FAILS(accel__config_parse(copy, "TEXT", "function", &parsed, &ignored),
          ACCEL_ERROR_INVALID_ARGUMENT, "function");
    free(copy);
    char at[64];
    snprintf(at, sizeof at, "at byte %zu of '", byte);
    expect_text("TEXT: ");
    expect_text(at);
    expect_text(wanted);
}

static void refuses(const char *text, size_t byte, const char *wanted)
{
    refuses_size(text, strlen(text), byte, wanted);
}

static void test_defaults(void **state)
{
    (void)state;
    reads("");
    assert_int_equal(parsed.max_split_size, SIZE_MAX);
    assert_int_equal(parsed.max_non_split_rounding, 20 * MIB);
    assert_int_equal(parsed.large_segment_size, 0);
    assert_true(parsed.garbage_collection_threshold == 0);
    assert_true(parsed.per_process_memory_fraction == 1);
    assert_true(parsed.expandable_segments && parsed.caching && parsed.is_plain);
    assert_false(parsed.has_roundup || parsed.exact_peaks || parsed.guard || parsed.poison);
    assert_int_equal(parsed.memory_limit, 0);
    assert_int_equal(parsed.thread_cache_size, MIB);
    assert_int_equal(parsed.pinned_cache_limit, SIZE_MAX);
}

static void test_every_key(void **state)
{
    (void)state;
    reads("max_split_size_mb:64,max_non_split_rounding_mb:48,large_segment_size_mb:32,"
          "garbage_collection_threshold:0.75,per_process_memory_fraction:0.5,"
          "roundup_power2_divisions:8,expandable_segments:False,memory_limit_mb:100,"
          "thread_cache_kb:12,pinned_cache_limit_mb:7,caching:False,exact_peaks:True,guard:True,"
          "poison:True");
    assert_int_equal(parsed.max_split_size, 64 * MIB);
    assert_int_equal(parsed.max_non_split_rounding, 48 * MIB);
    assert_int_equal(parsed.large_segment_size, 32 * MIB);
    assert_true(parsed.garbage_collection_threshold == 0.75);
    assert_true(parsed.per_process_memory_fraction == 0.5);
    assert_true(parsed.has_roundup);
    for (int i = 0; i < ACCEL__CONFIG_INTERVALS; i++)
        assert_int_equal(parsed.roundup_log2[i], 3);
    assert_int_equal(parsed.memory_limit, 100 * MIB);
    assert_int_equal(parsed.thread_cache_size, 12 * 1024);
    assert_int_equal(parsed.pinned_cache_limit, 7 * MIB);
    assert_false(parsed.expandable_segments || parsed.caching || parsed.is_plain);
    assert_true(parsed.exact_peaks && parsed.guard && parsed.poison);
    assert_int_equal(ignored, 0);
}

static void test_white_space(void **state)
{
    (void)state;
    reads(" \t guard :\n True ,poison: True\r, roundup_power2_divisions : [ 256 : 2 , > : 4 ] ");
    assert_true(parsed.guard && parsed.poison && !parsed.is_plain);
    assert_int_equal(parsed.roundup_log2[8], 1);
    assert_int_equal(parsed.roundup_log2[9], 2);
}

static void test_what_is_not_plain(void **state)
{
    (void)state;
    reads("exact_peaks:True");
    assert_true(parsed.is_plain);
    reads("caching:False");
    assert_false(parsed.is_plain);
    reads("guard:True");
    assert_false(parsed.is_plain);
    reads("poison:True");
    assert_false(parsed.is_plain);
}

static void test_fractions(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"0", 0}, {"0.0", 0}, {"1", 1}, {"1.0", 1}, {"0.1", 0.1}, {"0.30", 0.3}, {"00.7", 0.7},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "per_process_memory_fraction:%s", good[i].text);
        reads(text);
        assert_true(parsed.per_process_memory_fraction == good[i].value);
    }
    static const char *const bad[] = {
        "1.1", "2",   "-0.1", "+0.5",  ".5",    "1.",      "NaN", "inf",
        "0,5", "0x1", "1e-1", "0.5.5", "0.5MB", "1.00001", "",    "0.1234567890123456"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "per_process_memory_fraction:%s", bad[i]);
        assert_int_equal(accel__config_parse(text, "TEXT", "function", &parsed, &ignored),
                         ACCEL_ERROR_INVALID_ARGUMENT);
    }
    refuses("garbage_collection_threshold:0", 30, "both excluded, not '0'");
    refuses("garbage_collection_threshold:1.0", 30, "both excluded, not '1.0'");
}

static void test_division_lists(void **state)
{
    (void)state;
    reads("roundup_power2_divisions:[256:1,512:2,>:4]");
    static const int wanted[ACCEL__CONFIG_INTERVALS] = {0, 0, 0, 0, 0, 0, 0, 0,
                                                        0, 1, 2, 2, 2, 2, 2, 2};
    for (int i = 0; i < ACCEL__CONFIG_INTERVALS; i++)
        assert_int_equal(parsed.roundup_log2[i], wanted[i]);
    /* The first size stands for smaller ones, what is not named stays off. */
    reads("roundup_power2_divisions:[4:8,64:16]");
    static const int sparse[ACCEL__CONFIG_INTERVALS] = {3, 3, 3, 0, 0, 0, 4};
    for (int i = 0; i < ACCEL__CONFIG_INTERVALS; i++)
        assert_int_equal(parsed.roundup_log2[i], sparse[i]);
    reads("roundup_power2_divisions:[>:2]");
    assert_int_equal(parsed.roundup_log2[0] + parsed.roundup_log2[15], 2);
    reads("roundup_power2_divisions:[1:0,32768:0]");
    assert_false(parsed.has_roundup);
    refuses("roundup_power2_divisions:[]", 27, "not nothing");
    refuses("roundup_power2_divisions:[256:1", 32, "',' or ']' is missing");
    refuses("roundup_power2_divisions:[256]", 30, "':' is missing after the size");
    refuses("roundup_power2_divisions:[256:3]", 31, "power of two up to");
    refuses("roundup_power2_divisions:[255:2]", 27, "power of two from 1");
    refuses("roundup_power2_divisions:[65536:2]", 27, "power of two from 1");
    refuses("roundup_power2_divisions:[512:2,256:2]", 33, "rise");
    refuses("roundup_power2_divisions:[256:2,256:2]", 33, "rise");
    refuses("roundup_power2_divisions:[>:2,512:2]", 30, "last entry");
    refuses("roundup_power2_divisions:[256:2,]", 33, "not nothing");
    refuses("roundup_power2_divisions:[256:1,512:2", 38, "',' or ']' is missing");
    refuses("roundup_power2_divisions:[256:[1]]", 31, "not nothing");
    refuses("roundup_power2_divisions:2097152", 26, "power of two up to");
    refuses("roundup_power2_divisions:4]", 27, "',' or the end is missing");
}

static void test_wrong_texts(void **state)
{
    (void)state;
    refuses("guard", 6, "':' and a value are missing after the key 'guard'");
    refuses("guard:", 7, "True or False, not nothing");
    refuses("guard:True,", 12, "a key is missing");
    refuses(",guard:True", 1, "a key is missing");
    refuses(":True", 1, "a key is missing");
    refuses("   ", 4, "a key is missing");
    refuses("guard=True", 1, "there is no key 'guard=True'");
    refuses("guard:true", 7, "True or False, not 'true'");
    refuses("guard:True guard", 12, "',' or the end is missing");
    refuses("guard:True;poison:True", 7, "not 'True;poison'");
    refuses("guard:True,guard:False", 12, "'guard' is given twice");
    refuses("Guard:True", 1, "there is no key 'Guard'");
    refuses("guards:True", 1, "there is no key 'guards'");
    refuses("guar:True", 1, "there is no key 'guar'");
    refuses("[", 1, "a key is missing");
    refuses("max_split_size_mb:[64]", 19, "whole number");
    refuses("max_split_size_mb:-1", 19, "not '-1'");
    refuses("max_split_size_mb:64.5", 19, "not '64.5'");
    refuses("max_split_size_mb:64MB", 19, "not '64MB'");
    refuses("max_split_size_mb:0", 19, "from 1 to");
    refuses("max_split_size_mb:8796093022208", 19, "from 1 to 8796093022207");
    refuses("max_split_size_mb:99999999999999999999999", 19, "whole number");
    refuses("large_segment_size_mb:10", 23, "from 11 to");
    refuses("backend:cudaMallocAsync", 9, "'native'");
    refuses("caf\xc3\xa9:True", 1, "there is no key 'caf\\xc3\\xa9'");
    refuses("guard:\x01\x7f", 7, "not '\\x01\\x7f'");
    refuses("expandable_segments_reserve:0.5", 1, "accel has no 'expandable_segments_reserve'");
    refuses("pinned_num_register_threads:3", 29, "power of two up to 128");
}

static void test_long_texts(void **state)
{
    (void)state;
    enum { SIZE = 64 * 1024 };
    static char text[SIZE + 1];
    memset(text, 'x', SIZE);
    refuses_size(text, SIZE, 1, "there is no key 'xxxxxxxx");
    memset(text, ' ', SIZE);
    refuses_size(text, SIZE, SIZE + 1, "a key is missing");
    memset(text, ',', SIZE);
    refuses_size(text, SIZE, 1, "a key is missing");
    memset(text, '[', SIZE);
    refuses_size(text, SIZE, 1, "a key is missing");
    memset(text, '\xff', SIZE);
    refuses_size(text, SIZE, 1, "there is no key '\\xff\\xff");
    memset(text, ' ', SIZE);
    memcpy(text + SIZE - 10, "guard:True", 10);
    reads(text);
    assert_true(parsed.guard);
    /* The message shows the place, not the whole. */
    text[SIZE - 1] = 'x';
    refuses_size(text, SIZE, SIZE - 3, "...                  guard:Trux'");
}

static void test_settings_that_depend_on_each_other(void **state)
{
    (void)state;
    refuses("max_split_size_mb:19", 19, "at least the large segment size, 20");
    reads("max_split_size_mb:20");
    reads("max_split_size_mb:12,large_segment_size_mb:12");
    assert_int_equal(parsed.max_non_split_rounding, 12 * MIB);
    reads("large_segment_size_mb:12,max_split_size_mb:12");
    refuses("max_split_size_mb:20,large_segment_size_mb:21", 19, "segment size, 21");
    refuses("max_non_split_rounding_mb:19", 27, "at least the large segment size, 20");
}

static void test_keys_that_change_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"backend:native",
                                        "release_lock_on_cudamalloc:True",
                                        "release_lock_on_hipmalloc:False",
                                        "throw_on_cudamalloc_oom:True",
                                        "graph_capture_record_stream_reuse:True",
                                        "pinned_use_cuda_host_register:True",
                                        "pinned_use_hip_host_register:True",
                                        "pinned_num_register_threads:8",
                                        "pinned_use_background_threads:True",
                                        "pinned_reserve_segment_size_mb:64",
                                        "pinned_free_catch_all:True"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        reads(texts[i]);
        assert_int_equal(__builtin_popcountll(ignored), 1);
        const char *name = accel__config_key_name((unsigned)__builtin_ctzll(ignored));
        assert_int_equal(strncmp(texts[i], name, strlen(name)), 0);
        assert_true(parsed.is_plain);
    }
    refuses("release_lock_on_cudamalloc:yes", 28, "True or False");
}

static void test_rounding(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        size_t rounded;
    } cases[] = {
        {"", 1, 512},
        {"", 512, 512},
        {"", 513, 1024},
        {"", SIZE_MAX, SIZE_MAX},
        {"", SIZE_MAX - 511, SIZE_MAX - 511},
        {"roundup_power2_divisions:4", 1, 512},
        {"roundup_power2_divisions:4", 1200, 1536}, /* at most 512 * 4: multiples of 512 */
        {"roundup_power2_divisions:4", 2048, 2048},
        {"roundup_power2_divisions:4", 2049, 2560},
        {"roundup_power2_divisions:4", 4097, 5120},
        {"roundup_power2_divisions:4", 7169, 8192},
        {"roundup_power2_divisions:4", 8192, 8192},
        {"roundup_power2_divisions:[1:4,2:2,>:0]", (size_t)3 * MIB + 1, (size_t)4 * MIB},
        {"roundup_power2_divisions:[1:4,2:2,>:0]", (size_t)5 * MIB + 1, (size_t)5 * MIB + 512},
        {"roundup_power2_divisions:[>:2]", SIZE_MAX - 1, SIZE_MAX},
        {"roundup_power2_divisions:[>:2]", (size_t)5 << 40, (size_t)6 << 40},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        reads(cases[i].text);
        assert_int_equal(accel__config_round(&parsed, cases[i].size), cases[i].rounded);
    }
}

static void test_rounding_is_never_less(void **state)
{
    (void)state;
    for (int log2 = 0; log2 <= 10; log2++) {
        char text[64];
        snprintf(text, sizeof text, "roundup_power2_divisions:%d", 1 << log2);
        reads(text);
        for (size_t size = 1; size < (size_t)1 << 36; size += size / 37 + 1) {
            const size_t rounded = accel__config_round(&parsed, size);
            assert_true(rounded >= size && rounded % 512 == 0);
            assert_true(rounded - size < 512 || rounded - size <= size >> log2);
            assert_int_equal(accel__config_round(&parsed, rounded), rounded);
        }
    }
}

/* ---- which settings hold ---- */

static void expect_config(const char *wanted)
{
    char buffer[256];
    size_t needed = 0;
    OK(accel_allocator_get_config(buffer, sizeof buffer, &needed));
    assert_string_equal(buffer, wanted);
    assert_int_equal(needed, strlen(wanted) + 1);
}

static void test_the_variable(void **state)
{
    (void)state;
    accel__config_current = NULL;
    setenv("ACCEL_ALLOC_CONF", "guard:maybe", 1);
    for (int i = 0; i < 2; i++) { /* a failure is not remembered, and reported each time */
        FAILS(accel__config_check("accel_memory_alloc"), ACCEL_ERROR_INVALID_ARGUMENT,
              "accel_memory_alloc");
        expect_text("ACCEL_ALLOC_CONF: 'guard' is True or False, not 'maybe', at byte 7 of "
                    "'guard:maybe'");
    }
    assert_false(accel__config_get()->guard);
    FAILS(accel_allocator_get_config(NULL, 0, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_allocator_get_config");
    setenv("ACCEL_ALLOC_CONF", "guard:True", 1);
    OK(accel__config_check("accel_memory_alloc"));
    assert_true(accel__config_get()->guard);
    expect_config("guard:True");
    setenv("ACCEL_ALLOC_CONF", "nonsense", 1); /* read once */
    OK(accel__config_check("accel_memory_alloc"));
    accel__config_current = NULL;
    OK(accel_allocator_set_config("poison:True")); /* in place of the wrong variable */
    OK(accel__config_check("accel_memory_alloc"));
    expect_config("poison:True");
    unsetenv("ACCEL_ALLOC_CONF");
    accel__config_current = NULL;
    OK(accel__config_check("accel_memory_alloc"));
    assert_ptr_equal(accel__config_get(), &accel__config_defaults);
    expect_config("");
}

static void test_set_and_get(void **state)
{
    (void)state;
    OK(accel_allocator_set_config("guard:True , poison:True"));
    const accel__config *first = accel__config_get();
    assert_true(first->guard && first->poison);
    expect_config("guard:True , poison:True");
    OK(accel_allocator_set_config("poison:True"));
    assert_false(accel__config_get()->guard);
    OK(accel_allocator_set_config("guard:True , poison:True"));
    assert_ptr_equal(accel__config_get(), first); /* a set is made once */
    FAILS(accel_allocator_set_config("guard"), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_allocator_set_config");
    FAILS(accel_allocator_set_config(NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_allocator_set_config");
    assert_ptr_equal(accel__config_get(), first);
    FAILS(accel_allocator_check_config("guard"), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_allocator_check_config");
    OK(accel_allocator_check_config("caching:False"));
    assert_ptr_equal(accel__config_get(), first);
    OK(accel_allocator_set_config(""));
    assert_ptr_equal(accel__config_get(), &accel__config_defaults);
}

static void test_get_into_small_buffers(void **state)
{
    (void)state;
    char buffer[8] = "1234567";
    size_t needed = 0;
    OK(accel_allocator_set_config("guard:True"));
    FAILS(accel_allocator_get_config(buffer, 6, &needed), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_allocator_get_config");
    assert_string_equal(buffer, "1234567");
    assert_int_equal(needed, 11);
    OK(accel_allocator_get_config(NULL, 0, &needed));
    assert_int_equal(needed, 11);
    FAILS(accel_allocator_get_config(NULL, 3, &needed), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_allocator_get_config");
    OK(accel_allocator_set_config(""));
}

static void test_want_of_memory(void **state)
{
    (void)state;
    const accel__config *before = accel__config_get();
    fault_begin(1);
    const accel_status status = accel_allocator_set_config("memory_limit_mb:4711");
    assert_true(fault_end());
    EXPECT(status, ACCEL_ERROR_OUT_OF_HOST_MEMORY);
    assert_ptr_equal(accel__config_get(), before);
    OK(accel_allocator_set_config("memory_limit_mb:4711"));
    OK(accel_allocator_set_config(""));
}

int main(void)
{
    unsetenv("ACCEL_ALLOC_CONF");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_key),
        cmocka_unit_test(test_white_space),
        cmocka_unit_test(test_what_is_not_plain),
        cmocka_unit_test(test_fractions),
        cmocka_unit_test(test_division_lists),
        cmocka_unit_test(test_wrong_texts),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_settings_that_depend_on_each_other),
        cmocka_unit_test(test_keys_that_change_nothing),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_rounding_is_never_less),
        cmocka_unit_test(test_the_variable),
        cmocka_unit_test(test_set_and_get),
        cmocka_unit_test(test_get_into_small_buffers),
        cmocka_unit_test(test_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
