/* allocators.c: steps over pools, settings, limits, hooks, statistics, histories and snapshots; and the account
 * of what is live. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

/* ---- pools ---- */

static accel_status source_alloc(void *user, accel_device device, size_t size, size_t alignment,
                                 void **out_pointer)
{
    (void)user;
    (void)device;
    *out_pointer = NULL;
    if (size < (size_t)64 << 20 && posix_memalign(out_pointer, alignment, size) != 0)
        *out_pointer = NULL;
    return ACCEL_OK;
}

static void source_free(void *user, accel_device device, void *pointer, size_t size)
{
    (void)user;
    (void)device;
    (void)size;
    free(pointer);
}

static void source_release(void *user)
{
    atomic_fetch_add(&world.wraps_released, 1);
    (void)user;
}

static void make_pool(fuzz_thread *thread)
{
    const fuzz_device_state *device = fuzz_good_device(thread);
    accel_memory_pool *pool = NULL;
    accel_memory_pool_options options = {.struct_size = sizeof options,
                                         .no_split = draw_chance(&thread->draw, 20),
                                         .use_on_oom = draw_chance(&thread->draw, 30)};
    const uint32_t sort = draw_below(&thread->draw, 10);
    if (sort < 3 && device->is_cpu)
        options.source = (accel_memory_source){source_alloc, source_free, source_release, NULL};
    else if (sort == 3)
        options.source.alloc = source_alloc; /* and nothing that frees */
    atomic_fetch_add(&world.wraps_added, options.source.release != NULL);
    atomic_fetch_add(&world.pools_made, 1);
    if (MAKE(thread, accel_memory_pool_create, &pool,
             options.source.alloc != NULL ? device->device : fuzz_device(thread),
             draw_chance(&thread->draw, 30) && options.source.alloc == NULL ? NULL : &options) ==
        ACCEL_OK)
        fuzz_put(thread, draw_chance(&thread->draw, 80) ? FUZZ_POOL : FUZZ_GRAPH_POOL, pool);
    else
        atomic_fetch_sub(&world.wraps_added, options.source.release != NULL);
}

static void ask_pool(fuzz_thread *thread)
{
    accel_memory_pool *pool = fuzz_take(thread, draw_chance(&thread->draw, 70) ? FUZZ_POOL
                                                                               : FUZZ_GRAPH_POOL);
    accel_device device = {77, 77};
    accel_memory_pool_id id = {77, 77};
    uint32_t count = 77;
    size_t size = 77;
    if (CALL(thread, accel_memory_pool_get_device, pool, &device) != ACCEL_OK)
        REQUIRE(thread, device.backend == ACCEL_BACKEND_NONE, "a device is left after a failure");
    if (CALL(thread, accel_memory_pool_get_id, pool, &id) != ACCEL_OK)
        REQUIRE(thread, id.first == 0 && id.second == 0, "a name is left after a failure");
    if (CALL(thread, accel_memory_pool_get_use_count, pool, &count) == ACCEL_OK)
        REQUIRE(thread, count > 0, "a live pool is used by nobody");
    if (draw_chance(&thread->draw, 50) &&
        CALL(thread, accel_memory_pool_trim, pool, &size) != ACCEL_OK)
        REQUIRE(thread, size == 0, "a size is left after a failure");
    if (pool == NULL) {
        accel_memory_pool_scope scope;
        CALL(thread, accel_memory_pool_scope_begin, NULL, &scope);
        ASK(thread, accel_memory_pool_scope_end, &scope);
        CALL(thread, accel_memory_pool_retain, NULL);
    }
    fuzz_drop(thread, FUZZ_POOL, pool);
}

/* A released pool is found, as long as not too many others have gone. */
static void use_released_pool(fuzz_thread *thread)
{
    accel_memory_pool *pool = NULL;
    accel_memory_pool_scope scope;
    void *memory = NULL;
    uint32_t count = 77;
    const fuzz_device_state *device = fuzz_good_device(thread);
    if (!fuzz_is_alone() ||
        MAKE(thread, accel_memory_pool_create, &pool, device->device, NULL) != ACCEL_OK)
        return;
    atomic_fetch_add(&world.pools_made, 1);
    fuzz_drop(thread, FUZZ_POOL, pool);
    const accel_memory_options options = {.struct_size = sizeof options, .pool = pool};
    bool is_found = CALL(thread, accel_memory_pool_release, pool) == ACCEL_ERROR_INVALID_ARGUMENT;
    is_found &= CALL(thread, accel_memory_pool_retain, pool) == ACCEL_ERROR_INVALID_ARGUMENT;
    is_found &= CALL(thread, accel_memory_pool_scope_begin, pool, &scope) ==
                ACCEL_ERROR_INVALID_ARGUMENT;
    is_found &= CALL(thread, accel_memory_pool_get_use_count, pool, &count) == ACCEL_OK &&
                count == 0;
    is_found &= CALL(thread, accel_memory_alloc, NULL, 8, &options, &memory) != ACCEL_OK;
    REQUIRE(thread, is_found && memory == NULL, "a released pool is not found");
}

/* ---- settings and limits ---- */

static void configure(fuzz_thread *thread)
{
    static const char *const texts[] = {
        "", "", "expandable_segments:False", "max_split_size_mb:64", "caching:False", "guard:True",
        "poison:True", "thread_cache_kb:0", "thread_cache_kb:64", "exact_peaks:True",
        "pinned_cache_limit_mb:1", "roundup_power2_divisions:8",
        "garbage_collection_threshold:0.5,memory_limit_mb:256",
        "roundup_power2_divisions:[256:1,512:2,>:4],expandable_segments:False",
        /* wrong ones */
        "guard:yes", "nosuch:1", "guard:True,guard:True", ":", ",", "max_split_size_mb:-1",
        "max_split_size_mb:99999999999999999999", "roundup_power2_divisions:[", "guard", "\xff",
        NULL};
    const char *text = texts[draw_below(&thread->draw, sizeof texts / sizeof texts[0])];
    char buffer[256];
    size_t needed = 77;
    const accel_status checked = CALL(thread, accel_allocator_check_config, text);
    const accel_status set = CALL(thread, accel_allocator_set_config, text);
    REQUIRE(thread, checked == set, "a text is judged %s, and then %s", accel_status_name(checked),
            accel_status_name(set));
    if (CALL(thread, accel_allocator_get_config, buffer, sizeof buffer, &needed) == ACCEL_OK) {
        REQUIRE(thread, needed == strlen(buffer) + 1, "a text is not as long as is said");
        REQUIRE(thread, !fuzz_is_alone() || set != ACCEL_OK || strcmp(buffer, text) == 0,
                "'%s' was set, '%s' is told", text, buffer);
    }
    CALL(thread, accel_allocator_get_config, buffer, draw_below(&thread->draw, 9), NULL);
    CALL(thread, accel_allocator_get_config, NULL, 0, &needed);
}

static void limit(fuzz_thread *thread)
{
    static const double fractions[] = {1, 0.5, 0.01, -1, 2, 1e300};
    size_t bytes = 77;
    const accel_device device = fuzz_device(thread);
    if (draw_chance(&thread->draw, 30))
        CALL(thread, accel_allocator_set_memory_fraction, device,
             fractions[draw_below(&thread->draw, 6)]);
    if (draw_chance(&thread->draw, 10))
        CALL(thread, accel_allocator_set_memory_fraction, device, strtod("nan", NULL));
    CALL(thread, accel_allocator_set_memory_limit, device,
         (size_t)(1 + draw_below(&thread->draw, 64)) << 20);
    if (CALL(thread, accel_allocator_get_memory_limit, device, &bytes) != ACCEL_OK)
        REQUIRE(thread, bytes == 0, "a limit is left after a failure");
    CALL(thread, accel_allocator_get_memory_limit, device, NULL);
}

static void observe(const accel_out_of_memory_report *report, void *user)
{
    (void)report;
    (void)user;
}

static bool relieve(accel_device device, size_t size, void *user)
{
    (void)device;
    (void)user;
    return size % 2 == 0;
}

static void hook(fuzz_thread *thread)
{
    static int users[20];
    void *user = &users[draw_below(&thread->draw, 20)];
    OUT_STRUCT(accel_out_of_memory_report, report);
    switch (draw_below(&thread->draw, 6)) {
    case 0:
        CALL(thread, accel_allocator_add_out_of_memory_observer,
             draw_chance(&thread->draw, 95) ? observe : NULL, user);
        break;
    case 1:
        CALL(thread, accel_allocator_add_memory_pressure_hook,
             draw_chance(&thread->draw, 95) ? relieve : NULL, user);
        break;
    case 2:
        CALL(thread, accel_allocator_remove_out_of_memory_observer,
             draw_chance(&thread->draw, 95) ? observe : NULL, user);
        break;
    case 3:
        CALL(thread, accel_allocator_remove_memory_pressure_hook,
             draw_chance(&thread->draw, 95) ? relieve : NULL, user);
        break;
    default:
        CALL(thread, accel_allocator_get_out_of_memory_report,
             draw_chance(&thread->draw, 95) ? &report.as : NULL);
        break;
    }
}

/* ---- statistics ---- */

static bool count_key(const char *key, int64_t value, void *user)
{
    uint32_t *left = user;
    (void)value;
    return key[0] != '\0' && --*left > 0;
}

static void ask_statistics(fuzz_thread *thread)
{
    static const char *const keys[] = {"allocation.all.current", "num_ooms", "nosuch", "", NULL};
    const accel_device device = fuzz_device(thread);
    OUT_STRUCT(accel_memory_statistics, device_figures);
    OUT_STRUCT(accel_host_memory_statistics, host_figures);
    int64_t value = 77;
    size_t size = 77;
    uint32_t left = 1 + draw_below(&thread->draw, 300);
    CALL(thread, accel_memory_stats, device, &device_figures.as);
    CALL(thread, accel_host_memory_stats, device, &host_figures.as);
    CALL(thread, accel_memory_stats_visit, device, count_key, &left);
    left = 1 + draw_below(&thread->draw, 60);
    CALL(thread, accel_host_memory_stats_visit, device, count_key, &left);
    if (CALL(thread, accel_memory_stats_get, device, keys[draw_below(&thread->draw, 5)], &value) !=
        ACCEL_OK)
        REQUIRE(thread, value == 0, "a value is left after a failure");
    if (CALL(thread, accel_memory_allocated, device, &size) != ACCEL_OK)
        REQUIRE(thread, size == 0, "a size is left after a failure");
    CALL(thread, accel_max_memory_allocated, device, &size);
    CALL(thread, accel_memory_reserved, device, &size);
    CALL(thread, accel_max_memory_reserved, device, &size);
    if (draw_chance(&thread->draw, 10)) {
        CALL(thread, accel_memory_stats, device, NULL);
        CALL(thread, accel_host_memory_stats, device, NULL);
        CALL(thread, accel_memory_stats_visit, device, NULL, NULL);
        CALL(thread, accel_host_memory_stats_visit, device, NULL, NULL);
        CALL(thread, accel_memory_stats_get, device, keys[0], NULL);
        CALL(thread, accel_memory_allocated, device, NULL);
        CALL(thread, accel_max_memory_allocated, device, NULL);
        CALL(thread, accel_memory_reserved, device, NULL);
        CALL(thread, accel_max_memory_reserved, device, NULL);
    }
}

static void reset_statistics(fuzz_thread *thread)
{
    const accel_device device = fuzz_device(thread);
    CALL(thread, accel_reset_accumulated_memory_stats, device);
    CALL(thread, accel_reset_peak_memory_stats, device);
    CALL(thread, accel_reset_accumulated_host_memory_stats, device);
    CALL(thread, accel_reset_peak_host_memory_stats, device);
}

/* Alone with accel, the two accounts agree. Graphs with random numbers have memory of their own, so that there
 * may be more than the program knows of, until everything is released. */
void fuzz_check_statistics(fuzz_thread *thread, bool all_is_freed)
{
    for (int i = 0; i < world.device_count; i++) {
        const fuzz_device_state *device = &world.devices[i];
        accel_memory_statistics figures = {.struct_size = sizeof figures};
        REQUIRE(thread, CALL(thread, accel_memory_stats, device->device, &figures) == ACCEL_OK,
                "no statistics");
        const int64_t live = atomic_load(&device->live);
        const int64_t bytes = atomic_load(&device->bytes);
        REQUIRE(thread,
                figures.allocation[0].current >= live &&
                    figures.requested_bytes[0].current >= bytes,
                "%lld allocations of %lld bytes are live, statistics have %lld of %lld",
                (long long)live, (long long)bytes, (long long)figures.allocation[0].current,
                (long long)figures.requested_bytes[0].current);
        REQUIRE(thread,
                figures.allocated_bytes[0].current <= figures.reserved_bytes[0].current ||
                    figures.reserved_bytes[0].current == 0,
                "more is allocated than reserved");
        REQUIRE(thread, !all_is_freed || figures.allocation[0].current == live,
                "%lld allocations are live, statistics have %lld", (long long)live,
                (long long)figures.allocation[0].current);
    }
}

static void check_statistics(fuzz_thread *thread)
{
    if (fuzz_is_alone())
        fuzz_check_statistics(thread, false);
}

static void empty_caches(fuzz_thread *thread)
{
    if (draw_chance(&thread->draw, 50))
        CALL_NONE(thread, accel_empty_cache);
    else
        CALL_NONE(thread, accel_empty_host_cache);
}

/* ---- histories, snapshots, leaks ---- */

static void record_history(fuzz_thread *thread)
{
    const accel_memory_history_options options = {
        .struct_size = draw_chance(&thread->draw, 95) ? sizeof options : 5,
        .mode = (accel_memory_history_mode)draw_below(&thread->draw, 5),
        .context = (accel_memory_history_context)draw_below(&thread->draw, 6),
        .unwinder = (accel_memory_history_unwinder)(draw_chance(&thread->draw, 95)
                                                        ? draw_below(&thread->draw, 3)
                                                        : 7),
        .max_frames = draw_chance(&thread->draw, 95) ? draw_below(&thread->draw, 65) : 65,
        .skip_actions = draw_chance(&thread->draw, 10) ? (uint32_t)draw_bits(&thread->draw) : 0,
        .max_entries = draw_chance(&thread->draw, 90) ? draw_below(&thread->draw, 2000) : SIZE_MAX};
    CALL(thread, accel_memory_record_history, draw_chance(&thread->draw, 80) ? &options : NULL);
    if (draw_chance(&thread->draw, 50))
        ASK_NONE(thread, accel_memory_clear_history);
}

static void take_snapshot(fuzz_thread *thread)
{
    char path[512];
    static const char *const formats[] = {"json", "pickle"};
    const uint32_t format = draw_below(&thread->draw, 4);
    const accel_memory_snapshot_options options = {
        .struct_size = sizeof options,
        .backend = draw_chance(&thread->draw, 50) ? ACCEL_BACKEND_NONE : fuzz_backend(thread),
        .without_events = draw_chance(&thread->draw, 50)};
    accel_memory_snapshot *snapshot = NULL;
    if (MAKE(thread, accel_memory_snapshot_create, &snapshot,
             draw_chance(&thread->draw, 50) ? &options : NULL) == ACCEL_OK) {
        snprintf(path, sizeof path, "%s/snapshot-%u.%s", world.directory, thread->index,
                 formats[draw_below(&thread->draw, 2)]);
        if (CALL(thread, accel_memory_snapshot_write, snapshot, path,
                 (accel_memory_snapshot_format)format) == ACCEL_OK)
            REQUIRE(thread, unlink(path) == 0, "a snapshot is not where it was written");
        CALL(thread, accel_memory_snapshot_write, snapshot, "/nonexistent/snapshot", 0);
        CALL(thread, accel_memory_snapshot_write, snapshot, NULL, 0);
        CALL(thread, accel_memory_snapshot_write, NULL, path, 0);
    }
    ASK(thread, accel_memory_snapshot_release, snapshot);
    CALL(thread, accel_memory_snapshot_create, &options, NULL);
}

static bool look_at_leak(const accel_memory_leak *leak, void *user)
{
    fuzz_thread *thread = user;
    REQUIRE(thread, leak->count > 0 && leak->size > 0, "a leak of nothing");
    return draw_chance(&thread->draw, 80);
}

static void ask_leaks(fuzz_thread *thread)
{
    CALL(thread, accel_memory_leaks_visit, look_at_leak, thread);
    CALL(thread, accel_memory_leaks_visit, NULL, NULL);
    ASK_NONE(thread, accel_memory_leaks_log);
}

const fuzz_step fuzz_steps_allocators[] = {
    {"make pool", 5, make_pool},
    {"ask pool", 4, ask_pool},
    {"use a released pool", 1, use_released_pool},
    {"configure", 3, configure},
    {"limit", 3, limit},
    {"hook", 3, hook},
    {"ask statistics", 3, ask_statistics},
    {"reset statistics", 1, reset_statistics},
    {"check statistics", 6, check_statistics},
    {"empty caches", 2, empty_caches},
    {"record history", 2, record_history},
    {"take snapshot", 1, take_snapshot},
    {"ask leaks", 1, ask_leaks},
    {NULL, 0, NULL},
};
