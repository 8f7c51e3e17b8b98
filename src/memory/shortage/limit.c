/* limit.c: how much a device may reserve in this process, and how much it has. Counted without a lock: the
 * amount is taken before the driver is asked, so that threads that ask at once cannot pass the limit
 * together. */
#include <string.h>
#include <time.h>

#include <accel/allocator.h>

#include "base/error.h"
#include "core/device.h"
#include "memory/device_memory.h"
#include "memory/heap/heap_parts.h"

enum { NAP_NS = 50000, NAPS_MAX = 4000 };

/* Doubles as words, so that they can be read without a lock; 0 is "not set". */
static uint64_t word_of(double fraction)
{
    uint64_t word = 0;
    const double shifted = fraction + 1.0;
    memcpy(&word, &shifted, sizeof word);
    return word;
}

static double fraction_of(uint64_t word)
{
    double shifted = 0;
    memcpy(&shifted, &word, sizeof shifted);
    return shifted - 1.0;
}

/* Bytes of the device, asked once; 0: unknown. It is in use, or a question about it starts nothing. */
static size_t total_of(accel__device_memory *memory)
{
    const accel__device *device = memory->device;
    size_t total = memory->total;
    size_t unused = 0;
    if (total != 0)
        return total;
    accel__error_mute();
    const accel_status status = device->backend->table.device.memory_info(
        accel__inventory_table_index(device->backend, device->id.index), &unused, &total);
    accel__error_unmute();
    if (status == ACCEL_OK)
        memory->total = total;
    return status == ACCEL_OK ? total : 0;
}

static double fraction_in_force(accel__device_memory *memory)
{
    const uint64_t word = memory->fraction;
    return word != 0 ? fraction_of(word) : accel__config_get()->per_process_memory_fraction;
}

/* SIZE_MAX: none. */
static size_t limit_of(accel__device_memory *memory)
{
    const size_t own = memory->limit;
    const size_t bytes = own != 0 ? own : accel__config_get()->memory_limit;
    const double fraction = fraction_in_force(memory);
    const size_t total = fraction < 1.0 ? total_of(memory) : 0;
    size_t limit = bytes != 0 ? bytes : SIZE_MAX;
    if (total != 0) {
        const size_t share = (size_t)(fraction * (double)total);
        limit = share < limit ? share : limit;
    }
    return limit;
}

size_t accel__limit_get(accel__device *device)
{
    accel__device_memory *memory = accel__device_memory_of(device);
    return memory != NULL ? limit_of(memory) : SIZE_MAX;
}

/* What is asked for counts first, so that nobody takes it for had. */
static bool take(accel__device_memory *memory, size_t size, size_t limit)
{
    atomic_fetch_add(&memory->asked, size);
    size_t seen = memory->reserved;
    do {
        if (seen > limit - size) {
            atomic_fetch_sub(&memory->asked, size);
            return false;
        }
    } while (!atomic_compare_exchange_weak(&memory->reserved, &seen, seen + size));
    return true;
}

/* Whether there would be room if none of the others got what they ask for. */
static bool may_come(const accel__device_memory *memory, size_t size, size_t limit)
{
    const size_t asked = memory->asked;
    const size_t reserved = memory->reserved;
    return asked != 0 && (reserved <= asked || reserved - asked <= limit - size);
}

/* What others ask for may be refused in the end: memory that is there must not be denied for its sake. */
bool accel__limit_take(accel__device *device, size_t size)
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};
    accel__device_memory *memory = accel__device_memory_of(device);
    const size_t limit = limit_of(memory);
    if (size > limit)
        return false;
    bool taken = take(memory, size, limit);
    for (int i = 0; i < NAPS_MAX && !taken && may_come(memory, size, limit); i++) {
        nanosleep(&nap, NULL);
        taken = take(memory, size, limit);
    }
    return taken;
}

void accel__limit_settle(accel__device *device, size_t size, bool was_had)
{
    accel__device_memory *memory = accel__device_memory_of(device);
    if (!was_had)
        atomic_fetch_sub(&memory->reserved, size);
    atomic_fetch_sub(&memory->asked, size);
}

void accel__limit_give(accel__device *device, size_t size)
{
    atomic_fetch_sub(&accel__device_memory_of(device)->reserved, size);
}

size_t accel__limit_excess(accel__device *device, size_t size)
{
    accel__device_memory *memory = accel__device_memory_of(device);
    const size_t limit = limit_of(memory);
    const size_t need = memory->reserved + size;
    return need > limit ? need - limit : 0;
}

size_t accel__limit_reserved_above(accel__device *device, size_t bytes)
{
    const size_t reserved = accel__device_memory_of(device)->reserved;
    return reserved > bytes ? reserved - bytes : 0;
}

/* ---- the calls ---- */

static accel_status find(accel_device device, const char *function,
                         accel__device_memory **out_memory)
{
    accel__device *found = NULL;
    const accel_status status = accel__device_resolve(device, function, &found);
    if (status != ACCEL_OK)
        return status;
    *out_memory = accel__device_memory_of(found);
    return *out_memory != NULL
               ? ACCEL_OK
               : accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, found->backend->table.name, function,
                             "no host memory to keep a limit");
}

accel_status accel_allocator_set_memory_fraction(accel_device device, double fraction)
{
    accel__device_memory *memory = NULL;
    if (!(fraction >= 0.0 && fraction <= 1.0))
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, __func__,
                           "%g is no fraction: it must be from 0 to 1", fraction);
    const accel_status status = find(device, __func__, &memory);
    if (status == ACCEL_OK)
        memory->fraction = word_of(fraction);
    return status;
}

accel_status accel_allocator_set_memory_limit(accel_device device, size_t size)
{
    accel__device_memory *memory = NULL;
    const accel_status status = find(device, __func__, &memory);
    if (status == ACCEL_OK)
        memory->limit = size;
    return status;
}

accel_status accel_allocator_get_memory_limit(accel_device device, size_t *out_size)
{
    accel__device_memory *memory = NULL;
    if (out_size == NULL)
        return accel__fail_null(__func__, "out_size");
    *out_size = 0;
    accel_status status = find(device, __func__, &memory);
    if (status == ACCEL_OK && fraction_in_force(memory) < 1.0) {
        size_t unused = 0;
        size_t total = 0;
        status = accel_get_memory_info(memory->device->id, &unused, &total);
        memory->total = status == ACCEL_OK ? total : 0;
    }
    const size_t limit = status == ACCEL_OK ? limit_of(memory) : SIZE_MAX;
    *out_size = limit != SIZE_MAX ? limit : 0;
    return status;
}
