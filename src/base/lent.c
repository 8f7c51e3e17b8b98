/* lent.c: see lent.h. */
#include "base/lent.h"

#include <string.h>

#include "base/error.h"

/* Larger ones are taken for garbage rather than for a struct of the far future. */
enum { SIZE_LEAST = 8, SIZE_MOST = 4096 };

uint32_t accel__struct_size(const void *given)
{
    uint32_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

bool accel__struct_size_is_plausible(uint32_t size)
{
    return size >= SIZE_LEAST && size <= SIZE_MOST;
}

static accel_status check_size(uint32_t size, const char *function)
{
    if (accel__struct_size_is_plausible(size))
        return ACCEL_OK;
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                       "struct_size is %u: set it to sizeof the struct", size);
}

accel_status accel__options_read(const void *given, void *known, size_t known_size,
                                 const char *function)
{
    if (given == NULL)
        return ACCEL_OK;
    const uint32_t size = accel__struct_size(given);
    const accel_status status = check_size(size, function);
    if (status != ACCEL_OK)
        return status;
    const unsigned char *bytes = given;
    for (size_t i = known_size; i < size; i++)
        if (bytes[i] != 0)
            return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                               "an option at byte %zu is set that this version does not know", i);
    memcpy(known, given, size < known_size ? size : known_size);
    return ACCEL_OK;
}

accel_status accel__out_check(const void *out, const char *function)
{
    if (out == NULL)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function, "the out struct is NULL");
    return check_size(accel__struct_size(out), function);
}

void accel__out_clear(void *out)
{
    const uint32_t size = accel__struct_size(out);
    memset((char *)out + sizeof size, 0, size - sizeof size);
}

void accel__out_write(void *out, const void *known, size_t known_size)
{
    const uint32_t size = accel__struct_size(out);
    accel__out_clear(out);
    const size_t common = size < known_size ? size : known_size;
    memcpy((char *)out + sizeof size, (const char *)known + sizeof size, common - sizeof size);
}

accel_status accel__buffer_check(const void *buffer, size_t capacity, size_t needed,
                                 size_t *out_needed, const char *function)
{
    if (out_needed != NULL)
        *out_needed = needed;
    if (capacity == 0)
        return ACCEL_OK;
    if (buffer == NULL)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "the buffer is NULL: with capacity 0 only the size is asked");
    if (capacity < needed)
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, NULL, function,
                           "the buffer has room for %zu, %zu are needed", capacity, needed);
    return ACCEL_OK;
}
