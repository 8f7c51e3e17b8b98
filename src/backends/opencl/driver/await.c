/* await.c: see await.h. */
#include "backends/opencl/driver/await.h"

#include <time.h>

#include "backends/opencl/device.h"
#include "base/error.h"

cl_int accel__opencl_state(const accel__opencl_api *api, cl_event event, cl_int *out_state)
{
    *out_state = CL_COMPLETE;
    return api->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *out_state,
                               out_state, NULL);
}

/* Some drivers' wait returns before an event that hangs on a user event has passed, and one that is short
 * of something may fail: then it is looked at again, at growing distances. */
cl_int accel__opencl_await(const accel__opencl_api *api, cl_event event, cl_int *out_state)
{
    enum { PAUSE_LEAST_NS = 20000, PAUSE_MOST_NS = 1000000, FAILURES_MAX = 100 };
    struct timespec pause = {.tv_nsec = PAUSE_LEAST_NS};
    for (unsigned failures = 0;;) {
        const cl_int waited = api->clWaitForEvents(1, &event);
        const cl_int asked = accel__opencl_state(api, event, out_state);
        if (asked == CL_SUCCESS && *out_state <= CL_COMPLETE)
            return CL_SUCCESS;
        const cl_int code = asked != CL_SUCCESS ? asked : waited;
        failures += code != CL_SUCCESS;
        if (failures == FAILURES_MAX)
            return code;
        nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < PAUSE_MOST_NS / 2 ? pause.tv_nsec * 2 : PAUSE_MOST_NS;
    }
}

accel_status accel__opencl_fail_question(cl_int code, const char *function)
{
    const char *name = accel__opencl_code_name(code);
    return accel__fail_vendor(ACCEL_ERROR_CANNOT_TELL, "opencl", function, code, name,
                              "the driver cannot tell whether the work has passed: %s (%d); ask "
                              "again",
                              name, code);
}

bool accel__opencl_is_over(const accel__opencl_api *api, cl_event event)
{
    cl_int state = CL_COMPLETE;
    return accel__opencl_state(api, event, &state) == CL_SUCCESS && state <= CL_COMPLETE;
}
