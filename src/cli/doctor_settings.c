/* doctor_settings.c: variables whose value fits nothing or changes what the reader sees, and what the
 * library warned of while the doctor looked. See doctor.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor.h"

enum { ENTRY_SIZE = 128, WARNING_MAX = 32 };

static char *warnings[WARNING_MAX];
static size_t warning_count;

void accel__doctor_keep_warning(const char *text)
{
    for (size_t i = 0; i < warning_count; i++)
        if (strcmp(warnings[i], text) == 0)
            return;
    char *copy = warning_count < WARNING_MAX ? strdup(text) : NULL;
    if (copy != NULL)
        warnings[warning_count++] = copy;
}

static const char *value_of(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* ---- ACCEL_VISIBLE_DEVICES ---- */

/* "NAME" or "NAME:INDEX" of a backend: the library itself tells where its index is wrong. */
static bool is_name(const char *entry)
{
    char name[ENTRY_SIZE];
    accel_backend found;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(entry, ":"), entry);
    return accel_backend_find(name, &found) == ACCEL_OK;
}

static bool fits_device(const char *entry, accel_device device)
{
    accel_device_info info = {.struct_size = sizeof info};
    return accel_device_describe(device, &info) == ACCEL_OK &&
           (strncmp(info.uuid, entry, strlen(entry)) == 0 || strcmp(info.bus_address, entry) == 0);
}

/* What an entry chose is listed, so what fits nothing that is listed chose nothing. */
static bool fits_some_device(const char *entry)
{
    const uint32_t known = accel_backend_count();
    for (accel_backend backend = 1; backend <= known; backend++) {
        int32_t count = 0;
        (void)accel_device_count(backend, &count); /* those that are certain */
        for (int32_t i = 0; i < count; i++)
            if (fits_device(entry, ACCEL_DEVICE(backend, i)))
                return true;
    }
    return false;
}

static const char visible_prefix[] = "ACCEL_VISIBLE_DEVICES: ";
static const char visible_remedy[] = "correct the variable: NAME:INDEX as `accel list` prints it "
                                     "without it, NAME, a UUID, or a bus address";

/* What the backend's report says of the variable; NULL: nothing. */
static const char *report_says(const json_t *backend)
{
    const json_t *report = json_object_get(backend, "report");
    const char *detail = json_string_value(json_object_get(report, "detail"));
    const size_t size = sizeof visible_prefix - 1;
    return detail != NULL && strncmp(detail, visible_prefix, size) == 0 ? detail + size : NULL;
}

/* Each thing once, although several backends may say it. */
static void tell_reports(json_t *block, const json_t *backends)
{
    const size_t count = json_array_size(backends);
    for (size_t i = 0; i < count; i++) {
        const char *says = report_says(json_array_get(backends, i));
        bool told = false;
        for (size_t j = 0; j < i && says != NULL; j++) {
            const char *other = report_says(json_array_get(backends, j));
            told |= other != NULL && strcmp(other, says) == 0;
        }
        if (says != NULL && !told)
            accel__doctor_add(block, "problem", "ACCEL_VISIBLE_DEVICES", visible_remedy, "%s",
                              says);
    }
}

/* A report tells of the first entry that is wrong. */
static bool is_told(const json_t *backends, const char *entry)
{
    char quoted[ENTRY_SIZE + 2];
    size_t i;
    json_t *backend;
    snprintf(quoted, sizeof quoted, "'%s'", entry);
    json_array_foreach(backends, i, backend)
    {
        const char *says = report_says(backend);
        if (says != NULL && strstr(says, quoted) != NULL)
            return true;
    }
    return false;
}

/* A backend that cannot tell may have the device that an entry means. */
static bool all_can_tell(const json_t *backends)
{
    size_t i;
    json_t *backend;
    json_array_foreach(backends, i,
                       backend) if (json_is_true(json_object_get(json_object_get(backend, "report"),
                                                                 "cannot_tell"))) return false;
    return true;
}

static void check_entry(json_t *block, const json_t *backends, const char *entry)
{
    if (!is_name(entry) && !fits_some_device(entry) && !is_told(backends, entry))
        accel__doctor_add(block, "problem", "ACCEL_VISIBLE_DEVICES", visible_remedy,
                          "'%s' fits no device", entry);
}

static void check_visible(json_t *block, const json_t *backends)
{
    const char *rest = all_can_tell(backends) ? getenv("ACCEL_VISIBLE_DEVICES") : NULL;
    tell_reports(block, backends);
    while (rest != NULL && *rest != '\0') {
        char entry[ENTRY_SIZE];
        const size_t size = strcspn(rest, ",");
        const size_t blank = strspn(rest, " \t");
        snprintf(entry, sizeof entry, "%.*s", (int)(blank < size ? size - blank : 0), rest + blank);
        for (size_t end = strlen(entry); end > 0 && strchr(" \t", entry[end - 1]) != NULL; end--)
            entry[end - 1] = '\0';
        if (entry[0] != '\0')
            check_entry(block, backends, entry);
        rest += size + (rest[size] == ',');
    }
}

/* ---- the others ---- */

static void check_backends(json_t *block)
{
    const char *rest = value_of("ACCEL_BACKENDS");
    while (rest != NULL && *rest != '\0') {
        char word[ENTRY_SIZE];
        accel_backend found;
        const size_t size = strcspn(rest, ", \t");
        snprintf(word, sizeof word, "%.*s", (int)size, rest);
        if (size != 0 && accel_backend_find(word, &found) != ACCEL_OK)
            accel__doctor_add(block, "problem", "ACCEL_BACKENDS",
                              accel_reason_remedy(ACCEL_REASON_BAD_SETTING), "%s",
                              accel_last_error_message());
        rest += size + (rest[size] != '\0');
    }
}

static void check_backend(json_t *block)
{
    accel_device device;
    if (value_of("ACCEL_BACKEND") != NULL && accel_current_accelerator(true, &device) != ACCEL_OK)
        accel__doctor_add(block, "problem", "ACCEL_BACKEND",
                          accel_reason_remedy(ACCEL_REASON_BAD_SETTING), "%s",
                          accel_last_error_message());
}

static void tell_default(json_t *block)
{
    accel_device device;
    if (accel_current_accelerator(true, &device) != ACCEL_OK)
        return;
    const char *name = accel_backend_name(device.backend);
    accel__doctor_add(block, "ok", "default accelerator", NULL, "%s", name != NULL ? name : "none");
}

/* What is wrong with the settings of the allocators, as the first allocation of a program would say it. */
static void check_allocators(json_t *block)
{
    static const char source[] = "text: ";
    const char *text = value_of("ACCEL_ALLOC_CONF");
    if (text == NULL)
        return;
    const bool is_right = accel_allocator_check_config(text) == ACCEL_OK;
    const char *says = accel_last_error_message();
    if (is_right)
        accel__doctor_add(block, "note", "ACCEL_ALLOC_CONF", NULL, "is in effect: %s", text);
    else
        accel__doctor_add(
            block, "problem", "ACCEL_ALLOC_CONF", accel_reason_remedy(ACCEL_REASON_BAD_SETTING),
            "%s", strncmp(says, source, sizeof source - 1) == 0 ? says + sizeof source - 1 : says);
}

static void tell_mask(json_t *block)
{
    if (value_of("ACCEL_MASK") != NULL)
        accel__doctor_add(block, "note", "ACCEL_MASK", "unset it unless this is a test of accel",
                          "is in effect: %s are taken as missing", value_of("ACCEL_MASK"));
    const char *cache = value_of("ACCEL_CACHE");
    if (cache != NULL && strcmp(cache, "0") == 0)
        accel__doctor_add(block, "note", "ACCEL_CACHE", NULL,
                          "is 0: compiled kernels are not kept");
}

static void tell_warning(json_t *block, const char *text)
{
    static const char cache[] = "kernel cache: ";
    if (strstr(text, visible_prefix) != NULL)
        return; /* told from the reports */
    if (strncmp(text, cache, sizeof cache - 1) == 0)
        accel__doctor_add(block, "problem", "kernel cache",
                          "let ACCEL_CACHE_DIR name a directory that is yours and only you may "
                          "write to; ACCEL_CACHE=0 does without",
                          "%s", text + sizeof cache - 1);
    else if (strstr(text, "ACCEL_") != NULL)
        accel__doctor_add(block, "problem", "variable",
                          accel_reason_remedy(ACCEL_REASON_BAD_SETTING), "%s", text);
    else
        accel__doctor_add(block, "note", "warning", NULL, "%s", text);
}

json_t *accel__doctor_settings(const json_t *backends)
{
    json_t *block = accel__doctor_block("settings");
    check_visible(block, backends);
    check_backends(block);
    check_backend(block);
    tell_default(block);
    check_allocators(block);
    tell_mask(block);
    for (size_t i = 0; i < warning_count; i++) {
        tell_warning(block, warnings[i]);
        free(warnings[i]);
    }
    warning_count = 0;
    return block;
}
