/* device_name.c: devices as text: "cuda:0" and nothing like it. */
#include <accel/device.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/lent.h"
#include "core/current.h"
#include "core/device.h"

static accel_status malformed(const char *text)
{
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, "accel_device_parse",
                       "'%.64s' is not a device: write a backend's name in lower case, and a colon "
                       "and an index without sign, blanks or leading zeros, like cpu:0",
                       text);
}

/* Digits to a non-negative index. */
static accel_status parse_index(const char *text, const char *digits, int32_t *out_index)
{
    const size_t size = strspn(digits, "0123456789");
    if (size == 0 || digits[size] != '\0' || (digits[0] == '0' && size > 1))
        return malformed(text);
    int64_t value = 0;
    for (const char *c = digits; *c != '\0' && value <= INT32_MAX; c++)
        value = value * 10 + (*c - '0');
    if (value > INT32_MAX)
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, NULL, "accel_device_parse",
                           "the index in '%.64s' is beyond %d", text, INT32_MAX);
    *out_index = (int32_t)value;
    return ACCEL_OK;
}

accel_status accel_device_parse(const char *text, accel_device *out_device)
{
    if (out_device == NULL)
        return accel__fail_null(__func__, "out_device");
    *out_device = ACCEL_DEVICE(ACCEL_BACKEND_NONE, ACCEL_INDEX_NONE);
    if (text == NULL)
        return accel__fail_null(__func__, "text");
    const size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    char name[32];
    if (size == 0 || text[0] < 'a' || size >= sizeof name ||
        (text[size] != ':' && text[size] != '\0'))
        return malformed(text);
    memcpy(name, text, size);
    name[size] = '\0';
    int32_t index = ACCEL_INDEX_NONE;
    accel_status status = ACCEL_OK;
    if (text[size] == ':')
        status = parse_index(text, text + size + 1, &index);
    if (status != ACCEL_OK)
        return status;
    const accel__backend *found = accel__registry_find(name);
    if (found == NULL)
        return accel__fail_no_backend(name, __func__);
    *out_device = ACCEL_DEVICE(found->number, index);
    return ACCEL_OK;
}

accel_status accel_device_format(accel_device device, char *buffer, size_t capacity,
                                 size_t *out_needed)
{
    accel__backend *backend = NULL;
    if (out_needed != NULL)
        *out_needed = 0;
    const accel_status status = accel__backend_resolve(device.backend, __func__, &backend);
    if (status != ACCEL_OK)
        return status;
    const bool current = device.backend == ACCEL_BACKEND_CURRENT;
    int32_t index = device.index;
    if (current && index == ACCEL_INDEX_NONE)
        index = accel__current_index(backend->number);
    if (index < 0 && index != ACCEL_INDEX_NONE)
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, backend->table.name, __func__,
                           "device index %d is negative", index);
    char text[ACCEL_DEVICE_NAME_MAX];
    const int length = index == ACCEL_INDEX_NONE
                           ? snprintf(text, sizeof text, "%s", backend->table.name)
                           : snprintf(text, sizeof text, "%s:%d", backend->table.name, index);
    const size_t needed = (size_t)length + 1;
    const accel_status fits = accel__buffer_check(buffer, capacity, needed, out_needed, __func__);
    if (fits == ACCEL_OK && capacity != 0)
        memcpy(buffer, text, needed);
    return fits;
}
