/* command.h: what a sub-command of accel is. The one table of them is in main.c: a new one is a file
 * with its function, a line here and a row there. */
#ifndef ACCEL_CLI_COMMAND_H
#define ACCEL_CLI_COMMAND_H

#include <getopt.h>

#include "cli/report.h"

/* Runs a sub-command; argv[0] is its name. */
typedef accel__exit (*accel__command_function)(int argc, char **argv);

accel__exit accel__command_list(int argc, char **argv);
accel__exit accel__command_run(int argc, char **argv);
accel__exit accel__command_build(int argc, char **argv);
accel__exit accel__command_doctor(int argc, char **argv);
accel__exit accel__command_random(int argc, char **argv);
accel__exit accel__command_graph(int argc, char **argv);
accel__exit accel__command_memory(int argc, char **argv);

/* getopt_long that stays silent and knows --help. Gives the option's character; -1 at the end;
 * ACCEL__OPTION_STOP after a wrong option (the message is printed). `short_options` begins with ':'. */
enum {
    ACCEL__OPTION_STOP = 1000,
    ACCEL__OPTION_HELP,
    ACCEL__OPTION_JSON,
    ACCEL__OPTION_TIME,
    ACCEL__OPTION_REPEAT,
    ACCEL__OPTION_TIMEOUT,
    ACCEL__OPTION_VERSION,
    ACCEL__OPTION_TOP,
    ACCEL__OPTION_CONF,
    ACCEL__OPTION_GROWABLE,
    ACCEL__OPTION_FIXED,
    ACCEL__OPTION_FROM
};
int accel__next_option(int argc, char **argv, const char *short_options,
                       const struct option *long_options);

/* Prints a help text to standard output. */
accel__exit accel__print_help(const char *text);

/* False, with a message, where an option that is allowed once was given before. */
bool accel__option_once(const void *earlier, const char *option);

#endif
