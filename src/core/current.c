/* current.c: see current.h. A thread's state is thread-local; only the table of its current streams is
 * allocated, when it sets the first one, and given back at the thread's end by a pthread key. */
#include "core/current.h"

#include <pthread.h>

#include "base/allocate.h"
#include "base/error.h"
#include "core/default_backend.h"

/* Streams that a thread made current, per backend and index; counted references. */
typedef struct stream_table {
    accel_stream *streams[ACCEL__BACKEND_MAX][ACCEL__DEVICE_MAX];
} stream_table;

static _Thread_local struct {
    accel_backend accelerator; /* what the thread set; NONE: the process default */
    int32_t index[ACCEL__BACKEND_MAX];
    stream_table *table; /* NULL until the first accel_set_stream */
} thread;

static pthread_key_t table_key;
static pthread_once_t table_key_once = PTHREAD_ONCE_INIT;
static bool table_key_made;

static void release_table(void *value)
{
    stream_table *table = value;
    thread.table = NULL; /* a later destructor of this thread may still call accel */
    for (int b = 0; b < ACCEL__BACKEND_MAX; b++)
        for (int i = 0; i < ACCEL__DEVICE_MAX; i++)
            accel_stream_release(table->streams[b][i]);
    accel__deallocate(table);
}

static void make_table_key(void)
{
    table_key_made = pthread_key_create(&table_key, release_table) == 0;
}

static stream_table *get_table(void)
{
    if (thread.table != NULL)
        return thread.table;
    pthread_once(&table_key_once, make_table_key);
    stream_table *table = accel__allocate(sizeof *table);
    if (table == NULL || !table_key_made || pthread_setspecific(table_key, table) != 0) {
        accel__deallocate(table);
        return NULL;
    }
    thread.table = table;
    return table;
}

int32_t accel__current_index(accel_backend backend)
{
    return thread.index[backend - 1];
}

accel_status accel__current_backend(const char *function, accel__backend **out_backend)
{
    *out_backend = accel__registry_get(thread.accelerator);
    return *out_backend != NULL ? ACCEL_OK : accel__default_backend(function, out_backend);
}

accel_status accel_current_accelerator(bool check_available, accel_device *out_device)
{
    if (out_device == NULL)
        return accel__fail_null(__func__, "out_device");
    *out_device = ACCEL_DEVICE(ACCEL_BACKEND_NONE, ACCEL_INDEX_NONE);
    accel__backend *found = NULL;
    const accel_status status = accel__current_backend(__func__, &found);
    accel_backend_probe answer = {.device_count = 1};
    if (status != ACCEL_OK || found == NULL)
        return status;
    if (check_available)
        accel__backend_ask(found, &answer);
    if (answer.device_count == 0 && answer.cannot_tell)
        return accel__fail_cannot_tell(found, &answer, __func__);
    if (answer.device_count > 0)
        *out_device = ACCEL_DEVICE(found->number, ACCEL_INDEX_NONE);
    return ACCEL_OK;
}

accel_status accel_set_current_accelerator(accel_backend backend)
{
    accel__backend *found = NULL;
    if (backend == ACCEL_BACKEND_CURRENT)
        return ACCEL_OK;
    if (backend != ACCEL_BACKEND_NONE) {
        const accel_status status = accel__backend_resolve(backend, __func__, &found);
        if (status != ACCEL_OK)
            return status;
    }
    thread.accelerator = backend;
    return ACCEL_OK;
}

/* ---- the current device ---- */

static void make_current(accel_device device)
{
    thread.accelerator = device.backend;
    thread.index[device.backend - 1] = device.index;
}

/* An existing device with an index of its own. */
static accel_status resolve_indexed(accel_device device, const char *function,
                                    accel_device *out_device)
{
    if (device.index == ACCEL_INDEX_NONE)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "the device has no index: give it one, or choose a whole backend with "
                           "accel_set_current_accelerator");
    accel__device *found = NULL;
    const accel_status status = accel__device_resolve(device, function, &found);
    if (status == ACCEL_OK)
        *out_device = found->id;
    return status;
}

accel_status accel_set_device_index(accel_device device)
{
    if (device.index < 0 && device.index != ACCEL_INDEX_NONE)
        return ACCEL_OK;
    const accel_status status = resolve_indexed(device, __func__, &device);
    if (status == ACCEL_OK)
        make_current(device);
    return status;
}

accel_status accel_set_device_idx(accel_device device)
{
    return accel__error_met_by(accel_set_device_index(device), __func__);
}

accel_status accel_current_device_index(accel_backend backend, int32_t *out_index)
{
    if (out_index == NULL)
        return accel__fail_null(__func__, "out_index");
    *out_index = 0;
    accel__backend *found = NULL;
    const accel_status status = accel__backend_resolve(backend, __func__, &found);
    if (status == ACCEL_OK)
        *out_index = accel__current_index(found->number);
    return status;
}

accel_status accel_current_device_idx(accel_backend backend, int32_t *out_index)
{
    return accel__error_met_by(accel_current_device_index(backend, out_index), __func__);
}

/* Makes `device` current, and says which one of its backend was. */
static accel_status exchange(accel_device device, const char *function, accel_device *out_previous)
{
    *out_previous = ACCEL_DEVICE(ACCEL_BACKEND_NONE, ACCEL_INDEX_NONE);
    const accel_status status = resolve_indexed(device, function, &device);
    if (status != ACCEL_OK)
        return status;
    *out_previous = ACCEL_DEVICE(device.backend, accel__current_index(device.backend));
    make_current(device);
    return ACCEL_OK;
}

accel_status accel_exchange_device(accel_device device, accel_device *out_previous)
{
    return out_previous != NULL ? exchange(device, __func__, out_previous)
                                : accel__fail_null(__func__, "out_previous");
}

accel_status accel_maybe_exchange_device(accel_device device, accel_device *out_previous)
{
    if (out_previous == NULL)
        return accel__fail_null(__func__, "out_previous");
    *out_previous = ACCEL_DEVICE(ACCEL_BACKEND_NONE, ACCEL_INDEX_NONE);
    accel__backend *backend = NULL;
    const accel_status status = accel__backend_resolve(device.backend, __func__, &backend);
    if (status != ACCEL_OK)
        return status;
    *out_previous = ACCEL_DEVICE(backend->number, accel__current_index(backend->number));
    accel_backend_probe answer;
    accel__backend_ask(backend, &answer);
    if (device.index >= 0 && device.index < answer.device_count)
        make_current(ACCEL_DEVICE(backend->number, device.index));
    return ACCEL_OK;
}

accel_status accel_device_index_begin(accel_device device, accel_device_scope *out_scope)
{
    if (out_scope == NULL)
        return accel__fail_null(__func__, "out_scope");
    *out_scope = (accel_device_scope){0};
    if (device.index == ACCEL_INDEX_NONE)
        return ACCEL_OK;
    const accel_backend before = thread.accelerator;
    const accel_status status = exchange(device, __func__, &out_scope->previous);
    out_scope->previous_accelerator = before;
    out_scope->active = status == ACCEL_OK;
    return status;
}

void accel_device_index_end(accel_device_scope *scope)
{
    if (scope == NULL || !scope->active)
        return;
    thread.index[scope->previous.backend - 1] = scope->previous.index;
    thread.accelerator = scope->previous_accelerator;
    scope->active = false;
}

/* ---- the current stream ---- */

static accel_stream **stream_cell(accel_device device)
{
    return &thread.table->streams[device.backend - 1][device.index];
}

accel_stream *accel__current_stream(accel__device *device)
{
    accel_stream *set = thread.table != NULL ? *stream_cell(device->id) : NULL;
    return set != NULL ? set : &device->default_stream;
}

accel_status accel__resolve_stream(accel_stream *given, const char *function,
                                   accel_stream **out_stream)
{
    accel__device *device = NULL;
    *out_stream = given;
    if (given != NULL)
        return accel__stream_check(given, function);
    const accel_status status = accel__device_resolve(ACCEL_DEVICE_CURRENT, function, &device);
    if (status == ACCEL_OK)
        *out_stream = accel__current_stream(device);
    return status;
}

accel_status accel_current_stream(accel_device device, accel_stream **out_stream)
{
    if (out_stream == NULL)
        return accel__fail_null(__func__, "out_stream");
    *out_stream = NULL;
    accel__device *found = NULL;
    const accel_status status = accel__device_resolve(device, __func__, &found);
    if (status == ACCEL_OK)
        *out_stream = accel__current_stream(found);
    return status;
}

/* Puts `stream` (NULL: the default stream) into the cell, counted, and drops what was there. */
static void set_cell(accel_device device, accel_stream *stream)
{
    accel_stream **cell = stream_cell(device);
    accel_stream *before = *cell;
    accel_stream_retain(stream);
    *cell = stream;
    accel_stream_release(before);
}

static accel_status set_stream(accel_stream *stream, const char *function)
{
    const accel_status status = accel__stream_check(stream, function);
    if (status != ACCEL_OK)
        return status;
    if (get_table() == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, NULL, function,
                           "no memory for the thread's current streams");
    make_current(stream->device->id);
    set_cell(stream->device->id, stream->is_default ? NULL : stream);
    return ACCEL_OK;
}

accel_status accel_set_stream(accel_stream *stream)
{
    return set_stream(stream, __func__);
}

/* A counted reference to what the thread has set for a device, NULL for the default stream. */
static accel_stream *keep_current(accel_device device)
{
    accel_stream *set = thread.table != NULL ? *stream_cell(device) : NULL;
    accel_stream_retain(set);
    return set;
}

accel_status accel_stream_scope_begin(accel_stream *stream, accel_stream_scope *out_scope)
{
    if (out_scope == NULL)
        return accel__fail_null(__func__, "out_scope");
    *out_scope = (accel_stream_scope){0};
    if (stream == NULL)
        return ACCEL_OK;
    accel_status status = accel__stream_check(stream, __func__);
    accel__backend *outer = NULL;
    if (status == ACCEL_OK)
        status = accel__backend_resolve(ACCEL_BACKEND_CURRENT, __func__, &outer);
    if (status != ACCEL_OK)
        return status;
    out_scope->device.previous = ACCEL_DEVICE(outer->number, accel__current_index(outer->number));
    out_scope->device.previous_accelerator = thread.accelerator;
    out_scope->stream_device = stream->device->id;
    out_scope->stream_device_previous_index = accel__current_index(stream->device->id.backend);
    out_scope->previous = keep_current(stream->device->id);
    out_scope->previous_outer = keep_current(out_scope->device.previous);
    status = set_stream(stream, __func__);
    out_scope->active = status == ACCEL_OK;
    if (status != ACCEL_OK) {
        accel_stream_release(out_scope->previous);
        accel_stream_release(out_scope->previous_outer);
        *out_scope = (accel_stream_scope){0};
    }
    return status;
}

void accel_stream_scope_end(accel_stream_scope *scope)
{
    if (scope == NULL || !scope->active)
        return;
    set_cell(scope->stream_device, scope->previous);
    set_cell(scope->device.previous, scope->previous_outer);
    accel_stream_release(scope->previous);
    accel_stream_release(scope->previous_outer);
    thread.index[scope->stream_device.backend - 1] = scope->stream_device_previous_index;
    thread.index[scope->device.previous.backend - 1] = scope->device.previous.index;
    thread.accelerator = scope->device.previous_accelerator;
    scope->active = false;
}
