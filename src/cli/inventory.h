/* inventory.h: what there is: every device of every backend, and what stands in the way of knowing.
 * `accel list` shows it, as a table or as JSON. */
#ifndef ACCEL_CLI_INVENTORY_H
#define ACCEL_CLI_INVENTORY_H

#include <accel/accel.h>

#include "cli/report.h"

typedef struct accel__inventory_device {
    char id[ACCEL_DEVICE_NAME_MAX];
    accel_device_info info;
    accel_device_capability capability;
    bool has_capability;
} accel__inventory_device;

/* A backend or device that could not be asked, and why. */
typedef struct accel__inventory_problem {
    char id[ACCEL_DEVICE_NAME_MAX];
    accel_status status;
    char *reason;
} accel__inventory_problem;

/* A backend and how many devices it has for certain. */
typedef struct accel__inventory_backend {
    const char *name; /* static */
    int32_t device_count;
    char *reason;         /* why there is none; NULL where there are some */
    bool has_bad_setting; /* that reason is a variable whose value fits nothing */
} accel__inventory_backend;

typedef struct accel__inventory {
    accel__inventory_backend *backends;
    size_t backend_count;
    accel__inventory_device *devices;
    size_t device_count;
    accel__inventory_problem *problems;
    size_t problem_count;
} accel__inventory;

/* Asks every backend; released in any case. Fails only for want of memory. */
accel__exit accel__inventory_take(accel__inventory *out_inventory);
void accel__inventory_release(accel__inventory *inventory);

/* "cpu", "gpu", "accelerator"; NULL where unknown. */
const char *accel__device_kind_name(accel_device_kind kind);

#endif
