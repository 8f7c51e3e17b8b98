/* event.c: see event.h. A mark is the OpenCL event of the command that stands last in the stream: all
 * before it has passed when it has. Only a measured one, or one in a stream that is still empty, needs
 * a command of its own. */
#include "backends/opencl/queue/event.h"

#include "backends/opencl/driver/await.h"
#include "backends/opencl/queue/gate.h"
#include "backends/opencl/queue/stream.h"
#include "base/allocate.h"
#include "base/error.h"

typedef struct event {
    accel__opencl_device *device;
    bool timing;
    accel__mutex mutex; /* guards `mark`. A leaf. */
    cl_event mark;      /* NULL: never recorded */
} event;

accel_status accel__opencl_event_create(accel_native_device *native, bool timing,
                                        accel_native_event **out_event)
{
    accel__opencl_device *device = (accel__opencl_device *)native;
    if (timing && !device->timing)
        return accel__fail(ACCEL_ERROR_UNSUPPORTED, "opencl", "accel_event_create",
                           "the clock of '%s' cannot be believed: there is no event timing",
                           device->found->info.name);
    event *made = accel__allocate(sizeof *made);
    if (made == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "opencl", "accel_event_create",
                           "no memory for an event");
    made->device = device;
    made->timing = timing;
    *out_event = (accel_native_event *)made;
    return ACCEL_OK;
}

void accel__opencl_event_destroy(accel_native_event *native)
{
    event *given = (event *)native;
    if (given->mark != NULL)
        given->device->api->clReleaseEvent(given->mark);
    accel__deallocate(given);
}

/* The mark, retained; NULL: never recorded, or it cannot be retained. */
static cl_int retain_mark(event *given, cl_event *out_mark)
{
    accel__mutex_lock(&given->mutex);
    cl_event mark = given->mark;
    const cl_int code = mark != NULL ? given->device->api->clRetainEvent(mark) : CL_SUCCESS;
    accel__mutex_unlock(&given->mutex);
    *out_mark = code == CL_SUCCESS ? mark : NULL;
    return code;
}

/* ---- record ---- */

/* Takes `mark` over. */
static void replace(event *given, cl_event mark)
{
    accel__mutex_lock(&given->mutex);
    cl_event before = given->mark;
    given->mark = mark;
    accel__mutex_unlock(&given->mutex);
    if (before != NULL)
        given->device->api->clReleaseEvent(before);
}

accel_status accel__opencl_event_record(accel_native_event *native,
                                        accel_native_stream *native_stream)
{
    event *given = (event *)native;
    accel__opencl_stream *stream = (accel__opencl_stream *)native_stream;
    const accel__opencl_api *api = stream->device->api;
    accel_status status = accel__opencl_begin(stream);
    if (status != ACCEL_OK)
        return accel__error_met_by(status, "accel_event_record");
    const char *call = "clEnqueueMarkerWithWaitList";
    cl_event own = NULL;
    cl_int code = CL_SUCCESS;
    if (given->timing || stream->last == NULL)
        code = api->clEnqueueMarkerWithWaitList(stream->queue, 0, NULL, &own);
    cl_event mark = own != NULL ? own : stream->last;
    if (code == CL_SUCCESS) {
        call = "clRetainEvent";
        code = api->clRetainEvent(mark);
    }
    status = accel__opencl_enqueued(stream, code, own, call);
    if (status == ACCEL_OK)
        replace(given, mark);
    return accel__error_met_by(status, "accel_event_record");
}

/* ---- questions and waits ---- */

static accel_status fail_mark(cl_int code, const char *function)
{
    const char *name = accel__opencl_code_name(code);
    return accel__fail_vendor(ACCEL_ERROR_DEVICE_FAILED, "opencl", function, code, name,
                              "the work before the event failed: %s (%d)", name, code);
}

accel_status accel__opencl_event_query(accel_native_event *native, bool *out_done)
{
    static const char function[] = "accel_event_query";
    event *given = (event *)native;
    cl_int state = CL_COMPLETE;
    accel__mutex_lock(&given->mutex);
    const cl_int code = given->mark != NULL
                            ? accel__opencl_state(given->device->api, given->mark, &state)
                            : CL_SUCCESS;
    accel__mutex_unlock(&given->mutex);
    *out_done = code == CL_SUCCESS && state == CL_COMPLETE;
    if (code != CL_SUCCESS)
        return accel__opencl_fail_question(code, function);
    return state < CL_COMPLETE ? fail_mark(state, function) : ACCEL_OK;
}

accel_status accel__opencl_event_synchronize(accel_native_event *native)
{
    static const char function[] = "accel_event_synchronize";
    event *given = (event *)native;
    cl_event mark = NULL;
    cl_int state = CL_COMPLETE;
    cl_int code = retain_mark(given, &mark);
    if (mark != NULL) {
        code = accel__opencl_await(given->device->api, mark, &state);
        given->device->api->clReleaseEvent(mark);
    }
    if (code != CL_SUCCESS)
        return accel__opencl_fail_question(code, function);
    return state < CL_COMPLETE ? fail_mark(state, function) : ACCEL_OK;
}

/* Of another platform: its driver knows nothing of the event, so a gate of its own stands for it. */
static accel_status wait_across(accel__opencl_stream *stream, const accel__opencl_api *other,
                                cl_event mark)
{
    accel__opencl_gate *gate = NULL;
    const accel_status status = accel__opencl_gate_create(stream, NULL, NULL, 0, &gate);
    return gate != NULL ? accel__opencl_gate_close(gate, stream, other, mark) : status;
}

accel_status accel__opencl_event_wait(accel_native_stream *native_stream,
                                      accel_native_event *native)
{
    event *given = (event *)native;
    accel__opencl_stream *stream = (accel__opencl_stream *)native_stream;
    const accel__opencl_api *api = stream->device->api;
    static const char function[] = "accel_stream_wait_event";
    cl_event mark = NULL;
    cl_int state = CL_COMPLETE;
    const cl_int retained = retain_mark(given, &mark);
    if (retained != CL_SUCCESS)
        return accel__error_met_by(accel__opencl_fail(retained, "clRetainEvent"), function);
    if (mark == NULL)
        return ACCEL_OK;
    accel_status status = ACCEL_OK;
    if (given->device->context != stream->device->context)
        status = wait_across(stream, given->device->api, mark);
    else if (accel__opencl_state(api, mark, &state) != CL_SUCCESS || state != CL_COMPLETE) {
        status = accel__opencl_begin(stream);
        if (status == ACCEL_OK) {
            cl_event barrier = NULL;
            const cl_int code = api->clEnqueueBarrierWithWaitList(stream->queue, 1, &mark,
                                                                  &barrier);
            status = accel__opencl_enqueued(stream, code, barrier, "clEnqueueBarrierWithWaitList");
        }
    }
    given->device->api->clReleaseEvent(mark);
    return accel__error_met_by(status, function);
}

/* ---- time and handle ---- */

static accel_status read_end(event *given, cl_ulong *out_end)
{
    cl_event mark = NULL;
    cl_int code = retain_mark(given, &mark);
    if (code != CL_SUCCESS)
        return accel__opencl_fail(code, "clRetainEvent");
    code = CL_INVALID_EVENT;
    if (mark != NULL) {
        code = given->device->api->clGetEventProfilingInfo(mark, CL_PROFILING_COMMAND_END,
                                                           sizeof *out_end, out_end, NULL);
        given->device->api->clReleaseEvent(mark);
    }
    return code == CL_SUCCESS ? ACCEL_OK : accel__opencl_fail(code, "clGetEventProfilingInfo");
}

accel_status accel__opencl_event_elapsed(accel_native_event *start, accel_native_event *end,
                                         double *out_milliseconds)
{
    cl_ulong first = 0;
    cl_ulong second = 0;
    accel_status status = read_end((event *)start, &first);
    if (status == ACCEL_OK)
        status = read_end((event *)end, &second);
    if (status == ACCEL_OK)
        *out_milliseconds = (double)(int64_t)(second - first) / 1e6;
    return accel__error_met_by(status, "accel_event_elapsed_time");
}

accel_status accel__opencl_event_handle(accel_native_event *native, void **out_handle)
{
    event *given = (event *)native;
    accel__mutex_lock(&given->mutex);
    *out_handle = given->mark;
    accel__mutex_unlock(&given->mutex);
    return ACCEL_OK;
}
