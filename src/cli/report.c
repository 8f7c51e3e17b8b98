/* report.c: messages and exit status of the accel command. See report.h.
 *
 * Invariant: a message is written by one call, so that lines of several processes do not mix. */
#include "cli/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <accel/log.h>

static const char *current_command;
static char *last_failure;
static bool json_wanted;
static int kept_output = -1; /* the real standard output while it is guarded */
static bool was_guarded;

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

void accel__cli_open_standard_files(void)
{
    static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
    /* The lowest free number is taken, so each open lands where it should. */
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0)
            (void)open("/dev/null", modes[file]);
}

void accel__cli_guard_output(void)
{
    if (kept_output >= 0)
        return;
    kept_output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (kept_output >= 0)
        dup2(STDERR_FILENO, STDOUT_FILENO);
}

void accel__cli_take_output(void)
{
    if (kept_output < 0)
        return;
    fflush(stdout); /* what others left in the buffer */
    dup2(kept_output, STDOUT_FILENO);
    close(kept_output);
    kept_output = -1;
    was_guarded = true;
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
    if (was_guarded)
        accel__cli_guard_output();
    return ACCEL__EXIT_OK;
}
