/* memory_debug_test.c: the settings `guard` and `poison` (docs/allocator.md), and caching off. */
#include <stdlib.h>

#include "support/check.h"
#include "support/kernels.h"

static test_kernels kernels;
static accel_device device;

static unsigned char *take(size_t size, size_t alignment, accel_memory_kind kind)
{
    const accel_memory_options options = {
        .struct_size = sizeof options, .alignment = alignment, .kind = kind};
    void *memory = NULL;
    OK(accel_memory_alloc(NULL, size, &options, &memory));
    assert_non_null(memory);
    return memory;
}

static void expect_text(const char *wanted)
{
    if (strstr(accel_last_error_message(), wanted) == NULL)
        fail_msg("'%s' is not in: %s", wanted, accel_last_error_message());
}

static int guard(void **state)
{
    (void)state;
    return accel_allocator_set_config("guard:True") != ACCEL_OK;
}

static int guard_and_poison(void **state)
{
    (void)state;
    return accel_allocator_set_config("guard:True,poison:True") != ACCEL_OK;
}

static int poison(void **state)
{
    (void)state;
    return accel_allocator_set_config("poison:True") != ACCEL_OK;
}

static int uncached(void **state)
{
    (void)state;
    return accel_allocator_set_config("caching:False") != ACCEL_OK;
}

static int plain(void **state)
{
    (void)state;
    return accel_allocator_set_config("") != ACCEL_OK;
}

/* ---- guard ---- */

static const accel_memory_kind kinds[] = {ACCEL_MEMORY_KIND_DEVICE, ACCEL_MEMORY_KIND_PINNED};

static void test_good_programs_notice_nothing(void **state)
{
    (void)state;
    static const size_t alignments[] = {0, 512, 4096, 65536};
    for (size_t k = 0; k < 2; k++)
        for (size_t a = 0; a < 4; a++)
            for (size_t size = 1; size < 3000000; size = size * 5 + 1) {
                unsigned char *memory = take(size, alignments[a], kinds[k]);
                accel_pointer_information about = {.struct_size = sizeof about};
                const size_t alignment = alignments[a] != 0 ? alignments[a] : 512;
                assert_int_equal((uintptr_t)memory % alignment, 0);
                OK(accel_synchronize(device)); /* the canaries are written in the stream's order */
                memset(memory, 7, size);
                OK(accel_pointer_info(memory + size - 1, &about));
                assert_ptr_equal(about.base, memory);
                assert_int_equal(about.size, size);
                assert_int_equal(about.kind, kinds[k]);
                OK(accel_memory_free(memory));
                FAILS(accel_memory_free(memory), ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_free");
            }
}

static void test_writes_outside_are_found(void **state)
{
    (void)state;
    static const struct {
        long offset;
        const char *text;
    } writes[] = {
        {1000, "byte 1 behind its end (offset 1000) is 0x11 now"},
        {1003, "byte 4 behind its end (offset 1003) is 0x11 now"},
        {1511, "byte 512 behind its end (offset 1511) is 0x11 now"},
        {-1, "byte 1 before its begin (offset -1) is 0x11 now"},
        {-512, "byte 512 before its begin (offset -512) is 0x11 now"},
    };
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
            unsigned char *memory = take(1000, 0, kinds[k]);
            OK(accel_synchronize(device));
            memory[writes[i].offset] = 0x11;
            FAILS(accel_memory_free(memory), ACCEL_ERROR_CORRUPTED, "accel_memory_free");
            expect_text("the memory of 1000 bytes at ");
            expect_text(writes[i].text);
            /* It is freed all the same. */
            FAILS(accel_memory_free(memory), ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_free");
        }
}

/* A kernel that is still to run when the memory is freed. */
static void test_pending_work_is_waited_for(void **state)
{
    (void)state;
    accel_stream *other = NULL;
    OK(accel_stream_create(device, NULL, &other));
    for (int recorded = 0; recorded < 2; recorded++) {
        accel_stream *stream = NULL;
        OK(accel_stream_default(device, &stream));
        uint32_t *memory = (uint32_t *)take(400, 0, ACCEL_MEMORY_KIND_DEVICE);
        OK(accel_stream_wait_stream(other, stream));
        stream = recorded ? other : stream;
        OK(test_launch_sleep(&kernels, stream, 20));
        OK(test_launch_add(&kernels, stream, memory, 101, 1)); /* one too many */
        OK(accel_record_stream(memory + 3, stream));
        FAILS(accel_memory_free(memory), ACCEL_ERROR_CORRUPTED, "accel_memory_free");
        expect_text("byte 1 behind its end (offset 400)");
    }
    accel_stream_release(other);
}

static _Atomic(int) warnings;

static void count_warning(accel_log_level level, const char *backend, const char *text, void *user)
{
    (void)backend, (void)user;
    warnings += level == ACCEL_LOG_LEVEL_WARNING && strncmp(text, "guard: ", 7) == 0;
}

/* Work that waits for what the program does after the free. */
static void test_a_free_does_not_wait_for_ever(void **state)
{
    (void)state;
    test_gate gate = {0};
    uint32_t *memory = (uint32_t *)take(400, 0, ACCEL_MEMORY_KIND_DEVICE);
    OK(accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, count_warning, NULL));
    OK(test_launch_gate(&kernels, NULL, &gate));
    OK(test_launch_add(&kernels, NULL, memory, 101, 1));
    OK(accel_memory_free(memory));
    assert_int_equal(warnings, 1);
    test_gate_open(&gate);
    OK(accel_synchronize(device));
    OK(accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, NULL, NULL));
}

static void test_guard_and_other_uses(void **state)
{
    (void)state;
    unsigned char *memory = take(1000, 0, ACCEL_MEMORY_KIND_DEVICE);
    const uint32_t pattern = 5;
    OK(accel_fill(memory, &pattern, 4, 1000, NULL));
    FAILS(accel_fill(memory, &pattern, 4, 1004, NULL), ACCEL_ERROR_OUT_OF_RANGE, "accel_fill");
    FAILS(accel_memory_free(memory + 512), ACCEL_ERROR_INVALID_ARGUMENT, "accel_memory_free");
    OK(accel_allocator_set_config("")); /* what was guarded stays so */
    OK(accel_synchronize(device));
    memory[1000] = 1;
    FAILS(accel_memory_free(memory), ACCEL_ERROR_CORRUPTED, "accel_memory_free");
    memory = take(1000, 0, ACCEL_MEMORY_KIND_DEVICE);
    OK(accel_allocator_set_config("guard:True"));
    OK(accel_memory_free(memory));
    void *none = &none;
    FAILS(accel_memory_alloc(NULL, SIZE_MAX - 100, NULL, &none), ACCEL_ERROR_OUT_OF_MEMORY,
          "accel_memory_alloc");
    assert_null(none);
}

/* ---- poison ---- */

static void test_new_memory_is_poisoned(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++)
        for (size_t size = 1; size < 100000; size = size * 9 + 1) {
            unsigned char *memory = take(size, 0, kinds[k]);
            OK(accel_synchronize(device));
            assert_int_equal(memory[0], 0xa5);
            assert_int_equal(memory[size / 2], 0xa5);
            assert_int_equal(memory[size - 1], 0xa5);
            memset(memory, 1, size);
            OK(accel_memory_free(memory));
        }
}

/* Read after the free, as a faulty program does: on cpu the memory is still there. Work that was queued
 * before still sees what it should. */
static void test_freed_memory_is_poisoned(void **state)
{
    (void)state;
    unsigned char *memory = take(3000000, 0, ACCEL_MEMORY_KIND_DEVICE);
    unsigned char back[64];
    const uint32_t pattern = 0x01010101;
    OK(accel_fill(memory, &pattern, 4, 3000000, NULL));
    OK(accel_copy(back, memory + 100, sizeof back, NULL));
    OK(accel_memory_free(memory));
    OK(accel_synchronize(device));
    assert_int_equal(back[0], 1);
    assert_int_equal(back[63], 1);
    assert_int_equal(memory[0], 0xdd);
    assert_int_equal(memory[2999999], 0xdd);
}

/* ---- no cache ---- */

static void test_without_caching(void **state)
{
    (void)state;
    size_t reserved = 1;
    OK(accel_empty_cache());
    OK(accel_empty_host_cache());
    for (size_t k = 0; k < 2; k++) {
        unsigned char *memory = take(100000, 0, kinds[k]);
        memset(memory, 1, 100000);
        OK(accel_memory_free(memory));
        OK(accel_synchronize(device));
    }
    OK(accel_memory_reserved(device, &reserved));
    assert_int_equal(reserved, 0);
    accel_host_memory_statistics host = {.struct_size = sizeof host};
    OK(accel_host_memory_stats(device, &host));
    assert_int_equal(host.reserved_bytes.current, 0);
}

static int load(void **state)
{
    (void)state;
    device = test_cpu_device(0);
    return test_kernels_load(device, &kernels) != ACCEL_OK;
}

static int unload(void **state)
{
    (void)state;
    test_kernels_unload(&kernels);
    return 0;
}

int main(void)
{
    test_environment(1);
    unsetenv("ACCEL_ALLOC_CONF");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_good_programs_notice_nothing, guard, plain),
        cmocka_unit_test_setup_teardown(test_good_programs_notice_nothing, guard_and_poison, plain),
        cmocka_unit_test_setup_teardown(test_writes_outside_are_found, guard, plain),
        cmocka_unit_test_setup_teardown(test_writes_outside_are_found, guard_and_poison, plain),
        cmocka_unit_test_setup_teardown(test_pending_work_is_waited_for, guard, plain),
        cmocka_unit_test_setup_teardown(test_a_free_does_not_wait_for_ever, guard, plain),
        cmocka_unit_test_setup_teardown(test_guard_and_other_uses, guard, plain),
        cmocka_unit_test_setup_teardown(test_new_memory_is_poisoned, poison, plain),
        cmocka_unit_test_setup_teardown(test_new_memory_is_poisoned, guard_and_poison, plain),
        cmocka_unit_test_setup_teardown(test_freed_memory_is_poisoned, poison, plain),
        cmocka_unit_test_setup_teardown(test_without_caching, uncached, plain),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
