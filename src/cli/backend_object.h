/* backend_object.h: why a backend has the devices it has, as JSON: the reports of <accel/discovery.h>.
 * `accel list --json` and `accel doctor` show it. */
#ifndef ACCEL_CLI_BACKEND_OBJECT_H
#define ACCEL_CLI_BACKEND_OBJECT_H

#include <accel/accel.h>

#include "cli/json.h"

/* {"name", "reason", "cause", "remedy", "detail", …, "drivers": […]}; only "name" and "error" where
 * the backend cannot be asked. NULL: memory ran out. */
json_t *accel__backend_object(accel_backend backend);

#endif
