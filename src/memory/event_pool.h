/* event_pool.h: native events for marks in streams, kept for the next mark instead of destroyed: making one
 * costs most drivers microseconds. Called by marks.c. */
#ifndef ACCEL_MEMORY_EVENT_POOL_H
#define ACCEL_MEMORY_EVENT_POOL_H

#include "core/device.h"

/* An event without timing of an open device; the driver's failure where it cannot make one. */
accel_status accel__event_draw(accel__device *device, accel_native_event **out_event);

/* Takes it back. What was recorded in it means nothing any more, whether it has passed or not. */
void accel__event_give_back(accel__device *device, accel_native_event *event);

/* Destroys what is kept for the device: accel_empty_cache. */
void accel__events_release(accel__device *device);

#endif
