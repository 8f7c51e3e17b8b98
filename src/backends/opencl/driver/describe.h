/* describe.h: what a device says of itself. Runs in the helper only: a started backend uses what was
 * reported there. */
#ifndef ACCEL_OPENCL_DESCRIBE_H
#define ACCEL_OPENCL_DESCRIBE_H

#include <accel/backend.h>

#include "backends/opencl/device.h"
#include "backends/opencl/driver/library.h"

/* Fills all of *out_found but the order of its platform: `ordinal` is the driver's own number. Errors:
 * OUT_OF_RANGE for nonsense, the driver's own. */
accel_status accel__opencl_describe(const accel__opencl_platform *platform, cl_device_id device,
                                    int32_t ordinal, accel_backend_found *out_found);

/* The best way to address memory that the device and ACCEL_OPENCL_POINTERS (usm, svm, translate; unset:
 * the best there is) allow, and whether kernels divide exactly. Asked when a device is opened, too. Errors:
 * the driver's own: a lesser way than the one that was reported would be another device. */
accel_status accel__opencl_choose_ways(const accel__opencl_api *api, cl_device_id device,
                                       accel__opencl_pointers *out_pointers,
                                       bool *out_exact_division);

/* selftest.c: whether the device's profiling clock tells the truth. */
bool accel__opencl_clock_is_true(const accel__opencl_platform *platform, cl_device_id device);

/* A queue with the properties, by whichever function the driver has; `priority` is 0 or one of
 * CL_QUEUE_PRIORITY_…_KHR. NULL after a failure, with the code. */
cl_command_queue accel__opencl_create_queue(const accel__opencl_api *api, cl_context context,
                                            cl_device_id device, cl_bitfield properties,
                                            cl_bitfield priority, cl_int *out_code);

#endif
