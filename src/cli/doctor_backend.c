/* doctor_backend.c: one backend: its devices, its drivers, what stands in the way, and whether the promises
 * about fork hold. See doctor.h. */
#include <stdio.h>
#include <string.h>

#include "cli/backend_object.h"
#include "cli/doctor.h"
#include "cli/live_check.h"

/* "none" is no fault of anything: nothing of the kind is here, or somebody wanted it so. */
static const char *state_of(accel_reason reason)
{
    switch (reason) {
    case ACCEL_REASON_NONE:
        return "ok";
    case ACCEL_REASON_NO_DRIVER:
    case ACCEL_REASON_NO_DEVICE:
    case ACCEL_REASON_HIDDEN:
    case ACCEL_REASON_LEFT_OUT:
        return "none";
    default:
        return "problem";
    }
}

static const char *remedy_of(accel_reason reason)
{
    return reason != ACCEL_REASON_NONE ? accel_reason_remedy(reason) : NULL;
}

/* ---- devices and drivers ---- */

static void add_devices(json_t *block, accel_backend backend, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        accel_device_info info = {.struct_size = sizeof info};
        char name[ACCEL_DEVICE_NAME_MAX];
        snprintf(name, sizeof name, "%s:%d", accel_backend_name(backend), i);
        if (accel_device_describe(ACCEL_DEVICE(backend, i), &info) == ACCEL_OK)
            accel__doctor_add(block, "ok", name, NULL, "%s", info.name);
        else
            accel__doctor_add(block, "problem", name,
                              "update the driver, or hide the device (ACCEL_VISIBLE_DEVICES)", "%s",
                              accel_last_error_message());
    }
}

static void add_driver(json_t *block, const accel_driver_report *report)
{
    char what[sizeof report->name + 8];
    char from[sizeof report->library + sizeof report->source + 16];
    const bool named = report->source[0] != '\0';
    snprintf(what, sizeof what, "driver %s", report->name);
    snprintf(from, sizeof from, "%s%s%s", report->library, named ? ", named by " : "",
             report->source);
    if (report->reason == ACCEL_REASON_NONE)
        accel__doctor_add(block, "ok", what, NULL, "%d device%s in %u ms (%s)",
                          report->device_count, report->device_count == 1 ? "" : "s",
                          report->duration_ms, from);
    else
        accel__doctor_add(block, state_of(report->reason), what, remedy_of(report->reason),
                          "%s%s%s (%s)", accel_reason_cause(report->reason),
                          report->detail[0] != '\0' ? ": " : "", report->detail, from);
}

/* Whether a driver's item says the reason already. */
static bool add_drivers(json_t *block, accel_backend backend, const accel_backend_report *report)
{
    bool told = false;
    for (uint32_t i = 0; i < report->driver_count; i++) {
        accel_driver_report driver = {.struct_size = sizeof driver};
        if (accel_backend_get_driver_report(backend, i, &driver) != ACCEL_OK)
            continue;
        add_driver(block, &driver);
        told |= driver.reason == report->reason;
    }
    return told;
}

/* What is wrong with ACCEL_VISIBLE_DEVICES is said by all backends, and told once: doctor_settings.c. */
static bool is_about_setting(const accel_backend_report *report)
{
    return strncmp(report->detail, "ACCEL_VISIBLE_DEVICES: ", 23) == 0;
}

/* A backend that finds its devices by itself has its own words for why there is none. */
static void add_reason(json_t *block, const accel_backend_report *report)
{
    const bool own_words = report->reason == ACCEL_REASON_NO_DEVICE && report->driver_count == 0 &&
                           report->detail[0] != '\0';
    if (own_words)
        accel__doctor_add(block, "none", "devices", NULL, "%s", report->detail);
    else if (report->reason == ACCEL_REASON_LEFT_OUT ||
             (is_about_setting(report) && report->reason != ACCEL_REASON_BAD_SETTING))
        accel__doctor_add(block, state_of(report->reason), "devices", remedy_of(report->reason),
                          "%s", accel_reason_cause(report->reason));
    else if (!is_about_setting(report))
        accel__doctor_add(block, state_of(report->reason), "devices", remedy_of(report->reason),
                          "%s%s%s", accel_reason_cause(report->reason),
                          report->detail[0] != '\0' ? ": " : "", report->detail);
}

/* Where some are left: else the reason says it. */
static void add_hidden(json_t *block, const accel_backend_report *report)
{
    if (report->hidden_count != 0 && report->reason != ACCEL_REASON_HIDDEN)
        accel__doctor_add(block, "note", "hidden", NULL, "%s hides %d device%s", report->variable,
                          report->hidden_count, report->hidden_count == 1 ? "" : "s");
}

/* ---- live checks ---- */

static const char *outcome_name(accel__live_outcome outcome)
{
    switch (outcome) {
    case ACCEL__LIVE_WORKS:
        return "works";
    case ACCEL__LIVE_REFUSED:
        return "refused";
    case ACCEL__LIVE_FAILED:
        return "failed";
    case ACCEL__LIVE_CRASHED:
        return "crashed";
    case ACCEL__LIVE_EXITED:
        return "exited";
    case ACCEL__LIVE_HUNG:
        return "hung";
    default:
        return "unchecked";
    }
}

static json_t *live_object(const accel__live_result *result)
{
    json_t *object = json_object();
    accel__json_set(object, "outcome", json_string(outcome_name(result->outcome)));
    accel__json_set(object, "detail", accel__json_text(result->detail));
    accel__json_set(object, "duration_ms", json_integer(result->duration_ms));
    return object;
}

/* `wanted`: how it must come out. */
static void add_live(json_t *block, const char *what, const accel__live_result *result,
                     accel__live_outcome wanted)
{
    static const char fix[] = "update or remove the driver; ACCEL_VISIBLE_DEVICES and "
                              "ACCEL_BACKENDS leave out what cannot be used";
    static const char slow[] = "update or remove the driver, or give --timeout more time where it "
                               "is merely slow";
    static const char processes[] = "let accel start processes (limits, seccomp)";
    if (result->outcome == wanted)
        accel__doctor_add(block, "ok", what, NULL, "%s, in %u ms",
                          wanted == ACCEL__LIVE_WORKS ? "works" : "one clear error, as promised",
                          result->duration_ms);
    else
        accel__doctor_add(block, "problem", what,
                          result->outcome == ACCEL__LIVE_HUNG        ? slow
                          : result->outcome == ACCEL__LIVE_UNCHECKED ? processes
                                                                     : fix,
                          "%s%s%s", outcome_name(result->outcome),
                          result->detail[0] != '\0' ? ": " : "", result->detail);
}

static void keep_warnings(const accel__live_result *result)
{
    for (uint32_t i = 0; i < result->warning_count; i++)
        accel__doctor_keep_warning(result->warnings[i]);
}

static void check_live(json_t *block, accel_backend backend, uint32_t timeout_ms)
{
    accel_device_capability capability = {.struct_size = sizeof capability};
    accel__live_result after;
    accel__live_result before;
    (void)accel_get_device_capability(ACCEL_DEVICE(backend, 0), &capability);
    accel__live_check(backend, false, timeout_ms, &after);
    accel__live_check(backend, true, timeout_ms, &before);
    add_live(block, "ask, fork, use", &after, ACCEL__LIVE_WORKS);
    add_live(block, "use, fork, use", &before,
             capability.survives_fork ? ACCEL__LIVE_WORKS : ACCEL__LIVE_REFUSED);
    if (after.no_compiler[0] != '\0')
        accel__doctor_add(block, "problem", "compiler",
                          "install gcc or clang, or let ACCEL_CC name a C compiler; native objects "
                          "(accel build) run without one",
                          "%s", after.no_compiler);
    keep_warnings(&after);
    keep_warnings(&before);
    accel__json_set(block, "live",
                    json_pack("{s:o, s:o}", "ask_fork_use", live_object(&after), "use_fork_use",
                              live_object(&before)));
}

/* ---- the block ---- */

json_t *accel__doctor_backend(accel_backend backend, uint32_t timeout_ms)
{
    accel_backend_report report = {.struct_size = sizeof report};
    json_t *block = accel__doctor_block(accel_backend_name(backend));
    accel__json_set(block, "report", accel__backend_object(backend));
    if (accel_backend_get_report(backend, &report) != ACCEL_OK) {
        accel__doctor_add(block, "problem", "devices", "see the message", "%s",
                          accel_last_error_message());
        return block;
    }
    add_devices(block, backend, report.device_count);
    const bool told = add_drivers(block, backend, &report);
    if (!told && report.reason != ACCEL_REASON_NONE)
        add_reason(block, &report);
    add_hidden(block, &report);
    if (report.device_count > 0)
        check_live(block, backend, timeout_ms);
    else if (accel__doctor_problems(block) == 0)
        accel__doctor_set_state(block, "none");
    return block;
}
