/* report.c: messages and exit status of the accel command. See report.h.
 *
 * Invariant: a message is written by one call, so that lines of several processes do not mix. */
#include "cli/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <accel/log.h>

static const char *current_command;
static char *last_failure;
static bool json_wanted;

void accel__report_command(const char *command)
{
    current_command = command;
}

static void print_line(const char *text)
{
    const char *space = current_command != NULL ? " " : "";
    const char *command = current_command != NULL ? current_command : "";
    fprintf(stderr, "accel%s%s: %s\n", space, command, text);
}

/* The message as one line; NULL, with a message of its own, where memory ran out. */
static char *note_list(const char *format, va_list list)
{
    char *text = NULL;
    if (vasprintf(&text, format, list) < 0) {
        print_line("out of memory; free some and try again");
        return NULL;
    }
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    print_line(text);
    return text;
}

static void keep_failure(char *text)
{
    free(last_failure);
    last_failure = text;
}

void accel__cli_note(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    free(note_list(format, list));
    va_end(list);
}

accel__exit accel__cli_fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    keep_failure(note_list(format, list));
    va_end(list);
    return ACCEL__EXIT_FAILED;
}

accel__exit accel__cli_misuse(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    keep_failure(note_list(format, list));
    va_end(list);
    return ACCEL__EXIT_USAGE;
}

accel__exit accel__cli_fail_status(accel_status status)
{
    const char *message = accel_last_error_message();
    return accel__cli_fail("%s", message[0] != '\0' ? message : accel_status_text(status));
}

accel__exit accel__cli_fail_memory(void)
{
    return accel__cli_fail("out of memory; free some and try again");
}

static void print_warning(accel_log_level level, const char *backend, const char *text, void *user)
{
    (void)level;
    (void)user;
    accel__cli_note("warning: %s%s%s", backend, backend[0] != '\0' ? ": " : "", text);
}

void accel__report_warnings(void)
{
    (void)accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, print_warning, NULL);
}

void accel__report_json(void)
{
    json_wanted = true;
}

const char *accel__report_unprinted_failure(void)
{
    return json_wanted ? last_failure : NULL;
}

accel__exit accel__cli_finish_output(void)
{
    json_wanted = false;
    errno = 0;
    bool written = fflush(stdout) == 0 && ferror(stdout) == 0;
    if (!written)
        return accel__cli_fail("standard output cannot be written: %s; free space there or send it "
                               "elsewhere",
                               errno != 0 ? strerror(errno) : "an earlier write failed");
    return ACCEL__EXIT_OK;
}
