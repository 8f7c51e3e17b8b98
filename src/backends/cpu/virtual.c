/* virtual.c: see virtual.h. A reserved range is a mapping without access. A part gets memory by being
 * made accessible, page by page at the first touch, and loses it by MADV_DONTNEED and being closed
 * again: both leave the mapping in place, so that nobody else can be given its addresses in between. */
#include "backends/cpu/virtual.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/environment.h"
#include "base/error.h"
#include "platform/calls.h"
#include "platform/generation.h"
#include "platform/machine.h"

enum { GRANULARITY = 2 * 1024 * 1024 /* a huge page, where the system has them */ };

/* Bytes that have memory, in the process of that generation: what a parent had is not this one's use. */
static _Atomic(size_t) committed;
static _Atomic(uint32_t) committed_generation;

static accel_status out_of_memory(const char *what, size_t size)
{
    return accel__fail(ACCEL_ERROR_OUT_OF_MEMORY, "cpu", "accel_memory_alloc",
                       "no %s for %zu bytes", what, size);
}

accel_status accel__cpu_virtual_granularity(accel_native_device *device, size_t *out_bytes)
{
    (void)device;
    *out_bytes = GRANULARITY;
    return ACCEL_OK;
}

accel_status accel__cpu_virtual_reserve(accel_native_device *device, size_t size,
                                        void **out_address)
{
    (void)device;
    *out_address = NULL;
    size_t whole = 0;
    if (__builtin_add_overflow(size, (size_t)GRANULARITY, &whole))
        return out_of_memory("addresses", size);
    char *base = accel__platform.map(NULL, whole, PROT_NONE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return out_of_memory("addresses", size);
    /* What lies before and behind the aligned part goes back. */
    const size_t front = (size_t)GRANULARITY - ((uintptr_t)base & ((size_t)GRANULARITY - 1));
    const size_t before = front == GRANULARITY ? 0 : front;
    if (before != 0)
        accel__platform.unmap(base, before);
    accel__platform.unmap(base + before + size, whole - before - size);
    *out_address = base + before;
    return ACCEL_OK;
}

void accel__cpu_virtual_release(accel_native_device *device, void *address, size_t size)
{
    (void)device;
    accel__platform.unmap(address, size);
}

/* Programs that never touch what they ask for, as replays of what a larger machine did, may have more
 * than there is. */
static bool is_unlimited(void)
{
    uint64_t value = 0;
    return accel__environment_number("ACCEL_CPU_OVERCOMMIT", 0, 1, 0, &value) && value != 0;
}

/* Whether the machine has that much. It is asked, by reading files, only where what it said last is not
 * enough. */
static bool machine_has(size_t size)
{
    static _Atomic(uint64_t) known;
    uint64_t available = 0;
    uint64_t total = 0;
    if (size <= known || is_unlimited())
        return true;
    if (!accel__machine_memory(&available, &total))
        return true;
    known = total;
    return size <= total;
}

/* The system would promise more than there is, and end the process at the first touch. */
static bool take(size_t size)
{
    const uint32_t generation = accel__generation();
    if (atomic_exchange(&committed_generation, generation) != generation)
        committed = 0;
    size_t before = atomic_load(&committed);
    do { /* what is not to be had is never counted: others would be refused meanwhile */
        if (size > SIZE_MAX - before || !machine_has(before + size))
            return false;
    } while (!atomic_compare_exchange_weak(&committed, &before, before + size));
    return true;
}

accel_status accel__cpu_virtual_commit(accel_native_device *device, void *address, size_t size)
{
    (void)device;
    if (!take(size))
        return out_of_memory("memory", size);
    if (accel__platform.protect(address, size, PROT_READ | PROT_WRITE) != 0) {
        atomic_fetch_sub(&committed, size);
        return out_of_memory("memory", size);
    }
    madvise(address, size, MADV_HUGEPAGE); /* a wish */
    return ACCEL_OK;
}

void accel__cpu_virtual_decommit(accel_native_device *device, void *address, size_t size)
{
    (void)device;
    madvise(address, size, MADV_DONTNEED);
    /* Where even that fails, for want of a mapping, the part stays open: nothing leans on its being
     * closed. */
    (void)accel__platform.protect(address, size, PROT_NONE);
    atomic_fetch_sub(&committed, size);
}
