/* pickle_text.c: see pickle_text.h.
 *
 * Invariant: what is decoded is never longer than twice its source, so one piece of memory of that size
 * holds it. */
#include "cli/pickle_text.h"

#include <stdlib.h>
#include <string.h>

enum { REAL_MAX = 64 }; /* Python writes at most 24 characters */

static accel__pickle_text given(accel__value *value, accel__value **out_value)
{
    *out_value = value;
    return value != NULL ? ACCEL__PICKLE_TEXT_GOOD : ACCEL__PICKLE_TEXT_NO_MEMORY;
}

bool accel__pickle_text_index(const char *line, size_t size, uint64_t *out_index)
{
    uint64_t index = 0;
    for (size_t i = 0; i < size; i++) {
        if (line[i] < '0' || line[i] > '9' || __builtin_mul_overflow(index, 10, &index) ||
            __builtin_add_overflow(index, (uint64_t)(line[i] - '0'), &index))
            return false;
    }
    *out_index = index;
    return size > 0;
}

/* Whether all are digits, of whatever number. */
static bool is_digits(const char *line, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (line[i] < '0' || line[i] > '9')
            return false;
    return size > 0;
}

accel__pickle_text accel__pickle_text_integer(accel__value_store *store, const char *line,
                                              size_t size, bool booleans, accel__value **out_value)
{
    uint64_t magnitude = 0;
    if (booleans && size == 2 && line[0] == '0' && (line[1] == '0' || line[1] == '1')) {
        accel__value *value = accel__value_new(store, ACCEL__VALUE_BOOLEAN);
        if (value != NULL)
            value->as.boolean = line[1] == '1';
        return given(value, out_value);
    }
    if (!booleans && size > 0 && line[size - 1] == 'L')
        size--;
    const bool negative = size > 0 && line[0] == '-';
    line += negative;
    size -= negative;
    if (!is_digits(line, size))
        return ACCEL__PICKLE_TEXT_BAD;
    if (!accel__pickle_text_index(line, size, &magnitude) ||
        magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0))
        return given(accel__value_new(store, ACCEL__VALUE_BIG), out_value);
    const int64_t integer = (int64_t)(negative ? 0 - magnitude : magnitude);
    return given(accel__value_new_integer(store, integer), out_value);
}

accel__pickle_text accel__pickle_text_real(accel__value_store *store, const char *line, size_t size,
                                           accel__value **out_value)
{
    char copy[REAL_MAX];
    char *end = NULL;
    if (size == 0 || size >= sizeof copy || memchr(line, '\0', size) != NULL || line[0] == ' ')
        return ACCEL__PICKLE_TEXT_BAD;
    memcpy(copy, line, size);
    copy[size] = '\0';
    const double real = strtod(copy, &end);
    if (*end != '\0')
        return ACCEL__PICKLE_TEXT_BAD;
    accel__value *value = accel__value_new(store, ACCEL__VALUE_REAL);
    if (value != NULL)
        value->as.real = real;
    return given(value, out_value);
}

/* ---- texts with escapes ---- */

/* `count` hexadecimal digits at `line`; false where there are fewer. */
static bool read_hex(const char *line, size_t size, size_t count, uint32_t *out_code)
{
    uint32_t code = 0;
    if (size < count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const char c = line[i];
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
            digit = (uint32_t)((c | 0x20) - 'a') + 10;
        else
            return false;
        code = code << 4 | digit;
    }
    *out_code = code;
    return true;
}

/* Writes the UTF-8 of a code below 0x110000 and returns its size. */
static size_t put_utf8(char *to, uint32_t code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3F));
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    to[0] = (char)(leads[size] | code);
    return size;
}

static accel__value *new_text(accel__value_store *store, size_t capacity, char **out_text)
{
    accel__value *value = accel__value_new(store, ACCEL__VALUE_TEXT);
    *out_text = value != NULL ? accel__value_store_take(store, capacity + 1) : NULL;
    if (*out_text == NULL)
        return NULL;
    value->as.text = *out_text;
    return value;
}

accel__pickle_text accel__pickle_text_unicode(accel__value_store *store, const char *line,
                                              size_t size, accel__value **out_value)
{
    char *text = NULL;
    accel__value *value = size < SIZE_MAX / 4 ? new_text(store, size * 2, &text) : NULL;
    if (value == NULL)
        return ACCEL__PICKLE_TEXT_NO_MEMORY;
    for (size_t i = 0; i < size;) {
        uint32_t code = (unsigned char)line[i++];
        if (code == '\\' && i < size && (line[i] == 'u' || line[i] == 'U')) {
            const size_t digits = line[i] == 'u' ? 4 : 8;
            if (!read_hex(line + i + 1, size - i - 1, digits, &code) || code >= 0x110000)
                return ACCEL__PICKLE_TEXT_BAD;
            i += 1 + digits;
        }
        value->count += put_utf8(text + value->count, code);
    }
    return given(value, out_value);
}

/* What stands behind a backslash; returns how many characters of it were used, 0 for a wrong one. */
static size_t read_escape(const char *line, size_t size, char *out_char)
{
    static const char from[] = "\\'\"nrtabfv";
    static const char to[] = "\\'\"\n\r\t\a\b\f\v";
    uint32_t code = 0;
    if (size == 0)
        return 0;
    if (line[0] == 'x') {
        if (!read_hex(line + 1, size - 1, 2, &code))
            return 0;
        *out_char = (char)code;
        return 3;
    }
    const char *found = line[0] != '\0' ? strchr(from, line[0]) : NULL;
    if (found == NULL)
        return 0;
    *out_char = to[found - from];
    return 1;
}

accel__pickle_text accel__pickle_text_quoted(accel__value_store *store, const char *line,
                                             size_t size, accel__value **out_value)
{
    char *text = NULL;
    if (size < 2 || (line[0] != '\'' && line[0] != '"') || line[size - 1] != line[0])
        return ACCEL__PICKLE_TEXT_BAD;
    line++;
    size -= 2;
    accel__value *value = new_text(store, size, &text);
    if (value == NULL)
        return ACCEL__PICKLE_TEXT_NO_MEMORY;
    for (size_t i = 0; i < size; i++) {
        char c = line[i];
        if (c == '\\') {
            const size_t used = read_escape(line + i + 1, size - i - 1, &c);
            if (used == 0)
                return ACCEL__PICKLE_TEXT_BAD;
            i += used;
        }
        text[value->count++] = c;
    }
    return given(value, out_value);
}
