/* detached.h: starting a program that the calling program's own child handling never sees: no SIGCHLD,
 * nothing for waitpid(-1), no zombie. */
#ifndef ACCEL_PLATFORM_DETACHED_H
#define ACCEL_PLATFORM_DETACHED_H

#include <sys/types.h>

/* Runs `path` with `arguments` ([0] included, NULL-terminated) and the caller's environment. It gets
 * `descriptor` as 3, /dev/null as 0, 1 and 2, and nothing else; no signal blocked or ignored. Returns 0,
 * or errno's value. Fast whatever the size of the caller: no memory is copied. Any thread. */
int accel__detached_start(const char *path, char *const arguments[], int descriptor,
                          pid_t *out_process);

/* Call it when the program has ended or was killed: does nothing but where the caller itself inherits
 * orphans (process 1, a subreaper), where it must be waited for. */
void accel__detached_reap(pid_t process);

#endif
