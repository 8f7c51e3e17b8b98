/* pointers_test.c: the map from addresses to blocks, against a slow and obvious one. */
#include <pthread.h>
#include <stdlib.h>

#include "support/check.h"

#include "base/allocate.h"
#include "core/pointers.h"

enum { RANGES = 300 };

static accel__range ranges[RANGES];
static size_t extents[RANGES]; /* of the test's own: what `around` is compared with */
static bool entered[RANGES];

static const void *at_address(uintptr_t address)
{
    return (const void *)address; // NOLINT(performance-no-int-to-ptr)
}

static accel_status enter(accel__range *range, uintptr_t begin, size_t size)
{
    accel__range_set_begin(range, begin);
    accel__range_set_size(range, size);
    accel__range_set_state(range, ACCEL__RANGE_LIVE);
    return accel__pointers_enter(range);
}

/* ---- the model ---- */

static accel__range *model_around(uintptr_t address)
{
    for (int i = 0; i < RANGES; i++)
        if (entered[i] && address - accel__range_begin(&ranges[i]) < extents[i])
            return &ranges[i];
    return NULL;
}

static bool model_is_free(uintptr_t begin, size_t size)
{
    for (int i = 0; i < RANGES; i++)
        if (entered[i] && accel__range_begin(&ranges[i]) < begin + size &&
            begin < accel__range_begin(&ranges[i]) + extents[i])
            return false;
    return true;
}

/* Sizes of all magnitudes, so that an address may be far behind its block's begin. */
static size_t random_size(void)
{
    return ((size_t)1 << rand() % 34) + (size_t)(rand() % 4096);
}

static uintptr_t random_begin(void)
{
    static const uintptr_t areas[] = {0x200, 0x7f0000000000, 0x7f0000000000 + ((uintptr_t)8 << 30),
                                      0xff0000000000};
    const unsigned steps[] = {9, 9, 21, 30, 3};
    return areas[rand() % 4] + ((uintptr_t)(rand() % 512) << steps[rand() % 5]);
}

static void compare_at(uintptr_t address)
{
    accel__range *wanted = model_around(address);
    assert_ptr_equal(accel__pointers_around(at_address(address)), wanted);
    accel__range *begins = wanted != NULL && accel__range_begin(wanted) == address ? wanted : NULL;
    assert_ptr_equal(accel__pointers_at(at_address(address)), begins);
}

static void compare_near(uintptr_t begin, size_t size)
{
    const uintptr_t addresses[] = {begin - 1,        begin,        begin + 1,
                                   begin + size / 2, begin + size, begin + size - 1};
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++)
        compare_at(addresses[i]);
}

static void change_one(int i)
{
    if (entered[i]) {
        entered[i] = false;
        accel__pointers_leave(&ranges[i]);
        compare_near(accel__range_begin(&ranges[i]), extents[i]);
        return;
    }
    const uintptr_t begin = random_begin();
    const size_t size = random_size();
    if (!model_is_free(begin, size))
        return;
    extents[i] = size;
    assert_int_equal(enter(&ranges[i], begin, size), ACCEL_OK);
    entered[i] = true;
    compare_near(begin, size);
}

static void leave_all(void)
{
    for (int i = 0; i < RANGES; i++) {
        if (entered[i])
            accel__pointers_leave(&ranges[i]);
        entered[i] = false;
    }
}

static void test_against_a_model(void **state)
{
    (void)state;
    srand(1);
    for (int step = 0; step < 60000; step++) {
        change_one(rand() % RANGES);
        if (step % 16 == 0)
            compare_at(random_begin() + (uintptr_t)(rand() % 100000));
    }
    leave_all();
    compare_at(0x7f0000000000);
}

/* ---- particular cases ---- */

static void test_states(void **state)
{
    (void)state;
    accel__range range = {.begin = 0};
    assert_int_equal(enter(&range, 0x10000, 1000), ACCEL_OK);
    const accel__range_state hidden[] = {ACCEL__RANGE_FREE, ACCEL__RANGE_CACHED,
                                         ACCEL__RANGE_PENDING};
    for (int i = 0; i < 3; i++) {
        accel__range_set_state(&range, hidden[i]);
        assert_null(accel__pointers_around(at_address(0x10000)));
        assert_ptr_equal(accel__pointers_at(at_address(0x10000)), &range);
    }
    accel__range_set_state(&range, ACCEL__RANGE_LIVE);
    accel__pointed facts;
    assert_true(accel__pointers_find(at_address(0x10000 + 999), &facts));
    assert_int_equal(facts.begin, 0x10000);
    assert_int_equal(facts.size, 1000);
    assert_false(accel__pointers_find(at_address(0x10000 + 1000), &facts));
    accel__pointers_leave(&range);
    assert_null(accel__pointers_at(at_address(0x10000)));
}

/* Foreign memory begins anywhere: several in the same 512 bytes. */
static void test_several_in_one_cell(void **state)
{
    (void)state;
    const uintptr_t begins[] = {0x20010, 0x20000, 0x201ff, 0x20100};
    accel__range four[4] = {{.begin = 0}};
    for (int i = 0; i < 4; i++)
        assert_int_equal(enter(&four[i], begins[i], 1), ACCEL_OK);
    for (int gone = 0; gone < 4; gone++) {
        for (int i = 0; i < 4; i++) {
            accel__range *wanted = i < gone ? NULL : &four[i];
            assert_ptr_equal(accel__pointers_around(at_address(begins[i])), wanted);
            assert_ptr_equal(accel__pointers_at(at_address(begins[i])), wanted);
            assert_null(accel__pointers_around(at_address(begins[i] + 1)));
        }
        accel__pointers_leave(&four[gone]);
    }
}

/* More begin in 32 KiB than a byte can count; what lies before them is found all the same once they are gone. */
static void test_very_many_in_one_granule(void **state)
{
    (void)state;
    enum { MANY = 300 };
    static accel__range many[MANY];
    accel__range before = {.begin = 0};
    const uintptr_t begin = 0x4000000;
    assert_int_equal(enter(&before, begin - 4096, 2 * 4096), ACCEL_OK);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++)
            assert_int_equal(enter(&many[i], begin + 4096 + (uintptr_t)i * 8, 8), ACCEL_OK);
        for (int i = 0; i < MANY; i++) {
            const uintptr_t last = begin + 4096 + MANY * 8 - 1;
            assert_ptr_equal(accel__pointers_around(at_address(last)), &many[MANY - 1]);
            assert_ptr_equal(accel__pointers_around(at_address(begin + 4095)), &before);
            accel__pointers_leave(&many[i]);
        }
        assert_ptr_equal(accel__pointers_before(at_address(begin + 32767)), &before);
        assert_ptr_equal(accel__pointers_before(at_address(begin + 40000)), &before);
    }
    accel__pointers_leave(&before);
    assert_ptr_not_equal(accel__pointers_before(at_address(begin + 40000)), &before);
}

/* One, several, and one again, wherever that lies in its 32 KiB. */
static void test_which_one_is_left(void **state)
{
    (void)state;
    accel__range two[2] = {{.begin = 0}};
    const uintptr_t granule = 0x5000000;
    for (uintptr_t cell = 0; cell < 63; cell++)
        for (int left = 0; left < 2; left++) {
            assert_int_equal(enter(&two[0], granule + cell * 512, 512), ACCEL_OK);
            assert_ptr_equal(accel__pointers_before(at_address(granule + 32767)), &two[0]);
            assert_int_equal(enter(&two[1], granule + 63 * 512, 512), ACCEL_OK);
            assert_ptr_equal(accel__pointers_before(at_address(granule + 32767)), &two[1]);
            assert_ptr_equal(accel__pointers_around(at_address(granule + cell * 512 + 7)), &two[0]);
            accel__pointers_leave(&two[1 - left]);
            assert_ptr_equal(accel__pointers_before(at_address(granule + 50000)), &two[left]);
            accel__pointers_leave(&two[left]);
            assert_null(accel__pointers_around(at_address(granule + cell * 512)));
        }
}

static void test_refusals(void **state)
{
    (void)state;
    accel__range first = {.begin = 0};
    accel__range second = {.begin = 0};
    assert_int_equal(enter(&first, 0x30000, 512), ACCEL_OK);
    assert_int_equal(enter(&second, 0x30000, 512), ACCEL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(enter(&second, UINTPTR_MAX - 511, 512), ACCEL_ERROR_INVALID_ARGUMENT);
    accel__pointers_leave(&second); /* never entered: nothing happens */
    assert_ptr_equal(accel__pointers_at(at_address(0x30000)), &first);
    const uintptr_t nowhere[] = {0, 1, UINTPTR_MAX, (uintptr_t)1 << 48, ((uintptr_t)1 << 48) - 1};
    for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++) {
        assert_null(accel__pointers_around(at_address(nowhere[i])));
        assert_null(accel__pointers_at(at_address(nowhere[i])));
    }
    accel__pointers_leave(&first);
}

static int allowed;

static bool fail_after(void)
{
    return allowed-- <= 0;
}

static void test_no_memory_for_a_node(void **state)
{
    (void)state;
    accel__range range = {.begin = 0};
    const uintptr_t begin = 0x5a0000000000;
    allowed = 0;
    accel__allocate_fault = fail_after;
    const accel_status status = enter(&range, begin, 512);
    accel__allocate_fault = NULL;
    assert_int_equal(status, ACCEL_ERROR_OUT_OF_HOST_MEMORY);
    assert_null(accel__pointers_around(at_address(begin)));
    assert_int_equal(enter(&range, begin, 512), ACCEL_OK);
    assert_ptr_equal(accel__pointers_around(at_address(begin)), &range);
    accel__pointers_leave(&range);
}

/* ---- threads: one changes what lies around and between blocks that others look up ---- */

enum { FIXED = 64, CHANGES = 40000 };

static accel__range fixed[FIXED];
static _Atomic(bool) stop;

static uintptr_t begin_of(int i)
{
    return 0x600000000000 + (uintptr_t)i * 4096;
}

static void *look_up(void *user)
{
    (void)user;
    intptr_t wrong = 0;
    for (int i = 0; !stop; i = (i + 7) % FIXED) {
        const uintptr_t begin = begin_of(i);
        wrong += accel__pointers_at(at_address(begin)) != &fixed[i];
        wrong += accel__pointers_around(at_address(begin + 777)) != &fixed[i];
        accel__pointed facts;
        if (accel__pointers_find(at_address(begin + 2100), &facts))
            wrong += facts.size != 100 || facts.begin < begin;
    }
    return (void *)wrong; // NOLINT(performance-no-int-to-ptr)
}

static void test_readers_take_no_harm(void **state)
{
    (void)state;
    pthread_t readers[2];
    static accel__range moving[2];
    for (int i = 0; i < FIXED; i++)
        assert_int_equal(enter(&fixed[i], begin_of(i), 1000), ACCEL_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, look_up, NULL), 0);
    for (int i = 0; i < CHANGES; i++) {
        accel__range *range = &moving[i % 2];
        accel__pointers_leave(range);
        assert_int_equal(
            enter(range, begin_of(i * 31 % FIXED) + 2048 + (uintptr_t)(i % 2) * 512, 100),
            ACCEL_OK);
    }
    stop = true;
    for (int i = 0; i < 2; i++) {
        void *wrong = NULL;
        pthread_join(readers[i], &wrong);
        assert_null(wrong);
        accel__pointers_leave(&moving[i]);
    }
    for (int i = 0; i < FIXED; i++)
        accel__pointers_leave(&fixed[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_a_model),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_several_in_one_cell),
        cmocka_unit_test(test_very_many_in_one_granule),
        cmocka_unit_test(test_which_one_is_left),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_no_memory_for_a_node),
        cmocka_unit_test(test_readers_take_no_harm),
    };
    return cmocka_run_group_tests_name("pointers", tests, NULL, NULL);
}
