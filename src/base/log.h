/* log.h: says something to the program's log callback. Never called with a lock held. */
#ifndef ACCEL_BASE_LOG_H
#define ACCEL_BASE_LOG_H

#include <accel/log.h>

/* Cheap when nobody listens: one relaxed load. `backend` may be NULL. */
void accel__log(accel_log_level level, const char *backend, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* True while the calling thread is inside the log callback. */
bool accel__log_in_callback(void);

#endif
