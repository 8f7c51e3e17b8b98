/* copy_test.c: copies: directions, 2-D, overlap, ranges, order (copy.h). Two cpu devices. */
#include <stdlib.h>

#include "support/two_devices.h"

enum { SIZE = 10000 };

static unsigned char *allocate(int index, size_t size)
{
    void *memory = NULL;
    OK(accel_memory_alloc(stream_on[index], size, NULL, &memory));
    return memory;
}

static void pattern(unsigned char *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 31 + seed + (i >> 8));
}

static void test_there_and_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 7, 63, 64, 65, 511, 4095, 4097, SIZE};
    static unsigned char source[SIZE];
    static unsigned char back[SIZE + 1];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t size = sizes[i];
        unsigned char *one = allocate(0, size);
        unsigned char *two = allocate(0, size);
        pattern(source, size, (unsigned)i);
        memset(back, 0xee, sizeof back);
        OK(accel_copy(one, source, size, stream_on[0]));
        OK(accel_copy(two, one, size, stream_on[0]));
        OK(accel_copy(back, two, size, stream_on[0]));
        OK(accel_stream_synchronize(stream_on[0]));
        assert_memory_equal(back, source, size);
        assert_int_equal(back[size], 0xee);
        OK(accel_memory_free(one));
        OK(accel_memory_free(two));
    }
}

static void test_misaligned(void **state)
{
    (void)state;
    unsigned char source[300];
    unsigned char back[300];
    unsigned char *memory = allocate(0, 400);
    pattern(source, sizeof source, 3);
    for (size_t shift = 0; shift < 17; shift++) {
        memset(back, 0, sizeof back);
        OK(accel_copy(memory + shift, source + shift, 200, stream_on[0]));
        OK(accel_copy(back + 1, memory + shift, 200, stream_on[0]));
        OK(accel_stream_synchronize(stream_on[0]));
        assert_memory_equal(back + 1, source + shift, 200);
    }
    OK(accel_memory_free(memory));
}

static void test_large(void **state)
{
    (void)state;
    const size_t size = (size_t)24 << 20;
    unsigned char *host = malloc(size);
    unsigned char *back = calloc(1, size);
    unsigned char *memory = allocate(0, size);
    assert_true(host != NULL && back != NULL);
    pattern(host, size, 11);
    OK(accel_copy(memory, host, size, stream_on[0]));
    OK(accel_copy(back, memory, size, stream_on[0]));
    OK(accel_stream_synchronize(stream_on[0]));
    assert_int_equal(memcmp(host, back, size), 0);
    OK(accel_memory_free(memory));
    free(host);
    free(back);
}

static void test_between_devices(void **state)
{
    (void)state;
    unsigned char source[SIZE];
    unsigned char back[SIZE];
    unsigned char *memory[2] = {allocate(0, SIZE), allocate(1, SIZE)};
    for (int on_stream = 0; on_stream < 2; on_stream++) {
        pattern(source, SIZE, 50u + (unsigned)on_stream);
        memset(back, 0, SIZE);
        OK(accel_copy(memory[0], source, SIZE, stream_on[0]));
        OK(accel_stream_synchronize(stream_on[0]));
        OK(accel_copy(memory[1], memory[0], SIZE, stream_on[on_stream]));
        OK(accel_stream_synchronize(stream_on[on_stream]));
        OK(accel_copy(back, memory[1], SIZE, stream_on[1]));
        OK(accel_stream_synchronize(stream_on[1]));
        assert_memory_equal(back, source, SIZE);
    }
    OK(accel_memory_free(memory[0]));
    OK(accel_memory_free(memory[1]));
}

static void test_host_to_host(void **state)
{
    (void)state;
    unsigned char source[100];
    unsigned char target[100] = {0};
    pattern(source, sizeof source, 8);
    OK(accel_copy(target, source, sizeof source, stream_on[0]));
    OK(accel_stream_synchronize(stream_on[0]));
    assert_memory_equal(source, target, sizeof source);
    memset(target, 0, sizeof target);
    OK(accel_copy(target, source, sizeof source, NULL));
    OK(accel_stream_synchronize(NULL));
    assert_memory_equal(source, target, sizeof source);
}

static void test_null_stream_is_that_of_the_destination(void **state)
{
    (void)state;
    unsigned char source[64];
    unsigned char back[64] = {0};
    pattern(source, sizeof source, 1);
    unsigned char *memory = allocate(1, 64);
    accel_stream *before = NULL;
    OK(accel_current_stream(test_cpu_device(1), &before));
    OK(accel_set_stream(stream_on[1]));
    OK(accel_set_device_index(test_cpu_device(0)));
    test_gate gate = {0};
    OK(test_launch_gate(&on[1], stream_on[1], &gate));
    OK(accel_copy(memory, source, sizeof source, NULL));
    OK(accel_copy(back, memory, sizeof back, NULL)); /* the source's device: the same stream */
    bool done = true;
    OK(accel_stream_query(stream_on[1], &done));
    assert_false(done);
    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream_on[1]));
    assert_memory_equal(source, back, sizeof source);
    OK(accel_set_stream(before));
    OK(accel_set_device_index(test_cpu_device(0)));
    OK(accel_memory_free(memory));
}

static void test_copies_are_ordered(void **state)
{
    (void)state;
    uint32_t *memory = (uint32_t *)allocate(0, 4 * 100);
    uint32_t first[100];
    uint32_t second[100];
    uint32_t zeros[100] = {0};
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], stream_on[0], &gate));
    OK(accel_copy(memory, zeros, sizeof zeros, stream_on[0]));
    OK(test_launch_add(&on[0], stream_on[0], memory, 100, 5));
    OK(accel_copy(first, memory, sizeof first, stream_on[0]));
    OK(test_launch_add(&on[0], stream_on[0], memory, 100, 6));
    OK(accel_copy(second, memory, sizeof second, stream_on[0]));
    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream_on[0]));
    for (int i = 0; i < 100; i++)
        assert_true(first[i] == 5 && second[i] == 11);
    OK(accel_memory_free(memory));
}

static void test_size_zero_is_ordered_and_ok(void **state)
{
    (void)state;
    unsigned char *memory = allocate(0, 16);
    OK(accel_copy(memory, memory, 0, stream_on[0]));
    OK(accel_copy(NULL, NULL, 0, stream_on[0]));
    OK(accel_copy(memory + 16, NULL, 0, stream_on[0]));
    OK(accel_copy_2d(memory, 0, memory, 0, 0, 5, stream_on[0]));
    OK(accel_copy_2d(memory, 8, memory, 8, 8, 0, stream_on[0]));
    OK(accel_copy_2d(NULL, 0, NULL, 0, 0, 0, stream_on[0]));
    OK(accel_stream_synchronize(stream_on[0]));
    OK(accel_memory_free(memory));
}

static void test_overlap_is_refused(void **state)
{
    (void)state;
    unsigned char *memory = allocate(0, 1000);
    unsigned char host[100];
    FAILS(accel_copy(memory, memory, 10, stream_on[0]), ACCEL_ERROR_INVALID_ARGUMENT, "accel_copy");
    FAILS(accel_copy(memory, memory + 9, 10, stream_on[0]), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_copy");
    FAILS(accel_copy(memory + 9, memory, 10, stream_on[0]), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_copy");
    FAILS(accel_copy(host, host + 1, 50, stream_on[0]), ACCEL_ERROR_INVALID_ARGUMENT, "accel_copy");
    OK(accel_copy(memory, memory + 10, 10, stream_on[0]));
    OK(accel_copy(memory + 10, memory, 10, stream_on[0]));
    OK(accel_stream_synchronize(stream_on[0]));
    OK(accel_memory_free(memory));
}

static void test_ranges_end_with_their_allocation(void **state)
{
    (void)state;
    unsigned char host[2000] = {0};
    unsigned char *memory = allocate(0, 1000);
    OK(accel_copy(memory, host, 1000, stream_on[0]));
    const struct {
        size_t offset;
        size_t size;
    } wrong[] = {{0, 1001}, {1, 1000}, {999, 2}, {500, 501}, {500, SIZE_MAX}, {0, SIZE_MAX - 4}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        FAILS(accel_copy(memory + wrong[i].offset, host, wrong[i].size, stream_on[0]),
              ACCEL_ERROR_OUT_OF_RANGE, "accel_copy");
        FAILS(accel_copy(host, memory + wrong[i].offset, wrong[i].size, stream_on[0]),
              ACCEL_ERROR_OUT_OF_RANGE, "accel_copy");
    }
    OK(accel_stream_synchronize(stream_on[0]));
    OK(accel_memory_free(memory));
}

static void test_null_with_a_size(void **state)
{
    (void)state;
    unsigned char host[8] = {0};
    FAILS(accel_copy(NULL, host, 8, stream_on[0]), ACCEL_ERROR_INVALID_ARGUMENT, "accel_copy");
    FAILS(accel_copy(host, NULL, 8, stream_on[0]), ACCEL_ERROR_INVALID_ARGUMENT, "accel_copy");
    FAILS(accel_copy_2d(NULL, 4, host, 4, 4, 2, stream_on[0]), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_copy_2d");
    FAILS(accel_copy_2d(host, 4, NULL, 4, 4, 2, stream_on[0]), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_copy_2d");
}

static void test_stream_of_a_third_device(void **state)
{
    (void)state;
    unsigned char host[16] = {0};
    unsigned char *memory = allocate(0, 16);
    FAILS(accel_copy(memory, host, 16, stream_on[1]), ACCEL_ERROR_MISMATCH, "accel_copy");
    FAILS(accel_copy(host, memory, 16, stream_on[1]), ACCEL_ERROR_MISMATCH, "accel_copy");
    OK(accel_memory_free(memory));
}

/* ---- 2-D ---- */

static void test_rows(void **state)
{
    (void)state;
    enum { WIDTH = 13, HEIGHT = 9, SOURCE_PITCH = 20, PITCH = 32, TARGET_PITCH = 17 };
    unsigned char source[SOURCE_PITCH * HEIGHT];
    unsigned char target[TARGET_PITCH * HEIGHT];
    unsigned char *memory = allocate(0, PITCH * HEIGHT);
    unsigned char *other = allocate(1, PITCH * HEIGHT);
    pattern(source, sizeof source, 9);
    memset(target, 0xcc, sizeof target);
    OK(accel_copy_2d(memory, PITCH, source, SOURCE_PITCH, WIDTH, HEIGHT, stream_on[0]));
    OK(accel_stream_synchronize(stream_on[0]));
    OK(accel_copy_2d(other, PITCH, memory, PITCH, WIDTH, HEIGHT, stream_on[1]));
    OK(accel_copy_2d(target, TARGET_PITCH, other, PITCH, WIDTH, HEIGHT, stream_on[1]));
    OK(accel_stream_synchronize(stream_on[1]));
    for (int row = 0; row < HEIGHT; row++) {
        assert_memory_equal(target + row * TARGET_PITCH, source + row * SOURCE_PITCH, WIDTH);
        for (int i = WIDTH; i < TARGET_PITCH; i++)
            assert_int_equal(target[row * TARGET_PITCH + i], 0xcc);
    }
    OK(accel_memory_free(memory));
    OK(accel_memory_free(other));
}

static void test_the_last_row_need_not_have_its_pitch(void **state)
{
    (void)state;
    unsigned char host[64] = {0};
    unsigned char *memory = allocate(0, 3 * 16 + 10);
    OK(accel_copy_2d(memory, 16, host, 10, 10, 4, stream_on[0]));
    FAILS(accel_copy_2d(memory, 16, host, 10, 11, 4, stream_on[0]), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_copy_2d");
    FAILS(accel_copy_2d(memory, 16, host, 16, 11, 4, stream_on[0]), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_copy_2d");
    FAILS(accel_copy_2d(memory, 16, host, 10, 10, 5, stream_on[0]), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_copy_2d");
    OK(accel_stream_synchronize(stream_on[0]));
    OK(accel_memory_free(memory));
}

static void test_pitches(void **state)
{
    (void)state;
    unsigned char host[64] = {0};
    unsigned char *memory = allocate(0, 64);
    FAILS(accel_copy_2d(memory, 7, host, 8, 8, 2, stream_on[0]), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_copy_2d");
    FAILS(accel_copy_2d(memory, 8, host, 7, 8, 2, stream_on[0]), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_copy_2d");
    OK(accel_copy_2d(memory, 0, host, 0, 8, 1, stream_on[0]));
    const size_t huge = SIZE_MAX / 2 + 1;
    FAILS(accel_copy_2d(memory, huge, host, 8, 8, 3, stream_on[0]), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_copy_2d");
    FAILS(accel_copy_2d(memory, 8, host, huge, 8, 3, stream_on[0]), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_copy_2d");
    FAILS(accel_copy_2d(host, huge, host + 32, huge, huge, huge, stream_on[0]),
          ACCEL_ERROR_OUT_OF_RANGE, "accel_copy_2d");
    OK(accel_stream_synchronize(stream_on[0]));
    OK(accel_memory_free(memory));
}

int main(void)
{
    test_environment(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_misaligned),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_between_devices),
        cmocka_unit_test(test_host_to_host),
        cmocka_unit_test(test_null_stream_is_that_of_the_destination),
        cmocka_unit_test(test_copies_are_ordered),
        cmocka_unit_test(test_size_zero_is_ordered_and_ok),
        cmocka_unit_test(test_overlap_is_refused),
        cmocka_unit_test(test_ranges_end_with_their_allocation),
        cmocka_unit_test(test_null_with_a_size),
        cmocka_unit_test(test_stream_of_a_third_device),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_the_last_row_need_not_have_its_pitch),
        cmocka_unit_test(test_pitches),
    };
    return cmocka_run_group_tests(tests, test_two_devices_set_up, test_two_devices_tear_down);
}
