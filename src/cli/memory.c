/* memory.c: `accel memory`: looks at memory snapshots, and replays what they recorded. */
#include "cli/memory.h"

#include <string.h>

static const char help[] =
    "Usage: accel memory report SNAPSHOT [--top COUNT] [--json]\n"
    "       accel memory replay SNAPSHOT [OPTION]...\n"
    "Look at a memory snapshot, of accel or of PyTorch, or replay what it recorded.\n\n"
    "  report   what the allocator held: pools, holes, and the stacks that hold most\n"
    "  replay   the recorded allocations once more, through accel's allocator\n\n"
    "'accel memory report --help' and 'accel memory replay --help' tell more.\n";

static const struct {
    const char *name;
    char *full_name;
    accel__command_function run;
} parts[] = {
    {"report", (char[]){"memory report"}, accel__memory_report},
    {"replay", (char[]){"memory replay"}, accel__memory_replay},
};

accel__exit accel__command_memory(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, ACCEL__OPTION_HELP},
                                            {NULL, 0, NULL, 0}};
    for (size_t i = 0; argc > 1 && i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(argv[1], parts[i].name) == 0) {
            argv[1] = parts[i].full_name;
            accel__report_command(parts[i].full_name);
            return parts[i].run(argc - 1, argv + 1);
        }
    const int option = accel__next_option(argc, argv, "+:h", options);
    if (option == ACCEL__OPTION_STOP)
        return ACCEL__EXIT_USAGE;
    if (option != -1)
        return accel__print_help(help);
    if (optind < argc)
        return accel__cli_misuse("memory has no \"%s\"; use report or replay", argv[optind]);
    return accel__cli_misuse("what to do is missing; use report or replay");
}
