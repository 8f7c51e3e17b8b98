/* shortage_test.c: what happens when memory is short: limits, growth that is refused, giving back, hooks,
 * reports, options of all pairs near the end, and a driver whose call of any number fails.
 * Cases B56, B57, B58, B66. */
#include <math.h>

#include "unit/heap_support.h"

#include "base/allocate.h"

static int32_t next_device;

static void open_at(heap_fixture *on, int grows, size_t capacity)
{
    ledger.capacity = capacity;
    heap_open(on, heap_number(grows), next_device++);
}

static accel_status refuse(accel__lane *lane, size_t size)
{
    accel__block *block = NULL;
    const accel_status status = heap_try(lane, size, &block);
    assert_null(block);
    return status;
}

/* ---- growth: B66 ---- */

static void test_growth_takes_what_is_left(void **state)
{
    (void)state;
    for (int grows = 0; grows < 2; grows++) {
        heap_fixture on;
        open_at(&on, grows, 32 * MIB);
        accel__block *first = heap_get(on.lane, 8 * MIB);
        accel__block *second = heap_get(on.lane, 8 * MIB);
        accel__block *third = heap_get(on.lane, 8 * MIB);
        accel__block *fourth = heap_get(on.lane, 8 * MIB); /* chunks would be larger */
        accel__heap_put(second);
        accel__heap_put(fourth);
        accel__heap_put(first);
        accel__heap_put(third);
        accel__block *whole = heap_get(on.lane, 32 * MIB); /* after cached memory went back */
        accel__heap_put(whole);
        heap_close(&on);
    }
}

static void test_the_last_bit_can_be_had(void **state)
{
    (void)state;
    for (int grows = 0; grows < 2; grows++) {
        heap_fixture on;
        accel__block *blocks[30];
        open_at(&on, grows, 32 * MIB);
        for (int i = 0; i < 30; i++)
            blocks[i] = heap_get(on.lane, MIB);
        accel__block *last = heap_get(on.lane, 2 * MIB);
        assert_int_equal(refuse(on.lane, 2 * MIB), ACCEL_ERROR_OUT_OF_MEMORY);
        accel__heap_put(last);
        for (int i = 0; i < 30; i++)
            accel__heap_put(blocks[i]);
        heap_check(on.heap);
        heap_close(&on);
    }
}

/* ---- limits: B57 ---- */

static void test_a_fraction_holds(void **state)
{
    (void)state;
    for (int grows = 0; grows < 2; grows++) {
        heap_fixture on;
        open_at(&on, grows, 1024 * MIB);
        const size_t limit = 1024 * MIB / 10;
        OK(accel_allocator_set_memory_fraction(on.device, 0.1));
        size_t got = 0;
        OK(accel_allocator_get_memory_limit(on.device, &got));
        assert_int_equal(got, limit);
        ledger.peak = 0;
        accel__block *large = heap_get(on.lane, 90 * MIB);
        const unsigned calls = ledger.calls;
        assert_int_equal(refuse(on.lane, 20 * MIB), ACCEL_ERROR_OUT_OF_MEMORY);
        assert_int_equal(ledger.calls, calls); /* the driver was not asked */
        accel__heap_put(large);
        accel__block *block = NULL; /* in whole pages it would pass */
        assert_int_equal(heap_try(on.lane, 102 * MIB + 102400, &block),
                         grows != 0 ? ACCEL_ERROR_OUT_OF_MEMORY : ACCEL_OK);
        if (block != NULL)
            accel__heap_put(block);
        large = heap_get(on.lane, 102 * MIB);
        assert_int_equal(refuse(on.lane, 3 * MIB), ACCEL_ERROR_OUT_OF_MEMORY);
        assert_true(ledger.peak <= limit);
        accel__heap_put(large);
        OK(accel_allocator_set_memory_fraction(on.device, 1.0));
        heap_close(&on);
    }
}

static void test_a_limit_below_what_is_reserved(void **state)
{
    (void)state;
    for (int grows = 0; grows < 2; grows++) {
        heap_fixture on;
        open_at(&on, grows, 1024 * MIB);
        accel__block *kept = heap_get(on.lane, 50 * MIB);
        accel__block *freed = heap_get(on.lane, 100 * MIB);
        accel__heap_put(freed);
        OK(accel_allocator_set_memory_limit(on.device, 120 * MIB));
        accel__block *fits = heap_get(on.lane, 60 * MIB); /* from what is reserved already */
        accel__heap_put(fits);
        assert_int_equal(refuse(on.lane, 110 * MIB), ACCEL_ERROR_OUT_OF_MEMORY);
        assert_true(ledger.used <= 120 * MIB);
        accel__block *small = heap_get(on.lane, 70 * MIB);
        assert_true(ledger.used <= 120 * MIB);
        accel__heap_put(small);
        accel__heap_put(kept);
        OK(accel_allocator_set_memory_limit(on.device, 0));
        heap_close(&on);
    }
}

static void test_fractions_are_checked(void **state)
{
    (void)state;
    heap_fixture on;
    open_at(&on, 0, 64 * MIB);
    static const double wrong[] = {-0.1, 1.1, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        FAILS(accel_allocator_set_memory_fraction(on.device, wrong[i]),
              ACCEL_ERROR_INVALID_ARGUMENT, "accel_allocator_set_memory_fraction");
    FAILS(accel_allocator_set_memory_fraction(ACCEL_DEVICE(heap_number(false), 1000), 0.5),
          ACCEL_ERROR_OUT_OF_RANGE, "accel_allocator_set_memory_fraction");
    OK(accel_allocator_set_memory_fraction(on.device, 0.0));
    assert_int_equal(refuse(on.lane, 1), ACCEL_ERROR_OUT_OF_MEMORY);
    OK(accel_allocator_set_memory_fraction(on.device, 1.0));
    size_t limit = 1;
    OK(accel_allocator_get_memory_limit(on.device, &limit));
    assert_int_equal(limit, 0);
    accel__block *block = heap_get(on.lane, 1);
    accel__heap_put(block);
    heap_close(&on);
}

/* ---- reports: B58 ---- */

static void test_the_report_names_the_limit(void **state)
{
    (void)state;
    heap_fixture on;
    open_at(&on, 1, 1024 * MIB);
    OK(accel_allocator_set_memory_limit(on.device, 100 * MIB));
    accel__block *first = heap_get(on.lane, 30 * MIB);
    accel__block *second = heap_get(on.lane, 60 * MIB);
    accel__heap_put(first);
    assert_int_equal(refuse(on.lane, 50 * MIB - 100), ACCEL_ERROR_OUT_OF_MEMORY);
    accel_out_of_memory_report report = {.struct_size = sizeof report};
    OK(accel_allocator_get_out_of_memory_report(&report));
    assert_true(report.limit_forbade);
    assert_int_equal(report.limit, 100 * MIB);
    assert_int_equal(report.asked, 50 * MIB - 100);
    assert_int_equal(report.rounded, 50 * MIB);
    assert_int_equal(report.allocated, 60 * MIB);
    assert_int_equal(report.reserved, report.allocated + report.cached);
    assert_int_equal(report.total, 1024 * MIB);
    const char *text = accel_last_error_message();
    assert_non_null(strstr(text, "limit of 100.00 MiB"));
    assert_non_null(strstr(text, "50.00 MiB"));
    assert_non_null(strstr(text, "60.00 MiB in use"));
    assert_non_null(strstr(text, "a higher limit"));
    assert_null(strstr(text, "expandable_segments"));
    accel__heap_put(second);
    OK(accel_allocator_set_memory_limit(on.device, 0));
    heap_close(&on);
}

static void test_the_report_names_the_driver(void **state)
{
    (void)state;
    heap_fixture on;
    open_at(&on, 1, 100 * MIB);
    accel__block *block = heap_get(on.lane, 80 * MIB);
    FAILS(refuse(on.lane, 50 * MIB), ACCEL_ERROR_OUT_OF_MEMORY, "accel_memory_alloc");
    accel_error error = {.struct_size = sizeof error};
    OK(accel_last_error(&error));
    assert_int_equal(error.vendor_code, MOCK_VENDOR_CODE);
    assert_string_equal(error.backend, "growing_ledger");
    assert_non_null(strstr(error.message, "the driver has no"));
    assert_null(strstr(error.message, "limit"));
    assert_null(strstr(error.message, "expandable_segments")); /* it is on */
    accel__heap_put(block);
    heap_close(&on);
}

static void test_a_report_of_another_size(void **state)
{
    (void)state;
    struct {
        uint32_t struct_size;
        accel_device device;
    } small = {.struct_size = 12};
    OK(accel_allocator_get_out_of_memory_report((accel_out_of_memory_report *)&small));
    assert_int_equal(small.device.backend, heap_number(true));
    EXPECT(accel_allocator_get_out_of_memory_report(NULL), ACCEL_ERROR_INVALID_ARGUMENT);
}

/* ---- functions of the program ---- */

typedef struct helper {
    accel__block *block; /* what it gives free */
    unsigned calls;
    size_t size;
    accel_out_of_memory_report report;
    bool nested; /* it allocates, too */
    accel__lane *lane;
} helper;

static bool give_free(accel_device device, size_t size, void *user)
{
    helper *mine = user;
    (void)device;
    mine->calls++;
    mine->size = size;
    if (mine->block == NULL)
        return false;
    accel__heap_put(mine->block);
    mine->block = NULL;
    return true;
}

static void observe(const accel_out_of_memory_report *report, void *user)
{
    helper *mine = user;
    mine->calls++;
    mine->report = *report;
    if (mine->nested)
        assert_int_equal(refuse(mine->lane, 4096 * MIB), ACCEL_ERROR_OUT_OF_MEMORY);
}

static void test_hooks_give_free(void **state)
{
    (void)state;
    for (int grows = 0; grows < 2; grows++) {
        heap_fixture on;
        open_at(&on, grows, 64 * MIB);
        helper mine = {.block = heap_get(on.lane, 60 * MIB)};
        OK(accel_allocator_add_memory_pressure_hook(give_free, &mine));
        FAILS(accel_allocator_add_memory_pressure_hook(give_free, &mine),
              ACCEL_ERROR_INVALID_ARGUMENT, "accel_allocator_add_memory_pressure_hook");
        accel__block *block = heap_get(on.lane, 62 * MIB);
        assert_int_equal(mine.calls, 1);
        assert_int_equal(refuse(on.lane, 62 * MIB), ACCEL_ERROR_OUT_OF_MEMORY);
        assert_int_equal(mine.calls, 2);
        OK(accel_allocator_remove_memory_pressure_hook(give_free, &mine));
        FAILS(accel_allocator_remove_memory_pressure_hook(give_free, &mine), ACCEL_ERROR_NOT_FOUND,
              "accel_allocator_remove_memory_pressure_hook");
        accel__heap_put(block);
        heap_close(&on);
    }
}

static void test_observers_are_told(void **state)
{
    (void)state;
    heap_fixture on;
    open_at(&on, 0, 64 * MIB);
    helper mine = {.nested = true, .lane = on.lane};
    OK(accel_allocator_add_out_of_memory_observer(observe, &mine));
    assert_int_equal(refuse(on.lane, 65 * MIB), ACCEL_ERROR_OUT_OF_MEMORY);
    assert_int_equal(mine.calls, 1);
    assert_int_equal(mine.report.asked, 65 * MIB);
    assert_non_null(strstr(accel_last_error_message(), "65.00 MiB"));
    OK(accel_allocator_remove_out_of_memory_observer(observe, &mine));
    EXPECT(accel_allocator_add_out_of_memory_observer(NULL, NULL), ACCEL_ERROR_INVALID_ARGUMENT);
    heap_close(&on);
}

static void test_there_is_room_for_sixteen(void **state)
{
    (void)state;
    static helper many[17];
    for (int i = 0; i < 16; i++)
        OK(accel_allocator_add_out_of_memory_observer(observe, &many[i]));
    EXPECT(accel_allocator_add_out_of_memory_observer(observe, &many[16]),
           ACCEL_ERROR_OUT_OF_RANGE);
    for (int i = 0; i < 16; i++)
        OK(accel_allocator_remove_out_of_memory_observer(observe, &many[i]));
}

/* ---- a random use, for the tests below ---- */

typedef struct use {
    heap_fixture *on;
    uint64_t random;
    accel__block *blocks[64];
    size_t refused;
} use;

static uint32_t draw(use *now, uint32_t below)
{
    now->random = now->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((now->random >> 33) % below);
}

static size_t draw_size(use *now)
{
    const unsigned octave = draw(now, 16); /* 512 bytes to 32 MiB */
    return ((size_t)512 << octave) + draw(now, 512u << octave);
}

static void step(use *now, accel_status other_failure)
{
    accel__block **place = &now->blocks[draw(now, 64)];
    if (*place != NULL) {
        accel__heap_put(*place);
        *place = NULL;
        return;
    }
    const accel_status status = heap_try(now->on->lane, draw_size(now), place);
    if (status == ACCEL_OK)
        return;
    assert_null(*place);
    now->refused++;
    if (status != other_failure)
        assert_int_equal(status, ACCEL_ERROR_OUT_OF_MEMORY);
}

static void end_use(use *now)
{
    for (int i = 0; i < 64; i++)
        if (now->blocks[i] != NULL)
            accel__heap_put(now->blocks[i]);
}

/* ---- pairs of options: B56 ---- */

static const char *const options[] = {
    "expandable_segments:True",
    "expandable_segments:False",
    "max_split_size_mb:32",
    "max_non_split_rounding_mb:40",
    "garbage_collection_threshold:0.5",
    "large_segment_size_mb:32",
    "per_process_memory_fraction:0.7",
    "roundup_power2_divisions:4",
};

static const char *key_end(const char *option)
{
    return strchr(option, ':');
}

static void try_pair(const char *first, const char *second, int grows)
{
    char text[256];
    const bool same = strncmp(first, second, (size_t)(key_end(first) - first) + 1) == 0;
    snprintf(text, sizeof text, "%s%s%s", first, same ? "" : ",", same ? "" : second);
    OK(accel_allocator_set_config(text));
    heap_fixture on;
    open_at(&on, grows, 96 * MIB);
    use now = {.on = &on, .random = 1};
    for (int round = 0; round < 4; round++) {
        const size_t before = now.refused;
        for (int i = 0; i < 3000 && now.refused < before + 25; i++)
            step(&now, ACCEL_OK);
        assert_true(now.refused > before);
        heap_check(on.heap);
        accel_empty_cache();
        heap_check(on.heap);
    }
    end_use(&now);
    next_device--; /* the same device the next time */
    heap_close(&on);
}

static void test_pairs_of_options(void **state)
{
    (void)state;
    const size_t count = sizeof options / sizeof options[0];
    for (int grows = 0; grows < 2; grows++)
        for (size_t i = 0; i < count; i++)
            for (size_t k = i; k < count; k++)
                try_pair(options[i], options[k], grows);
}

/* ---- the driver's call of any number fails ---- */

static void fail_from(int grows, unsigned number)
{
    heap_fixture on;
    open_at(&on, grows, 200 * MIB);
    use now = {.on = &on, .random = 7};
    for (int i = 0; i < 40; i++)
        step(&now, ACCEL_OK);
    ledger.fail_after = number;
    for (int i = 0; i < 160; i++)
        step(&now, ACCEL_OK);
    ledger.fail_after = 0;
    heap_check(on.heap);
    end_use(&now);
    heap_check(on.heap);
    next_device--; /* the same device the next time */
    heap_close(&on);
}

static void test_calls_of_any_number_fail(void **state)
{
    (void)state;
    for (int grows = 0; grows < 2; grows++)
        for (unsigned number = 1; number <= 40; number++)
            fail_from(grows, number);
}

/* ---- host memory that fails ---- */

static unsigned host_left;

static bool host_fails(void)
{
    return host_left != 0 && --host_left == 0;
}

static void fail_host(int grows, unsigned number)
{
    heap_fixture on;
    open_at(&on, grows, 400 * MIB);
    use now = {.on = &on, .random = 11};
    host_left = number;
    accel__allocate_fault = host_fails;
    for (int i = 0; i < 200; i++)
        step(&now, ACCEL_ERROR_OUT_OF_HOST_MEMORY);
    accel__allocate_fault = NULL;
    heap_check(on.heap);
    end_use(&now);
    heap_check(on.heap);
    next_device--; /* the same device the next time */
    heap_close(&on);
}

static void test_host_memory_of_any_number_fails(void **state)
{
    (void)state;
    for (int grows = 0; grows < 2; grows++)
        for (unsigned number = 1; number <= 60; number++)
            fail_host(grows, number);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth_takes_what_is_left),
        cmocka_unit_test(test_the_last_bit_can_be_had),
        cmocka_unit_test(test_a_fraction_holds),
        cmocka_unit_test(test_a_limit_below_what_is_reserved),
        cmocka_unit_test(test_fractions_are_checked),
        cmocka_unit_test(test_the_report_names_the_limit),
        cmocka_unit_test(test_the_report_names_the_driver),
        cmocka_unit_test(test_a_report_of_another_size),
        cmocka_unit_test(test_hooks_give_free),
        cmocka_unit_test(test_observers_are_told),
        cmocka_unit_test(test_there_is_room_for_sixteen),
        cmocka_unit_test(test_pairs_of_options),
        cmocka_unit_test(test_calls_of_any_number_fail),
        cmocka_unit_test(test_host_memory_of_any_number_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
