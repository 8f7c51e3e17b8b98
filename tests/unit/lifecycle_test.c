/* lifecycle_test.c: the start of a backend with the mock: once, tried again after a failure, with the
 * queue of deferred calls, under any number of threads. Cases B41 (a call queued just while another
 * thread starts) and B42 (using device 1 opens only device 1). */
#include <pthread.h>
#include <stdlib.h>

#include "doubles/mock_backend.h"
#include "support/check.h"
#include "support/process.h"

#include "core/lifecycle.h"
#include "core/registry.h"

static accel_backend number;

static accel_device device(int32_t index)
{
    return ACCEL_DEVICE(number, index);
}

/* As before the first use: what no program can ask for. */
static int start_over(void **state)
{
    (void)state;
    accel__backend *backend = accel__registry_get(number);
    backend->phase = 0;
    backend->started_generation = 0;
    backend->touched_generation = 0;
    backend->frozen_count = -1;
    for (int i = 0; i < MOCK_CALLS; i++)
        mock.calls[i] = mock.fail[i] = 0;
    mock.device_count = 4;
    mock.cannot_tell = false;
    mock.start_ms = 0;
    return 0;
}

static bool initialized(void)
{
    bool is = true;
    OK(accel_is_initialized(number, &is));
    return is;
}

/* ---- starting ---- */

static void test_questions_do_not_start(void **state)
{
    (void)state;
    int32_t count = 0;
    bool available = false;
    accel_device_info info = {.struct_size = sizeof info};
    accel_device_capability capability = {.struct_size = sizeof capability};
    accel_stream *stream = NULL;
    accel_event *event = NULL;
    OK(accel_device_count(number, &count));
    assert_int_equal(count, 4);
    OK(accel_is_available(number, &available));
    OK(accel_device_describe(device(2), &info));
    assert_string_equal(info.name, "mock");
    OK(accel_get_device_capability(device(2), &capability));
    assert_false(capability.timing || capability.pinned_memory || capability.peer_copies ||
                 capability.ordered_callbacks || capability.native_handles ||
                 capability.host_access || capability.survives_fork);
    assert_true(capability.priority_lowest == 0 && capability.priority_highest == 0);
    OK(accel_stream_default(device(1), &stream));
    OK(accel_stream_synchronize(stream));
    OK(accel_synchronize(device(1)));
    OK(accel_event_create(device(1), NULL, &event));
    OK(accel_event_synchronize(event));
    accel_event_release(event);
    OK(accel_shutdown());
    assert_int_equal(mock.calls[MOCK_START], 0);
    assert_int_equal(mock.calls[MOCK_OPEN], 0);
    assert_false(initialized());
}

static void test_a_failed_start_is_not_remembered(void **state)
{
    (void)state;
    mock.fail[MOCK_START] = 2;
    FAILS(accel_initialize(number), ACCEL_ERROR_START_FAILED, "mockStart");
    accel_error error = {.struct_size = sizeof error};
    OK(accel_last_error(&error));
    assert_int_equal(error.vendor_code, MOCK_VENDOR_CODE);
    assert_string_equal(error.vendor_message, MOCK_VENDOR_TEXT);
    assert_string_equal(error.backend, "mock");
    assert_false(initialized());
    accel_stream *stream = (accel_stream *)&error;
    EXPECT(accel_stream_create(device(0), NULL, &stream), ACCEL_ERROR_START_FAILED);
    assert_null(stream);
    OK(accel_initialize(number));
    assert_true(initialized());
    assert_int_equal(mock.calls[MOCK_START], 3);
}

static void test_no_device_is_unavailable(void **state)
{
    (void)state;
    mock.device_count = 0;
    FAILS(accel_initialize(number), ACCEL_ERROR_UNAVAILABLE, "accel_initialize");
    assert_non_null(strstr(accel_last_error_message(), "the mock was told so"));
    assert_int_equal(mock.calls[MOCK_START], 0);
    mock.device_count = 1;
    OK(accel_initialize(number));
}

static void test_cannot_tell_is_said(void **state)
{
    (void)state;
    int32_t count = -1;
    bool available = true;
    mock.cannot_tell = true;
    mock.device_count = 0;
    FAILS(accel_device_count(number, &count), ACCEL_ERROR_CANNOT_TELL, "accel_device_count");
    assert_int_equal(count, 0);
    assert_non_null(strstr(accel_last_error_message(), "the mock was told so"));
    EXPECT(accel_is_available(number, &available), ACCEL_ERROR_CANNOT_TELL);
    assert_false(available);
    EXPECT(accel_set_device_index(device(0)), ACCEL_ERROR_CANNOT_TELL);
    mock.device_count = 2; /* two are certain */
    EXPECT(accel_device_count(number, &count), ACCEL_ERROR_CANNOT_TELL);
    assert_int_equal(count, 2);
    EXPECT(accel_is_available(number, &available), ACCEL_ERROR_CANNOT_TELL);
    assert_true(available);
    FAILS(accel_stream_query(NULL, NULL), ACCEL_ERROR_INVALID_ARGUMENT, "accel_stream_query");
    accel_device current;
    OK(accel_set_device_index(device(1)));
    OK(accel_current_accelerator(true, &current));
    accel_error error = {
        .struct_size = sizeof error}; /* what succeeds leaves no trace of its doubts */
    OK(accel_last_error(&error));
    assert_string_equal(error.function, "accel_stream_query");
    EXPECT(accel_set_device_index(device(2)), ACCEL_ERROR_CANNOT_TELL);
    OK(accel_set_device_index(device(0)));
}

static void test_the_count_freezes_at_the_start(void **state)
{
    (void)state;
    int32_t count = 0;
    mock.device_count = 3;
    OK(accel_device_count(number, &count));
    assert_int_equal(count, 3);
    OK(accel_initialize(number));
    mock.device_count = 9;
    const unsigned probes = mock.calls[MOCK_PROBE];
    OK(accel_device_count(number, &count));
    assert_int_equal(count, 3);
    assert_int_equal(mock.calls[MOCK_PROBE], probes);
    mock.device_count = 3;
}

static void *initialize(void *user)
{
    *(accel_status *)user = accel_initialize(number);
    return NULL;
}

static void test_sixteen_threads_start_once(void **state)
{
    (void)state;
    for (unsigned failures = 0; failures < 3; failures++) {
        start_over(NULL);
        mock.start_ms = 5;
        mock.fail[MOCK_START] = failures;
        pthread_t threads[16];
        accel_status results[16];
        for (int i = 0; i < 16; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, initialize, &results[i]), 0);
        unsigned failed = 0;
        for (int i = 0; i < 16; i++) {
            pthread_join(threads[i], NULL);
            failed += results[i] != ACCEL_OK;
        }
        /* Each failure is reported to one caller, the others go on to try. */
        assert_int_equal(failed, failures);
        assert_int_equal(mock.calls[MOCK_START], failures + 1);
        assert_true(initialized());
    }
}

/* ---- B41 ---- */

enum { ROUNDS = 1000, CALLS = 6 };

static _Atomic(unsigned) ran[CALLS];
static _Atomic(unsigned) dropped;

static accel_status run(accel_device on, void *user)
{
    (void)on;
    atomic_fetch_add(&ran[(uintptr_t)user], 1);
    return ACCEL_OK;
}

static void *queue_calls(void *user)
{
    for (uintptr_t i = 0; i < CALLS; i++)
        if (accel_lazy_call(number, run, (void *)i, NULL) != ACCEL_OK)
            *(accel_status *)user = ACCEL_ERROR_INTERNAL;
    return NULL;
}

static void test_no_call_is_lost_or_run_twice(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        start_over(NULL);
        for (int i = 0; i < CALLS; i++)
            ran[i] = 0;
        pthread_t threads[2];
        accel_status results[2] = {ACCEL_OK, ACCEL_OK};
        assert_int_equal(pthread_create(&threads[0], NULL, queue_calls, &results[0]), 0);
        assert_int_equal(pthread_create(&threads[1], NULL, initialize, &results[1]), 0);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
        assert_true(results[0] == ACCEL_OK && results[1] == ACCEL_OK);
        OK(accel_initialize(number));
        for (int i = 0; i < CALLS; i++)
            assert_int_equal(ran[i], 1);
    }
}

static void drop(void *user)
{
    (void)user;
    atomic_fetch_add(&dropped, 1);
}

static void test_a_long_queue_of_seeds_stays_short(void **state)
{
    (void)state;
    const accel_lazy_options seed = {
        .struct_size = sizeof seed, .kind = ACCEL_LAZY_KIND_SEED, .drop = drop};
    const accel_lazy_options all = {
        .struct_size = sizeof all, .kind = ACCEL_LAZY_KIND_SEED_ALL, .drop = drop};
    dropped = 0;
    ran[0] = ran[1] = 0;
    for (int i = 0; i < 20000; i++)
        OK(accel_lazy_call(number, run, (void *)(uintptr_t)(i & 1), i % 3 == 0 ? &all : &seed));
    OK(accel_initialize(number));
    assert_int_equal(dropped + ran[0] + ran[1], 20000);
    assert_true(ran[0] + ran[1] <= 2);
}

/* ---- B42 ---- */

static void expect_only_device_one(void)
{
    for (int i = 0; i < 4; i++)
        if (i != 1)
            assert_int_equal(mock.opened[i], 0);
}

static void test_device_one_alone_is_opened(void **state)
{
    (void)state;
    accel_device_scope scope;
    accel_stream *stream = NULL;
    accel_event *event = NULL;
    void *memory = NULL;
    size_t free_bytes = 0;
    size_t total = 0;
    OK(accel_device_index_begin(device(1), &scope));
    expect_only_device_one();
    OK(accel_get_memory_info(device(1), &free_bytes, &total));
    OK(accel_memory_alloc(NULL, 64, NULL, &memory));
    OK(accel_stream_create(device(1), NULL, &stream));
    OK(accel_event_create(device(1), NULL, &event));
    OK(accel_event_record(event, stream));
    OK(accel_event_synchronize(event));
    const accel_memory_options pinned = {.struct_size = sizeof pinned,
                                         .kind = ACCEL_MEMORY_KIND_PINNED};
    void *host = NULL;
    OK(accel_memory_alloc(NULL, 64, &pinned, &host));
    OK(accel_memory_free(host));
    OK(accel_memory_free(memory));
    OK(accel_synchronize(device(1)));
    accel_event_release(event);
    accel_stream_release(stream);
    accel_device_index_end(&scope);
    OK(accel_synchronize(device(0)));
    assert_int_equal(mock.opened[1], 1);
    expect_only_device_one();
}

static void *use_default_stream(void *user)
{
    accel_stream *stream = NULL;
    void *memory = NULL;
    accel_status status = accel_stream_default(device(3), &stream);
    if (status == ACCEL_OK)
        status = accel_memory_alloc(stream, 64, NULL, &memory);
    if (status == ACCEL_OK)
        status = accel_fill(memory, "", 1, 64, stream);
    if (status == ACCEL_OK)
        status = accel_stream_synchronize(stream);
    accel_memory_free(memory);
    *(accel_status *)user = status;
    return NULL;
}

static void test_sixteen_threads_open_a_device_once(void **state)
{
    (void)state;
    pthread_t threads[16];
    accel_status results[16];
    mock.start_ms = 2;
    for (int i = 0; i < 16; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_default_stream, &results[i]), 0);
    for (int i = 0; i < 16; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(results[i], ACCEL_OK);
    }
    assert_int_equal(mock.calls[MOCK_START], 1);
    assert_int_equal(mock.opened[3], 1);
    assert_int_equal(mock.calls[MOCK_STREAM_CREATE] - mock.calls[MOCK_STREAM_DESTROY], 1);
    assert_int_equal(mock.calls[MOCK_ALLOC], 16);
    OK(accel_synchronize(device(3)));
    assert_int_equal(mock.calls[MOCK_FREE], 16);
}

/* B131: an index is never narrowed. */
static void test_two_hundred_devices(void **state)
{
    (void)state;
    accel_device_scope scope;
    accel_stream *stream = NULL;
    accel_device of;
    void *memory = NULL;
    int32_t index = -1;
    int32_t count = 0;
    char text[ACCEL_DEVICE_NAME_MAX];
    accel_pointer_information about = {.struct_size = sizeof about};
    mock.device_count = 200;
    OK(accel_device_count(number, &count));
    assert_int_equal(count, 200);
    OK(accel_device_index_begin(device(150), &scope));
    OK(accel_current_device_index(number, &index));
    assert_int_equal(index, 150);
    OK(accel_device_format(ACCEL_DEVICE_CURRENT, text, sizeof text, NULL));
    assert_string_equal(text, "mock:150");
    OK(accel_stream_create(ACCEL_DEVICE_CURRENT, NULL, &stream));
    OK(accel_stream_get_device(stream, &of));
    assert_int_equal(of.index, 150);
    OK(accel_memory_alloc(stream, 64, NULL, &memory));
    OK(accel_pointer_info(memory, &about));
    assert_int_equal(about.device.index, 150);
    const int32_t others[] = {150 - 128, 128, 149, 199}; /* as bytes would have it */
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(mock.opened[others[i]], 0);
    assert_true(mock.opened[150] == 1);
    OK(accel_set_device_index(device(199)));
    EXPECT(accel_set_device_index(device(200)), ACCEL_ERROR_OUT_OF_RANGE);
    assert_non_null(strstr(accel_last_error_message(), "200"));
    EXPECT(accel_set_device_index(device(256 + 150)), ACCEL_ERROR_OUT_OF_RANGE);
    OK(accel_memory_free(memory));
    accel_stream_release(stream);
    accel_device_index_end(&scope);
    start_over(NULL);
    mock.device_count = 100000; /* more than the limit: the limit */
    OK(accel_device_count(number, &count));
    assert_int_equal(count, ACCEL__DEVICE_MAX);
}

static void test_a_failed_open_is_tried_again(void **state)
{
    (void)state;
    void *memory = &memory;
    mock.fail[MOCK_OPEN] = 1;
    accel_stream *stream = NULL;
    OK(accel_stream_default(device(2), &stream));
    EXPECT(accel_memory_alloc(stream, 64, NULL, &memory), ACCEL_ERROR_DEVICE_FAILED);
    assert_null(memory);
    OK(accel_memory_alloc(stream, 64, NULL, &memory));
    OK(accel_memory_free(memory));
    OK(accel_synchronize(device(2)));
}

static int add_mock(void **state)
{
    const accel_backend_table table = mock_table();
    return accel__registry_add(&table, &number) != ACCEL_OK || start_over(state) != 0;
}

/* Streams, memory and the devices below them outlive a shutdown: nothing is opened or made again. */
static void test_shutdown_leaves_devices_open(void **state)
{
    (void)state;
    accel_stream *stream = NULL;
    accel_stream *usual = NULL;
    void *memory = NULL;
    OK(accel_stream_create(device(2), NULL, &stream));
    OK(accel_stream_default(device(2), &usual));
    OK(accel_memory_alloc(usual, 64, NULL, &memory));
    const unsigned opened = mock.calls[MOCK_OPEN];
    const unsigned streams = mock.calls[MOCK_STREAM_CREATE];
    for (int round = 1; round <= 3; round++) {
        const unsigned stops = mock.calls[MOCK_STOP];
        OK(accel_shutdown());
        assert_true(mock.calls[MOCK_STOP] > stops);
        OK(accel_fill(memory, "", 1, 64, stream));
        OK(accel_fill(memory, "", 1, 64, usual));
        OK(accel_synchronize(device(2)));
    }
    assert_int_equal(mock.calls[MOCK_OPEN], opened);
    assert_int_equal(mock.calls[MOCK_STREAM_CREATE], streams);
    OK(accel_memory_free(memory));
    accel_stream_release(stream);
}

/* A capture forbids the wait: its backend's streams may be at work, so that it must not be stopped. */
static void test_a_refused_shutdown_stops_nothing(void **state)
{
    (void)state;
    accel_stream *stream = NULL;
    accel_graph *graph = NULL;
    OK(accel_stream_create(device(2), NULL, &stream));
    OK(accel_graph_create(device(2), NULL, &graph));
    OK(accel_graph_capture_begin(graph, stream, ACCEL_CAPTURE_MODE_GLOBAL));
    const unsigned stops = mock.calls[MOCK_STOP];
    assert_int_equal(accel_shutdown(), ACCEL_ERROR_CAPTURE);
    assert_int_equal(mock.calls[MOCK_STOP], stops);
    (void)accel_graph_capture_end(graph, stream); /* spoilt by the call that was refused */
    OK(accel_shutdown());
    assert_int_equal(mock.calls[MOCK_STOP], stops + 1);
    accel_graph_release(graph);
    accel_stream_release(stream);
}

int main(void)
{
    test_environment(1);
    setenv("ACCEL_ALLOC_CONF", "caching:False", 1); /* the mock counts the driver's calls */
#define FRESH(name) cmocka_unit_test_setup(name, start_over)
    const struct CMUnitTest tests[] = {
        FRESH(test_questions_do_not_start),
        FRESH(test_a_failed_start_is_not_remembered),
        FRESH(test_no_device_is_unavailable),
        FRESH(test_cannot_tell_is_said),
        FRESH(test_the_count_freezes_at_the_start),
        FRESH(test_sixteen_threads_start_once),
        FRESH(test_no_call_is_lost_or_run_twice),
        FRESH(test_a_long_queue_of_seeds_stays_short),
        FRESH(test_device_one_alone_is_opened),
        FRESH(test_a_failed_open_is_tried_again),
        FRESH(test_shutdown_leaves_devices_open),
        FRESH(test_a_refused_shutdown_stops_nothing),
        FRESH(test_sixteen_threads_open_a_device_once),
        FRESH(test_two_hundred_devices),
    };
    return cmocka_run_group_tests(tests, add_mock, NULL);
}
