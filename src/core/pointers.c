/* pointers.c: a skip list ordered by address, one for the process.
 *
 * Every change is made by single stores under the mutex, lowest level first when entering and last
 * when taking out, so that the lowest level is whole at each instant: a child that was forked in the
 * middle of a change finds a list it can use. The caching allocator will enter segments, few of them;
 * until then an entry is an allocation. */
#include "core/pointers.h"

#include "core/options.h"
#include "platform/mutex.h"

/* Guards the list. Lock order: below every other lock (a leaf). */
static accel__mutex list_mutex;
static _Atomic(accel__range *) heads[ACCEL__RANGE_LEVELS];
static uint32_t random_state = 0x9e3779b9u;

/* Geometric with p = 1/2: xorshift32 (Marsaglia 2003). */
static int draw_levels(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    const int levels = 1 + __builtin_ctz(random_state | 1u << (ACCEL__RANGE_LEVELS - 1));
    return levels;
}

static _Atomic(accel__range *) *link_of(accel__range *range, int level)
{
    return range != NULL ? &range->next[level] : &heads[level];
}

/* For each level the last range that begins before `begin` (NULL: the head). */
static void find_before(uintptr_t begin, accel__range *before[ACCEL__RANGE_LEVELS])
{
    accel__range *at = NULL;
    for (int level = ACCEL__RANGE_LEVELS - 1; level >= 0; level--) {
        accel__range *next;
        while ((next = *link_of(at, level)) != NULL && next->begin < begin)
            at = next;
        before[level] = at;
    }
}

/* The range around `address`, or NULL. */
static accel__range *find_around(uintptr_t address)
{
    accel__range *before[ACCEL__RANGE_LEVELS];
    if (address == UINTPTR_MAX)
        return NULL;
    find_before(address + 1, before);
    accel__range *range = before[0];
    return range != NULL && address - range->begin < range->size ? range : NULL;
}

void accel__pointers_enter(accel__range *range)
{
    accel__range *before[ACCEL__RANGE_LEVELS];
    accel__mutex_lock(&list_mutex);
    find_before(range->begin, before);
    range->levels = draw_levels();
    for (int level = 0; level < range->levels; level++) {
        _Atomic(accel__range *) *link = link_of(before[level], level);
        range->next[level] = atomic_load(link);
        *link = range;
    }
    accel__mutex_unlock(&list_mutex);
}

accel__range *accel__pointers_take(const void *begin)
{
    accel__range *before[ACCEL__RANGE_LEVELS];
    accel__mutex_lock(&list_mutex);
    find_before((uintptr_t)begin, before);
    accel__range *range = *link_of(before[0], 0);
    if (range != NULL && range->begin != (uintptr_t)begin)
        range = NULL;
    for (int level = range != NULL ? range->levels - 1 : -1; level >= 0; level--) {
        _Atomic(accel__range *) *link = link_of(before[level], level);
        if (*link == range) /* a fork may have left it out of its upper levels */
            *link = atomic_load(&range->next[level]);
    }
    accel__mutex_unlock(&list_mutex);
    return range;
}

bool accel__pointers_visit(const void *pointer, void (*visit)(accel__range *range, void *user),
                           void *user)
{
    accel__mutex_lock(&list_mutex);
    accel__range *range = find_around((uintptr_t)pointer);
    if (range != NULL)
        visit(range, user);
    accel__mutex_unlock(&list_mutex);
    return range != NULL;
}

static void copy_facts(accel__range *range, void *user)
{
    accel__range *copy = user;
    copy->begin = range->begin;
    copy->size = range->size;
    copy->kind = range->kind;
    copy->device = range->device;
    copy->home = range->home;
}

bool accel__pointers_find(const void *pointer, accel__range *out_copy)
{
    return accel__pointers_visit(pointer, copy_facts, out_copy);
}

accel_status accel_pointer_info(const void *pointer, accel_pointer_information *out_information)
{
    const accel_status status = accel__out_check(out_information, __func__);
    if (status != ACCEL_OK)
        return status;
    accel__range range;
    accel_pointer_information known = {
        .kind = ACCEL_MEMORY_KIND_UNKNOWN,
        .device = ACCEL_DEVICE(ACCEL_BACKEND_NONE, ACCEL_INDEX_NONE),
        .host_readable = pointer != NULL,
    };
    if (accel__pointers_find(pointer, &range)) {
        known.kind = range.kind;
        known.device = range.device->id;
        known.base = (void *)range.begin;
        known.size = range.size;
        known.offset = (uintptr_t)pointer - range.begin;
        known.home_stream = range.home;
        known.host_readable = range.kind == ACCEL_MEMORY_KIND_PINNED ||
                              (range.device->backend->table.flags & ACCEL_BACKEND_HOST_ACCESS) != 0;
    }
    accel__out_write(out_information, &known, sizeof known);
    return ACCEL_OK;
}
