/* device.c: names, descriptions, capabilities and the current device. */
#include "conformance.h"

static void names(cf_run *run)
{
    char text[ACCEL_DEVICE_NAME_MAX];
    accel_device parsed;
    size_t needed = 0;
    OK(accel_device_format(run->device, text, sizeof text, &needed));
    CHECK(needed == strlen(text) + 1);
    OK(accel_device_parse(text, &parsed));
    CHECK(parsed.backend == run->device.backend && parsed.index == run->device.index);
    const char *backend = accel_backend_name(run->device.backend);
    CHECK(backend != NULL && strncmp(text, backend, strlen(backend)) == 0);
}

static void description(cf_run *run)
{
    accel_device_info info = {.struct_size = sizeof info};
    accel_device_info again = {.struct_size = sizeof again};
    OK(accel_device_describe(run->device, &info));
    OK(accel_device_describe(run->device, &again));
    CHECK(info.name[0] != '\0');
    CHECK(info.kind >= ACCEL_DEVICE_KIND_UNKNOWN && info.kind <= ACCEL_DEVICE_KIND_ACCELERATOR);
    CHECK(memcmp(&info, &again, sizeof info) == 0);
}

static void identities_differ(cf_run *run)
{
    accel_device_info mine = {.struct_size = sizeof mine};
    accel_device_info other = {.struct_size = sizeof other};
    if (!run->has_other)
        SKIP("the backend has one device");
    OK(accel_device_describe(run->device, &mine));
    OK(accel_device_describe(run->other, &other));
    CHECK(mine.uuid[0] == '\0' || strcmp(mine.uuid, other.uuid) != 0);
}

static void limits(cf_run *run)
{
    const accel_device_capability *c = &run->capability;
    CHECK(c->compute_units >= 1);
    CHECK(c->total_memory > 0 && c->max_allocation > 0);
    CHECK(c->alignment >= ACCEL_MEMORY_ALIGNMENT && (c->alignment & (c->alignment - 1)) == 0);
    CHECK((c->data_types & ACCEL_DATA_TYPE_BIT(ACCEL_DATA_TYPE_U8)) != 0);
    CHECK((c->data_types >> (ACCEL_DATA_TYPE_C128 + 1)) == 0 && (c->data_types & 1) == 0);
    CHECK(c->priority_lowest >= 0 && c->priority_highest <= 0);
    if (!cf_has_kernels(run))
        return;
    CHECK(c->max_block_items >= 1 && c->max_grid_blocks >= 1);
    for (int i = 0; i < 3; i++)
        CHECK(c->max_grid[i] >= 1 && c->max_block[i] >= 1);
}

static void memory_info(cf_run *run)
{
    size_t free_bytes = 0;
    size_t total = 0;
    OK(accel_get_memory_info(run->device, &free_bytes, &total));
    CHECK(total > 0 && free_bytes <= total);
}

static void current_device(cf_run *run)
{
    int32_t index = -1;
    accel_device previous;
    accel_device accelerator;
    OK(accel_current_device_index(run->device.backend, &index));
    CHECK(index == run->device.index);
    OK(accel_current_accelerator(true, &accelerator));
    CHECK(accelerator.backend == run->device.backend && accelerator.index == ACCEL_INDEX_NONE);
    OK(accel_exchange_device(run->device, &previous));
    CHECK(previous.index == run->device.index);
    OK(accel_set_device_index(ACCEL_DEVICE(run->device.backend, -1)));
    OK(accel_current_device_index(ACCEL_BACKEND_CURRENT, &index));
    CHECK(index == run->device.index);
}

static void device_scope(cf_run *run)
{
    accel_device_scope scope;
    int32_t index = -1;
    if (!run->has_other)
        SKIP("the backend has one device");
    OK(accel_device_index_begin(run->other, &scope));
    OK(accel_current_device_index(run->device.backend, &index));
    CHECK(index == run->other.index);
    accel_device_index_end(&scope);
    OK(accel_current_device_index(run->device.backend, &index));
    CHECK(index == run->device.index);
}

static void beyond_the_count(cf_run *run)
{
    int32_t count = 0;
    OK(accel_device_count(run->device.backend, &count));
    CHECK(count > run->device.index);
    const int32_t wrong[] = {count, count + 128, count + 256, INT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        GIVES(accel_set_device_index(ACCEL_DEVICE(run->device.backend, wrong[i])),
              ACCEL_ERROR_OUT_OF_RANGE);
    GIVES(accel_synchronize(ACCEL_DEVICE(run->device.backend, -1)), ACCEL_ERROR_OUT_OF_RANGE);
}

static void synchronize_keeps_the_current_device(cf_run *run)
{
    int32_t index = -1;
    OK(accel_synchronize(run->device));
    if (run->has_other)
        OK(accel_synchronize(run->other));
    OK(accel_current_device_index(run->device.backend, &index));
    CHECK(index == run->device.index);
}

const cf_test cf_device_tests[] = {
    {"device/names", names},
    {"device/description", description},
    {"device/identities-differ", identities_differ},
    {"device/limits", limits},
    {"device/memory-info", memory_info},
    {"device/current", current_device},
    {"device/scope", device_scope},
    {"device/beyond-the-count", beyond_the_count},
    {"device/synchronize-keeps-current", synchronize_keeps_the_current_device},
    {NULL, NULL},
};
