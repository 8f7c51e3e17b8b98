/* staging.c: see staging.h. Piece by piece through one host buffer; each half runs on a stream of its
 * own device, and the host is the order between them, since two drivers know nothing of each other.
 * The caller's stream is empty when the copy begins and gets nothing new from it, so what the caller
 * queues next comes after. */
#include "core/staging.h"

#include "base/allocate.h"
#include "base/error.h"

enum { PIECE_SIZE = 1 << 20 };

/* A native stream of each device, and the buffer between. */
typedef struct staging {
    accel__device *to;
    accel__device *from;
    accel_native_stream *to_stream;
    accel_native_stream *from_stream;
    char *buffer;
    size_t buffer_size;
} staging;

static accel_status open(staging *made, const char *function)
{
    made->buffer = accel__allocate(made->buffer_size);
    if (made->buffer == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, made->to->backend->table.name, function,
                           "no host memory to copy through");
    accel_status status = made->to->backend->table.stream.create(made->to->native, 0,
                                                                 &made->to_stream);
    if (status == ACCEL_OK)
        status = made->from->backend->table.stream.create(made->from->native, 0,
                                                          &made->from_stream);
    return status;
}

static void close(staging *made)
{
    if (made->from_stream != NULL)
        made->from->backend->table.stream.destroy(made->from_stream);
    if (made->to_stream != NULL)
        made->to->backend->table.stream.destroy(made->to_stream);
    accel__deallocate(made->buffer);
}

/* One half of a piece, to its end. */
static accel_status move(accel__device *device, accel_native_stream *stream, void *destination,
                         const void *source, size_t size, accel_copy_direction direction)
{
    const accel_backend_copy copy = {
        .destination = destination,
        .source = source,
        .destination_pitch = size,
        .source_pitch = size,
        .width = size,
        .height = 1,
        .direction = direction,
    };
    const accel_status status = device->backend->table.memory.copy(stream, &copy);
    return status == ACCEL_OK ? device->backend->table.stream.synchronize(stream) : status;
}

static accel_status copy_row(const staging *made, char *destination, const char *source,
                             size_t width)
{
    accel_status status = ACCEL_OK;
    for (size_t done = 0; done < width && status == ACCEL_OK; done += made->buffer_size) {
        const size_t left = width - done;
        const size_t size = left < made->buffer_size ? left : made->buffer_size;
        status = move(made->from, made->from_stream, made->buffer, source + done, size,
                      ACCEL_COPY_DIRECTION_DEVICE_TO_HOST);
        if (status == ACCEL_OK)
            status = move(made->to, made->to_stream, destination + done, made->buffer, size,
                          ACCEL_COPY_DIRECTION_HOST_TO_DEVICE);
    }
    return status;
}

accel_status accel__staging_copy(accel_stream *stream, accel__device *destination,
                                 accel__device *source, const accel_backend_copy *copy,
                                 const char *function)
{
    staging made = {
        .to = destination,
        .from = source,
        .buffer_size = copy->width < PIECE_SIZE ? copy->width : PIECE_SIZE,
    };
    accel_status status = stream->backend->table.stream.synchronize(stream->native);
    if (status == ACCEL_OK)
        status = open(&made, function);
    for (size_t row = 0; row < copy->height && status == ACCEL_OK; row++)
        status = copy_row(&made, (char *)copy->destination + row * copy->destination_pitch,
                          (const char *)copy->source + row * copy->source_pitch, copy->width);
    close(&made);
    return status;
}
