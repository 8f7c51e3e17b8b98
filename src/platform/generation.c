/* generation.c: see generation.h.
 *
 * Invariant: `last` (ordinary memory, so a child inherits it) is at least the number in the cell; it is
 * raised first, so that a fork in between cannot give a child its parent's number. A wiped cell means a
 * child that has not asked yet: one of its threads stores last + 1, the others take what was stored. */
#include "platform/generation.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "platform/calls.h"

static _Atomic(uint32_t) no_page; /* stays 0, or is the cell where there is no page */
static _Atomic(uint32_t) last;

_Atomic(_Atomic(uint32_t) *) accel__generation_cell = &no_page;

static void forget(void)
{
    atomic_store(&no_page, 0);
}

/* The cell that will be used from now on; several threads may race here, one page wins. */
static _Atomic(uint32_t) *make_cell(void)
{
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = accel__platform.map(NULL, size, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    if (madvise(page, size, MADV_WIPEONFORK) != 0) {
        accel__platform.unmap(page, size);
        return NULL;
    }
    _Atomic(uint32_t) *expected = &no_page;
    if (!atomic_compare_exchange_strong(&accel__generation_cell, &expected, page))
        accel__platform.unmap(page, size);
    return atomic_load(&accel__generation_cell);
}

static pthread_once_t handler_once = PTHREAD_ONCE_INIT;

static void register_handler(void)
{
    pthread_atfork(NULL, NULL, forget);
}

uint32_t accel__generation_renew(void)
{
    _Atomic(uint32_t) *cell = atomic_load(&accel__generation_cell);
    if (cell == &no_page) {
        _Atomic(uint32_t) *page = make_cell();
        if (page == NULL)
            pthread_once(&handler_once, register_handler);
        else
            cell = page;
    }
    uint32_t before = atomic_load(&last);
    const uint32_t number = before + 1;
    atomic_compare_exchange_strong(&last, &before, number);
    uint32_t expected = 0;
    return atomic_compare_exchange_strong(cell, &expected, number) ? number : expected;
}
