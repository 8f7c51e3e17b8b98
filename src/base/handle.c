/* handle.c: the list of live handles of debug builds: an open-addressing table of slots, in which an
 * address is stored and taken out with single atomic operations, so that no lock is needed and a fork
 * finds it whole. A full table lets handles pass unchecked rather than refuse good ones. */
#include "base/handle.h"

#if ACCEL_CHECK_HANDLES

#include <stdatomic.h>
#include <stddef.h>

enum { SLOTS = 1 << 16, PROBES = 64 };

static _Atomic(uintptr_t) slots[SLOTS];
static _Atomic(bool) overflowed;

static size_t first_slot(uintptr_t address)
{
    return (size_t)(address / 16u * UINT64_C(0x9e3779b97f4a7c15) >> 48) % SLOTS;
}

static bool replace(uintptr_t old, uintptr_t fresh, uintptr_t address)
{
    const size_t first = first_slot(address);
    for (size_t i = 0; i < PROBES; i++) {
        uintptr_t expected = old;
        if (atomic_compare_exchange_strong(&slots[(first + i) % SLOTS], &expected, fresh))
            return true;
    }
    return false;
}

void accel__handle_open(accel__handle *handle, accel__handle_kind kind)
{
    handle->kind = kind;
    if (!replace(0, (uintptr_t)handle, (uintptr_t)handle))
        atomic_store(&overflowed, true);
}

void accel__handle_close(accel__handle *handle)
{
    replace((uintptr_t)handle, 0, (uintptr_t)handle);
}

bool accel__handle_is_live(const void *object, accel__handle_kind kind)
{
    if (object == NULL)
        return false;
    const size_t first = first_slot((uintptr_t)object);
    for (size_t i = 0; i < PROBES; i++)
        if (atomic_load(&slots[(first + i) % SLOTS]) == (uintptr_t)object)
            return ((const accel__handle *)object)->kind == kind;
    return atomic_load(&overflowed);
}

#endif
