/* statistics.c: see statistics.h. Lock order: a statistics' lock is a leaf; threads may be held still before
 * it is taken, never after. */
#include "memory/statistics/statistics.h"

#include <string.h>

#include "base/allocate.h"
#include "memory/config.h"
#include "platform/spin.h"

/* How far a shard's announcement may lie above what it has. */
static const int64_t windows[ACCEL__AMOUNTS] = {32, INT64_C(1) << 20, INT64_C(1) << 20};

/* Each amount is measured twice: of blocks that are handed out, and with those that wait for streams. */
enum { HANDED_OUT = 0, ACTIVE = 1, MEASURES = 2 };

/* No bound: distances to it do not overflow. */
#define FAR_AWAY (INT64_C(1) << 62)

enum { ALL = 0, SMALL = 1, LARGE = 2, POOLS = 3 };

struct accel__statistics {
    accel__spin spin; /* guards all below */
    uint32_t generation;
    accel__shard *shards;
    bool is_exact; /* one shard, which has no announcements, or none */

    /* Per kind of block (SMALL, LARGE; 0 is unused). Of small ones: what is in no shard. */
    int64_t current[POOLS][ACCEL__AMOUNTS];
    int64_t total[POOLS][ACCEL__AMOUNTS];
    int64_t waiting[POOLS]
                   [ACCEL__AMOUNTS];   /* freed, and some stream may use it; not in `current` */
    int64_t announced[ACCEL__AMOUNTS]; /* the sum of what the shards announced; if not is_exact */

    /* How much the large blocks may grow before their own peaks rise, at least; if is_exact. */
    int64_t large_room[ACCEL__AMOUNTS];
    /* What the shard may have before a peak of the small ones rises, and before one of all does. */
    int64_t bound_small[ACCEL__AMOUNTS];
    int64_t bound_all[ACCEL__AMOUNTS];

    int64_t peak[ACCEL__AMOUNTS][MEASURES][POOLS];
    int64_t allocated_before[ACCEL__AMOUNTS][POOLS]; /* at the last reset of accumulated values */
    int64_t freed_before[ACCEL__AMOUNTS][MEASURES][POOLS];

    accel_memory_stat gauges[ACCEL__GAUGES][POOLS];
    int64_t counters[ACCEL__COUNTERS];
};

static _Atomic(accel__statistics *) all[ACCEL__BACKEND_MAX + 1][ACCEL__DEVICE_MAX];

/* ---- finding and locking ---- */

accel__statistics *accel__statistics_peek(const accel__device *device)
{
    return atomic_load_explicit(&all[device->id.backend][device->id.index], memory_order_acquire);
}

accel__statistics *accel__statistics_of(accel__device *device)
{
    accel__statistics *known = accel__statistics_peek(device);
    if (known != NULL)
        return known;
    accel__statistics *made = accel__allocate(sizeof *made);
    if (made == NULL)
        return NULL;
    made->is_exact = true;
    if (atomic_compare_exchange_strong(&all[device->id.backend][device->id.index], &known, made))
        return made;
    accel__deallocate(made);
    return known;
}

/* A child's first look finds its parent's figures, perhaps in the middle of a change. */
static inline void lock(accel__statistics *of)
{
    accel__spin_lock(&of->spin);
    const uint32_t generation = accel__generation();
    if (of->generation == generation)
        return;
    const size_t from = offsetof(accel__statistics, generation);
    memset((char *)of + from, 0, sizeof *of - from);
    of->is_exact = true;
    of->generation = generation;
}

static void unlock(accel__statistics *of)
{
    accel__spin_unlock(&of->spin);
}

/* ---- sums and peaks ---- */

static int64_t current_of(const accel__shard *shard, int amount)
{
    return shard->upper[amount] - shard->above[amount];
}

static void set_bounds(accel__shard *shard, int amount, int64_t upper, int64_t lower)
{
    const int64_t now = current_of(shard, amount);
    shard->upper[amount] = upper;
    shard->above[amount] = upper - now;
    shard->below[amount] = now - lower;
}

static int64_t sum_of_shards(const accel__statistics *of, int amount)
{
    int64_t sum = 0;
    for (const accel__shard *shard = of->shards; shard != NULL; shard = shard->next)
        sum += current_of(shard, amount);
    return sum;
}

/* The current values of a measure, where the shards have `in_shards`. */
static void values_of(const accel__statistics *of, int amount, int measure, int64_t in_shards,
                      int64_t out[POOLS])
{
    out[SMALL] = of->current[SMALL][amount] + in_shards;
    out[LARGE] = of->current[LARGE][amount];
    if (measure == ACTIVE) {
        out[SMALL] += of->waiting[SMALL][amount];
        out[LARGE] += of->waiting[LARGE][amount];
    }
    out[ALL] = out[SMALL] + out[LARGE];
}

/* Raises peaks to what there is, or may be. *out_room: how much there may be more before one rises. */
static void raise_peaks_of(accel__statistics *of, int amount, int64_t in_shards,
                           int64_t out_room[POOLS])
{
    for (int pool = ALL; pool < POOLS; pool++)
        out_room[pool] = FAR_AWAY;
    for (int measure = HANDED_OUT; measure <= ACTIVE; measure++) {
        int64_t values[POOLS];
        int64_t *peak = of->peak[amount][measure];
        values_of(of, amount, measure, in_shards, values);
        for (int pool = ALL; pool < POOLS; pool++) {
            if (values[pool] > peak[pool])
                peak[pool] = values[pool];
            if (peak[pool] - values[pool] < out_room[pool])
                out_room[pool] = peak[pool] - values[pool];
        }
    }
}

static void move_upper(accel__statistics *of, int amount)
{
    accel__shard *shard = of->shards;
    const int64_t upper = of->bound_small[amount] < of->bound_all[amount] ? of->bound_small[amount]
                                                                          : of->bound_all[amount];
    shard->above[amount] += upper - shard->upper[amount];
    shard->upper[amount] = upper;
}

/* After any change while is_exact, where there is one shard or none. */
static void bound_exactly(accel__statistics *of)
{
    for (int amount = 0; amount < ACCEL__AMOUNTS; amount++) {
        int64_t room[POOLS];
        const int64_t now = sum_of_shards(of, amount);
        raise_peaks_of(of, amount, now, room);
        of->large_room[amount] = room[LARGE];
        of->bound_small[amount] = now + room[SMALL];
        of->bound_all[amount] = now + room[ALL];
        if (of->shards != NULL) {
            set_bounds(of->shards, amount, 0, -FAR_AWAY);
            move_upper(of, amount);
        }
    }
}

/* So much more (or less) of large blocks while is_exact, with a shard. False: a peak has risen, perhaps. */
static bool move_bounds(accel__statistics *of, int64_t sign, size_t size, size_t requested)
{
    const int64_t by[ACCEL__AMOUNTS] = {sign, sign * (int64_t)size, sign * (int64_t)requested};
    int64_t least = 0;
    for (int amount = 0; amount < ACCEL__AMOUNTS; amount++) {
        of->large_room[amount] -= by[amount];
        of->bound_all[amount] -= by[amount];
        move_upper(of, amount);
        least |= of->large_room[amount] | of->shards->above[amount];
    }
    return least >= 0;
}

static void raise_peaks(accel__statistics *of)
{
    if (of->is_exact)
        bound_exactly(of);
    else
        for (int amount = 0; amount < ACCEL__AMOUNTS; amount++) {
            int64_t room[POOLS];
            raise_peaks_of(of, amount, of->announced[amount], room);
        }
}

/* ---- announcements ---- */

/* The shard announces `wanted`, at least what it has. */
static void announce(accel__statistics *of, accel__shard *shard, int amount, int64_t wanted)
{
    const int64_t window = accel__config_get()->exact_peaks ? 0 : windows[amount];
    of->announced[amount] += wanted - shard->upper[amount];
    set_bounds(shard, amount, wanted, wanted - window);
}

/* Announces anew what is out of bounds. The next change in the same direction shall not cross again, nor shall
 * one back of the same size: so half a window is left above, but less where this one was larger. */
static void announce_crossed(accel__statistics *of, accel__shard *shard)
{
    const bool exact = accel__config_get()->exact_peaks;
    for (int amount = 0; amount < ACCEL__AMOUNTS; amount++) {
        const int64_t now = current_of(shard, amount);
        const int64_t half = windows[amount] / 2;
        if (exact)
            announce(of, shard, amount, now);
        else if (shard->above[amount] < 0)
            announce(of, shard, amount, -shard->above[amount] < half ? now + half : now);
        else if (shard->below[amount] < 0)
            announce(of, shard, amount, -shard->below[amount] < half ? now + half : now + 2 * half);
    }
}

void accel__shard_crossed(accel__shard *shard)
{
    accel__statistics *of = shard->statistics;
    lock(of);
    if (!of->is_exact)
        announce_crossed(of, shard);
    raise_peaks(of);
    unlock(of);
}

/* With all threads held still: exact or not, as the number of shards says. */
static void rebase(accel__statistics *of)
{
    raise_peaks(of); /* what was announced counted until now */
    of->is_exact = of->shards == NULL || of->shards->next == NULL;
    memset(of->announced, 0, sizeof of->announced);
    for (accel__shard *shard = of->shards; shard != NULL && !of->is_exact; shard = shard->next)
        for (int amount = 0; amount < ACCEL__AMOUNTS; amount++) {
            set_bounds(shard, amount, 0, 0);
            announce(of, shard, amount, current_of(shard, amount));
        }
    raise_peaks(of);
}

void accel__statistics_rebase(accel__statistics *statistics)
{
    lock(statistics);
    rebase(statistics);
    unlock(statistics);
}

void accel__statistics_open(accel__statistics *statistics, accel__shard *shard)
{
    lock(statistics);
    memset(shard, 0, sizeof *shard);
    shard->statistics = statistics;
    raise_peaks(statistics);
    shard->next = statistics->shards;
    statistics->shards = shard;
    rebase(statistics);
    unlock(statistics);
}

void accel__statistics_close(accel__shard *shard)
{
    accel__statistics *of = shard->statistics;
    lock(of);
    accel__shard **link = &of->shards;
    while (*link != NULL && *link != shard)
        link = &(*link)->next;
    if (*link == shard) { /* else a fork came between */
        *link = shard->next;
        for (int amount = 0; amount < ACCEL__AMOUNTS; amount++) {
            of->current[SMALL][amount] += current_of(shard, amount);
            of->total[SMALL][amount] += shard->total[amount];
        }
        rebase(of);
    }
    unlock(of);
}

/* ---- changes of blocks ---- */

static int pool_of(accel__block_kind kind)
{
    return kind == ACCEL__BLOCK_SMALL ? SMALL : LARGE;
}

static void add(int64_t amounts[ACCEL__AMOUNTS], int64_t sign, size_t size, size_t requested)
{
    amounts[ACCEL__AMOUNT_COUNT] += sign;
    amounts[ACCEL__AMOUNT_BYTES] += sign * (int64_t)size;
    amounts[ACCEL__AMOUNT_REQUESTED] += sign * (int64_t)requested;
}

void accel__statistics_allocated(accel__statistics *statistics, accel__shard *shard,
                                 accel__block_kind kind, size_t size, size_t requested)
{
    if (shard != NULL && kind == ACCEL__BLOCK_SMALL) {
        if (!accel__shard_add(shard, size, requested))
            accel__shard_crossed(shard);
        return;
    }
    if (statistics == NULL)
        return;
    lock(statistics);
    add(statistics->current[pool_of(kind)], 1, size, requested);
    add(statistics->total[pool_of(kind)], 1, size, requested);
    if (!statistics->is_exact || shard == NULL || !move_bounds(statistics, 1, size, requested))
        raise_peaks(statistics);
    unlock(statistics);
}

/* No peak can rise by what follows, and bounds that are nearer than need be only cost a look. */
void accel__statistics_freed(accel__statistics *statistics, accel__shard *shard,
                             accel__block_kind kind, size_t size, size_t requested, bool waits)
{
    if (shard != NULL && kind == ACCEL__BLOCK_SMALL && !waits) {
        if (!accel__shard_remove(shard, size, requested))
            accel__shard_crossed(shard);
        return;
    }
    if (statistics == NULL)
        return;
    lock(statistics);
    if (waits)
        add(statistics->waiting[pool_of(kind)], 1, size, requested);
    /* A small block that waits is taken off here, in the device's own figures, even where shards are:
     * together with the line above it leaves `active` as it was. */
    add(statistics->current[pool_of(kind)], -1, size, requested);
    if (statistics->is_exact && shard != NULL && kind == ACCEL__BLOCK_LARGE && !waits)
        (void)move_bounds(statistics, -1, size, requested);
    unlock(statistics);
}

void accel__statistics_completed(accel__statistics *statistics, accel__block_kind kind, size_t size,
                                 size_t requested)
{
    if (statistics == NULL)
        return;
    lock(statistics);
    add(statistics->waiting[pool_of(kind)], -1, size, requested);
    unlock(statistics);
}

/* ---- what the heap tells ---- */

static void change_stat(accel_memory_stat *stat, int64_t change)
{
    stat->current += change;
    if (change > 0)
        stat->allocated += change;
    else
        stat->freed -= change;
    if (stat->current > stat->peak)
        stat->peak = stat->current;
}

void accel__statistics_gauge(accel__device *device, accel__gauge gauge, accel__block_kind kind,
                             int64_t change)
{
    accel__statistics *of = accel__statistics_of(device);
    if (of == NULL || change == 0)
        return;
    lock(of);
    change_stat(&of->gauges[gauge][ALL], change);
    change_stat(&of->gauges[gauge][pool_of(kind)], change);
    unlock(of);
}

void accel__statistics_splits(accel__statistics *statistics, accel__block_kind kind, int64_t count,
                              int64_t bytes)
{
    const int pool = pool_of(kind);
    lock(statistics);
    change_stat(&statistics->gauges[ACCEL__GAUGE_INACTIVE_SPLIT][ALL], count);
    change_stat(&statistics->gauges[ACCEL__GAUGE_INACTIVE_SPLIT][pool], count);
    change_stat(&statistics->gauges[ACCEL__GAUGE_INACTIVE_SPLIT_BYTES][ALL], bytes);
    change_stat(&statistics->gauges[ACCEL__GAUGE_INACTIVE_SPLIT_BYTES][pool], bytes);
    unlock(statistics);
}

void accel__statistics_count(accel__device *device, accel__counter counter)
{
    accel__statistics *of = accel__statistics_of(device);
    if (of == NULL)
        return;
    lock(of);
    of->counters[counter]++;
    unlock(of);
}

/* ---- questions ---- */

/* The sum of all increases since the device was first used. */
static void totals_of(const accel__statistics *of, int amount, int64_t out[POOLS])
{
    out[SMALL] = of->total[SMALL][amount];
    for (const accel__shard *shard = of->shards; shard != NULL; shard = shard->next)
        out[SMALL] += shard->total[amount];
    out[LARGE] = of->total[LARGE][amount];
    out[ALL] = out[SMALL] + out[LARGE];
}

static void read_measure(const accel__statistics *of, int amount, int measure,
                         accel_memory_stat out[POOLS])
{
    int64_t values[POOLS];
    int64_t totals[POOLS];
    values_of(of, amount, measure, sum_of_shards(of, amount), values);
    totals_of(of, amount, totals);
    for (int pool = 0; pool < POOLS; pool++) {
        const int64_t peak = of->peak[amount][measure][pool];
        out[pool] = (accel_memory_stat){
            .current = values[pool],
            .peak = peak > values[pool] ? peak : values[pool],
            .allocated = totals[pool] - of->allocated_before[amount][pool],
            .freed = totals[pool] - values[pool] - of->freed_before[amount][measure][pool]};
    }
}

static void read_gauge(const accel__statistics *of, accel__gauge gauge,
                       accel_memory_stat out[POOLS])
{
    memcpy(out, of->gauges[gauge], sizeof of->gauges[gauge]);
}

void accel__statistics_read(accel__statistics *statistics, accel_memory_statistics *out)
{
    lock(statistics);
    read_measure(statistics, ACCEL__AMOUNT_COUNT, HANDED_OUT, out->allocation);
    read_measure(statistics, ACCEL__AMOUNT_BYTES, HANDED_OUT, out->allocated_bytes);
    read_measure(statistics, ACCEL__AMOUNT_COUNT, ACTIVE, out->active);
    read_measure(statistics, ACCEL__AMOUNT_BYTES, ACTIVE, out->active_bytes);
    read_measure(statistics, ACCEL__AMOUNT_REQUESTED, ACTIVE, out->requested_bytes);
    read_gauge(statistics, ACCEL__GAUGE_SEGMENT, out->segment);
    read_gauge(statistics, ACCEL__GAUGE_RESERVED_BYTES, out->reserved_bytes);
    read_gauge(statistics, ACCEL__GAUGE_INACTIVE_SPLIT, out->inactive_split);
    read_gauge(statistics, ACCEL__GAUGE_INACTIVE_SPLIT_BYTES, out->inactive_split_bytes);
    out->oversize_allocations = statistics->gauges[ACCEL__GAUGE_OVERSIZE_ALLOCATIONS][ALL];
    out->oversize_segments = statistics->gauges[ACCEL__GAUGE_OVERSIZE_SEGMENTS][ALL];
    out->num_alloc_retries = statistics->counters[ACCEL__COUNTER_ALLOC_RETRIES];
    out->num_ooms = statistics->counters[ACCEL__COUNTER_OOMS];
    out->num_sync_all_streams = statistics->counters[ACCEL__COUNTER_SYNC_ALL_STREAMS];
    out->num_device_alloc = statistics->counters[ACCEL__COUNTER_DEVICE_ALLOC];
    out->num_device_free = statistics->counters[ACCEL__COUNTER_DEVICE_FREE];
    out->num_oom_rejections = statistics->counters[ACCEL__COUNTER_OOM_REJECTIONS];
    unlock(statistics);
}

static void reset_accumulated_of(accel__statistics *of, int amount)
{
    int64_t totals[POOLS];
    totals_of(of, amount, totals);
    memcpy(of->allocated_before[amount], totals, sizeof totals);
    for (int measure = 0; measure < MEASURES; measure++) {
        int64_t values[POOLS];
        values_of(of, amount, measure, sum_of_shards(of, amount), values);
        for (int pool = 0; pool < POOLS; pool++)
            of->freed_before[amount][measure][pool] = totals[pool] - values[pool];
    }
}

void accel__statistics_reset_accumulated(accel__statistics *statistics)
{
    lock(statistics);
    for (int amount = 0; amount < ACCEL__AMOUNTS; amount++)
        reset_accumulated_of(statistics, amount);
    for (int gauge = 0; gauge < ACCEL__GAUGES; gauge++)
        for (int pool = 0; pool < POOLS; pool++)
            statistics->gauges[gauge][pool].allocated = statistics->gauges[gauge][pool].freed = 0;
    memset(statistics->counters, 0, sizeof statistics->counters);
    unlock(statistics);
}

void accel__statistics_reset_peak(accel__statistics *statistics)
{
    lock(statistics);
    rebase(statistics);
    for (int amount = 0; amount < ACCEL__AMOUNTS; amount++)
        for (int measure = 0; measure < MEASURES; measure++)
            values_of(statistics, amount, measure, sum_of_shards(statistics, amount),
                      statistics->peak[amount][measure]);
    for (int gauge = 0; gauge < ACCEL__GAUGES; gauge++)
        for (int pool = 0; pool < POOLS; pool++)
            statistics->gauges[gauge][pool].peak = statistics->gauges[gauge][pool].current;
    raise_peaks(statistics);
    unlock(statistics);
}
