/* spawn.h: starting a program as a child, whole: what it may take holds before its first instruction. Called
 * by process.c, through platform/calls.h. */
#ifndef ACCEL_PLATFORM_SPAWN_H
#define ACCEL_PLATFORM_SPAWN_H

#include <stdint.h>
#include <sys/types.h>

/* Standard input is /dev/null, signals are as after login, no descriptor above 2 is inherited, and the program
 * leads a process group of its own, so that all of it can be killed. */
typedef struct accel__spawn {
    const char *path;
    char *const *arguments;
    char *const *environment;
    int output;            /* what standard output and error become; above 2 */
    uint64_t memory_bytes; /* RLIMIT_DATA, of it and of what it starts; 0: as it is */
} accel__spawn;

/* Returns 0, or errno's value: of what kept it from being started, too. Any thread. */
int accel__spawn_start(const accel__spawn *wanted, pid_t *out_process);

#endif
