/* driver_modes_test.c: whatever a driver does while it is asked becomes a reason; the driver beside it
 * is found, nothing is left behind, and nobody waits longer than the limit. Case B22. */
#include <dirent.h>
#include <signal.h>

#include "support/check.h"
#include "support/drivers.h"
#include "support/process.h"

/* ---- what each mode of the double must come out as ---- */

typedef struct mode_case {
    const char *mode;
    accel_reason reason;
    const char *detail; /* part of it */
    int32_t count;      /* devices of its own */
} mode_case;

static const mode_case cases[] = {
    {"gpus-3", ACCEL_REASON_NONE, "", 3},
    {"none", ACCEL_REASON_NO_DEVICE, "", 0},
    {"missing", ACCEL_REASON_LIBRARY_MISSING, "", 0},
    {"unusable", ACCEL_REASON_LIBRARY_UNUSABLE, "it lacks a function", 0},
    {"error", ACCEL_REASON_DRIVER_ERROR, "doubleInit returned DOUBLE_BROKEN", 0},
    {"null", ACCEL_REASON_CRASHED, "signal 11", 0},
    {"abort", ACCEL_REASON_CRASHED, "signal 6", 0},
    {"late-crash", ACCEL_REASON_CRASHED, "signal 6", 0},
    {"exit-0", ACCEL_REASON_EXITED, "exit status 0", 0},
    {"exit-3", ACCEL_REASON_EXITED, "exit status 3", 0},
    {"exit-now", ACCEL_REASON_EXITED, "exit status 0", 0},
    {"hang", ACCEL_REASON_HUNG, "stopped after 1500 ms", 0},
    {"stop", ACCEL_REASON_HUNG, "stopped after 1500 ms", 0},
    {"fork-and-hang", ACCEL_REASON_HUNG, "stopped after 1500 ms", 0},
    {"kill-parent", ACCEL_REASON_HELPER_FAILED, "without a whole record", 0},
    {"stop-parent", ACCEL_REASON_HUNG, "the helper did not answer", 0},
    {"print", ACCEL_REASON_NONE, "", 1},
    {"garbage", ACCEL_REASON_NONE, "", 1},
    {"threads", ACCEL_REASON_NONE, "", 1},
    {"fork", ACCEL_REASON_NONE, "", 1},
    {"session", ACCEL_REASON_NONE, "", 1},
    {"gpus-255", ACCEL_REASON_NONE, "", 255},
    {"gpus-100000", ACCEL_REASON_NONE, "", 256},
};

static void check_case(const mode_case *wanted)
{
    char list[64];
    snprintf(list, sizeof list, "bad=%s,good=cpus-1", wanted->mode);
    drivers_set(list);
    setenv("ACCEL_PROBE_TIMEOUT_MS", wanted->reason == ACCEL_REASON_HUNG ? "1500" : "10000", 1);
    const int32_t count = drivers_count();
    const accel_driver_report bad = drivers_driver(0);
    const accel_driver_report good = drivers_driver(1);
    if (bad.reason != wanted->reason || strstr(bad.detail, wanted->detail) == NULL)
        fail_msg("%s: %s (%s)", wanted->mode, accel_reason_name(bad.reason), bad.detail);
    assert_int_equal(bad.device_count, wanted->count);
    assert_string_equal(bad.name, "bad");
    assert_int_equal(good.reason, ACCEL_REASON_NONE);
    assert_int_equal(good.device_count, 1);
    assert_int_equal(count, wanted->count < 256 ? wanted->count + 1 : 256);
    assert_true(bad.duration_ms < 10000);
}

static void test_each_mode(void **state)
{
    (void)state;
    const unsigned threads = test_thread_count();
    const uint64_t descriptors = test_descriptor_digest();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_case(&cases[i]);
    assert_int_equal(test_thread_count(), threads);
    assert_int_equal(test_descriptor_digest(), descriptors);
}

/* A driver that failed makes the answer uncertain; one whose library is not there, or that has no
 * device, does not. */
static void test_three_answers(void **state)
{
    (void)state;
    int32_t count = -1;
    drivers_set("");
    OK(accel_device_count(drivers_backend, &count));
    assert_int_equal(count, 0);
    assert_int_equal(drivers_report().reason, ACCEL_REASON_NO_DRIVER);
    drivers_set("a=none,b=missing");
    OK(accel_device_count(drivers_backend, &count));
    assert_int_equal(count, 0);
    assert_false(drivers_report().cannot_tell);
    drivers_set("a=gpus-2,b=abort");
    FAILS(accel_device_count(drivers_backend, &count), ACCEL_ERROR_CANNOT_TELL,
          "accel_device_count");
    assert_int_equal(count, 2);
    assert_non_null(strstr(accel_last_error_message(), "driver b"));
    assert_non_null(strstr(accel_last_error_message(), "signal 6"));
    const accel_backend_report report = drivers_report();
    assert_true(report.cannot_tell);
    assert_int_equal(report.reason, ACCEL_REASON_CRASHED);
    assert_string_equal(report.source, "helper");
    bool available = false;
    EXPECT(accel_is_available(drivers_backend, &available), ACCEL_ERROR_CANNOT_TELL);
    assert_true(available);
}

/* What cannot be written as text does not leave the helper. */
static void test_bad_names(void **state)
{
    (void)state;
    accel_device_info info = {.struct_size = sizeof info};
    drivers_set("bad=bad-names");
    OK(accel_device_describe(ACCEL_DEVICE(drivers_backend, 0), &info));
    assert_memory_equal(info.name, "a??[2J??????", 12);
    assert_int_equal(strlen(info.name), sizeof info.name - 1);
    assert_string_equal(info.vendor, "Gr\xc3\xbc\xc3\x9f"
                                     "e");
}

/* ---- nothing is left behind ---- */

/* Processes whose parent is this one, ended or not. */
static unsigned count_children(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char path[300];
        char line[512] = "";
        int parent = 0;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (file != NULL && fgets(line, sizeof line, file) != NULL && strrchr(line, ')') != NULL &&
            sscanf(strrchr(line, ')') + 1, " %*c %d", &parent) == 1)
            count += parent == getpid();
        if (file != NULL)
            fclose(file);
    }
    if (folder != NULL)
        closedir(folder);
    return count;
}

/* Processes of this test's helper. Each has the test's log in its environment. */
static unsigned count_helpers(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char path[300];
        char bytes[16384] = "";
        snprintf(path, sizeof path, "/proc/%s/environ", entry->d_name);
        FILE *file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (file == NULL)
            continue;
        const size_t size = fread(bytes, 1, sizeof bytes - 1, file);
        count += atoi(entry->d_name) != getpid() &&
                 memmem(bytes, size, drivers_log, strlen(drivers_log)) != NULL;
        fclose(file);
    }
    if (folder != NULL)
        closedir(folder);
    return count;
}

static void test_nothing_is_left(void **state)
{
    (void)state;
    setenv("ACCEL_PROBE_TIMEOUT_MS", "400", 1);
    drivers_set("a=hang,b=fork-and-hang,c=stop,d=abort,e=gpus-1,f=fork,g=stop-parent");
    drivers_count();
    assert_int_equal(count_children(), 0);
    unsigned left = 1;
    for (int turn = 0; turn < 200 && left != 0; turn++) {
        left = count_helpers();
        test_nap_ms(left != 0 ? 10 : 0);
    }
    assert_int_equal(left, 0);
}

static void test_limit_covers_all_together(void **state)
{
    (void)state;
    setenv("ACCEL_PROBE_TIMEOUT_MS", "1500", 1);
    drivers_set("a=hang,b=hang,c=hang,d=hang,e=hang,f=hang,g=stop-parent,h=gpus-1");
    const uint64_t begin = test_now_ns();
    assert_int_equal(drivers_count(), 1);
    /* Far from the eight limits that it would take one after the other; driver_timing_test has the
     * bound itself. */
    assert_true(test_now_ns() - begin < 7000000000u);
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(drivers_driver(i).reason, ACCEL_REASON_HUNG);
}

static void test_bad_limits(void **state)
{
    (void)state;
    static const char *const limits[] = {"0", "-1", "x", "", "99999999999999999999", "1e3"};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        setenv("ACCEL_PROBE_TIMEOUT_MS", limits[i], 1);
        drivers_set("a=gpus-1");
        assert_int_equal(drivers_count(), 1);
    }
}

int main(void)
{
    test_environment(1);
    drivers_begin();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_left), /* first: a later mode leaves a daemon on purpose */
        cmocka_unit_test(test_each_mode),       cmocka_unit_test(test_three_answers),
        cmocka_unit_test(test_bad_names),       cmocka_unit_test(test_limit_covers_all_together),
        cmocka_unit_test(test_bad_limits),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    drivers_end();
    return failed;
}
