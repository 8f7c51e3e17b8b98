/* stream.c: see stream.h. */
#include "backends/opencl/queue/stream.h"

#include "backends/opencl/driver/await.h"
#include "backends/opencl/driver/describe.h"
#include "backends/opencl/queue/worker.h"
#include "base/allocate.h"
#include "base/error.h"

/* A stream that waits for its end: when its last command has passed, the queue can be released without
 * making anybody wait. */
typedef struct stream_end {
    accel__opencl_job job;
    accel__opencl_stream *stream;
} stream_end;

/* What create makes: the job is there from the beginning, so that destroy cannot fail. */
typedef struct whole_stream {
    accel__opencl_stream stream;
    stream_end end;
} whole_stream;

/* ---- failure ---- */

static accel_status fail_stream(accel__opencl_stream *stream, cl_int code)
{
    cl_int none = CL_SUCCESS;
    atomic_compare_exchange_strong(&stream->failure, &none, code);
    const cl_int first = stream->failure;
    const char *name = accel__opencl_code_name(first);
    return accel__fail_vendor(ACCEL_ERROR_DEVICE_FAILED, "opencl", "accel_stream", first, name,
                              "work queued on the stream failed: %s (%d)", name, first);
}

/* ---- enqueueing ---- */

accel_status accel__opencl_begin(accel__opencl_stream *stream)
{
    const cl_int failure = atomic_load_explicit(&stream->failure, memory_order_relaxed);
    if (failure != CL_SUCCESS)
        return fail_stream(stream, failure);
    accel__mutex_lock(&stream->mutex);
    return ACCEL_OK;
}

accel_status accel__opencl_enqueued(accel__opencl_stream *stream, cl_int code, cl_event event,
                                    const char *call)
{
    const accel__opencl_api *api = stream->device->api;
    cl_event before = event;
    if (event != NULL) {
        before = stream->last;
        stream->last = event;
    }
    accel__mutex_unlock(&stream->mutex);
    if (before != NULL)
        api->clReleaseEvent(before);
    if (event != NULL) /* unlocked: some drivers run the queue inside it, callbacks included */
        api->clFlush(stream->queue);
    return code == CL_SUCCESS ? ACCEL_OK : accel__opencl_fail(code, call);
}

/* The event of the command queued last, retained; NULL: nothing was queued. */
static cl_int retain_last(accel__opencl_stream *stream, cl_event *out_last)
{
    accel__mutex_lock(&stream->mutex);
    cl_event last = stream->last;
    const cl_int code = last != NULL ? stream->device->api->clRetainEvent(last) : CL_SUCCESS;
    accel__mutex_unlock(&stream->mutex);
    *out_last = code == CL_SUCCESS ? last : NULL;
    return code;
}

/* ---- creation and end ---- */

static void release(accel__opencl_stream *stream)
{
    stream->device->api->clReleaseCommandQueue(stream->queue);
    accel__deallocate(stream); /* first member of what was made */
}

static void on_end(accel__opencl_job *job, cl_int code)
{
    (void)code;
    release(((stream_end *)job)->stream);
}

static cl_bitfield queue_priority(const accel__opencl_device *device, int32_t priority)
{
    if (!device->priorities)
        return 0;
    return priority < 0   ? CL_QUEUE_PRIORITY_HIGH_KHR
           : priority > 0 ? CL_QUEUE_PRIORITY_LOW_KHR
                          : CL_QUEUE_PRIORITY_MED_KHR;
}

accel_status accel__opencl_stream_create(accel_native_device *native, int32_t priority,
                                         accel_native_stream **out_stream)
{
    accel__opencl_device *device = (accel__opencl_device *)native;
    whole_stream *made = accel__allocate(sizeof *made);
    cl_int code = CL_SUCCESS;
    if (made == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "opencl", "accel_stream_create",
                           "no memory for a stream");
    made->stream.device = device;
    made->stream.queue = accel__opencl_create_queue(device->api, device->context, device->id,
                                                    device->timing ? CL_QUEUE_PROFILING_ENABLE : 0,
                                                    queue_priority(device, priority), &code);
    if (made->stream.queue == NULL) {
        accel__deallocate(made);
        return accel__error_met_by(accel__opencl_fail(code, "clCreateCommandQueue"),
                                   "accel_stream_create");
    }
    made->end.stream = &made->stream;
    made->end.job.run = on_end;
    *out_stream = (accel_native_stream *)&made->stream;
    return ACCEL_OK;
}

void accel__opencl_stream_destroy(accel_native_stream *native)
{
    accel__opencl_stream *stream = (accel__opencl_stream *)native;
    const accel__opencl_api *api = stream->device->api;
    cl_event last = stream->last;
    if (last == NULL || accel__opencl_is_over(api, last) ||
        accel__opencl_worker_ready() != ACCEL_OK) {
        if (last != NULL)
            api->clReleaseEvent(last);
        release(stream);
        return;
    }
    accel__opencl_worker_after(api, last, &((whole_stream *)stream)->end.job);
}

/* ---- questions and waits ---- */

accel_status accel__opencl_stream_query(accel_native_stream *native, bool *out_done)
{
    accel__opencl_stream *stream = (accel__opencl_stream *)native;
    static const char function[] = "accel_stream_query";
    cl_int state = CL_COMPLETE;
    accel__mutex_lock(&stream->mutex);
    const cl_int code = stream->last != NULL
                            ? accel__opencl_state(stream->device->api, stream->last, &state)
                            : CL_SUCCESS;
    accel__mutex_unlock(&stream->mutex);
    *out_done = code == CL_SUCCESS && state <= CL_COMPLETE;
    if (code != CL_SUCCESS)
        return accel__opencl_fail_question(code, function);
    if (state < CL_COMPLETE || stream->failure != CL_SUCCESS)
        return accel__error_met_by(fail_stream(stream, state), function);
    return ACCEL_OK;
}

/* Waits without an event: who queued a copy is not to find it under way because none could be retained. */
static cl_int finish(accel__opencl_stream *stream, cl_int *out_state)
{
    const accel__opencl_api *api = stream->device->api;
    cl_int code = api->clFinish(stream->queue);
    accel__mutex_lock(&stream->mutex);
    if (code == CL_SUCCESS)
        code = accel__opencl_state(api, stream->last, out_state);
    accel__mutex_unlock(&stream->mutex);
    if (*out_state > CL_COMPLETE) /* of what was queued meanwhile */
        *out_state = CL_COMPLETE;
    return code;
}

accel_status accel__opencl_stream_synchronize(accel_native_stream *native)
{
    accel__opencl_stream *stream = (accel__opencl_stream *)native;
    static const char function[] = "accel_stream_synchronize";
    const accel__opencl_api *api = stream->device->api;
    cl_event last = NULL;
    cl_int state = CL_COMPLETE;
    cl_int code = retain_last(stream, &last);
    if (last != NULL) {
        code = accel__opencl_await(api, last, &state);
        api->clReleaseEvent(last);
    } else if (code != CL_SUCCESS) {
        code = finish(stream, &state);
    }
    if (code != CL_SUCCESS)
        return accel__opencl_fail_question(code, function);
    if (state < CL_COMPLETE || stream->failure != CL_SUCCESS)
        return accel__error_met_by(fail_stream(stream, state), function);
    return ACCEL_OK;
}

accel_status accel__opencl_stream_handle(accel_native_stream *stream, void **out_handle)
{
    *out_handle = ((accel__opencl_stream *)stream)->queue;
    return ACCEL_OK;
}
