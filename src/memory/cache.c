/* cache.c: threads' caches: their making and ending, flushing, and holding threads still. The short ways are
 * in alloc.c.
 *
 * Lock order: `hold_mutex` before everything else of the allocators; nobody holds another of their locks
 * when taking it. A thread inside its cache takes no lock but that of the statistics. */
#include "memory/cache.h"

#include <pthread.h>
#include <sched.h>

#include "base/allocate.h"
#include "core/device.h"
#include "platform/futex.h"

_Thread_local accel__cache *accel__cache_mine;

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

static void set_held(uint32_t held)
{
    for (accel__cache *cache = all_caches; cache != NULL; cache = cache->next)
        if (cache != accel__cache_mine)
            atomic_store_explicit(&cache->is_held, held, memory_order_seq_cst);
}

void accel__cache_hold_all(void)
{
    lock_list();
    set_held(1);
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
    set_held(0);
    accel__mutex_unlock(&hold_mutex);
}

void accel__cache_wait(void)
{
    accel__mutex_lock(&hold_mutex);
    accel__mutex_unlock(&hold_mutex);
}

/* ---- drawers ---- */

typedef struct chain {
    accel__lane *lane;
    accel__block *first;
} chain;

/* Takes all blocks out of the drawer: its thread is the caller, or held still. */
static chain empty_drawer(accel__drawer *drawer)
{
    chain all = {drawer->lane, NULL};
    size_t bytes = 0;
    for (size_t word = 0; word < ACCEL__CACHE_WORDS; word++) {
        for (uint64_t bits = drawer->filled[word]; bits != 0; bits &= bits - 1) {
            accel__block **list = &drawer->sizes[word * 64 + (size_t)__builtin_ctzll(bits)];
            while (*list != NULL) {
                accel__block *block = *list;
                *list = block->bin_after;
                block->bin_after = all.first;
                all.first = block;
                bytes += block->size;
                accel__range_set_state(&block->range, ACCEL__RANGE_FREE);
            }
        }
        drawer->filled[word] = 0;
    }
    if (drawer->share != NULL)
        atomic_fetch_sub_explicit(&drawer->share->cached_bytes, bytes, memory_order_relaxed);
    return all;
}

static void put_back(const chain *blocks)
{
    if (blocks->first != NULL)
        accel__heap_put_many(blocks->lane, blocks->first);
}

/* The calling thread's. Without entering, others may be at it, too. */
static void flush_drawer(accel__cache *cache, accel__drawer *drawer)
{
    while (!accel__cache_enter(cache))
        accel__cache_wait();
    const chain blocks = empty_drawer(drawer);
    accel__cache_leave(cache);
    put_back(&blocks);
}

static bool is_of(const accel__drawer *drawer, const accel__device *device)
{
    return drawer != NULL && drawer->stream != NULL &&
           (device == NULL || drawer->share->device == device);
}

void accel__cache_flush_mine(accel__device *device)
{
    accel__cache *cache = accel__cache_mine;
    if (cache == NULL || !accel__generation_is(cache->generation))
        return;
    for (int i = 0; i < ACCEL__CACHE_PLACES; i++)
        if (is_of(cache->drawers[i], device))
            flush_drawer(cache, cache->drawers[i]);
}

/* The chains of one look at all caches: more than these are had in further looks. */
enum { CHAINS = 64 };

/* With threads held still. False: there are more. */
static bool gather(const accel__device *device, chain chains[CHAINS], size_t *count)
{
    for (accel__cache *cache = all_caches; cache != NULL; cache = cache->next)
        for (int i = 0; i < ACCEL__CACHE_PLACES; i++) {
            if (!is_of(cache->drawers[i], device))
                continue;
            chains[*count] = empty_drawer(cache->drawers[i]);
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
    lock_list();
    for (const accel__cache *cache = all_caches; cache != NULL; cache = cache->next)
        for (const accel__share *share = cache->shares; share != NULL; share = share->next)
            if (share->device == device)
                bytes += atomic_load_explicit(&share->cached_bytes, memory_order_relaxed);
    accel__mutex_unlock(&hold_mutex);
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
    for (int i = 0; i < ACCEL__CACHE_PLACES; i++)
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
    accel__cache_flush_mine(NULL);
    accel__cache_hold_all();
    unlist(cache);
    for (accel__share *share = cache->shares; share != NULL; share = share->next)
        accel__statistics_close(&share->shard);
    say_whether_shared();
    accel__cache_mine = NULL; /* a later destructor of the thread may allocate again */
    accel__cache_let_all_go();
    release(cache);
}

static void make_key(void)
{
    key_made = pthread_key_create(&key, end) == 0;
}

static accel__cache *make(void)
{
    pthread_once(&key_once, make_key);
    accel__barrier_prepare();
    accel__cache *made = key_made ? accel__allocate_aligned(sizeof *made, 64) : NULL;
    if (made == NULL || pthread_setspecific(key, made) != 0) {
        accel__deallocate(made);
        return NULL;
    }
    made->generation = accel__generation();
    made->inherited = accel__cache_mine;
    accel__cache_mine = NULL;
    accel__cache_hold_all();
    made->next = all_caches;
    all_caches = made;
    accel__cache_mine = made;
    say_whether_shared();
    accel__cache_let_all_go();
    return made;
}

/* Brings the cache in line with new settings: the first thread that notices does that for all figures of its
 * devices, too. */
static void adopt_settings(accel__cache *cache, const accel__config *config)
{
    static const accel__config none = {0};
    accel__cache_flush_mine(NULL);
    accel__cache_hold_all();
    for (accel__share *share = cache->shares; share != NULL; share = share->next)
        accel__statistics_rebase(share->shard.statistics);
    accel__cache_let_all_go();
    cache->limit = config->thread_cache_size;
    cache->seen = config;
    cache->config = config->is_plain && !config->has_roundup ? config : &none;
}

accel__cache *accel__cache_own(void)
{
    accel__cache *cache = accel__cache_mine;
    if (cache == NULL || !accel__generation_is(cache->generation))
        cache = make();
    const accel__config *config = accel__config_get();
    if (cache != NULL && cache->seen != config)
        adopt_settings(cache, config);
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
        cache->next_victim = (cache->next_victim + 1) % ACCEL__CACHE_PLACES;
        drawer = cache->drawers[cache->next_victim];
        if (drawer != NULL) {
            flush_drawer(cache, drawer);
            cache->drawers[cache->next_victim] = NULL;
        }
    }
    return drawer;
}

void accel__cache_open_drawer(accel__cache *cache, accel__lane *lane, accel_stream *stream)
{
    accel__drawer **place = &cache->drawers[accel__cache_place(stream)];
    accel__share *share = find_share(cache, stream->device);
    accel__drawer *drawer = *place;
    if (drawer != NULL && drawer->lane == lane && drawer->stream_id == stream->id)
        return;
    if (drawer != NULL)
        flush_drawer(cache, drawer);
    else
        drawer = get_drawer(cache);
    if (share == NULL || drawer == NULL)
        return;
    while (!accel__cache_enter(cache))
        accel__cache_wait();
    drawer->stream = stream;
    drawer->stream_id = stream->id;
    drawer->lane = lane;
    drawer->share = share;
    *place = drawer;
    accel__cache_leave(cache);
}
