/* device_choice.c: see device_choice.h. Called by run and build. */
#include "cli/device_choice.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_SIZE = 1024 };

/* Appends " cpu:0 to cpu:7" for a backend with devices. */
static size_t append_names(accel_backend backend, char *names, size_t used)
{
    int32_t count = 0;
    (void)accel_device_count(backend, &count); /* cannot tell: those that are certain */
    if (count == 0 || used >= NAMES_SIZE)
        return used;
    const char *name = accel_backend_name(backend);
    const char *gap = used > 0 ? ", " : "";
    if (count == 1)
        return used + (size_t)snprintf(names + used, NAMES_SIZE - used, "%s%s:0", gap, name);
    return used + (size_t)snprintf(names + used, NAMES_SIZE - used, "%s%s:0 to %s:%d", gap, name,
                                   name, count - 1);
}

/* "cpu:0, cuda:0 to cuda:3" */
static void list_names(char *names)
{
    size_t used = 0;
    names[0] = '\0';
    for (uint32_t backend = 1; backend <= accel_backend_count(); backend++)
        used = append_names(backend, names, used);
    if (used == 0)
        snprintf(names, NAMES_SIZE, "none, as this machine has no usable device");
}

/* A name is told at its beginning only, so that 10 KiB of it stay one line that can be read. */
static accel__exit refuse_name(const char *text, accel_status status)
{
    char names[NAMES_SIZE];
    list_names(names);
    const char *dots = strlen(text) > 40 ? "..." : "";
    if (status == ACCEL_ERROR_INVALID_ARGUMENT)
        return accel__cli_misuse("\"%.40s%s\" is not the name of a device; valid here: %s", text,
                                 dots, names);
    return accel__cli_fail("there is no device \"%.40s%s\"; valid here: %s", text, dots, names);
}

static accel__exit choose_current(accel_device *out_device)
{
    int32_t index = 0;
    accel_status status = accel_current_accelerator(true, out_device);
    if (status != ACCEL_OK)
        return accel__cli_fail_status(status);
    if (out_device->backend == ACCEL_BACKEND_NONE)
        return accel__cli_fail("there is no usable device; see accel list");
    status = accel_current_device_index(out_device->backend, &index);
    out_device->index = index;
    return status == ACCEL_OK ? ACCEL__EXIT_OK : accel__cli_fail_status(status);
}

accel__exit accel__choose_device(const char *text, accel_device *out_device)
{
    int32_t count = 0;
    if (text == NULL)
        return choose_current(out_device);
    accel_status status = accel_device_parse(text, out_device);
    if (status != ACCEL_OK)
        return refuse_name(text, status);
    if (out_device->index == ACCEL_INDEX_NONE) {
        status = accel_current_device_index(out_device->backend, &out_device->index);
        if (status != ACCEL_OK)
            return accel__cli_fail_status(status);
    }
    status = accel_device_count(out_device->backend, &count);
    if (out_device->index < count)
        return ACCEL__EXIT_OK;
    return status == ACCEL_OK ? refuse_name(text, ACCEL_ERROR_NOT_FOUND)
                              : accel__cli_fail_status(status);
}
