/* event.h: the native event of this backend: a mark in a stream. */
#ifndef ACCEL_OPENCL_EVENT_H
#define ACCEL_OPENCL_EVENT_H

#include <accel/backend.h>

accel_status accel__opencl_event_create(accel_native_device *device, bool timing,
                                        accel_native_event **out_event);
void accel__opencl_event_destroy(accel_native_event *event);
accel_status accel__opencl_event_record(accel_native_event *event, accel_native_stream *stream);
accel_status accel__opencl_event_query(accel_native_event *event, bool *out_done);
accel_status accel__opencl_event_synchronize(accel_native_event *event);
accel_status accel__opencl_event_wait(accel_native_stream *stream, accel_native_event *event);
accel_status accel__opencl_event_elapsed(accel_native_event *start, accel_native_event *end,
                                         double *out_milliseconds);
accel_status accel__opencl_event_handle(accel_native_event *event, void **out_handle);

#endif
