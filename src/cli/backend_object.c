/* backend_object.c: see backend_object.h. */
#include "cli/backend_object.h"

/* Name, cause and remedy; both are null where there is nothing to say. */
static void set_reason(json_t *object, accel_reason reason)
{
    const bool told = reason != ACCEL_REASON_NONE;
    accel__json_set(object, "reason", accel__json_text(accel_reason_name(reason)));
    accel__json_set(object, "cause", told ? accel__json_text(accel_reason_cause(reason)) : NULL);
    accel__json_set(object, "remedy", told ? accel__json_text(accel_reason_remedy(reason)) : NULL);
}

static json_t *driver_object(const accel_driver_report *report)
{
    json_t *object = json_object();
    if (object == NULL)
        return NULL;
    accel__json_set(object, "name", accel__json_text(report->name));
    accel__json_set(object, "library", accel__json_text(report->library));
    accel__json_set(object, "source", accel__json_text(report->source));
    set_reason(object, report->reason);
    accel__json_set(object, "detail", accel__json_text(report->detail));
    accel__json_set(object, "device_count", json_integer(report->device_count));
    accel__json_set(object, "duration_ms", json_integer(report->duration_ms));
    return object;
}

static json_t *drivers(accel_backend backend, uint32_t count)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < count; i++) {
        accel_driver_report report = {.struct_size = sizeof report};
        if (accel_backend_get_driver_report(backend, i, &report) == ACCEL_OK)
            json_array_append_new(array, driver_object(&report));
    }
    return array;
}

json_t *accel__backend_object(accel_backend backend)
{
    accel_backend_report report = {.struct_size = sizeof report};
    json_t *object = json_object();
    if (object == NULL)
        return NULL;
    accel__json_set(object, "name", accel__json_text(accel_backend_name(backend)));
    if (accel_backend_get_report(backend, &report) != ACCEL_OK) {
        accel__json_set(object, "error", accel__json_text(accel_last_error_message()));
        return object;
    }
    set_reason(object, report.reason);
    accel__json_set(object, "detail", accel__json_text(report.detail));
    accel__json_set(object, "source", accel__json_text(report.source));
    accel__json_set(object, "variable", accel__json_text(report.variable));
    accel__json_set(object, "device_count", json_integer(report.device_count));
    accel__json_set(object, "hidden_count", json_integer(report.hidden_count));
    accel__json_set(object, "cannot_tell", json_boolean(report.cannot_tell));
    accel__json_set(object, "drivers", drivers(backend, report.driver_count));
    return object;
}
