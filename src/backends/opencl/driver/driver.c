/* driver.c: starts the backend: loads the drivers that were found healthy in the helper, and only those,
 * and finds their devices again. One context covers the devices of a platform, so that events and copies
 * between them are the driver's own business.
 *
 * A failed start lets go of its contexts and may be tried again. Libraries stay: drivers leave threads
 * behind, and no driver expects to be unloaded. */
#include "backends/opencl/driver/driver.h"

#include <stdio.h>
#include <string.h>

#include "backends/opencl/device.h"
#include "backends/opencl/queue/worker.h"
#include "base/allocate.h"
#include "base/error.h"

static const char function[] = "accel_initialize";

/* A loaded driver. */
typedef struct loaded {
    const accel_backend_driver *driver;
    accel__opencl_platform *platforms;
    cl_uint platform_count;
} loaded;

/* Written by start, read by everything after it. */
static struct {
    accel__opencl_entry *entries;
    uint32_t count;
} started;

accel__opencl_entry *accel__opencl_entry_get(int32_t index)
{
    return &started.entries[index];
}

/* The driver, loaded now if it was not yet. NULL after a failure. */
static loaded *load(loaded *drivers, uint32_t *count, const accel_backend_driver *driver)
{
    for (uint32_t i = 0; i < *count; i++)
        if (drivers[i].driver == driver)
            return &drivers[i];
    loaded *made = &drivers[*count];
    if (accel__opencl_load_library(driver->library, &made->platforms, &made->platform_count) !=
        ACCEL_OK) {
        char text[256];
        snprintf(text, sizeof text, "%s", accel_last_error_message());
        accel__fail(ACCEL_ERROR_START_FAILED, "opencl", function,
                    "the driver %s, which answered before, cannot be started now: %s", driver->name,
                    text);
        return NULL;
    }
    made->driver = driver;
    ++*count;
    return made;
}

/* The driver's own number counts through all of its platforms. */
static bool find_device(const loaded *driver, int32_t ordinal, accel__opencl_entry *entry)
{
    for (cl_uint i = 0; i < driver->platform_count; i++) {
        accel__opencl_platform *platform = &driver->platforms[i];
        if (ordinal < (int32_t)platform->device_count) {
            entry->platform = platform;
            entry->id = platform->devices[ordinal];
            return true;
        }
        ordinal -= (int32_t)platform->device_count;
    }
    return false;
}

/* Looks for the reported device, and whether what stands there is it. */
static accel_status find_reported(const loaded *driver, accel__opencl_entry *entry)
{
    const accel_device_info *reported = &entry->found->info;
    char name[sizeof reported->name] = "";
    accel_status status = ACCEL_OK;
    const bool found = find_device(driver, entry->found->ordinal, entry);
    if (found)
        status = accel__opencl_read_text(&entry->platform->api, entry->id, CL_DEVICE_NAME, name,
                                         sizeof name);
    if (status != ACCEL_OK || (found && strcmp(name, reported->name) == 0))
        return status;
    return accel__fail(ACCEL_ERROR_START_FAILED, "opencl", function,
                       "the driver %s no longer has the device '%s' that it reported",
                       driver->driver->name, reported->name);
}

static accel_status find_entries(const accel_backend_selected *selected, uint32_t count,
                                 loaded *drivers, uint32_t *driver_count,
                                 accel__opencl_entry *entries)
{
    for (uint32_t i = 0; i < count; i++) {
        const loaded *driver = load(drivers, driver_count, selected[i].driver);
        if (driver == NULL)
            return ACCEL_ERROR_START_FAILED;
        entries[i].found = selected[i].found;
        const accel_status status = find_reported(driver, &entries[i]);
        if (status != ACCEL_OK)
            return accel__error_met_by(status, function);
    }
    return ACCEL_OK;
}

/* One context for all entries of the platform of entries[first]. */
static accel_status make_context(accel__opencl_entry *entries, uint32_t count, uint32_t first)
{
    const accel__opencl_platform *platform = entries[first].platform;
    const intptr_t properties[] = {CL_CONTEXT_PLATFORM, (intptr_t)platform->id, 0};
    cl_device_id ids[ACCEL__OPENCL_DEVICE_MAX] = {NULL};
    cl_uint id_count = 0;
    cl_int code = CL_SUCCESS;
    for (uint32_t i = first; i < count && id_count < ACCEL__OPENCL_DEVICE_MAX; i++)
        if (entries[i].platform == platform)
            ids[id_count++] = entries[i].id;
    cl_context context = platform->api.clCreateContext(properties, id_count, ids, NULL, NULL,
                                                       &code);
    if (context == NULL) {
        const char *name = accel__opencl_code_name(code);
        return accel__fail_vendor(ACCEL_ERROR_START_FAILED, "opencl", function, code, name,
                                  "the driver '%s' cannot be started: clCreateContext returned %s",
                                  platform->name, name);
    }
    for (uint32_t i = first; i < count; i++)
        if (entries[i].platform == platform)
            entries[i].context = context;
    return ACCEL_OK;
}

static accel_status make_contexts(accel__opencl_entry *entries, uint32_t count)
{
    accel_status status = ACCEL_OK;
    for (uint32_t i = 0; i < count && status == ACCEL_OK; i++)
        if (entries[i].context == NULL)
            status = make_context(entries, count, i);
    return status;
}

static void drop_contexts(accel__opencl_entry *entries, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const accel__opencl_platform *platform = entries[i].platform;
        cl_context context = entries[i].context;
        if (context == NULL || platform == NULL)
            continue;
        for (uint32_t other = i; other < count; other++)
            if (entries[other].context == context)
                entries[other].context = NULL;
        platform->api.clReleaseContext(context);
    }
}

accel_status accel__opencl_start(const accel_backend_selected *selected, uint32_t count)
{
    uint32_t driver_count = 0;
    loaded *drivers = accel__allocate_array(count, sizeof *drivers);
    accel__opencl_entry *entries = accel__allocate_array(count, sizeof *entries);
    if (drivers == NULL || entries == NULL) {
        accel__deallocate(drivers);
        accel__deallocate(entries);
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, "opencl", function,
                           "no memory to start %u devices", count);
    }
    accel_status status = find_entries(selected, count, drivers, &driver_count, entries);
    if (status == ACCEL_OK)
        status = make_contexts(entries, count);
    if (status == ACCEL_OK) {
        started.entries = entries;
        started.count = count;
    } else {
        drop_contexts(entries, count);
        accel__deallocate(entries);
        for (uint32_t i = 0; i < driver_count; i++)
            accel__deallocate(drivers[i].platforms);
    }
    accel__deallocate(drivers); /* the platforms live on behind the entries */
    return status;
}

void accel__opencl_stop(void)
{
    accel__opencl_worker_stop();
}
