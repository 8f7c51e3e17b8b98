/* two_devices.c: see two_devices.h. */
#include "support/two_devices.h"

test_kernels on[2];
accel_stream *stream_on[2];

int test_two_devices_set_up(void **state)
{
    (void)state;
    for (int32_t i = 0; i < 2; i++) {
        if (test_kernels_load(test_cpu_device(i), &on[i]) != ACCEL_OK ||
            accel_stream_create(test_cpu_device(i), NULL, &stream_on[i]) != ACCEL_OK)
            return 1;
    }
    return 0;
}

int test_two_devices_tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        test_kernels_unload(&on[i]);
        accel_stream_release(stream_on[i]);
    }
    return 0;
}

accel_stream *test_stream_make(int32_t index)
{
    accel_stream *stream = NULL;
    OK(accel_stream_create(test_cpu_device(index), NULL, &stream));
    assert_non_null(stream);
    return stream;
}

accel_stream *test_stream_default(int32_t index)
{
    accel_stream *stream = NULL;
    OK(accel_stream_default(test_cpu_device(index), &stream));
    return stream;
}

bool test_stream_done(accel_stream *stream)
{
    bool is = false;
    OK(accel_stream_query(stream, &is));
    return is;
}

int32_t test_current_index(void)
{
    int32_t index = -1;
    OK(accel_current_device_index(test_cpu(), &index));
    return index;
}

void test_back_to_default(void)
{
    OK(accel_set_stream(test_stream_default(1)));
    OK(accel_set_stream(test_stream_default(0)));
}
