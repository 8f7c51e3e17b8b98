/* standins.h: what the core does where a backend leaves out an optional group. A stand-in either does
 * the job another way or says that it is unsupported; it never invents a result. */
#ifndef ACCEL_CORE_STANDINS_H
#define ACCEL_CORE_STANDINS_H

#include <accel/backend.h>

/* Only the optional groups are filled. */
extern const accel_backend_table accel__standins;

#endif
