/* threads_test.c: several threads share streams, events and devices; each has its own "current".
 * Also run under ThreadSanitizer. */
#include <pthread.h>
#include <stdlib.h>

#include "support/two_devices.h"

enum { THREADS = 6, ROUNDS = 300 };

static accel_stream *shared;
static accel_event *event;

typedef struct worker {
    pthread_t thread;
    uint32_t number;
    int result;
} worker;

static void run_all(void *(*entry)(void *), worker *workers)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].result = 1;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, entry, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(workers[i].result, 0);
}

#define THREAD_TEST(name)                                                                          \
    static void *name##_entry(void *user)                                                          \
    {                                                                                              \
        worker *self = user;                                                                       \
        self->result = name(self);                                                                 \
        return NULL;                                                                               \
    }                                                                                              \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        static worker workers[THREADS];                                                            \
        run_all(name##_entry, workers);                                                            \
    }

/* All queue on one stream: nothing is lost, and each thread's own work is in its order. */
static test_log log_of_all;

static int one_stream(worker *self)
{
    for (uint32_t i = 0; i < ROUNDS; i++)
        CHECK_QUIET(test_launch_append(&on[0], shared, &log_of_all, self->number << 16 | i) ==
                    ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(shared) == ACCEL_OK);
    return 0;
}
THREAD_TEST(one_stream)

static void test_the_log_of_one_stream(void **state)
{
    (void)state;
    assert_int_equal(log_of_all.count, THREADS * ROUNDS);
    uint32_t next[THREADS] = {0};
    for (uint32_t i = 0; i < THREADS * ROUNDS; i++) {
        const uint32_t thread = log_of_all.values[i] >> 16;
        assert_int_equal(log_of_all.values[i] & 0xffff, next[thread]++);
    }
}

/* Own streams that wait for each other through events; every thread's sum must come out. */
static int own_streams(worker *self)
{
    const int32_t index = (int32_t)(self->number & 1);
    accel_stream *stream = NULL;
    accel_event *mark = NULL;
    void *memory = NULL;
    uint32_t back[64];
    const uint32_t zero = 0;
    CHECK_QUIET(accel_stream_create(test_cpu_device(index), NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_event_create(test_cpu_device(index), NULL, &mark) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, sizeof back, NULL, &memory) == ACCEL_OK);
    CHECK_QUIET(accel_fill(memory, &zero, 4, sizeof back, stream) == ACCEL_OK);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        CHECK_QUIET(test_launch_add(&on[index], stream, memory, 64, 1) == ACCEL_OK);
        CHECK_QUIET(accel_event_record(mark, stream) == ACCEL_OK);
        if (i % 16 == 0)
            CHECK_QUIET(accel_stream_wait_event(shared, mark) == ACCEL_OK);
        bool done;
        CHECK_QUIET(accel_event_query(mark, &done) == ACCEL_OK);
    }
    CHECK_QUIET(accel_copy(back, memory, sizeof back, stream) == ACCEL_OK);
    CHECK_QUIET(accel_event_synchronize(mark) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    for (int i = 0; i < 64; i++)
        CHECK_QUIET(back[i] == ROUNDS);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    accel_event_release(mark);
    accel_stream_release(stream);
    return 0;
}
THREAD_TEST(own_streams)

/* One event that all record, query, wait for and synchronize at once. */
static int one_event(worker *self)
{
    accel_stream *stream = NULL;
    CHECK_QUIET(accel_stream_create(test_cpu_device(0), NULL, &stream) == ACCEL_OK);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        bool done;
        switch ((i + self->number) % 4) {
        case 0:
            CHECK_QUIET(test_launch_nothing(&on[0], stream) == ACCEL_OK);
            CHECK_QUIET(accel_event_record(event, stream) == ACCEL_OK);
            break;
        case 1:
            CHECK_QUIET(accel_event_query(event, &done) == ACCEL_OK);
            break;
        case 2:
            CHECK_QUIET(accel_stream_wait_event(stream, event) == ACCEL_OK);
            break;
        default:
            CHECK_QUIET(accel_event_synchronize(event) == ACCEL_OK);
            break;
        }
    }
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    accel_stream_release(stream);
    return 0;
}
THREAD_TEST(one_event)

/* Memory is taken on one thread's stream and given back by whoever. */
static int memory_of_all(worker *self)
{
    static _Atomic(uintptr_t) exchange_box[16];
    uint32_t random = self->number + 1;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        random = random * 1664525u + 1013904223u;
        void *memory = NULL;
        CHECK_QUIET(accel_memory_alloc(NULL, 1 + (random >> 8) % 3000, NULL, &memory) == ACCEL_OK);
        accel_pointer_information information = {.struct_size = sizeof information};
        CHECK_QUIET(accel_pointer_info(memory, &information) == ACCEL_OK);
        CHECK_QUIET(information.base == memory);
        *(unsigned char *)memory = (unsigned char)i;
        memory = (void *)atomic_exchange(&exchange_box[random >> 28], (uintptr_t)memory);
        CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    }
    for (int i = 0; i < 16; i++)
        CHECK_QUIET(accel_memory_free((void *)atomic_exchange(&exchange_box[i], 0)) == ACCEL_OK);
    return 0;
}
THREAD_TEST(memory_of_all)

static int own_current(worker *self)
{
    const int32_t mine = (int32_t)(self->number & 1);
    accel_stream *stream = NULL;
    CHECK_QUIET(accel_stream_create(test_cpu_device(mine), NULL, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_set_stream(stream) == ACCEL_OK);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        int32_t index = -1;
        accel_stream *found = NULL;
        CHECK_QUIET(accel_current_device_index(test_cpu(), &index) == ACCEL_OK && index == mine);
        CHECK_QUIET(accel_current_stream(ACCEL_DEVICE_CURRENT, &found) == ACCEL_OK);
        CHECK_QUIET(found == stream);
        accel_device_scope scope;
        CHECK_QUIET(accel_device_index_begin(test_cpu_device(1 - mine), &scope) == ACCEL_OK);
        CHECK_QUIET(accel_current_device_index(test_cpu(), &index) == ACCEL_OK);
        CHECK_QUIET(index == 1 - mine);
        accel_device_index_end(&scope);
        /* Errors are of the thread, too. */
        CHECK_QUIET(accel_set_device_index(test_cpu_device(100 + mine)) != ACCEL_OK);
        char number[8];
        snprintf(number, sizeof number, "%d", 100 + mine);
        CHECK_QUIET(strstr(accel_last_error_message(), number) != NULL);
    }
    accel_stream_release(stream);
    return 0;
}
THREAD_TEST(own_current)

/* References taken and dropped on all threads, the last one anywhere. */
static int references(worker *self)
{
    (void)self;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        accel_stream_retain(shared);
        accel_event_retain(event);
        accel_module_retain(on[0].module);
        CHECK_QUIET(test_launch_nothing(&on[0], shared) == ACCEL_OK);
        accel_stream_release(shared);
        accel_event_release(event);
        accel_module_release(on[0].module);
    }
    return accel_synchronize(test_cpu_device(0)) != ACCEL_OK;
}
THREAD_TEST(references)

/* Streams are made, used and dropped with work pending while others wait for the whole device. */
static int streams_come_and_go(worker *self)
{
    static test_log log;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (self->number % 3 == 0) {
            CHECK_QUIET(accel_synchronize(test_cpu_device(0)) == ACCEL_OK);
            continue;
        }
        accel_stream *stream = NULL;
        CHECK_QUIET(accel_stream_create(test_cpu_device(0), NULL, &stream) == ACCEL_OK);
        CHECK_QUIET(test_launch_append(&on[0], stream, &log, i) == ACCEL_OK);
        accel_stream_retain(stream);
        accel_stream_release(stream);
        accel_stream_release(stream);
    }
    CHECK_QUIET(accel_synchronize(test_cpu_device(0)) == ACCEL_OK);
    return 0;
}
THREAD_TEST(streams_come_and_go)

/* accel_shutdown is no end: who works meanwhile goes on working. */
static int shutdown_meanwhile(worker *self)
{
    const uint32_t zero = 0;
    for (uint32_t i = 0; i < ROUNDS / 3; i++) {
        if (self->number == 0) {
            CHECK_QUIET(accel_shutdown() == ACCEL_OK);
            continue;
        }
        accel_stream *stream = NULL;
        void *memory = NULL;
        uint32_t back = 0;
        CHECK_QUIET(accel_stream_create(test_cpu_device(1), NULL, &stream) == ACCEL_OK);
        CHECK_QUIET(accel_memory_alloc(stream, 4, NULL, &memory) == ACCEL_OK);
        CHECK_QUIET(accel_fill(memory, &zero, 4, 4, stream) == ACCEL_OK);
        CHECK_QUIET(test_launch_add(&on[1], stream, memory, 1, i) == ACCEL_OK);
        CHECK_QUIET(accel_copy(&back, memory, 4, stream) == ACCEL_OK);
        CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK && back == i);
        CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
        accel_stream_release(stream);
    }
    return 0;
}
THREAD_TEST(shutdown_meanwhile)

/* An event that is not bound yet, recorded by all at once: one device gets it, the others are told. */
static accel_event *unbound;
static _Atomic(uint32_t) bound_by;

static int binding(worker *self)
{
    const int32_t mine = (int32_t)(self->number & 1);
    accel_stream *stream = NULL;
    accel_device device;
    CHECK_QUIET(accel_stream_default(test_cpu_device(mine), &stream) == ACCEL_OK);
    const accel_status status = accel_event_record(unbound, stream);
    CHECK_QUIET(status == ACCEL_OK || status == ACCEL_ERROR_MISMATCH);
    CHECK_QUIET(accel_event_get_device(unbound, &device) == ACCEL_OK);
    CHECK_QUIET((device.index == mine) == (status == ACCEL_OK));
    atomic_fetch_or(&bound_by, status == ACCEL_OK ? 1u << mine : 0u);
    return accel_event_synchronize(unbound) != ACCEL_OK;
}
THREAD_TEST(binding)

static void test_an_event_is_bound_once(void **state)
{
    for (int turn = 0; turn < 100; turn++) {
        bound_by = 0;
        OK(accel_event_create(ACCEL_DEVICE(test_cpu(), ACCEL_INDEX_NONE), NULL, &unbound));
        test_binding(state);
        assert_true(bound_by == 1 || bound_by == 2);
        accel_event_release(unbound);
    }
}

/* Modules come and go while other threads launch. */
static int modules(worker *self)
{
    static test_log log;
    for (uint32_t i = 0; i < 30; i++) {
        test_kernels own;
        CHECK_QUIET(test_kernels_load(test_cpu_device(0), &own) == ACCEL_OK);
        CHECK_QUIET(test_launch_append(&own, shared, &log, self->number) == ACCEL_OK);
        test_kernels_unload(&own);
    }
    return accel_stream_synchronize(shared) != ACCEL_OK;
}
THREAD_TEST(modules)

static int set_up(void **state)
{
    if (test_two_devices_set_up(state) != 0)
        return 1;
    shared = stream_on[0];
    return accel_event_create(test_cpu_device(0), NULL, &event) != ACCEL_OK;
}

static int tear_down(void **state)
{
    accel_event_release(event);
    return test_two_devices_tear_down(state);
}

int main(void)
{
    test_environment(2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_stream),
        cmocka_unit_test(test_the_log_of_one_stream),
        cmocka_unit_test(test_own_streams),
        cmocka_unit_test(test_one_event),
        cmocka_unit_test(test_memory_of_all),
        cmocka_unit_test(test_own_current),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_streams_come_and_go),
        cmocka_unit_test(test_modules),
        cmocka_unit_test(test_shutdown_meanwhile),
        cmocka_unit_test(test_an_event_is_bound_once),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
