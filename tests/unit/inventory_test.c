/* inventory_test.c: what is asked when: answers are kept for as long as what they depend on stays the
 * same, and the devices that come out are in the right order. */
#include <fcntl.h>
#include <pthread.h>

#include "support/check.h"
#include "support/drivers.h"
#include "support/process.h"

#include "unit/fault_sweep.h"

static void check_name(int32_t index, const char *wanted)
{
    accel_device_info info = {.struct_size = sizeof info};
    OK(accel_device_describe(ACCEL_DEVICE(drivers_backend, index), &info));
    assert_string_equal(info.name, wanted);
}

/* All that were ever made are kept, for readers without locks: there must not be ever more. */
static unsigned count_snapshots(void)
{
    unsigned count = 0;
    const accel__inventory *at = accel__registry_get(drivers_backend)->inventories;
    for (; at != NULL; at = at->previous)
        count++;
    return count;
}

static void test_order(void **state)
{
    (void)state;
    drivers_set("one=cpus-1,two=gpus-2,three=cpus-2,four=gpus-1");
    static const char *const wanted[] = {"two #0", "two #1",   "four #0",
                                         "one #0", "three #0", "three #1"};
    assert_int_equal(drivers_count(), 6);
    for (int32_t i = 0; i < 6; i++)
        check_name(i, wanted[i]);
    assert_int_equal(drivers_report().driver_count, 4);
    assert_string_equal(drivers_driver(2).name, "three"); /* drivers stay as they are listed */
    accel_driver_report none = {.struct_size = sizeof none};
    FAILS(accel_backend_get_driver_report(drivers_backend, 4, &none), ACCEL_ERROR_OUT_OF_RANGE,
          "accel_backend_get_driver_report");
    accel_device_capability capability = {.struct_size = sizeof capability};
    OK(accel_get_device_capability(ACCEL_DEVICE(drivers_backend, 5), &capability));
    assert_int_equal(capability.total_memory, 1001);
}

static void test_asked_once(void **state)
{
    (void)state;
    drivers_set("once=gpus-1,never=missing");
    for (int turn = 0; turn < 50; turn++) {
        assert_int_equal(drivers_count(), 1);
        drivers_report();
        check_name(0, "once #0");
    }
    test_nap_ms(1100); /* the files are looked at again, and have not changed */
    assert_int_equal(drivers_count(), 1);
    assert_int_equal(drivers_asked("once"), 1);
    assert_int_equal(drivers_asked("never"), 0);
}

static void test_hung_is_not_asked_twice(void **state)
{
    (void)state;
    setenv("ACCEL_PROBE_TIMEOUT_MS", "1500", 1);
    drivers_set("slow=hang,quick=gpus-1");
    assert_int_equal(drivers_count(), 1);
    test_nap_ms(1100);
    const uint64_t begin = test_now_ns();
    assert_int_equal(drivers_count(), 1);
    assert_true(test_now_ns() - begin < 1000000000u);
    assert_int_equal(drivers_asked("slow"), 1);
    setenv("ACCEL_PROBE_TIMEOUT_MS", "1501", 1); /* somebody wants to give it more time */
    assert_int_equal(drivers_count(), 1);
    assert_int_equal(drivers_asked("slow"), 2);
    setenv("ACCEL_PROBE_TIMEOUT_MS", "10000", 1);
}

static void touch(const char *path, const char *text)
{
    FILE *file = fopen(path, "a");
    fputs(text, file);
    fclose(file);
}

static void test_files_that_change(void **state)
{
    (void)state;
    char path[] = "/tmp/accel_test_library-XXXXXX";
    close(mkstemp(path));
    setenv("DOUBLE_FILE", path, 1);
    drivers_set("filed=gpus-1");
    assert_int_equal(drivers_count(), 1);
    touch(path, "a new version");
    test_nap_ms(1100);
    assert_int_equal(drivers_count(), 1);
    assert_int_equal(drivers_asked("filed"), 2);
    touch(path, "and one more");
    test_nap_ms(1100);
    assert_int_equal(drivers_count(), 1);
    assert_int_equal(drivers_count(), 1);
    assert_int_equal(drivers_asked("filed"), 3);
    unlink(path);
    unsetenv("DOUBLE_FILE");
}

/* Case B07: before the start the variables count anew each time. */
static void test_variables_that_change(void **state)
{
    (void)state;
    drivers_set("a=gpus-4");
    assert_int_equal(drivers_count(), 4);
    setenv("ACCEL_VISIBLE_DEVICES", "double:1,double:2", 1);
    assert_int_equal(drivers_count(), 2);
    check_name(0, "a #1");
    assert_int_equal(drivers_report().hidden_count, 2);
    assert_string_equal(drivers_report().variable, "ACCEL_VISIBLE_DEVICES");
    setenv("ACCEL_VISIBLE_DEVICES", "", 1);
    assert_int_equal(drivers_count(), 0);
    assert_int_equal(drivers_report().reason, ACCEL_REASON_HIDDEN);
    setenv("ACCEL_VISIBLE_DEVICES", "D-a-03,0000:61:00.0", 1);
    assert_int_equal(drivers_count(), 2);
    check_name(0, "a #3");
    check_name(1, "a #0");
    unsetenv("ACCEL_VISIBLE_DEVICES");
    assert_int_equal(drivers_count(), 4);
    const char *backends = getenv("ACCEL_BACKENDS");
    char before[64];
    snprintf(before, sizeof before, "%s", backends);
    setenv("ACCEL_BACKENDS", "cpu", 1);
    assert_int_equal(drivers_count(), 0);
    assert_int_equal(drivers_report().reason, ACCEL_REASON_LEFT_OUT);
    assert_string_equal(drivers_report().variable, "ACCEL_BACKENDS");
    setenv("ACCEL_BACKENDS", before, 1);
    assert_int_equal(drivers_asked("a"), 1); /* what hides does not make anyone ask again */
}

static void test_flips_cost_no_memory(void **state)
{
    (void)state;
    static const char *const lists[] = {"a=gpus-1", "a=gpus-1,b=gpus-2", "c=none"};
    static const int32_t counts[] = {1, 3, 0};
    drivers_set("");
    for (int i = 0; i < 3; i++) {
        setenv("DOUBLE_DRIVERS", lists[i], 1);
        assert_int_equal(drivers_count(), counts[i]);
    }
    const unsigned before = count_snapshots();
    for (int turn = 0; turn < 3000; turn++) {
        setenv("DOUBLE_DRIVERS", lists[turn % 3], 1);
        assert_int_equal(drivers_count(), counts[turn % 3]);
    }
    assert_int_equal(count_snapshots(), before);
    assert_int_equal(drivers_asked("b"), 1);
}

/* A helper that is not there is looked for again, and the answers about that do not pile up. */
static void test_a_missing_helper_is_looked_for_again(void **state)
{
    (void)state;
    char path[] = "/tmp/accel_test_probe-XXXXXX";
    assert_non_null(mkdtemp(path));
    char link_name[64];
    snprintf(link_name, sizeof link_name, "%s/accel-probe", path);
    drivers_set("late=gpus-2");
    setenv("ACCEL_PROBE", link_name, 1);
    assert_int_equal(drivers_count(), 0);
    assert_int_equal(drivers_driver(0).reason, ACCEL_REASON_HELPER_MISSING);
    const unsigned before = count_snapshots();
    for (int turn = 0; turn < 2; turn++) {
        test_nap_ms(1050);
        assert_int_equal(drivers_count(), 0);
    }
    assert_int_equal(count_snapshots(), before);
    assert_int_equal(symlink(drivers_helper(), link_name), 0);
    test_nap_ms(1050);
    assert_int_equal(drivers_count(), 2);
    assert_int_equal(drivers_report().reason, ACCEL_REASON_NONE);
    unlink(link_name);
    rmdir(path);
    setenv("ACCEL_PROBE", drivers_helper(), 1);
}

enum { THREADS = 16 };
static pthread_barrier_t together;

static void *ask_with_others(void *user)
{
    int32_t *count = user;
    pthread_barrier_wait(&together);
    accel_device_count(drivers_backend, count);
    return NULL;
}

static void test_threads_ask_together(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    int32_t counts[THREADS] = {0};
    pthread_barrier_init(&together, NULL, THREADS);
    drivers_set("shared=slow-100,other=gpus-2");
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_with_others, &counts[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(counts[i], 3);
    assert_int_equal(drivers_asked("shared"), 1);
    pthread_barrier_destroy(&together);
}

/* With the n-th allocation, mapping or opening failing: an answer or a reason, never a wrong count, and
 * nothing that stays behind. */
static void test_each_allocation_fails(void **state)
{
    (void)state;
    bool fault = true;
    const unsigned descriptors = count_descriptors();
    for (unsigned number = 1; fault; number++) {
        char list[64];
        int32_t count = -1;
        snprintf(list, sizeof list, "fault%u=gpus-2,second%u=none", number, number);
        drivers_set(list);
        fault_begin(number);
        const accel_status status = accel_device_count(drivers_backend, &count);
        fault = fault_end();
        const bool short_of_memory = status == ACCEL_ERROR_OUT_OF_HOST_MEMORY;
        assert_true(status == ACCEL_OK || status == ACCEL_ERROR_CANNOT_TELL || short_of_memory);
        assert_true(count == 2 || (count == 0 && status != ACCEL_OK));
        assert_int_equal(count_descriptors(), descriptors);
        if (status == ACCEL_OK)
            continue;
        char limit[16];
        snprintf(limit, sizeof limit, "%u", 10000 + number); /* what passes is tried again then */
        setenv("ACCEL_PROBE_TIMEOUT_MS", limit, 1);
        OK(accel_device_count(drivers_backend, &count));
        assert_int_equal(count, 2);
    }
}

/* Drivers with nothing but CPUs come behind the cpu backend, others before it. */
static int default_is(void *user)
{
    accel_device found;
    CHECK_QUIET(accel_current_accelerator(true, &found) == ACCEL_OK);
    CHECK_QUIET(strcmp(accel_backend_name(found.backend), user) == 0);
    return 0;
}

static void test_default_accelerator(void **state)
{
    (void)state;
    accel__backend *backend = accel__registry_get(drivers_backend);
    const int32_t before = backend->table.rank;
    backend->table.rank = ACCEL_BACKEND_RANK_OPENCL;
    drivers_set("a=cpus-2,b=cpus-1");
    const int only_cpus = test_in_child(default_is, (void *)(uintptr_t) "cpu", 20);
    drivers_set("a=cpus-2,b=gpus-1");
    const int one_gpu = test_in_child(default_is, (void *)(uintptr_t) "double", 20);
    setenv("ACCEL_VISIBLE_DEVICES", "double:1,cpu", 1); /* hides the one GPU */
    const int hidden_gpu = test_in_child(default_is, (void *)(uintptr_t) "cpu", 20);
    setenv("ACCEL_VISIBLE_DEVICES", "double:1", 1);
    const int no_cpu = test_in_child(default_is, (void *)(uintptr_t) "double", 20);
    unsetenv("ACCEL_VISIBLE_DEVICES");
    drivers_set("a=abort");
    const int crash = test_in_child(default_is, (void *)(uintptr_t) "cpu", 20);
    backend->table.rank = before;
    assert_int_equal(only_cpus, 0);
    assert_int_equal(one_gpu, 0);
    assert_int_equal(hidden_gpu, 0);
    assert_int_equal(no_cpu, 0);
    assert_int_equal(crash, 0);
}

/* From the start on the answer is frozen; each in a process of its own. */
static int start_and_change(void *user)
{
    (void)user;
    int32_t count = 0;
    accel_device_info info = {.struct_size = sizeof info};
    accel_backend_report report = {.struct_size = sizeof report};
    setenv("ACCEL_VISIBLE_DEVICES", "double:3,double:1", 1);
    CHECK_QUIET(accel_initialize(drivers_backend) == ACCEL_OK);
    setenv("ACCEL_VISIBLE_DEVICES", "double:0", 1);
    setenv("DOUBLE_DRIVERS", "other=gpus-1", 1);
    CHECK_QUIET(accel_device_count(drivers_backend, &count) == ACCEL_OK && count == 2);
    CHECK_QUIET(accel_device_describe(ACCEL_DEVICE(drivers_backend, 0), &info) == ACCEL_OK);
    CHECK_QUIET(strcmp(info.name, "frozen #3") == 0);
    CHECK_QUIET(accel_backend_get_report(drivers_backend, &report) == ACCEL_OK);
    CHECK_QUIET(report.device_count == 2 && report.hidden_count == 2);
    CHECK_QUIET(strcmp(report.source, "started") == 0);
    return 0;
}

static void test_start_freezes(void **state)
{
    (void)state;
    drivers_set("frozen=gpus-4");
    assert_int_equal(test_in_child(start_and_change, NULL, 30), 0);
}

static int start_beside_a_crash(void *user)
{
    (void)user;
    int32_t count = 0;
    CHECK_QUIET(accel_initialize(drivers_backend) == ACCEL_OK);
    CHECK_QUIET(accel_device_count(drivers_backend, &count) == ACCEL_OK && count == 1);
    return 0;
}

static void test_start_beside_a_crash(void **state)
{
    (void)state;
    drivers_set("bad=abort,good=gpus-1");
    assert_int_equal(test_in_child(start_beside_a_crash, NULL, 30), 0);
}

int main(void)
{
    test_environment(1);
    drivers_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_asked_once),
        cmocka_unit_test(test_hung_is_not_asked_twice),
        cmocka_unit_test(test_files_that_change),
        cmocka_unit_test(test_variables_that_change),
        cmocka_unit_test(test_flips_cost_no_memory),
        cmocka_unit_test(test_a_missing_helper_is_looked_for_again),
        cmocka_unit_test(test_threads_ask_together),
        cmocka_unit_test(test_each_allocation_fails),
        cmocka_unit_test(test_default_accelerator),
        cmocka_unit_test(test_start_freezes),
        cmocka_unit_test(test_start_beside_a_crash),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    drivers_end();
    return failed;
}
