/* copy.c: copies and fills: what each pointer names, the rules of copy.h, and which way the bytes go.
 * The way through host memory is staging.c. */
#include <accel/copy.h>
#include <string.h>

#include "base/error.h"
#include "core/copy.h"
#include "core/current.h"
#include "core/pointers.h"
#include "core/staging.h"

/* One side of a copy. */
typedef struct side {
    const char *name;
    uintptr_t begin;
    size_t pitch;
    accel__pointed range; /* of the allocation; device NULL for plain host memory */
} side;

static bool is_device(const side *given)
{
    return given->range.device != NULL && given->range.kind == ACCEL_MEMORY_KIND_DEVICE;
}

/* Bytes from the first to behind the last. False: beyond the address space. */
static bool extent(const side *given, size_t width, size_t height, size_t *out_size)
{
    size_t rows;
    return !__builtin_mul_overflow(given->pitch, height - 1, &rows) &&
           !__builtin_add_overflow(rows, width, out_size) &&
           *out_size <= UINTPTR_MAX - given->begin;
}

static accel_status classify(side *given, const void *pointer, size_t width, size_t height,
                             const char *function)
{
    size_t size = 0;
    given->begin = (uintptr_t)pointer;
    if (pointer == NULL)
        return accel__fail_null(function, given->name);
    if (!extent(given, width, height, &size))
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, NULL, function,
                           "the %s's size or pitch overflows", given->name);
    if (!accel__pointers_find(pointer, &given->range)) {
        given->range.device = NULL;
        return ACCEL_OK;
    }
    const size_t offset = given->begin - given->range.begin;
    if (size <= given->range.size - offset)
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, given->range.device->backend->table.name, function,
                       "the %s ends %zu bytes behind its allocation of %zu bytes", given->name,
                       size - (given->range.size - offset), given->range.size);
}

/* Exact for single rows and equal pitches; else any overlap of the extents is refused. */
static bool overlap(const side *a, const side *b, size_t width, size_t height)
{
    size_t a_size = 0;
    size_t b_size = 0;
    extent(a, width, height, &a_size);
    extent(b, width, height, &b_size);
    if (a->begin >= b->begin + b_size || b->begin >= a->begin + a_size)
        return false;
    if (height == 1 || a->pitch != b->pitch)
        return true;
    const size_t distance = a->begin > b->begin ? a->begin - b->begin : b->begin - a->begin;
    const size_t within = distance % a->pitch;
    return within < width || a->pitch - within < width;
}

/* The stream of the call: given, or the current one of the device concerned. */
static accel_status choose_stream(accel_stream *given, const side *destination, const side *source,
                                  const char *function, accel_stream **out_stream)
{
    accel__device *to = destination->range.device;
    accel__device *from = source != NULL ? source->range.device : NULL;
    const bool to_device = is_device(destination);
    const bool from_device = source != NULL && is_device(source);
    accel__device *named = to_device || (to != NULL && !from_device) ? to : from;
    if (given == NULL && named != NULL) {
        *out_stream = accel__current_stream(named);
        return ACCEL_OK;
    }
    const accel_status status = accel__resolve_stream(given, function, out_stream);
    if (status != ACCEL_OK)
        return status;
    accel__device *device = (*out_stream)->device;
    if ((to_device && to == device) || (from_device && from == device) ||
        (!to_device && !from_device))
        return ACCEL_OK;
    const accel__device *wanted = to_device ? to : from;
    return accel__fail(ACCEL_ERROR_MISMATCH, device->backend->table.name, function,
                       "the stream is of device %d of '%s', which has neither source nor "
                       "destination: the memory is of device %d of '%s'",
                       device->id.index, device->backend->table.name, wanted->id.index,
                       wanted->backend->table.name);
}

static accel_copy_direction direction_of(const side *destination, const side *source)
{
    if (is_device(destination))
        return is_device(source) ? ACCEL_COPY_DIRECTION_DEVICE_TO_DEVICE
                                 : ACCEL_COPY_DIRECTION_HOST_TO_DEVICE;
    return is_device(source) ? ACCEL_COPY_DIRECTION_DEVICE_TO_HOST
                             : ACCEL_COPY_DIRECTION_HOST_TO_HOST;
}

/* Between two devices. */
static accel_status copy_across(accel_stream *stream, accel_native_stream *native,
                                const accel__captured_copy *copy)
{
    accel_status status = accel__device_use(copy->to, copy->function);
    if (status == ACCEL_OK)
        status = accel__device_use(copy->from, copy->function);
    if (status != ACCEL_OK)
        return status;
    const accel_backend_peer *peer = &copy->to->backend->table.peer;
    if (copy->to->backend == copy->from->backend &&
        peer->reachable(copy->to->native, copy->from->native))
        return peer->copy(native, copy->to->native, copy->from->native, &copy->copy);
    return accel__staging_copy(stream, copy->to, copy->from, &copy->copy, copy->function);
}

accel_status accel__copy_queue(accel_stream *stream, accel_native_stream *native,
                               const accel__captured_copy *copy)
{
    if (copy->to != NULL && copy->from != NULL && copy->to != copy->from)
        return copy_across(stream, native, copy);
    return stream->backend->table.memory.copy(native, &copy->copy);
}

/* Queues it, or makes it part of the stream's capture. */
static accel_status queue_or_capture(accel_stream *stream, const accel__captured_copy *copy)
{
    accel_native_stream *native = NULL;
    accel__capture *capture = NULL;
    accel_status status = accel__stream_use(stream, copy->function, &native, &capture);
    if (status != ACCEL_OK)
        return status;
    if (capture == NULL)
        return accel__copy_queue(stream, native, copy);
    status = capture->ops->copy(capture, stream, copy);
    accel__capture_release(capture);
    return status;
}

static accel_status describe(const accel_backend_copy *copy, const char *function, side *to,
                             side *from)
{
    accel_status status = classify(to, copy->destination, copy->width, copy->height, function);
    if (status == ACCEL_OK)
        status = classify(from, copy->source, copy->width, copy->height, function);
    return status;
}

/* Both sides are known, and the stream is chosen. */
static accel_status finish_description(const accel_backend_copy *copy, const side *to,
                                       const side *from, const char *function,
                                       accel__captured_copy *out_copy)
{
    if (overlap(to, from, copy->width, copy->height))
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "source and destination overlap");
    out_copy->copy = *copy;
    out_copy->copy.direction = direction_of(to, from);
    out_copy->to = is_device(to) ? to->range.device : NULL;
    out_copy->from = is_device(from) ? from->range.device : NULL;
    out_copy->function = function;
    return ACCEL_OK;
}

accel_status accel__copy_describe(const accel_backend_copy *copy, const char *function,
                                  accel__captured_copy *out_copy)
{
    side to = {.name = "destination", .pitch = copy->destination_pitch};
    side from = {.name = "source", .pitch = copy->source_pitch};
    const accel_status status = describe(copy, function, &to, &from);
    return status == ACCEL_OK ? finish_description(copy, &to, &from, function, out_copy) : status;
}

static accel_status copy_rows(const accel_backend_copy *copy, accel_stream *stream,
                              const char *function)
{
    side to = {.name = "destination", .pitch = copy->destination_pitch};
    side from = {.name = "source", .pitch = copy->source_pitch};
    accel__captured_copy described = {0};
    accel_status status = accel__check_callback(function);
    if (status == ACCEL_OK)
        status = describe(copy, function, &to, &from);
    if (status == ACCEL_OK)
        status = choose_stream(stream, &to, &from, function, &stream);
    if (status == ACCEL_OK)
        status = finish_description(copy, &to, &from, function, &described);
    return status == ACCEL_OK ? queue_or_capture(stream, &described) : status;
}

/* A copy of nothing: only the stream is checked. */
static accel_status copy_nothing(accel_stream *stream, const char *function)
{
    const accel_status status = accel__check_callback(function);
    return status == ACCEL_OK && stream != NULL ? accel__stream_check(stream, function) : status;
}

accel_status accel_copy(void *destination, const void *source, size_t size, accel_stream *stream)
{
    if (size == 0)
        return copy_nothing(stream, __func__);
    const accel_backend_copy copy = {
        .destination = destination,
        .source = source,
        .destination_pitch = size,
        .source_pitch = size,
        .width = size,
        .height = 1,
    };
    return copy_rows(&copy, stream, __func__);
}

accel_status accel__copy_rows_of(void *destination, size_t destination_pitch, const void *source,
                                 size_t source_pitch, size_t width, size_t height,
                                 const char *function, accel_backend_copy *out_copy)
{
    if (height > 1 && (destination_pitch < width || source_pitch < width))
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "a pitch (%zu, %zu) is less than the width %zu", destination_pitch,
                           source_pitch, width);
    const bool empty = width == 0 || height == 0;
    *out_copy = (accel_backend_copy){
        .destination = destination,
        .source = source,
        .destination_pitch = height == 1 ? width : destination_pitch,
        .source_pitch = height == 1 ? width : source_pitch,
        .width = empty ? 0 : width,
        .height = empty ? 0 : height,
    };
    return ACCEL_OK;
}

accel_status accel_copy_2d(void *destination, size_t destination_pitch, const void *source,
                           size_t source_pitch, size_t width, size_t height, accel_stream *stream)
{
    accel_backend_copy copy = {0};
    const accel_status status = accel__copy_rows_of(destination, destination_pitch, source,
                                                    source_pitch, width, height, __func__, &copy);
    if (status != ACCEL_OK)
        return status;
    if (copy.width == 0)
        return copy_nothing(stream, __func__);
    return accel__error_met_by(copy_rows(&copy, stream, __func__), __func__);
}

static accel_status check_pattern(const void *destination, const void *pattern, size_t pattern_size,
                                  size_t size, const char *function)
{
    if (pattern == NULL)
        return accel__fail_null(function, "pattern");
    if (pattern_size != 1 && pattern_size != 2 && pattern_size != 4 && pattern_size != 8)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "pattern_size is %zu: it must be 1, 2, 4 or 8", pattern_size);
    if (size % pattern_size != 0)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "size %zu is no multiple of pattern_size %zu", size, pattern_size);
    if ((uintptr_t)destination % pattern_size != 0)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "the destination is not aligned to pattern_size %zu", pattern_size);
    return ACCEL_OK;
}

static accel_status classify_filled(side *to, void *destination, size_t size, const char *function)
{
    const accel_status status = classify(to, destination, size, 1, function);
    if (status == ACCEL_OK && to->range.device == NULL)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "the destination is not memory of accel_memory_alloc");
    return status;
}

accel_status accel__fill_check(void *destination, const void *pattern, size_t pattern_size,
                               size_t size, const char *function, accel__device **out_device)
{
    side to = {.name = "destination", .pitch = size};
    accel_status status = check_pattern(destination, pattern, pattern_size, size, function);
    if (status == ACCEL_OK && size != 0)
        status = classify_filled(&to, destination, size, function);
    *out_device = to.range.device;
    return status;
}

accel_status accel_fill(void *destination, const void *pattern, size_t pattern_size, size_t size,
                        accel_stream *stream)
{
    side to = {.name = "destination", .pitch = size};
    accel_native_stream *native = NULL;
    accel__capture *capture = NULL;
    accel_status status = check_pattern(destination, pattern, pattern_size, size, __func__);
    if (status == ACCEL_OK && size == 0)
        return copy_nothing(stream, __func__);
    if (status == ACCEL_OK)
        status = accel__check_callback(__func__);
    if (status == ACCEL_OK)
        status = classify_filled(&to, destination, size, __func__);
    if (status == ACCEL_OK)
        status = choose_stream(stream, &to, NULL, __func__, &stream);
    if (status == ACCEL_OK)
        status = accel__stream_use(stream, __func__, &native, &capture);
    if (status != ACCEL_OK)
        return status;
    if (capture == NULL)
        return stream->backend->table.memory.fill(native, destination, pattern, pattern_size, size);
    status = capture->ops->fill(capture, stream, destination, pattern, pattern_size, size);
    accel__capture_release(capture);
    return status;
}
