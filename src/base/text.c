/* text.c: see text.h. */
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/array.h"

/* Room for `extra` bytes and the closing NUL. */
static bool reserve(accel__text *text, size_t extra)
{
    void *data = text->data;
    if (text->failed || extra == SIZE_MAX ||
        !accel__array_reserve(&data, &text->capacity, text->size, extra + 1, 1)) {
        text->failed = true;
        return false;
    }
    text->data = data;
    return true;
}

void accel__text_append(accel__text *text, const char *bytes, size_t size)
{
    if (!reserve(text, size))
        return;
    if (size != 0)
        memcpy(text->data + text->size, bytes, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void accel__text_append_string(accel__text *text, const char *string)
{
    accel__text_append(text, string, strlen(string));
}

void accel__text_append_char(accel__text *text, char c)
{
    accel__text_append(text, &c, 1);
}

void accel__text_format_list(accel__text *text, const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    const int length = vsnprintf(NULL, 0, format, list);
    if (length < 0)
        text->failed = true;
    else if (reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->size, (size_t)length + 1, format, again);
        text->size += (size_t)length;
    }
    va_end(again);
}

void accel__text_format(accel__text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    accel__text_format_list(text, format, list);
    va_end(list);
}

const char *accel__text_string(const accel__text *text)
{
    return text->data != NULL ? text->data : "";
}

void accel__text_clear(accel__text *text)
{
    text->size = 0;
    text->failed = false;
    if (text->data != NULL)
        text->data[0] = '\0';
}

void accel__text_release(accel__text *text)
{
    accel__deallocate(text->data);
    *text = (accel__text){0};
}
