/* SPDX-License-Identifier: MIT
 * handoff.c: two futex words, `asked` and `answered`, each a counter that its writer alone moves.
 */
#include "handoff.h"

#include "harness.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic uint32_t asked;
static _Atomic uint32_t answered;
static atomic_bool stopping;
static pthread_t thread;
static bool running;

static void wait_while(_Atomic uint32_t *word, uint32_t value)
{
    while (atomic_load(word) == value)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void advance(_Atomic uint32_t *word)
{
    atomic_fetch_add(word, 1);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void *answer(void *unused)
{
    for (uint32_t seen = 0;; seen++) {
        wait_while(&asked, seen);
        if (atomic_load(&stopping))
            return unused;
        advance(&answered);
    }
}

bool bench_handoff_start(void)
{
    running = pthread_create(&thread, NULL, answer, NULL) == 0;
    if (!running)
        bench_failed("cannot start a thread");
    return running;
}

void bench_handoff_stop(void)
{
    if (running) {
        atomic_store(&stopping, true);
        advance(&asked);
        pthread_join(thread, NULL);
        running = false;
    }
}

void bench_handoff(void)
{
    uint32_t before = atomic_load(&answered);
    advance(&asked);
    wait_while(&answered, before);
}
