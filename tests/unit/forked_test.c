/* forked_test.c: a backend that does not survive a fork (the mock): in a child of a process that has used
 * it each use gives ACCEL_ERROR_FORKED with what to do, nothing of the backend is called, questions and
 * other backends work, releasing is quiet. In a child of a process that only asked it works. */
#include "doubles/mock_backend.h"
#include "support/check.h"
#include "support/process.h"

#include "core/registry.h"

static accel_backend number;
static accel_stream *stream;
static accel_event *recorded;
static accel_event *fresh;
static unsigned char *memory;

static accel_device device(int32_t index)
{
    return ACCEL_DEVICE(number, index);
}

static int use(void *user)
{
    (void)user;
    unsigned char back[64] = {0};
    CHECK_QUIET(accel_stream_create(device(0), NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, 64, NULL, (void **)&memory) == ACCEL_OK);
    CHECK_QUIET(accel_fill(memory, "\x55", 1, 64, stream) == ACCEL_OK);
    CHECK_QUIET(accel_copy(back, memory, 64, stream) == ACCEL_OK);
    CHECK_QUIET(accel_event_create(device(0), NULL, &recorded) == ACCEL_OK);
    CHECK_QUIET(accel_event_create(device(0), NULL, &fresh) == ACCEL_OK);
    CHECK_QUIET(accel_event_record(recorded, stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    CHECK_QUIET(back[63] == 0x55);
    return 0;
}

static void test_a_parent_that_only_asked(void **state)
{
    (void)state;
    int32_t count = 0;
    accel_device_info info = {.struct_size = sizeof info};
    OK(accel_device_count(number, &count));
    OK(accel_device_describe(device(1), &info));
    OK(accel_set_device_index(device(1)));
    OK(accel_set_device_index(device(0)));
    for (int i = 0; i < 3; i++)
        assert_int_equal(test_in_child(use, NULL, 10), 0);
    assert_int_equal(mock.calls[MOCK_START], 0);
}

/* How often the backend was called by this process, questions apart. */
static unsigned uses_of_the_backend(void)
{
    unsigned sum = 0;
    for (int i = 0; i < MOCK_CALLS; i++)
        if (i != MOCK_PROBE && i != MOCK_DESCRIBE && i != MOCK_CAPABILITY)
            sum += mock.calls[i];
    return sum;
}

static bool is_forked(accel_status status)
{
    accel_error error = {.struct_size = sizeof error};
    accel_last_error(&error);
    return status == ACCEL_ERROR_FORKED && error.status == ACCEL_ERROR_FORKED &&
           strcmp(error.backend, "mock") == 0 && strstr(error.message, "fork") != NULL;
}

static accel_status never(accel_device on, void *user)
{
    (void)on;
    (void)user;
    return ACCEL_ERROR_INTERNAL;
}

static int every_use(void *user)
{
    (void)user;
    unsigned char host[64] = {0};
    accel_stream *made_stream = NULL;
    accel_module *made_module = NULL;
    void *made = NULL;
    bool done = true;
    size_t free_bytes = 1;
    size_t total = 1;
    const unsigned before = uses_of_the_backend();
    CHECK_QUIET(is_forked(accel_initialize(number)));
    CHECK_QUIET(is_forked(accel_stream_create(device(0), NULL, &made_stream)));
    CHECK_QUIET(is_forked(accel_stream_create(device(1), NULL, &made_stream)));
    CHECK_QUIET(is_forked(accel_memory_alloc(stream, 64, NULL, &made)));
    CHECK_QUIET(is_forked(accel_copy(memory, host, 64, stream)));
    CHECK_QUIET(is_forked(accel_copy_2d(memory, 8, host, 8, 8, 8, stream)));
    CHECK_QUIET(is_forked(accel_fill(memory, "", 1, 64, stream)));
    CHECK_QUIET(is_forked(accel_event_record(fresh, stream)));
    CHECK_QUIET(is_forked(accel_event_record(recorded, stream)));
    CHECK_QUIET(is_forked(accel_event_query(recorded, &done)) && !done);
    CHECK_QUIET(is_forked(accel_event_synchronize(recorded)));
    done = true;
    CHECK_QUIET(is_forked(accel_stream_query(stream, &done)) && !done);
    CHECK_QUIET(is_forked(accel_stream_synchronize(stream)));
    CHECK_QUIET(is_forked(accel_stream_wait_event(stream, recorded)));
    CHECK_QUIET(is_forked(accel_synchronize(device(0))));
    CHECK_QUIET(is_forked(accel_get_memory_info(device(0), &free_bytes, &total)));
    CHECK_QUIET(free_bytes == 0 && total == 0);
    CHECK_QUIET(is_forked(accel_stream_get_native_handle(stream, &made)));
    CHECK_QUIET(is_forked(accel_module_create_from_native(device(0), "x", 1, &made_module)));
    CHECK_QUIET(made_stream == NULL && made == NULL && made_module == NULL);
    CHECK_QUIET(uses_of_the_backend() == before);
    return 0;
}

static int questions(void *user)
{
    (void)user;
    int32_t count = 0;
    int32_t index = -1;
    bool initialized = true;
    accel_stream *found = NULL;
    accel_device of;
    const unsigned before = uses_of_the_backend();
    accel_device_info info = {.struct_size = sizeof info};
    accel_device_capability capability = {.struct_size = sizeof capability};
    accel_pointer_information about = {.struct_size = sizeof about};
    CHECK_QUIET(accel_device_count(number, &count) == ACCEL_OK && count == 2);
    CHECK_QUIET(accel_device_describe(device(1), &info) == ACCEL_OK);
    CHECK_QUIET(accel_get_device_capability(device(0), &capability) == ACCEL_OK);
    CHECK_QUIET(accel_is_initialized(number, &initialized) == ACCEL_OK && !initialized);
    CHECK_QUIET(accel_set_device_index(device(1)) == ACCEL_OK);
    CHECK_QUIET(accel_current_device_index(number, &index) == ACCEL_OK && index == 1);
    CHECK_QUIET(accel_stream_default(device(1), &found) == ACCEL_OK && found != NULL);
    CHECK_QUIET(accel_current_stream(device(0), &found) == ACCEL_OK && found != NULL);
    CHECK_QUIET(accel_stream_get_device(stream, &of) == ACCEL_OK && of.index == 0);
    CHECK_QUIET(accel_pointer_info(memory + 1, &about) == ACCEL_OK && about.offset == 1);
    CHECK_QUIET(accel_lazy_call(number, never, NULL, NULL) == ACCEL_OK); /* queued, for nobody */
    CHECK_QUIET(uses_of_the_backend() == before);
    return 0;
}

static int release(void *user)
{
    (void)user;
    accel_device parsed;
    const unsigned before = uses_of_the_backend();
    CHECK_QUIET(accel_device_parse("nosuch", &parsed) == ACCEL_ERROR_NOT_FOUND);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    accel_event_release(recorded);
    accel_event_release(fresh);
    accel_stream_release(stream);
    CHECK_QUIET(accel_shutdown() == ACCEL_OK);
    CHECK_QUIET(strstr(accel_last_error_message(), "nosuch") != NULL); /* quiet */
    CHECK_QUIET(uses_of_the_backend() == before);
    return 0;
}

/* The cpu, which this process did not use before the fork, works beside it: without a thread, so
 * that ThreadSanitizer can watch. */
static int other_backend(void *user)
{
    (void)user;
    bool available = false;
    accel_device current;
    size_t free_bytes = 0;
    size_t total = 0;
    CHECK_QUIET(accel_is_available(test_cpu(), &available) == ACCEL_OK && available);
    CHECK_QUIET(accel_set_device_index(test_cpu_device(0)) == ACCEL_OK);
    CHECK_QUIET(accel_current_accelerator(true, &current) == ACCEL_OK);
    CHECK_QUIET(current.backend == test_cpu());
    CHECK_QUIET(accel_get_memory_info(test_cpu_device(0), &free_bytes, &total) == ACCEL_OK);
    CHECK_QUIET(accel_initialize(test_cpu()) == ACCEL_OK);
    return 0;
}

static unsigned lines; /* of the log */

static void count_line(accel_log_level level, const char *backend, const char *text, void *user)
{
    (void)level;
    (void)backend;
    (void)text;
    (void)user;
    lines++;
}

/* The error comes with the first use: neither the fork nor a question says anything before. */
static int silence(void *user)
{
    CHECK_QUIET(questions(user) == 0 && lines == 0);
    return every_use(user) != 0 || lines != 0;
}

static int grandchild(void *user)
{
    return every_use(user) != 0 || test_in_child(every_use, user, 10) != 0;
}

static void test_a_parent_that_used_it(void **state)
{
    (void)state;
    assert_int_equal(use(NULL), 0);
    assert_int_equal(test_in_child(every_use, NULL, 10), 0);
    assert_int_equal(test_in_child(questions, NULL, 10), 0);
    assert_int_equal(test_in_child(release, NULL, 10), 0);
    assert_int_equal(test_in_child(other_backend, NULL, 10), 0);
    assert_int_equal(test_in_child(grandchild, NULL, 10), 0);
    OK(accel_fill(memory, "", 1, 64, stream)); /* the parent goes on */
    OK(accel_stream_synchronize(stream));
}

/* B38: forking is no reason for a warning, whether the backend was used or not. */
static void test_forks_are_silent(void **state)
{
    (void)state;
    lines = 0;
    OK(accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, count_line, NULL));
    assert_int_equal(test_in_child(silence, NULL, 10), 0);
    assert_int_equal(test_in_child(grandchild, NULL, 10), 0);
    OK(accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, NULL, NULL));
    assert_int_equal(lines, 0);
}

static int failed_start(void *user)
{
    const unsigned before = uses_of_the_backend();
    CHECK_QUIET(accel_initialize(*(const accel_backend *)user) == ACCEL_ERROR_FORKED);
    CHECK_QUIET(uses_of_the_backend() == before);
    return 0;
}

/* A start that failed may have left a driver half up: a child may not touch it either. */
static void test_a_parent_whose_start_failed(void **state)
{
    (void)state;
    accel_backend_table table = mock_table();
    accel_backend other = 0;
    table.name = "other_mock";
    OK(accel__registry_add(&table, &other));
    mock.fail[MOCK_START] = 1;
    EXPECT(accel_initialize(other), ACCEL_ERROR_START_FAILED);
    assert_int_equal(test_in_child(failed_start, &other, 10), 0);
    OK(accel_initialize(other));
}

static int unload(void **state)
{
    (void)state;
    accel_memory_free(memory);
    accel_event_release(recorded);
    accel_event_release(fresh);
    accel_stream_release(stream);
    return 0;
}

static int load(void **state)
{
    (void)state;
    const accel_backend_table table = mock_table();
    mock.device_count = 2;
    return accel__registry_add(&table, &number) != ACCEL_OK;
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_parent_that_only_asked),
        cmocka_unit_test(test_a_parent_that_used_it),
        cmocka_unit_test(test_forks_are_silent),
        cmocka_unit_test(test_a_parent_whose_start_failed),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
