/* log.h: says something to the program's log callback. Never called with a lock held. */
#ifndef ACCEL_BASE_LOG_H
#define ACCEL_BASE_LOG_H

#include <accel/log.h>

/* Cheap when nobody listens: one relaxed load. `backend` may be NULL. */
void accel__log(accel_log_level level, const char *backend, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
