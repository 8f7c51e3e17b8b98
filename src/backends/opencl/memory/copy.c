/* copy.c: copies and fills. With device pointers a copy is one call whatever its direction, row by row
 * where it has rows; translated pointers become buffers and offsets, and OpenCL's own forms for
 * rectangles serve. What lies wholly in host memory is done by a gate, in the stream's order. */
#include <string.h>

#include "backends/opencl/queue/gate.h"
#include "backends/opencl/queue/stream.h"
#include "base/error.h"

/* One side of a translated copy. */
typedef struct side {
    cl_mem buffer;
    size_t offset;
} side;

/* ---- host to host ---- */

static void copy_on_host(cl_int code, void *data)
{
    const accel_backend_copy *copy = data;
    for (size_t row = 0; code == CL_COMPLETE && row < copy->height; row++)
        memcpy((char *)copy->destination + row * copy->destination_pitch,
               (const char *)copy->source + row * copy->source_pitch, copy->width);
}

typedef struct host_fill {
    unsigned char *destination;
    size_t size;
    size_t pattern_size;
    unsigned char pattern[8];
} host_fill;

static void fill_on_host(cl_int code, void *data)
{
    const host_fill *fill = data;
    for (size_t at = 0; code == CL_COMPLETE && at < fill->size; at += fill->pattern_size)
        memcpy(fill->destination + at, fill->pattern, fill->pattern_size);
}

/* ---- with device pointers ---- */

static bool is_one_piece(const accel_backend_copy *copy)
{
    return copy->height == 1 ||
           (copy->destination_pitch == copy->width && copy->source_pitch == copy->width);
}

/* One enqueueing call; its event takes the place of *event, which stands for the one before. */
static cl_int copy_piece(accel__opencl_stream *stream, void *destination, const void *source,
                         size_t size, cl_event *event)
{
    const accel__opencl_api *api = stream->device->api;
    cl_event made = NULL;
    const cl_int code = stream->device->pointers == ACCEL__OPENCL_USM
                            ? api->clEnqueueMemcpyINTEL(stream->queue, CL_FALSE, destination,
                                                        source, size, 0, NULL, &made)
                            : api->clEnqueueSVMMemcpy(stream->queue, CL_FALSE, destination, source,
                                                      size, 0, NULL, &made);
    if (code == CL_SUCCESS && *event != NULL)
        api->clReleaseEvent(*event);
    if (code == CL_SUCCESS)
        *event = made;
    return code;
}

static accel_status copy_pointers(accel__opencl_stream *stream, const accel_backend_copy *copy)
{
    cl_event event = NULL;
    cl_int code = CL_SUCCESS;
    const accel_status status = accel__opencl_begin(stream);
    if (status != ACCEL_OK)
        return status;
    if (is_one_piece(copy))
        code = copy_piece(stream, copy->destination, copy->source, copy->width * copy->height,
                          &event);
    else
        for (size_t row = 0; row < copy->height && code == CL_SUCCESS; row++)
            code = copy_piece(stream, (char *)copy->destination + row * copy->destination_pitch,
                              (const char *)copy->source + row * copy->source_pitch, copy->width,
                              &event);
    return accel__opencl_enqueued(stream, code, event,
                                  stream->device->pointers == ACCEL__OPENCL_USM
                                      ? "clEnqueueMemcpyINTEL"
                                      : "clEnqueueSVMMemcpy");
}

/* ---- translated ---- */

static accel_status fail_pointer(const void *pointer)
{
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, "opencl", "accel_copy",
                       "%p lies in no allocation of the device", pointer);
}

static cl_int copy_linear(accel__opencl_stream *stream, const accel_backend_copy *copy, side to,
                          side from, size_t size, cl_event *event)
{
    const accel__opencl_api *api = stream->device->api;
    switch (copy->direction) {
    case ACCEL_COPY_DIRECTION_HOST_TO_DEVICE:
        return api->clEnqueueWriteBuffer(stream->queue, to.buffer, CL_FALSE, to.offset, size,
                                         copy->source, 0, NULL, event);
    case ACCEL_COPY_DIRECTION_DEVICE_TO_HOST:
        return api->clEnqueueReadBuffer(stream->queue, from.buffer, CL_FALSE, from.offset, size,
                                        copy->destination, 0, NULL, event);
    default:
        return api->clEnqueueCopyBuffer(stream->queue, from.buffer, to.buffer, from.offset,
                                        to.offset, size, 0, NULL, event);
    }
}

static cl_int copy_rows(accel__opencl_stream *stream, const accel_backend_copy *copy, side to,
                        side from, cl_event *event)
{
    const accel__opencl_api *api = stream->device->api;
    const size_t region[3] = {copy->width, copy->height, 1};
    const size_t to_origin[3] = {to.offset % copy->destination_pitch,
                                 to.offset / copy->destination_pitch, 0};
    const size_t from_origin[3] = {from.offset % copy->source_pitch,
                                   from.offset / copy->source_pitch, 0};
    const size_t none[3] = {0, 0, 0};
    switch (copy->direction) {
    case ACCEL_COPY_DIRECTION_HOST_TO_DEVICE:
        return api->clEnqueueWriteBufferRect(stream->queue, to.buffer, CL_FALSE, to_origin, none,
                                             region, copy->destination_pitch, 0, copy->source_pitch,
                                             0, copy->source, 0, NULL, event);
    case ACCEL_COPY_DIRECTION_DEVICE_TO_HOST:
        return api->clEnqueueReadBufferRect(stream->queue, from.buffer, CL_FALSE, from_origin, none,
                                            region, copy->source_pitch, 0, copy->destination_pitch,
                                            0, copy->destination, 0, NULL, event);
    default:
        return api->clEnqueueCopyBufferRect(stream->queue, from.buffer, to.buffer, from_origin,
                                            to_origin, region, copy->source_pitch, 0,
                                            copy->destination_pitch, 0, 0, NULL, event);
    }
}

/* Whether OpenCL takes a copy within one buffer as rectangles: pitches are equal, and no row goes on behind
 * the end of a line, which drivers take for an overlap. */
static bool are_rectangles(const accel_backend_copy *copy, side to, side from)
{
    const size_t pitch = copy->source_pitch;
    return copy->destination_pitch == pitch && to.offset % pitch + copy->width <= pitch &&
           from.offset % pitch + copy->width <= pitch;
}

/* Row by row. */
static cl_int copy_within(accel__opencl_stream *stream, const accel_backend_copy *copy, side to,
                          side from, cl_event *event)
{
    cl_int code = CL_SUCCESS;
    for (size_t row = 0; row < copy->height && code == CL_SUCCESS; row++) {
        cl_event made = NULL;
        code = copy_linear(stream, copy, to, from, copy->width, &made);
        to.offset += copy->destination_pitch;
        from.offset += copy->source_pitch;
        if (code == CL_SUCCESS && *event != NULL)
            stream->device->api->clReleaseEvent(*event);
        if (code == CL_SUCCESS)
            *event = made;
    }
    return code;
}

static accel_status copy_buffers(accel__opencl_stream *stream, accel__opencl_device *destination,
                                 accel__opencl_device *source, const accel_backend_copy *copy)
{
    side to = {0};
    side from = {0};
    if (copy->direction != ACCEL_COPY_DIRECTION_DEVICE_TO_HOST &&
        !accel__opencl_resolve(destination, copy->destination, &to.buffer, &to.offset))
        return fail_pointer(copy->destination);
    if (copy->direction != ACCEL_COPY_DIRECTION_HOST_TO_DEVICE &&
        !accel__opencl_resolve(source, copy->source, &from.buffer, &from.offset))
        return fail_pointer(copy->source);
    const accel_status status = accel__opencl_begin(stream);
    if (status != ACCEL_OK)
        return status;
    cl_event event = NULL;
    cl_int code = CL_SUCCESS;
    if (is_one_piece(copy))
        code = copy_linear(stream, copy, to, from, copy->width * copy->height, &event);
    else if (to.buffer == from.buffer && !are_rectangles(copy, to, from))
        code = copy_within(stream, copy, to, from, &event);
    else
        code = copy_rows(stream, copy, to, from, &event);
    return accel__opencl_enqueued(stream, code, event, "clEnqueueCopyBuffer");
}

/* ---- the groups ---- */

accel_status accel__opencl_copy(accel_native_stream *native, const accel_backend_copy *copy)
{
    accel__opencl_stream *stream = (accel__opencl_stream *)native;
    accel_status status = ACCEL_OK;
    if (copy->direction == ACCEL_COPY_DIRECTION_HOST_TO_HOST)
        status = accel__opencl_gate_queue(stream, copy_on_host, copy, sizeof *copy);
    else if (stream->device->pointers == ACCEL__OPENCL_TRANSLATE)
        status = copy_buffers(stream, stream->device, stream->device, copy);
    else
        status = copy_pointers(stream, copy);
    return accel__error_met_by(status, "accel_copy");
}

bool accel__opencl_peer_reachable(accel_native_device *destination, accel_native_device *source)
{
    const accel__opencl_device *to = (const accel__opencl_device *)destination;
    const accel__opencl_device *from = (const accel__opencl_device *)source;
    return to->context == from->context && to->pointers == from->pointers;
}

accel_status accel__opencl_peer_copy(accel_native_stream *native, accel_native_device *destination,
                                     accel_native_device *source, const accel_backend_copy *copy)
{
    accel__opencl_stream *stream = (accel__opencl_stream *)native;
    const accel_status status = stream->device->pointers == ACCEL__OPENCL_TRANSLATE
                                    ? copy_buffers(stream, (accel__opencl_device *)destination,
                                                   (accel__opencl_device *)source, copy)
                                    : copy_pointers(stream, copy);
    return accel__error_met_by(status, "accel_copy");
}

static accel_status fill_device(accel__opencl_stream *stream, const accel__opencl_range *range,
                                void *destination, const void *pattern, size_t pattern_size,
                                size_t size)
{
    const accel__opencl_api *api = stream->device->api;
    const char *call = "clEnqueueFillBuffer";
    cl_event event = NULL;
    cl_int code = CL_SUCCESS;
    const accel_status status = accel__opencl_begin(stream);
    if (status != ACCEL_OK)
        return status;
    switch (stream->device->pointers) {
    case ACCEL__OPENCL_USM:
        call = "clEnqueueMemFillINTEL";
        code = api->clEnqueueMemFillINTEL(stream->queue, destination, pattern, pattern_size, size,
                                          0, NULL, &event);
        break;
    case ACCEL__OPENCL_SVM:
        call = "clEnqueueSVMMemFill";
        code = api->clEnqueueSVMMemFill(stream->queue, destination, pattern, pattern_size, size, 0,
                                        NULL, &event);
        break;
    case ACCEL__OPENCL_TRANSLATE:
        code = api->clEnqueueFillBuffer(stream->queue, range->buffer, pattern, pattern_size,
                                        (uintptr_t)destination - range->begin, size, 0, NULL,
                                        &event);
        break;
    }
    return accel__opencl_enqueued(stream, code, event, call);
}

accel_status accel__opencl_fill(accel_native_stream *native, void *destination, const void *pattern,
                                size_t pattern_size, size_t size)
{
    accel__opencl_stream *stream = (accel__opencl_stream *)native;
    accel__opencl_range range;
    if (accel__opencl_range_find(&stream->device->memory, destination, &range))
        return accel__error_met_by(
            fill_device(stream, &range, destination, pattern, pattern_size, size), "accel_fill");
    host_fill fill = {.destination = destination, .size = size, .pattern_size = pattern_size};
    memcpy(fill.pattern, pattern, pattern_size);
    return accel__error_met_by(accel__opencl_gate_queue(stream, fill_on_host, &fill, sizeof fill),
                               "accel_fill");
}
