/* backend_report.c: the public face of inventory.h: why a backend has the devices it has. */
#include <accel/discovery.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/lent.h"
#include "core/device.h"

/* Which variable the reader should look at. */
static const char *variable_of(const accel__inventory *inventory, const char *problem)
{
    if (inventory->reason == ACCEL_REASON_LEFT_OUT)
        return "ACCEL_BACKENDS";
    if (inventory->hidden_count != 0 || problem[0] != '\0')
        return "ACCEL_VISIBLE_DEVICES";
    return inventory->summary.variable;
}

static void fill(const accel__backend *backend, const accel__inventory *inventory,
                 accel_backend_report *report)
{
    char problem[sizeof report->detail];
    accel__inventory_visible_problem(inventory, problem, sizeof problem);
    const bool helped = accel__backend_has_drivers(backend);
    report->reason = inventory->reason;
    if (report->reason == ACCEL_REASON_NONE && problem[0] != '\0')
        report->reason = ACCEL_REASON_BAD_SETTING;
    report->device_count = inventory->summary.device_count;
    report->hidden_count = inventory->hidden_count;
    report->cannot_tell = inventory->summary.cannot_tell;
    report->driver_count = inventory->answer_count;
    const char *source = backend->frozen_count >= 0 ? "started" : helped ? "helper" : "files";
    snprintf(report->source, sizeof report->source, "%s", source);
    snprintf(report->variable, sizeof report->variable, "%s", variable_of(inventory, problem));
    snprintf(report->detail, sizeof report->detail, "%s",
             problem[0] != '\0' ? problem : inventory->summary.reason);
}

/* The backend's inventory, for a question that has an out struct. */
static accel_status begin(accel_backend backend, void *out, const char *function,
                          accel__backend **out_backend, const accel__inventory **out_inventory)
{
    accel_status status = accel__out_check(out, function);
    if (status != ACCEL_OK)
        return status;
    accel__out_clear(out);
    status = accel__backend_resolve(backend, function, out_backend);
    if (status != ACCEL_OK)
        return status;
    *out_inventory = accel__inventory_get(*out_backend);
    return *out_inventory != NULL
               ? ACCEL_OK
               : accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, (*out_backend)->table.name, function,
                             "no memory to ask for devices");
}

accel_status accel_backend_get_report(accel_backend backend, accel_backend_report *out_report)
{
    accel__backend *found = NULL;
    const accel__inventory *inventory = NULL;
    const accel_status status = begin(backend, out_report, __func__, &found, &inventory);
    if (status != ACCEL_OK)
        return status;
    accel_backend_report report = {0};
    fill(found, inventory, &report);
    accel__out_write(out_report, &report, sizeof report);
    return ACCEL_OK;
}

accel_status accel_backend_get_driver_report(accel_backend backend, uint32_t index,
                                             accel_driver_report *out_report)
{
    accel__backend *found = NULL;
    const accel__inventory *inventory = NULL;
    const accel_status status = begin(backend, out_report, __func__, &found, &inventory);
    if (status != ACCEL_OK)
        return status;
    if (index >= inventory->answer_count)
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, found->table.name, __func__,
                           "driver %u is out of range: '%s' has %u", index, found->table.name,
                           inventory->answer_count);
    const accel__answer *answer = inventory->answers[index];
    accel_driver_report report = {
        .reason = answer->reason,
        .device_count = (int32_t)answer->found_count,
        .duration_ms = answer->duration_ms,
    };
    memcpy(report.name, answer->driver.name, sizeof report.name);
    memcpy(report.library, answer->driver.library, sizeof report.library);
    memcpy(report.source, answer->driver.source, sizeof report.source);
    memcpy(report.detail, answer->detail, sizeof report.detail);
    accel__out_write(out_report, &report, sizeof report);
    return ACCEL_OK;
}
