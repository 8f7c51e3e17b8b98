/* parts.c: parts of other layers (core/capture.h). A graph shares its parts with the graphs that it became a
 * child of, and what a part sets is read by every replay that has it. So those replays are one behind the
 * other, too, of whichever graph they are: called with the parts locked, and ordered on the device. */
#include "base/allocate.h"
#include "base/array.h"
#include "core/stream.h"
#include "graph/graph.h"

/* ---- in plans ---- */

static void release_part(accel__shared_part *shared)
{
    if (atomic_fetch_sub(&shared->references, 1) != 1)
        return;
    shared->part->release(shared->part);
    accel_stream_release(shared->last.stream);
    accel__deallocate(shared);
}

static bool push_part(accel__plan *plan, accel__shared_part *shared)
{
    if (!accel__array_reserve((void **)&plan->parts, &plan->part_capacity, plan->part_count, 1,
                              sizeof(accel__shared_part *)))
        return false;
    plan->parts[plan->part_count++] = shared;
    return true;
}

bool accel__plan_add_part(accel__plan *plan, accel__capture_part *part)
{
    accel__shared_part *shared = accel__allocate(sizeof *shared);
    if (shared == NULL)
        return false;
    shared->references = 1;
    shared->part = part;
    if (push_part(plan, shared))
        return true;
    accel__deallocate(shared);
    return false;
}

bool accel__plan_copy_parts(accel__plan *copy, const accel__plan *plan)
{
    for (size_t i = 0; i < plan->part_count; i++) {
        if (!push_part(copy, plan->parts[i]))
            return false;
        atomic_fetch_add(&plan->parts[i]->references, 1);
    }
    return true;
}

void accel__plan_release_parts(accel__plan *plan)
{
    for (size_t i = 0; i < plan->part_count; i++)
        release_part(plan->parts[i]);
    accel__deallocate((void *)plan->parts);
}

/* ---- in executables ---- */

/* By address: everybody who locks several does it in this order. */
bool accel__executable_add_part(accel__executable *executable, accel__shared_part *shared)
{
    size_t place = 0;
    while (place < executable->part_count &&
           (uintptr_t)executable->parts[place] < (uintptr_t)shared)
        place++;
    if (place < executable->part_count && executable->parts[place] == shared)
        return true;
    if (!accel__array_reserve((void **)&executable->parts, &executable->part_capacity,
                              executable->part_count, 1, sizeof(accel__shared_part *)))
        return false;
    for (size_t i = executable->part_count++; i > place; i--)
        executable->parts[i] = executable->parts[i - 1];
    executable->parts[place] = shared;
    return true;
}

void accel__executable_lock_parts(const accel__executable *executable)
{
    for (size_t i = 0; i < executable->part_count; i++)
        accel__mutex_lock(&executable->parts[i]->mutex);
}

void accel__executable_unlock_parts(const accel__executable *executable)
{
    for (size_t i = executable->part_count; i-- > 0;)
        accel__mutex_unlock(&executable->parts[i]->mutex);
}
