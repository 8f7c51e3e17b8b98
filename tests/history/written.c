/* written.c: see written.h. */
#include "written.h"

#include <stdlib.h>
#include <unistd.h>

const json_t *written_get(const json_t *map, const char *key)
{
    const json_t *value = json_object_get(map, key);
    if (value == NULL)
        fail_msg("no %s", key);
    return value;
}

json_int_t written_integer(const json_t *map, const char *key)
{
    const json_t *value = written_get(map, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

const char *written_string(const json_t *map, const char *key)
{
    const json_t *value = written_get(map, key);
    assert_true(json_is_string(value));
    return json_string_value(value);
}

/* ---- what must be true ---- */

static void check_frames(const json_t *frames)
{
    size_t i = 0;
    const json_t *frame = NULL;
    assert_true(json_is_array(frames));
    json_array_foreach(frames, i, frame)
    {
        assert_int_equal(json_object_size(frame), 3);
        assert_true(written_string(frame, "filename")[0] != '\0');
        assert_true(written_string(frame, "name")[0] != '\0');
        assert_true(written_integer(frame, "line") >= 0);
    }
}

static void check_pair(const json_t *pair)
{
    assert_int_equal(json_array_size(pair), 2);
    assert_true(json_is_integer(json_array_get(pair, 0)));
    assert_true(json_is_integer(json_array_get(pair, 1)));
}

static void check_segment(const json_t *segment)
{
    json_int_t at = written_integer(segment, "address");
    json_int_t allocated = 0, active = 0, requested = 0;
    size_t i = 0;
    const json_t *block = NULL;
    const char *type = written_string(segment, "segment_type");
    assert_int_equal(json_object_size(segment), 12);
    assert_true(strcmp(type, "small") == 0 || strcmp(type, "large") == 0);
    assert_true(json_is_boolean(written_get(segment, "is_expandable")));
    assert_true(written_integer(segment, "stream") >= 0);
    check_pair(written_get(segment, "segment_pool_id"));
    check_frames(written_get(segment, "frames"));
    json_array_foreach(written_get(segment, "blocks"), i, block)
    {
        const json_int_t size = written_integer(block, "size");
        const json_int_t asked = written_integer(block, "requested_size");
        const char *state = written_string(block, "state");
        const bool is_live = strcmp(state, "active_allocated") == 0;
        const bool is_active = is_live || strcmp(state, "active_pending_free") == 0;
        assert_true(is_active || strcmp(state, "inactive") == 0);
        assert_int_equal(json_object_size(block), 5);
        assert_int_equal(written_integer(block, "address"), at);
        assert_true(size > 0 && asked >= 0 && asked <= size);
        check_frames(written_get(block, "frames"));
        at += size;
        allocated += is_live ? size : 0;
        active += is_active ? size : 0;
        requested += is_active ? asked : 0;
    }
    assert_int_equal(at - written_integer(segment, "address"),
                     written_integer(segment, "total_size"));
    assert_int_equal(written_integer(segment, "allocated_size"), allocated);
    assert_int_equal(written_integer(segment, "active_size"), active);
    assert_int_equal(written_integer(segment, "requested_size"), requested);
}

static void check_segments(const json_t *segments, size_t devices)
{
    json_int_t device = 0, end = 0;
    size_t i = 0;
    const json_t *segment = NULL;
    assert_true(json_is_array(segments));
    json_array_foreach(segments, i, segment)
    {
        const json_int_t on = written_integer(segment, "device");
        assert_true(on >= device && (size_t)on < devices);
        assert_true(on > device || written_integer(segment, "address") >= end);
        check_segment(segment);
        device = on;
        end = written_integer(segment, "address") + written_integer(segment, "total_size");
    }
}

static void check_events(const json_t *events)
{
    json_int_t time = 0;
    size_t i = 0;
    const json_t *event = NULL;
    assert_true(json_is_array(events));
    json_array_foreach(events, i, event)
    {
        const bool is_oom = strcmp(written_string(event, "action"), "oom") == 0;
        assert_true(written_integer(event, is_oom ? "device_free" : "addr") >= 0);
        assert_true(written_integer(event, "size") >= 0);
        assert_true(written_integer(event, "stream") >= 0);
        assert_true(written_integer(event, "time_us") >= time);
        check_pair(written_get(event, "pool_id"));
        assert_string_equal(written_string(event, "compile_context"), "N/A");
        written_string(event, "user_metadata");
        if (json_object_get(event, "frames") != NULL)
            check_frames(json_object_get(event, "frames"));
        time = written_integer(event, "time_us");
    }
}

static void check_settings(const json_t *settings)
{
    written_string(settings, "PYTORCH_CUDA_ALLOC_CONF");
    assert_true(written_integer(settings, "max_split_size") != 0);
    assert_true(json_is_real(written_get(settings, "garbage_collection_threshold")));
    assert_true(json_is_boolean(written_get(settings, "expandable_segments")));
    assert_int_equal(json_object_size(written_get(settings, "roundup_power2_divisions")), 16);
}

void written_check(const json_t *snapshot)
{
    const json_t *ours = written_get(snapshot, "accel");
    const size_t devices = json_array_size(written_get(ours, "devices"));
    assert_int_equal(json_object_size(snapshot), 5);
    assert_int_equal(json_array_size(written_get(ours, "events")), devices);
    assert_int_equal(json_array_size(written_get(ours, "events_lost")), devices);
    assert_true(json_is_boolean(written_get(ours, "overflow")));
    check_segments(written_get(snapshot, "segments"), devices);
    assert_int_equal(json_array_size(written_get(snapshot, "device_traces")), devices);
    for (size_t i = 0; i < devices; i++)
        check_events(json_array_get(written_get(snapshot, "device_traces"), i));
    check_settings(written_get(snapshot, "allocator_settings"));
    assert_true(json_is_array(written_get(snapshot, "external_annotations")));
}

/* ---- looking ---- */

json_t *written_now(const accel_memory_snapshot_options *options)
{
    char path[] = "/tmp/accel-snapshot-XXXXXX.json";
    const int descriptor = mkstemps(path, 5);
    accel_memory_snapshot *snapshot = NULL;
    json_error_t error = {0};
    assert_true(descriptor >= 0);
    close(descriptor);
    OK(accel_memory_snapshot_create(options, &snapshot));
    OK(accel_memory_snapshot_write(snapshot, path, ACCEL_MEMORY_SNAPSHOT_FORMAT_BY_NAME));
    accel_memory_snapshot_release(snapshot);
    json_t *read = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    unlink(path);
    if (read == NULL)
        fail_msg("%d:%d: %s", error.line, error.column, error.text);
    written_check(read);
    return read;
}

int written_device(const json_t *snapshot, const char *name)
{
    size_t i = 0;
    const json_t *device = NULL;
    json_array_foreach(written_get(written_get(snapshot, "accel"), "devices"), i,
                       device) if (strcmp(json_string_value(device), name) == 0) return (int)i;
    return -1;
}

const json_t *written_block(const json_t *snapshot, int device, const void *pointer)
{
    size_t i = 0, k = 0;
    const json_t *segment = NULL, *block = NULL;
    json_array_foreach(written_get(snapshot, "segments"), i, segment)
    {
        if (written_integer(segment, "device") != device)
            continue;
        json_array_foreach(written_get(segment, "blocks"), k,
                           block) if (written_integer(block, "address") ==
                                      (json_int_t)(uintptr_t)pointer) return block;
    }
    return NULL;
}

const json_t *written_events(const json_t *snapshot, int device)
{
    return json_array_get(written_get(snapshot, "device_traces"), (size_t)device);
}

static char letter_of(const char *action)
{
    static const struct {
        const char *action;
        char letter;
    } letters[] = {{"alloc", 'a'},          {"free_requested", 'r'},
                   {"free_completed", 'c'}, {"segment_alloc", 'S'},
                   {"segment_free", 'F'},   {"segment_map", 'M'},
                   {"segment_unmap", 'U'},  {"oom", 'o'},
                   {"snapshot", 's'}};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (strcmp(action, letters[i].action) == 0)
            return letters[i].letter;
    fail_msg("unknown action %s", action);
    return '?';
}

void written_letters(const json_t *snapshot, int device, char *letters, size_t capacity)
{
    size_t i = 0;
    const json_t *event = NULL;
    json_array_foreach(written_events(snapshot, device), i, event) if (i + 1 < capacity)
        letters[i] = letter_of(written_string(event, "action"));
    letters[i < capacity ? i : capacity - 1] = '\0';
}

bool written_is_named(const char *name, const char *function)
{
    const size_t size = strlen(function);
    return strncmp(name, function, size) == 0 && (name[size] == '\0' || name[size] == '.');
}

bool written_has_frame(const json_t *frames, const char *function)
{
    size_t i = 0;
    const json_t *frame = NULL;
    json_array_foreach(frames, i,
                       frame) if (strcmp(written_string(frame, "name"), function) == 0) return true;
    return false;
}
