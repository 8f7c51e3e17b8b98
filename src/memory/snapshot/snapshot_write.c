/* snapshot_write.c: a snapshot as a document in the structure of PyTorch's. All names are found
 * before the file is begun. */
#include <string.h>

#include "base/error.h"
#include "core/device.h"
#include "memory/history/stack.h"
#include "memory/history/stack_set.h"
#include "memory/snapshot/document.h"
#include "memory/snapshot/snapshot.h"

enum { STRUCTURE_VERSION = 1 };

typedef struct writer {
    accel__document document;
    const accel_memory_snapshot *snapshot;
    accel__stack_set stacks;
} writer;

/* ---- short forms ---- */

static void put_size(writer *to, const char *key, uint64_t value)
{
    accel__document_word(&to->document, key);
    accel__document_integer(&to->document, (int64_t)value);
}

static void put_word(writer *to, const char *key, const char *value)
{
    accel__document_word(&to->document, key);
    accel__document_word(&to->document, value);
}

static void put_boolean(writer *to, const char *key, bool value)
{
    accel__document_word(&to->document, key);
    accel__document_boolean(&to->document, value);
}

static void put_pair(writer *to, const char *key, const uint64_t values[2])
{
    accel__document_word(&to->document, key);
    accel__document_pair(&to->document, values);
}

static void begin_list(writer *to, const char *key)
{
    accel__document_word(&to->document, key);
    accel__document_begin_list(&to->document);
}

static void begin_map(writer *to, const char *key)
{
    accel__document_word(&to->document, key);
    accel__document_begin_map(&to->document);
}

static void end_list(writer *to)
{
    accel__document_end_list(&to->document);
}

static void end_map(writer *to)
{
    accel__document_end_map(&to->document);
}

/* ---- frames: a slot for each frame, and behind those one for each stack ---- */

static void write_frame(writer *to, size_t place)
{
    const accel__symbol *symbol = &to->stacks.symbols.items[place];
    if (accel__document_recall(&to->document, place))
        return;
    accel__document_begin_map(&to->document);
    accel__document_word(&to->document, "filename");
    accel__document_string(&to->document, symbol->file);
    put_size(to, "line", 0);
    accel__document_word(&to->document, "name");
    accel__document_string(&to->document, symbol->function);
    end_map(to);
    accel__document_fill_end(&to->document, place);
}

static void write_frames(writer *to, uint32_t number)
{
    const uintptr_t *frames = NULL;
    const size_t count = accel__stack_frames(number, &frames);
    accel__document_word(&to->document, "frames");
    if (number == 0) {
        accel__document_begin_list(&to->document);
        end_list(to);
        return;
    }
    const size_t slot = to->stacks.symbols.count + accel__stack_set_place(&to->stacks, number);
    if (accel__document_recall(&to->document, slot))
        return;
    accel__document_begin_list(&to->document);
    for (size_t i = 0; i < count; i++)
        write_frame(to, accel__symbols_place(&to->stacks.symbols, frames[i]));
    end_list(to);
    accel__document_fill_end(&to->document, slot);
}

/* ---- segments ---- */

static void write_block(writer *to, uint64_t address, const accel__snapshot_block *block)
{
    const uint32_t code = accel__snapshot_state(block);
    const char *state = code == ACCEL__RANGE_LIVE      ? "active_allocated"
                        : code == ACCEL__RANGE_PENDING ? "active_pending_free"
                                                       : "inactive";
    accel__document_begin_map(&to->document);
    put_size(to, "address", address);
    put_size(to, "size", accel__snapshot_size(block));
    put_size(to, "requested_size", block->requested);
    put_word(to, "state", state);
    write_frames(to, block->stack);
    end_map(to);
}

static void write_segment(writer *to, size_t ordinal, const accel__snapshot_segment *segment)
{
    uint64_t address = segment->address;
    accel__document_begin_map(&to->document);
    put_size(to, "device", ordinal);
    put_size(to, "address", segment->address);
    put_size(to, "total_size", segment->size);
    put_size(to, "allocated_size", segment->allocated);
    put_size(to, "active_size", segment->active);
    put_size(to, "requested_size", segment->requested);
    put_size(to, "stream", segment->stream);
    put_word(to, "segment_type", segment->is_small ? "small" : "large");
    put_pair(to, "segment_pool_id", segment->pool);
    put_boolean(to, "is_expandable", segment->is_growable);
    write_frames(to, segment->stack);
    begin_list(to, "blocks");
    for (size_t i = 0; i < segment->block_count; i++) {
        const accel__snapshot_block *block = &to->snapshot->blocks[segment->first_block + i];
        write_block(to, address, block);
        address += accel__snapshot_size(block);
    }
    end_list(to);
    end_map(to);
}

static void write_segments(writer *to)
{
    begin_list(to, "segments");
    for (size_t i = 0; i < to->snapshot->device_count; i++) {
        const accel__snapshot_device *device = &to->snapshot->devices[i];
        for (size_t k = 0; k < device->segment_count; k++)
            write_segment(to, i, &to->snapshot->segments[device->first_segment + k]);
    }
    end_list(to);
}

/* ---- events ---- */

static const char *const action_names[ACCEL__HISTORY_ACTIONS] = {
    [ACCEL__HISTORY_ALLOC] = "alloc",
    [ACCEL__HISTORY_FREE_REQUESTED] = "free_requested",
    [ACCEL__HISTORY_FREE_COMPLETED] = "free_completed",
    [ACCEL__HISTORY_SEGMENT_ALLOC] = "segment_alloc",
    [ACCEL__HISTORY_SEGMENT_FREE] = "segment_free",
    [ACCEL__HISTORY_SEGMENT_MAP] = "segment_map",
    [ACCEL__HISTORY_SEGMENT_UNMAP] = "segment_unmap",
    [ACCEL__HISTORY_OOM] = "oom",
    [ACCEL__HISTORY_SNAPSHOT] = "snapshot",
};

static void write_entry(writer *to, const accel__history_entry *entry)
{
    accel__document_begin_map(&to->document);
    put_word(to, "action", action_names[entry->action]);
    put_size(to, entry->action == ACCEL__HISTORY_OOM ? "device_free" : "addr", entry->address);
    put_size(to, "size", entry->size);
    put_size(to, "stream", entry->stream);
    put_size(to, "time_us", entry->time / 1000);
    put_pair(to, "pool_id", entry->pool);
    put_word(to, "compile_context", "N/A");
    put_word(to, "user_metadata", "");
    if (entry->stack != 0)
        write_frames(to, entry->stack);
    end_map(to);
}

static void write_traces(writer *to)
{
    begin_list(to, "device_traces");
    for (size_t i = 0; i < to->snapshot->device_count; i++) {
        const accel__history_trace *trace = &to->snapshot->devices[i].trace;
        accel__document_begin_list(&to->document);
        for (size_t k = 0; k < trace->count; k++)
            write_entry(to, &trace->entries[k]);
        end_list(to);
    }
    end_list(to);
}

/* ---- what else there is ---- */

static void write_roundup(writer *to, const accel__config *config)
{
    static const char *const sizes[ACCEL__CONFIG_INTERVALS] = {
        "1",   "2",   "4",    "8",    "16",   "32",   "64",    "128",
        "256", "512", "1024", "2048", "4096", "8192", "16384", "32768"};
    begin_map(to, "roundup_power2_divisions");
    for (int i = 0; i < ACCEL__CONFIG_INTERVALS; i++) {
        const uint8_t log2 = config->roundup_log2[i];
        put_size(to, sizes[i], log2 != 0 ? UINT64_C(1) << log2 : 0);
    }
    end_map(to);
}

/* PyTorch's keys. Those that name what accel does not have say so; its lock is never held while a
 * driver allocates. */
static void write_settings(writer *to)
{
    const accel__config *config = to->snapshot->config;
    const bool is_limited = config->max_split_size != SIZE_MAX;
    begin_map(to, "allocator_settings");
    accel__document_word(&to->document, "PYTORCH_CUDA_ALLOC_CONF");
    accel__document_string(&to->document, config->text != NULL ? config->text : "");
    accel__document_word(&to->document, "max_split_size");
    accel__document_integer(&to->document, is_limited ? (int64_t)config->max_split_size : -1);
    accel__document_word(&to->document, "garbage_collection_threshold");
    accel__document_number(&to->document, config->garbage_collection_threshold);
    put_boolean(to, "expandable_segments", config->expandable_segments);
    put_size(to, "pinned_num_register_threads", 1);
    put_boolean(to, "release_lock_on_cudamalloc", true);
    put_boolean(to, "pinned_use_cuda_host_register", false);
    write_roundup(to, config);
    put_boolean(to, "graph_capture_record_stream_reuse", false);
    end_map(to);
}

/* Ours: what the structure has no place for. */
static void write_accel(writer *to)
{
    const accel_memory_snapshot *snapshot = to->snapshot;
    begin_map(to, "accel");
    put_size(to, "version", STRUCTURE_VERSION);
    begin_list(to, "devices");
    for (size_t i = 0; i < snapshot->device_count; i++) {
        accel__text name = {0};
        accel__text_format(&name, "%s:%d", snapshot->devices[i].backend->table.name,
                           (int)snapshot->devices[i].index);
        accel__document_string(&to->document, accel__text_string(&name));
        accel__text_release(&name);
    }
    end_list(to);
    begin_list(to, "events");
    for (size_t i = 0; i < snapshot->device_count; i++)
        accel__document_integer(&to->document, (int64_t)snapshot->devices[i].trace.total);
    end_list(to);
    begin_list(to, "events_lost");
    bool overflow = false;
    for (size_t i = 0; i < snapshot->device_count; i++) {
        overflow |= snapshot->devices[i].trace.lost != 0;
        accel__document_integer(&to->document, (int64_t)snapshot->devices[i].trace.lost);
    }
    end_list(to);
    put_boolean(to, "overflow", overflow);
    end_map(to);
}

static void write_all(writer *to)
{
    accel__document_begin_map(&to->document);
    write_segments(to);
    write_traces(to);
    write_settings(to);
    begin_list(to, "external_annotations");
    end_list(to);
    write_accel(to);
    end_map(to);
}

/* ---- from the outside ---- */

static bool collect_stacks(accel__stack_set *stacks, const accel_memory_snapshot *snapshot)
{
    bool whole = true;
    for (size_t i = 0; whole && i < snapshot->segment_count; i++)
        whole = accel__stack_set_add(stacks, snapshot->segments[i].stack);
    for (size_t i = 0; whole && i < snapshot->block_count; i++)
        whole = accel__stack_set_add(stacks, snapshot->blocks[i].stack);
    for (size_t i = 0; whole && i < snapshot->device_count; i++) {
        const accel__history_trace *trace = &snapshot->devices[i].trace;
        for (size_t k = 0; whole && k < trace->count; k++)
            whole = accel__stack_set_add(stacks, trace->entries[k].stack);
    }
    return whole && accel__stack_set_name(stacks);
}

static bool is_json(const char *path, accel_memory_snapshot_format format)
{
    static const char ending[] = ".json";
    const size_t size = strlen(path);
    if (format != ACCEL_MEMORY_SNAPSHOT_FORMAT_BY_NAME)
        return format == ACCEL_MEMORY_SNAPSHOT_FORMAT_JSON;
    return size >= sizeof ending - 1 && strcmp(path + size - (sizeof ending - 1), ending) == 0;
}

static accel_status write_document(writer *to, accel__document_format format, const char *path)
{
    static const char function[] = "accel_memory_snapshot_write";
    accel__new_file *file = NULL;
    const accel_status status = accel__new_file_create(path, function, &file);
    if (status != ACCEL_OK)
        return status;
    const size_t slots = to->stacks.symbols.count + to->stacks.count;
    bool whole = accel__document_open(&to->document, format, file, slots);
    if (whole) {
        write_all(to);
        whole = accel__document_close(&to->document);
    }
    if (whole)
        return accel__new_file_commit(file);
    accel__new_file_abandon(file);
    return accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, NULL, function, "no host memory to write %s",
                       path);
}

accel_status accel_memory_snapshot_write(const accel_memory_snapshot *snapshot, const char *path,
                                         accel_memory_snapshot_format format)
{
    if (snapshot == NULL)
        return accel__fail_null(__func__, "snapshot");
    if (path == NULL)
        return accel__fail_null(__func__, "path");
    if ((unsigned)format > ACCEL_MEMORY_SNAPSHOT_FORMAT_JSON)
        return accel__fail(ACCEL_ERROR_INVALID_ARGUMENT, NULL, __func__, "%d is no format",
                           (int)format);
    writer to = {.snapshot = snapshot};
    accel_status status = ACCEL_OK;
    if (!collect_stacks(&to.stacks, snapshot))
        status = accel__fail(ACCEL_ERROR_OUT_OF_HOST_MEMORY, NULL, __func__,
                             "no host memory to write %s", path);
    if (status == ACCEL_OK)
        status = write_document(
            &to, is_json(path, format) ? ACCEL__DOCUMENT_JSON : ACCEL__DOCUMENT_PICKLE, path);
    accel__stack_set_release(&to.stacks);
    return status;
}
