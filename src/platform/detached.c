/* detached.c: see detached.h.
 *
 * A stepping stone stands between: a child without an exit signal, which plain wait calls do not see,
 * starts the program and ends at once; so the program is an orphan, init's or a subreaper's. Both are
 * made as vfork would: they borrow the caller's memory while the calling thread stands still, on stacks
 * of their own. Between clone and exec only system calls happen. */
#include "platform/detached.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/calls.h"

enum { STACK_SIZE = 64 * 1024, FIRST_FREE = 4, SAFE_DESCRIPTOR = 64 };

/* The sanitizers' bookkeeping knows nothing of these borrowed threads. */
#define UNCHECKED __attribute__((no_sanitize("thread", "address")))

typedef struct plan {
    const char *path;
    char *const *arguments;
    int descriptor;
    char *program_stack; /* its end */
    volatile pid_t process;
    volatile int error;
} plan;

UNCHECKED static void default_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &action, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* 3 is the descriptor, 0 to 2 are /dev/null; works whichever of them the caller had closed. */
UNCHECKED static bool arrange_descriptors(int descriptor)
{
    const int kept = fcntl(descriptor, F_DUPFD, SAFE_DESCRIPTOR);
    const int opened = open("/dev/null", O_RDWR);
    const int null = opened < 0 ? -1 : fcntl(opened, F_DUPFD, SAFE_DESCRIPTOR);
    if (kept < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
        dup2(kept, FIRST_FREE - 1) < 0)
        return false;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)FIRST_FREE, ~0u, 0u) == 0)
        return true;
#endif
    close(kept);
    close(null);
    return true;
}

UNCHECKED static int run_program(void *user)
{
    plan *made = user;
    default_signals();
    if (arrange_descriptors(made->descriptor))
        execve(made->path, made->arguments, environ);
    made->error = errno;
    _exit(127);
}

UNCHECKED static int run_stone(void *user)
{
    plan *made = user;
    const pid_t process = clone(run_program, made->program_stack, CLONE_VM | CLONE_VFORK | SIGCHLD,
                                made);
    if (process < 0)
        made->error = errno;
    else if (made->error != 0)
        waitpid(process, NULL, 0); /* it has ended already */
    made->process = process;
    _exit(0);
}

static int start(plan *made, char *stone_stack)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t stone = clone(run_stone, stone_stack, CLONE_VM | CLONE_VFORK, made);
    const int code = stone < 0 ? errno : made->error;
    if (stone > 0)
        while (waitpid(stone, NULL, (int)__WCLONE) < 0 && errno == EINTR)
            continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

int accel__detached_start(const char *path, char *const arguments[], int descriptor,
                          pid_t *out_process)
{
    *out_process = -1;
    char *stacks = accel__platform.map(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED)
        return errno;
    plan made = {
        .path = path,
        .arguments = arguments,
        .descriptor = descriptor,
        .program_stack = stacks + STACK_SIZE,
    };
    const int code = start(&made, stacks + 2 * STACK_SIZE);
    accel__platform.unmap(stacks, 2 * STACK_SIZE);
    if (code == 0)
        *out_process = made.process;
    return code;
}

void accel__detached_reap(pid_t process)
{
    int is_subreaper = 0;
    if (getpid() != 1 && (prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) != 0 || !is_subreaper))
        return;
    while (waitpid(process, NULL, 0) < 0 && errno == EINTR)
        continue;
}
