/* SPDX-License-Identifier: MIT
 * log.h: one callback that hears what accel has to say. Without it accel is silent.
 */
#ifndef ACCEL_LOG_H
#define ACCEL_LOG_H

#include <accel/status.h>

ACCEL_BEGIN_DECLS

typedef enum accel_log_level {
    ACCEL_LOG_LEVEL_ERROR = 1,   /* something failed and no status can say so */
    ACCEL_LOG_LEVEL_WARNING = 2, /* something was passed over, and why */
    ACCEL_LOG_LEVEL_INFO = 3,    /* what was found, chosen, started */
    ACCEL_LOG_LEVEL_DEBUG = 4    /* cache hits, compile commands */
} accel_log_level;

/* Called on any thread with no lock of accel held. `backend` is "" where none is concerned. Both
 * strings are lent for the call. It may be in the middle of a question, so it must not call accel;
 * queueing, waiting and starting are refused there (IN_CALLBACK). */
typedef void (*accel_log_callback)(accel_log_level level, const char *backend, const char *text,
                                   void *user);

/* accel_log_set_callback (question): messages up to and including `level` go to `callback` from
 * now on; NULL silences. The callback may still be running on another thread when this returns.
 * Errors: INVALID_ARGUMENT for a level outside the enum, OUT_OF_HOST_MEMORY; nothing has changed then. Any
 * thread; fork: the child keeps it. */
ACCEL_API accel_status accel_log_set_callback(accel_log_level level, accel_log_callback callback,
                                              void *user);

ACCEL_END_DECLS

#endif /* ACCEL_LOG_H */
