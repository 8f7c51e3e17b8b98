/* inventory.c: see inventory.h.
 *
 * The cheap look at each question: has a variable changed, is the snapshot younger than a second? Only
 * then are files looked at again, and only drivers whose variables or files changed are asked again:
 * one that hung is not asked a second time. */
#include "core/inventory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "base/environment.h"
#include "base/log.h"
#include "core/probe.h"
#include "core/registry.h"
#include "core/visible.h"
#include "platform/clock.h"

enum { FRESH_NS = 1000000000 };

/* ---- what the environment says ---- */

/* FNV-1a (Fowler, Noll, Vo), 64 bits. */
static uint64_t hash(uint64_t seed, const char *text)
{
    for (; text != NULL && *text != '\0'; text++)
        seed = (seed ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return (seed ^ (text != NULL)) * UINT64_C(0x100000001b3);
}

static uint64_t driver_stamp(const accel__backend *backend)
{
    uint64_t stamp = UINT64_C(0xcbf29ce484222325);
    if (!accel__backend_has_drivers(backend))
        return stamp;
    stamp ^= backend->table.drivers.stamp();
    stamp = hash(stamp, accel__environment_path("ACCEL_PROBE"));
    return hash(stamp, accel__environment_get("ACCEL_PROBE_TIMEOUT_MS"));
}

/* Unset and empty differ here. */
static const char *visible_list(void)
{
    return getenv("ACCEL_VISIBLE_DEVICES");
}

/* Whether ACCEL_BACKENDS (a list with commas, blanks or both) leaves this backend out. */
static bool left_out(const accel__backend *backend)
{
    const char *list = accel__environment_get("ACCEL_BACKENDS");
    const size_t size = strlen(backend->table.name);
    for (const char *rest = list; rest != NULL && *rest != '\0';) {
        const size_t word = strcspn(rest, ", \t");
        if (word == size && memcmp(rest, backend->table.name, size) == 0)
            return false;
        rest += word + (rest[word] != '\0');
    }
    return list != NULL;
}

/* ---- building a snapshot ---- */

/* That no helper could be asked is no word of the driver's: it may pass, and is tried again. */
static bool is_passing(const accel__answer *answer)
{
    return answer->reason == ACCEL_REASON_HELPER_MISSING ||
           answer->reason == ACCEL_REASON_HELPER_FAILED;
}

static bool is_same_driver(const accel_backend_driver *a, const accel_backend_driver *b)
{
    return a->key == b->key && strcmp(a->library, b->library) == 0 &&
           strcmp(a->source, b->source) == 0;
}

/* An earlier answer of the same driver, under the same variables and files. */
static accel__answer *find_answer(const accel__inventory *inventory,
                                  const accel_backend_driver *driver, uint64_t stamp)
{
    for (; inventory != NULL; inventory = inventory->previous)
        for (uint32_t i = 0; i < inventory->answer_count; i++) {
            accel__answer *answer = inventory->answers[i];
            if (answer->stamp == stamp && !is_passing(answer) &&
                is_same_driver(&answer->driver, driver))
                return answer;
        }
    return NULL;
}

/* Takes over what is known and asks the rest, side by side. False: no memory. */
static bool ask_drivers(accel__backend *backend, accel__inventory *made,
                        const accel_backend_driver *drivers, uint32_t count, uint64_t stamp)
{
    accel__answer *fresh[ACCEL__DRIVER_MAX];
    uint32_t fresh_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        accel__answer *answer = find_answer(backend->inventories, &drivers[i], stamp);
        if (answer == NULL) {
            answer = accel__allocate(sizeof *answer);
            if (answer == NULL)
                return false;
            answer->driver = drivers[i];
            answer->stamp = stamp;
            answer->reason = drivers[i].reason;
            memcpy(answer->detail, drivers[i].detail, sizeof answer->detail);
            if (answer->reason == ACCEL_REASON_NONE)
                fresh[fresh_count++] = answer;
        }
        made->answers[made->answer_count++] = answer;
    }
    if (fresh_count != 0)
        accel__probe_drivers(backend, fresh, fresh_count);
    return true;
}

static int compare_candidates(const void *a, const void *b)
{
    const accel__candidate *left = a;
    const accel__candidate *right = b;
    if (left->found->order != right->found->order)
        return left->found->order < right->found->order ? -1 : 1;
    return left->physical < right->physical ? -1 : 1;
}

/* All devices of all drivers, in the order in which they are listed. */
static int32_t gather(const accel__inventory *made, accel__candidate *candidates)
{
    int32_t count = 0;
    for (uint32_t i = 0; i < made->answer_count; i++)
        for (uint32_t f = 0; f < made->answers[i]->found_count && count < ACCEL__DEVICE_MAX; f++) {
            candidates[count] = (accel__candidate){count, made->answers[i],
                                                   &made->answers[i]->found[f]};
            count++;
        }
    if (count > 1)
        qsort(candidates, (size_t)count, sizeof *candidates, compare_candidates);
    for (int32_t i = 0; i < count; i++)
        candidates[i].physical = i;
    return count;
}

/* What `identify` looks at. */
typedef struct identified {
    const accel__backend *backend;
    const accel__candidate *candidates;
    accel_device_info info; /* of the local device asked about last */
} identified;

static accel__identity identify(int32_t position, void *user)
{
    identified *made = user;
    const accel_device_info *info = &made->info;
    if (made->candidates[position].found != NULL)
        info = &made->candidates[position].found->info;
    else {
        made->info = (accel_device_info){.struct_size = sizeof made->info};
        made->backend->table.local.describe(position, &made->info);
    }
    return (accel__identity){info->uuid, info->bus_address};
}

static bool is_backend(const char *name, size_t size)
{
    const uint32_t known = accel__registry_count();
    for (accel_backend number = 1; number <= known; number++) {
        const char *other = accel__registry_get(number)->table.name;
        if (strlen(other) == size && memcmp(other, name, size) == 0)
            return true;
    }
    return false;
}

/* Keeps of the candidates those that the program may see. False: no memory. */
static bool keep_visible(accel__backend *backend, accel__inventory *made,
                         const accel__candidate *candidates, int32_t count)
{
    int32_t chosen[ACCEL__DEVICE_MAX];
    identified known = {.backend = backend, .candidates = candidates};
    const int32_t visible = accel__visible_apply(visible_list(), backend->table.name, count,
                                                 identify, &known, is_backend, chosen,
                                                 &made->visible_problem);
    made->visible_stamp = hash(0, visible_list());
    made->visible = accel__allocate_array((size_t)visible, sizeof *made->visible);
    made->selected = accel__allocate_array((size_t)visible, sizeof *made->selected);
    if (made->visible == NULL || made->selected == NULL)
        return false;
    for (int32_t i = 0; i < visible; i++) {
        const accel__candidate *candidate = &candidates[chosen[i]];
        made->visible[i] = *candidate;
        if (candidate->found != NULL)
            made->selected[i] = (accel_backend_selected){&candidate->answer->driver,
                                                         candidate->found};
    }
    made->summary.device_count = visible;
    made->hidden_count = count - visible;
    return true;
}

/* The reason for what is missing: a driver that failed makes the answer uncertain. */
static void judge(accel__inventory *made)
{
    for (uint32_t i = 0; i < made->answer_count; i++) {
        const accel__answer *answer = made->answers[i];
        if (answer->reason == ACCEL_REASON_NONE || answer->reason == ACCEL_REASON_NO_DEVICE)
            continue;
        made->reason = answer->reason;
        made->summary.cannot_tell |= answer->reason != ACCEL_REASON_LIBRARY_MISSING;
        snprintf(made->summary.reason, sizeof made->summary.reason, "driver %s: %s%s%.150s",
                 answer->driver.name, accel_reason_cause(answer->reason),
                 answer->detail[0] != '\0' ? ": " : "", answer->detail);
        return;
    }
    if (made->summary.device_count == 0 && made->hidden_count != 0) {
        made->reason = ACCEL_REASON_HIDDEN;
        snprintf(made->summary.reason, sizeof made->summary.reason,
                 "ACCEL_VISIBLE_DEVICES hides %d", made->hidden_count);
    } else if (made->summary.device_count == 0 && made->answer_count != 0)
        made->reason = ACCEL_REASON_NO_DEVICE;
}

static bool fill_with_drivers(accel__backend *backend, accel__inventory *made, uint64_t stamp)
{
    accel_backend_driver *drivers = accel__allocate_array(ACCEL__DRIVER_MAX, sizeof *drivers);
    accel__candidate *candidates = accel__allocate_array(ACCEL__DEVICE_MAX, sizeof *candidates);
    bool ok = drivers != NULL && candidates != NULL;
    if (ok) {
        uint32_t count = backend->table.drivers.list(drivers, ACCEL__DRIVER_MAX, &made->summary);
        count = count < ACCEL__DRIVER_MAX ? count : ACCEL__DRIVER_MAX;
        if (count == 0)
            made->reason = made->summary.cannot_tell ? ACCEL_REASON_PERMISSION
                                                     : ACCEL_REASON_NO_DRIVER;
        ok = ask_drivers(backend, made, drivers, count, stamp) &&
             keep_visible(backend, made, candidates, gather(made, candidates));
    }
    if (ok)
        judge(made);
    accel__deallocate(drivers);
    accel__deallocate(candidates);
    return ok;
}

static bool fill_local(accel__backend *backend, accel__inventory *made)
{
    accel_backend_probe *answer = &made->summary;
    backend->table.local.probe(answer);
    int32_t count = answer->device_count;
    count = count < 0 ? 0 : count > ACCEL__DEVICE_MAX ? ACCEL__DEVICE_MAX : count;
    accel__candidate *candidates = accel__allocate_array((size_t)count, sizeof *candidates);
    if (candidates == NULL)
        return false;
    for (int32_t i = 0; i < count; i++)
        candidates[i].physical = i;
    const bool ok = keep_visible(backend, made, candidates, count);
    if (count == 0)
        made->reason = answer->variable[0] != '\0' ? ACCEL_REASON_BAD_SETTING
                                                   : ACCEL_REASON_NO_DEVICE;
    if (ok && answer->reason[0] == '\0')
        judge(made);
    accel__deallocate(candidates);
    return ok;
}

static bool has_answer(const accel__inventory *inventory, const accel__answer *answer)
{
    for (; inventory != NULL; inventory = inventory->previous)
        for (uint32_t i = 0; i < inventory->answer_count; i++)
            if (inventory->answers[i] == answer)
                return true;
    return false;
}

/* With the answers that no published snapshot has. */
static void discard(const accel__backend *backend, accel__inventory *made)
{
    for (uint32_t i = 0; i < made->answer_count; i++)
        if (!has_answer(backend->inventories, made->answers[i])) {
            accel__deallocate(made->answers[i]->found);
            accel__deallocate(made->answers[i]);
        }
    accel__deallocate(made->visible);
    accel__deallocate(made->selected);
    accel__deallocate(made);
}

/* With the backend's inventory mutex held. */
static accel__inventory *build(accel__backend *backend, uint64_t drivers_stamp, uint64_t stamp)
{
    accel__inventory *made = accel__allocate(sizeof *made);
    bool ok = made != NULL;
    if (!ok)
        return NULL;
    made->stamp = stamp;
    if (left_out(backend)) {
        made->reason = ACCEL_REASON_LEFT_OUT;
        strcpy(made->summary.reason, "ACCEL_BACKENDS leaves it out");
    } else if (accel__backend_has_drivers(backend))
        ok = fill_with_drivers(backend, made, drivers_stamp);
    else
        ok = fill_local(backend, made);
    if (!ok) {
        discard(backend, made);
        return NULL;
    }
    made->checked_ns = accel__clock_ns();
    made->previous = backend->inventories;
    return made;
}

/* Whether the same drivers are there, with unchanged files, as when the snapshot was made, and nothing
 * is to be tried again. */
static bool files_are_unchanged(const accel__backend *backend, const accel__inventory *inventory)
{
    accel_backend_probe summary = {0};
    accel_backend_driver *drivers = accel__allocate_array(ACCEL__DRIVER_MAX, sizeof *drivers);
    if (drivers == NULL)
        return true;
    uint32_t count = backend->table.drivers.list(drivers, ACCEL__DRIVER_MAX, &summary);
    count = count < ACCEL__DRIVER_MAX ? count : ACCEL__DRIVER_MAX;
    bool same = count == inventory->answer_count &&
                (count != 0 || summary.cannot_tell == inventory->summary.cannot_tell);
    for (uint32_t i = 0; i < count && same; i++)
        same = is_same_driver(&inventory->answers[i]->driver, &drivers[i]) &&
               !is_passing(inventory->answers[i]);
    accel__deallocate(drivers);
    return same;
}

static bool is_fresh(const accel__backend *backend, const accel__inventory *inventory)
{
    return !accel__backend_has_drivers(backend) ||
           accel__clock_ns() - inventory->checked_ns < FRESH_NS;
}

/* Whether the two say the same, but for when: helpers could not be asked in either. */
static bool is_repetition(const accel__inventory *made, const accel__inventory *old)
{
    bool same = made->stamp == old->stamp && made->answer_count == old->answer_count &&
                made->summary.cannot_tell == old->summary.cannot_tell;
    for (uint32_t i = 0; i < made->answer_count && same; i++) {
        const accel__answer *now = made->answers[i];
        const accel__answer *before = old->answers[i];
        same = now == before || (is_passing(now) && now->reason == before->reason &&
                                 is_same_driver(&now->driver, &before->driver));
    }
    return same;
}

/* A snapshot made under the same variables whose files are unchanged, or a new one. With the mutex
 * held. NULL: no memory. */
static accel__inventory *find_or_build(accel__backend *backend, uint64_t drivers_stamp,
                                       uint64_t stamp)
{
    accel__inventory *old = backend->inventories;
    while (old != NULL && old->stamp != stamp)
        old = old->previous;
    if (old != NULL && (is_fresh(backend, old) || files_are_unchanged(backend, old))) {
        if (!is_fresh(backend, old))
            old->checked_ns = accel__clock_ns();
        return old;
    }
    accel__inventory *made = build(backend, drivers_stamp, stamp);
    if (made != NULL && old != NULL && is_repetition(made, old)) {
        discard(backend, made);
        old->checked_ns = accel__clock_ns();
        return old;
    }
    if (made != NULL)
        backend->inventories = made;
    return made;
}

static uint64_t full_stamp(const accel__backend *backend, uint64_t drivers_stamp)
{
    uint64_t stamp = hash(drivers_stamp, accel__environment_get("ACCEL_BACKENDS"));
    stamp = hash(stamp, visible_list());
    if (!accel__backend_has_drivers(backend)) {
        accel_backend_probe answer = {0};
        backend->table.local.probe(&answer);
        stamp ^= (uint64_t)(uint32_t)answer.device_count << 1 | answer.cannot_tell;
        stamp = hash(stamp, answer.reason);
    }
    return stamp;
}

/* Without a lock: the program's log callback is called. */
static void say_what_is_wrong(const accel__backend *backend, const accel__inventory *inventory)
{
    if (inventory != NULL && inventory->visible_problem.text[0] != '\0')
        accel__log(ACCEL_LOG_LEVEL_WARNING, backend->table.name, "%s",
                   inventory->visible_problem.text);
    if (accel__backend_has_drivers(backend))
        accel__probe_check_limit();
}

const accel__inventory *accel__inventory_get(accel__backend *backend)
{
    if (atomic_load_explicit(&backend->frozen_count, memory_order_acquire) >= 0)
        return backend->inventory;
    accel__inventory *now = backend->inventory;
    const uint64_t drivers_stamp = driver_stamp(backend);
    const uint64_t stamp = full_stamp(backend, drivers_stamp);
    if (now != NULL && now->stamp == stamp && is_fresh(backend, now))
        return now;
    accel__mutex_lock(&backend->inventory_mutex);
    const accel__inventory *newest = backend->inventories;
    if (backend->frozen_count >= 0) {
        now = backend->inventory;
    } else {
        now = find_or_build(backend, drivers_stamp, stamp);
        if (now != NULL)
            backend->inventory = now;
    }
    const bool is_new = backend->inventories != newest;
    accel__mutex_unlock(&backend->inventory_mutex);
    if (is_new)
        say_what_is_wrong(backend, now);
    return now;
}

void accel__inventory_freeze(accel__backend *backend, const accel__inventory *inventory)
{
    accel__mutex_lock(&backend->inventory_mutex);
    backend->inventory = (accel__inventory *)inventory; /* whatever others asked meanwhile */
    atomic_store_explicit(&backend->frozen_count, inventory->summary.device_count,
                          memory_order_release);
    accel__mutex_unlock(&backend->inventory_mutex);
}

void accel__inventory_visible_problem(const accel__inventory *inventory, char *text,
                                      size_t capacity)
{
    const char *list = visible_list();
    const uint64_t stamp = hash(0, list);
    uint64_t strangers = inventory->visible_problem.strangers;
    const uint32_t known = accel__registry_count();
    for (accel_backend number = 1; number <= known && strangers != 0; number++) {
        const accel__inventory *other = accel__inventory_get(accel__registry_get(number));
        if (other == NULL || other->summary.cannot_tell)
            strangers = 0; /* it may be a device of that one */
        else if (other->reason != ACCEL_REASON_LEFT_OUT)
            strangers &= other->visible_stamp == stamp ? other->visible_problem.strangers : 0;
    }
    snprintf(text, capacity, "%s", inventory->visible_problem.text);
    if (text[0] == '\0')
        accel__visible_blame(list, strangers, text, capacity);
}

bool accel__inventory_is_cpus(accel__backend *backend)
{
    const accel__inventory *inventory = accel__inventory_get(backend);
    int32_t count = inventory != NULL ? inventory->summary.device_count : 0;
    bool all = count != 0;
    while (count-- > 0 && all)
        all = inventory->visible[count].found != NULL &&
              inventory->visible[count].found->info.kind == ACCEL_DEVICE_KIND_CPU;
    return all;
}

int32_t accel__inventory_table_index(accel__backend *backend, int32_t index)
{
    if (accel__backend_has_drivers(backend))
        return index;
    const accel__inventory *inventory = accel__inventory_get(backend);
    return inventory != NULL && index < inventory->summary.device_count
               ? inventory->visible[index].physical
               : index;
}
