/* memory.h: the two halves of `accel memory`. */
#ifndef ACCEL_CLI_MEMORY_H
#define ACCEL_CLI_MEMORY_H

#include "cli/command.h"

/* argv[0] is "memory report" and "memory replay". */
accel__exit accel__memory_report(int argc, char **argv);
accel__exit accel__memory_replay(int argc, char **argv);

#endif
