/* log.c: the log callback. A setting (callback and user) is one immutable node, published with one
 * store, so that a reader never pairs one setting's function with another's data and a fork in the
 * middle of a change leaves the child a whole setting. Old nodes stay on a chain: a reader on
 * another thread may still hold one. */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/allocate.h"
#include "base/callback.h"
#include "base/error.h"

typedef struct setting {
    int level;
    accel_log_callback callback;
    void *user;
    struct setting *previous; /* kept: see above */
} setting;

static _Atomic(setting *) current; /* NULL: silent */
_Thread_local int accel__callback_depth;
_Thread_local uint32_t accel__callback_mark;

static _Thread_local bool in_callback;

accel_status accel_log_set_callback(accel_log_level level, accel_log_callback callback, void *user)
{
    if (level < ACCEL_LOG_LEVEL_ERROR || level > ACCEL_LOG_LEVEL_DEBUG)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, __func__,
                           "level %d is not one of accel_log_level (1 to 4)", (int)level);
    setting *made = accel__allocate(sizeof *made);
    if (made == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, NULL, __func__,
                           "no memory for the log setting");
    made->level = callback != NULL ? (int)level : 0;
    made->callback = callback;
    made->user = user;
    made->previous = atomic_load(&current);
    while (!atomic_compare_exchange_weak(&current, &made->previous, made))
        continue;
    return ACCEL_OK;
}

void accel__log(accel_log_level level, const char *backend, const char *format, ...)
{
    const setting *now = atomic_load_explicit(&current, memory_order_acquire);
    if (now == NULL || now->level < (int)level || in_callback)
        return;
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    accel__error_aside aside;
    accel__error_set_aside(&aside);
    in_callback = true; /* accel may log while it refuses a call of the callback */
    accel__callback_enter();
    now->callback(level, backend != NULL ? backend : "", text, now->user);
    accel__callback_leave();
    in_callback = false;
    accel__error_put_back(&aside);
}
