/* leaks.c: live allocations by the place that they were made at. They are copied as a snapshot is,
 * so that no lock is held while names are looked up and the program is told. */
#include <stdlib.h>

#include "base/allocate.h"
#include "base/error.h"
#include "base/log.h"
#include "core/device.h"
#include "memory/history/stack.h"
#include "memory/history/stack_set.h"
#include "memory/snapshot/snapshot.h"

typedef struct group {
    accel_device device;
    uint32_t stack;
    size_t count;
    size_t size;
} group;

typedef struct report {
    group *groups;
    size_t count;
    accel__stack_set stacks;
} report;

/* ---- grouping ---- */

static int by_place(const void *a, const void *b)
{
    const group *first = a;
    const group *second = b;
    if (first->device.backend != second->device.backend)
        return first->device.backend < second->device.backend ? -1 : 1;
    if (first->device.index != second->device.index)
        return first->device.index < second->device.index ? -1 : 1;
    return (first->stack > second->stack) - (first->stack < second->stack);
}

static int by_size(const void *a, const void *b)
{
    const group *first = a;
    const group *second = b;
    if (first->size != second->size)
        return first->size > second->size ? -1 : 1;
    return by_place(a, b);
}

static void add_device(report *to, const accel_memory_snapshot *snapshot,
                       const accel__snapshot_device *device)
{
    for (size_t i = 0; i < device->segment_count; i++) {
        const accel__snapshot_segment *segment = &snapshot->segments[device->first_segment + i];
        for (size_t k = 0; k < segment->block_count; k++) {
            const accel__snapshot_block *block = &snapshot->blocks[segment->first_block + k];
            if (accel__snapshot_state(block) == ACCEL__RANGE_LIVE)
                to->groups[to->count++] = (group){
                    .device = ACCEL_DEVICE(device->backend->number, device->index),
                    .stack = block->stack,
                    .count = 1,
                    .size = block->requested,
                };
        }
    }
}

static bool make_groups(report *to, const accel_memory_snapshot *snapshot)
{
    size_t kept = 0;
    to->groups = accel__allocate_array(snapshot->block_count + 1, sizeof *to->groups);
    if (to->groups == NULL)
        return false;
    for (size_t i = 0; i < snapshot->device_count; i++)
        add_device(to, snapshot, &snapshot->devices[i]);
    qsort(to->groups, to->count, sizeof *to->groups, by_place);
    for (size_t i = 0; i < to->count; i++) {
        if (kept == 0 || by_place(&to->groups[kept - 1], &to->groups[i]) != 0) {
            to->groups[kept++] = to->groups[i];
        } else {
            to->groups[kept - 1].count++;
            to->groups[kept - 1].size += to->groups[i].size;
        }
    }
    to->count = kept;
    qsort(to->groups, to->count, sizeof *to->groups, by_size);
    for (size_t i = 0; i < to->count; i++)
        if (!accel__stack_set_add(&to->stacks, to->groups[i].stack))
            return false;
    return accel__stack_set_name(&to->stacks);
}

static void release_report(report *of)
{
    accel__deallocate(of->groups);
    accel__stack_set_release(&of->stacks);
}

static accel_status make_report(const char *function, report *to)
{
    static const accel_memory_snapshot_options options = {.without_events = true};
    accel_memory_snapshot *snapshot = NULL;
    accel_status status = accel__snapshot_take(&options, function, &snapshot);
    if (status == ACCEL_OK && !make_groups(to, snapshot))
        status = accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, NULL, function,
                             "no host memory for the report");
    accel_memory_snapshot_release(snapshot);
    return status;
}

/* ---- telling ---- */

static bool tell(const report *of, const group *found,
                 bool (*visit)(const accel_memory_leak *leak, void *user), void *user)
{
    accel_memory_frame frames[ACCEL_MEMORY_HISTORY_FRAMES_MAX];
    const uintptr_t *addresses = NULL;
    const accel_memory_leak leak = {
        .struct_size = sizeof leak,
        .device = found->device,
        .count = found->count,
        .size = found->size,
        .frame_count = accel__stack_frames(found->stack, &addresses),
        .frames = frames,
    };
    for (size_t i = 0; i < leak.frame_count; i++) {
        const accel__symbols *symbols = &of->stacks.symbols;
        const accel__symbol *symbol = &symbols->items[accel__symbols_place(symbols, addresses[i])];
        frames[i] = (accel_memory_frame){
            .address = symbol->address, .function = symbol->function, .file = symbol->file};
    }
    return visit(&leak, user);
}

accel_status accel_memory_leaks_visit(bool (*visit)(const accel_memory_leak *leak, void *user),
                                      void *user)
{
    report found = {0};
    if (visit == NULL)
        return accel__fail_null(__func__, "visit");
    const accel_status status = make_report(__func__, &found);
    for (size_t i = 0; status == ACCEL_OK && i < found.count; i++)
        if (!tell(&found, &found.groups[i], visit, user))
            break;
    release_report(&found);
    return status;
}

/* A message has no room for a stack: a line of it is a message. */
static bool log_leak(const accel_memory_leak *leak, void *user)
{
    const char *backend = accel__registry_get(leak->device.backend)->table.name;
    (void)user;
    accel__log(ACCEL_LOG_LEVEL_WARNING, backend,
               "%zu bytes in %zu allocations of %s:%d are not freed", leak->size, leak->count,
               backend, (int)leak->device.index);
    for (size_t i = 0; i < leak->frame_count; i++)
        accel__log(ACCEL_LOG_LEVEL_WARNING, backend, "    #%zu %s (%s)", i,
                   leak->frames[i].function, leak->frames[i].file);
    return true;
}

void accel_memory_leaks_log(void)
{
    report found = {0};
    accel__error_mute();
    if (make_report(__func__, &found) == ACCEL_OK)
        for (size_t i = 0; i < found.count; i++)
            (void)tell(&found, &found.groups[i], log_leak, NULL);
    accel__error_unmute();
    release_report(&found);
}
