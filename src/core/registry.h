/* registry.h: the backends of this process. The list is generated from the folders under
 * src/backends; the core names none of them. Backends are registered once and never go away. */
#ifndef ACCEL_CORE_REGISTRY_H
#define ACCEL_CORE_REGISTRY_H

#include <accel/backend.h>

#include "core/deferred.h"
#include "core/inventory.h"
#include "platform/mutex.h"

enum { ACCEL__BACKEND_MAX = 16, ACCEL__DEVICE_MAX = 256 };

typedef struct accel__device accel__device;

/* A backend and where it is in its life. Found by number; never freed. */
struct accel__backend {
    accel_backend number;
    accel_backend_table table; /* completed: no function of it is NULL */
    uint32_t own_groups;       /* bit per optional group that is not a stand-in: accel__group */

    /* inventory.c. The mutex guards the making of snapshots, probes of drivers included; it is taken
     * with no other lock held. */
    accel__mutex inventory_mutex;
    accel__inventory *inventories;         /* every snapshot ever made */
    _Atomic(accel__inventory *) inventory; /* the one that holds now */

    /* lifecycle.c */
    _Atomic(uint32_t) phase;              /* generation << 3 | accel__phase */
    _Atomic(uint32_t) touched_generation; /* set before `start` is called; never cleared */
    _Atomic(uint32_t) started_generation; /* set after it succeeded; 0 after a stop */
    _Atomic(int32_t) frozen_count;        /* devices, once started; -1 before */
    accel__deferred_queue queue;

    /* device.c: made at the first question that concerns them, never freed */
    _Atomic(accel__device *) devices[ACCEL__DEVICE_MAX];
};

/* The optional groups by name, as ACCEL_MASK spells them. */
typedef enum accel__group {
    ACCEL__GROUP_TIMING = 0,
    ACCEL__GROUP_CALLBACKS,
    ACCEL__GROUP_PINNED,
    ACCEL__GROUP_PRIORITIES,
    ACCEL__GROUP_PEER,
    ACCEL__GROUP_FUNCTIONS,
    ACCEL__GROUP_HANDLES,
    ACCEL__GROUP_RANDOM,
    ACCEL__GROUP_VIRTUAL,
    ACCEL__GROUP_SCHEDULES,
    ACCEL__GROUP_COUNT
} accel__group;

static inline bool accel__backend_owns(const accel__backend *backend, accel__group group)
{
    return (backend->own_groups >> group & 1u) != 0;
}

/* Whether its devices are found by asking drivers in a helper, not by the asking process. */
static inline bool accel__backend_has_drivers(const accel__backend *backend)
{
    return backend->table.drivers.probe != NULL;
}

static inline bool accel__backend_survives_fork(const accel__backend *backend)
{
    return (backend->table.flags & ACCEL_BACKEND_SURVIVES_FORK) != 0;
}

/* How many there are, after registering the built-in ones. Cheap once that is done. */
uint32_t accel__registry_count(void);

/* The backend of that number, or NULL. ACCEL_BACKEND_CURRENT is not resolved here. */
accel__backend *accel__registry_get(accel_backend number);
accel__backend *accel__registry_find(const char *name);

/* Checks and registers one more table (tests and, later, plug-ins). The table is copied. Errors:
 * INVALID_ARGUMENT names what is wrong with it; OUT_OF_RANGE: no room. */
accel_status accel__registry_add(const accel_backend_table *table, accel_backend *out_backend);

/* completion.c: checks `table`, copies it and fills the holes with the stand-ins. The groups in
 * `masked` (bits) are taken as missing. */
accel_status accel__table_complete(const accel_backend_table *table, uint32_t masked,
                                   accel_backend_table *out_table, uint32_t *out_own_groups);

/* completion.c: the bits that ACCEL_MASK ("cpu:timing,cpu:peer", "cpu:all") names for a backend. Unknown words are
 * logged and ignored. */
uint32_t accel__mask_of(const char *backend);

/* Appends the names of all backends, for messages: "cpu, opencl". */
void accel__registry_names(char *buffer, size_t capacity);

#endif
