/* pressure.c: see pressure.h. Calls are made on copies of the lists, so that functions may add and remove
 * others, and without locks. */
#include "memory/shortage/pressure.h"

#include <string.h>

#include "base/error.h"
#include "platform/mutex.h"

enum { LIST_MAX = 16 };

/* A function of either type: it is called through the one that it was given as. */
typedef struct entry {
    void (*function)(void);
    void *user;
} entry;

typedef struct list {
    uint32_t count;
    entry entries[LIST_MAX];
} list;

/* Guards both lists; a leaf. A child that was forked in the middle of a change may miss the last one. */
static accel__mutex lists_mutex;
static list observers;
static list hooks;

static _Thread_local unsigned depth; /* of calls on this thread */

/* ---- the lists ---- */

static uint32_t find(const list *of, entry wanted)
{
    uint32_t i = 0;
    while (i < of->count &&
           (of->entries[i].function != wanted.function || of->entries[i].user != wanted.user))
        i++;
    return i;
}

static accel_status add(list *to, entry added, const char *function)
{
    if (added.function == NULL)
        return accel__fail_null(function, "function");
    accel_status status = ACCEL_OK;
    accel__mutex_lock(&lists_mutex);
    if (find(to, added) < to->count)
        status = ACCEL_ERROR_INVALID_ARGUMENT;
    else if (to->count == LIST_MAX)
        status = ACCEL_ERROR_OUT_OF_RANGE;
    else
        to->entries[to->count++] = added;
    accel__mutex_unlock(&lists_mutex);
    if (status == ACCEL_OK)
        return status;
    return accel__fail(status, NULL, function,
                       status == ACCEL_ERROR_OUT_OF_RANGE
                           ? "there are %d functions already"
                           : "this function was added already, with the same user pointer (of at "
                             "most %d)",
                       LIST_MAX);
}

static accel_status remove_from(list *from, entry removed, const char *function)
{
    if (removed.function == NULL)
        return accel__fail_null(function, "function");
    accel__mutex_lock(&lists_mutex);
    const uint32_t at = find(from, removed);
    const bool found = at < from->count;
    if (found) {
        from->count--;
        memmove(&from->entries[at], &from->entries[at + 1],
                (from->count - at) * sizeof from->entries[0]);
    }
    accel__mutex_unlock(&lists_mutex);
    return found ? ACCEL_OK
                 : accel__fail(ACCEL_ERROR_NOT_FOUND, NULL, function,
                               "this function was not added, or not with this user pointer");
}

static list copy_of(const list *of)
{
    accel__mutex_lock(&lists_mutex);
    const list copy = *of;
    accel__mutex_unlock(&lists_mutex);
    return copy;
}

/* ---- calling ---- */

bool accel__pressure_call(accel__device *device, size_t size)
{
    bool any = false;
    if (depth != 0)
        return false;
    const list now = copy_of(&hooks);
    accel__error_aside aside;
    accel__error_set_aside(&aside);
    depth++;
    for (uint32_t i = 0; i < now.count; i++) {
        accel_memory_pressure_hook hook = (accel_memory_pressure_hook)now.entries[i].function;
        any |= hook(device->id, size, now.entries[i].user);
    }
    depth--;
    accel__error_put_back(&aside);
    return any;
}

void accel__pressure_tell(const accel_out_of_memory_report *report)
{
    if (depth != 0)
        return;
    const list now = copy_of(&observers);
    accel__error_aside aside;
    accel__error_set_aside(&aside);
    depth++;
    for (uint32_t i = 0; i < now.count; i++) {
        accel_out_of_memory_observer observer =
            (accel_out_of_memory_observer)now.entries[i].function;
        observer(report, now.entries[i].user);
    }
    depth--;
    accel__error_put_back(&aside);
}

/* ---- the calls ---- */

accel_status accel_allocator_add_out_of_memory_observer(accel_out_of_memory_observer function,
                                                        void *user)
{
    return add(&observers, (entry){(void (*)(void))function, user}, __func__);
}

accel_status accel_allocator_remove_out_of_memory_observer(accel_out_of_memory_observer function,
                                                           void *user)
{
    return remove_from(&observers, (entry){(void (*)(void))function, user}, __func__);
}

accel_status accel_allocator_add_memory_pressure_hook(accel_memory_pressure_hook function,
                                                      void *user)
{
    return add(&hooks, (entry){(void (*)(void))function, user}, __func__);
}

accel_status accel_allocator_remove_memory_pressure_hook(accel_memory_pressure_hook function,
                                                         void *user)
{
    return remove_from(&hooks, (entry){(void (*)(void))function, user}, __func__);
}
