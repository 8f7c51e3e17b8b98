/* pipe.h: a pipe to a program that accel starts. */
#ifndef ACCEL_PLATFORM_PIPE_H
#define ACCEL_PLATFORM_PIPE_H

/* Both ends are above 2 and closed by exec: where the caller has closed 0, 1 or 2, whatever it prints
 * must not end up in the pipe. Returns 0, or errno's value. */
int accel__pipe_open(int ends[2]);

#endif
