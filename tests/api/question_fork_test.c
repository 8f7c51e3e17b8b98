/* question_fork_test.c: promises 1 and 3: loading the library and every question start no thread, open no
 * file that stays, map no file, start no backend, and leave a fork harmless. Read from /proc/self. Case
 * B33: each question in a process of its own, then a child uses the device.
 *
 * About cpu:1, or the device that TEST_DEVICE names. */
#include <stdlib.h>

#include "support/check.h"
#include "support/process.h"

static accel_device device;
static accel_backend cpu;             /* the device's */
static bool reads_memory_info = true; /* elsewhere that is a use */

static void ask_backends(void)
{
    accel_backend_count();
    accel_backend_name(1);
    accel_backend_name(ACCEL_BACKEND_CURRENT);
}

static void ask_count(void)
{
    int32_t count;
    accel_device_count(cpu, &count);
    accel_device_count(ACCEL_BACKEND_CURRENT, &count);
}

static void ask_available(void)
{
    bool available;
    accel_is_available(cpu, &available);
}

static void ask_current_accelerator(void)
{
    accel_device found;
    accel_current_accelerator(false, &found);
    accel_current_accelerator(true, &found);
}

static void set_current_accelerator(void)
{
    accel_set_current_accelerator(cpu);
}

static void set_index(void)
{
    accel_set_device_index(device);
}

static void ask_index(void)
{
    int32_t index;
    accel_current_device_index(cpu, &index);
}

static void exchange(void)
{
    accel_device previous;
    accel_exchange_device(device, &previous);
    accel_maybe_exchange_device(previous, &previous);
}

static void device_scope(void)
{
    accel_device_scope scope;
    accel_device_index_begin(device, &scope);
    accel_device_index_end(&scope);
}

static void names(void)
{
    char text[ACCEL_DEVICE_NAME_MAX];
    accel_device parsed;
    accel_device_parse("cpu:1", &parsed);
    accel_device_format(ACCEL_DEVICE_CURRENT, text, sizeof text, NULL);
}

static void describe(void)
{
    accel_device_info info = {.struct_size = sizeof info};
    accel_device_describe(device, &info);
}

static void ask_capability(void)
{
    accel_device_capability capability = {.struct_size = sizeof capability};
    accel_get_device_capability(device, &capability);
}

static void ask_memory_info(void)
{
    size_t free_bytes;
    size_t total;
    if (reads_memory_info)
        accel_get_memory_info(device, &free_bytes, &total);
}

static void synchronize_device(void)
{
    accel_synchronize(device);
    accel_synchronize(ACCEL_DEVICE_CURRENT);
}

static void ask_streams(void)
{
    accel_stream *stream = NULL;
    bool done;
    uint64_t id;
    int32_t priority;
    accel_device of;
    accel_current_stream(device, &stream);
    accel_stream_default(device, &stream);
    accel_stream_query(stream, &done);
    accel_stream_synchronize(stream);
    accel_stream_get_id(stream, &id);
    accel_stream_get_priority(stream, &priority);
    accel_stream_get_device(stream, &of);
    accel_set_stream(stream);
    accel_stream_scope scope;
    accel_stream_scope_begin(stream, &scope);
    accel_stream_scope_end(&scope);
}

static void ask_events(void)
{
    accel_event *event = NULL;
    bool done;
    double milliseconds;
    accel_device of;
    accel_event_create(device, NULL, &event);
    accel_event_query(event, &done);
    accel_event_synchronize(event);
    accel_event_elapsed_time(event, event, &milliseconds);
    accel_event_get_device(event, &of);
    accel_event_release(event);
}

static void ask_pointers(void)
{
    accel_pointer_information information = {.struct_size = sizeof information};
    accel_pointer_info(&information, &information);
    accel_pointer_info(NULL, &information);
}

static void ask_reports(void)
{
    accel_backend_report report = {.struct_size = sizeof report};
    accel_driver_report driver = {.struct_size = sizeof driver};
    accel_fork_report state = {.struct_size = sizeof state};
    accel_backend_get_report(cpu, &report);
    for (uint32_t i = 0; i < report.driver_count; i++)
        accel_backend_get_driver_report(cpu, i, &driver);
    accel_fork_state(&state);
}

static void ask_lifecycle(void)
{
    bool initialized;
    accel_is_initialized(cpu, &initialized);
}

static accel_status never(accel_device on, void *user)
{
    (void)on;
    (void)user;
    return ACCEL_OK;
}

static void defer(void)
{
    accel_lazy_call(cpu, never, NULL, NULL);
}

static void ask_errors(void)
{
    accel_error error = {.struct_size = sizeof error};
    accel_last_error(&error);
    accel_last_error_message();
    accel_status_name(ACCEL_ERROR_IO);
    accel_status_text(ACCEL_ERROR_IO);
    accel_version();
    accel_data_type_parse("f32");
    accel_log_set_callback(ACCEL_LOG_LEVEL_DEBUG, NULL, NULL);
}

static void nothing(void)
{
}

static const struct question {
    const char *name;
    void (*ask)(void);
} questions[] = {
    {"none", nothing},
    {"backends", ask_backends},
    {"count", ask_count},
    {"available", ask_available},
    {"current accelerator", ask_current_accelerator},
    {"set current accelerator", set_current_accelerator},
    {"set index", set_index},
    {"current index", ask_index},
    {"exchange", exchange},
    {"device scope", device_scope},
    {"names", names},
    {"describe", describe},
    {"capability", ask_capability},
    {"memory info", ask_memory_info},
    {"synchronize", synchronize_device},
    {"streams", ask_streams},
    {"events", ask_events},
    {"pointers", ask_pointers},
    {"reports", ask_reports},
    {"lifecycle", ask_lifecycle},
    {"deferred call", defer},
    {"errors", ask_errors},
};
enum { QUESTIONS = sizeof questions / sizeof questions[0] };

static int use(void *user)
{
    (void)user;
    accel_stream *stream = NULL;
    void *memory = NULL;
    uint64_t back = 0;
    const uint64_t pattern = 0x1122334455667788u;
    CHECK_QUIET(accel_stream_create(device, NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, 8, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_fill(memory, &pattern, 8, 8, stream) == ACCEL_OK);
    CHECK_QUIET(accel_copy(&back, memory, 8, stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    CHECK_QUIET(back == pattern);
    return 0;
}

/* In a fresh process: one question; nothing has begun; a child of it can use the device. */
static int ask_one(void *user)
{
    const struct question *question = user;
    const unsigned threads = test_thread_count();
    const uint64_t descriptors = test_descriptor_digest();
    const uint64_t files = test_mapped_files_digest();
    for (int turn = 0; turn < 3; turn++)
        question->ask();
    CHECK_QUIET(test_thread_count() == threads);
    CHECK_QUIET(test_descriptor_digest() == descriptors);
    CHECK_QUIET(test_mapped_files_digest() == files);
    bool initialized = true;
    CHECK_QUIET(accel_is_initialized(cpu, &initialized) == ACCEL_OK && !initialized);
    return test_in_child(use, NULL, 20);
}

static void test_each_question_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < QUESTIONS; i++) {
        const int result = test_in_child(ask_one, (void *)(uintptr_t)&questions[i], 30);
        if (result != 0)
            print_error("the question \"%s\"\n", questions[i].name);
        assert_int_equal(result, 0);
    }
}

static int ask_all(void *user)
{
    (void)user;
    const unsigned threads = test_thread_count();
    const uint64_t descriptors = test_descriptor_digest();
    const uint64_t files = test_mapped_files_digest();
    for (size_t i = 0; i < QUESTIONS; i++)
        questions[i].ask();
    CHECK_QUIET(test_thread_count() == threads && threads == 1);
    CHECK_QUIET(test_descriptor_digest() == descriptors);
    CHECK_QUIET(test_mapped_files_digest() == files);
    return use(NULL);
}

static void test_all_questions_in_one(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(ask_all, NULL, 30), 0);
}

/* Set-up work that is no use either: device scopes and current streams of another device. */
static void test_an_idle_process_has_one_thread(void **state)
{
    (void)state;
    assert_int_equal(test_thread_count(), 1);
}

int main(void)
{
    test_environment(2);
    const char *name = getenv("TEST_DEVICE");
    if (accel_device_parse(name != NULL ? name : "cpu:1", &device) != ACCEL_OK)
        return 1;
    cpu = device.backend;
    reads_memory_info = strcmp(accel_backend_name(cpu), "cpu") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_idle_process_has_one_thread),
        cmocka_unit_test(test_each_question_alone),
        cmocka_unit_test(test_all_questions_in_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
