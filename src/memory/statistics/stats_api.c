/* stats_api.c: the public questions about statistics: memory_stats.h. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/lent.h"
#include "memory/cache.h"
#include "memory/question.h"

static void read_device(const accel__device *device, accel_memory_statistics *out)
{
    accel__statistics *statistics = device != NULL ? accel__statistics_peek(device) : NULL;
    if (statistics != NULL) {
        accel__cache_hold_all();
        accel__statistics_read(statistics, out);
        accel__cache_let_all_go();
    }
    const size_t most = accel__config_get()->max_split_size;
    out->max_split_size = most == SIZE_MAX ? -1 : (int64_t)most;
}

static accel_status read(accel_device device, const char *function, accel_memory_statistics *out)
{
    accel__device *found = NULL;
    const accel_status status = accel__question_device(device, function, &found);
    if (status == ACCEL_OK)
        read_device(found, out);
    return status;
}

accel_status accel_memory_stats(accel_device device, accel_memory_statistics *out_statistics)
{
    accel_status status = accel__out_check(out_statistics, __func__);
    if (status != ACCEL_OK)
        return status;
    accel__out_clear(out_statistics);
    accel_memory_statistics known = {0};
    status = read(device, __func__, &known);
    if (status == ACCEL_OK)
        accel__out_write(out_statistics, &known, sizeof known);
    return status;
}

/* ---- keys ---- */

typedef enum shape { PER_POOL, ONE_STAT, NUMBER } shape;

typedef struct item {
    const char *name;
    size_t offset;
    shape shape;
} item;

#define ITEM(name, shape)                                                                          \
    {                                                                                              \
#name, offsetof(accel_memory_statistics, name), shape                                      \
    }

/* In alphabetical order; a dot comes before an underscore. */
static const item items[] = {
    ITEM(active, PER_POOL),
    ITEM(active_bytes, PER_POOL),
    ITEM(allocated_bytes, PER_POOL),
    ITEM(allocation, PER_POOL),
    ITEM(inactive_split, PER_POOL),
    ITEM(inactive_split_bytes, PER_POOL),
    ITEM(max_split_size, NUMBER),
    ITEM(num_alloc_retries, NUMBER),
    ITEM(num_device_alloc, NUMBER),
    ITEM(num_device_free, NUMBER),
    ITEM(num_oom_rejections, NUMBER),
    ITEM(num_ooms, NUMBER),
    ITEM(num_sync_all_streams, NUMBER),
    ITEM(oversize_allocations, ONE_STAT),
    ITEM(oversize_segments, ONE_STAT),
    ITEM(requested_bytes, PER_POOL),
    ITEM(reserved_bytes, PER_POOL),
    ITEM(segment, PER_POOL),
};

static const struct {
    const char *name;
    accel_memory_stat_pool pool;
} pools[] = {{"all", ACCEL_MEMORY_STAT_POOL_ALL},
             {"large_pool", ACCEL_MEMORY_STAT_POOL_LARGE},
             {"small_pool", ACCEL_MEMORY_STAT_POOL_SMALL}};

/* Who visits, and whether it wants more. */
typedef struct visitor {
    bool (*visit)(const char *key, int64_t value, void *user);
    void *user;
} visitor;

static bool visit_stat(const visitor *to, const char *prefix, const accel_memory_stat *stat)
{
    const struct {
        const char *name;
        int64_t value;
    } values[] = {{"allocated", stat->allocated},
                  {"current", stat->current},
                  {"freed", stat->freed},
                  {"peak", stat->peak}};
    char key[96];
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        snprintf(key, sizeof key, "%s.%s", prefix, values[i].name);
        if (!to->visit(key, values[i].value, to->user))
            return false;
    }
    return true;
}

static bool visit_pools(const visitor *to, const char *name, const accel_memory_stat stats[3])
{
    char prefix[64];
    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        snprintf(prefix, sizeof prefix, "%s.%s", name, pools[i].name);
        if (!visit_stat(to, prefix, &stats[pools[i].pool]))
            return false;
    }
    return true;
}

static bool visit_item(const visitor *to, const item *which, const accel_memory_statistics *of)
{
    const void *at = (const char *)of + which->offset;
    if (which->shape == PER_POOL)
        return visit_pools(to, which->name, at);
    if (which->shape == ONE_STAT)
        return visit_stat(to, which->name, at);
    int64_t value;
    memcpy(&value, at, sizeof value);
    return to->visit(which->name, value, to->user);
}

static accel_status visit_all(accel_device device, const char *function, const visitor *to)
{
    accel_memory_statistics known = {0};
    const accel_status status = read(device, function, &known);
    for (size_t i = 0; status == ACCEL_OK && i < sizeof items / sizeof items[0]; i++)
        if (!visit_item(to, &items[i], &known))
            break;
    return status;
}

accel_status accel_memory_stats_visit(accel_device device,
                                      bool (*visit)(const char *key, int64_t value, void *user),
                                      void *user)
{
    const visitor to = {visit, user};
    return visit != NULL ? visit_all(device, __func__, &to) : accel__fail_null(__func__, "visit");
}

typedef struct wanted {
    const char *key;
    bool found;
    int64_t value;
} wanted;

static bool pick(const char *key, int64_t value, void *user)
{
    wanted *looked_for = user;
    if (strcmp(key, looked_for->key) != 0)
        return true;
    looked_for->found = true;
    looked_for->value = value;
    return false;
}

accel_status accel_memory_stats_get(accel_device device, const char *key, int64_t *out_value)
{
    static const char alias[] = "allocated.";
    char renamed[96];
    if (out_value == NULL)
        return accel__fail_null(__func__, "out_value");
    *out_value = 0;
    if (key == NULL)
        return accel__fail_null(__func__, "key");
    wanted looked_for = {.key = key};
    if (strncmp(key, alias, sizeof alias - 1) == 0) {
        snprintf(renamed, sizeof renamed, "allocation.%s", key + sizeof alias - 1);
        looked_for.key = renamed;
    }
    const visitor to = {pick, &looked_for};
    const accel_status status = visit_all(device, __func__, &to);
    if (status == ACCEL_OK && !looked_for.found)
        return accel__fail(
            ACCEL_ERROR_NOT_FOUND, NULL, __func__,
            "there is no figure of the name '%.95s': accel_memory_stats_visit has them all", key);
    *out_value = looked_for.value;
    return status;
}

/* ---- the four ---- */

static accel_status get_bytes(accel_device device, const char *function, size_t *out_size,
                              size_t offset_of_stats, bool peak)
{
    if (out_size == NULL)
        return accel__fail_null(function, "out_size");
    *out_size = 0;
    accel_memory_statistics known = {0};
    const accel_status status = read(device, function, &known);
    accel_memory_stat stat;
    memcpy(&stat, (const char *)&known + offset_of_stats, sizeof stat);
    const int64_t value = peak ? stat.peak : stat.current;
    *out_size = value > 0 ? (size_t)value
                          : 0; /* below 0 for a moment: threads change it meanwhile */
    return status;
}

accel_status accel_memory_allocated(accel_device device, size_t *out_size)
{
    return get_bytes(device, __func__, out_size, offsetof(accel_memory_statistics, allocated_bytes),
                     false);
}

accel_status accel_max_memory_allocated(accel_device device, size_t *out_size)
{
    return get_bytes(device, __func__, out_size, offsetof(accel_memory_statistics, allocated_bytes),
                     true);
}

accel_status accel_memory_reserved(accel_device device, size_t *out_size)
{
    return get_bytes(device, __func__, out_size, offsetof(accel_memory_statistics, reserved_bytes),
                     false);
}

accel_status accel_max_memory_reserved(accel_device device, size_t *out_size)
{
    return get_bytes(device, __func__, out_size, offsetof(accel_memory_statistics, reserved_bytes),
                     true);
}

/* ---- resets ---- */

static accel_status reset(accel_device device, const char *function,
                          void (*reset_one)(accel__statistics *statistics))
{
    accel__device *found = NULL;
    const accel_status status = accel__question_device(device, function, &found);
    accel__statistics *statistics = found != NULL ? accel__statistics_peek(found) : NULL;
    if (statistics == NULL)
        return status;
    accel__cache_hold_all();
    reset_one(statistics);
    accel__cache_let_all_go();
    return status;
}

accel_status accel_reset_accumulated_memory_stats(accel_device device)
{
    return reset(device, __func__, accel__statistics_reset_accumulated);
}

accel_status accel_reset_peak_memory_stats(accel_device device)
{
    return reset(device, __func__, accel__statistics_reset_peak);
}
