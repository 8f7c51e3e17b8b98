/* gate.c: see gate.h. A gate is a barrier in the queue that waits for a user event; the worker completes
 * that event when it is done. A failure before the gate goes through it: what stands behind is skipped
 * as without the gate. */
#include "backends/opencl/queue/gate.h"

#include <string.h>

#include "base/allocate.h"
#include "base/error.h"

struct accel__opencl_gate {
    accel__opencl_job job;
    const accel__opencl_api *api; /* of the stream that waits */
    cl_event opened;              /* the user event */
    accel__opencl_gate_work work;
    max_align_t data[];
};

static void discard(accel__opencl_gate *gate)
{
    gate->api->clReleaseEvent(gate->opened);
    accel__deallocate(gate);
}

static void on_turn(accel__opencl_job *job, cl_int code)
{
    accel__opencl_gate *gate = (accel__opencl_gate *)job;
    if (gate->work != NULL)
        gate->work(code, gate->data);
    gate->api->clSetUserEventStatus(gate->opened, code);
    discard(gate);
}

accel_status accel__opencl_gate_create(accel__opencl_stream *stream, accel__opencl_gate_work work,
                                       const void *data, size_t size, accel__opencl_gate **out_gate)
{
    cl_int code = CL_SUCCESS;
    accel_status status = accel__opencl_worker_ready();
    if (status != ACCEL_OK)
        return status;
    accel__opencl_gate *gate = accel__allocate(sizeof *gate + size);
    if (gate == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "opencl", "accel_stream",
                           "no memory to queue host work");
    gate->job.run = on_turn;
    gate->api = stream->device->api;
    gate->work = work;
    if (size != 0)
        memcpy(gate->data, data, size);
    gate->opened = gate->api->clCreateUserEvent(stream->device->context, &code);
    if (gate->opened == NULL) {
        accel__deallocate(gate);
        return accel__opencl_fail(code, "clCreateUserEvent");
    }
    *out_gate = gate;
    return ACCEL_OK;
}

/* Nothing waits for it: lets go of it unopened. */
static accel_status abandon(accel__opencl_gate *gate, accel_status status)
{
    gate->api->clSetUserEventStatus(gate->opened, CL_COMPLETE);
    discard(gate);
    return status;
}

accel_status accel__opencl_gate_close(accel__opencl_gate *gate, accel__opencl_stream *stream,
                                      const accel__opencl_api *api, cl_event event)
{
    static const char call[] = "clEnqueueBarrierWithWaitList";
    cl_event barrier = NULL;
    accel_status status = accel__opencl_begin(stream);
    if (status != ACCEL_OK)
        return abandon(gate, status);
    const accel__opencl_api *asked = event != NULL ? api : gate->api;
    cl_event before = event != NULL ? event : stream->last;
    cl_int code = before != NULL ? asked->clRetainEvent(before) : CL_SUCCESS;
    if (code != CL_SUCCESS)
        return abandon(gate, accel__opencl_enqueued(stream, code, NULL, "clRetainEvent"));
    code = gate->api->clEnqueueBarrierWithWaitList(stream->queue, 1, &gate->opened, &barrier);
    if (code != CL_SUCCESS) {
        if (before != NULL)
            asked->clReleaseEvent(before);
        return abandon(gate, accel__opencl_enqueued(stream, code, barrier, call));
    }
    /* Before the flush: some drivers run the queue inside it. From here on the gate is the worker's. */
    accel__opencl_worker_after(asked, before, &gate->job);
    return accel__opencl_enqueued(stream, code, barrier, call);
}

accel_status accel__opencl_gate_queue(accel__opencl_stream *stream, accel__opencl_gate_work work,
                                      const void *data, size_t size)
{
    accel__opencl_gate *gate = NULL;
    const accel_status status = accel__opencl_gate_create(stream, work, data, size, &gate);
    return gate != NULL ? accel__opencl_gate_close(gate, stream, NULL, NULL) : status;
}

/* ---- host callbacks ---- */

typedef struct callback {
    void (*call)(accel_status status, void *user);
    void *user;
} callback;

static void call_back(cl_int code, void *data)
{
    const callback *made = data;
    made->call(code == CL_COMPLETE ? ACCEL_OK : ACCEL_ERROR_DEVICE_FAILED, made->user);
}

accel_status accel__opencl_callback_add(accel_native_stream *stream,
                                        void (*call)(accel_status status, void *user), void *user)
{
    const callback made = {call, user};
    return accel__error_met_by(
        accel__opencl_gate_queue((accel__opencl_stream *)stream, call_back, &made, sizeof made),
        "accel_stream_add_callback");
}
