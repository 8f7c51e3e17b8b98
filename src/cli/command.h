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

/* The options of a sub-command. */
typedef struct accel__options {
    const char *letters;        /* as getopt_long takes them: a ':' first, and "h" among them */
    const struct option *names; /* "help" among them */
    const char *help;
    accel__exit (*take)(void *request, int option); /* every other option; optarg is its value */
} accel__options;

/* Takes all options. False: the sub-command ends with *out_result, since help was printed or an option was
 * refused. */
bool accel__take_options(int argc, char **argv, const accel__options *options, void *request,
                         accel__exit *out_result);

/* --json, whose bool is at `is_json`: a `take` by itself where a sub-command has no other option. */
accel__exit accel__take_json(void *is_json, int option);

/* An option with a value that is allowed once: refused, by its name, where *value is set. */
accel__exit accel__take_once(const char **value, const char *name);

/* Prints a help text to standard output. */
accel__exit accel__print_help(const char *text);

#endif
