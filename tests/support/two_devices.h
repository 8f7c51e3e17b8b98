/* two_devices.h: what tests of streams, events, copies and memory share: two cpu devices, with kernels and
 * a stream of their own on each. */
#ifndef TESTS_SUPPORT_TWO_DEVICES_H
#define TESTS_SUPPORT_TWO_DEVICES_H

#include "support/check.h"
#include "support/kernels.h"

extern test_kernels on[2];         /* the kernels of each device */
extern accel_stream *stream_on[2]; /* a stream of each */

/* Make and release them: for cmocka's groups. */
int test_two_devices_set_up(void **state);
int test_two_devices_tear_down(void **state);

accel_stream *test_stream_make(int32_t index);
accel_stream *test_stream_default(int32_t index); /* lent */
bool test_stream_done(accel_stream *stream);

/* The calling thread's current index of the cpu backend. */
int32_t test_current_index(void);

/* Device 0 and the default streams of both devices are current again. */
void test_back_to_default(void);

#endif
