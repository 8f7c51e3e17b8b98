/* memory.c: scenarios of allocations, pools, pinned and wrapped memory, statistics, the allocators'
 * settings, and the history. */
#include "scenario.h"

#include <stdlib.h>

enum { MIB = 1024 * 1024 };

/* ---- allocations ---- */

static accel_status sizes(world *w)
{
    static const size_t wanted[] = {1, 600, 5000, 300000, 3 * MIB, 24 * MIB, 100};
    enum { COUNT = sizeof wanted / sizeof wanted[0] };
    accel_stream *stream = NULL;
    void *memory[COUNT] = {NULL};
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    for (int i = 0; i < COUNT; i++)
        MAKES(accel_memory_alloc(stream, wanted[i], NULL, &memory[i]), memory[i]);
    for (int i = 0; i < COUNT; i++)
        FREES(memory[i]);
    return end_stream(w, stream, status);
}

static accel_status aligned_and_alone(world *w)
{
    const accel_memory_options aligned = {.struct_size = sizeof aligned, .alignment = 1 << 16};
    const accel_memory_options alone = {.struct_size = sizeof alone, .dedicated = true};
    accel_pointer_information about = {.struct_size = sizeof about};
    accel_stream *stream = NULL;
    void *memory = NULL;
    void *second = NULL;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_alloc(stream, 5000, &aligned, &memory), memory);
    MAKES(accel_memory_alloc(stream, 5000, &alone, &second), second);
    RIGHT((uintptr_t)memory % (1 << 16) == 0);
    THEN(accel_pointer_info((char *)memory + 17, &about));
    RIGHT(about.base == memory && about.size == 5000 && about.offset == 17);
    FREES(memory);
    FREES(second);
    return end_stream(w, stream, status);
}

/* Freed while another stream uses it, and used again behind that. */
static accel_status used_elsewhere(world *w)
{
    accel_stream *stream = NULL;
    accel_stream *side = NULL;
    void *memory[4] = {NULL};
    const uint32_t seven = 7;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_stream_create(w->device, NULL, &side), side);
    for (int i = 0; i < 4; i++) {
        MAKES(accel_memory_alloc(stream, BYTES, NULL, &memory[i]), memory[i]);
        THEN(accel_stream_wait_stream(side, stream));
        THEN(accel_fill(memory[i], &seven, 4, BYTES, side));
        THEN(accel_record_stream(memory[i], side));
    }
    for (int i = 0; i < 4; i++)
        FREES(memory[i]);
    void *again = NULL;
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &again), again);
    FREES(again);
    status = end_stream(w, side, status);
    return end_stream(w, stream, status);
}

static accel_status emptied(world *w)
{
    accel_stream *stream = NULL;
    void *memory = NULL;
    void *large = NULL;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &memory), memory);
    MAKES(accel_memory_alloc(stream, 12 * MIB, NULL, &large), large);
    FREES(large);
    THEN(accel_empty_cache());
    MAKES(accel_memory_alloc(stream, 12 * MIB, NULL, &large), large);
    FREES(large);
    FREES(memory);
    return end_stream(w, stream, status);
}

/* More than there is: the report, the observers, and all that is tried before. */
static void observe(const accel_out_of_memory_report *report, void *user)
{
    (void)report;
    *(int *)user += 1;
}

static bool relieve(accel_device device, size_t size, void *user)
{
    (void)device, (void)size;
    *(int *)user += 1;
    return false;
}

static accel_status out_of_memory(world *w)
{
    static int observed;
    static int pressed;
    accel_stream *stream = NULL;
    void *memory = NULL;
    bool limited = false;
    accel_status status = ACCEL_OK;
    observed = pressed = 0;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    THEN(accel_allocator_add_out_of_memory_observer(observe, &observed));
    THEN(accel_allocator_add_memory_pressure_hook(relieve, &pressed));
    THEN(accel_allocator_set_memory_limit(w->device, 32 * MIB));
    limited = status == ACCEL_OK;
    if (limited) {
        MUST(accel_memory_alloc(stream, 64 * MIB, NULL, &memory) != ACCEL_OK && memory == NULL);
        THEN(accel_memory_alloc(stream, BYTES, NULL, &memory));
        FREES(memory);
    }
    accel_allocator_set_memory_limit(w->device, 0);
    accel_allocator_remove_out_of_memory_observer(observe, &observed);
    accel_allocator_remove_memory_pressure_hook(relieve, &pressed);
    return end_stream(w, stream, status);
}

/* ---- pinned ---- */

static accel_status pinned(world *w)
{
    static const size_t wanted[] = {100, 5000, 300000, 2 * MIB};
    enum { COUNT = sizeof wanted / sizeof wanted[0] };
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = ACCEL_MEMORY_KIND_PINNED};
    accel_stream *stream = NULL;
    void *memory = NULL;
    void *host[COUNT] = {NULL};
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &memory), memory);
    for (int i = 0; i < COUNT; i++)
        MAKES(accel_memory_alloc(stream, wanted[i], &options, &host[i]), host[i]);
    if (status == ACCEL_OK)
        memset(host[2], 3, BYTES);
    THEN(accel_copy(memory, host[2], BYTES, stream));
    THEN(accel_copy(host[3], memory, BYTES, stream));
    THEN(accel_stream_synchronize(stream));
    RIGHT(((unsigned char *)host[3])[BYTES - 1] == 3);
    for (int i = 0; i < COUNT; i++)
        FREES(host[i]);
    FREES(memory);
    THEN(accel_empty_host_cache());
    return end_stream(w, stream, status);
}

static accel_status pinned_elsewhere(world *w)
{
    const accel_memory_options options = {.struct_size = sizeof options,
                                          .kind = ACCEL_MEMORY_KIND_PINNED};
    accel_stream *stream = NULL;
    accel_stream *side = NULL;
    void *memory = NULL;
    void *host = NULL;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_stream_create(w->device, NULL, &side), side);
    MAKES(accel_memory_alloc(side, BYTES, NULL, &memory), memory);
    MAKES(accel_memory_alloc(stream, BYTES, &options, &host), host);
    THEN(accel_record_stream(host, side));
    THEN(accel_copy(host, memory, BYTES, side));
    FREES(host);
    FREES(memory);
    status = end_stream(w, side, status);
    return end_stream(w, stream, status);
}

/* ---- pools ---- */

static accel_status pools(world *w)
{
    accel_memory_pool *pool = NULL;
    accel_memory_pool_scope scope = {NULL, NULL};
    accel_stream *stream = NULL;
    void *memory[3] = {NULL};
    size_t trimmed = 0;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_pool_create(w->device, NULL, &pool), pool);
    const accel_memory_options options = {.struct_size = sizeof options, .pool = pool};
    MAKES(accel_memory_alloc(stream, BYTES, &options, &memory[0]), memory[0]);
    THEN(accel_memory_pool_scope_begin(pool, &scope));
    MAKES(accel_memory_alloc(stream, BYTES, NULL, &memory[1]), memory[1]);
    MAKES(accel_memory_alloc(stream, 3 * MIB, NULL, &memory[2]), memory[2]);
    accel_memory_pool_scope_end(&scope);
    THEN(launch_add(w, stream, memory[1], 1));
    for (int i = 0; i < 3; i++)
        FREES(memory[i]);
    THEN(accel_stream_synchronize(stream));
    THEN(accel_memory_pool_trim(pool, &trimmed));
    RIGHT(!w->is_clean || trimmed >= 3 * MIB); /* else of what is known to have passed */
    MUST(accel_memory_pool_release(pool) == ACCEL_OK);
    return end_stream(w, stream, status);
}

/* A program's own allocator: in memory of the device, whatever backend. */
static int taken;

static accel_status take(void *user, accel_device device, size_t size, size_t alignment,
                         void **out_pointer)
{
    (void)device, (void)size, (void)alignment;
    *out_pointer = user;
    taken++;
    return ACCEL_OK;
}

static void take_back(void *user, accel_device device, void *pointer, size_t size)
{
    (void)user, (void)device, (void)pointer, (void)size;
    taken--;
}

static _Alignas(4096) unsigned char own_memory[8 * MIB];

static accel_status source(world *w)
{
    const accel_memory_pool_options own = {
        .struct_size = sizeof own,
        .source = {.alloc = take, .free = take_back, .user = own_memory}};
    accel_memory_pool *pool = NULL;
    accel_stream *stream = NULL;
    void *memory = NULL;
    accel_status status = ACCEL_OK;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    MAKES(accel_memory_pool_create(w->device, &own, &pool), pool);
    const accel_memory_options options = {.struct_size = sizeof options, .pool = pool};
    MAKES(accel_memory_alloc(stream, BYTES, &options, &memory), memory);
    THEN(launch_add(w, stream, memory, 1));
    FREES(memory);
    ALWAYS(stream != NULL ? accel_stream_synchronize(stream) : ACCEL_OK);
    MUST(accel_memory_pool_release(pool) == ACCEL_OK);
    return end_stream(w, stream, status);
}

static void all_was_taken_back(world *w)
{
    MUST(taken == 0);
}

static _Atomic(int) wrapped;

static void unwrap(void *pointer, size_t size, void *user)
{
    (void)pointer, (void)size, (void)user;
    wrapped--;
}

static accel_status wrap(world *w)
{
    static _Alignas(4096) uint32_t memory[WORDS];
    const accel_memory_wrap_options options = {.struct_size = sizeof options, .release = unwrap};
    accel_stream *stream = NULL;
    accel_status status = ACCEL_OK;
    const uint32_t seven = 7;
    MAKES(accel_stream_create(w->device, NULL, &stream), stream);
    THEN(accel_memory_wrap(w->device, memory, sizeof memory, &options));
    const bool is_wrapped = status == ACCEL_OK;
    wrapped += is_wrapped;
    THEN(accel_fill(memory, &seven, 4, sizeof memory, stream));
    THEN(accel_record_stream(memory, stream));
    THEN(accel_stream_synchronize(stream));
    RIGHT(words_are(memory, WORDS, 7));
    if (is_wrapped)
        FREES(memory);
    return end_stream(w, stream, status);
}

static void all_was_unwrapped(world *w)
{
    MUST(accel_synchronize(w->device) == ACCEL_OK);
    MUST(wrapped == 0);
    wrapped = 0;
}

/* ---- figures and settings ---- */

static bool count_key(const char *key, int64_t value, void *user)
{
    (void)key, (void)value;
    *(int *)user += 1;
    return true;
}

static accel_status figures(world *w)
{
    accel_memory_statistics memory = {.struct_size = sizeof memory};
    accel_host_memory_statistics host = {.struct_size = sizeof host};
    int keys = 0;
    int64_t value = -1;
    void *one = NULL;
    size_t size = 0;
    accel_status status = ACCEL_OK;
    MAKES(accel_memory_alloc(NULL, BYTES, NULL, &one), one);
    THEN(accel_memory_stats(w->device, &memory));
    RIGHT(memory.allocation[0].current == 1 && memory.requested_bytes[0].current == BYTES);
    THEN(accel_memory_stats_visit(w->device, count_key, &keys));
    RIGHT(keys > 100);
    THEN(accel_memory_stats_get(w->device, "allocated_bytes.all.current", &value));
    RIGHT(value >= BYTES);
    THEN(accel_host_memory_stats(w->device, &host));
    THEN(accel_host_memory_stats_visit(w->device, count_key, &keys));
    THEN(accel_memory_reserved(w->device, &size));
    THEN(accel_reset_peak_memory_stats(w->device));
    THEN(accel_reset_accumulated_memory_stats(w->device));
    FREES(one);
    return status;
}

static accel_status settings(world *w)
{
    char text[200] = "";
    accel_status status = ACCEL_OK;
    THEN(accel_allocator_check_config("max_split_size_mb:64,roundup_power2_divisions:[256:1,>:4]"));
    THEN(accel_allocator_set_config("max_split_size_mb:64,roundup_power2_divisions:4"));
    THEN(accel_allocator_get_config(text, sizeof text, NULL));
    RIGHT(strcmp(text, "max_split_size_mb:64,roundup_power2_divisions:4") == 0);
    THEN(accel_allocator_set_config(""));
    return status;
}

static void default_settings(world *w)
{
    MUST(accel_allocator_set_config("") == ACCEL_OK);
}

/* ---- the history ---- */

static bool count_leak(const accel_memory_leak *leak, void *user)
{
    *(size_t *)user += leak->count;
    return true;
}

static accel_status history(world *w)
{
    static char path[400];
    accel_memory_snapshot *snapshot = NULL;
    void *memory[8] = {NULL};
    size_t leaks = 0;
    accel_status status = ACCEL_OK;
    THEN(accel_memory_record_history(NULL));
    for (int i = 0; i < 8; i++)
        MAKES(accel_memory_alloc(NULL, 1000 * (size_t)(i + 1), NULL, &memory[i]), memory[i]);
    MAKES(accel_memory_snapshot_create(NULL, &snapshot), snapshot);
    snprintf(path, sizeof path, "%s/snapshot", w->folder);
    THEN(accel_memory_snapshot_write(snapshot, path, ACCEL_MEMORY_SNAPSHOT_FORMAT_PICKLE));
    THEN(accel_memory_snapshot_write(snapshot, path, ACCEL_MEMORY_SNAPSHOT_FORMAT_JSON));
    THEN(accel_memory_leaks_visit(count_leak, &leaks));
    RIGHT(leaks == 8);
    accel_memory_snapshot_release(snapshot);
    for (int i = 0; i < 8; i++)
        FREES(memory[i]);
    accel_memory_clear_history();
    return status;
}

static void end_history(world *w)
{
    static const accel_memory_history_options off = {.struct_size = sizeof off,
                                                     .mode = ACCEL_MEMORY_HISTORY_MODE_OFF};
    char path[400];
    MUST(accel_memory_record_history(&off) == ACCEL_OK);
    snprintf(path, sizeof path, "%s/snapshot", w->folder);
    remove(path);
}

const scenario memory_scenarios[] = {
    {.name = "memory/sizes", .run = sizes},
    {.name = "memory/aligned-and-alone", .run = aligned_and_alone},
    {.name = "memory/used-elsewhere", .run = used_elsewhere},
    {.name = "memory/emptied", .run = emptied},
    {.name = "memory/out-of-memory", .run = out_of_memory},
    {.name = "memory/pinned", .run = pinned},
    {.name = "memory/pinned-elsewhere", .run = pinned_elsewhere},
    {.name = "memory/pools", .run = pools},
    {.name = "memory/source", .run = source, .check = all_was_taken_back, .cpu_only = true},
    {.name = "memory/wrap", .run = wrap, .check = all_was_unwrapped, .cpu_only = true},
    {.name = "memory/figures", .run = figures},
    {.name = "memory/settings", .run = settings, .check = default_settings},
    {.name = "memory/history", .run = history, .check = end_history},
    {.name = NULL},
};
