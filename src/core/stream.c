/* stream.c: stream objects: making, counting, listing, and the waits on them.
 *
 * A device lists every stream that has a native one, so that a device can be synchronised. The list
 * is changed under the device's mutex by single stores, so that it is whole at each instant (a fork
 * may come at any). A stream that everybody released while it had work pending stays in the list as
 * abandoned, owned by it, until a later sweep finds it idle. */
#include "core/stream.h"

#include "base/allocate.h"
#include "base/error.h"
#include "base/lent.h"
#include "core/callback.h"
#include "core/capture.h"
#include "core/current.h"
#include "core/device.h"
#include "core/event.h"

static _Atomic(uint64_t) last_id;
static _Atomic(size_t) next_place;

_Atomic(void (*)(void)) accel__after_synchronize;
_Atomic(void (*)(void)) accel__after_synchronize_graphs;
_Atomic(void (*)(accel_stream *stream)) accel__stream_unused;

accel_status accel__stream_check(const accel_stream *stream, const char *function)
{
    if (accel__handle_is_live(stream, ACCEL__HANDLE_STREAM))
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                       stream == NULL ? "the stream is NULL" : "the stream was released");
}

/* ---- the device's list ---- */

static void list(accel_stream *stream)
{
    accel__device *device = stream->device;
    accel__mutex_lock(&device->mutex);
    stream->next = atomic_load(&device->streams);
    device->streams = stream;
    accel__mutex_unlock(&device->mutex);
}

/* With the device's mutex held. */
static void unlist_locked(accel_stream *stream)
{
    _Atomic(accel_stream *) *link = &stream->device->streams;
    while (*link != NULL && *link != stream)
        link = &atomic_load(link)->next;
    if (*link == stream)
        *link = atomic_load(&stream->next);
}

/* ---- creation ---- */

void accel__stream_init_default(accel_stream *stream, accel__device *device)
{
    accel__handle_open(&stream->handle, ACCEL__HANDLE_STREAM);
    stream->device = device;
    stream->backend = device->backend;
    stream->is_default = true;
    stream->place = atomic_fetch_add(&next_place, 1) % ACCEL__STREAM_PLACES;
    stream->generation = ACCEL__NOT_READY;
}

/* With the device's mutex held. A child that was forked between the two steps of the default stream's
 * opening finds it listed already. */
static bool is_listed(const accel_stream *stream)
{
    const accel_stream *found = stream->device->streams;
    while (found != NULL && found != stream)
        found = found->next;
    return found != NULL;
}

/* The default stream's native one, at its first use. */
static accel_status open_default(accel_stream *stream, const char *function)
{
    accel__device *device = stream->device;
    accel_native_stream *native = NULL;
    accel_status status = accel__device_use(device, function);
    if (status == ACCEL_OK)
        status = stream->backend->table.stream.create(device->native, 0, &native);
    if (status != ACCEL_OK)
        return status;
    accel__mutex_lock(&device->mutex);
    const bool first = stream->native == NULL;
    if (first && !is_listed(stream)) {
        stream->next = atomic_load(&device->streams);
        device->streams = stream;
    }
    if (first)
        atomic_store_explicit(&stream->native, native, memory_order_release);
    accel__mutex_unlock(&device->mutex);
    if (!first)
        stream->backend->table.stream.destroy(native);
    return ACCEL_OK;
}

/* The stream has a native one of this process. */
static accel_status open_native(accel_stream *stream, const char *function)
{
    if (accel__backend_is_forked(stream->backend))
        return accel__fail_forked(stream->backend, function);
    if (stream->native == NULL)
        return open_default(stream, function);
    /* Inherited, and it survives: the backend starts anew here. */
    return accel__device_use(stream->device, function);
}

accel_status accel__stream_use(accel_stream *stream, const char *function,
                               accel_native_stream **out_native, accel__capture **out_capture)
{
    *out_native = NULL;
    *out_capture = NULL;
    accel_status status = accel__check_callback(function);
    if (status != ACCEL_OK)
        return status;
    *out_capture = accel__capture_of(stream);
    if (*out_capture != NULL)
        return ACCEL_OK;
    status = open_native(stream, function);
    if (status != ACCEL_OK)
        return status;
    accel__capture_publish_generation(stream);
    *out_native = stream->native;
    return ACCEL_OK;
}

static accel_status make_native(accel_stream *stream, int32_t wanted)
{
    accel__device *device = stream->device;
    int32_t lowest = 0;
    int32_t highest = 0;
    accel_status status = stream->backend->table.priorities.range(
        accel__inventory_table_index(device->backend, device->id.index), &lowest, &highest);
    if (status != ACCEL_OK)
        return status;
    stream->priority = wanted > lowest ? lowest : wanted < highest ? highest : wanted;
    accel_native_stream *native = NULL;
    status = stream->backend->table.stream.create(device->native, stream->priority, &native);
    if (status == ACCEL_OK)
        stream->native = native;
    return status;
}

static accel_status create(accel__device *device, int32_t priority, accel_stream **out_stream)
{
    accel_stream *stream = accel__allocate(sizeof *stream);
    if (stream == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, device->backend->table.name,
                           "accel_stream_create", "no memory for a stream");
    stream->device = device;
    stream->backend = device->backend;
    stream->references = 1;
    stream->generation = accel__generation();
    stream->id = atomic_fetch_add(&last_id, 1) + 1;
    stream->place = atomic_fetch_add(&next_place, 1) % ACCEL__STREAM_PLACES;
    const accel_status status = make_native(stream, priority);
    if (status != ACCEL_OK) {
        accel__deallocate(stream);
        return status;
    }
    accel__handle_open(&stream->handle, ACCEL__HANDLE_STREAM);
    list(stream);
    *out_stream = stream;
    return ACCEL_OK;
}

accel_status accel_stream_create(accel_device device, const accel_stream_options *options,
                                 accel_stream **out_stream)
{
    if (out_stream == NULL)
        return accel__fail_null(__func__, "out_stream");
    *out_stream = NULL;
    accel_stream_options known = {0};
    accel__device *found = NULL;
    accel_status status = accel__options_read(options, &known, sizeof known, __func__);
    if (status == ACCEL_OK)
        status = accel__check_callback(__func__);
    if (status == ACCEL_OK)
        status = accel__device_resolve(device, __func__, &found);
    if (status == ACCEL_OK)
        status = accel__device_use(found, __func__);
    return status == ACCEL_OK ? create(found, known.priority, out_stream) : status;
}

/* ---- release ---- */

/* Frees a stream that is in no list and that nobody holds. */
static void destroy(accel_stream *stream)
{
    if (!accel__backend_is_forked(stream->backend))
        stream->backend->table.stream.destroy(stream->native);
    accel__handle_close(&stream->handle);
    accel__deallocate(stream);
}

bool accel__stream_is_idle(accel_stream *stream)
{
    bool done = true;
    if (stream->native == NULL || accel__backend_is_forked(stream->backend))
        return true;
    accel__error_mute();
    const accel_status asked = stream->backend->table.stream.query(stream->native, &done);
    accel__error_unmute();
    return accel__work_is_over(asked, done) && accel__callbacks_pending(stream) == 0;
}

/* Takes one abandoned stream that is idle out of the list; NULL where there is none. */
static accel_stream *take_abandoned(accel__device *device)
{
    accel__mutex_lock(&device->mutex);
    accel_stream *found = device->streams;
    while (found != NULL &&
           !(found->is_abandoned && found->references == 1 && accel__stream_is_idle(found)))
        found = found->next;
    if (found != NULL)
        unlist_locked(found);
    accel__mutex_unlock(&device->mutex);
    return found;
}

static void sweep(accel__device *device)
{
    accel_stream *found = NULL;
    while ((found = take_abandoned(device)) != NULL)
        destroy(found);
}

void accel_stream_retain(accel_stream *stream)
{
    if (accel__handle_is_live(stream, ACCEL__HANDLE_STREAM) && !stream->is_default)
        atomic_fetch_add_explicit(&stream->references, 1, memory_order_relaxed);
}

void accel__stream_hold(accel_stream *stream)
{
    if (stream->is_default)
        return;
    atomic_fetch_add(&stream->references, 1);
    atomic_fetch_add(&stream->held, 1);
}

void accel__stream_let_go(accel_stream *stream)
{
    if (!stream->is_default)
        atomic_fetch_sub(&stream->held, 1); /* first: what is read must not exceed the references */
    accel_stream_release(stream);
}

/* Tells the memory layer where the caller's is the last reference but for that layer's own. */
static void tell_unused(accel_stream *stream)
{
    void (*unused)(accel_stream *) = accel__stream_unused;
    const uint32_t held = stream->held;
    if (unused != NULL && held != 0 && stream->references == held + 1)
        unused(stream);
}

/* Drops a reference that is not the last one. */
static bool drop_shared(accel_stream *stream)
{
    uint32_t seen = stream->references;
    while (seen > 1)
        if (atomic_compare_exchange_weak(&stream->references, &seen, seen - 1))
            return true;
    return false;
}

/* The last reference goes with the mutex held, so that a walk over the list, which takes references
 * under it, never finds a stream that nobody holds. */
void accel_stream_release(accel_stream *stream)
{
    if (!accel__handle_is_live(stream, ACCEL__HANDLE_STREAM) || stream->is_default)
        return;
    tell_unused(stream);
    if (drop_shared(stream))
        return;
    accel__device *device = stream->device;
    accel__mutex_lock(&device->mutex);
    const bool last = atomic_fetch_sub(&stream->references, 1) == 1;
    const bool idle = last && accel__stream_is_idle(stream);
    if (last && !idle) {
        stream->is_abandoned = true;
        stream->references = 1;
    }
    if (idle)
        unlist_locked(stream);
    accel__mutex_unlock(&device->mutex);
    if (idle)
        destroy(stream);
    sweep(device);
}

/* ---- waits ---- */

/* Why a stream that captures is not waited for. */
static const char is_not_run[] =
    "what is captured does not run before the graph is replayed: end the capture first";

static accel_status synchronize(accel_stream *stream)
{
    accel_native_stream *native = stream->native;
    if (native == NULL)
        return ACCEL_OK;
    const uint32_t callbacks = accel__callbacks_mark(stream);
    const accel_status status = stream->backend->table.stream.synchronize(native);
    accel__callbacks_wait(stream, callbacks);
    return status;
}

/* The stream after `previous` (NULL: the first), counted. */
static accel_stream *next_retained(accel__device *device, accel_stream *previous)
{
    accel__mutex_lock(&device->mutex);
    accel_stream *next = previous == NULL ? device->streams : previous->next;
    if (next != NULL && !next->is_default)
        atomic_fetch_add(&next->references, 1);
    accel__mutex_unlock(&device->mutex);
    return next;
}

static void call_after_synchronize(void (*after)(void))
{
    if (after != NULL)
        after();
}

accel_status accel__device_wait(accel__device *device, const char *function)
{
    if (accel__backend_is_forked(device->backend))
        return accel__fail_forked(device->backend, function);
    accel_status first = ACCEL_OK;
    accel_stream *stream = next_retained(device, NULL);
    while (stream != NULL) {
        const accel_status status = synchronize(stream);
        if (first == ACCEL_OK && status != ACCEL_OK) {
            first = accel__error_met_by(status, function);
            accel__error_mute(); /* the record is of the failure that is returned */
        }
        accel_stream *next = next_retained(device, stream);
        accel_stream_release(stream);
        stream = next;
    }
    if (first != ACCEL_OK)
        accel__error_unmute();
    sweep(device);
    call_after_synchronize(accel__after_synchronize_graphs);
    call_after_synchronize(accel__after_synchronize);
    return first;
}

accel_status accel__device_synchronize(accel__device *device, const char *function)
{
    const accel_status status = accel__capture_refuse_device(device, function);
    return status == ACCEL_OK ? accel__device_wait(device, function) : status;
}

accel_status accel_stream_synchronize(accel_stream *stream)
{
    accel_status status = accel__resolve_stream(stream, __func__, &stream);
    if (status == ACCEL_OK)
        status = accel__check_callback(__func__);
    if (status == ACCEL_OK)
        status = accel__capture_refuse_stream(stream, __func__, is_not_run);
    if (status == ACCEL_OK && accel__backend_is_forked(stream->backend))
        status = accel__fail_forked(stream->backend, __func__);
    return status == ACCEL_OK ? synchronize(stream) : status;
}

accel_status accel_stream_query(accel_stream *stream, bool *out_done)
{
    if (out_done == NULL)
        return accel__fail_null(__func__, "out_done");
    *out_done = false;
    accel_status status = accel__resolve_stream(stream, __func__, &stream);
    if (status == ACCEL_OK)
        status = accel__capture_refuse_stream(stream, __func__, is_not_run);
    if (status == ACCEL_OK && accel__backend_is_forked(stream->backend))
        status = accel__fail_forked(stream->backend, __func__);
    if (status != ACCEL_OK)
        return status;
    bool done = true;
    if (stream->native != NULL)
        status = stream->backend->table.stream.query(stream->native, &done);
    *out_done = status == ACCEL_OK && done && accel__callbacks_pending(stream) == 0;
    return status;
}

accel_status accel_stream_wait_stream(accel_stream *stream, accel_stream *other)
{
    accel_status status = accel__resolve_stream(stream, __func__, &stream);
    if (status == ACCEL_OK)
        status = accel__resolve_stream(other, __func__, &other);
    if (status != ACCEL_OK || stream == other)
        return status;
    accel_event *event = NULL;
    status = accel_event_create(other->device->id, NULL, &event);
    if (status == ACCEL_OK)
        status = accel_event_record(event, other);
    if (status == ACCEL_OK)
        status = accel__stream_wait(stream, event, __func__);
    accel_event_release(event);
    return accel__error_met_by(status, __func__);
}

/* ---- questions ---- */

accel_status accel_stream_default(accel_device device, accel_stream **out_stream)
{
    if (out_stream == NULL)
        return accel__fail_null(__func__, "out_stream");
    *out_stream = NULL;
    accel__device *found = NULL;
    const accel_status status = accel__device_resolve(device, __func__, &found);
    if (status == ACCEL_OK)
        *out_stream = &found->default_stream;
    return status;
}

accel_status accel_stream_get_device(const accel_stream *stream, accel_device *out_device)
{
    if (out_device == NULL)
        return accel__fail_null(__func__, "out_device");
    *out_device = ACCEL_DEVICE(ACCEL_BACKEND_NONE, ACCEL_INDEX_NONE);
    const accel_status status = accel__stream_check(stream, __func__);
    if (status == ACCEL_OK)
        *out_device = stream->device->id;
    return status;
}

accel_status accel_stream_get_id(const accel_stream *stream, uint64_t *out_id)
{
    if (out_id == NULL)
        return accel__fail_null(__func__, "out_id");
    *out_id = 0;
    const accel_status status = accel__stream_check(stream, __func__);
    if (status == ACCEL_OK)
        *out_id = stream->id;
    return status;
}

accel_status accel_stream_get_priority(const accel_stream *stream, int32_t *out_priority)
{
    if (out_priority == NULL)
        return accel__fail_null(__func__, "out_priority");
    *out_priority = 0;
    const accel_status status = accel__stream_check(stream, __func__);
    if (status == ACCEL_OK)
        *out_priority = stream->priority;
    return status;
}

accel_status accel_stream_get_native_handle(accel_stream *stream, void **out_handle)
{
    if (out_handle == NULL)
        return accel__fail_null(__func__, "out_handle");
    *out_handle = NULL;
    accel_native_stream *native = NULL;
    accel__capture *capture = NULL;
    accel_status status = accel__resolve_stream(stream, __func__, &stream);
    if (status == ACCEL_OK)
        status = accel__stream_use(stream, __func__, &native, &capture);
    if (status != ACCEL_OK)
        return status;
    if (capture == NULL)
        return stream->backend->table.handles.stream(native, out_handle);
    status = capture->ops->refuse(capture, __func__,
                                  "what is queued by the native handle would not be captured");
    accel__capture_release(capture);
    return status;
}
