/* double_run_test.c: the running half of the opencl backend against a driver that fails on demand
 * (double/): what a device is taken for, memory in each way of addressing it, every call failing, failures
 * that come late, and lack of memory everywhere. Nothing may leak, in the library or in the driver.
 *
 *   double_run_test usm|svm|translate      one way a process: a backend starts once */
#include <dlfcn.h>
#include <stdlib.h>

#include "backends/opencl/driver/icd.h"
#include "backends/opencl/driver/symbols.h"
#include "support/check.h"
#include "support/process.h"

#include "unit/fault_sweep.h"

enum { SIZE = 4096 };

static accel_device device;
static const char *way;
static int (*count_alive)(void);
static int (*get_priority)(void);

/* What the driver shall do from now on, beside what belongs to the way. */
static void want(const char *words)
{
    char all[200];
    snprintf(all, sizeof all, "%s priorities clock=100 %s", strcmp(way, "usm") == 0 ? "usm" : "",
             words);
    setenv("OPENCL_DOUBLE", all, 1);
}

/* ---- what a device is taken for ---- */

static void keep(const accel_backend_found *found, void *user)
{
    *(accel_backend_found *)user = *found;
}

static accel_status probe_with(const char *words, accel_backend_found *found)
{
    static accel_backend_driver driver = {.library = DOUBLE_LIBRARY};
    *found = (accel_backend_found){0};
    setenv("OPENCL_DOUBLE", words, 1);
    const accel_status status = accel__opencl_probe(&driver, keep, found);
    want("");
    return status;
}

static void test_description(void **state)
{
    accel_backend_found found;
    (void)state;
    OK(probe_with("", &found));
    assert_string_equal(found.info.name, "double");
    assert_string_equal(found.info.driver, "double 1");
    assert_int_equal(found.info.kind, ACCEL_DEVICE_KIND_GPU);
    assert_string_equal(found.info.bus_address, "");
    assert_int_equal(strlen(found.info.uuid), strlen("opencl-") + 36);
    assert_int_equal(found.order, 0);
    assert_false(found.capability.timing);
    assert_int_equal(found.capability.priority_highest, 0);
    assert_int_equal(found.capability.max_block_items, 1024);
    assert_int_equal(found.capability.max_block[2], 64);
    OK(probe_with("bus priorities clock=100", &found));
    assert_string_equal(found.info.bus_address, "0001:2a:03.4");
    assert_string_equal(found.info.uuid, "opencl-ab010203-0405-0607-0809-0a0b0c0d0e0f");
    assert_true(found.capability.timing);
    assert_int_equal(found.capability.priority_lowest, 1);
    assert_int_equal(found.capability.priority_highest, -1);
}

static void test_untrue_clocks(void **state)
{
    static const char *const clocks[] = {"clock=50",
                                         "clock=200",
                                         "clock=1",
                                         "clock=100 clGetEventProfilingInfo=-7",
                                         "clock=100 clCreateContext=-6",
                                         "clock=100 clCreateCommandQueueWithProperties=-6",
                                         "clock=100 clEnqueueMarkerWithWaitList=-5"};
    accel_backend_found found;
    (void)state;
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++) {
        OK(probe_with(clocks[i], &found));
        assert_false(found.capability.timing);
    }
}

static void test_failing_questions(void **state)
{
    accel_backend_found found;
    (void)state;
    EXPECT(probe_with("clGetPlatformIDs=-6", &found), ACCEL_ERROR_OUT_OF_HOST_MEMORY);
    OK(probe_with("clGetPlatformIDs=-1001", &found)); /* no platform is no failure */
    assert_int_equal(found.info.struct_size, 0);
    EXPECT(probe_with("clGetPlatformInfo=-30", &found), ACCEL_ERROR_DEVICE_FAILED);
    EXPECT(probe_with("clGetDeviceIDs=-2", &found), ACCEL_ERROR_DEVICE_FAILED);
    OK(probe_with("clGetDeviceIDs=-1", &found));
    assert_int_equal(found.info.struct_size, 0);
    OK(probe_with("clGetDeviceInfo=-5", &found)); /* it does not even say that it is available */
    assert_int_equal(found.info.struct_size, 0);
}

/* ---- memory ---- */

static accel_stream *open_stream(void)
{
    accel_stream *stream = NULL;
    OK(accel_stream_create(device, NULL, &stream));
    return stream;
}

static void test_memory(void **state)
{
    unsigned char host[SIZE];
    unsigned char back[SIZE] = {0};
    unsigned char *first = NULL;
    unsigned char *second = NULL;
    accel_stream *stream = open_stream();
    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        host[i] = (unsigned char)(i * 3);
    OK(accel_memory_alloc(stream, SIZE, NULL, (void **)&first));
    OK(accel_memory_alloc(stream, SIZE, NULL, (void **)&second));
    assert_true((uintptr_t)first % 512 == 0 && (uintptr_t)second % 512 == 0);
    OK(accel_copy(first, host, SIZE, stream));
    OK(accel_copy(second + 100, first + 50, 1000, stream));
    OK(accel_fill(second, "ab", 2, 100, stream));
    OK(accel_copy(back, second, 1100, stream));
    OK(accel_stream_synchronize(stream));
    assert_memory_equal(back + 100, host + 50, 1000);
    assert_memory_equal(back, "abab", 4);
    OK(accel_memory_free(first));
    OK(accel_memory_free(second));
    accel_stream_release(stream);
}

static void test_rows(void **state)
{
    unsigned char host[SIZE];
    unsigned char back[SIZE] = {0};
    unsigned char *memory = NULL;
    accel_stream *stream = open_stream();
    (void)state;
    if (strcmp(way, "translate") == 0)
        skip(); /* the double has no rectangles; real drivers show them */
    for (size_t i = 0; i < SIZE; i++)
        host[i] = (unsigned char)(i * 5);
    OK(accel_memory_alloc(stream, SIZE, NULL, (void **)&memory));
    OK(accel_copy_2d(memory, 100, host, 64, 60, 20, stream));
    OK(accel_copy_2d(back, 60, memory, 100, 60, 20, stream));
    OK(accel_stream_synchronize(stream));
    for (size_t row = 0; row < 20; row++)
        assert_memory_equal(back + row * 60, host + row * 64, 60);
    OK(accel_memory_free(memory));
    accel_stream_release(stream);
}

static void test_too_much(void **state)
{
    void *memory = NULL;
    accel_stream *stream = open_stream();
    (void)state;
    FAILS(accel_memory_alloc(stream, (size_t)2 << 30, NULL, &memory), ACCEL_ERROR_OUT_OF_MEMORY,
          "accel_memory_alloc");
    want("clSVMAlloc=1 clCreateBuffer=-4 clDeviceMemAllocINTEL=-4");
    FAILS(accel_memory_alloc(stream, SIZE, NULL, &memory), ACCEL_ERROR_OUT_OF_MEMORY,
          "accel_memory_alloc");
    want("");
    OK(accel_memory_alloc(stream, SIZE, NULL, &memory));
    OK(accel_memory_free(memory));
    accel_stream_release(stream);
}

/* ---- streams, events, callbacks ---- */

static void test_priorities(void **state)
{
    static const struct {
        int32_t wanted;
        int given;
    } cases[] = {{0, CL_QUEUE_PRIORITY_MED_KHR},
                 {-1, CL_QUEUE_PRIORITY_HIGH_KHR},
                 {-9, CL_QUEUE_PRIORITY_HIGH_KHR},
                 {1, CL_QUEUE_PRIORITY_LOW_KHR}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const accel_stream_options options = {.struct_size = sizeof options,
                                              .priority = cases[i].wanted};
        accel_stream *stream = NULL;
        OK(accel_stream_create(device, &options, &stream));
        assert_int_equal(get_priority(), cases[i].given);
        accel_stream_release(stream);
    }
}

static void test_times(void **state)
{
    const accel_event_options options = {.struct_size = sizeof options, .enable_timing = true};
    accel_event *events[2] = {NULL};
    double milliseconds = 0;
    accel_stream *stream = open_stream();
    (void)state;
    for (int i = 0; i < 2; i++) {
        OK(accel_event_create(device, &options, &events[i]));
        OK(accel_event_record(events[i], stream));
        test_nap_ms(20);
    }
    OK(accel_event_elapsed_time(events[0], events[1], &milliseconds));
    assert_true(milliseconds >= 19 && milliseconds < 2000);
    OK(accel_event_elapsed_time(events[1], events[0], &milliseconds));
    assert_true(milliseconds <= -19);
    want("clGetEventProfilingInfo=-7"); /* not available: recorded again on another thread */
    FAILS(accel_event_elapsed_time(events[0], events[1], &milliseconds), ACCEL_ERROR_NOT_READY,
          "accel_event_elapsed_time");
    want("clGetEventProfilingInfo=-58");
    FAILS(accel_event_elapsed_time(events[0], events[1], &milliseconds), ACCEL_ERROR_DEVICE_FAILED,
          "accel_event_elapsed_time");
    want("");
    accel_event_release(events[0]);
    accel_event_release(events[1]);
    accel_stream_release(stream);
}

typedef struct called {
    _Atomic(int) count;
    accel_status status;
} called;

static void note(accel_stream *stream, accel_status status, void *user)
{
    called *made = user;
    (void)stream;
    made->status = status;
    made->count++;
}

static void test_callbacks(void **state)
{
    called made = {.status = ACCEL_ERROR_INTERNAL};
    accel_stream *stream = open_stream();
    (void)state;
    for (int i = 1; i <= 20; i++) {
        if (i == 10) /* then a worker waits for the event itself */
            want("clSetEventCallback=-5");
        OK(accel_stream_add_callback(stream, note, &made));
        OK(accel_stream_synchronize(stream));
        assert_int_equal(made.count, i);
        assert_int_equal(made.status, ACCEL_OK);
    }
    want("");
    accel_stream_release(stream);
}

/* ---- failures ---- */

static void test_failing_calls(void **state)
{
    unsigned char *memory = NULL;
    unsigned char *pinned = NULL;
    unsigned char host[64] = {0};
    void *made = NULL;
    accel_stream *stream = open_stream();
    accel_stream *other = NULL;
    accel_event *event = NULL;
    called counted = {0};
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = ACCEL_MEMORY_KIND_PINNED};
    (void)state;
    OK(accel_memory_alloc(stream, 64, NULL, (void **)&memory));
    OK(accel_memory_alloc(stream, 64, &options, (void **)&pinned));
    OK(accel_event_create(device, NULL, &event));
    want("clEnqueueSVMMemcpy=-5 clEnqueueWriteBuffer=-5 clEnqueueMemcpyINTEL=-5");
    FAILS(accel_copy(memory, host, 64, stream), ACCEL_ERROR_DEVICE_FAILED, "accel_copy");
    want("clEnqueueSVMMemFill=-6 clEnqueueFillBuffer=-6 clEnqueueMemFillINTEL=-6");
    FAILS(accel_fill(memory, host, 4, 64, stream), ACCEL_ERROR_OUT_OF_HOST_MEMORY, "accel_fill");
    want("clCreateUserEvent=-6");
    FAILS(accel_fill(pinned, host, 4, 64, stream), ACCEL_ERROR_OUT_OF_HOST_MEMORY, "accel_fill");
    FAILS(accel_stream_add_callback(stream, note, &counted), ACCEL_ERROR_OUT_OF_HOST_MEMORY,
          "accel_stream_add_callback");
    want("clEnqueueBarrierWithWaitList=-5");
    FAILS(accel_stream_add_callback(stream, note, &counted), ACCEL_ERROR_DEVICE_FAILED,
          "accel_stream_add_callback");
    want("clEnqueueMarkerWithWaitList=-5");
    FAILS(accel_event_record(event, stream), ACCEL_ERROR_DEVICE_FAILED, "accel_event_record");
    want("clCreateCommandQueueWithProperties=-6");
    FAILS(accel_stream_create(device, NULL, &other), ACCEL_ERROR_OUT_OF_HOST_MEMORY,
          "accel_stream_create");
    want("clCreateBuffer=-4");
    FAILS(accel_memory_alloc(stream, 64, &options, &made), ACCEL_ERROR_OUT_OF_MEMORY,
          "accel_memory_alloc");
    want("clEnqueueMapBuffer=-12");
    FAILS(accel_memory_alloc(stream, 64, &options, &made), ACCEL_ERROR_DEVICE_FAILED,
          "accel_memory_alloc");
    want(""); /* none of it sticks: nothing was queued */
    OK(accel_copy(memory, host, 64, stream));
    OK(accel_event_record(event, stream));
    OK(accel_stream_synchronize(stream));
    assert_int_equal(counted.count, 0);
    accel_event_release(event);
    OK(accel_memory_free(memory));
    OK(accel_memory_free(pinned));
    accel_stream_release(stream);
}

/* A command fails after it was queued: what stands behind fails with it, and the stream keeps it. */
static void test_late_failure(void **state)
{
    unsigned char *memory = NULL;
    bool done = false;
    called counted = {0};
    accel_event *event = NULL;
    accel_stream *stream = open_stream();
    accel_stream *other = open_stream();
    (void)state;
    OK(accel_memory_alloc(stream, 64, NULL, (void **)&memory));
    OK(accel_event_create(device, NULL, &event));
    want("late-copy=-5");
    OK(accel_fill(memory, "abcd", 4, 64, stream));
    want("");
    OK(accel_event_record(event, stream));
    OK(accel_stream_add_callback(stream, note, &counted));
    FAILS(accel_event_query(event, &done), ACCEL_ERROR_DEVICE_FAILED, "accel_event_query");
    FAILS(accel_event_synchronize(event), ACCEL_ERROR_DEVICE_FAILED, "accel_event_synchronize");
    FAILS(accel_stream_synchronize(stream), ACCEL_ERROR_DEVICE_FAILED, "accel_stream_synchronize");
    FAILS(accel_stream_query(stream, &done), ACCEL_ERROR_DEVICE_FAILED, "accel_stream_query");
    FAILS(accel_fill(memory, "abcd", 4, 64, stream), ACCEL_ERROR_DEVICE_FAILED, "accel_fill");
    accel_error error = {.struct_size = sizeof error};
    OK(accel_last_error(&error));
    assert_int_equal(error.vendor_code, CL_OUT_OF_RESOURCES);
    assert_string_equal(error.vendor_message, "CL_OUT_OF_RESOURCES");
    for (int i = 0; i < 1000 && counted.count == 0; i++)
        test_nap_ms(2);
    assert_int_equal(counted.count, 1); /* called all the same */
    assert_int_equal(counted.status, ACCEL_ERROR_DEVICE_FAILED);
    OK(accel_fill(memory, "abcd", 4, 64, other));
    OK(accel_stream_synchronize(other));
    accel_event_release(event);
    OK(accel_memory_free(memory));
    accel_stream_release(stream);
    accel_stream_release(other);
}

/* ---- lack of memory ---- */

/* One of everything; the first failure ends it. */
static accel_status use_all(void)
{
    static called counted;
    static unsigned char host[64];
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = ACCEL_MEMORY_KIND_PINNED};
    accel_stream *stream = NULL;
    accel_event *event = NULL;
    void *memory = NULL;
    void *pinned = NULL;
    accel_status status = accel_stream_create(device, NULL, &stream);
    if (status == ACCEL_OK)
        status = accel_memory_alloc(stream, 64, NULL, &memory);
    if (status == ACCEL_OK)
        status = accel_memory_alloc(stream, 64, &options, &pinned);
    if (status == ACCEL_OK)
        status = accel_event_create(device, NULL, &event);
    if (status == ACCEL_OK)
        status = accel_fill(pinned, host, 4, 64, stream);
    if (status == ACCEL_OK) /* the double does not wait for host work before it copies */
        status = accel_stream_synchronize(stream);
    if (status == ACCEL_OK)
        status = accel_copy(memory, pinned, 64, stream);
    if (status == ACCEL_OK)
        status = accel_stream_add_callback(stream, note, &counted);
    if (status == ACCEL_OK)
        status = accel_event_record(event, stream);
    if (status == ACCEL_OK)
        status = accel_stream_synchronize(stream);
    accel_event_release(event);
    accel_memory_free(memory);
    accel_memory_free(pinned);
    accel_stream_release(stream);
    return status;
}

/* After all that is still under way has ended. */
static int settle_and_count(void)
{
    OK(use_all());
    OK(accel_shutdown());
    OK(accel_synchronize(device));
    OK(accel_empty_cache());
    OK(accel_empty_host_cache());
    return count_alive();
}

static void test_lack_of_memory(void **state)
{
    bool happened = true;
    unsigned number = 1;
    (void)state;
    const int alive = settle_and_count();
    for (; happened && number < 500; number++) {
        fault_begin(number);
        const accel_status status = use_all();
        happened = fault_end();
        if (!happened)
            OK(status);
    }
    assert_false(happened);
    assert_true(number > 8);
    assert_int_equal(settle_and_count(), alive);
}

/* ---- the program ---- */

static void *find(const char *name)
{
    void *library = dlopen(DOUBLE_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    void *found = dlsym(library, name);
    assert_non_null(found);
    return found;
}

/* The one driver there is, and the helper that asks it. */
static int set_up_driver(void)
{
    char helper[4096];
    const char *folder = getenv("BUILD_DIR");
    int32_t count = 0;
    snprintf(helper, sizeof helper, "%s/bin/accel-probe", folder != NULL ? folder : ".");
    setenv("ACCEL_PROBE", helper, 1);
    setenv("OCL_ICD_VENDORS", DOUBLE_LIBRARY, 1);
    setenv("ACCEL_BACKENDS", "opencl", 1);
    setenv("ACCEL_OPENCL_POINTERS", way, 1);
    want("");
    CHECK_QUIET(accel_backend_find("opencl", &device.backend) == ACCEL_OK);
    CHECK_QUIET(accel_device_count(device.backend, &count) == ACCEL_OK && count == 1);
    return 0;
}

/* In a child, since a backend starts once. A failed start is not remembered. */
static int start_with_failures(void *user)
{
    accel_status status = ACCEL_ERROR_INTERNAL;
    unsigned number = 0;
    (void)user;
    while (status != ACCEL_OK && number < 200) {
        fault_begin(++number);
        status = accel_initialize(device.backend);
        const bool happened = fault_end();
        CHECK_QUIET(status == ACCEL_OK || happened);
    }
    CHECK_QUIET(status == ACCEL_OK && number > 4);
    return use_all() == ACCEL_OK ? 0 : 1;
}

static int start_with_failing_calls(void *user)
{
    static const char *const words[] = {"clGetPlatformIDs=-6", "clGetDeviceIDs=-2",
                                        "clGetDeviceIDs=-1", "clGetDeviceInfo=-5",
                                        "clCreateContext=-5"};
    (void)user;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        setenv("DOUBLE_UNSEEN", words[i], 1); /* healthy in the helper, broken now */
        CHECK_QUIET(accel_initialize(device.backend) != ACCEL_OK);
        CHECK_QUIET(accel_last_error_message()[0] != '\0');
        unsetenv("DOUBLE_UNSEEN");
        bool started = true;
        CHECK_QUIET(accel_is_initialized(device.backend, &started) == ACCEL_OK && !started);
    }
    CHECK_QUIET(accel_initialize(device.backend) == ACCEL_OK);
    CHECK_QUIET(use_all() == ACCEL_OK);
    return 0;
}

static void count_setting(accel_log_level level, const char *backend, const char *text, void *user)
{
    (void)backend;
    if (level == ACCEL_LOG_LEVEL_WARNING && strstr(text, "ACCEL_OPENCL_POINTERS is 'svn'") != NULL)
        ++*(int *)user;
}

static int start_with_mistyped_way(void *user)
{
    int warnings = 0;
    (void)user;
    setenv("ACCEL_OPENCL_POINTERS", "svn", 1);
    CHECK_QUIET(accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, count_setting, &warnings) ==
                ACCEL_OK);
    void *memory = NULL;
    accel_stream *stream = NULL;
    CHECK_QUIET(accel_stream_default(device, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, 64, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    CHECK_QUIET(warnings == 1);
    return 0;
}

static int begin(void **state)
{
    accel_device_capability capability = {.struct_size = sizeof capability};
    (void)state;
    if (set_up_driver() != 0)
        return 1;
    assert_int_equal(test_in_child(start_with_failures, NULL, 60), 0);
    assert_int_equal(test_in_child(start_with_failing_calls, NULL, 60), 0);
    assert_int_equal(test_in_child(start_with_mistyped_way, NULL, 60), 0);
    OK(accel_get_device_capability(device, &capability));
    assert_true(capability.timing);
    assert_int_equal(capability.pointers_in_memory, strcmp(way, "usm") == 0);
    OK(use_all());
    void *found = find("opencl_double_alive");
    memcpy(&count_alive, &found, sizeof found);
    found = find("opencl_double_priority");
    memcpy(&get_priority, &found, sizeof found);
    return 0;
}

int main(int count, char **arguments)
{
    setenv("ACCEL_ALLOC_CONF", "caching:False", 1); /* the double sees, and fails, each request */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_description),
        cmocka_unit_test(test_untrue_clocks),
        cmocka_unit_test(test_failing_questions),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_priorities),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_callbacks),
        cmocka_unit_test(test_failing_calls),
        cmocka_unit_test(test_late_failure),
        cmocka_unit_test(test_lack_of_memory),
    };
    way = count > 1 ? arguments[1] : "svm";
    return cmocka_run_group_tests(tests, begin, NULL);
}
