/* log_test.c: the log callback over the public API: silent by default, hears the start, may not use
 * accel, and stands being changed while others speak (log.h). */
#include <pthread.h>
#include <stdatomic.h>

#include "support/check.h"

static struct {
    _Atomic(int) calls;
    _Atomic(int) of_cpu;
    _Atomic(int) refused;
    char text[600];
} heard;

static void hear(accel_log_level level, const char *backend, const char *text, void *user)
{
    accel_stream *stream = NULL;
    (void)level;
    atomic_fetch_add(&heard.calls, 1);
    atomic_fetch_add(&heard.of_cpu, strcmp(backend, "cpu") == 0);
    if (user == &heard) {
        snprintf(heard.text, sizeof heard.text, "%s", text);
        const accel_status status = accel_stream_create(ACCEL_DEVICE_CURRENT, NULL, &stream);
        atomic_fetch_add(&heard.refused, status == ACCEL_ERROR_IN_CALLBACK);
    }
}

static void test_the_start_is_said(void **state)
{
    (void)state;
    OK(accel_log_set_callback(ACCEL_LOG_LEVEL_DEBUG, hear, &heard));
    OK(accel_initialize(test_cpu()));
    assert_true(heard.of_cpu >= 1);
    assert_int_equal(heard.refused, heard.calls);
    assert_true(heard.text[0] != '\0');
    OK(accel_log_set_callback(ACCEL_LOG_LEVEL_DEBUG, NULL, NULL));
}

static _Atomic(bool) stop;

static void *change_all_the_time(void *user)
{
    (void)user;
    for (int i = 0; i < 500; i++)
        accel_log_set_callback(ACCEL_LOG_LEVEL_DEBUG, i % 2 == 0 ? hear : NULL, NULL);
    atomic_store(&stop, true);
    return NULL;
}

static void test_changed_while_others_speak(void **state)
{
    (void)state;
    pthread_t thread;
    stop = false;
    assert_int_equal(pthread_create(&thread, NULL, change_all_the_time, NULL), 0);
    while (!atomic_load(&stop)) {
        accel_stream *stream = NULL;
        OK(accel_stream_create(test_cpu_device(0), NULL, &stream));
        accel_stream_release(stream);
    }
    pthread_join(thread, NULL);
    OK(accel_log_set_callback(ACCEL_LOG_LEVEL_ERROR, NULL, NULL));
}

int main(void)
{
    test_environment(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_start_is_said),
        cmocka_unit_test(test_changed_while_others_speak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
