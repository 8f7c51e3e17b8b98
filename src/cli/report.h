/* report.h: how the command talks: results on standard output, messages on standard error, one line
 * each, and the exit status. Every sub-command ends through accel__cli_finish_output. */
#ifndef ACCEL_CLI_REPORT_H
#define ACCEL_CLI_REPORT_H

#include <accel/status.h>

typedef enum accel__exit {
    ACCEL__EXIT_OK = 0,
    ACCEL__EXIT_FAILED = 1, /* what was asked for could not be done */
    ACCEL__EXIT_USAGE = 2   /* what was asked for makes no sense */
} accel__exit;

/* Messages begin "accel COMMAND: " from now on; NULL: "accel: ". The string is lent. */
void accel__report_command(const char *command);

/* One line on standard error: "what; what to do". Control characters become '?', so a strange file
 * name cannot make two lines of it. */
void accel__cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As accel__cli_note, and gives the exit status to end with. */
accel__exit accel__cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
accel__exit accel__cli_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The library's own words for its last failure on this thread, which was `status`. */
accel__exit accel__cli_fail_status(accel_status status);

accel__exit accel__cli_fail_memory(void);

/* Warnings of the library become notes from now on. */
void accel__report_warnings(void);

/* The caller wants JSON: a failure, too, must leave one document on standard output. */
void accel__report_json(void);

/* What the last failure said; NULL where JSON is not wanted or a result was printed. */
const char *accel__report_unprinted_failure(void);

/* Opens the standard files that the caller closed, so that no other file gets their numbers: writing to
 * standard output fails all the same. First thing in main. */
void accel__cli_open_standard_files(void);

/* From now on standard output is ours: what a driver or a kernel's object prints goes to standard
 * error. accel__cli_take_output lets results through, until accel__cli_finish_output. */
void accel__cli_guard_output(void);
void accel__cli_take_output(void);

/* Writes out what standard output still holds. Fails where it cannot be written (full, closed). */
accel__exit accel__cli_finish_output(void);

#endif
