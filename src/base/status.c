/* status.c: names and texts of statuses and the library's version, from the public lists. */
#include <accel/status.h>

const char *accel_status_name(accel_status status)
{
    switch (status) {
#define NAME_CASE(name, number, text)                                                              \
    case name:                                                                                     \
        return #name;
        ACCEL_STATUS_LIST(NAME_CASE)
#undef NAME_CASE
    default:
        return "ACCEL_ERROR_UNKNOWN";
    }
}

const char *accel_status_text(accel_status status)
{
    switch (status) {
#define TEXT_CASE(name, number, text)                                                              \
    case name:                                                                                     \
        return text;
        ACCEL_STATUS_LIST(TEXT_CASE)
#undef TEXT_CASE
    default:
        return "unknown status";
    }
}

uint32_t accel_version(void)
{
    return ACCEL_VERSION_MAJOR * 10000u + ACCEL_VERSION_MINOR * 100u + ACCEL_VERSION_PATCH;
}
