/* registry.c: see registry.h.
 *
 * Backends fill `slots` from the front; `count` is published last, so that a reader (or a forked
 * child) sees only whole ones. */
#include "core/registry.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/log.h"

/* One function for each folder under src/backends that has a backend.c. */
#define ACCEL_BACKEND_ENTRY(name) const accel_backend_table *accel__backend_##name(void);
#include "accel_backend_list.h"
#undef ACCEL_BACKEND_ENTRY

static const struct builtin {
    const accel_backend_table *(*table)(void);
} builtins[] = {
#define ACCEL_BACKEND_ENTRY(name) {accel__backend_##name},
#include "accel_backend_list.h"
#undef ACCEL_BACKEND_ENTRY
};

/* Guards registration. A leaf. */
static accel__mutex registry_mutex;
static accel__backend slots[ACCEL__BACKEND_MAX];
static _Atomic(uint32_t) count;
static _Atomic(bool) builtins_done;

static accel_status add_locked(const accel_backend_table *table, uint32_t masked,
                               accel_backend *out_backend)
{
    const uint32_t used = count;
    if (used == ACCEL__BACKEND_MAX)
        return accel__fail(ACCEL_ERROR_OUT_OF_RANGE, NULL, __func__,
                           "there is no room for more than %d backends", ACCEL__BACKEND_MAX);
    accel__backend *backend = &slots[used];
    const accel_status status = accel__table_complete(table, masked, &backend->table,
                                                      &backend->own_groups);
    if (status != ACCEL_OK)
        return status;
    for (uint32_t i = 0; i < used; i++)
        if (strcmp(slots[i].table.name, backend->table.name) == 0)
            return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, backend->table.name, __func__,
                               "a backend of the name '%s' is registered already",
                               backend->table.name);
    backend->number = used + 1;
    backend->frozen_count = -1;
    atomic_store_explicit(&count, used + 1, memory_order_release);
    if (out_backend != NULL)
        *out_backend = backend->number;
    return ACCEL_OK;
}

/* Outside of the lock: what is wrong with ACCEL_MASK goes to the log callback. */
static uint32_t mask_of(const accel_backend_table *table)
{
    return table != NULL && table->name != NULL ? accel__mask_of(table->name) : 0;
}

static void add_builtins(void)
{
    uint32_t masks[sizeof builtins / sizeof builtins[0]];
    for (size_t i = 0; i < sizeof builtins / sizeof builtins[0]; i++)
        masks[i] = mask_of(builtins[i].table());
    accel__mutex_lock(&registry_mutex);
    if (!builtins_done) {
        for (size_t i = count; i < sizeof builtins / sizeof builtins[0]; i++)
            add_locked(builtins[i].table(), masks[i], NULL);
        builtins_done = true;
    }
    accel__mutex_unlock(&registry_mutex);
}

uint32_t accel__registry_count(void)
{
    if (!atomic_load_explicit(&builtins_done, memory_order_acquire))
        add_builtins();
    return atomic_load_explicit(&count, memory_order_acquire);
}

accel_status accel__registry_add(const accel_backend_table *table, accel_backend *out_backend)
{
    accel__registry_count();
    const uint32_t masked = mask_of(table);
    accel__mutex_lock(&registry_mutex);
    const accel_status status = add_locked(table, masked, out_backend);
    accel__mutex_unlock(&registry_mutex);
    return status;
}

accel__backend *accel__registry_get(accel_backend number)
{
    return number != 0 && number <= accel__registry_count() ? &slots[number - 1] : NULL;
}

accel__backend *accel__registry_find(const char *name)
{
    const uint32_t known = accel__registry_count();
    for (uint32_t i = 0; i < known; i++)
        if (strcmp(slots[i].table.name, name) == 0)
            return &slots[i];
    return NULL;
}

void accel__registry_names(char *buffer, size_t capacity)
{
    const uint32_t known = accel__registry_count();
    size_t used = 0;
    buffer[0] = '\0';
    for (uint32_t i = 0; i < known && used < capacity; i++) {
        const int wrote = snprintf(buffer + used, capacity - used, "%s%s", i != 0 ? ", " : "",
                                   slots[i].table.name);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}
