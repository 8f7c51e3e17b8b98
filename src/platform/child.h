/* child.h: making a child as vfork does, for the files that start programs (detached.c, spawn.c): it borrows
 * the caller's memory, on a stack of its own, while the calling thread stands still, until it has become the
 * program or has ended. Between the two it may only make system calls. The calling thread has all signals
 * blocked meanwhile. */
#ifndef ACCEL_PLATFORM_CHILD_H
#define ACCEL_PLATFORM_CHILD_H

#include <stddef.h>
#include <sys/types.h>

/* The sanitizers' bookkeeping knows nothing of these borrowed threads. */
#define ACCEL__UNCHECKED __attribute__((no_sanitize("thread", "address")))

static const size_t accel__child_stack_size = 65536;

/* A child that runs `body`, which does not return. `stack` is its end. `user` lies in memory that was mapped
 * as shared: under ThreadSanitizer the child has copies of all other memory. `exit_signal`: SIGCHLD, or 0 for
 * a child that plain wait calls do not see. -1 and errno where there can be none. */
pid_t accel__child_start(int (*body)(void *user), char *stack, int exit_signal, void *user);

/* In the child: signals as after login. */
void accel__child_default_signals(void);

/* In the child: closes `first` and all descriptors above. */
void accel__child_close_from(int first);

#endif
