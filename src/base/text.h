/* text.h: a growing string. A failed growth is remembered, so a writer checks once, at the end. */
#ifndef ACCEL_BASE_TEXT_H
#define ACCEL_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct accel__text {
    char *data; /* NUL-terminated once anything was appended, else NULL */
    size_t size;
    size_t capacity;
    bool failed; /* memory ran out; what came after is lost */
} accel__text;

void accel__text_append(accel__text *text, const char *bytes, size_t size);
void accel__text_append_string(accel__text *text, const char *string);
void accel__text_append_char(accel__text *text, char c);
void accel__text_format(accel__text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void accel__text_format_list(accel__text *text, const char *format, va_list list);
/* "" for an empty text; never NULL. Lent until the next change. */
const char *accel__text_string(const accel__text *text);
void accel__text_clear(accel__text *text); /* empties, keeps the memory, forgets `failed` */
void accel__text_release(accel__text *text);

#endif
