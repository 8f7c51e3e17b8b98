/* failures.c: see failures.h: the counter, and what it remembers of the first failure. */
#include "failures.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <string.h>

void *__real_dlopen(const char *path, int flags);
void *__real_dlsym(void *handle, const char *name);

static _Atomic(bool) armed;
static _Atomic(unsigned) count;
static unsigned failing; /* the first that fails */
static bool is_lasting;
static _Atomic(bool) happened;
static failure *first;

static int (*driver_objects)(void);
static _Atomic(bool (*)(const char *call)) *driver_due;

void failures_arm(unsigned number, bool lasting)
{
    void *frames[2];
    backtrace(frames, 2); /* what it needs it takes now */
    *first = (failure){0};
    failing = number;
    is_lasting = lasting;
    happened = false;
    count = 0;
    armed = true;
}

void failures_note_in(failure *where)
{
    first = where;
}

bool failures_disarm(void)
{
    armed = false;
    return happened;
}

unsigned failures_counted(void)
{
    return count;
}

bool failures_due(failure_kind kind, const char *call)
{
    if (!armed)
        return false;
    const unsigned number = atomic_fetch_add(&count, 1) + 1;
    const bool is_behind = is_lasting && number > failing && kind != FAILURE_DRIVER;
    if (number != failing && !is_behind)
        return false;
    happened = true; /* before anybody can tell of it */
    if (number == failing) {
        first->kind = kind;
        first->call = call;
        first->stack_size = backtrace(first->stack, FAILURE_STACK_MAX);
    }
    return true;
}

static bool driver_is_due(const char *call)
{
    return failures_due(FAILURE_DRIVER, call);
}

bool failures_load_driver(const char *path)
{
    void *driver = __real_dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *objects = driver != NULL ? __real_dlsym(driver, "failing_driver_objects") : NULL;
    driver_due = driver != NULL ? __real_dlsym(driver, "failing_driver_due") : NULL;
    memcpy(&driver_objects, &objects, sizeof objects);
    if (driver_due == NULL || objects == NULL)
        return false;
    *driver_due = driver_is_due;
    return true;
}

int failures_driver_objects(void)
{
    return driver_objects != NULL ? driver_objects() : 0;
}
