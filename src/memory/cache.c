/* cache.c: threads' caches: their making and ending, flushing, and holding threads still. The short ways are
 * in at_hand.c.
 *
 * Lock order: `hold_mutex` before everything else of the allocators; nobody holds another of their locks
 * when taking it. A thread inside its cache takes no lock but that of the statistics. */
#include "memory/cache.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/allocate.h"
#include "core/device.h"
#include "memory/history/history.h"
#include "memory/pool.h"
#include "platform/futex.h"

accel__drawer accel__drawer_nobodys;
static accel__cache nobodys = {.generation = UINT32_MAX, .pass = UINT32_MAX};
_Thread_local accel__cache *accel__cache_mine = &nobodys;

/* Guards the list of all caches and who is held. Whoever holds threads has it until they go. */
static accel__mutex hold_mutex;
static accel__cache *all_caches;
static uint32_t all_generation; /* of the process that the list is of */

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static bool key_made;

/* ---- holding threads still ---- */

static void lock_list(void)
{
    accel__mutex_lock(&hold_mutex);
    const uint32_t now = accel__generation();
    if (all_generation != now) { /* the parent's threads are not here */
        all_caches = NULL;
        all_generation = now;
    }
}

static void wait_until_outside(const accel__cache *cache)
{
    for (int spin = 0; atomic_load_explicit(&cache->is_busy, memory_order_acquire) != 0; spin++) {
        if (spin < 100)
            accel__spin_pause();
        else
            sched_yield();
    }
}

static void set_held(bool held)
{
    for (accel__cache *cache = all_caches; cache != NULL; cache = cache->next) {
        if (cache == accel__cache_mine)
            continue;
        if (held)
            atomic_fetch_or(&cache->is_held, ACCEL__CACHE_HELD);
        else
            atomic_fetch_and(&cache->is_held, ~(uint32_t)ACCEL__CACHE_HELD);
    }
}

void accel__cache_hold_all(void)
{
    lock_list();
    set_held(true);
    const bool alone = all_caches == NULL ||
                       (all_caches == accel__cache_mine && all_caches->next == NULL);
    if (alone)
        return;
    accel__barrier_all();
    for (const accel__cache *cache = all_caches; cache != NULL; cache = cache->next)
        if (cache != accel__cache_mine)
            wait_until_outside(cache);
}

void accel__cache_let_all_go(void)
{
    set_held(false);
    accel__mutex_unlock(&hold_mutex);
}

void accel__cache_enter_slow(accel__cache *cache)
{
    for (;;) {
        atomic_store_explicit(&cache->is_busy, 1, memory_order_seq_cst);
        if ((atomic_load_explicit(&cache->is_held, memory_order_seq_cst) & ACCEL__CACHE_HELD) == 0)
            return;
        accel__cache_leave(cache);
        accel__mutex_lock(&hold_mutex); /* until they are let go */
        accel__mutex_unlock(&hold_mutex);
    }
}

/* ---- drawers ---- */

typedef struct chain {
    accel__lane *lane;
    accel__block *first;
} chain;

/* Takes the blocks of one list. */
static inline size_t empty_list(accel__block **list, chain *all)
{
    size_t bytes = 0;
    while (*list != NULL) {
        accel__block *block = *list;
        *list = block->bin_after;
        block->bin_after = all->first;
        all->first = block;
        bytes += block->size;
        accel__range_set_state(&block->range, ACCEL__RANGE_FREE);
    }
    return bytes;
}

/* The first mark from `from` on that is set, or their number. Most are not: eight are looked at in one. */
static inline size_t next_filled(const accel__drawer *drawer, size_t from)
{
    const size_t count = sizeof drawer->filled;
    uint64_t eight = 0;
    while (from + sizeof eight <= count) {
        memcpy(&eight, &drawer->filled[from], sizeof eight);
        if (eight != 0)
            break;
        from += sizeof eight;
    }
    while (from < count && drawer->filled[from] == 0)
        from++;
    return from;
}

/* Takes the blocks larger than `above` out, give or take the lists that share a mark: the drawer's thread is the
 * caller, inside, or held still. 0: all. */
static chain empty_drawer(accel__drawer *drawer, size_t above)
{
    chain all = {drawer->lane, NULL};
    size_t bytes = 0;
    size_t i = above == 0 ? 0 : above / ((size_t)ACCEL__BLOCK_UNIT * ACCEL__CACHE_FILLED) + 1;
    for (; (i = next_filled(drawer, i)) < sizeof drawer->filled; i++) {
        drawer->filled[i] = 0;
        for (size_t k = 0; k < ACCEL__CACHE_FILLED; k++)
            bytes += empty_list(&drawer->lists[i * ACCEL__CACHE_FILLED + k], &all);
    }
    if (drawer->share != NULL)
        drawer->share->room += (ptrdiff_t)bytes;
    return all;
}

static void put_back(const chain *blocks)
{
    if (blocks->first != NULL)
        accel__heap_put_many(blocks->lane, blocks->first);
}

/* The calling thread's. */
static void flush_drawer(accel__cache *cache, accel__drawer *drawer, size_t above)
{
    accel__cache_enter(cache);
    const chain blocks = empty_drawer(drawer, above);
    accel__cache_leave(cache);
    put_back(&blocks);
}

static bool is_here(const accel__cache *cache)
{
    return accel__generation_is(cache->generation);
}

static bool is_of(const accel__drawer *drawer, const accel__device *device)
{
    return drawer->share != NULL && (device == NULL || drawer->share->device == device);
}

void accel__cache_flush_mine(accel__device *device, size_t above)
{
    accel__cache *cache = accel__cache_mine;
    if (!is_here(cache))
        return;
    for (int i = 0; i < ACCEL__STREAM_PLACES; i++)
        if (is_of(cache->drawers[i], device))
            flush_drawer(cache, cache->drawers[i], above);
}

/* How many blocks go straight to their heap for want of room before the thread's drawers are emptied: what lies
 * there may be of sizes that are not asked for any more, but emptying them takes long. */
enum { OVERFLOWS = 256 };

static bool has_room(accel__cache *cache, const accel__drawer *drawer, size_t size)
{
    accel__cache_enter(cache);
    const bool has = drawer->share->room >= (ptrdiff_t)size;
    accel__cache_leave(cache);
    return has;
}

bool accel__cache_make_room(accel__cache *cache, accel__drawer *drawer, size_t size)
{
    if (has_room(cache, drawer, size))
        return true;
    flush_drawer(cache, drawer, size);
    if (has_room(cache, drawer, size))
        return true;
    if (++cache->overflows % OVERFLOWS == 0)
        accel__cache_flush_mine(drawer->share->device, 0);
    return has_room(cache, drawer, size);
}

/* The chains of one look at all caches: more than these are had in further looks. */
enum { CHAINS = 64 };

/* With threads held still. False: there are more. */
static bool gather(const accel__device *device, chain chains[CHAINS], size_t *count)
{
    for (accel__cache *cache = all_caches; cache != NULL; cache = cache->next)
        for (int i = 0; i < ACCEL__STREAM_PLACES; i++) {
            if (!is_of(cache->drawers[i], device))
                continue;
            chains[*count] = empty_drawer(cache->drawers[i], 0);
            if (chains[*count].first != NULL && ++*count == CHAINS)
                return false;
        }
    return true;
}

void accel__cache_flush_all(accel__device *device)
{
    chain chains[CHAINS];
    bool is_done = false;
    while (!is_done) {
        size_t count = 0;
        accel__cache_hold_all();
        is_done = gather(device, chains, &count);
        accel__cache_let_all_go();
        for (size_t i = 0; i < count; i++)
            put_back(&chains[i]);
    }
}

size_t accel__cache_bytes(const accel__device *device)
{
    size_t bytes = 0;
    accel__cache_hold_all();
    for (const accel__cache *cache = all_caches; cache != NULL; cache = cache->next)
        for (const accel__share *share = cache->shares; share != NULL; share = share->next)
            if (share->device == device)
                bytes += cache->limit - (size_t)share->room;
    accel__cache_let_all_go();
    return bytes;
}

/* ---- making and ending ---- */

static void unlist(accel__cache *cache)
{
    accel__cache **link = &all_caches;
    while (*link != NULL && *link != cache)
        link = &(*link)->next;
    if (*link == cache)
        *link = cache->next;
}

/* With threads held still: whether two may free at once. */
static void say_whether_shared(void)
{
    const bool is_shared = all_caches != NULL && all_caches->next != NULL;
    for (accel__cache *cache = all_caches; cache != NULL; cache = cache->next)
        cache->is_shared = is_shared;
}

static void release(accel__cache *cache)
{
    for (int i = 0; i < ACCEL__STREAM_PLACES; i++)
        if (cache->drawers[i] != &accel__drawer_nobodys)
            accel__deallocate(cache->drawers[i]);
    while (cache->shares != NULL) {
        accel__share *share = cache->shares;
        cache->shares = share->next;
        accel__deallocate(share);
    }
    accel__deallocate(cache);
}

/* At the thread's end. */
static void end(void *value)
{
    accel__cache *cache = value;
    if (!accel__generation_is(cache->generation))
        return; /* the parent's: readable for those who look, and nobody's */
    accel__cache_flush_mine(NULL, 0);
    accel__cache_hold_all();
    unlist(cache);
    for (accel__share *share = cache->shares; share != NULL; share = share->next)
        accel__statistics_close(&share->shard);
    say_whether_shared();
    accel__cache_mine = &nobodys; /* a later destructor of the thread may allocate again */
    accel__cache_let_all_go();
    release(cache);
}

static void make_key(void)
{
    key_made = pthread_key_create(&key, end) == 0;
}

/* ---- the rules ---- */

/* With the cache's thread the caller, or held still: what the settings and the history mean for it. */
static void review(accel__cache *cache, const accel__config *config)
{
    if (cache->config != config) {
        for (accel__share *share = cache->shares; share != NULL; share = share->next) {
            accel__statistics_rebase(share->shard.statistics);
            share->room += (ptrdiff_t)config->thread_cache_size - (ptrdiff_t)cache->limit;
        }
        cache->limit = config->thread_cache_size;
        cache->config = config;
    }
    cache->is_plain = config->is_plain && !config->has_roundup && !cache->is_scoped;
    atomic_store_explicit(
        &cache->pass, cache->is_plain && !accel__history_is_on() ? cache->generation : UINT32_MAX,
        memory_order_relaxed);
}

void accel__cache_review_all(void)
{
    const accel__config *config = accel__config_get();
    accel__cache_hold_all();
    const bool is_new = all_caches != NULL && all_caches->config != config;
    for (accel__cache *cache = all_caches; cache != NULL; cache = cache->next)
        review(cache, config);
    accel__cache_let_all_go();
    if (is_new)
        accel__cache_flush_all(NULL);
}

void accel__cache_review_mine(void)
{
    accel__cache *cache = accel__cache_mine;
    if (!is_here(cache))
        return;
    lock_list();
    cache->is_scoped = accel__pool_scope != NULL;
    review(cache, cache->config);
    accel__mutex_unlock(&hold_mutex);
}

/* ---- making ---- */

static accel__cache *make(void)
{
    const accel__config *config = accel__config_get();
    pthread_once(&key_once, make_key);
    const bool has_barrier = accel__barrier_prepare();
    accel__cache *made = key_made ? accel__allocate_aligned(sizeof *made, 64) : NULL;
    if (made == NULL || pthread_setspecific(key, made) != 0) {
        accel__deallocate(made);
        return NULL;
    }
    for (int i = 0; i < ACCEL__STREAM_PLACES; i++)
        made->drawers[i] = &accel__drawer_nobodys;
    made->is_held = has_barrier ? 0 : ACCEL__CACHE_FENCE;
    made->generation = accel__generation();
    made->is_scoped = accel__pool_scope != NULL;
    made->inherited = accel__cache_mine != &nobodys ? accel__cache_mine : NULL;
    accel__cache_mine = &nobodys;
    accel__cache_hold_all();
    made->next = all_caches;
    all_caches = made;
    accel__cache_mine = made;
    review(made, config);
    say_whether_shared();
    accel__cache_let_all_go();
    return made;
}

accel__cache *accel__cache_own(void)
{
    accel__cache *cache = accel__cache_mine;
    if (!is_here(cache))
        cache = make();
    if (cache == NULL)
        return NULL;
    if (cache->config != accel__config_get())
        accel__cache_review_all();
    else if (cache->is_plain && !accel__history_is_on() &&
             atomic_load_explicit(&cache->pass, memory_order_relaxed) == UINT32_MAX)
        accel__cache_review_mine(); /* the history was a parent's */
    return cache;
}

static accel__share *find_share(const accel__cache *cache, const accel__device *device)
{
    accel__share *share = cache->shares;
    while (share != NULL && share->device != device)
        share = share->next;
    return share;
}

accel__share *accel__cache_share(accel__cache *cache, accel__device *device)
{
    accel__share *share = find_share(cache, device);
    if (share != NULL)
        return share;
    accel__statistics *statistics = accel__statistics_of(device);
    share = statistics != NULL ? accel__allocate_aligned(sizeof *share, 64) : NULL;
    if (share == NULL)
        return NULL;
    share->device = device;
    accel__cache_hold_all();
    share->room = (ptrdiff_t)cache->limit;
    accel__statistics_open(statistics, &share->shard);
    share->next = cache->shares;
    cache->shares = share;
    accel__cache_let_all_go();
    return share;
}

/* A drawer for an empty place: a new one, or that of some other place, emptied. NULL: no host memory. */
static accel__drawer *get_drawer(accel__cache *cache)
{
    accel__drawer *drawer = NULL;
    if (cache->drawer_count < ACCEL__CACHE_DRAWERS) {
        drawer = accel__allocate_aligned(sizeof *drawer, 64);
        cache->drawer_count += drawer != NULL;
    }
    while (drawer == NULL && cache->drawer_count != 0) {
        accel__drawer **victim = &cache->drawers[cache->next_victim];
        cache->next_victim = (cache->next_victim + 1) % ACCEL__STREAM_PLACES;
        if (*victim != &accel__drawer_nobodys) {
            drawer = *victim;
            flush_drawer(cache, drawer, 0);
            accel__cache_enter(cache);
            *victim = &accel__drawer_nobodys;
            accel__cache_leave(cache);
        }
    }
    return drawer;
}

accel__drawer *accel__cache_open_drawer(accel__cache *cache, accel__lane *lane,
                                        accel_stream *stream)
{
    accel__drawer **place = &cache->drawers[lane->place];
    accel__share *share = find_share(cache, stream->device);
    accel__drawer *drawer = *place;
    if (drawer->key == lane->key)
        return drawer;
    if (drawer != &accel__drawer_nobodys)
        flush_drawer(cache, drawer, 0);
    else
        drawer = get_drawer(cache);
    if (drawer == NULL)
        return NULL;
    accel__cache_enter(cache);
    drawer->stream = stream;
    drawer->stream_id = stream->id;
    drawer->key = lane->key;
    drawer->lane = lane;
    drawer->share = share;
    *place = drawer;
    accel__cache_leave(cache);
    return drawer;
}
