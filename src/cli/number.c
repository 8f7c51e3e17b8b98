/* number.c: see number.h. Called by the parsers of arguments and shapes. */
#include "cli/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

static bool parse_base(const char *text, uint64_t base, uint64_t *out_value, const char **out_rest)
{
    uint64_t value = 0;
    const char *at = text;
    for (; (uint64_t)digit_value(*at) < base; at++)
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit_value(*at), &value))
            return false;
    *out_value = value;
    *out_rest = at;
    return at != text;
}

bool accel__parse_digits(const char *text, uint64_t *out_value, const char **out_rest)
{
    return parse_base(text, 10, out_value, out_rest);
}

bool accel__parse_count(const char *text, uint64_t least, uint64_t most, uint64_t *out_value)
{
    uint64_t value = 0;
    const char *rest = NULL;
    if (!accel__parse_digits(text, &value, &rest) || *rest != '\0' || value < least || value > most)
        return false;
    *out_value = value;
    return true;
}

/* Sign and magnitude, so that one parser serves all integer types. */
static bool parse_integer(const char *text, bool *out_negative, uint64_t *out_magnitude)
{
    const char *rest;
    *out_negative = text[0] == '-';
    if (text[0] == '-' || text[0] == '+')
        text++;
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    return parse_base(hexadecimal ? text + 2 : text, hexadecimal ? 16 : 10, out_magnitude, &rest) &&
           *rest == '\0';
}

static bool parse_unsigned(const char *text, size_t size, void *bytes)
{
    bool negative;
    uint64_t value;
    if (!parse_integer(text, &negative, &value) || (negative && value != 0))
        return false;
    if (size < sizeof value && value >> (8 * size) != 0)
        return false;
    memcpy(bytes, &value, size); /* little-endian hosts: the low bytes come first */
    return true;
}

static bool parse_signed(const char *text, size_t size, void *bytes)
{
    bool negative;
    uint64_t magnitude;
    if (!parse_integer(text, &negative, &magnitude))
        return false;
    uint64_t limit = UINT64_C(1) << (8 * size - 1);
    if (magnitude > limit || (magnitude == limit && !negative))
        return false;
    uint64_t value = negative ? 0 - magnitude : magnitude;
    memcpy(bytes, &value, size);
    return true;
}

/* Too large is an error; too small is rounded like any other number. */
static bool parse_float(const char *text, accel_data_type type, void *bytes)
{
    char *rest = NULL;
    bool infinite;
    if (isspace((unsigned char)text[0]) || text[0] == '\0')
        return false;
    if (type == ACCEL_DATA_TYPE_F32) {
        float value = strtof(text, &rest); /* not through double: that would round twice */
        infinite = isinf(value);
        memcpy(bytes, &value, sizeof value);
    } else {
        double value = strtod(text, &rest);
        infinite = isinf(value);
        memcpy(bytes, &value, sizeof value);
    }
    return *rest == '\0' && (!infinite || strpbrk(text, "iI") != NULL);
}

static bool parse_bool(const char *text, void *bytes)
{
    bool is_true = strcmp(text, "1") == 0 || strcmp(text, "true") == 0;
    bool is_false = strcmp(text, "0") == 0 || strcmp(text, "false") == 0;
    memcpy(bytes, &(uint8_t){is_true ? 1 : 0}, 1);
    return is_true || is_false;
}

bool accel__parse_scalar(const char *text, accel_data_type type, void *bytes)
{
    size_t size = accel_data_type_size(type);
    switch (type) {
    case ACCEL_DATA_TYPE_U8:
    case ACCEL_DATA_TYPE_U16:
    case ACCEL_DATA_TYPE_U32:
    case ACCEL_DATA_TYPE_U64:
        return parse_unsigned(text, size, bytes);
    case ACCEL_DATA_TYPE_I8:
    case ACCEL_DATA_TYPE_I16:
    case ACCEL_DATA_TYPE_I32:
    case ACCEL_DATA_TYPE_I64:
        return parse_signed(text, size, bytes);
    case ACCEL_DATA_TYPE_F32:
    case ACCEL_DATA_TYPE_F64:
        return parse_float(text, type, bytes);
    case ACCEL_DATA_TYPE_BOOL:
        return parse_bool(text, bytes);
    default:
        return false;
    }
}

bool accel__scalar_is_known(accel_data_type type)
{
    uint8_t bytes[8];
    return accel__parse_scalar("1", type, bytes);
}
