/* error.c: the last-error record, one per thread, in static thread-local storage so that
 * recording a failure can itself not fail. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/lent.h"

enum { MESSAGE_SIZE = sizeof((accel__error_record *)0)->message };

static _Thread_local accel__error_record record;

static _Thread_local unsigned muted;

void accel__error_mute(void)
{
    muted++;
}

void accel__error_unmute(void)
{
    muted--;
}

void accel__error_save(accel__error_record *out_copy)
{
    *out_copy = record;
}

void accel__error_restore(const accel__error_record *copy)
{
    record = *copy;
}

void accel__error_set_aside(accel__error_aside *out_aside)
{
    out_aside->muted = muted;
    out_aside->record = record;
    muted = 0;
}

void accel__error_put_back(const accel__error_aside *aside)
{
    muted = aside->muted;
    record = aside->record;
}

/* Ends `text` before a UTF-8 sequence that the cut at its end left incomplete. */
static void mend_cut(char *text, size_t capacity)
{
    size_t size = strlen(text);
    if (size + 1 < capacity)
        return;
    size_t start = size;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xc0u) == 0x80u)
        start--;
    if (start == 0)
        return;
    const unsigned char lead = (unsigned char)text[start - 1];
    const size_t needed = lead >= 0xf0u ? 4 : lead >= 0xe0u ? 3 : lead >= 0xc0u ? 2 : 1;
    if (size - (start - 1) < needed)
        text[start - 1] = '\0';
}

static void set(char *target, size_t capacity, const char *text)
{
    snprintf(target, capacity, "%s", text != NULL ? text : "");
    mend_cut(target, capacity);
}

accel_status accel__error_met_by(accel_status status, const char *function)
{
    if (status != ACCEL_OK && muted == 0)
        set(record.function, sizeof record.function, function);
    return status;
}

static accel_status fail_list(accel_status status, const char *backend, const char *function,
                              int64_t vendor_code, const char *vendor_message, const char *format,
                              va_list list)
{
    if (muted != 0)
        return status;
    char message[MESSAGE_SIZE]; /* the arguments may point into the record itself */
    vsnprintf(message, sizeof message, format, list);
    mend_cut(message, sizeof message);
    set(record.vendor_message, sizeof record.vendor_message, vendor_message);
    set(record.backend, sizeof record.backend, backend);
    set(record.function, sizeof record.function, function);
    memcpy(record.message, message, sizeof message);
    record.status = status;
    record.vendor_code = vendor_code;
    return status;
}

accel_status accel__fail(accel_status status, const char *backend, const char *function,
                         const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fail_list(status, backend, function, 0, NULL, format, list);
    va_end(list);
    return status;
}

accel_status accel__fail_vendor(accel_status status, const char *backend, const char *function,
                                int64_t vendor_code, const char *vendor_message, const char *format,
                                ...)
{
    va_list list;
    va_start(list, format);
    fail_list(status, backend, function, vendor_code, vendor_message, format, list);
    va_end(list);
    return status;
}

accel_status accel__fail_null(const char *function, const char *what)
{
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function, "%s is NULL", what);
}

static accel_status status_of_errno(int code)
{
    switch (code) {
    case ENOMEM:
        return ACCEL_ERROR_OUT_OF_HOST_MEMORY;
    case EACCES:
    case EPERM:
        return ACCEL_ERROR_PERMISSION;
    case ENOENT:
        return ACCEL_ERROR_NOT_FOUND;
    case EIO:
    case ENOSPC:
    case EROFS:
    case EDQUOT:
        return ACCEL_ERROR_IO;
    default:
        return ACCEL_ERROR_SYSTEM;
    }
}

accel_status accel__fail_errno(int code, const char *function, const char *format, ...)
{
    char text[sizeof record.vendor_message] = "";
    /* GNU strerror_r may return a static string instead of filling the buffer. */
    const char *system_text = strerror_r(code, text, sizeof text);
    const accel_status status = status_of_errno(code);
    va_list list;
    va_start(list, format);
    fail_list(status, NULL, function, code, system_text, format, list);
    va_end(list);
    return status;
}

accel_status accel_last_error(accel_error *out_error)
{
    if (out_error == NULL || !accel__struct_size_is_plausible(accel__struct_size(out_error)))
        return ACCEL_ERROR_INVALID_ARGUMENT;
    const accel_error known = {
        .status = record.status,
        .vendor_code = record.vendor_code,
        .backend = record.backend,
        .function = record.function,
        .message = record.message,
        .vendor_message = record.vendor_message,
    };
    accel__out_write(out_error, &known, sizeof known);
    return ACCEL_OK;
}

const char *accel_last_error_message(void)
{
    return record.message;
}
