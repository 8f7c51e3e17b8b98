/* probe_record.c: see probe_record.h. Devices all have one size, so a record of n devices has one size
 * too, and each message stands at a place that is known beforehand. */
#include "core/probe_record.h"

#include <string.h>

enum {
    FOUND_STRIDE = sizeof(accel__probe_message) + sizeof(accel_backend_found),
    END_STRIDE = sizeof(accel__probe_message) + sizeof(accel__probe_end)
};

size_t accel__probe_size(uint32_t found_count)
{
    return sizeof(accel__probe_header) + (size_t)found_count * FOUND_STRIDE + END_STRIDE;
}

static bool message_is(const char *bytes, accel__probe_kind kind, size_t size)
{
    accel__probe_message message;
    memcpy(&message, bytes, sizeof message);
    return message.kind == (uint32_t)kind && message.size == size;
}

/* A text that a device came with must end within its array. */
static bool ends(const char *text, size_t capacity)
{
    return memchr(text, '\0', capacity) != NULL;
}

static bool found_is_sane(const char *bytes)
{
    accel_backend_found found;
    memcpy(&found, bytes, sizeof found);
    return ends(found.info.name, sizeof found.info.name) &&
           ends(found.info.vendor, sizeof found.info.vendor) &&
           ends(found.info.driver, sizeof found.info.driver) &&
           ends(found.info.uuid, sizeof found.info.uuid) &&
           ends(found.info.bus_address, sizeof found.info.bus_address) &&
           found.info.struct_size == sizeof found.info &&
           found.capability.struct_size == sizeof found.capability;
}

static bool check_found(const char *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++, bytes += FOUND_STRIDE)
        if (!message_is(bytes, ACCEL__PROBE_FOUND, sizeof(accel_backend_found)) ||
            !found_is_sane(bytes + sizeof(accel__probe_message)))
            return false;
    return true;
}

bool accel__probe_parse(const char *bytes, size_t size, accel__probe_end *out_end,
                        const char **out_text)
{
    const accel__probe_header wanted = accel__probe_header_make();
    *out_text = "the helper ended without a whole record";
    if (size < sizeof wanted + END_STRIDE)
        return false;
    if (memcmp(bytes, &wanted, sizeof wanted) != 0) {
        *out_text = "the helper is of another version of accel";
        return false;
    }
    const char *end = bytes + size - END_STRIDE;
    memcpy(out_end, end + sizeof(accel__probe_message), sizeof *out_end);
    if (!message_is(end, ACCEL__PROBE_END, sizeof *out_end) ||
        out_end->found_count > ACCEL__PROBE_DEVICE_MAX ||
        size != accel__probe_size(out_end->found_count) ||
        !ends(out_end->detail, sizeof out_end->detail) ||
        !check_found(bytes + sizeof wanted, out_end->found_count)) {
        *out_text = "the helper's record makes no sense";
        return false;
    }
    return true;
}

accel_backend_found accel__probe_found(const char *bytes, uint32_t index)
{
    accel_backend_found found;
    memcpy(&found,
           bytes + sizeof(accel__probe_header) + (size_t)index * FOUND_STRIDE +
               sizeof(accel__probe_message),
           sizeof found);
    return found;
}
