/* snapshot.c: from bytes to a snapshot: tells JSON from pickle by the first characters and lets the
 * readers do the rest. See snapshot.h. */
#include "cli/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/pickle.h"

/* Steps that readers may take for each byte of the file; real snapshots need less than three. */
enum { STEPS_PER_BYTE = 16, STEPS_AT_LEAST = 100000 };

const char *accel__event_action_name(accel__event_action action)
{
    static const char *const names[] = {
        [ACCEL__EVENT_ALLOC] = "alloc",
        [ACCEL__EVENT_FREE_REQUESTED] = "free_requested",
        [ACCEL__EVENT_FREE_COMPLETED] = "free_completed",
        [ACCEL__EVENT_SEGMENT_ALLOC] = "segment_alloc",
        [ACCEL__EVENT_SEGMENT_FREE] = "segment_free",
        [ACCEL__EVENT_SEGMENT_MAP] = "segment_map",
        [ACCEL__EVENT_SEGMENT_UNMAP] = "segment_unmap",
        [ACCEL__EVENT_OOM] = "oom",
        [ACCEL__EVENT_SNAPSHOT] = "snapshot",
        [ACCEL__EVENT_OTHER] = "other",
    };
    return names[action];
}

const char *accel__snapshot_device(const accel__snapshot *snapshot, int64_t device,
                                   char text[ACCEL__SNAPSHOT_NAME_MAX])
{
    if (device >= 0 && (uint64_t)device < snapshot->device_name_count)
        return snapshot->device_names[device];
    snprintf(text, ACCEL__SNAPSHOT_NAME_MAX, "%lld", (long long)device);
    return text;
}

/* Neither '{' nor '[' is a pickle opcode. */
static bool looks_like_json(const uint8_t *bytes, size_t size)
{
    size_t at = 0;
    while (at < size &&
           (bytes[at] == ' ' || bytes[at] == '\t' || bytes[at] == '\r' || bytes[at] == '\n'))
        at++;
    return at < size && (bytes[at] == '{' || bytes[at] == '[');
}

bool accel__snapshot_parse(const uint8_t *bytes, size_t size, accel__snapshot *out_snapshot,
                           accel__snapshot_problem *problem)
{
    accel__value *value = NULL;
    memset(out_snapshot, 0, sizeof *out_snapshot);
    if (size == 0)
        return accel__snapshot_refuse(problem, "the file is empty; save the snapshot again");
    const bool is_json = looks_like_json(bytes, size);
    bool (*read)(const uint8_t *, size_t, accel__value_store *, accel__value **,
                 accel__snapshot_problem *) = is_json ? accel__snapshot_read_json
                                                      : accel__pickle_read;
    if (!read(bytes, size, &out_snapshot->store, &value, problem))
        return false;
    out_snapshot->store.budget = (uint64_t)size * STEPS_PER_BYTE + STEPS_AT_LEAST;
    return accel__snapshot_read(value, out_snapshot, problem);
}

void accel__snapshot_release(accel__snapshot *snapshot)
{
    free(snapshot->segments);
    free(snapshot->blocks);
    free(snapshot->traces);
    free(snapshot->events);
    free(snapshot->settings);
    free(snapshot->device_names);
    accel__stacks_release(&snapshot->stacks);
    accel__value_store_release(&snapshot->store);
    memset(snapshot, 0, sizeof *snapshot);
}
