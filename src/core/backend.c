/* backend.c: see backend.h. */
#include "core/backend.h"

#include <string.h>

#include "base/error.h"

accel_status accel__fail_no_backend(const char *name, const char *function)
{
    char names[256];
    accel__registry_names(names, sizeof names);
    return accel__fail(ACCEL_ERROR_NOT_FOUND, NULL, function,
                       "there is no backend '%.64s'; there are: %s", name, names);
}

/* The reason where accel itself is short of something: told apart from a driver's. */
static const char no_memory[] = "the host has too little free memory";

void accel__backend_ask(accel__backend *backend, accel_backend_probe *out_probe)
{
    *out_probe = (accel_backend_probe){0};
    const int32_t frozen = atomic_load_explicit(&backend->frozen_count, memory_order_acquire);
    if (frozen >= 0) {
        out_probe->device_count = frozen;
        return;
    }
    const accel__inventory *inventory = accel__inventory_get(backend);
    if (inventory != NULL) {
        *out_probe = inventory->summary;
        return;
    }
    out_probe->cannot_tell = true;
    memcpy(out_probe->reason, no_memory, sizeof no_memory);
}

accel_status accel__fail_cannot_tell(const accel__backend *backend,
                                     const accel_backend_probe *answer, const char *function)
{
    if (strcmp(answer->reason, no_memory) == 0)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, backend->table.name, function,
                           "no memory to ask how many devices '%s' has", backend->table.name);
    return accel__fail(ACCEL_ERROR_CANNOT_TELL, backend->table.name, function,
                       "cannot tell how many devices '%s' has: %s", backend->table.name,
                       answer->reason);
}

accel_status accel__backend_count(accel__backend *backend, int32_t *out_count, const char *function)
{
    const int32_t frozen = atomic_load_explicit(&backend->frozen_count, memory_order_acquire);
    *out_count = frozen;
    if (frozen >= 0)
        return ACCEL_OK;
    accel_backend_probe answer;
    accel__backend_ask(backend, &answer);
    *out_count = answer.device_count;
    return answer.cannot_tell ? accel__fail_cannot_tell(backend, &answer, function) : ACCEL_OK;
}

accel_status accel__fail_no_device(accel__backend *backend, const char *function)
{
    accel_backend_probe answer;
    accel__backend_ask(backend, &answer);
    return accel__fail(ACCEL_ERROR_UNAVAILABLE, backend->table.name, function,
                       "'%s' has no device%s%s", backend->table.name,
                       answer.reason[0] != '\0' ? ": " : "", answer.reason);
}
