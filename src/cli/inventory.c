/* inventory.c: see inventory.h. Only questions are asked here: nothing starts. */
#include "cli/inventory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more item and clears it; NULL where memory ran out. */
static void *append(void **items, size_t *count, size_t item_size)
{
    char *grown = reallocarray(*items, *count + 1, item_size);
    if (grown == NULL)
        return NULL;
    *items = grown;
    void *item = grown + *count * item_size;
    memset(item, 0, item_size);
    *count += 1;
    return item;
}

static bool add_problem(accel__inventory *inventory, const char *id, accel_status status)
{
    const char *message = accel_last_error_message();
    void *items = inventory->problems;
    accel__inventory_problem *problem = append(&items, &inventory->problem_count,
                                               sizeof *inventory->problems);
    inventory->problems = items;
    if (problem == NULL)
        return false;
    snprintf(problem->id, sizeof problem->id, "%s", id);
    problem->status = status;
    problem->reason = strdup(message[0] != '\0' ? message : accel_status_text(status));
    return problem->reason != NULL;
}

static bool add_device(accel__inventory *inventory, accel_device device)
{
    accel__inventory_device entry = {.info.struct_size = sizeof entry.info,
                                     .capability.struct_size = sizeof entry.capability};
    snprintf(entry.id, sizeof entry.id, "%s:%d", accel_backend_name(device.backend), device.index);
    accel_status status = accel_device_describe(device, &entry.info);
    if (status != ACCEL_OK)
        return add_problem(inventory, entry.id, status);
    status = accel_get_device_capability(device, &entry.capability);
    entry.has_capability = status == ACCEL_OK;
    if (status != ACCEL_OK && !add_problem(inventory, entry.id, status))
        return false;
    void *items = inventory->devices;
    accel__inventory_device *place = append(&items, &inventory->device_count,
                                            sizeof *inventory->devices);
    inventory->devices = items;
    if (place != NULL)
        *place = entry;
    return place != NULL;
}

/* "None" has a reason too, which the library gives to who wants to use the backend all the same. */
static char *reason_for_none(accel_backend backend)
{
    accel_device_info info = {.struct_size = sizeof info};
    accel_status status = accel_device_describe(ACCEL_DEVICE(backend, 0), &info);
    return strdup(status != ACCEL_OK ? accel_last_error_message() : "");
}

static bool has_bad_setting(accel_backend backend)
{
    accel_backend_report report = {.struct_size = sizeof report};
    return accel_backend_get_report(backend, &report) == ACCEL_OK &&
           report.reason == ACCEL_REASON_BAD_SETTING;
}

static bool add_backend(accel__inventory *inventory, accel_backend backend)
{
    int32_t count = 0;
    const char *name = accel_backend_name(backend);
    accel_status status = accel_device_count(backend, &count);
    if (status != ACCEL_OK && !add_problem(inventory, name, status))
        return false;
    void *items = inventory->backends;
    accel__inventory_backend *entry = append(&items, &inventory->backend_count,
                                             sizeof *inventory->backends);
    inventory->backends = items;
    if (entry == NULL)
        return false;
    entry->name = name;
    entry->device_count = count;
    entry->reason = count == 0 ? reason_for_none(backend) : NULL;
    if (count == 0 && entry->reason == NULL)
        return false;
    entry->has_bad_setting = count == 0 && has_bad_setting(backend);
    for (int32_t index = 0; index < count; index++)
        if (!add_device(inventory, ACCEL_DEVICE(backend, index)))
            return false;
    return true;
}

accel__exit accel__inventory_take(accel__inventory *out_inventory)
{
    memset(out_inventory, 0, sizeof *out_inventory);
    uint32_t count = accel_backend_count();
    for (uint32_t backend = 1; backend <= count; backend++)
        if (!add_backend(out_inventory, backend))
            return accel__cli_fail_memory();
    return ACCEL__EXIT_OK;
}

void accel__inventory_release(accel__inventory *inventory)
{
    for (size_t i = 0; i < inventory->problem_count; i++)
        free(inventory->problems[i].reason);
    for (size_t i = 0; i < inventory->backend_count; i++)
        free(inventory->backends[i].reason);
    free(inventory->backends);
    free(inventory->problems);
    free(inventory->devices);
    memset(inventory, 0, sizeof *inventory);
}

const char *accel__device_kind_name(accel_device_kind kind)
{
    switch (kind) {
    case ACCEL_DEVICE_KIND_CPU:
        return "cpu";
    case ACCEL_DEVICE_KIND_GPU:
        return "gpu";
    case ACCEL_DEVICE_KIND_ACCELERATOR:
        return "accelerator";
    default:
        return NULL;
    }
}
