/* callback.h: whether the calling thread is inside a callback that accel called. Queueing, waiting and
 * starting are refused there. */
#ifndef ACCEL_BASE_CALLBACK_H
#define ACCEL_BASE_CALLBACK_H

/* Depth of such callbacks on this thread. Initial-exec: it is read by each launch. */
extern _Thread_local int accel__callback_depth __attribute__((tls_model("initial-exec")));

#endif
