/* sheet.h: what the child that loads the driver tells its supervisor, in memory that both share. A pipe
 * would not do: a driver may write into whatever is open, and what it forks holds it open. */
#ifndef ACCEL_PROBE_SHEET_H
#define ACCEL_PROBE_SHEET_H

#include <stdatomic.h>

#include "core/probe_record.h"

typedef struct accel__probe_sheet {
    _Atomic(bool) whole; /* set last: the driver has answered, with devices or an error */
    accel__probe_end end;
    accel_backend_found found[ACCEL__PROBE_DEVICE_MAX];
} accel__probe_sheet;

#endif
