/* spawn.c: see spawn.h. posix_spawn has no place for a limit: set from here, once the program runs, it would
 * come too late for what that starts in its very first moment. */
#include "platform/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/calls.h"
#include "platform/child.h"

typedef struct plan {
    accel__spawn wanted;
    volatile int error;
} plan;

ACCEL__UNCHECKED static bool arrange_descriptors(int output)
{
    const int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
        return false;
    accel__child_close_from(3);
    return true;
}

/* The soft limit, and not above what there is. No failure is one of the program: the limit is a net. */
ACCEL__UNCHECKED static void limit_memory(uint64_t bytes)
{
    struct rlimit limit;
    if (bytes == 0 || getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur <= bytes)
        return;
    limit.rlim_cur = (rlim_t)bytes; /* RLIM_INFINITY is the greatest number */
    setrlimit(RLIMIT_DATA, &limit);
}

ACCEL__UNCHECKED static int run_program(void *user)
{
    plan *made = user;
    accel__child_default_signals();
    setpgid(0, 0);
    if (arrange_descriptors(made->wanted.output)) {
        limit_memory(made->wanted.memory_bytes); /* last: the borrowed memory may be above it */
        execve(made->wanted.path, made->wanted.arguments, made->wanted.environment);
    }
    made->error = errno;
    _exit(127);
}

static int start(plan *made, char *stack, pid_t *out_process)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    *out_process = accel__child_start(run_program, stack, SIGCHLD, made);
    const int code = *out_process < 0 ? errno : made->error;
    if (*out_process > 0 && code != 0) /* it has ended already */
        while (waitpid(*out_process, NULL, 0) < 0 && errno == EINTR)
            continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

int accel__spawn_start(const accel__spawn *wanted, pid_t *out_process)
{
    *out_process = -1;
    const size_t size = sizeof(plan) + accel__child_stack_size;
    char *stack = accel__platform.map(NULL, size, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return errno;
    plan *made = (plan *)(stack + accel__child_stack_size);
    *made = (plan){.wanted = *wanted};
    const int code = start(made, stack + accel__child_stack_size, out_process);
    accel__platform.unmap(stack, size);
    return code;
}
