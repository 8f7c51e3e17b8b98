/* detached.h: starting a program that the calling program's own child handling never sees: no SIGCHLD,
 * nothing for waitpid(-1), no zombie. (Where the caller itself takes in orphans - process 1, a
 * subreaper - it is given this one too, as the system does with every orphan.) */
#ifndef ACCEL_PLATFORM_DETACHED_H
#define ACCEL_PLATFORM_DETACHED_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct accel__detached {
    pid_t process;
    int handle; /* a pidfd: numbers of processes are used again; -1 where the system has none */
} accel__detached;

/* Runs `path` with `arguments` ([0] included, NULL-terminated) and the caller's environment. It gets
 * `descriptor` as 3, /dev/null as 0, 1 and 2, and nothing else; no signal blocked or ignored. Returns 0,
 * or errno's value. Fast whatever the size of the caller: no memory is copied. Any thread. */
int accel__detached_start(const char *path, char *const arguments[], int descriptor,
                          accel__detached *out_made);

/* Call it once nothing more is wanted of the program. `is_done`: it will end by itself, and nobody waits
 * for that; otherwise it is killed, whatever state it is in. Where the caller has inherited it, it is
 * waited for. */
void accel__detached_finish(accel__detached *made, bool is_done);

#endif
