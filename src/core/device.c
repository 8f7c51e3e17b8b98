/* device.c: resolving, describing and opening devices. Questions ask the backend's
 * question functions only; accel__device_use is the one way to a driver. */
#include "core/device.h"

#include "base/allocate.h"
#include "base/error.h"
#include "core/current.h"

accel_status accel__backend_resolve(accel_backend number, const char *function,
                                    accel__backend **out_backend)
{
    *out_backend = NULL;
    if (number == ACCEL_BACKEND_CURRENT) {
        const accel_status status = accel__current_backend(function, out_backend);
        if (status == ACCEL_OK && *out_backend == NULL)
            return accel__fail(ACCEL_ERROR_UNAVAILABLE, NULL, function,
                               "there is no accelerator on this machine");
        return status;
    }
    *out_backend = accel__registry_get(number);
    if (*out_backend != NULL)
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_NOT_FOUND, NULL, function,
                       "there is no backend of number %u: numbers go from 1 to %u", number,
                       accel__registry_count());
}

/* The device's object, made at the first call for it. */
static accel__device *get_object(accel__backend *backend, int32_t index)
{
    accel__device *device = backend->devices[index];
    if (device != NULL)
        return device;
    accel__device *made = accel__allocate(sizeof *made);
    if (made == NULL)
        return NULL;
    made->id = ACCEL_DEVICE(backend->number, index);
    made->backend = backend;
    accel__stream_init_default(&made->default_stream, made);
    if (atomic_compare_exchange_strong(&backend->devices[index], &device, made))
        return made;
    accel__handle_close(&made->default_stream.handle);
    accel__deallocate(made);
    return device;
}

static accel_status check_index(accel__backend *backend, int32_t index, const char *function)
{
    accel_backend_probe answer = {
        .device_count = atomic_load_explicit(&backend->frozen_count, memory_order_acquire)};
    if (answer.device_count < 0)
        accel__backend_ask(backend, &answer);
    int32_t count = answer.device_count;
    if (index >= 0 && index < count)
        return ACCEL_OK;
    if (answer.cannot_tell && index >= 0)
        return accel__fail_cannot_tell(backend, &answer, function);
    if (count == 0 && index >= 0)
        return accel__fail_no_device(backend, function);
    return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, backend->table.name, function,
                       "device index %d is out of range: '%s' has %d device%s", index,
                       backend->table.name, count, count == 1 ? "" : "s");
}

accel_status accel__device_resolve(accel_device device, const char *function,
                                   accel__device **out_device)
{
    accel__backend *backend = NULL;
    *out_device = NULL;
    accel_status status = accel__backend_resolve(device.backend, function, &backend);
    if (status != ACCEL_OK)
        return status;
    const int32_t index = device.index == ACCEL_INDEX_NONE ? accel__current_index(backend->number)
                                                           : device.index;
    status = check_index(backend, index, function);
    if (status != ACCEL_OK)
        return status;
    *out_device = get_object(backend, index);
    return *out_device != NULL ? ACCEL_OK
                               : accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, backend->table.name,
                                             function, "no memory for the device object");
}

static accel_status open_locked(accel__device *device)
{
    if (device->native != NULL)
        return ACCEL_OK;
    accel_status status = accel__device_capability(device->backend, device->id.index,
                                                   &device->capability);
    accel_native_device *native = NULL;
    if (status == ACCEL_OK)
        status = device->backend->table.device.open(
            accel__inventory_table_index(device->backend, device->id.index), &native);
    if (status == ACCEL_OK)
        atomic_store_explicit(&device->native, native, memory_order_release);
    return status;
}

accel_status accel__device_use(accel__device *device, const char *function)
{
    accel_status status = accel__backend_use(device->backend, function);
    if (status != ACCEL_OK || atomic_load_explicit(&device->native, memory_order_acquire) != NULL)
        return status;
    status = check_index(device->backend, device->id.index, function);
    if (status != ACCEL_OK)
        return status;
    accel__mutex_lock(&device->mutex);
    status = open_locked(device);
    accel__mutex_unlock(&device->mutex);
    return status;
}

/* What a driver reported of a device in the helper. The count was checked before; only a change of the
 * environment in between can make this fail. */
static const accel_backend_found *find_reported(accel__backend *backend, int32_t index,
                                                const char *function)
{
    const accel__inventory *inventory = accel__inventory_get(backend);
    if (inventory != NULL && index < inventory->summary.device_count)
        return inventory->visible[index].found;
    accel__fail(ACCEL_ERROR_OUT_OF_RANGE, backend->table.name, function,
                "device %d has gone: the environment has changed meanwhile", index);
    return NULL;
}

accel_status accel__device_describe(accel__backend *backend, int32_t index,
                                    accel_device_info *out_info)
{
    if (!accel__backend_has_drivers(backend)) {
        *out_info = (accel_device_info){.struct_size = sizeof *out_info};
        return backend->table.local.describe(accel__inventory_table_index(backend, index),
                                             out_info);
    }
    const accel_backend_found *found = find_reported(backend, index, "accel_device_describe");
    if (found == NULL)
        return ACCEL_ERROR_OUT_OF_RANGE;
    *out_info = found->info;
    return ACCEL_OK;
}

accel_status accel__device_capability(accel__backend *backend, int32_t index,
                                      accel_device_capability *out_capability)
{
    accel_status status = ACCEL_OK;
    if (accel__backend_has_drivers(backend)) {
        const accel_backend_found *found = find_reported(backend, index, "capability");
        if (found == NULL)
            return ACCEL_ERROR_OUT_OF_RANGE;
        *out_capability = found->capability;
    } else {
        const int32_t table_index = accel__inventory_table_index(backend, index);
        *out_capability = (accel_device_capability){.struct_size = sizeof *out_capability};
        status = backend->table.local.capability(table_index, out_capability);
        if (status == ACCEL_OK)
            status = backend->table.priorities.range(table_index, &out_capability->priority_lowest,
                                                     &out_capability->priority_highest);
    }
    if (!accel__backend_owns(backend, ACCEL__GROUP_PRIORITIES))
        out_capability->priority_lowest = out_capability->priority_highest = 0;
    out_capability->timing &= accel__backend_owns(backend, ACCEL__GROUP_TIMING);
    out_capability->pinned_memory &= accel__backend_owns(backend, ACCEL__GROUP_PINNED);
    out_capability->peer_copies &= accel__backend_owns(backend, ACCEL__GROUP_PEER);
    out_capability->ordered_callbacks = accel__backend_owns(backend, ACCEL__GROUP_CALLBACKS);
    out_capability->native_handles = accel__backend_owns(backend, ACCEL__GROUP_HANDLES);
    out_capability->host_access = (backend->table.flags & ACCEL_BACKEND_HOST_ACCESS) != 0;
    out_capability->survives_fork = accel__backend_survives_fork(backend);
    return status;
}
