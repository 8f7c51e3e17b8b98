/* device_memory.c: see device_memory.h. One slot for every device that there can be, so that the core
 * need not know of memory. */
#include "memory/device_memory.h"

#include "base/allocate.h"

static _Atomic(accel__device_memory *) slots[ACCEL__BACKEND_MAX + 1][ACCEL__DEVICE_MAX];

static _Atomic(accel__device_memory *) *slot_of(const accel__device *device)
{
    return &slots[device->id.backend][device->id.index];
}

accel__device_memory *accel__device_memory_peek(const accel__device *device)
{
    return atomic_load_explicit(slot_of(device), memory_order_acquire);
}

accel__device_memory *accel__device_memory_of(accel__device *device)
{
    accel__device_memory *known = accel__device_memory_peek(device);
    if (known != NULL)
        return known;
    accel__device_memory *made = accel__allocate(sizeof *made);
    if (made == NULL)
        return NULL;
    made->device = device;
    if (atomic_compare_exchange_strong(slot_of(device), &known, made))
        return made;
    accel__deallocate(made);
    return known;
}

void accel__device_memory_visit(void (*visit)(accel__device_memory *memory, void *user), void *user)
{
    const uint32_t backends = accel__registry_count();
    for (uint32_t backend = 1; backend <= backends; backend++)
        for (int index = 0; index < ACCEL__DEVICE_MAX; index++) {
            accel__device_memory *memory = atomic_load_explicit(&slots[backend][index],
                                                                memory_order_acquire);
            if (memory != NULL)
                visit(memory, user);
        }
}
