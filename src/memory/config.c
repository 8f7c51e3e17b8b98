/* config.c: which settings hold. Readers load one pointer; a set of settings is made under the mutex,
 * published whole, and kept for ever (the same text twice gives the same set), so a child that was forked at
 * any moment finds the old set or the new one. */
#include "memory/config.h"

#include <string.h>

#include "base/allocate.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/lent.h"
#include "base/log.h"
#include "memory/cache.h"
#include "memory/config_parse.h"
#include "platform/mutex.h"

static const char variable[] = "ACCEL_ALLOC_CONF";

_Atomic(const accel__config *) accel__config_current;

/* Guards the list below. A leaf. */
static accel__mutex mutex;
static _Atomic(accel__config *) every_set;

static const accel__config *find_locked(const char *text)
{
    const accel__config *found = every_set;
    while (found != NULL && strcmp(found->text, text) != 0)
        found = found->next;
    return found;
}

/* The parsed settings as an object with a copy of their text; NULL: no memory. */
static const accel__config *keep(const accel__config *parsed, const char *text)
{
    accel__mutex_lock(&mutex);
    const accel__config *kept = find_locked(text);
    const size_t size = strlen(text) + 1;
    accel__config *made = kept == NULL ? accel__allocate(sizeof *made + size) : NULL;
    if (made != NULL) {
        char *copy = (char *)(made + 1);
        memcpy(copy, text, size);
        *made = *parsed;
        made->text = copy;
        made->next = every_set;
        every_set = made;
        kept = made;
    }
    accel__mutex_unlock(&mutex);
    return kept;
}

/* Which keys a text has in vain is said once for each set that is made. */
static void tell_ignored(uint64_t ignored)
{
    for (unsigned i = 0; accel__config_key_name(i) != NULL; i++)
        if ((ignored >> i & 1u) != 0)
            accel__log(ACCEL_LOG_LEVEL_INFO, NULL,
                       "allocator settings: '%s' is PyTorch's and changes nothing here",
                       accel__config_key_name(i));
}

/* `text` as settings; NULL after a failure. */
static const accel__config *settings_of(const char *text, const char *source, const char *function,
                                        accel_status *out_status)
{
    accel__config parsed;
    uint64_t ignored = 0;
    *out_status = accel__config_parse(text, source, function, &parsed, &ignored);
    if (*out_status != ACCEL_OK)
        return NULL;
    if (text[0] == '\0')
        return &accel__config_defaults;
    const accel__config *kept = keep(&parsed, text);
    if (kept == NULL)
        *out_status = accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, NULL, function,
                                  "no memory to keep the allocators' settings");
    else
        tell_ignored(ignored);
    return kept;
}

/* ---- the variable ---- */

accel_status accel__config_check_slow(const char *function)
{
    const char *text = accel__environment_get(variable);
    const accel__config *nobodys = NULL;
    accel_status status = ACCEL_OK;
    const accel__config *found = settings_of(text != NULL ? text : "", variable, function, &status);
    if (found != NULL) /* unless another thread, or the program, was first */
        atomic_compare_exchange_strong(&accel__config_current, &nobodys, found);
    return status;
}

const accel__config *accel__config_read(void)
{
    accel__error_mute();
    (void)accel__config_check_slow(__func__);
    accel__error_unmute();
    const accel__config *now = accel__config_current;
    return now != NULL ? now : &accel__config_defaults;
}

/* ---- public ---- */

static accel_status fail_null(const char *function, const char *what)
{
    return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function, "%s is NULL", what);
}

accel_status accel_allocator_set_config(const char *text)
{
    if (text == NULL)
        return fail_null(__func__, "text");
    accel_status status = ACCEL_OK;
    const accel__config *found = settings_of(text, "text", __func__, &status);
    if (found != NULL) {
        accel__config_current = found;
        accel__cache_review_all();
    }
    return status;
}

accel_status accel_allocator_check_config(const char *text)
{
    accel__config parsed;
    uint64_t ignored = 0;
    if (text == NULL)
        return fail_null(__func__, "text");
    return accel__config_parse(text, "text", __func__, &parsed, &ignored);
}

accel_status accel_allocator_get_config(char *buffer, size_t capacity, size_t *out_needed)
{
    if (out_needed != NULL)
        *out_needed = 0;
    accel_status status = accel__config_check(__func__);
    if (status != ACCEL_OK)
        return status;
    const char *text = accel__config_get()->text;
    const size_t needed = strlen(text) + 1;
    status = accel__buffer_check(buffer, capacity, needed, out_needed, __func__);
    if (status == ACCEL_OK && capacity != 0)
        memcpy(buffer, text, needed);
    return status;
}
