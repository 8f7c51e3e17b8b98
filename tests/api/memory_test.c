/* memory_test.c: allocation, release, what is known of a pointer (memory.h). Two cpu devices. */
#include <stdlib.h>

#include "support/process.h"
#include "support/two_devices.h"

static void *allocate(accel_stream *stream, size_t size)
{
    void *memory = NULL;
    OK(accel_memory_alloc(stream, size, NULL, &memory));
    assert_non_null(memory);
    return memory;
}

static accel_pointer_information ask(const void *pointer)
{
    accel_pointer_information information = {.struct_size = sizeof information};
    OK(accel_pointer_info(pointer, &information));
    return information;
}

static void expect_unknown(const void *pointer)
{
    const accel_pointer_information information = ask(pointer);
    assert_int_equal(information.kind, ACCEL_MEMORY_KIND_UNKNOWN);
    assert_int_equal(information.device.backend, ACCEL_BACKEND_NONE);
    assert_int_equal(information.device.index, ACCEL_INDEX_NONE);
    assert_null(information.base);
    assert_null(information.home_stream);
    assert_int_equal(information.size, 0);
    assert_int_equal(information.offset, 0);
    assert_int_equal(information.host_readable, pointer != NULL);
}

static void test_size_zero(void **state)
{
    (void)state;
    void *memory = &memory;
    OK(accel_memory_alloc(NULL, 0, NULL, &memory));
    assert_null(memory);
    OK(accel_memory_free(NULL));
}

static void test_alignment(void **state)
{
    (void)state;
    const size_t alignments[] = {0, 1, 2, 64, 512, 4096, 65536, 1u << 21};
    for (size_t i = 0; i < sizeof alignments / sizeof alignments[0]; i++) {
        const accel_memory_options options = {.struct_size = sizeof options,
                                              .alignment = alignments[i]};
        void *memory[3];
        for (size_t j = 0; j < 3; j++) {
            OK(accel_memory_alloc(NULL, 1 + j * 700, &options, &memory[j]));
            const size_t least = alignments[i] < ACCEL_MEMORY_ALIGNMENT ? ACCEL_MEMORY_ALIGNMENT
                                                                        : alignments[i];
            assert_int_equal((uintptr_t)memory[j] % least, 0);
        }
        for (size_t j = 0; j < 3; j++)
            OK(accel_memory_free(memory[j]));
    }
}

static void test_wrong_options(void **state)
{
    (void)state;
    const size_t alignments[] = {3, 513, 1000, (size_t)1 << 31, SIZE_MAX, SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < sizeof alignments / sizeof alignments[0]; i++) {
        const accel_memory_options options = {.struct_size = sizeof options,
                                              .alignment = alignments[i]};
        void *memory = &memory;
        FAILS(accel_memory_alloc(NULL, 64, &options, &memory), ACCEL_ERROR_INVALID_ARGUMENT,
              "accel_memory_alloc");
        assert_null(memory);
    }
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = (accel_memory_kind)77};
    void *memory = &memory;
    FAILS(accel_memory_alloc(NULL, 64, &options, &memory), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_memory_alloc");
    assert_null(memory);
}

static void test_too_large(void **state)
{
    (void)state;
    accel_device_capability capability = {.struct_size = sizeof capability};
    OK(accel_get_device_capability(test_cpu_device(0), &capability));
    const size_t sizes[] = {SIZE_MAX,        SIZE_MAX - 1,
                            SIZE_MAX - 511,  SIZE_MAX / 2 + 1,
                            (size_t)1 << 62, (size_t)PTRDIFF_MAX,
                            (size_t)1 << 50, (size_t)capability.max_allocation + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *memory = &memory;
        const accel_status status = accel_memory_alloc(NULL, sizes[i], NULL, &memory);
        test_expect(status, ACCEL_ERROR_OUT_OF_MEMORY, "accel_memory_alloc(too much)", __FILE__,
                    __LINE__);
        assert_null(memory);
    }
    /* The failure sticks to nothing. */
    OK(accel_memory_free(allocate(NULL, 64)));
    OK(accel_synchronize(test_cpu_device(0)));
}

static void test_information(void **state)
{
    (void)state;
    for (int32_t device = 0; device < 2; device++) {
        accel_stream *stream = NULL;
        OK(accel_stream_create(test_cpu_device(device), NULL, &stream));
        unsigned char *memory = allocate(stream, 1000);
        const size_t offsets[] = {0, 1, 511, 512, 999};
        for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
            const accel_pointer_information information = ask(memory + offsets[i]);
            assert_int_equal(information.kind, ACCEL_MEMORY_KIND_DEVICE);
            assert_int_equal(information.device.backend, test_cpu());
            assert_int_equal(information.device.index, device);
            assert_ptr_equal(information.base, memory);
            assert_int_equal(information.size, 1000);
            assert_int_equal(information.offset, offsets[i]);
            assert_ptr_equal(information.home_stream, stream);
            assert_true(information.host_readable);
        }
        expect_unknown(memory + 1000);
        OK(accel_memory_free(memory));
        OK(accel_stream_synchronize(stream));
        accel_stream_release(stream);
    }
}

static void test_pinned(void **state)
{
    (void)state;
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = ACCEL_MEMORY_KIND_PINNED};
    unsigned char *memory = NULL;
    OK(accel_memory_alloc(NULL, 5000, &options, (void **)&memory));
    const accel_pointer_information information = ask(memory + 17);
    assert_int_equal(information.kind, ACCEL_MEMORY_KIND_PINNED);
    assert_int_equal(information.offset, 17);
    assert_true(information.host_readable);
    assert_int_equal((uintptr_t)memory % ACCEL_MEMORY_ALIGNMENT, 0);
    memset(memory, 7, 5000);
    OK(accel_memory_free(memory));
}

static void test_plain_memory_is_unknown(void **state)
{
    (void)state;
    int on_the_stack = 0;
    static int in_data;
    void *heap = malloc(1000);
    expect_unknown(&on_the_stack);
    expect_unknown(&in_data);
    expect_unknown(heap);
    expect_unknown(NULL);
    expect_unknown((const void *)1);
    expect_unknown((const void *)UINTPTR_MAX);
    free(heap);
}

static void test_free_refuses_what_is_no_allocation(void **state)
{
    (void)state;
    unsigned char *memory = allocate(NULL, 4096);
    int local = 0;
    const void *const wrong[] = {memory + 1,    memory + 512, memory + 4095,
                                 memory + 4096, &local,       (const void *)8};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        FAILS(accel_memory_free((void *)wrong[i]), ACCEL_ERROR_INVALID_ARGUMENT,
              "accel_memory_free");
    assert_int_equal(ask(memory).size, 4096);
    memset(memory, 1, 4096);
    OK(accel_memory_free(memory));
    FAILS(accel_memory_free(memory), ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_free");
    assert_int_equal(ask(memory).kind, ACCEL_MEMORY_KIND_UNKNOWN);
}

static void test_freeing_is_ordered(void **state)
{
    (void)state;
    accel_stream *stream = NULL;
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    uint32_t *memory = allocate(stream, 4 * 256);
    uint32_t host[256];
    const uint32_t zero = 0;
    test_gate gate = {0};
    OK(accel_fill(memory, &zero, 4, 4 * 256, stream));
    OK(test_launch_gate(&on[0], stream, &gate));
    OK(test_launch_add(&on[0], stream, memory, 256, 41));
    OK(test_launch_add(&on[0], stream, memory, 256, 1));
    OK(accel_copy(host, memory, sizeof host, stream));
    OK(accel_memory_free(memory)); /* must not wait: the gate is closed */
    /* New memory of the same size must not be the block that is still to be used. */
    uint32_t *other[8];
    for (int i = 0; i < 8; i++) {
        other[i] = allocate(test_stream_default(0), 4 * 256);
        const uint32_t pattern = 0xffffffffu;
        OK(accel_fill(other[i], &pattern, 4, 4 * 256, test_stream_default(0)));
    }
    OK(accel_stream_synchronize(test_stream_default(0)));
    test_gate_open(&gate);
    OK(accel_stream_synchronize(stream));
    for (int i = 0; i < 256; i++)
        assert_int_equal(host[i], 42);
    for (int i = 0; i < 8; i++)
        OK(accel_memory_free(other[i]));
    accel_stream_release(stream);
}

static void test_record_stream_holds_a_free_back(void **state)
{
    (void)state;
    accel_stream *home = NULL;
    accel_stream *user = NULL;
    OK(accel_stream_create(test_cpu_device(0), NULL, &home));
    OK(accel_stream_create(test_cpu_device(0), NULL, &user));
    uint32_t *memory = allocate(home, 4 * 256);
    const uint32_t zero = 0;
    OK(accel_fill(memory, &zero, 4, 4 * 256, home));
    OK(accel_stream_synchronize(home));
    test_gate gate = {0};
    uint32_t host[256];
    OK(test_launch_gate(&on[0], user, &gate));
    OK(test_launch_add(&on[0], user, memory, 256, 9));
    OK(accel_copy(host, memory, sizeof host, user));
    OK(accel_record_stream(memory + 100, user)); /* a pointer into it will do */
    OK(accel_memory_free(memory));
    for (int i = 0; i < 8; i++) {
        uint32_t *other = allocate(home, 4 * 256);
        const uint32_t pattern = 0x55555555u;
        OK(accel_fill(other, &pattern, 4, 4 * 256, home));
        OK(accel_memory_free(other));
    }
    OK(accel_stream_synchronize(home));
    test_gate_open(&gate);
    OK(accel_stream_synchronize(user));
    for (int i = 0; i < 256; i++)
        assert_int_equal(host[i], 9);
    accel_stream_release(home);
    accel_stream_release(user);
}

static void test_record_stream_edges(void **state)
{
    (void)state;
    uint32_t *memory = allocate(test_stream_default(0), 64);
    OK(accel_record_stream(NULL, test_stream_default(0)));
    OK(accel_record_stream(memory, test_stream_default(0)));
    OK(accel_record_stream(memory, test_stream_default(1)));
    OK(accel_record_stream(memory, test_stream_default(1)));
    int local;
    FAILS(accel_record_stream(&local, test_stream_default(0)), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_record_stream");
    OK(accel_memory_free(memory));
    FAILS(accel_record_stream(memory, test_stream_default(0)), ACCEL_ERROR_INVALID_ARGUMENT,
          "accel_record_stream");
}

static void test_the_home_stream_may_go_first(void **state)
{
    (void)state;
    accel_stream *stream = NULL;
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    uint32_t *memory = allocate(stream, 400);
    test_gate gate = {0};
    OK(test_launch_gate(&on[0], stream, &gate));
    OK(test_launch_add(&on[0], stream, memory, 100, 1));
    accel_stream_release(stream);
    assert_int_equal(ask(memory).size, 400);
    OK(accel_memory_free(memory));
    test_gate_open(&gate);
    OK(accel_synchronize(test_cpu_device(0)));
}

static void test_many_blocks(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    static unsigned char *blocks[COUNT];
    uint32_t random = 7;
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < COUNT; i++) {
            random = random * 1664525u + 1013904223u;
            const size_t size = 1 + (random >> 8) % 5000;
            blocks[i] = allocate(test_stream_default(i & 1), size);
            blocks[i][0] = (unsigned char)i;
            blocks[i][size - 1] = (unsigned char)i;
        }
        for (int i = 0; i < COUNT; i++) {
            const int at = (int)((unsigned)i * 1103u % COUNT);
            assert_ptr_equal(ask(blocks[at]).base, blocks[at]);
            assert_int_equal(blocks[at][0], (unsigned char)at);
            OK(accel_memory_free(blocks[at]));
        }
    }
}

static void test_memory_of_a_failed_stream(void **state)
{
    (void)state;
    accel_stream *stream = NULL;
    OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
    uint32_t *memory = allocate(stream, 64);
    OK(test_launch_fail(&on[0], stream));
    assert_int_not_equal(accel_stream_synchronize(stream), ACCEL_OK);
    OK(accel_memory_free(memory));
    accel_stream_release(stream);
}

int main(void)
{
    test_environment(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size_zero),
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_wrong_options),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_information),
        cmocka_unit_test(test_pinned),
        cmocka_unit_test(test_plain_memory_is_unknown),
        cmocka_unit_test(test_free_refuses_what_is_no_allocation),
        cmocka_unit_test(test_freeing_is_ordered),
        cmocka_unit_test(test_record_stream_holds_a_free_back),
        cmocka_unit_test(test_record_stream_edges),
        cmocka_unit_test(test_the_home_stream_may_go_first),
        cmocka_unit_test(test_many_blocks),
        cmocka_unit_test(test_memory_of_a_failed_stream),
    };
    return cmocka_run_group_tests(tests, test_two_devices_set_up, test_two_devices_tear_down);
}
