/* child.c: see child.h. */
#include "platform/child.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTORS_MAX = 1 << 16 };

/* ThreadSanitizer takes clone for a fork, in the child of which it stops checking: with borrowed memory
 * that would be this very process. Under it the children get copies of the memory instead, by a bare
 * system call. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COPIES_MEMORY 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define COPIES_MEMORY 1
#endif

ACCEL__UNCHECKED pid_t accel__child_start(int (*body)(void *user), char *stack, int exit_signal,
                                          void *user)
{
#ifdef COPIES_MEMORY
    (void)stack;
    const long child = syscall(SYS_clone, CLONE_VFORK | exit_signal, NULL, NULL, NULL, NULL);
    if (child == 0)
        body(user);
    return (pid_t)child;
#else
    return clone(body, stack, CLONE_VM | CLONE_VFORK | exit_signal, user);
#endif
}

ACCEL__UNCHECKED void accel__child_default_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &action, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

ACCEL__UNCHECKED void accel__child_close_from(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0u) == 0)
        return;
#endif
    struct rlimit limit = {.rlim_cur = DESCRIPTORS_MAX};
    getrlimit(RLIMIT_NOFILE, &limit);
    for (int i = first; i < DESCRIPTORS_MAX && (rlim_t)i < limit.rlim_cur; i++)
        close(i);
}
