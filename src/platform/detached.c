/* detached.c: see detached.h.
 *
 * A stepping stone stands between: a child without an exit signal, which plain wait calls do not see,
 * starts the program and ends at once; so the program is an orphan, init's or a subreaper's. Both are
 * made as vfork would: they borrow the caller's memory while the calling thread stands still, on stacks
 * of their own. Between clone and exec only system calls happen. */
#include "platform/detached.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/calls.h"

enum { FIRST_FREE = 4, DESCRIPTORS_MAX = 1 << 16, BY_PIDFD = 3, END_MS = 200 };

static const size_t stack_size = 65536; /* of each of the two */

/* ThreadSanitizer takes clone for a fork, in the child of which it stops checking: with borrowed memory
 * that would be this very process. Under it the children get copies of the memory instead, by a bare
 * system call, and `plan` lies in memory that is shared with them. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COPIES_MEMORY 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define COPIES_MEMORY 1
#endif

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

UNCHECKED static void close_the_rest(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)FIRST_FREE, ~0u, 0u) == 0)
        return;
#endif
    struct rlimit limit = {.rlim_cur = DESCRIPTORS_MAX};
    getrlimit(RLIMIT_NOFILE, &limit);
    for (int i = FIRST_FREE; i < DESCRIPTORS_MAX && (rlim_t)i < limit.rlim_cur; i++)
        close(i);
}

/* 3 is the descriptor, 0 to 2 are /dev/null; works whichever of them the caller had closed, and where
 * it may open no more. Without /dev/null a place that can be neither read nor written stands in. */
UNCHECKED static bool arrange_descriptors(int descriptor)
{
    if (dup2(descriptor, FIRST_FREE - 1) < 0)
        return false;
    close_the_rest();
    int null = open("/dev/null", O_RDWR);
    if (null < 0)
        null = open("/", O_PATH);
    bool ok = null >= 0;
    for (int i = 0; i < FIRST_FREE - 1 && ok; i++)
        ok = dup2(null, i) == i;
    if (null >= FIRST_FREE)
        close(null);
    fcntl(FIRST_FREE - 1, F_SETFD, 0); /* where it was 3 all along */
    return ok;
}

/* A child that runs `body`, which does not return, while the calling thread stands still. */
UNCHECKED static pid_t start_child(int (*body)(void *user), char *stack, int exit_signal,
                                   plan *made)
{
#ifdef COPIES_MEMORY
    (void)stack;
    const long child = syscall(SYS_clone, CLONE_VFORK | exit_signal, NULL, NULL, NULL, NULL);
    if (child == 0)
        body(made);
    return (pid_t)child;
#else
    return clone(body, stack, CLONE_VM | CLONE_VFORK | exit_signal, made);
#endif
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
    const pid_t process = start_child(run_program, made->program_stack, SIGCHLD, made);
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
    const pid_t stone = start_child(run_stone, stone_stack, 0, made);
    const int code = stone < 0 ? errno : made->error;
    if (stone > 0)
        while (waitpid(stone, NULL, (int)__WCLONE) < 0 && errno == EINTR)
            continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

int accel__detached_start(const char *path, char *const arguments[], int descriptor,
                          accel__detached *out_made)
{
    *out_made = (accel__detached){.process = -1, .handle = -1};
    const size_t size = sizeof(plan) + 2 * stack_size;
    char *stacks = accel__platform.map(NULL, size, PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED)
        return errno;
    plan *made = (plan *)(stacks + 2 * stack_size);
    *made = (plan){
        .path = path,
        .arguments = arguments,
        .descriptor = descriptor,
        .program_stack = stacks + stack_size,
    };
    const int code = start(made, stacks + 2 * stack_size);
    const pid_t process = made->process;
    accel__platform.unmap(stacks, size);
    if (code != 0)
        return code;
    out_made->process = process;
#ifdef SYS_pidfd_open
    out_made->handle = (int)syscall(SYS_pidfd_open, process, 0u);
#endif
    return 0;
}

static void kill_it(const accel__detached *made)
{
#ifdef SYS_pidfd_send_signal
    syscall(SYS_pidfd_send_signal, made->handle, SIGKILL, NULL, 0u);
#else
    (void)made;
#endif
}

/* False: it is not this process's to wait for. *out_ended: it was waited for. */
static bool wait_for(const accel__detached *made, int flags, bool *out_ended)
{
    siginfo_t ending = {.si_pid = 0};
    int result;
    do
        result = waitid((idtype_t)BY_PIDFD, (id_t)made->handle, &ending, WEXITED | flags);
    while (result < 0 && errno == EINTR);
    *out_ended = result == 0 && ending.si_pid != 0;
    return result == 0;
}

void accel__detached_finish(accel__detached *made, bool is_done)
{
    bool ended = false;
    if (made->handle < 0) { /* the number alone may be another's by now: nothing is done by force */
        if (made->process > 0)
            waitpid(made->process, NULL, WNOHANG);
        return;
    }
    if (!is_done)
        kill_it(made);
    if (wait_for(made, WNOHANG, &ended) && !ended) {
        struct pollfd ending = {.fd = made->handle, .events = POLLIN};
        poll(&ending, 1, END_MS);
        kill_it(made);
        wait_for(made, 0, &ended);
    }
    close(made->handle);
    made->handle = -1;
}
