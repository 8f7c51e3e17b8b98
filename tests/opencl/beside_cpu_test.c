/* beside_cpu_test.c: two backends at once in one process: copies and waits between cpu:0 and opencl:0, and
 * each the current accelerator of a thread of its own. */
#include <pthread.h>

#include "support/check.h"
#include "support/process.h"

enum { SIZE = 3000000, ROUNDS = 20 };

static accel_device opencl;
static accel_device cpu;
static accel_stream *opencl_stream;
static accel_stream *cpu_stream;

static int set_up(void **state)
{
    (void)state;
    OK(accel_stream_create(opencl, NULL, &opencl_stream));
    OK(accel_stream_create(cpu, NULL, &cpu_stream));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    accel_stream_release(opencl_stream);
    accel_stream_release(cpu_stream);
    return 0;
}

static void copies(void **state)
{
    static unsigned char host[SIZE];
    void *there = NULL;
    void *here = NULL;
    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        host[i] = (unsigned char)(i * 7 + i / 251);
    OK(accel_memory_alloc(opencl_stream, SIZE, NULL, &there));
    OK(accel_memory_alloc(cpu_stream, SIZE, NULL, &here));
    OK(accel_copy(here, host, SIZE, cpu_stream));
    OK(accel_copy(there, here, SIZE, cpu_stream)); /* on the source's stream */
    OK(accel_stream_synchronize(cpu_stream));
    OK(accel_fill(here, "\0\0\0\0", 4, SIZE, cpu_stream));
    OK(accel_stream_synchronize(cpu_stream));
    OK(accel_copy(here, there, SIZE, opencl_stream)); /* and on the other one's */
    OK(accel_stream_synchronize(opencl_stream));
    memset(host, 0, SIZE);
    OK(accel_copy(host, here, SIZE, cpu_stream));
    OK(accel_stream_synchronize(cpu_stream));
    for (size_t i = 0; i < SIZE; i++)
        if (host[i] != (unsigned char)(i * 7 + i / 251))
            fail_msg("byte %zu is %u", i, host[i]);
    OK(accel_memory_free(here));
    OK(accel_memory_free(there));
}

/* A callback that takes its time, so that what waits for it is seen to wait. */
static void slow(accel_stream *stream, accel_status status, void *user)
{
    (void)stream;
    (void)status;
    test_nap_ms(30);
    *(bool *)user = true;
}

static void wait_for(accel_stream *first, accel_device first_device, accel_stream *second)
{
    static bool passed;
    accel_event *event = NULL;
    passed = false;
    OK(accel_event_create(first_device, NULL, &event));
    OK(accel_stream_add_callback(first, slow, &passed));
    OK(accel_event_record(event, first));
    OK(accel_stream_wait_event(second, event));
    OK(accel_stream_synchronize(second));
    assert_true(passed);
    accel_event_release(event);
}

static void waits(void **state)
{
    (void)state;
    wait_for(opencl_stream, opencl, cpu_stream);
    wait_for(cpu_stream, cpu, opencl_stream);
}

/* Works on the current accelerator of its thread. */
static void *work(void *user)
{
    const accel_device mine = *(const accel_device *)user;
    accel_device now;
    if (accel_set_device_index(mine) != ACCEL_OK)
        return "set";
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        void *memory = NULL;
        uint32_t got[100] = {0};
        if (accel_current_accelerator(true, &now) != ACCEL_OK || now.backend != mine.backend)
            return "current";
        if (accel_memory_alloc(NULL, sizeof got, NULL, &memory) != ACCEL_OK ||
            accel_fill(memory, &round, 4, sizeof got, NULL) != ACCEL_OK ||
            accel_copy(got, memory, sizeof got, NULL) != ACCEL_OK ||
            accel_synchronize(ACCEL_DEVICE_CURRENT) != ACCEL_OK ||
            accel_memory_free(memory) != ACCEL_OK)
            return "work";
        if (got[0] != round || got[99] != round)
            return "result";
    }
    return NULL;
}

static void one_thread_each(void **state)
{
    pthread_t threads[4];
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, i % 2 ? &cpu : &opencl), 0);
    for (int i = 0; i < 4; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        if (failed != NULL)
            fail_msg("thread %d: %s", i, (const char *)failed);
    }
}

/* Of every pair of devices of all drivers: what one stream waits for on another device, whatever driver
 * that belongs to. */
static void waits_between_all(void **state)
{
    int32_t count = 0;
    (void)state;
    OK(accel_device_count(opencl.backend, &count));
    if (count < 2)
        skip();
    for (int32_t a = 0; a < count; a++)
        for (int32_t b = 0; b < count; b++) {
            accel_stream *first = NULL;
            accel_stream *second = NULL;
            OK(accel_stream_create(ACCEL_DEVICE(opencl.backend, a), NULL, &first));
            OK(accel_stream_create(ACCEL_DEVICE(opencl.backend, b), NULL, &second));
            wait_for(first, ACCEL_DEVICE(opencl.backend, a), second);
            accel_stream_release(first);
            accel_stream_release(second);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(copies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_thread_each, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waits_between_all, set_up, tear_down),
    };
    int32_t count = 0;
    test_environment(1);
    cpu = test_cpu_device(0);
    if (accel_backend_find("opencl", &opencl.backend) != ACCEL_OK ||
        accel_device_count(opencl.backend, &count) != ACCEL_OK || count == 0)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
