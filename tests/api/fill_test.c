/* fill_test.c: fills with patterns of 1, 2, 4 and 8 bytes (copy.h). */
#include "support/check.h"

static unsigned char *memory;
enum { SIZE = 4096 + 24 };

static const unsigned char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static void test_every_pattern_size(void **state)
{
    (void)state;
    static unsigned char back[SIZE];
    const size_t sizes[] = {8, 16, 24, 64, 72, 1000, 4096, SIZE};
    for (size_t pattern_size = 1; pattern_size <= 8; pattern_size *= 2) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const unsigned char background = 0xaa;
            OK(accel_fill(memory, &background, 1, SIZE, NULL));
            OK(accel_fill(memory, pattern, pattern_size, sizes[i], NULL));
            OK(accel_copy(back, memory, SIZE, NULL));
            OK(accel_stream_synchronize(NULL));
            for (size_t j = 0; j < SIZE; j++)
                assert_int_equal(back[j], j < sizes[i] ? pattern[j % pattern_size] : background);
        }
    }
}

static void test_from_the_middle(void **state)
{
    (void)state;
    unsigned char back[64];
    const unsigned char background = 0;
    OK(accel_fill(memory, &background, 1, 64, NULL));
    OK(accel_fill(memory + 3, pattern, 1, 5, NULL));
    OK(accel_fill(memory + 10, pattern, 2, 4, NULL));
    OK(accel_fill(memory + 20, pattern, 4, 8, NULL));
    OK(accel_fill(memory + 40, pattern, 8, 8, NULL));
    OK(accel_copy(back, memory, 64, NULL));
    OK(accel_stream_synchronize(NULL));
    const unsigned char expected[64] = {
        [3] = 1,  [4] = 1,  [5] = 1,  [6] = 1,  [7] = 1,  [10] = 1, [11] = 2, [12] = 1, [13] = 2,
        [20] = 1, [21] = 2, [22] = 3, [23] = 4, [24] = 1, [25] = 2, [26] = 3, [27] = 4, [40] = 1,
        [41] = 2, [42] = 3, [43] = 4, [44] = 5, [45] = 6, [46] = 7, [47] = 8};
    assert_memory_equal(back, expected, 64);
}

static void test_the_pattern_is_copied_by_the_call(void **state)
{
    (void)state;
    uint32_t value = 0x01020304u;
    uint32_t back[4];
    OK(accel_fill(memory, &value, 4, 16, NULL));
    value = 0;
    OK(accel_copy(back, memory, 16, NULL));
    OK(accel_stream_synchronize(NULL));
    assert_int_equal(back[3], 0x01020304u);
}

static void test_wrong_sizes(void **state)
{
    (void)state;
    const size_t wrong[] = {0, 3, 5, 6, 7, 9, 16, SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        FAILS(accel_fill(memory, pattern, wrong[i], 64, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
              "accel_fill");
    FAILS(accel_fill(memory, pattern, 4, 63, NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_fill");
    FAILS(accel_fill(memory, pattern, 8, 4, NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_fill");
    FAILS(accel_fill(memory + 2, pattern, 4, 8, NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_fill");
    FAILS(accel_fill(memory + 4, pattern, 8, 8, NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_fill");
    FAILS(accel_fill(memory + 1, pattern, 2, 8, NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_fill");
    FAILS(accel_fill(memory, pattern, 8, (size_t)(SIZE + 8) / 8 * 8, NULL),
          ACCEL_ERROR_OUT_OF_RANGE, "accel_fill");
    FAILS(accel_fill(memory + 8, pattern, 8, SIZE_MAX - 7, NULL), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_fill");
    FAILS(accel_fill(NULL, pattern, 4, 64, NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_fill");
    FAILS(accel_fill(memory, NULL, 4, 64, NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_fill");
    OK(accel_fill(memory, pattern, 8, 0, NULL));
    OK(accel_stream_synchronize(NULL));
}

static void test_plain_host_memory_is_refused(void **state)
{
    (void)state;
    uint64_t host[4] = {9, 9, 9, 9};
    FAILS(accel_fill(host, pattern, 8, sizeof host, NULL), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_fill");
    assert_int_equal(host[0], 9);
}

static void test_pinned_memory(void **state)
{
    (void)state;
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = ACCEL_MEMORY_KIND_PINNED};
    unsigned char *pinned = NULL;
    OK(accel_memory_alloc(NULL, 64, &options, (void **)&pinned));
    OK(accel_fill(pinned, pattern, 8, 64, NULL));
    OK(accel_stream_synchronize(NULL));
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(pinned[i], pattern[i % 8]);
    OK(accel_memory_free(pinned));
}

static int allocate(void **state)
{
    (void)state;
    return accel_memory_alloc(NULL, SIZE, NULL, (void **)&memory) != ACCEL_OK;
}

static int release(void **state)
{
    (void)state;
    return accel_memory_free(memory) != ACCEL_OK;
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pattern_size),
        cmocka_unit_test(test_from_the_middle),
        cmocka_unit_test(test_the_pattern_is_copied_by_the_call),
        cmocka_unit_test(test_wrong_sizes),
        cmocka_unit_test(test_plain_host_memory_is_refused),
        cmocka_unit_test(test_pinned_memory),
    };
    return cmocka_run_group_tests(tests, allocate, release);
}
