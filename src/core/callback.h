/* callback.h: host callbacks, and their stand-in for backends that have none of their own: a thread
 * that watches an event for each callback. */
#ifndef ACCEL_CORE_CALLBACK_H
#define ACCEL_CORE_CALLBACK_H

#include "core/stream.h"

/* accel_stream_add_callback for a ready stream, whatever is captured on it. */
accel_status accel__callback_queue(accel_stream *stream, accel_native_stream *native,
                                   accel_stream_callback call, void *user);

/* How many callbacks of the stream the stand-in has still to call; those that a fork cut off are none. */
uint32_t accel__callbacks_pending(const accel_stream *stream);

/* A mark behind the callbacks that were queued for the stream so far, and the wait until the stand-in has
 * called those: later ones do not hold it up. */
uint32_t accel__callbacks_mark(const accel_stream *stream);
void accel__callbacks_wait(accel_stream *stream, uint32_t mark);

#endif
