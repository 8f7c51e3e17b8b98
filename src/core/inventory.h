/* inventory.h: what is known of a backend's devices before it starts: which drivers were asked, what
 * each answered, and which devices the program may see. A snapshot is immutable once published, and
 * kept for the life of the process, so readers need no lock; it is replaced when something it depends
 * on has changed, and frozen at the backend's start. */
#ifndef ACCEL_CORE_INVENTORY_H
#define ACCEL_CORE_INVENTORY_H

#include <accel/backend.h>
#include <stdatomic.h>

#include "core/visible.h"

typedef struct accel__backend accel__backend;

enum { ACCEL__DRIVER_MAX = 32 };

/* One driver and its answer. */
typedef struct accel__answer {
    accel_backend_driver driver;
    uint64_t stamp; /* of the variables under which it was asked */
    accel_reason reason;
    char detail[256];
    uint32_t duration_ms;
    uint32_t found_count;
    accel_backend_found *found;
} accel__answer;

/* A device as the backend knows it, before the program's choice. */
typedef struct accel__candidate {
    int32_t physical;                 /* the backend's index without ACCEL_VISIBLE_DEVICES */
    const accel__answer *answer;      /* NULL for local devices */
    const accel_backend_found *found; /* NULL for local devices */
} accel__candidate;

typedef struct accel__inventory {
    struct accel__inventory *previous; /* in the chain of all snapshots of the backend */
    uint64_t stamp;                    /* of everything in the environment that it depends on */
    _Atomic(uint64_t) checked_ns;      /* when the files were last looked at */
    accel_backend_probe summary;       /* device_count: visible ones */
    accel_reason reason;
    int32_t hidden_count;
    uint32_t answer_count;
    accel__answer *answers[ACCEL__DRIVER_MAX];
    accel__candidate *visible;        /* in the program's order; summary.device_count of them */
    accel_backend_selected *selected; /* the same for the backend's start; NULL for local ones */
    uint64_t visible_stamp;           /* of ACCEL_VISIBLE_DEVICES alone */
    accel__visible_problem visible_problem;
} accel__inventory;

/* The backend's inventory as it is now. NULL: no memory. */
const accel__inventory *accel__inventory_get(accel__backend *backend);

/* The backend has started with these devices: from now on they are the answer. */
void accel__inventory_freeze(accel__backend *backend, const accel__inventory *inventory);

/* What is wrong with ACCEL_VISIBLE_DEVICES, for a reader who asks about the backend that has this
 * inventory: asks the other backends too where only they can tell. "" for nothing. */
void accel__inventory_visible_problem(const accel__inventory *inventory, char *text,
                                      size_t capacity);

/* Whether the backend has drivers' devices, and all of them are CPUs. */
bool accel__inventory_is_cpus(accel__backend *backend);

/* From the visible index to the index that the backend's table takes. For a backend with drivers the
 * two are the same. */
int32_t accel__inventory_table_index(accel__backend *backend, int32_t index);

#endif
