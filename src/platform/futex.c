/* futex.c: Linux futexes, private to the process. */
#include "platform/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

bool accel__futex_wait(_Atomic(uint32_t) *word, uint32_t expected, uint64_t timeout_ns)
{
    struct timespec limit;
    struct timespec *given = NULL;
    if (timeout_ns != UINT64_MAX) {
        limit.tv_sec = (time_t)(timeout_ns / 1000000000u);
        limit.tv_nsec = (long)(timeout_ns % 1000000000u);
        given = &limit;
    }
    return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, given, NULL, 0) == 0 ||
           errno != ETIMEDOUT;
}

void accel__futex_wake_one(_Atomic(uint32_t) *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void accel__futex_wake_all(_Atomic(uint32_t) *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
