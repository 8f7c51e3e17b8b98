/* await.h: what became of a command that was queued, as its event tells. */
#ifndef ACCEL_BACKENDS_OPENCL_DRIVER_AWAIT_H
#define ACCEL_BACKENDS_OPENCL_DRIVER_AWAIT_H

#include <accel/status.h>
#include <stdbool.h>

#include "backends/opencl/driver/symbols.h"

/* An event's state: CL_COMPLETE, a positive number where it has not passed, or the failure of the work
 * before it. `await` waits until it has passed or failed. What they return is the driver's answer to the
 * question itself: where that is not CL_SUCCESS nothing is known of the work, and `fail_question` records
 * that as CANNOT_TELL, which does not stick. */
cl_int accel__opencl_state(const accel__opencl_api *api, cl_event event, cl_int *out_state);
cl_int accel__opencl_await(const accel__opencl_api *api, cl_event event, cl_int *out_state);
accel_status accel__opencl_fail_question(cl_int code, const char *function);

/* Whether it has passed or failed for certain. */
bool accel__opencl_is_over(const accel__opencl_api *api, cl_event event);

#endif
