/* callback.h: whether the calling thread is inside a callback that accel called. Queueing, waiting and
 * starting are refused there. */
#ifndef ACCEL_BASE_CALLBACK_H
#define ACCEL_BASE_CALLBACK_H

#include <stdint.h>

/* Greater than any number of a generation (platform/generation.h): the sum of the two is a generation
 * only outside of callbacks, so that one comparison tells both. */
#define ACCEL__CALLBACK_MARK (1u << 29)

/* Of this thread: how deep it is in callbacks, and the mark where that is not 0. Initial-exec, and hidden
 * where they are declared, too: each launch reads one. */
extern _Thread_local int accel__callback_depth
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
extern _Thread_local uint32_t accel__callback_mark
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Around the call of a callback. */
static inline void accel__callback_enter(void)
{
    accel__callback_depth++;
    accel__callback_mark = ACCEL__CALLBACK_MARK;
}

static inline void accel__callback_leave(void)
{
    accel__callback_depth--;
    accel__callback_mark = accel__callback_depth != 0 ? ACCEL__CALLBACK_MARK : 0;
}

#endif
