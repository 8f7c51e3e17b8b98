/* The history, snapshots and leak reports with their n-th inner allocation or system call failing, for
 * n = 1, 2 … until none does: a status that says so, no file that is half written, nothing leaked, and
 * allocations that never notice. */
#include <accel/allocator.h>
#include <accel/memory_history.h>

#include <limits.h>

#include "support/check.h"

#include "core/device.h"
#include "memory/history/history.h"
#include "unit/fault_sweep.h"

enum { BLOCKS = 40, SWEEP_LIMIT = 5000 };

static void *blocks[BLOCKS];
static char path[PATH_MAX];

static volatile int sink; /* keeps calls from becoming jumps */

/* From as many places as there are depths. */
__attribute__((noinline)) static accel_status allocate_at_depth(int depth, void **out_memory)
{
    const accel_status status = depth == 0 ? accel_memory_alloc(NULL, 1000, NULL, out_memory)
                                           : allocate_at_depth(depth - 1, out_memory);
    sink++;
    return status;
}

static int begin(void **state)
{
    (void)state;
    if (!own_directory_begin())
        return 1;
    snprintf(path, sizeof path, "%s/snapshot", own_directory);
    OK(accel_memory_record_history(NULL));
    for (int i = 0; i < BLOCKS; i++)
        OK(allocate_at_depth(i % 10, &blocks[i]));
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (int i = 0; i < BLOCKS; i++)
        OK(accel_memory_free(blocks[i]));
    return own_directory_end() ? 0 : 1;
}

/* ---- what is tried ---- */

static accel_status take(void)
{
    accel_memory_snapshot *snapshot = NULL;
    const accel_status status = accel_memory_snapshot_create(NULL, &snapshot);
    assert_true((snapshot != NULL) == (status == ACCEL_OK));
    accel_memory_snapshot_release(snapshot);
    return status;
}

static accel_memory_snapshot *taken;

static accel_status write_as(accel_memory_snapshot_format format)
{
    const accel_status status = accel_memory_snapshot_write(taken, path, format);
    assert_int_equal(count_left(), status == ACCEL_OK);
    unlink(path);
    return status;
}

static accel_status write_pickle(void)
{
    return write_as(ACCEL_MEMORY_SNAPSHOT_FORMAT_PICKLE);
}

static accel_status write_json(void)
{
    return write_as(ACCEL_MEMORY_SNAPSHOT_FORMAT_JSON);
}

static bool count_leak(const accel_memory_leak *leak, void *user)
{
    *(size_t *)user += leak->count;
    return true;
}

static accel_status look_for_leaks(void)
{
    size_t found = 0;
    const accel_status status = accel_memory_leaks_visit(count_leak, &found);
    assert_true(status != ACCEL_OK || found == BLOCKS);
    return status;
}

static accel_status record_again(void)
{
    return accel_memory_record_history(NULL);
}

static void sweep(accel_status (*attempt)(void))
{
    const unsigned descriptors = count_descriptors();
    unsigned number = 1;
    for (;; number++) {
        assert_true(number < SWEEP_LIMIT);
        fault_begin(number);
        const accel_status status = attempt();
        const bool failed = fault_end();
        if (!failed) {
            assert_int_equal(status, ACCEL_OK);
            break;
        }
        /* Without an open file of symbols only names are missing. */
        if (status != ACCEL_OK && status != ACCEL_ERROR_IO && status != ACCEL_ERROR_SYSTEM)
            assert_int_equal(status, ACCEL_ERROR_OUT_OF_HOST_MEMORY);
        assert_int_equal(count_descriptors(), descriptors);
    }
}

static void test_every_step_may_fail(void **state)
{
    (void)state;
    sweep(take);
    OK(accel_memory_snapshot_create(NULL, &taken));
    sweep(write_pickle);
    sweep(write_json);
    accel_memory_snapshot_release(taken);
    sweep(look_for_leaks);
    sweep(record_again);
}

/* ---- events and stacks without memory ---- */

static bool refuse(void)
{
    return true;
}

static void test_allocations_do_not_notice(void **state)
{
    accel__history_trace trace;
    void *memory = NULL;
    (void)state;
    OK(accel_memory_record_history(NULL));
    OK(accel_memory_alloc(NULL, 512, NULL, &memory));
    OK(accel_memory_free(memory)); /* at hand now */
    accel_status status = ACCEL_OK;
    accel__allocate_fault = refuse;
    for (int i = 0; i < 5000 && status == ACCEL_OK;
         i++) { /* more than chunks that are there hold */
        status = accel_memory_alloc(NULL, 512, NULL, &memory);
        if (status == ACCEL_OK)
            status = accel_memory_free(memory);
    }
    accel__allocate_fault = NULL;
    OK(status);

    accel_device device = test_cpu_device(0);
    accel__device *inner = NULL;
    OK(accel__device_resolve(device, "test", &inner));
    assert_true(accel__history_read(inner, &trace));
    assert_int_equal(trace.total, 3 * 5001);
    assert_true(trace.lost > 0 && trace.count > 0);
    assert_int_equal(trace.lost, trace.total - trace.count);
    accel__deallocate(trace.entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_step_may_fail),
        cmocka_unit_test(test_allocations_do_not_notice),
    };
    test_environment(1);
    return cmocka_run_group_tests(tests, begin, end);
}
