/* mixed_test.c: two backends in one process: cpu, and the mock, whose memory the host cannot touch and
 * which has none of the optional groups. Copies go through host memory, waits through the host. */
#include <pthread.h>
#include <stdlib.h>

#include "doubles/mock_backend.h"
#include "support/check.h"
#include "support/kernels.h"
#include "support/process.h"

#include "core/registry.h"

static accel_backend number;
static test_kernels kernels;
static accel_stream *on_cpu;
static accel_stream *on_mock;

static accel_device mock_device(int32_t index)
{
    return ACCEL_DEVICE(number, index);
}

static void *allocate(accel_stream *stream, size_t size)
{
    void *memory = NULL;
    OK(accel_memory_alloc(stream, size, NULL, &memory));
    return memory;
}

static void pattern(unsigned char *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 7 + seed + (i >> 9));
}

static void test_both_are_there(void **state)
{
    (void)state;
    accel_backend found = 0;
    OK(accel_backend_find("mock", &found));
    assert_int_equal(found, number);
    accel_pointer_information information = {.struct_size = sizeof information};
    unsigned char *memory = allocate(on_mock, 100);
    OK(accel_pointer_info(memory + 1, &information));
    assert_int_equal(information.device.backend, number);
    assert_false(information.host_readable);
    OK(accel_memory_free(memory));
}

/* ---- what is current, with two backends ---- */

static accel_backend current_backend(void)
{
    accel_device device;
    OK(accel_current_accelerator(false, &device));
    assert_int_equal(device.index, ACCEL_INDEX_NONE);
    return device.backend;
}

static int32_t current_index(accel_backend backend)
{
    int32_t index = -1;
    OK(accel_current_device_index(backend, &index));
    return index;
}

static void test_each_backend_has_its_own_index(void **state)
{
    (void)state;
    assert_int_equal(current_backend(), test_cpu()); /* by rank */
    OK(accel_set_device_index(mock_device(1)));
    assert_int_equal(current_backend(), number);
    assert_int_equal(current_index(number), 1);
    assert_int_equal(current_index(test_cpu()), 0);
    assert_int_equal(current_index(ACCEL_BACKEND_CURRENT), 1);
    accel_device previous;
    OK(accel_exchange_device(test_cpu_device(0), &previous));
    assert_int_equal(previous.backend, test_cpu()); /* that backend's previous one */
    assert_int_equal(current_backend(), test_cpu());
    assert_int_equal(current_index(number), 1);
    OK(accel_set_current_accelerator(number));
    accel_stream *stream = NULL;
    accel_device device;
    OK(accel_current_stream(ACCEL_DEVICE_CURRENT, &stream));
    OK(accel_stream_get_device(stream, &device));
    assert_true(device.backend == number && device.index == 1);
    OK(accel_set_device_index(mock_device(0)));
    OK(accel_set_current_accelerator(ACCEL_BACKEND_NONE));
    assert_int_equal(current_backend(), test_cpu());
}

static void test_scopes_over_backends(void **state)
{
    (void)state;
    accel_device_scope scope;
    accel_stream_scope stream_scope;
    accel_stream *found = NULL;
    accel_stream *plain = NULL;
    OK(accel_device_index_begin(mock_device(1), &scope));
    assert_int_equal(current_backend(), number);
    OK(accel_stream_scope_begin(on_cpu, &stream_scope));
    assert_int_equal(current_backend(), test_cpu());
    OK(accel_current_stream(ACCEL_DEVICE_CURRENT, &found));
    assert_ptr_equal(found, on_cpu);
    OK(accel_set_stream(on_mock));
    accel_stream_scope_end(&stream_scope);
    assert_int_equal(current_backend(), number);
    assert_int_equal(current_index(number), 1);
    accel_device_index_end(&scope);
    assert_int_equal(current_backend(), test_cpu());
    assert_int_equal(current_index(number), 0);
    OK(accel_stream_default(test_cpu_device(0), &plain));
    OK(accel_current_stream(test_cpu_device(0), &found));
    assert_ptr_equal(found, plain);
    OK(accel_set_current_accelerator(ACCEL_BACKEND_NONE));
    OK(accel_stream_default(mock_device(0), &plain));
    OK(accel_current_stream(mock_device(0), &found));
    if (found != plain) { /* what the body set on a third device is the thread's */
        assert_ptr_equal(found, on_mock);
        OK(accel_set_stream(plain));
    }
    OK(accel_set_device_index(test_cpu_device(0)));
}

static void copy_over(size_t size, accel_stream *through)
{
    unsigned char *source = malloc(size);
    unsigned char *back = calloc(1, size);
    unsigned char *here = allocate(on_cpu, size);
    unsigned char *there = allocate(on_mock, size);
    pattern(source, size, (unsigned)size);
    OK(accel_copy(here, source, size, on_cpu));
    OK(accel_stream_synchronize(on_cpu));
    OK(accel_copy(there, here, size, through));
    OK(accel_stream_synchronize(through));
    OK(accel_copy(back, there, size, on_mock));
    OK(accel_stream_synchronize(on_mock));
    assert_int_equal(memcmp(source, back, size), 0);
    memset(here, 0, size);
    OK(accel_copy(here, there, size, through));
    OK(accel_stream_synchronize(through));
    assert_int_equal(memcmp(source, here, size), 0);
    OK(accel_memory_free(here));
    OK(accel_memory_free(there));
    free(source);
    free(back);
}

static void test_copies_between_backends(void **state)
{
    (void)state;
    const size_t sizes[] = {1, 1000, 65536, 65537, (size_t)9 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        copy_over(sizes[i], on_cpu);
        copy_over(sizes[i], on_mock);
    }
}

static void test_rows_between_backends(void **state)
{
    (void)state;
    enum { WIDTH = 100, HEIGHT = 50, PITCH = 128 };
    static unsigned char source[WIDTH * HEIGHT];
    static unsigned char back[WIDTH * HEIGHT];
    unsigned char *here = allocate(on_cpu, (size_t)PITCH * HEIGHT);
    unsigned char *there = allocate(on_mock, (size_t)(PITCH + 3) * HEIGHT);
    pattern(source, sizeof source, 4);
    OK(accel_copy_2d(here, PITCH, source, WIDTH, WIDTH, HEIGHT, on_cpu));
    OK(accel_stream_synchronize(on_cpu));
    OK(accel_copy_2d(there, PITCH + 3, here, PITCH, WIDTH, HEIGHT, on_mock));
    OK(accel_copy_2d(back, WIDTH, there, PITCH + 3, WIDTH, HEIGHT, on_mock));
    OK(accel_stream_synchronize(on_mock));
    assert_memory_equal(source, back, sizeof source);
    OK(accel_memory_free(here));
    OK(accel_memory_free(there));
}

/* The copy is behind what is on its stream, and what comes later is behind the copy. */
static void test_a_staged_copy_is_in_order(void **state)
{
    (void)state;
    uint32_t *here = allocate(on_cpu, 4 * 64);
    void *there = allocate(on_mock, 4 * 64);
    uint32_t back[64];
    const uint32_t zero = 0;
    OK(accel_fill(here, &zero, 4, 4 * 64, on_cpu));
    for (uint32_t i = 1; i <= 20; i++) {
        OK(test_launch_add(&kernels, on_cpu, here, 64, 1));
        OK(accel_copy(there, here, 4 * 64, on_cpu));
        OK(test_launch_add(&kernels, on_cpu, here, 64, 1000));
        OK(accel_stream_wait_stream(on_mock, on_cpu));
        OK(accel_copy(back, there, 4 * 64, on_mock));
        OK(accel_stream_synchronize(on_mock));
        assert_int_equal(back[63], i + 1000 * (i - 1));
    }
    OK(accel_memory_free(here));
    OK(accel_memory_free(there));
}

static void test_streams_of_the_wrong_backend(void **state)
{
    (void)state;
    unsigned char host[16] = {0};
    void *here = allocate(on_cpu, 16);
    void *there = allocate(on_mock, 16);
    accel_event *event = NULL;
    FAILS(accel_copy(here, host, 16, on_mock), ACCEL_ERROR_MISMATCH, "accel_copy");
    FAILS(accel_copy(there, host, 16, on_cpu), ACCEL_ERROR_MISMATCH, "accel_copy");
    FAILS(accel_fill(there, host, 1, 16, on_cpu), ACCEL_ERROR_MISMATCH, "accel_fill");
    FAILS(test_launch_nothing(&kernels, on_mock), ACCEL_ERROR_MISMATCH, "accel_kernel_launch");
    OK(accel_event_create(ACCEL_DEVICE(number, ACCEL_INDEX_NONE), NULL, &event));
    FAILS(accel_event_record(event, on_cpu), ACCEL_ERROR_MISMATCH, "accel_event_record");
    OK(accel_event_record(event, on_mock));
    accel_event_release(event);
    OK(accel_memory_free(here));
    OK(accel_memory_free(there));
}

static void test_memory_used_on_a_stream_of_the_other(void **state)
{
    (void)state;
    void *here = allocate(on_cpu, 4096);
    void *there = allocate(on_mock, 4096);
    test_gate gate = {0};
    const unsigned before = mock.calls[MOCK_FREE];
    OK(test_launch_gate(&kernels, on_cpu, &gate));
    OK(accel_record_stream(there, on_cpu)); /* a free of the mock's memory waits for the cpu */
    OK(accel_memory_free(there));
    OK(accel_synchronize(mock_device(0)));
    assert_int_equal(mock.calls[MOCK_FREE], before);
    test_gate_open(&gate);
    OK(accel_stream_synchronize(on_cpu));
    OK(accel_synchronize(mock_device(0)));
    OK(accel_memory_free(here));
    OK(accel_synchronize(test_cpu_device(0)));
    assert_int_equal(mock.calls[MOCK_FREE], before + 1);
}

/* ---- waits between backends go through the host ---- */

typedef struct waiting {
    accel_event *event;
    accel_status status;
    _Atomic(bool) returned;
} waiting;

static void *wait_here(void *user)
{
    waiting *self = user;
    self->status = accel_stream_wait_event(on_mock, self->event);
    atomic_store(&self->returned, true);
    return NULL;
}

static void test_a_stream_waits_for_an_event_of_the_other_backend(void **state)
{
    (void)state;
    uint32_t *here = allocate(on_cpu, 4);
    void *there = allocate(on_mock, 4);
    uint32_t back = 0;
    const uint32_t zero = 0;
    waiting wait = {.event = NULL};
    test_gate gate = {0};
    pthread_t thread;
    OK(accel_event_create(test_cpu_device(0), NULL, &wait.event));
    OK(accel_fill(here, &zero, 4, 4, on_cpu));
    OK(test_launch_gate(&kernels, on_cpu, &gate));
    OK(test_launch_add(&kernels, on_cpu, here, 1, 55));
    OK(accel_event_record(wait.event, on_cpu));
    assert_int_equal(pthread_create(&thread, NULL, wait_here, &wait), 0);
    test_nap_ms(10);
    test_gate_open(&gate);
    pthread_join(thread, NULL);
    OK(wait.status);
    OK(accel_copy(there, here, 4, on_mock));
    OK(accel_copy(&back, there, 4, on_mock));
    OK(accel_stream_synchronize(on_mock));
    assert_int_equal(back, 55);
    accel_event_release(wait.event);
    OK(accel_memory_free(here));
    OK(accel_memory_free(there));
}

static void test_the_cpu_waits_for_the_mock(void **state)
{
    (void)state;
    accel_stream *held = NULL;
    accel_event *event = NULL;
    mock_hold_new_streams(true);
    OK(accel_stream_create(mock_device(0), NULL, &held));
    mock_hold_new_streams(false);
    OK(accel_event_create(mock_device(0), NULL, &event));
    OK(accel_event_record(event, held));
    bool done = true;
    OK(accel_event_query(event, &done));
    assert_false(done);
    mock_release_all();
    OK(accel_stream_wait_event(on_cpu, event));
    OK(test_launch_nothing(&kernels, on_cpu));
    OK(accel_stream_synchronize(on_cpu));
    OK(accel_event_query(event, &done));
    assert_true(done);
    accel_event_release(event);
    accel_stream_release(held);
}

/* ---- the stand-ins ---- */

static const char *no_work(const accel_cpu_launch *launch, uint64_t first, uint64_t last)
{
    (void)launch, (void)first, (void)last;
    return NULL;
}

static void test_what_the_mock_lacks_is_unsupported(void **state)
{
    (void)state;
    const accel_event_options timed = {.struct_size = sizeof timed, .enable_timing = true};
    const accel_cpu_kernel table = {.name = "x", .function = no_work};
    accel_event *event = NULL;
    accel_module *module = NULL;
    void *handle = NULL;
    FAILS(accel_event_create(mock_device(0), &timed, &event), ACCEL_ERROR_UNSUPPORTED,
          "accel_event_create");
    FAILS(accel_stream_get_native_handle(on_mock, &handle), ACCEL_ERROR_UNSUPPORTED,
          "accel_stream_get_native_handle");
    FAILS(accel_module_create_from_functions(mock_device(0), &table, 1, &module),
          ACCEL_ERROR_UNSUPPORTED, "accel_module_create_from_functions");
    assert_null(module);
    OK(accel_event_create(mock_device(0), NULL, &event));
    OK(accel_event_record(event, on_mock));
    FAILS(accel_event_get_native_handle(event, &handle), ACCEL_ERROR_UNSUPPORTED,
          "accel_event_get_native_handle");
    accel_event_release(event);
}

static _Atomic(int) calls;

static void count_call(accel_stream *stream, accel_status status, void *user)
{
    (void)stream;
    (void)user;
    if (status == ACCEL_OK)
        atomic_fetch_add(&calls, 1);
}

static void test_callbacks_of_the_stand_in(void **state)
{
    (void)state;
    accel_stream *held = NULL;
    calls = 0;
    mock_hold_new_streams(true);
    OK(accel_stream_create(mock_device(0), NULL, &held));
    mock_hold_new_streams(false);
    for (int i = 0; i < 30; i++) {
        OK(accel_stream_add_callback(held, count_call, NULL));
        OK(accel_stream_add_callback(on_mock, count_call, NULL));
    }
    OK(accel_stream_synchronize(on_mock));
    assert_int_equal(calls, 30);
    bool done = true;
    OK(accel_stream_query(held, &done));
    assert_false(done);
    mock_release_all();
    OK(accel_stream_synchronize(held));
    assert_int_equal(calls, 60);
    accel_stream_release(held);
}

static void test_pinned_memory_of_the_stand_in(void **state)
{
    (void)state;
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = ACCEL_MEMORY_KIND_PINNED};
    unsigned char *host = NULL;
    void *there = allocate(on_mock, 1000);
    OK(accel_memory_alloc(on_mock, 1000, &options, (void **)&host));
    memset(host, 0x31, 1000);
    OK(accel_copy(there, host, 1000, on_mock));
    OK(accel_stream_synchronize(on_mock));
    memset(host, 0, 1000);
    OK(accel_copy(host, there, 1000, on_mock));
    OK(accel_stream_synchronize(on_mock));
    assert_int_equal(host[999], 0x31);
    OK(accel_memory_free(host));
    OK(accel_memory_free(there));
}

static void test_a_device_without_kernels(void **state)
{
    (void)state;
    accel_module *module = NULL;
    EXPECT(accel_module_create_from_native(mock_device(0), "x", 1, &module),
           ACCEL_ERROR_INVALID_ARGUMENT);
    assert_null(module);
}

/* ---- the backend's failures reach the caller with the vendor's words ---- */

static void expect_vendor(const char *function)
{
    accel_error error = {.struct_size = sizeof error};
    OK(accel_last_error(&error));
    assert_int_equal(error.vendor_code, MOCK_VENDOR_CODE);
    assert_string_equal(error.vendor_message, MOCK_VENDOR_TEXT);
    assert_string_equal(error.backend, "mock");
    assert_non_null(strstr(error.message, function));
}

static void test_failures_of_the_backend(void **state)
{
    (void)state;
    unsigned char host[8] = {0};
    accel_stream *stream = (accel_stream *)host;
    accel_event *event = NULL;
    void *memory = host;
    void *there = allocate(on_mock, 8);
    mock.fail[MOCK_STREAM_CREATE] = 1;
    EXPECT(accel_stream_create(mock_device(0), NULL, &stream), ACCEL_ERROR_DEVICE_FAILED);
    expect_vendor("mockStreamCreate");
    assert_null(stream);
    mock.fail[MOCK_ALLOC] = UINT32_MAX; /* whatever is tried before an allocation fails */
    EXPECT(accel_memory_alloc(on_mock, 8, NULL, &memory), ACCEL_ERROR_OUT_OF_MEMORY);
    mock.fail[MOCK_ALLOC] = 0;
    expect_vendor("8 bytes"); /* of the report */
    assert_null(memory);
    mock.fail[MOCK_COPY] = 1;
    EXPECT(accel_copy(there, host, 8, on_mock), ACCEL_ERROR_DEVICE_FAILED);
    mock.fail[MOCK_FILL] = 1;
    EXPECT(accel_fill(there, host, 8, 8, on_mock), ACCEL_ERROR_DEVICE_FAILED);
    OK(accel_event_create(mock_device(0), NULL, &event));
    mock.fail[MOCK_EVENT_CREATE] = 1;
    EXPECT(accel_event_record(event, on_mock), ACCEL_ERROR_DEVICE_FAILED);
    mock.fail[MOCK_EVENT_RECORD] = 1;
    EXPECT(accel_event_record(event, on_mock), ACCEL_ERROR_DEVICE_FAILED);
    bool done = false;
    OK(accel_event_query(event, &done)); /* still never recorded */
    assert_true(done);
    OK(accel_event_record(event, on_mock));
    mock.fail[MOCK_EVENT_QUERY] = 1;
    EXPECT(accel_event_query(event, &done), ACCEL_ERROR_DEVICE_FAILED);
    assert_false(done);
    mock.fail[MOCK_STREAM_SYNCHRONIZE] = 1;
    EXPECT(accel_stream_synchronize(on_mock), ACCEL_ERROR_DEVICE_FAILED);
    OK(accel_stream_synchronize(on_mock));
    mock.fail[MOCK_MEMORY_INFO] = 1;
    size_t free_bytes = 1;
    size_t total = 1;
    EXPECT(accel_get_memory_info(mock_device(0), &free_bytes, &total), ACCEL_ERROR_DEVICE_FAILED);
    assert_true(free_bytes == 0 && total == 0);
    accel_event_release(event);
    OK(accel_memory_free(there));
}

static int none_left(void **state)
{
    (void)state;
    accel_stream_release(on_mock);
    accel_stream_release(on_cpu);
    test_kernels_unload(&kernels);
    accel_synchronize(mock_device(0));
    accel_empty_cache();
    /* The device itself stays open, with the core's own default stream, if that was used. */
    if (mock.objects > 2)
        print_error("the mock has %d objects left\n", mock.objects);
    return mock.objects > 2;
}

static int load(void **state)
{
    (void)state;
    const accel_backend_table table = mock_table();
    mock.device_count = 2;
    return accel__registry_add(&table, &number) != ACCEL_OK ||
           test_kernels_load(test_cpu_device(0), &kernels) != ACCEL_OK ||
           accel_stream_create(test_cpu_device(0), NULL, &on_cpu) != ACCEL_OK ||
           accel_stream_create(mock_device(0), NULL, &on_mock) != ACCEL_OK;
}

int main(void)
{
    test_environment(1);
    setenv("ACCEL_ALLOC_CONF", "caching:False", 1); /* the mock counts the driver's calls */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_are_there),
        cmocka_unit_test(test_each_backend_has_its_own_index),
        cmocka_unit_test(test_scopes_over_backends),
        cmocka_unit_test(test_memory_used_on_a_stream_of_the_other),
        cmocka_unit_test(test_copies_between_backends),
        cmocka_unit_test(test_rows_between_backends),
        cmocka_unit_test(test_a_staged_copy_is_in_order),
        cmocka_unit_test(test_streams_of_the_wrong_backend),
        cmocka_unit_test(test_a_stream_waits_for_an_event_of_the_other_backend),
        cmocka_unit_test(test_the_cpu_waits_for_the_mock),
        cmocka_unit_test(test_what_the_mock_lacks_is_unsupported),
        cmocka_unit_test(test_callbacks_of_the_stand_in),
        cmocka_unit_test(test_pinned_memory_of_the_stand_in),
        cmocka_unit_test(test_a_device_without_kernels),
        cmocka_unit_test(test_failures_of_the_backend),
    };
    return cmocka_run_group_tests(tests, load, none_left);
}
