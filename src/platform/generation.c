/* generation.c: see generation.h.
 *
 * Invariant: `last` (ordinary memory, so a child inherits it) is at least the number in the cell; it is
 * raised first, so that a fork in between cannot give a child its parent's number. A wiped cell means a
 * child that has not asked yet: one of its threads stores last + 1, the others take what was stored.
 * No number is stored before a fork is sure to wipe it. */
#include "platform/generation.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "platform/calls.h"

accel__generation_page accel__generation_cell;

static _Atomic(uint32_t) last;
static _Atomic(bool) is_set_up; /* inherited by children, as the setting is */

static void forget(void)
{
    atomic_store(&accel__generation_cell.number, 0);
}

static bool is_wiped_on_fork(void)
{
    return (size_t)sysconf(_SC_PAGESIZE) <= sizeof accel__generation_cell &&
           accel__platform.advise(&accel__generation_cell, sizeof accel__generation_cell,
                                  MADV_WIPEONFORK) == 0;
}

static pthread_once_t handler_once = PTHREAD_ONCE_INIT;

static void register_handler(void)
{
    pthread_atfork(NULL, NULL, forget);
}

/* Several threads may do this at once: twice is as good as once. */
static void set_up(void)
{
    if (!is_wiped_on_fork())
        pthread_once(&handler_once, register_handler);
    atomic_store(&is_set_up, true);
}

uint32_t accel__generation_renew(void)
{
    if (!atomic_load(&is_set_up))
        set_up();
    uint32_t before = atomic_load(&last);
    const uint32_t number = before + 1;
    atomic_compare_exchange_strong(&last, &before, number);
    uint32_t expected = 0;
    return atomic_compare_exchange_strong(&accel__generation_cell.number, &expected, number)
               ? number
               : expected;
}
