/* diagnostic.c: see lex/diagnostic.h. Every stage that reads the user's source writes here. */
#include "kernel/lex/diagnostic.h"

#include <stdarg.h>

static void add(accel__diagnostics *diagnostics, const char *file, uint32_t line, const char *kind,
                const char *format, va_list list)
{
    accel__text *log = &diagnostics->log;
    accel__text_format(log, "%s:%u: %s: ", file, (unsigned)line, kind);
    accel__text_format_list(log, format, list);
    accel__text_append_char(log, '\n');
    if (log->failed)
        diagnostics->out_of_memory = true;
}

void accel__diagnose_error(accel__diagnostics *diagnostics, const char *file, uint32_t line,
                           const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add(diagnostics, file, line, "error", format, list);
    va_end(list);
    diagnostics->error_count++;
}

void accel__diagnose_warning(accel__diagnostics *diagnostics, const char *file, uint32_t line,
                             const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add(diagnostics, file, line, "warning", format, list);
    va_end(list);
    diagnostics->warning_count++;
}

void accel__diagnostics_release(accel__diagnostics *diagnostics)
{
    accel__text_release(&diagnostics->log);
    *diagnostics = (accel__diagnostics){0};
}
