/* host_stats.c: the figures of pinned memory (host_memory.h). They change with the cache's lock held, so they
 * are exact, peaks too. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/lent.h"
#include "memory/host/host_cache.h"
#include "memory/question.h"

void accel__host_stat_add(accel_memory_stat *stat, size_t amount)
{
    stat->current += (int64_t)amount;
    stat->allocated += (int64_t)amount;
    if (stat->peak < stat->current)
        stat->peak = stat->current;
}

void accel__host_stat_take(accel_memory_stat *stat, size_t amount)
{
    stat->current -= (int64_t)amount;
    stat->freed += (int64_t)amount;
}

void accel__host_time_add(accel_host_memory_time *time, uint64_t ns)
{
    if (time->count == 0 || time->min_ns > ns)
        time->min_ns = ns;
    if (time->max_ns < ns)
        time->max_ns = ns;
    time->total_ns += ns;
    time->count++;
}

/* The device's cache, locked; NULL where there is none yet, or no device. */
static accel__host_cache *lock_cache(accel_device device, const char *function,
                                     accel_status *out_status)
{
    accel__device *found = NULL;
    *out_status = accel__question_device(device, function, &found);
    accel__host_cache *cache = found != NULL ? accel__host_cache_peek(found) : NULL;
    if (cache != NULL)
        accel__host_lock(cache);
    return cache;
}

static accel_status read(accel_device device, const char *function,
                         accel_host_memory_statistics *out_figures)
{
    accel_status status;
    accel__host_cache *cache = lock_cache(device, function, &status);
    *out_figures = (accel_host_memory_statistics){0};
    if (cache == NULL)
        return status;
    *out_figures = cache->figures;
    accel__host_unlock(cache);
    return ACCEL_OK;
}

accel_status accel_host_memory_stats(accel_device device,
                                     accel_host_memory_statistics *out_statistics)
{
    accel_host_memory_statistics figures;
    accel_status status = accel__out_check(out_statistics, __func__);
    if (status != ACCEL_OK)
        return status;
    status = read(device, __func__, &figures);
    accel__out_write(out_statistics, &figures, sizeof figures);
    return status;
}

/* ---- keys ---- */

#define FIGURE(name) offsetof(accel_host_memory_statistics, name)
#define STAT(name)                                                                                 \
    {#name ".allocated", FIGURE(name.allocated), 1}, {#name ".current", FIGURE(name.current), 1},  \
        {#name ".freed", FIGURE(name.freed), 1},                                                   \
    {                                                                                              \
#name ".peak", FIGURE(name.peak), 1                                                        \
    }
#define TIME(name)                                                                                 \
    {#name ".avg", FIGURE(name.total_ns), 0}, {#name ".count", FIGURE(name.count), 1},             \
        {#name ".max", FIGURE(name.max_ns), 1000}, {#name ".min", FIGURE(name.min_ns), 1000},      \
    {                                                                                              \
#name ".total", FIGURE(name.total_ns), 1000                                                \
    }

/* In the order of the alphabet. */
static const struct figure {
    const char *key;
    size_t offset;
    int64_t unit; /* what the figure is divided by; 0: by 1000 times the count beside it */
} figures_by_key[] = {
    STAT(active_bytes),
    STAT(active_requests),
    STAT(allocated_bytes),
    STAT(allocations),
    TIME(host_alloc_time),
    TIME(host_free_time),
    {"num_host_alloc", FIGURE(num_host_alloc), 1},
    {"num_host_free", FIGURE(num_host_free), 1},
    STAT(requested_bytes),
    STAT(reserved_bytes),
    STAT(segments),
};

static int64_t value_of(const accel_host_memory_statistics *figures, const struct figure *figure)
{
    int64_t value;
    memcpy(&value, (const char *)figures + figure->offset, sizeof value);
    if (figure->unit != 0)
        return value / figure->unit;
    accel_host_memory_time time;
    memcpy(&time, (const char *)figures + figure->offset, sizeof time);
    return time.count != 0 ? value / 1000 / (int64_t)time.count : 0;
}

accel_status accel_host_memory_stats_visit(
    accel_device device, bool (*visit)(const char *key, int64_t value, void *user), void *user)
{
    accel_host_memory_statistics figures;
    if (visit == NULL)
        return accel__fail_null(__func__, "visit");
    const accel_status status = read(device, __func__, &figures);
    const size_t count = sizeof figures_by_key / sizeof figures_by_key[0];
    bool goes_on = status == ACCEL_OK;
    for (size_t i = 0; goes_on && i < count; i++)
        goes_on = visit(figures_by_key[i].key, value_of(&figures, &figures_by_key[i]), user);
    return status;
}

/* ---- resets ---- */

static const size_t stat_offsets[] = {
    FIGURE(allocations),     FIGURE(allocated_bytes), FIGURE(active_requests), FIGURE(active_bytes),
    FIGURE(requested_bytes), FIGURE(segments),        FIGURE(reserved_bytes),
};

static void each_stat(accel_host_memory_statistics *figures,
                      void (*change)(accel_memory_stat *stat))
{
    for (size_t i = 0; i < sizeof stat_offsets / sizeof stat_offsets[0]; i++)
        change((accel_memory_stat *)((char *)figures + stat_offsets[i]));
}

static void forget_sums(accel_memory_stat *stat)
{
    stat->allocated = stat->freed = 0;
}

static void forget_peak(accel_memory_stat *stat)
{
    stat->peak = stat->current;
}

static void reset_accumulated(accel_host_memory_statistics *figures)
{
    each_stat(figures, forget_sums);
    figures->num_host_alloc = figures->num_host_free = 0;
    figures->host_alloc_time = figures->host_free_time = (accel_host_memory_time){0};
}

static void reset_peaks(accel_host_memory_statistics *figures)
{
    each_stat(figures, forget_peak);
}

static accel_status reset(accel_device device, const char *function,
                          void (*change)(accel_host_memory_statistics *figures))
{
    accel_status status;
    accel__host_cache *cache = lock_cache(device, function, &status);
    if (cache == NULL)
        return status;
    change(&cache->figures);
    accel__host_unlock(cache);
    return ACCEL_OK;
}

accel_status accel_reset_accumulated_host_memory_stats(accel_device device)
{
    return reset(device, __func__, reset_accumulated);
}

accel_status accel_reset_peak_host_memory_stats(accel_device device)
{
    return reset(device, __func__, reset_peaks);
}
