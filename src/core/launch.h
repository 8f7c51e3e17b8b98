/* launch.h: launches in two steps, for graphs and fills: what may be launched, and queueing it. */
#ifndef ACCEL_CORE_LAUNCH_H
#define ACCEL_CORE_LAUNCH_H

#include "core/capture.h"

/* All that accel_kernel_launch checks but the stream. *out_empty: nothing would run. */
accel_status accel__launch_check(const accel_kernel *kernel, const accel_launch_shape *shape,
                                 const accel_kernel_arg *args, uint32_t arg_count, bool *out_empty);

/* Queues what is right, on `native` or into `capture`, as accel__stream_use gave them for the stream. */
accel_status accel__launch_queue(accel_kernel *kernel, accel_stream *stream,
                                 accel_native_stream *native, accel__capture *capture,
                                 const accel_launch_shape *shape, const accel_kernel_arg *args,
                                 uint32_t arg_count);

#endif
