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
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/calls.h"
#include "platform/child.h"

enum { FIRST_FREE = 4, BY_PIDFD = 3, END_MS = 200 };

typedef struct plan {
    const char *path;
    char *const *arguments;
    int descriptor;
    char *program_stack; /* its end */
    volatile pid_t process;
    volatile int error;
} plan;

/* 3 is the descriptor, 0 to 2 are /dev/null; works whichever of them the caller had closed, and where
 * it may open no more. Without /dev/null a place that can be neither read nor written stands in. */
ACCEL__UNCHECKED static bool arrange_descriptors(int descriptor)
{
    if (dup2(descriptor, FIRST_FREE - 1) < 0)
        return false;
    accel__child_close_from(FIRST_FREE);
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

ACCEL__UNCHECKED static int run_program(void *user)
{
    plan *made = user;
    accel__child_default_signals();
    if (arrange_descriptors(made->descriptor))
        execve(made->path, made->arguments, environ);
    made->error = errno;
    _exit(127);
}

ACCEL__UNCHECKED static int run_stone(void *user)
{
    plan *made = user;
    const pid_t process = accel__child_start(run_program, made->program_stack, SIGCHLD, made);
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
    const pid_t stone = accel__child_start(run_stone, stone_stack, 0, made);
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
    const size_t size = sizeof(plan) + 2 * accel__child_stack_size;
    char *stacks = accel__platform.map(NULL, size, PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED)
        return errno;
    plan *made = (plan *)(stacks + 2 * accel__child_stack_size);
    *made = (plan){
        .path = path,
        .arguments = arguments,
        .descriptor = descriptor,
        .program_stack = stacks + accel__child_stack_size,
    };
    const int code = start(made, stacks + 2 * accel__child_stack_size);
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
