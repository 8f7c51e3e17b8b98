/* strange_devices.c: a library to preload under the accel command that answers its questions about
 * devices, so that `accel list` meets what no test machine has: none, many, names of every kind,
 * missing facts, devices that cannot be asked.
 *
 *   STRANGE_COUNT=N      devices of the one backend, "odd" (default 1)
 *   STRANGE_NAME=TEXT    their name; STRANGE_DRIVER likewise
 *   STRANGE_MISSING=X    name, vendor, driver, uuid, bus, memory, kind, capability or all
 *   STRANGE_CANNOT_TELL=REASON   the count is only what is certain so far
 *   STRANGE_BROKEN=I     describing device I fails */
#include <accel/accel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char message[256];

static const char *setting(const char *name, const char *fallback)
{
    const char *value = getenv(name);
    return value != NULL ? value : fallback;
}

static bool is_missing(const char *field)
{
    const char *missing = setting("STRANGE_MISSING", "");
    return strcmp(missing, field) == 0 || strcmp(missing, "all") == 0;
}

uint32_t accel_backend_count(void)
{
    return 1;
}

const char *accel_backend_name(accel_backend backend)
{
    (void)backend;
    return "odd";
}

const char *accel_last_error_message(void)
{
    return message;
}

accel_status accel_device_count(accel_backend backend, int32_t *out_count)
{
    const char *reason = getenv("STRANGE_CANNOT_TELL");
    (void)backend;
    *out_count = atoi(setting("STRANGE_COUNT", "1"));
    if (reason == NULL)
        return ACCEL_OK;
    snprintf(message, sizeof message, "%s", reason);
    return ACCEL_ERROR_CANNOT_TELL;
}

accel_status accel_device_describe(accel_device device, accel_device_info *out_info)
{
    if (device.index == atoi(setting("STRANGE_BROKEN", "-1"))) {
        snprintf(message, sizeof message, "device %d is gone; plug it in", device.index);
        return ACCEL_ERROR_DEVICE_FAILED;
    }
    *out_info = (accel_device_info){.struct_size = sizeof *out_info};
    if (!is_missing("kind"))
        out_info->kind = ACCEL_DEVICE_KIND_GPU;
    if (!is_missing("name"))
        snprintf(out_info->name, sizeof out_info->name, "%s", setting("STRANGE_NAME", "Odd One"));
    if (!is_missing("vendor"))
        snprintf(out_info->vendor, sizeof out_info->vendor, "Odd Inc.");
    if (!is_missing("driver"))
        snprintf(out_info->driver, sizeof out_info->driver, "%s",
                 setting("STRANGE_DRIVER", "odd 1.2"));
    if (!is_missing("uuid"))
        snprintf(out_info->uuid, sizeof out_info->uuid, "odd-%d", device.index);
    if (!is_missing("bus"))
        snprintf(out_info->bus_address, sizeof out_info->bus_address, "0000:01:00.0");
    if (!is_missing("memory"))
        out_info->total_memory = UINT64_C(16) << 30;
    return ACCEL_OK;
}

accel_status accel_get_device_capability(accel_device device,
                                         accel_device_capability *out_capability)
{
    (void)device;
    if (is_missing("capability")) {
        snprintf(message, sizeof message, "no answer; try again");
        return ACCEL_ERROR_CANNOT_TELL;
    }
    *out_capability = (accel_device_capability){.struct_size = sizeof *out_capability,
                                                .compute_units = 4,
                                                .data_types = UINT64_MAX,
                                                .max_allocation = UINT64_MAX,
                                                .timing = true};
    return ACCEL_OK;
}
