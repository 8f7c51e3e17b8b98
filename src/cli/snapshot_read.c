/* snapshot_read.c: values become segments, blocks, events and settings. See snapshot.h.
 *
 * Invariant: the depth to which values are followed is fixed here, not in the file; what is read more
 * than once because the file refers to it more than once is paid for each time. */
#include "cli/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    accel__snapshot *snapshot;
    accel__snapshot_problem *problem;
    size_t block_capacity;
    size_t event_capacity;
    uint32_t *frames; /* of the stack that is being read */
    size_t frame_capacity;
} reader;

/* Where in the file: a key, or an index where that is NULL, in what is further out. */
typedef struct spot {
    const struct spot *outer;
    const char *key;
    size_t index;
} spot;

/* ---- errors ---- */

static size_t print_spot(const spot *at, char *text, size_t capacity)
{
    size_t used = at->outer != NULL ? print_spot(at->outer, text, capacity) : 0;
    if (used >= capacity)
        return used;
    const int more = at->key != NULL ? snprintf(text + used, capacity - used, "%s%s",
                                                used > 0 ? "." : "", at->key)
                                     : snprintf(text + used, capacity - used, "[%zu]", at->index);
    return used + (more > 0 ? (size_t)more : 0);
}

/* The message about a place, or about the budget, where that is why a value was not found. */
static bool refuse(reader *r, const spot *at, const char *key, const char *what)
{
    char text[160] = "";
    const spot inner = {at, key, 0};
    if (r->snapshot->store.budget == 0)
        return accel__snapshot_refuse(r->problem, "refers to the same parts over and over, as no "
                                                  "snapshot does; the file is damaged or hostile");
    print_spot(key != NULL ? &inner : at, text, sizeof text);
    return accel__snapshot_refuse(r->problem, "%s %s; the file is damaged or of an unknown kind",
                                  text[0] != '\0' ? text : "the whole", what);
}

static bool refuse_kind(reader *r, const spot *at, const char *key, const char *wanted,
                        const accel__value *found)
{
    char what[96];
    snprintf(what, sizeof what, "is %s, not %s", accel__value_kind_text(found), wanted);
    return refuse(r, at, key, what);
}

static bool no_memory(reader *r)
{
    return accel__snapshot_refuse_memory(r->problem);
}

/* ---- members ---- */

static accel__value *get(reader *r, const accel__value *dictionary, const char *key)
{
    return accel__value_get(&r->snapshot->store, dictionary, key);
}

/* An integer; where it is missing *out_value stays, which is an error if it is `needed`. */
static bool get_integer(reader *r, const accel__value *dictionary, const spot *at, const char *key,
                        bool needed, int64_t *out_value)
{
    const accel__value *found = get(r, dictionary, key);
    if (found == NULL || found->kind == ACCEL__VALUE_NONE)
        return (!needed && r->snapshot->store.budget > 0) || refuse(r, at, key, "is missing");
    if (found->kind != ACCEL__VALUE_INTEGER)
        return refuse_kind(r, at, key, "an integer", found);
    *out_value = found->as.integer;
    return true;
}

/* As above, for what cannot be negative. */
static bool get_size(reader *r, const accel__value *dictionary, const spot *at, const char *key,
                     bool needed, uint64_t *out_value)
{
    int64_t value = (int64_t)*out_value;
    if (!get_integer(r, dictionary, at, key, needed, &value))
        return false;
    if (value < 0)
        return refuse(r, at, key, "is negative");
    *out_value = (uint64_t)value;
    return true;
}

/* A text; NULL where it is missing. */
static bool get_text(reader *r, const accel__value *dictionary, const spot *at, const char *key,
                     const char **out_text)
{
    const accel__value *found = get(r, dictionary, key);
    *out_text = NULL;
    if (found == NULL || found->kind == ACCEL__VALUE_NONE)
        return r->snapshot->store.budget > 0 || refuse(r, at, key, "is missing");
    if (found->kind != ACCEL__VALUE_TEXT)
        return refuse_kind(r, at, key, "a text", found);
    *out_text = found->as.text;
    return true;
}

/* A list; NULL where it is missing. */
static bool get_list(reader *r, const accel__value *dictionary, const spot *at, const char *key,
                     accel__value **out_list)
{
    accel__value *found = get(r, dictionary, key);
    *out_list = NULL;
    if (found == NULL || found->kind == ACCEL__VALUE_NONE)
        return r->snapshot->store.budget > 0 || refuse(r, at, key, "is missing");
    if (found->kind != ACCEL__VALUE_LIST)
        return refuse_kind(r, at, key, "a list", found);
    *out_list = found;
    return true;
}

static bool get_pool(reader *r, const accel__value *dictionary, const spot *at, const char *key,
                     int64_t pool[2])
{
    accel__value *list;
    if (!get_list(r, dictionary, at, key, &list))
        return false;
    if (list == NULL)
        return true;
    if (list->count != 2 || list->as.items[0]->kind != ACCEL__VALUE_INTEGER ||
        list->as.items[1]->kind != ACCEL__VALUE_INTEGER)
        return refuse(r, at, key, "is not two integers");
    pool[0] = list->as.items[0]->as.integer;
    pool[1] = list->as.items[1]->as.integer;
    return true;
}

/* ---- stacks ---- */

static bool read_frame(reader *r, accel__value *value, const spot *at, uint32_t *out_number)
{
    uint32_t number = 0;
    const char *file;
    const char *name;
    accel__frame frame = {"", "", 0};
    if (value->kind != ACCEL__VALUE_DICTIONARY)
        return refuse_kind(r, at, NULL, "a dictionary", value);
    if (value->mark == 0) {
        if (!get_text(r, value, at, "filename", &file) || !get_text(r, value, at, "name", &name) ||
            !get_integer(r, value, at, "line", false, &frame.line))
            return false;
        frame.file = file != NULL ? file : "";
        frame.name = name != NULL ? name : "";
        if (!accel__value_store_pay(&r->snapshot->store, strlen(frame.file) + strlen(frame.name)))
            return refuse(r, at, NULL, "is too long");
        if (!accel__stacks_frame(&r->snapshot->stacks, &frame, &number))
            return no_memory(r);
        value->mark = number + 1;
    }
    *out_number = value->mark - 1;
    return true;
}

/* Room for the numbers of `count` frames; NULL where memory ran out. */
static uint32_t *reserve_frames(reader *r, size_t count)
{
    if (r->frames != NULL && count <= r->frame_capacity)
        return r->frames;
    uint32_t *grown = reallocarray(r->frames, count, sizeof *grown);
    if (grown == NULL)
        return NULL;
    r->frames = grown;
    r->frame_capacity = count;
    return grown;
}

/* The stack under "frames", 0 where there is none. */
static bool read_stack(reader *r, const accel__value *owner, const spot *at, uint32_t *out_stack)
{
    accel__value *list;
    *out_stack = 0;
    if (!get_list(r, owner, at, "frames", &list))
        return false;
    if (list == NULL || list->count == 0)
        return true;
    if (list->mark == 0) {
        const spot inside = {at, "frames", 0};
        if (!accel__value_store_pay(&r->snapshot->store, list->count))
            return refuse(r, at, "frames", "is too long");
        uint32_t *frames = reserve_frames(r, list->count);
        if (frames == NULL)
            return no_memory(r);
        for (size_t i = 0; i < list->count; i++) {
            const spot here = {&inside, NULL, i};
            if (!read_frame(r, list->as.items[i], &here, &frames[i]))
                return false;
        }
        if (!accel__stacks_stack(&r->snapshot->stacks, frames, list->count, out_stack))
            return no_memory(r);
        list->mark = *out_stack + 1;
    }
    *out_stack = list->mark - 1;
    return true;
}

/* ---- segments ---- */

static bool read_state(reader *r, const accel__value *value, const spot *at,
                       accel__block_state *out_state)
{
    static const struct {
        const char *name;
        accel__block_state state;
    } states[] = {{"active_allocated", ACCEL__BLOCK_ALLOCATED},
                  {"active_pending_free", ACCEL__BLOCK_PENDING},
                  {"active_awaiting_free", ACCEL__BLOCK_PENDING},
                  {"inactive", ACCEL__BLOCK_INACTIVE}};
    const char *name;
    if (!get_text(r, value, at, "state", &name))
        return false;
    if (name == NULL)
        return refuse(r, at, "state", "is missing");
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        if (strcmp(name, states[i].name) == 0) {
            *out_state = states[i].state;
            return true;
        }
    return refuse(r, at, "state", "is none of active_allocated, active_pending_free and inactive");
}

/* Versions of PyTorch before 2.1 have neither requested_size nor frames, but a "history". */
static bool read_block_history(reader *r, const accel__value *value, const spot *at,
                               accel__snapshot_block *block)
{
    accel__value *history;
    const spot inside = {at, "history", 0};
    const spot first = {&inside, NULL, 0};
    if (!get_list(r, value, at, "history", &history))
        return false;
    if (history == NULL || history->count == 0)
        return true;
    accel__value *newest = history->as.items[0];
    if (newest->kind != ACCEL__VALUE_DICTIONARY)
        return refuse_kind(r, &first, NULL, "a dictionary", newest);
    return get_size(r, newest, &first, "real_size", false, &block->requested) &&
           (block->stack != 0 || read_stack(r, newest, &first, &block->stack));
}

static bool read_block(reader *r, const accel__value *value, const spot *at,
                       accel__snapshot_block *block)
{
    if (value->kind != ACCEL__VALUE_DICTIONARY)
        return refuse_kind(r, at, NULL, "a dictionary", value);
    if (!get_size(r, value, at, "size", true, &block->size) ||
        !get_size(r, value, at, "address", false, &block->address) ||
        !read_state(r, value, at, &block->state) || !read_stack(r, value, at, &block->stack))
        return false;
    if (get(r, value, "requested_size") != NULL)
        return get_size(r, value, at, "requested_size", false, &block->requested);
    block->requested = block->state == ACCEL__BLOCK_INACTIVE ? 0 : block->size;
    return read_block_history(r, value, at, block);
}

/* Room for `more` elements behind `count`. */
static bool reserve(reader *r, void **array, size_t *capacity, size_t count, size_t more,
                    size_t size)
{
    if (more <= *capacity - count)
        return true;
    size_t wanted = count + more > *capacity * 2 ? count + more : *capacity * 2;
    void *grown = reallocarray(*array, wanted, size);
    if (grown == NULL)
        return no_memory(r);
    *array = grown;
    *capacity = wanted;
    return true;
}

static bool read_blocks(reader *r, const accel__value *value, const spot *at,
                        accel__snapshot_segment *segment)
{
    accel__snapshot *snapshot = r->snapshot;
    accel__value *list;
    uint64_t address = segment->address;
    if (!get_list(r, value, at, "blocks", &list))
        return false;
    if (list == NULL)
        return refuse(r, at, "blocks", "is missing");
    void *blocks = snapshot->blocks;
    if (!accel__value_store_pay(&snapshot->store, list->count))
        return refuse(r, at, "blocks", "is too long");
    if (!reserve(r, &blocks, &r->block_capacity, snapshot->block_count, list->count,
                 sizeof *snapshot->blocks))
        return false;
    snapshot->blocks = blocks;
    segment->first_block = snapshot->block_count;
    segment->block_count = list->count;
    const spot inside = {at, "blocks", 0};
    for (size_t i = 0; i < list->count; i++) {
        const spot here = {&inside, NULL, i};
        accel__snapshot_block *block = &snapshot->blocks[snapshot->block_count++];
        *block = (accel__snapshot_block){.address = address};
        if (!read_block(r, list->as.items[i], &here, block))
            return false;
        if (__builtin_add_overflow(block->address, block->size, &address))
            return refuse(r, &here, "size", "reaches beyond the address space");
    }
    return true;
}

static bool read_segment(reader *r, const accel__value *value, const spot *at,
                         accel__snapshot_segment *segment)
{
    const char *kind;
    if (value->kind != ACCEL__VALUE_DICTIONARY)
        return refuse_kind(r, at, NULL, "a dictionary", value);
    if (!get_integer(r, value, at, "device", false, &segment->device) ||
        !get_size(r, value, at, "address", true, &segment->address) ||
        !get_size(r, value, at, "total_size", true, &segment->size) ||
        !get_integer(r, value, at, "stream", false, &segment->stream) ||
        !get_text(r, value, at, "segment_type", &kind) ||
        !get_pool(r, value, at, "segment_pool_id", segment->pool) ||
        !read_stack(r, value, at, &segment->stack))
        return false;
    segment->kind = ACCEL__SEGMENT_OTHER;
    if (kind != NULL && strcmp(kind, "small") == 0)
        segment->kind = ACCEL__SEGMENT_SMALL;
    if (kind != NULL && strcmp(kind, "large") == 0)
        segment->kind = ACCEL__SEGMENT_LARGE;
    const accel__value *expandable = get(r, value, "is_expandable");
    segment->is_expandable = expandable != NULL && expandable->kind == ACCEL__VALUE_BOOLEAN &&
                             expandable->as.boolean;
    return read_blocks(r, value, at, segment);
}

static bool read_segments(reader *r, const accel__value *list, const spot *at)
{
    accel__snapshot *snapshot = r->snapshot;
    if (!accel__value_store_pay(&snapshot->store, list->count))
        return refuse(r, at, NULL, "is too long");
    snapshot->segments = calloc(list->count + 1, sizeof *snapshot->segments);
    if (snapshot->segments == NULL)
        return no_memory(r);
    for (size_t i = 0; i < list->count; i++) {
        const spot here = {at, NULL, i};
        if (!read_segment(r, list->as.items[i], &here, &snapshot->segments[i]))
            return false;
        snapshot->segment_count++;
    }
    return true;
}

/* ---- history ---- */

static accel__event_action action_of(const char *name)
{
    for (int action = 0; action < ACCEL__EVENT_OTHER; action++)
        if (strcmp(name, accel__event_action_name((accel__event_action)action)) == 0)
            return (accel__event_action)action;
    return ACCEL__EVENT_OTHER;
}

static bool read_event(reader *r, const accel__value *value, const spot *at,
                       accel__snapshot_event *event)
{
    const char *action;
    if (value->kind != ACCEL__VALUE_DICTIONARY)
        return refuse_kind(r, at, NULL, "a dictionary", value);
    if (!get_text(r, value, at, "action", &action))
        return false;
    if (action == NULL)
        return refuse(r, at, "action", "is missing");
    event->action = action_of(action);
    const bool is_oom = event->action == ACCEL__EVENT_OOM;
    const bool is_needed = event->action <= ACCEL__EVENT_FREE_COMPLETED;
    return get_size(r, value, at, is_oom ? "device_free" : "addr", is_needed, &event->address) &&
           get_size(r, value, at, "size", is_needed, &event->size) &&
           get_integer(r, value, at, "stream", false, &event->stream) &&
           get_size(r, value, at, "time_us", false, &event->time_us) &&
           get_pool(r, value, at, "pool_id", event->pool) &&
           read_stack(r, value, at, &event->stack);
}

static bool read_trace(reader *r, const accel__value *list, const spot *at,
                       accel__snapshot_trace *trace)
{
    accel__snapshot *snapshot = r->snapshot;
    void *events = snapshot->events;
    if (list->kind != ACCEL__VALUE_LIST)
        return refuse_kind(r, at, NULL, "a list", list);
    if (!accel__value_store_pay(&snapshot->store, list->count))
        return refuse(r, at, NULL, "is too long");
    if (!reserve(r, &events, &r->event_capacity, snapshot->event_count, list->count,
                 sizeof *snapshot->events))
        return false;
    snapshot->events = events;
    trace->first = snapshot->event_count;
    trace->count = list->count;
    for (size_t i = 0; i < list->count; i++) {
        const spot here = {at, NULL, i};
        accel__snapshot_event *event = &snapshot->events[snapshot->event_count++];
        *event = (accel__snapshot_event){0};
        if (!read_event(r, list->as.items[i], &here, event))
            return false;
    }
    return true;
}

static bool read_traces(reader *r, const accel__value *list, const spot *at)
{
    accel__snapshot *snapshot = r->snapshot;
    if (!accel__value_store_pay(&snapshot->store, list->count))
        return refuse(r, at, NULL, "is too long");
    snapshot->traces = calloc(list->count + 1, sizeof *snapshot->traces);
    if (snapshot->traces == NULL)
        return no_memory(r);
    for (size_t i = 0; i < list->count; i++) {
        const spot here = {at, NULL, i};
        if (!read_trace(r, list->as.items[i], &here, &snapshot->traces[i]))
            return false;
        snapshot->trace_count++;
    }
    return true;
}

/* ---- settings ---- */

/* What a plain value says; NULL for others. */
static const char *setting_text(reader *r, const accel__value *value, bool *out_no_memory)
{
    char number[40];
    *out_no_memory = false;
    if (value->kind == ACCEL__VALUE_TEXT)
        return value->as.text;
    if (value->kind == ACCEL__VALUE_BOOLEAN)
        return value->as.boolean ? "true" : "false";
    if (value->kind == ACCEL__VALUE_INTEGER)
        snprintf(number, sizeof number, "%" PRId64, value->as.integer);
    else if (value->kind == ACCEL__VALUE_REAL)
        snprintf(number, sizeof number, "%.15g", value->as.real);
    else
        return NULL;
    const accel__value *text = accel__value_new_text(&r->snapshot->store, number, strlen(number));
    *out_no_memory = text == NULL;
    return text != NULL ? text->as.text : NULL;
}

static bool read_settings(reader *r, const accel__value *dictionary)
{
    accel__snapshot *snapshot = r->snapshot;
    bool out_of_memory = false;
    snapshot->settings = calloc(dictionary->count / 2 + 1, sizeof *snapshot->settings);
    if (snapshot->settings == NULL)
        return no_memory(r);
    for (size_t i = 0; i + 1 < dictionary->count; i += 2) {
        const accel__value *key = dictionary->as.items[i];
        const char *text = setting_text(r, dictionary->as.items[i + 1], &out_of_memory);
        if (out_of_memory)
            return no_memory(r);
        if (key->kind == ACCEL__VALUE_TEXT && text != NULL)
            snapshot->settings[snapshot->setting_count++] = (accel__snapshot_setting){key->as.text,
                                                                                      text};
    }
    return true;
}

/* ---- what only accel tells ---- */

static bool read_device_names(reader *r, const accel__value *own, const spot *at)
{
    accel__snapshot *snapshot = r->snapshot;
    const spot inside = {at, "devices", 0};
    accel__value *list;
    if (!get_list(r, own, at, "devices", &list))
        return false;
    const size_t count = list != NULL ? list->count : 0;
    snapshot->device_names = calloc(count + 1, sizeof *snapshot->device_names);
    if (snapshot->device_names == NULL)
        return no_memory(r);
    for (size_t i = 0; i < count; i++) {
        const spot here = {&inside, NULL, i};
        if (list->as.items[i]->kind != ACCEL__VALUE_TEXT)
            return refuse_kind(r, &here, NULL, "a text", list->as.items[i]);
        snapshot->device_names[snapshot->device_name_count++] = list->as.items[i]->as.text;
    }
    return true;
}

static bool read_lost(reader *r, const accel__value *own, const spot *at)
{
    accel__snapshot *snapshot = r->snapshot;
    const spot inside = {at, "events_lost", 0};
    accel__value *list;
    if (!get_list(r, own, at, "events_lost", &list))
        return false;
    for (size_t i = 0; list != NULL && i < list->count && i < snapshot->trace_count; i++) {
        const accel__value *lost = list->as.items[i];
        const spot here = {&inside, NULL, i};
        if (lost->kind != ACCEL__VALUE_INTEGER || lost->as.integer < 0)
            return refuse(r, &here, NULL, "is no number of events");
        snapshot->traces[i].lost = (uint64_t)lost->as.integer;
    }
    return true;
}

static bool read_own(reader *r, const accel__value *own)
{
    const spot at = {NULL, "accel", 0};
    return own == NULL || own->kind != ACCEL__VALUE_DICTIONARY ||
           (read_device_names(r, own, &at) && read_lost(r, own, &at));
}

/* ---- the whole ---- */

static bool read_whole(reader *r, const accel__value *value)
{
    const spot segments_at = {NULL, "segments", 0};
    const spot traces_at = {NULL, "device_traces", 0};
    accel__value *segments;
    accel__value *traces;
    if (value->kind ==
        ACCEL__VALUE_LIST) /* torch.cuda.memory_snapshot() gives the segments alone */
        return read_segments(r, value, &segments_at);
    if (value->kind != ACCEL__VALUE_DICTIONARY)
        return refuse_kind(r, &(spot){NULL, "", 0}, NULL, "a dictionary", value);
    if (!get_list(r, value, NULL, "segments", &segments) ||
        !get_list(r, value, NULL, "device_traces", &traces))
        return false;
    if (segments == NULL && traces == NULL)
        return accel__snapshot_refuse(r->problem,
                                      "has neither segments nor device_traces: it is no "
                                      "memory snapshot; save one with "
                                      "accel_memory_snapshot_write or PyTorch");
    if ((segments != NULL && !read_segments(r, segments, &segments_at)) ||
        (traces != NULL && !read_traces(r, traces, &traces_at)))
        return false;
    const accel__value *settings = get(r, value, "allocator_settings");
    if (settings != NULL && settings->kind == ACCEL__VALUE_DICTIONARY &&
        !read_settings(r, settings))
        return false;
    return read_own(r, get(r, value, "accel"));
}

bool accel__snapshot_read(accel__value *value, accel__snapshot *snapshot,
                          accel__snapshot_problem *problem)
{
    reader r = {.snapshot = snapshot, .problem = problem};
    bool good = read_whole(&r, value);
    free(r.frames);
    return good;
}
