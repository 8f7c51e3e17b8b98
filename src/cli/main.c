/* main.c: the accel command: picks the sub-command from the one table and runs it.
 *
 * Invariant: the locale's numbers are never used (only its characters, by the tables), and SIGPIPE
 * and SIGXFSZ are ignored: a reader that went away and a limit on file sizes are failed writes, told
 * like every other. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <accel/accel.h>

#include "cli/command.h"
#include "cli/json.h"

typedef struct command {
    const char *name;
    const char *summary;
    accel__command_function run;
} command;

static const command commands[] = {
    {"list", "list the devices that can be used", accel__command_list},
    {"run", "run a kernel on arrays from .npy files", accel__command_run},
    {"build", "compile a kernel source to a native object", accel__command_build},
    {"random", "fill an array with random numbers", accel__command_random},
    {"doctor", "say what works, what does not, and what to do about it", accel__command_doctor},
    {"graph", "show a dumped graph", accel__command_graph},
    {"memory", "look at memory snapshots, and replay what they recorded", accel__command_memory},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_usage(FILE *stream)
{
    fputs("Usage: accel [--help | --version]\n"
          "       accel COMMAND [OPTION]... [ARGUMENT]...\n"
          "Use whatever accelerator this machine has.\n\n"
          "Commands:\n",
          stream);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(stream, "  %-8s %s\n", commands[i].name, commands[i].summary);
    fputs("\n'accel COMMAND --help' tells more.\n"
          "Exit status: 0 success, 1 failure, 2 wrong usage.\n",
          stream);
}

static accel__exit print_version(void)
{
    uint32_t version = accel_version();
    printf("accel %u.%u.%u\n", version / 10000, version / 100 % 100, version % 100);
    return accel__cli_finish_output();
}

static accel__exit unknown_command(const char *name)
{
    char names[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < COMMAND_COUNT && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                                 commands[i].name);
    return accel__cli_misuse("no command \"%s\"; use one of %s", name, names);
}

/* --help and --version stand alone: with anything behind them the caller meant something else. */
static accel__exit run_global_option(int argc, char **argv)
{
    bool help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
    bool version = strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0;
    if (!help && !version)
        return accel__cli_misuse("unknown option %s; see accel --help", argv[1]);
    if (argc > 2)
        return accel__cli_misuse("%s stands alone; leave out \"%s\"", argv[1], argv[2]);
    if (version)
        return print_version();
    print_usage(stdout);
    return accel__cli_finish_output();
}

int main(int argc, char **argv)
{
    accel__cli_open_standard_files();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    setlocale(LC_CTYPE, "");
    if (argc < 2) {
        print_usage(stderr);
        return ACCEL__EXIT_USAGE;
    }
    if (argv[1][0] == '-')
        return (int)run_global_option(argc, argv);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[1], commands[i].name) == 0) {
            accel__report_command(commands[i].name);
            accel__exit result = commands[i].run(argc - 1, argv + 1);
            if (result != ACCEL__EXIT_OK)
                accel__json_print_failure();
            return (int)result;
        }
    return (int)unknown_command(argv[1]);
}
