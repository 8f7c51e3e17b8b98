/* foreign.c: wrapped memory, from accel_memory_wrap to the call of its owner's function; see foreign.h. */
#include "memory/foreign.h"

#include <accel/memory_pool.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/lent.h"
#include "core/device.h"
#include "memory/collect.h"
#include "memory/heap/heap.h"
#include "memory/host/host.h"
#include "memory/marks.h"

/* The memory of the structures stays theirs as long as the process lives: readers of the address map may
 * look at one at any time. */
typedef struct foreign {
    accel__range range; /* first: the map hands it back */
    accel__mark home;   /* the home stream and others behind it; under the mutex while it is live */
    void (*release)(void *pointer, size_t size, void *user);
    void *user;
    uint32_t generation;  /* of the process that wrapped it */
    struct foreign *next; /* among those that wait, or the spare ones */
} foreign;

/* Guards the lists and the marks of live ranges. Nothing is called while it is held. A child abandons what
 * its parent had in the lists. */
static accel__mutex mutex;
static uint32_t lists_generation;
static foreign *waiting;
static foreign *spare;

static void lock(void)
{
    accel__mutex_lock(&mutex);
    if (!accel__generation_is(lists_generation)) {
        waiting = spare = NULL;
        lists_generation = accel__generation();
    }
}

static void unlock(void)
{
    accel__mutex_unlock(&mutex);
}

static foreign *draw(void)
{
    lock();
    foreign *found = spare;
    if (found != NULL)
        spare = found->next;
    unlock();
    return found != NULL ? found : accel__allocate(sizeof *found);
}

static void put_aside(foreign *memory)
{
    lock();
    memory->next = spare;
    spare = memory;
    unlock();
}

/* ---- the way back ---- */

static void complete(foreign *memory)
{
    void *pointer = (void *)accel__range_begin(&memory->range);
    const size_t size = accel__range_size(&memory->range);
    void (*release)(void *pointer, size_t size, void *user) = memory->release;
    void *user = memory->user;
    accel__marks_end(&memory->home);
    put_aside(memory);
    if (release == NULL)
        return;
    accel__error_aside aside;
    accel__error_set_aside(&aside);
    accel__callback_enter();
    release(pointer, size, user);
    accel__callback_leave();
    accel__error_put_back(&aside);
}

static void wait_for_streams(foreign *memory)
{
    lock();
    memory->next = waiting;
    waiting = memory;
    unlock();
}

void accel__foreign_collect(void)
{
    if (accel__callback_depth != 0)
        return;
    lock();
    foreign *list = waiting;
    waiting = NULL;
    unlock();
    while (list != NULL) {
        foreign *memory = list;
        list = memory->next;
        if (accel__marks_passed(&memory->home))
            complete(memory);
        else
            wait_for_streams(memory);
    }
}

accel_status accel__foreign_free(accel__range *range)
{
    foreign *memory = (foreign *)range;
    uint32_t live = ACCEL__RANGE_LIVE;
    lock(); /* accel__foreign_record adds to a live range only */
    const bool is_mine = atomic_compare_exchange_strong(&range->state, &live, ACCEL__RANGE_PENDING);
    unlock();
    if (!is_mine)
        return ACCEL_ERROR_INVALID_ARGUMENT;
    accel__pointers_leave(range);
    if (!accel__generation_is(memory->generation))
        return ACCEL_OK; /* the parent's */
    accel__marks_set(&memory->home);
    if (accel__marks_passed(&memory->home))
        complete(memory);
    else
        wait_for_streams(memory);
    return ACCEL_OK;
}

accel_status accel__foreign_record(accel__range *range, accel_stream *stream, const char *function)
{
    foreign *memory = (foreign *)range;
    accel__mark *mark = accel__mark_create(stream);
    if (mark == NULL)
        return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, stream->backend->table.name, function,
                           "no memory to note the use of a stream");
    lock();
    const bool is_live = accel__range_state_of(range) == ACCEL__RANGE_LIVE;
    const bool is_added = is_live && accel__marks_add(&memory->home, mark);
    unlock();
    if (!is_added)
        accel__mark_release(mark);
    return is_live ? ACCEL_OK : ACCEL_ERROR_INVALID_ARGUMENT;
}

/* ---- wrapping ---- */

typedef struct wanted {
    accel_memory_wrap_options options;
    accel__device *device;
    accel_stream *home;
    uintptr_t begin;
    size_t size;
} wanted;

static accel_status check_memory(const wanted *w, const char *function)
{
    uintptr_t end = 0;
    if (w->begin == 0)
        return accel__fail_null(function, "pointer");
    if (w->size == 0)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function, "the size is 0");
    if (__builtin_add_overflow(w->begin, w->size - 1, &end))
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "%zu bytes from %p on go beyond the end of all addresses", w->size,
                           (void *)w->begin);
    return ACCEL_OK;
}

static accel_status fail_known(uintptr_t address, const char *function)
{
    return accel__fail(
        ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
        "accel knows the memory at %p already: it overlaps with an allocation, or was "
        "wrapped before",
        (void *)address);
}

/* An address, and whether a segment has it. */
typedef struct sought {
    uintptr_t address;
    bool is_found;
} sought;

static void look(const accel__segment *segment, void *user)
{
    sought *known = user;
    known->is_found |= known->address - segment->begin < segment->size;
}

static bool is_in_heap(const accel__device *device, uintptr_t address)
{
    sought known = {.address = address};
    for (accel__heap *heap = accel__heap_first(device); heap != NULL && !known.is_found;
         heap = accel__heap_next(heap))
        accel__heap_visit(heap, look, &known);
    return known.is_found;
}

/* Whether the range, which begins last before the address, is of an allocator that has the address, too: in a
 * live allocation, behind what was asked for, or in a free block. */
static bool is_ours(const accel__range *range, uintptr_t address)
{
    while (range != NULL && accel__range_owner_of(range) == ACCEL__RANGE_OF_GUARD)
        range = accel__pointers_before(
            (void *)(accel__range_begin(range) - 1)); /* it lies in one */
    if (range == NULL || accel__range_owner_of(range) == ACCEL__RANGE_OF_FOREIGN)
        return false;
    return accel__range_owner_of(range) == ACCEL__RANGE_OF_HOST
               ? accel__host_has(range, address)
               : is_in_heap(accel__range_device(range), address);
}

/* Ranges that begin inside, in whatever state, and the one that reaches into it. */
static accel_status check_overlap(const wanted *w, const char *function)
{
    const accel__range *last = accel__pointers_before((void *)(w->begin + w->size - 1));
    if (last != NULL && accel__range_begin(last) >= w->begin)
        return fail_known(accel__range_begin(last), function);
    return accel__pointers_around((void *)w->begin) != NULL || is_ours(last, w->begin)
               ? fail_known(w->begin, function)
               : ACCEL_OK;
}

static accel_status check_options(wanted *w, const char *function)
{
    accel_memory_kind *kind = &w->options.kind;
    if (*kind == ACCEL_MEMORY_KIND_UNKNOWN)
        *kind = ACCEL_MEMORY_KIND_DEVICE;
    if (*kind != ACCEL_MEMORY_KIND_DEVICE && *kind != ACCEL_MEMORY_KIND_PINNED)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, function,
                           "kind %d is neither DEVICE nor PINNED", (int)*kind);
    w->home = &w->device->default_stream;
    if (w->options.stream == NULL)
        return ACCEL_OK;
    w->home = w->options.stream;
    const accel_status status = accel__stream_check(w->home, function);
    if (status != ACCEL_OK || w->home->device == w->device)
        return status;
    return accel__fail(ACCEL_ERROR_MISMATCH, w->device->backend->table.name, function,
                       "the stream is of %s:%d, and the memory of %s:%d",
                       w->home->backend->table.name, w->home->device->id.index,
                       w->device->backend->table.name, w->device->id.index);
}

static accel_status no_memory(const char *function)
{
    return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, NULL, function,
                       "no memory to describe wrapped memory");
}

static accel_status enter(const wanted *w, const char *function)
{
    foreign *made = draw();
    if (made == NULL)
        return no_memory(function);
    made->release = w->options.release;
    made->user = w->options.user;
    made->generation = accel__generation();
    accel__range_set_begin(&made->range, w->begin);
    accel__range_set_size(&made->range, w->size);
    accel__range_set_owner(&made->range, ACCEL__RANGE_OF_FOREIGN);
    accel__range_set(&made->range, w->device, w->options.kind, w->home);
    accel__marks_begin(&made->home, w->home);
    const accel_status status = accel__pointers_enter(&made->range);
    if (status == ACCEL_OK) {
        accel__range_set_state(&made->range, ACCEL__RANGE_LIVE);
        return ACCEL_OK;
    }
    accel__marks_end(&made->home);
    put_aside(made);
    return status == ACCEL_ERROR_OUT_OF_HOST_MEMORY ? no_memory(function)
                                                    : fail_known(w->begin, function);
}

accel_status accel_memory_wrap(accel_device device, void *pointer, size_t size,
                               const accel_memory_wrap_options *options)
{
    wanted w = {.begin = (uintptr_t)pointer, .size = size};
    accel_status status = accel__options_read(options, &w.options, sizeof w.options, __func__);
    if (status == ACCEL_OK)
        status = check_memory(&w, __func__);
    if (status == ACCEL_OK)
        status = accel__device_resolve(device, __func__, &w.device);
    if (status == ACCEL_OK)
        status = check_options(&w, __func__);
    if (status == ACCEL_OK)
        status = check_overlap(&w, __func__);
    if (status == ACCEL_OK)
        accel__foreign_collect();
    accel__collect_after_synchronize(); /* nothing may ever be allocated */
    return status == ACCEL_OK ? enter(&w, __func__) : status;
}
