/* device_query.c: the public questions about backends and devices. */
#include <accel/device.h>

#include "base/error.h"
#include "base/lent.h"
#include "core/current.h"
#include "core/device.h"

uint32_t accel_backend_count(void)
{
    return accel__registry_count();
}

const char *accel_backend_name(accel_backend backend)
{
    accel__backend *found = NULL;
    if (backend == ACCEL_BACKEND_CURRENT)
        accel__current_backend(__func__, &found);
    else
        found = accel__registry_get(backend);
    return found != NULL ? found->table.name : NULL;
}

accel_status accel_backend_find(const char *name, accel_backend *out_backend)
{
    if (out_backend == NULL)
        return accel__fail_null(__func__, "out_backend");
    *out_backend = ACCEL_BACKEND_NONE;
    if (name == NULL)
        return accel__fail_null(__func__, "name");
    accel__backend *found = accel__registry_find(name);
    if (found != NULL) {
        *out_backend = found->number;
        return ACCEL_OK;
    }
    return accel__fail_no_backend(name, __func__);
}

static accel_status count_devices(accel_backend backend, const char *function, int32_t *out_count)
{
    accel__backend *found = NULL;
    *out_count = 0;
    const accel_status status = backend == ACCEL_BACKEND_CURRENT
                                    ? accel__current_backend(function, &found)
                                    : accel__backend_resolve(backend, function, &found);
    return status == ACCEL_OK && found != NULL ? accel__backend_count(found, out_count, function)
                                               : status;
}

accel_status accel_device_count(accel_backend backend, int32_t *out_count)
{
    return out_count != NULL ? count_devices(backend, __func__, out_count)
                             : accel__fail_null(__func__, "out_count");
}

accel_status accel_is_available(accel_backend backend, bool *out_available)
{
    if (out_available == NULL)
        return accel__fail_null(__func__, "out_available");
    int32_t count = 0;
    const accel_status status = count_devices(backend, __func__, &count);
    *out_available = count > 0;
    return status;
}

accel_status accel_device_describe(accel_device device, accel_device_info *out_info)
{
    accel__device *found = NULL;
    accel_status status = accel__out_check(out_info, __func__);
    if (status != ACCEL_OK)
        return status;
    accel__out_clear(out_info);
    status = accel__device_resolve(device, __func__, &found);
    if (status != ACCEL_OK)
        return status;
    accel_device_info info;
    status = accel__device_describe(found->backend, found->id.index, &info);
    if (status == ACCEL_OK)
        accel__out_write(out_info, &info, sizeof info);
    return status;
}

accel_status accel_get_device_capability(accel_device device,
                                         accel_device_capability *out_capability)
{
    accel__device *found = NULL;
    accel_status status = accel__out_check(out_capability, __func__);
    if (status != ACCEL_OK)
        return status;
    accel__out_clear(out_capability);
    status = accel__device_resolve(device, __func__, &found);
    if (status != ACCEL_OK)
        return status;
    accel_device_capability capability;
    status = accel__device_capability(found->backend, found->id.index, &capability);
    if (status == ACCEL_OK)
        accel__out_write(out_capability, &capability, sizeof capability);
    return status;
}

accel_status accel_get_memory_info(accel_device device, size_t *out_free, size_t *out_total)
{
    if (out_free == NULL || out_total == NULL)
        return accel__fail_null(__func__, out_free == NULL ? "out_free" : "out_total");
    *out_free = *out_total = 0;
    accel__device *found = NULL;
    accel_status status = accel__device_resolve(device, __func__, &found);
    if (status == ACCEL_OK && !accel__backend_survives_fork(found->backend))
        status = accel__device_use(found, __func__);
    if (status == ACCEL_OK)
        status = found->backend->table.device.memory_info(
            accel__inventory_table_index(found->backend, found->id.index), out_free, out_total);
    if (status != ACCEL_OK)
        *out_free = *out_total = 0;
    return status;
}

accel_status accel_synchronize(accel_device device)
{
    accel__device *found = NULL;
    accel_status status = accel__check_callback(__func__);
    if (status == ACCEL_OK)
        status = accel__device_resolve(device, __func__, &found);
    return status == ACCEL_OK ? accel__device_synchronize(found, __func__) : status;
}
